//! The services of a listener, by path.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use ::http::{Request, Response};
use bytes::Bytes;
use http_body::Body;
use tower_service::Service;

use super::body::HttpBody;
use super::config::HttpConfig;
use super::endpoint::is_same_path;
use super::legacy_sse::LegacySseService;
use super::service::HttpService;
use crate::server::running_server::RunningServer;

/// The endpoint, and the transport of 2024-11-05 beside it where that is switched on.
#[derive(Clone, Debug)]
pub(super) struct Routes {
    endpoint: HttpService,
    legacy: Option<(Arc<str>, LegacySseService)>,
}

impl Routes {
    pub(super) fn new(server: &RunningServer, config: &HttpConfig) -> Self {
        let legacy = config.legacy_sse.as_deref();
        Self {
            endpoint: server.http_service(config.clone()),
            legacy: legacy.map(|path| (path.into(), server.legacy_sse_service(config.clone()))),
        }
    }
}

impl<B> Service<Request<B>> for Routes
where
    B: Body<Data = Bytes> + Send + 'static,
{
    type Response = Response<HttpBody>;
    type Error = Infallible;
    type Future = <HttpService as Service<Request<B>>>::Future;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        match &mut self.legacy {
            Some((path, legacy)) if is_same_path(request.uri().path(), path) => {
                legacy.call(request)
            }
            _ => self.endpoint.call(request),
        }
    }
}
