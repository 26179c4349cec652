//! The messages of a stream that can't be resumed, while they wait for its body.

use std::collections::VecDeque;
use std::sync::Arc;

use bowline_proto::{Transmit, TransmitKind};
use bytes::{Bytes, BytesMut};

use crate::server::http::{
    CutResponses, MAX_UNCOUNTED, UnreadResponse, UnreadResponses, write_event,
};

/// Bytes of notifications and requests that may wait on one stream that can't be resumed. Beyond it
/// the stream is cut.
pub(in super::super) const MAX_STREAM_BYTES: usize = 1024 * 1024;

/// Messages that may wait on one such stream, for those that are small.
pub(in super::super) const MAX_STREAM_MESSAGES: usize = 1000;

/// Messages that can't be resumed.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pub(super) messages: VecDeque<Transmit>,
    /// The response, if it is large, as an event. It is the last message.
    pub(super) large: Option<UnreadResponse>,
    /// The limit on large responses, once this is a stream of events.
    pub(super) unread: Option<Arc<UnreadResponses>>,
    /// Bytes of the messages, without responses.
    pub(super) bytes: usize,
    /// `true` if messages were dropped since the client doesn't read.
    pub(super) is_cut: bool,
}

impl Queue {
    /// Returns `true` if another notification or request of this length can wait.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        !self.is_cut
            && self.bytes + bytes <= MAX_STREAM_BYTES
            && self.messages.len() < MAX_STREAM_MESSAGES
    }

    /// Queues a message, unless too many wait. Responses always find room: requests are limited, and
    /// large ones on streams of events [together](UnreadResponses). Returns those that it cuts.
    pub(super) fn push(&mut self, transmit: Transmit) -> CutResponses {
        if transmit.kind != TransmitKind::Response {
            if !self.has_room(transmit.len()) {
                self.is_cut = true;
                return CutResponses::default();
            }
            self.bytes += transmit.len();
        } else if let Some(unread) = &self.unread
            && transmit.len() > MAX_UNCOUNTED
            && self.large.is_none()
        {
            let mut event = BytesMut::new();
            write_event(&mut event, &transmit);
            let (large, cut) = unread.hold([Bytes::new(), event.freeze(), Bytes::new()]);
            self.large = Some(large);
            return cut;
        }
        self.messages.push_back(transmit);
        CutResponses::default()
    }

    /// Applies the limit on large responses from now on, and to the one that waits.
    pub(super) fn limit_unread(&mut self, unread: &Arc<UnreadResponses>) -> CutResponses {
        self.unread = Some(Arc::clone(unread));
        let is_response = |last: &mut Transmit| last.kind == TransmitKind::Response;
        let response = self.messages.pop_back_if(is_response);
        response.map_or_else(CutResponses::default, |response| self.push(response))
    }

    pub(super) fn pop(&mut self) -> Option<Transmit> {
        let transmit = self.messages.pop_front()?;
        if transmit.kind != TransmitKind::Response {
            self.bytes -= transmit.len();
        }
        Some(transmit)
    }
}
