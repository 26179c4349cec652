//! Middleware around a whole server: tower layers, and functions.

use std::future::Future;

use bowline_proto::Payload;
use tower_layer::Layer;
use tower_service::Service as TowerService;

use super::Server;
use crate::RpcResult;
use crate::server::layer::{Next, RequestService, wrap, wrap_function};
use crate::server::service::ClientRequest;

impl Server {
    /// Adds a tower layer around the server: it sees every request but `initialize` and `ping`,
    /// which the session handles itself, and may respond to it, refuse, delay or change it. The layer that
    /// is added last is the outermost.
    ///
    /// For a layer, `subscriptions/listen` completes when the subscription is open.
    ///
    /// The error of a layer is an [`ErrorObject`](bowline_types::ErrorObject), which the client
    /// gets, or any other error, as tower's layers have: then it is logged, and the client gets the
    /// error that its request was not served.
    ///
    /// Where an async function will do, [`middleware`](Self::middleware) is shorter.
    ///
    /// ```
    /// use std::pin::Pin;
    /// use std::task::{Context, Poll};
    /// use bowline::server::{Principal, ClientRequest, Server};
    /// use bowline::types::ErrorObject;
    /// use tower_layer::layer_fn;
    /// use tower_service::Service;
    ///
    /// /// Whose token it is: yours to look up.
    /// fn owner(token: &str) -> Option<Principal> {
    ///     (token == "open sesame").then(|| Principal::new("ali baba"))
    /// }
    ///
    /// /// Serves only clients that it knows.
    /// #[derive(Clone)]
    /// struct Authenticate<S>(S);
    ///
    /// impl<S> Service<ClientRequest> for Authenticate<S>
    /// where
    ///     S: Service<ClientRequest, Error = ErrorObject>,
    ///     S::Response: Send + 'static,
    ///     S::Future: Send + 'static,
    /// {
    ///     type Response = S::Response;
    ///     type Error = ErrorObject;
    ///     type Future = Pin<Box<dyn Future<Output = Result<S::Response, ErrorObject>> + Send>>;
    ///
    ///     fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ErrorObject>> {
    ///         self.0.poll_ready(cx)
    ///     }
    ///
    ///     fn call(&mut self, request: ClientRequest) -> Self::Future {
    ///         let meta = request.context().meta();
    ///         let token = meta.get("com.example/token").and_then(|value| value.to::<String>().ok());
    ///         match token.and_then(|token| owner(&token)) {
    ///             Some(principal) => {
    ///                 request.context().insert_extension(principal);
    ///                 Box::pin(self.0.call(request))
    ///             }
    ///             None => Box::pin(async { Err(ErrorObject::new(-32000, "who are you?")) }),
    ///         }
    ///     }
    /// }
    ///
    /// let server = Server::new("cave", "1.0.0")
    ///     .tool("whoami", "Returns the id of the caller", |who: Principal| async move { who.id().to_owned() })
    ///     .layer(layer_fn(Authenticate));
    /// ```
    #[must_use]
    pub fn layer<L>(mut self, layer: L) -> Self
    where
        L: Layer<RequestService> + Send + 'static,
        L::Service: TowerService<ClientRequest, Response = Payload> + Clone + Send + 'static,
        <L::Service as TowerService<ClientRequest>>::Error:
            Into<Box<dyn std::error::Error + Send + Sync>>,
        <L::Service as TowerService<ClientRequest>>::Future: Send + 'static,
    {
        self.layers
            .push(Box::new(move |service| wrap(service, &layer)));
        self
    }

    /// Adds an async function as middleware: a [layer](Self::layer) in a few lines. It gets
    /// each request and the service that serves it [next](Next), and returns the response. The
    /// layer that is added last is the outermost.
    ///
    /// ```
    /// use bowline::server::{Principal, Server};
    /// use bowline::types::ErrorObject;
    ///
    /// /// Whose token it is: yours to look up.
    /// fn owner(token: &str) -> Option<Principal> {
    ///     (token == "open sesame").then(|| Principal::new("ali baba"))
    /// }
    ///
    /// let server = Server::new("cave", "1.0.0")
    ///     .tool("whoami", "Returns the id of the caller", |who: Principal| async move { who.id().to_owned() })
    ///     .middleware(|request, next| async move {
    ///         let meta = request.context().meta();
    ///         let token = meta.get("com.example/token").and_then(|value| value.to::<String>().ok());
    ///         let Some(principal) = token.and_then(|token| owner(&token)) else {
    ///             return Err(ErrorObject::new(-32000, "who are you?"));
    ///         };
    ///         request.context().insert_extension(principal);
    ///         next.run(request).await
    ///     });
    /// ```
    #[must_use]
    pub fn middleware<F, Fut>(mut self, function: F) -> Self
    where
        F: Fn(ClientRequest, Next) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = RpcResult> + Send + 'static,
    {
        self.layers
            .push(Box::new(move |service| wrap_function(service, function)));
        self
    }
}
