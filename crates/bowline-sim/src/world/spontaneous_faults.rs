//! Spontaneous faults: unsolicited frames, crashes, clocks.

use std::time::Duration;

use super::build::{MAX_FRAME, revisions};
use super::wire::To;
use super::{End, SimCarrier, SimEvent, World};
use crate::fault::Fault;

/// Faults that need nothing but a moment.
const BY_THEMSELVES: &[Fault] = &[
    Fault::Oversize,
    Fault::DeepNesting,
    Fault::StallReading,
    Fault::StallWriting,
    Fault::Eof,
    Fault::HalfClose,
    Fault::Reset,
    Fault::StreamLost,
    Fault::ReplayedId,
    Fault::NeverIssuedId,
    Fault::EarlyResponse,
    Fault::SecondInitialize,
    Fault::CancelWithoutId,
    Fault::CancelOfOurs,
    Fault::DriverCrash,
    Fault::PeerCrash,
    Fault::EraChange,
    Fault::SessionExpiry,
    Fault::ClockStands,
    Fault::ClockJumps,
    Fault::Garbage,
    Fault::BlankLines,
    Fault::InvalidUtf8,
    Fault::Nul,
    Fault::Batch,
    Fault::UnknownProgress,
    Fault::ErrorWithoutId,
    Fault::NotificationFlood,
    Fault::RequestFlood,
    Fault::DuplicateRequests,
    Fault::EarlyTalk,
];

impl World {
    /// Lets something go wrong, and something else a little later.
    pub(super) fn inject_fault(&mut self) {
        if self.is_healed {
            return;
        }
        for fault in BY_THEMSELVES {
            if self.faults.has(*fault) && self.hit(*fault) {
                self.apply_fault(*fault);
            }
        }
        let pause = Duration::from_millis(20) + self.random.millis(1500);
        self.after(pause, SimEvent::Inject);
    }

    fn apply_fault(&mut self, fault: Fault) {
        match fault {
            Fault::StallReading => {
                self.server.is_deaf = true;
                let until = self.random.millis(20_000);
                self.after(until, SimEvent::Unstall);
            }
            Fault::StallWriting => {
                self.server.is_mute = true;
                let until = self.random.millis(20_000);
                self.after(until, SimEvent::Unstall);
            }
            Fault::Eof => self.end_server(End::Eof),
            Fault::Reset => self.end_server(End::Lost),
            Fault::HalfClose => self.server.is_half_closed = true,
            Fault::StreamLost => self.lose_stream(),
            Fault::DriverCrash => {
                let now = self.clock();
                self.link.handle_crash(now);
            }
            Fault::PeerCrash => self.crash(),
            Fault::EraChange => {
                let spoken = revisions(&mut self.random);
                self.server.set_revisions(spoken);
                self.crash();
            }
            Fault::SessionExpiry => self.expire_sessions(),
            Fault::ClockStands => {
                if self.client.frozen.is_none() {
                    self.client.frozen = Some(self.clock());
                    let until = self.random.millis(20_000);
                    self.after(until, SimEvent::Thaw);
                }
            }
            Fault::ClockJumps => {
                self.client.ahead += Duration::from_secs(1) + self.random.millis(100_000);
            }
            other => self.send_spontaneous_frames(other),
        }
    }

    fn end_server(&mut self, end: End) {
        match (self.carrier, self.client.connection_id) {
            (SimCarrier::Pipe, _) => {
                if let Some(connection_id) = self.server.connection_id() {
                    self.end_pipe(connection_id, end);
                }
            }
            (SimCarrier::Http, Some(connection_id)) => self.end_pipe(connection_id, end),
            (SimCarrier::Http, None) => {}
        }
    }

    /// Sends unsolicited frames.
    fn send_spontaneous_frames(&mut self, fault: Fault) {
        let to = match self.carrier {
            SimCarrier::Pipe => self.server.connection_id().map(To::Pipe),
            SimCarrier::Http => {
                let stream = self.server.sessions.first_stream();
                let stream = stream.filter(|_| self.random.one_in(2));
                let on_none = self
                    .client
                    .connection_id
                    .map(|connection_id| To::Stream(connection_id, None, None));
                stream
                    .map(|(connection_id, call)| To::Stream(connection_id, Some(call), None))
                    .or(on_none)
            }
        };
        let Some(to) = to.filter(|_| self.client.is_open && !self.server.is_mute) else {
            return;
        };
        for frame in self.spontaneous_frames(fault) {
            self.put_on_wire(to, &frame);
        }
    }

    fn spontaneous_frames(&mut self, fault: Fault) -> Vec<Vec<u8>> {
        let number = self.random.below(1000);
        let any_id = self.oracle.some_id(&mut self.random);
        let next_id = self.oracle.highest_id() + 1;
        let answer = |id: u64| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"lie":true}}}}"#);
        let request = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"roots/list"}}"#);
        let note = |method: &str, params: &str| {
            format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#)
        };
        let frame = match fault {
            Fault::Oversize => note(
                "notifications/message",
                &format!("{{\"data\":\"{}\"}}", "x".repeat(MAX_FRAME)),
            ),
            Fault::DeepNesting => "[".repeat(2000),
            Fault::ReplayedId => {
                return self
                    .any_sent()
                    .map(|frame| frame.to_vec())
                    .into_iter()
                    .collect();
            }
            Fault::NeverIssuedId => answer(next_id + 1000 + number),
            Fault::EarlyResponse => answer(next_id),
            Fault::SecondInitialize => format!(
                r#"{{"jsonrpc":"2.0","id":"i{number}","method":"initialize","params":{{}}}}"#
            ),
            Fault::CancelWithoutId => note("notifications/cancelled", "{}"),
            Fault::CancelOfOurs => note(
                "notifications/cancelled",
                &format!("{{\"requestId\":{any_id}}}"),
            ),
            Fault::Garbage => format!("INFO listening on port {number}"),
            Fault::BlankLines => "\n \n".into(),
            Fault::InvalidUtf8 => {
                return vec![b"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\xc0\x80\"}".to_vec()];
            }
            Fault::Nul => "{\"jsonrpc\":\"2.0\",\0\"method\":\"x\"}".into(),
            Fault::Batch => format!(
                "[{},{}]",
                answer(any_id),
                request(&format!("\"b{number}\""))
            ),
            Fault::UnknownProgress => note(
                "notifications/progress",
                &format!("{{\"progressToken\":{},\"progress\":1}}", next_id + number),
            ),
            Fault::ErrorWithoutId => {
                r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"?"}}"#.into()
            }
            Fault::NotificationFlood => {
                let params = format!("{{\"data\":\"{}\"}}", "y".repeat(300));
                return vec![note("notifications/odd", &params).into_bytes(); 60];
            }
            Fault::RequestFlood => {
                return (0..20)
                    .map(|n| request(&format!("\"f{number}-{n}\"")).into_bytes())
                    .collect();
            }
            Fault::DuplicateRequests => {
                return vec![request(&format!("\"d{}\"", number % 4)).into_bytes(); 2];
            }
            _ => {
                let early = note("notifications/message", "{\"level\":\"info\",\"data\":1}");
                return vec![
                    early.into_bytes(),
                    request(&format!("\"e{number}\"")).into_bytes(),
                ];
            }
        };
        vec![frame.into_bytes()]
    }
}
