//! Compares what the link reports of a call, sent or not sent, with what happened.
//!
//! A request was sent when the driver took it and did not return it: the driver of this world
//! writes whole messages, so that is known for certain. Over HTTP the driver may report later
//! that a request was not sent after all, or that the server knows its session no longer, which
//! counts as long as the call has not ended. What the server has seen is noted on its own: none
//! of it may be reported as not sent, however the driver's part was counted.

use std::collections::{BTreeMap, BTreeSet};

use bowline_proto::link::CallKey;
use bowline_proto::{CallId, Sent};

use super::Oracle;

/// What became of the requests of calls, by the mark of the call.
#[derive(Debug, Default)]
pub(super) struct Deliveries(BTreeMap<u64, Delivery>);

/// What became of the requests of a call, in all its attempts and rounds.
#[derive(Debug, Default)]
struct Delivery {
    /// A request was handed to the transport.
    was_handed_over: bool,
    /// The requests that were handed to the transport, but for those that it reported as not
    /// sent.
    handed_over: BTreeSet<CallId>,
    /// A handler of the server has seen a request.
    was_seen: bool,
}

impl Oracle {
    /// The driver has taken a request, and has not returned it.
    pub(super) fn on_handed_over(&mut self, id: CallId, nonce: Option<u64>) {
        if let Some(nonce) = nonce {
            let delivery = self.deliveries.0.entry(nonce).or_default();
            delivery.was_handed_over = true;
            delivery.handed_over.insert(id);
        }
    }

    /// The driver reports that a request was not sent, or not served. The events before it must
    /// have been taken, unless none are.
    pub(crate) fn on_not_sent(&mut self, id: CallId) {
        let nonce = self.in_flight.get(&id).copied().flatten();
        if let Some(delivery) = nonce.and_then(|nonce| self.deliveries.0.get_mut(&nonce)) {
            delivery.handed_over.remove(&id);
        }
    }

    /// A handler of the server sees a request.
    pub(crate) fn on_seen(&mut self, nonce: Option<u64>) {
        if let Some(nonce) = nonce {
            self.deliveries.0.entry(nonce).or_default().was_seen = true;
        }
    }

    /// Compares what the link reports of a call with what the driver and the server know.
    ///
    /// Without `is_prompt` the call may have ended a while ago, and the driver may have reported
    /// something since then that the link was right not to know.
    pub(super) fn check_delivery(&mut self, call: CallKey, sent: Sent, is_prompt: bool) {
        let open = self.open.get(&call);
        // A ping has no mark, and a call that has ended twice is another violation.
        let Some(nonce) = open.and_then(|open| open.nonce) else {
            return;
        };
        let delivery = self.deliveries.0.remove(&nonce).unwrap_or_default();
        let was_sent = if is_prompt {
            !delivery.handed_over.is_empty()
        } else {
            delivery.was_handed_over
        };
        match sent {
            Sent::No if delivery.was_seen => self.violated(format!(
                "7: call {call} is reported as not sent, but the server has seen it"
            )),
            Sent::No if !delivery.handed_over.is_empty() => self.violated(format!(
                "7: call {call} is reported as not sent, but was handed to the transport"
            )),
            Sent::Maybe if !was_sent => self.violated(format!(
                "7: call {call} is reported as sent, but was never handed to the transport"
            )),
            Sent::No | Sent::Maybe => {}
        }
    }
}
