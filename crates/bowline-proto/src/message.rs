//! Composing our messages: head, shared body, tail, in the framing of the peer.

use std::io::Write as _;

use bowline_types::meta::{RequestMeta, keys};
use bowline_types::wire::Encode as _;
use bowline_types::{Encoder, ErrorObject, RequestId, envelope};
use bytes::{Bytes, BytesMut};
use memchr::memchr2;

use crate::calls::CallId;
use crate::codec::Framing;
use crate::config::Carrier;
use crate::outbox::{Slot, Transmit, TransmitKind};
use crate::payload::Payload;

/// The size of the chunks that heads are allocated from. A head has some 100 bytes, with the
/// `_meta` of the stateless era some 300; a chunk is freed when the last of its heads is sent.
const ARENA: usize = 4096;

/// The size of the head of a response with an id that isn't long.
const RESPONSE_HEAD: usize = 64;

/// The entry of `_meta` that holds the number of the session.
pub(crate) const SESSION_KEY: &str = "dev.bowline/session";

/// The `_meta` of a request: the connection's entries, the call's, the user's.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meta<'a> {
    /// Members that are already encoded, without braces.
    pub(crate) fixed: &'a [u8],
    pub(crate) progress: Option<CallId>,
    pub(crate) user: Option<&'a RequestMeta>,
    /// Other members of the parameters that stand beside it, without braces.
    pub(crate) beside: &'a [u8],
}

impl Meta<'_> {
    fn is_empty(&self) -> bool {
        let has_user = self.user.is_some_and(|user| !user.as_object().is_empty());
        self.fixed.is_empty() && self.progress.is_none() && !has_user
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\"_meta\":{");
        out.extend_from_slice(self.fixed);
        let mut encoder = Encoder::lossless(out);
        if let Some(call) = self.progress {
            encoder.key(keys::PROGRESS_TOKEN.name());
            encoder.integer(i64::try_from(call.get()).unwrap_or(i64::MAX));
        }
        for (key, value) in self.user.into_iter().flat_map(RequestMeta::iter) {
            if let Some(key) = key.unescape().filter(|key| !self.sets(key)) {
                encoder.key(&key);
                encoder.raw(value);
            }
        }
        out.push(b'}');
    }

    /// Returns `true` if the connection sets an entry itself.
    fn sets(&self, key: &str) -> bool {
        let is_progress = key == keys::PROGRESS_TOKEN.name();
        (is_progress && self.progress.is_some())
            || [
                keys::PROTOCOL_VERSION.name(),
                keys::CLIENT_CAPABILITIES.name(),
                keys::CLIENT_INFO.name(),
                SESSION_KEY,
            ]
            .contains(&key)
    }
}

/// Composes messages for a carrier and a framing.
#[derive(Debug)]
pub(crate) struct Composer {
    carrier: Carrier,
    framing: Framing,
    /// The buffer of a head whose length is not known yet.
    scratch: Vec<u8>,
    /// The chunk that heads are allocated from, on a shared stream. Over HTTP a session may have one
    /// message, and its heads are allocated by themselves.
    arena: BytesMut,
}

impl Composer {
    pub(crate) fn new(carrier: Carrier, framing: Framing) -> Self {
        Self {
            carrier,
            framing,
            scratch: Vec::new(),
            arena: BytesMut::new(),
        }
    }

    /// Releases memory that is only kept for reuse.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.scratch = Vec::new();
        self.arena = BytesMut::new();
    }

    pub(crate) fn carrier(&self) -> Carrier {
        self.carrier
    }

    /// Sets the framing, as that of the peer.
    pub(crate) fn set_framing(&mut self, framing: Framing) {
        self.framing = framing;
    }

    /// Returns a request, when it has an id, or a notification. `body` are the members of its
    /// parameters without `_meta` and without braces.
    pub(crate) fn message(
        &mut self,
        kind: TransmitKind,
        id: Option<CallId>,
        method: &str,
        meta: Meta<'_>,
        body: Bytes,
    ) -> Transmit {
        let head = &mut self.scratch;
        head.extend_from_slice(b"{\"jsonrpc\":\"2.0\"");
        if let Some(id) = id {
            write!(head, ",\"id\":{id}").expect("a vector takes every write");
        }
        head.extend_from_slice(b",\"method\":");
        Encoder::lossless(head).string(method);
        if meta.is_empty() && meta.beside.is_empty() && body.is_empty() {
            return self.framed(kind, Bytes::new(), "}", "}\n");
        }
        head.extend_from_slice(b",\"params\":{");
        if !meta.is_empty() {
            meta.write(head);
            if !(meta.beside.is_empty() && body.is_empty()) {
                head.push(b',');
            }
        }
        head.extend_from_slice(meta.beside);
        if !(meta.beside.is_empty() || body.is_empty()) {
            head.push(b',');
        }
        self.framed(kind, body, "}}", "}}\n")
    }

    /// Returns the response to a request of the peer with a result.
    pub(crate) fn result(&mut self, id: &RequestId, result: Payload) -> Transmit {
        let head = &mut self.scratch;
        head.reserve(RESPONSE_HEAD);
        head.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
        let encoded = id.encode(&mut Encoder::lossless(head));
        encoded.expect("every revision has ids");
        head.extend_from_slice(b",\"result\":");
        self.framed(TransmitKind::Response, result.into_bytes(), "}", "}\n")
    }

    /// Returns the response to a request of the peer with an error.
    pub(crate) fn error(&mut self, id: Option<&RequestId>, error: &ErrorObject) -> Transmit {
        envelope::write_error(&mut self.scratch, id, error);
        self.framed(TransmitKind::Response, Bytes::new(), "", "\n")
    }

    /// Returns the responses to a batch of the peer, as an array.
    pub(crate) fn batch(&mut self, answers: Vec<u8>) -> Transmit {
        self.framed(TransmitKind::Response, answers.into(), "", "\n")
    }

    /// Closes the frame whose head is in the scratch.
    fn framed(
        &mut self,
        kind: TransmitKind,
        body: Bytes,
        tail: &'static str,
        line_tail: &'static str,
    ) -> Transmit {
        let mut body = body;
        let tail = match (self.carrier, self.framing) {
            (Carrier::StreamPerRequest, _) => tail,
            (Carrier::SharedStream, Framing::Line) => {
                body = without_line_ends(body);
                line_tail
            }
            (Carrier::SharedStream, Framing::ContentLength) => {
                let length = self.scratch.len() + body.len() + tail.len();
                let mut header = Vec::with_capacity(32);
                Framing::ContentLength.write_head(&mut header, length);
                self.scratch.splice(..0, header);
                tail
            }
        };
        Transmit {
            kind,
            stream: None,
            head: self.take_head(),
            body,
            tail: Bytes::from_static(tail.as_bytes()),
            status: 200,
            slot: Slot::default(),
        }
    }

    fn take_head(&mut self) -> Bytes {
        if self.carrier == Carrier::StreamPerRequest {
            let head = Bytes::copy_from_slice(&self.scratch);
            self.clear_scratch();
            return head;
        }
        if self.arena.capacity() < self.scratch.len() {
            self.arena.reserve(ARENA.max(self.scratch.len()));
        }
        self.arena.extend_from_slice(&self.scratch);
        self.clear_scratch();
        self.arena.split().freeze()
    }

    fn clear_scratch(&mut self) {
        self.scratch.clear();
        // One large error must not occupy its memory for ever.
        self.scratch.shrink_to(ARENA);
    }
}

/// Replaces line ends by spaces, since one message is one line. A line end in JSON is white space:
/// in a string it is escaped, and the caller may have written the body over several lines.
fn without_line_ends(body: Bytes) -> Bytes {
    if memchr2(b'\n', b'\r', &body).is_none() {
        return body;
    }
    let mut line = body.to_vec();
    for byte in &mut line {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    line.into()
}
