//! Messages that we send: head, shared body, tail, in the framing of the peer.

use bowline_types::{Encoder, ErrorObject, JsonRef, RequestId, envelope};
use bytes::Bytes;

use crate::codec::Framing;
use crate::config::Carrier;
use crate::outbox::{Transmit, TransmitKind};

/// The members of `params`, without the braces around them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Members {
    /// Those of `_meta`, without its braces. Empty for no `_meta`.
    pub(crate) meta: Vec<u8>,
    /// The others.
    pub(crate) body: Bytes,
}

/// Composes messages for a carrier and a framing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Composer {
    pub(crate) carrier: Carrier,
    pub(crate) framing: Framing,
}

impl Composer {
    /// A request or a notification.
    pub(crate) fn message(
        &self,
        kind: TransmitKind,
        id: Option<&RequestId>,
        method: &str,
        params: Members,
    ) -> Transmit {
        let mut head = Vec::with_capacity(96 + params.meta.len());
        head.extend_from_slice(b"{\"jsonrpc\":\"2.0\"");
        if let Some(id) = id {
            head.extend_from_slice(b",\"id\":");
            head.extend_from_slice(id.to_string().as_bytes());
        }
        head.extend_from_slice(b",\"method\":");
        Encoder::lossless(&mut head).string(method);
        if params.meta.is_empty() && params.body.is_empty() {
            return self.framed(kind, head, Bytes::new(), "}", "}\n");
        }
        head.extend_from_slice(b",\"params\":{");
        if !params.meta.is_empty() {
            head.extend_from_slice(b"\"_meta\":{");
            head.extend_from_slice(&params.meta);
            head.push(b'}');
            if !params.body.is_empty() {
                head.push(b',');
            }
        }
        self.framed(kind, head, params.body, "}}", "}}\n")
    }

    /// The answer to a request of the peer, with a result.
    pub(crate) fn result(&self, id: &RequestId, result: JsonRef<'_>) -> Transmit {
        let mut head = Vec::new();
        envelope::write_raw_result(&mut head, id, result);
        self.framed(TransmitKind::Answer, head, Bytes::new(), "", "\n")
    }

    /// The answer to a request of the peer, with an error.
    pub(crate) fn error(&self, id: Option<&RequestId>, error: &ErrorObject) -> Transmit {
        let mut head = Vec::new();
        envelope::write_error(&mut head, id, error);
        self.framed(TransmitKind::Answer, head, Bytes::new(), "", "\n")
    }

    fn framed(
        &self,
        kind: TransmitKind,
        head: Vec<u8>,
        body: Bytes,
        tail: &'static str,
        line_tail: &'static str,
    ) -> Transmit {
        let (head, tail) = match (self.carrier, self.framing) {
            (Carrier::StreamPerRequest, _) => (head, tail),
            (Carrier::SharedStream, Framing::Line) => (head, line_tail),
            (Carrier::SharedStream, Framing::ContentLength) => {
                let mut framed = Vec::with_capacity(head.len() + 32);
                let length = head.len() + body.len() + tail.len();
                Framing::ContentLength.write_head(&mut framed, length);
                framed.extend_from_slice(&head);
                (framed, tail)
            }
        };
        Transmit {
            kind,
            head: head.into(),
            body,
            tail: Bytes::from_static(tail.as_bytes()),
        }
    }
}
