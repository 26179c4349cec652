//! `subscriptions/listen` of the stateless era: opening subscriptions, and ending all of them.

use bowline_proto::server::ListenError;
use bowline_proto::{CallError, Instant, Payload, RequestKey};
use bowline_types::capabilities::ServerCapabilities;
use bowline_types::meta::{NotificationMeta, SubscriptionResultMeta, keys};
use bowline_types::subscriptions::{AcknowledgedParams, ListenParams, ListenResult};
use bowline_types::{ErrorObject, Method, Revision};

use super::SessionCore;
use crate::server::service::busy_error;

impl SessionCore {
    /// Opens a subscription: the client is notified which parts are honoured, and then of every
    /// change, until either side ends it (2026-07-28, basic/patterns/subscriptions).
    pub(in super::super) fn open_listen(
        &mut self,
        request: RequestKey,
        params: ListenParams,
        server: &ServerCapabilities,
    ) -> Result<(), ErrorObject> {
        let opened = self.acknowledge_listen(request, params, server);
        if opened.is_err() {
            self.listens.close(request);
        }
        opened
    }

    fn acknowledge_listen(
        &mut self,
        request: RequestKey,
        params: ListenParams,
        server: &ServerCapabilities,
    ) -> Result<(), ErrorObject> {
        let invalid = |message: String| ErrorObject::invalid_params(message);
        let id = self.session.request_id(request).cloned();
        let id = id.ok_or_else(|| invalid("the request was cancelled".to_owned()))?;
        let opened = self
            .listens
            .open(request, id.clone(), params.notifications, server);
        let granted = opened.map_err(|error| match error {
            ListenError::TooMany => busy_error(error.to_string()),
            _ => invalid(error.to_string()),
        })?;
        let meta = NotificationMeta::new().with(keys::SUBSCRIPTION_ID, id);
        let acknowledged = AcknowledgedParams::new(granted).meta(meta);
        let encoded = Payload::encode(&acknowledged, Revision::LATEST);
        let encoded = encoded.map_err(|error| invalid(error.to_string()))?;
        let bytes = encoded.into_bytes();
        let body = bytes.slice(1..bytes.len() - 1);
        let sent = self
            .session
            .notify(Some(request), Method::Acknowledged.as_str(), body);
        sent.map_err(|error| match error {
            // The client's only fault is that it doesn't read (MO-4).
            CallError::QueueFull => busy_error(error.to_string()),
            _ => invalid(error.to_string()),
        })
    }

    /// Ends all subscriptions with their result. Returns `true` if there were some.
    pub(super) fn end_listen_subscriptions(&mut self, now: Instant) -> bool {
        let open: Vec<RequestKey> = self.listens.requests().collect();
        for request in &open {
            self.listens.close(*request);
            let Some(id) = self.session.request_id(*request).cloned() else {
                continue;
            };
            let meta = SubscriptionResultMeta::new().with(keys::SUBSCRIPTION_ID, id);
            let result = ListenResult::new().meta(meta);
            if let Ok(result) = Payload::encode(&result, Revision::LATEST) {
                // An error means that it was cancelled meanwhile.
                let _ = self.session.end_listen(now, *request, result);
            }
        }
        !open.is_empty()
    }
}
