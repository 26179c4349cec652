//! Our own calls: made, cancelled, ended.

use bowline_types::progress::CancelledParams;
use bowline_types::wire::EncodeMembers as _;
use bowline_types::{Encoder, Method, RawJsonRef, RequestId, Revision, Wire};
use bytes::Bytes;

use super::{Endpoint, Purpose, Tag, params_body, reset_message};
use crate::calls::{Call, CallId, Found, Timeouts};
use crate::commands::{CallError, CallRequest};
use crate::config::{CancelDialect, Carrier};
use crate::defect::{self, Defect};
use crate::event_queue::EndpointEvent;
use crate::message::Meta;
use crate::outbox::{StreamId, Transmit, TransmitKind};
use crate::outcome::{Outcome, Sent};
use crate::time::Instant;
use crate::trace::{self, Direction};

/// The form of a cancellation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CancelForm {
    /// A notification.
    Message(CancelDialect),
    /// Closing the stream of the call.
    Reset,
}

/// Progress of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallProgress {
    pub(crate) call: CallId,
    pub(crate) has_risen: bool,
}

/// What a call takes from its connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallContext<'a> {
    /// Entries of `_meta` that every request has.
    pub(crate) meta: &'a [u8],
    pub(crate) timeouts: Timeouts,
    pub(crate) stream: Option<StreamId>,
}

impl<E: EndpointEvent> Endpoint<E> {
    /// Makes a call of the user's.
    pub(crate) fn call(
        &mut self,
        now: Instant,
        request: &CallRequest,
        context: CallContext<'_>,
    ) -> Result<CallId, CallError> {
        if !self.calls.has_room(self.internal) {
            return Err(CallError::TooManyPending);
        }
        let call = self.issue_id().ok_or(CallError::IdsExhausted)?;
        let meta = Meta {
            fixed: context.meta,
            progress: request.wants_progress.then_some(call),
            user: request.meta.as_ref(),
            beside: &request.extra,
        };
        let kind = TransmitKind::Call(call);
        let body = request.body.clone();
        let mut message = self
            .composer
            .message(kind, Some(call), &request.method, meta, body);
        message.stream = context.stream;
        let queued = self.check_size(&message).and_then(|()| {
            let ticket = self.outbox.push(message);
            ticket.map_err(|_| CallError::QueueFull)
        });
        let ticket = match queued {
            Ok(ticket) => ticket,
            Err(error) => {
                // The id was not sent: repeated attempts don't use up ids.
                self.counter.take_back(call);
                return Err(error);
            }
        };
        let tag = Tag {
            purpose: Purpose::User,
            ticket: Some(ticket),
            wants_progress: request.wants_progress,
            stream: context.stream,
            is_subscription: request.method == Method::Listen.as_str(),
            method: trace::request_method(&request.method),
        };
        // A subscription lasts until it is closed or ended.
        let usual = if tag.is_subscription {
            Timeouts::UNLIMITED
        } else {
            context.timeouts
        };
        let timeouts = request.timeouts.unwrap_or(usual);
        match request.since {
            None => self.calls.insert(now, call, timeouts, tag),
            Some(since) => self.calls.insert_since(since, call, timeouts, tag),
        }
        trace::request_start(self.side, Direction::Out, call.get(), &request.method);
        Ok(call)
    }

    /// Makes an internal call (handshake, keepalive), which counts against no limit. Returns
    /// `None` if the ids are used up.
    pub(crate) fn call_internally(
        &mut self,
        now: Instant,
        purpose: Purpose,
        method: Method,
        meta: &[u8],
        body: Bytes,
        timeouts: Timeouts,
    ) -> Option<CallId> {
        let call = self.issue_id()?;
        let meta = Meta {
            fixed: meta,
            ..Meta::default()
        };
        let kind = TransmitKind::Call(call);
        let message = self
            .composer
            .message(kind, Some(call), method.as_str(), meta, body);
        let ticket = self.outbox.push_owed(message);
        let tag = Tag {
            purpose,
            ticket: Some(ticket),
            wants_progress: false,
            stream: None,
            is_subscription: false,
            method: Some(method),
        };
        self.calls.insert(now, call, timeouts, tag);
        self.internal += 1;
        trace::request_start(self.side, Direction::Out, call.get(), method.as_str());
        Some(call)
    }

    /// Queues a notification.
    pub(crate) fn notify(
        &mut self,
        method: &str,
        body: Bytes,
        stream: Option<StreamId>,
    ) -> Result<(), CallError> {
        let kind = TransmitKind::Notification;
        let mut message = self
            .composer
            .message(kind, None, method, Meta::default(), body);
        message.stream = stream;
        self.check_size(&message)?;
        if self.outbox.push(message).is_err() {
            trace::notification_dropped(self.side, Direction::Out, "queue full");
            return Err(CallError::QueueFull);
        }
        Ok(())
    }

    /// Queues a notification that the protocol itself needs.
    pub(crate) fn notify_owed(&mut self, method: Method, body: Bytes) {
        let kind = TransmitKind::Notification;
        let meta = Meta::default();
        let message = self
            .composer
            .message(kind, None, method.as_str(), meta, body);
        self.outbox.push_owed(message);
    }

    /// Removes a call from the table, and from the queue or with a cancellation to the peer.
    pub(crate) fn abandon_call(
        &mut self,
        now: Instant,
        call: CallId,
        form: CancelForm,
        reason: &str,
    ) -> Option<Call<Tag>> {
        let waiting = self.calls.give_up(now, call)?;
        let ticket = waiting.tag.ticket;
        let has_left = ticket.is_none_or(|ticket| self.outbox.take_back(ticket).is_none());
        // Spec, basic/utilities/cancellation: `initialize` is never cancelled; nor are other
        // internal calls.
        if has_left && waiting.tag.purpose == Purpose::User && !defect::is(Defect::LostCancel) {
            let mut message = self.cancel_message(call, form, reason);
            message.stream = waiting.tag.stream;
            message.slot.cancels = Some(call);
            if defect::is(Defect::DoubleCancel) {
                self.outbox.push_owed(message.clone());
            }
            self.outbox.push_owed(message);
        }
        Some(waiting)
    }

    /// Drops an internal call that is no longer needed: it is never sent, or its stream is closed.
    pub(crate) fn drop_internal_call(&mut self, now: Instant, call: CallId) {
        let Some(waiting) = self.calls.give_up(now, call) else {
            return;
        };
        let ticket = waiting.tag.ticket;
        let has_left = ticket.is_none_or(|ticket| self.outbox.take_back(ticket).is_none());
        if has_left && self.composer.carrier() == Carrier::StreamPerRequest {
            self.outbox.push_owed(reset_message(call));
        }
        self.complete_call(now, call, &waiting, Outcome::Cancelled);
    }

    /// Cancels a call of the user.
    pub(crate) fn cancel(
        &mut self,
        now: Instant,
        call: CallId,
        form: CancelForm,
        reason: &str,
    ) -> bool {
        let purpose = self.calls.get(call).map(|waiting| waiting.tag.purpose);
        if purpose != Some(Purpose::User) {
            return false;
        }
        let Some(waiting) = self.abandon_call(now, call, form, reason) else {
            return false;
        };
        self.complete_call(now, call, &waiting, Outcome::Cancelled);
        true
    }

    /// Ends the calls whose time is over.
    pub(crate) fn time_out_calls(&mut self, now: Instant, form: CancelForm) {
        while let Some(call) = self.calls.overdue(now) {
            let Some(waiting) = self.abandon_call(now, call, form, "timed out") else {
                break;
            };
            let elapsed = now.since(waiting.started);
            self.complete_call(now, call, &waiting, Outcome::TimedOut { elapsed });
        }
        self.calls.sweep(now);
    }

    /// Ends a call: queues its event if the user made it.
    pub(crate) fn complete_call(
        &mut self,
        now: Instant,
        call: CallId,
        waiting: &Call<Tag>,
        outcome: Outcome,
    ) {
        self.complete_call_as(now, call, waiting, outcome, waiting.tag.sent());
    }

    /// As [`complete_call`](Self::complete_call), for a call of which the driver knows more: it has
    /// returned the message, or reported that it was not sent or not served.
    pub(crate) fn complete_call_as(
        &mut self,
        now: Instant,
        call: CallId,
        waiting: &Call<Tag>,
        outcome: Outcome,
        sent: Sent,
    ) {
        let sent = match outcome {
            _ if defect::is(Defect::ReturnedCountsAsSent) => waiting.tag.sent(),
            Outcome::TimedOut { .. } | Outcome::Cancelled
                if defect::is(Defect::GivenUpCountsAsUnsent) =>
            {
                Sent::No
            }
            _ => sent,
        };
        let duration = now.since(waiting.started);
        let request = (call.get(), waiting.tag.method);
        trace::call_stop(self.side, request, duration, &outcome);
        match waiting.tag.purpose {
            Purpose::User => {
                // The peer answered before the request was sent: it isn't needed any more.
                if let Some(ticket) = waiting.tag.ticket {
                    self.outbox.take_back(ticket);
                }
                self.events.push(E::ended(call, outcome, sent));
            }
            Purpose::Discover | Purpose::Initialize | Purpose::Keepalive => {
                self.internal = self.internal.saturating_sub(1);
            }
        }
    }

    /// Handles progress of a pending call that requested it. Returns `None` if there is no such
    /// call.
    pub(crate) fn take_progress(
        &mut self,
        now: Instant,
        params: RawJsonRef<'_>,
    ) -> Option<CallProgress> {
        let member = |name| params.reader().peek_member(name).ok().flatten();
        let token = RequestId::from_json(member("progressToken")?.as_str()).ok()?;
        let Found::Pending(call) = self.calls.find(now, &token, &self.counter) else {
            return None;
        };
        if !self.calls.get(call)?.tag.wants_progress {
            return None;
        }
        let value = member("progress").and_then(|value| value.reader().number().ok());
        let has_risen = self.calls.progress(now, call, value);
        Some(CallProgress { call, has_risen })
    }

    fn issue_id(&mut self) -> Option<CallId> {
        let call = self.counter.issue()?;
        if let Some(percent) = self.counter.threshold() {
            trace::ids_used(self.side, percent);
        }
        Some(call)
    }

    fn cancel_message(&mut self, call: CallId, form: CancelForm, reason: &str) -> Transmit {
        let (method, body) = match form {
            CancelForm::Reset => return reset_message(call),
            CancelForm::Message(CancelDialect::Cancelled) => {
                (Method::Cancelled.as_str(), cancelled(call, reason))
            }
            CancelForm::Message(CancelDialect::CancelRequest) => {
                ("$/cancelRequest", params_body(format!("\"id\":{call}")))
            }
        };
        let kind = TransmitKind::Notification;
        self.composer
            .message(kind, None, method, Meta::default(), body)
    }

    pub(super) fn check_size(&self, message: &Transmit) -> Result<(), CallError> {
        let size = message.frame_len();
        if size > self.limits.frames.frame {
            return Err(CallError::TooLarge { size });
        }
        Ok(())
    }
}

/// Characters of the reason for a cancellation.
const MAX_REASON: usize = 200;

/// Returns the members of a cancellation's parameters.
fn cancelled(call: CallId, reason: &str) -> Bytes {
    // A reason is for a log: it needs no more.
    let reason: String = reason.chars().take(MAX_REASON).collect();
    let params = CancelledParams::new()
        .request_id(RequestId::from(call))
        .reason(reason);
    let mut body = Vec::with_capacity(64);
    params
        .encode_members(&mut Encoder::new(&mut body, Revision::LATEST), false)
        .expect("every revision has a cancellation with an id");
    body.into()
}
