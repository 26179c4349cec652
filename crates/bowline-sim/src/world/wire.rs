//! The frames that the server writes, and their faults on the way.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bowline_proto::codec::Framing;
use bowline_proto::connection::StreamEnd;
use bowline_proto::link::ConnectionId;
use bowline_proto::{CallId, Instant};
use bytes::Bytes;

use super::{End, SimEvent, StreamInput, StreamInputKind, World};
use crate::fault::Fault;
use crate::oracle::number_after;
use crate::trace_text::{Column, shown};

/// The number of frames that may be replayed on a later connection.
const REMEMBERED: usize = 12;

/// Where a frame goes.
#[derive(Clone, Copy, Debug)]
pub(super) enum To {
    Pipe(ConnectionId),
    /// The stream of a call, or the one of none; with the session that this response opens.
    Stream(ConnectionId, Option<CallId>, Option<u64>),
}

impl To {
    fn connection_id(self) -> ConnectionId {
        match self {
            Self::Pipe(connection_id) | Self::Stream(connection_id, _, _) => connection_id,
        }
    }
}

/// How a process writes.
#[derive(Debug, Default)]
pub(super) struct Writing {
    has_carriage_return: bool,
    has_lengths: bool,
    is_utf16: bool,
    owes_mark: bool,
    /// What is written together with the next frame.
    held: Vec<u8>,
    /// When the last bytes arrive, by stream.
    clocks: BTreeMap<Option<CallId>, Instant>,
    /// Frames of all connections.
    sent: VecDeque<Bytes>,
    /// What was asked last.
    pub(super) asked: Option<CallId>,
}

impl World {
    /// A process starts to write.
    pub(super) fn draw_writing(&mut self) {
        let sent = std::mem::take(&mut self.server.writing.sent);
        self.server.writing = Writing {
            has_carriage_return: self.hit(Fault::CarriageReturn),
            has_lengths: self.hit(Fault::ContentLength),
            is_utf16: self.hit(Fault::Utf16),
            owes_mark: self.hit(Fault::ByteOrderMark),
            sent,
            ..Writing::default()
        };
    }

    /// The server writes a frame, honestly.
    pub(super) fn emit(&mut self, to: To, frame: &[u8]) {
        let frame = frame.strip_suffix(b"\n").unwrap_or(frame);
        self.remember(frame);
        if has(frame, "\"supportedVersions\"") || has(frame, "\"protocolVersion\":") {
            return self.emit_handshake(to, frame);
        }
        if self.hit(Fault::Drop) {
            return;
        }
        let is_answer = !has(frame, "\"method\"");
        if is_answer {
            self.race_cancel(frame);
            if self.hit(Fault::TimeoutRace)
                && let Some(at) = self.next_timer()
            {
                return self.at(at.max(self.now), SimEvent::Emit(to, frame.to_vec().into()));
            }
        }
        if self.hit(Fault::Delay) {
            let delay = self.random.millis(3000);
            return self.after(delay, SimEvent::Emit(to, frame.to_vec().into()));
        }
        let spoiled = self.corrupt_frame(frame, is_answer);
        self.put_on_wire(to, &spoiled);
        if self.hit(Fault::Duplicate) {
            self.put_on_wire(to, &spoiled);
        }
        if is_answer
            && self.hit(Fault::DoubleResponse)
            && let Some(id) = number_after(frame, "\"id\":")
        {
            let other = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"lie":true}}}}"#);
            self.put_on_wire(to, other.as_bytes());
        }
    }

    fn emit_handshake(&mut self, to: To, frame: &[u8]) {
        if self.hit(Fault::SilentHandshake) || self.hit(Fault::Drop) {
            return;
        }
        let mut text = String::from_utf8_lossy(frame).into_owned();
        if self.hit(Fault::BadCapabilities) {
            text = text.replace("\"capabilities\":{", "\"capabilities\":7,\"x\":{");
        }
        if self.hit(Fault::UnsupportedVersion) {
            text = text.replace("\"20", "\"19");
        }
        self.put_on_wire(to, text.as_bytes());
        if self.hit(Fault::DoubleHandshake) {
            self.put_on_wire(to, text.as_bytes());
        }
    }

    /// The user cancels in the moment in which the response may arrive.
    fn race_cancel(&mut self, frame: &[u8]) {
        if !self.faults.has(Fault::CancelRace) {
            return;
        }
        let call = number_after(frame, "\"echo\":").and_then(|nonce| self.oracle.call_of(nonce));
        if let Some(call) = call
            && self.hit(Fault::CancelRace)
        {
            let delay = self.latency();
            self.after(delay, SimEvent::Cancel(call));
        }
    }

    /// Makes something else of a frame.
    fn corrupt_frame(&mut self, frame: &[u8], is_answer: bool) -> Vec<u8> {
        let mut spoiled = frame.to_vec();
        if is_answer && let Some(id) = number_after(frame, "\"id\":") {
            if self.hit(Fault::WrongId) {
                let other = (id + self.random.below(6)).saturating_sub(2);
                let text = format!(r#"{{"jsonrpc":"2.0","id":{other},"result":{{"lie":true}}}}"#);
                spoiled = text.into_bytes();
            } else if self.hit(Fault::IdAsString) {
                let text = String::from_utf8_lossy(&spoiled);
                let (plain, quoted) = (format!("\"id\":{id}"), format!("\"id\":\"{id}\""));
                spoiled = text.replacen(&plain, &quoted, 1).into_bytes();
            } else if self.hit(Fault::ResultAndError) {
                spoiled.truncate(spoiled.len().saturating_sub(1));
                spoiled.extend_from_slice(br#","error":{"code":1,"message":""},"result":{}}"#);
            } else if self.hit(Fault::NoMethodResultOrError) {
                spoiled = format!(r#"{{"jsonrpc":"2.0","id":{id}}}"#).into_bytes();
            }
        }
        if self.hit(Fault::BitFlip) {
            let at = self.random.index(spoiled.len());
            let bit = self.random.below(8);
            if let Some(byte) = spoiled.get_mut(at) {
                *byte ^= 1 << bit;
            }
        }
        if self.hit(Fault::Truncate) {
            spoiled.truncate(self.random.index(spoiled.len()));
        }
        spoiled
    }

    /// A frame leaves the server.
    pub(super) fn put_on_wire(&mut self, to: To, frame: &[u8]) {
        let is_current = self.client.connection_id == Some(to.connection_id());
        self.note(Column::Wire, || format!("◀─ {}", shown(frame)));
        if is_current {
            self.oracle.on_asked(frame);
        }
        match to {
            To::Pipe(connection_id) => self.write_line(connection_id, frame),
            To::Stream(connection_id, stream, session) => {
                let kind = StreamInputKind::Message(frame.to_vec().into(), session);
                self.send_on_stream(StreamInput {
                    connection_id,
                    stream,
                    kind,
                });
            }
        }
    }

    fn write_line(&mut self, connection_id: ConnectionId, frame: &[u8]) {
        if self.server.connection_id() != Some(connection_id) {
            return;
        }
        let writing = &mut self.server.writing;
        let mut bytes = std::mem::take(&mut writing.held);
        if std::mem::take(&mut writing.owes_mark) {
            bytes.extend_from_slice(b"\xef\xbb\xbf");
        }
        if writing.has_lengths {
            Framing::ContentLength.write_head(&mut bytes, frame.len());
            bytes.extend_from_slice(frame);
        } else if writing.is_utf16 {
            bytes.extend(frame.iter().chain(b"\n").flat_map(|byte| [*byte, 0]));
        } else {
            bytes.extend_from_slice(frame);
            if writing.has_carriage_return {
                bytes.push(b'\r');
            }
            bytes.push(b'\n');
        }
        if self.hit(Fault::Merge) {
            self.server.writing.held = bytes;
            return self.after(Duration::from_millis(30), SimEvent::Flush);
        }
        self.write_bytes(connection_id, &bytes);
    }

    /// What was held is written.
    pub(super) fn flush_held(&mut self) {
        let held = std::mem::take(&mut self.server.writing.held);
        if let Some(connection_id) = self.server.connection_id().filter(|_| !held.is_empty()) {
            self.write_bytes(connection_id, &held);
        }
    }

    /// Bytes go to the client, in their order, in one piece or more.
    pub(super) fn write_bytes(&mut self, connection_id: ConnectionId, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let length = if self.hit(Fault::Split) {
                1 + self.random.index(rest.len().min(100))
            } else {
                rest.len()
            };
            let (chunk, behind) = rest.split_at(length);
            rest = behind;
            let at = self.arrival(None);
            self.at(
                at,
                SimEvent::ToClient(connection_id, Bytes::copy_from_slice(chunk)),
            );
        }
    }

    /// The pipe ends, behind what was written.
    pub(super) fn end_pipe(&mut self, connection_id: ConnectionId, end: End) {
        let at = self.arrival(None);
        self.at(at, SimEvent::Ends(connection_id, end));
    }

    /// Something goes to the client over HTTP, in its order on the stream.
    pub(super) fn send_on_stream(&mut self, stream_input: StreamInput) {
        let at = self.arrival(stream_input.stream);
        self.at(at, SimEvent::StreamInput(stream_input));
    }

    pub(super) fn end_stream(&mut self, connection_id: ConnectionId, call: CallId, end: StreamEnd) {
        self.send_on_stream(StreamInput {
            connection_id,
            stream: Some(call),
            kind: StreamInputKind::End(end),
        });
    }

    fn arrival(&mut self, stream: Option<CallId>) -> Instant {
        let at = self.now + self.latency();
        let clock = self.server.writing.clocks.entry(stream).or_insert(at);
        *clock = at.max(*clock);
        *clock
    }

    fn remember(&mut self, frame: &[u8]) {
        if !self.faults.has(Fault::ReplayedId) || !has(frame, "\"echo\":") {
            return;
        }
        let sent = &mut self.server.writing.sent;
        if sent.len() == REMEMBERED {
            sent.pop_front();
        }
        sent.push_back(Bytes::copy_from_slice(frame));
    }

    /// Returns a frame that was sent before, on any connection.
    pub(super) fn any_sent(&mut self) -> Option<Bytes> {
        let at = self.random.index(self.server.writing.sent.len());
        self.server.writing.sent.get(at).cloned()
    }
}

/// Returns `true` if a frame has this in it.
pub(super) fn has(frame: &[u8], text: &str) -> bool {
    let mut windows = frame.windows(text.len());
    windows.any(|window| window == text.as_bytes())
}
