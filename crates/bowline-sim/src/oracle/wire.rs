//! What is seen on the wire.

use bowline_proto::{CallId, TransmitKind};

use super::Oracle;
use crate::world::RESERVED_IDS;

/// Beyond it the ids may be used up at any time.
const LAST_IDS: u64 = RESERVED_IDS - 100;

impl Oracle {
    /// Something was taken from the queue.
    pub(crate) fn on_taken(&mut self) {
        self.queued = 0;
    }

    /// Records a message that was sent on this connection.
    pub(crate) fn on_sent(&mut self, kind: TransmitKind, frame: &[u8]) {
        match kind {
            TransmitKind::Call(id) => self.on_call_sent(id, frame),
            TransmitKind::Reset(id) => self.on_cancel_sent(id.get()),
            TransmitKind::Notification => {
                self.has_sent_initialized |= find(frame, b"notifications/initialized").is_some();
                if let Some(id) = cancelled_id(frame) {
                    self.on_cancel_sent(id);
                }
            }
            TransmitKind::Response => self.on_answer_sent(frame),
            _ => self.violated("a message that no driver knows"),
        }
    }

    fn on_call_sent(&mut self, id: CallId, frame: &[u8]) {
        if id.get() < LAST_IDS && self.highest_id >= LAST_IDS {
            // The ids were used up, and begin anew.
            self.highest_id = 0;
            self.in_flight.clear();
            self.sent.clear();
            self.answered.clear();
            self.cancelled.clear();
        }
        if self.sent.contains_key(&id.get()) {
            self.violated(format!("id {id} was used twice"));
        }
        self.highest_id = self.highest_id.max(id.get());
        let nonce = number_after(frame, "\"nonce\":");
        let call = nonce.and_then(|nonce| self.by_nonce.get(&nonce));
        if nonce.is_some() && call.is_none_or(|call| !self.open.contains_key(call)) {
            // The event of it may not have been taken yet, but the end of a call
            // takes it back from the queue.
            self.violated(format!("call {id} left after it had ended"));
        }
        self.on_handed_over(id, nonce);
        self.in_flight.insert(id, nonce);
        self.sent.insert(id.get(), id);
        self.sent_marks.extend(nonce);
    }

    fn on_cancel_sent(&mut self, id: u64) {
        let Some(call) = self.sent.get(&id).copied() else {
            return self.violated(format!("a cancellation of {id}, which never left"));
        };
        if !self.cancelled.insert(call) {
            self.violated(format!("{id} was cancelled twice"));
        }
        if self.answered.contains(&call) {
            self.violated(format!("{id} was cancelled after it was answered"));
        }
        self.owed_cancels.remove(&call);
    }

    fn on_answer_sent(&mut self, frame: &[u8]) {
        let Some(id) = id_text(frame) else {
            return;
        };
        let left = self.unanswered.entry(id.clone()).or_insert(0);
        *left -= 1;
        if *left < 0 && !self.may_misroute {
            self.violated(format!("request {id} of the server was answered twice"));
        }
    }

    /// A frame of the server that may be a request goes to the client.
    pub(crate) fn on_asked(&mut self, frame: &[u8]) {
        if find(frame, b"\"method\"").is_none() {
            return;
        }
        let mut rest = frame;
        while let Some((id, after)) = next_id(rest) {
            *self.unanswered.entry(id).or_insert(0) += 1;
            rest = after;
        }
    }

    /// The stream of a call is over, or the call was refused.
    pub(crate) fn on_stream_over(&mut self, id: CallId) {
        self.in_flight.remove(&id);
    }
}

/// Returns the id that a cancellation names.
fn cancelled_id(frame: &[u8]) -> Option<u64> {
    find(frame, b"notifications/cancelled")?;
    number_after(frame, "\"requestId\":")
}

/// Returns the number behind a key.
pub(crate) fn number_after(frame: &[u8], key: &str) -> Option<u64> {
    let at = find(frame, key.as_bytes())? + key.len();
    let digits = frame.get(at..)?.iter().take_while(|b| b.is_ascii_digit());
    let text: String = digits.map(|digit| char::from(*digit)).collect();
    text.parse().ok()
}

fn id_text(frame: &[u8]) -> Option<String> {
    next_id(frame).map(|(id, _)| id)
}

/// Returns the next id in a frame as it is written, and what follows.
fn next_id(frame: &[u8]) -> Option<(String, &[u8])> {
    const KEY: &[u8] = b"\"id\":";
    let rest = frame.get(find(frame, KEY)? + KEY.len()..)?;
    let end = rest.iter().position(|byte| matches!(byte, b',' | b'}'));
    let (id, rest) = rest.split_at(end.unwrap_or(rest.len()));
    Some((String::from_utf8_lossy(id).into_owned(), rest))
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    let mut windows = haystack.windows(needle.len());
    windows.position(|window| window == needle)
}
