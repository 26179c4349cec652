//! Rounds of input (MRTR): the server requests input before it goes on with a call.

use bowline_types::RawJsonRef;
use bytes::Bytes;

use super::Link;
use super::calls::{CallEntry, CallKey, CallPhase, Owner};
use super::error::InputError;
use super::event::LinkEvent;
use crate::defect::{self, Defect};
use crate::outcome::Outcome;
use crate::payload::Payload;
use crate::time::Instant;

impl Link {
    /// Sends the input that the server has requested for a call: the members of `inputResponses`,
    /// one response for each key of `inputRequests`. The call goes on with a new id. Without a
    /// connection it waits for one, within its own time.
    ///
    /// # Errors
    ///
    /// Fails if the call doesn't wait for input.
    pub fn provide_input(
        &mut self,
        now: Instant,
        call: CallKey,
        responses: &Payload,
    ) -> Result<(), InputError> {
        self.observe_time(now);
        let waits = |entry: &&mut CallEntry| entry.phase == CallPhase::AwaitingInput;
        let entry = self.calls.get_mut(call).filter(waits).ok_or(InputError)?;
        entry.call.request.extra = retry_members(responses, entry.request_state.as_deref());
        // The server has answered, so the idle time begins anew; the total goes on.
        entry.idle_since = now;
        self.calls.set_phase(call, CallPhase::Waiting);
        self.process_connection_events(now);
        Ok(())
    }

    /// Handles an `input_required` result: the call waits for the user's input.
    pub(super) fn require_input(&mut self, key: CallKey, result: Payload) {
        let (most, most_questions) = (self.config.max_rounds, self.config.max_questions);
        let Some(entry) = self.calls.get_mut(key) else {
            return;
        };
        if entry.owner != Owner::User {
            let message = "the server requested input for a subscription".to_owned();
            return self.complete_call(key, Outcome::Invalid(message));
        }
        entry.rounds += 1;
        if entry.rounds > most {
            let message = format!("the server requested input more than {most} times");
            return self.complete_call(key, Outcome::Invalid(message));
        }
        if has_more_questions_than(most_questions, &result) {
            let message =
                format!("the server sent more than {most_questions} input requests at once");
            return self.complete_call(key, Outcome::Invalid(message));
        }
        entry.request_state = result.peek_raw("requestState");
        let round = entry.rounds;
        self.calls.set_phase(key, CallPhase::AwaitingInput);
        self.push_event(LinkEvent::InputRequired {
            call: key,
            round,
            result,
        });
    }
}

/// Returns `true` if a result has more than `most` input requests. Reads no more than that.
fn has_more_questions_than(most: usize, result: &Payload) -> bool {
    let asked = RawJsonRef::parse(result.as_str()).ok();
    let asked = asked.and_then(|json| json.reader().peek_member("inputRequests").ok()?);
    let members = asked.and_then(RawJsonRef::members);
    members.is_some_and(|mut members| members.nth(most).is_some())
}

/// Returns the members that a round of input adds to a call: the responses, and the server's
/// `requestState`, unchanged.
fn retry_members(responses: &Payload, state: Option<&[u8]>) -> Bytes {
    let mut members = b"\"inputResponses\":".to_vec();
    members.extend_from_slice(responses.as_str().as_bytes());
    if let Some(state) = state.filter(|_| !defect::is(Defect::LostState)) {
        members.extend_from_slice(b",\"requestState\":");
        members.extend_from_slice(state);
    }
    members.into()
}
