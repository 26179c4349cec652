//! Moving what came of a call into the core of a session over HTTP: its messages to their
//! [streams](super::response_streams), its events to handlers and wakers.

use std::sync::Arc;
use std::task::Waker;

use bowline_proto::server::{RequestContext, SessionEvent, SessionPhase};
use bowline_proto::{Payload, RequestKey};
use bowline_types::Revision;

use super::dispatch_inbound::{InboundMessage, InboundNotification};
use super::{SessionCore, SessionShared};
use crate::clock::Clock;
use crate::server::context::Context;
use crate::server::service::MethodName;
use crate::server::telemetry::Notice;

/// What came of a call into the core, to be done without its lock.
#[derive(Default)]
#[must_use]
pub(super) struct Drained {
    wakers: Vec<Waker>,
    cancelled: Vec<Context>,
    /// Requests that the client has cancelled: no response follows.
    pub(super) unanswered: Vec<RequestKey>,
    pub(super) inbound: Vec<InboundMessage>,
    notices: Vec<Notice>,
}

impl Drained {
    /// Wakes and cancels. Returns what has to be run.
    pub(super) fn finish(self, shared: &SessionShared) -> Vec<InboundMessage> {
        for notice in self.notices {
            notice.emit(&shared.span);
        }
        for waker in self.wakers {
            waker.wake();
        }
        for context in self.cancelled {
            context.cancel();
        }
        self.inbound
    }

    /// As [`finish`](Self::finish), where no message of the client can have arrived.
    pub(super) fn finish_outbound(self, shared: &SessionShared) {
        let inbound = self.finish(shared);
        debug_assert!(inbound.is_empty(), "only a POST brings messages");
    }
}

impl SessionCore {
    /// Moves the core's messages to their streams, and handles its events.
    pub(super) fn drain_http(&mut self, clock: Clock) -> Drained {
        let mut drained = Drained::default();
        // First, as an event may end the stream of what was sent before.
        let mut has_sent = self.take_transmits(clock);
        while let Some(event) = self.session.poll_event() {
            self.handle_http_event(event, clock, &mut drained);
        }
        has_sent |= self.take_transmits(clock);
        if has_sent {
            self.send_unsent_completions();
        }
        if let Some(streams) = &mut self.streams {
            drained.wakers.append(&mut streams.take_wakers());
            if let Some(cut) = streams.take_cut_responses() {
                drained.notices.push(Notice::ResponsesCut(cut));
            }
        }
        if let Some(stream) = &mut self.legacy_stream {
            let has_ended = self.session.phase() == SessionPhase::Closed;
            drained.wakers.extend(stream.take_waker(has_ended));
        }
        drained
    }

    /// Moves the core's messages to their streams. Returns `true` if there were some.
    fn take_transmits(&mut self, clock: Clock) -> bool {
        let mut has_sent = false;
        while let Some(transmit) = self.session.poll_transmit() {
            has_sent = true;
            if let Some(stream) = &mut self.legacy_stream {
                stream.push(transmit);
            } else if let Some(streams) = &mut self.streams {
                streams.queue(transmit, clock, self.session.revision());
            }
        }
        has_sent
    }

    fn handle_http_event(&mut self, event: SessionEvent, clock: Clock, drained: &mut Drained) {
        match event {
            SessionEvent::Initialized(client) => {
                drained.notices.push(Notice::Connected {
                    client: Some(client.info.clone()),
                    revision: client.revision,
                });
                self.client = Some(Arc::from(client));
            }
            SessionEvent::Request {
                request,
                method,
                params,
                context,
            } => drained.inbound.push(self.inbound(
                request,
                MethodName::Known(method),
                params,
                context,
            )),
            SessionEvent::UnknownRequest {
                request,
                method,
                params,
                context,
            } => drained.inbound.push(self.inbound(
                request,
                MethodName::Unknown(method),
                params,
                context,
            )),
            SessionEvent::RequestCancelled(key) => {
                if let Some(streams) = &mut self.streams {
                    streams.forget_request(clock.now(), key);
                }
                drained.unanswered.push(key);
                self.end_http_handler(key, clock, drained);
            }
            SessionEvent::RequestTimedOut(key) => self.end_http_handler(key, clock, drained),
            SessionEvent::Ended {
                call,
                outcome,
                sent,
            } => {
                if let Some(question) = self.pending_questions.get_mut(call) {
                    question.outcome = Some((outcome, sent));
                    drained.wakers.extend(question.waker.take());
                }
            }
            SessionEvent::Notification { method, params } => {
                let method = MethodName::Known(method);
                let notification = InboundNotification { method, params };
                drained
                    .inbound
                    .push(InboundMessage::Notification(notification));
            }
            SessionEvent::UnknownNotification { method, params } => {
                let method = MethodName::Unknown(method);
                let notification = InboundNotification { method, params };
                drained
                    .inbound
                    .push(InboundMessage::Notification(notification));
            }
            SessionEvent::Closed(reason) => {
                drained.notices.push(Notice::Ended {
                    reason: reason.name(),
                });
                drained.cancelled.extend(self.running.values().cloned());
                if let Some(streams) = &mut self.streams {
                    streams.end_all(clock.now());
                }
            }
            _ => {}
        }
    }

    fn inbound(
        &self,
        key: RequestKey,
        method: MethodName,
        params: Option<Payload>,
        stateless: Option<Box<RequestContext>>,
    ) -> InboundMessage {
        let revision = match &stateless {
            Some(stateless) => Some(stateless.revision),
            None => self.session.revision(),
        };
        InboundMessage::Request {
            key,
            method,
            params,
            stateless,
            revision: revision.unwrap_or(Revision::LATEST),
        }
    }

    /// Ends the handler of a request that is not answered by it any more.
    fn end_http_handler(&mut self, key: RequestKey, clock: Clock, drained: &mut Drained) {
        if self.listens.close(key) {
            self.session.release(clock.now(), key);
        } else if let Some(context) = self.running.get(&key) {
            drained.cancelled.push(context.clone());
        }
        // A handler that is polled in place is cancelled when it is registered as running.
    }
}
