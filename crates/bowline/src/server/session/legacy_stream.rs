//! The event stream of a session of the transport of 2024-11-05 (HTTP+SSE): all messages of the
//! server leave on it, responses too.
//!
//! The client's messages arrive by POST, as those of other sessions over HTTP do; their handlers run
//! as in [`http_requests`](super::http_requests). A client that doesn't read its stream has its
//! requests refused at a limit, and its stream cut when too many other messages wait.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};

use bowline_proto::server::{SessionConfig, SessionPhase};
use bowline_proto::{Transmit, TransmitKind};
use bowline_types::envelope::Envelope;
use bytes::Bytes;

use super::http_requests::{HttpSessionStart, SessionTimer};
use super::response_queue::{MAX_STREAM_BYTES, MAX_STREAM_MESSAGES};
use super::{SessionCore, SessionShared};
use crate::clock::Clock;
use crate::log_names::entered;
use crate::server::http::HttpRequestParts;
use crate::server::principal::Principal;
use crate::server::server_core::ServerCore;

/// The messages that wait on the stream.
#[derive(Debug, Default)]
pub(super) struct LegacyStream {
    queue: VecDeque<Transmit>,
    /// Bytes of the queue.
    bytes: usize,
    /// Bytes of the queue, and messages, that are no responses.
    unasked: (usize, usize),
    /// `true` if messages were dropped since the client doesn't read.
    is_cut: bool,
    /// `true` if its body should look at it again.
    is_changed: bool,
    waker: Option<Waker>,
}

/// What the body finds on the stream.
#[derive(Debug)]
pub(in super::super) enum LegacyOutput {
    Message(Transmit),
    /// Nothing follows.
    End,
    /// The client doesn't read: messages were dropped.
    Cut,
}

/// Why a message was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum NotTaken {
    /// The session has ended.
    Closed,
    /// No request is started any more: the server shuts down.
    ShuttingDown,
    /// Too much is unanswered or unread.
    Busy,
}

impl LegacyStream {
    /// Queues a message of the core. Responses always find room: their requests are limited.
    pub(super) fn push(&mut self, transmit: Transmit) {
        self.is_changed = true;
        let size = transmit.len();
        if transmit.kind != TransmitKind::Response {
            let (bytes, messages) = self.unasked;
            if bytes + size > MAX_STREAM_BYTES || messages >= MAX_STREAM_MESSAGES {
                self.is_cut = true;
                return;
            }
            self.unasked = (bytes + size, messages + 1);
        }
        self.bytes += size;
        self.queue.push_back(transmit);
    }

    fn pop(&mut self) -> Option<Transmit> {
        let transmit = self.queue.pop_front()?;
        let size = transmit.len();
        self.bytes -= size;
        if transmit.kind != TransmitKind::Response {
            self.unasked = (self.unasked.0 - size, self.unasked.1 - 1);
        }
        Some(transmit)
    }

    /// Lets the body look at the stream: a change may have become due.
    pub(super) fn note_change(&mut self) {
        self.is_changed = true;
    }

    /// Returns what wakes the body, if there is something for it.
    pub(super) fn take_waker(&mut self, has_ended: bool) -> Option<Waker> {
        let is_changed = std::mem::take(&mut self.is_changed);
        (is_changed || has_ended).then(|| self.waker.take())?
    }
}

impl SessionCore {
    /// Returns `true` if the client may not send another request: `limit` requests are being served
    /// or have an unread response, or too many bytes are unread.
    fn has_legacy_backlog(&self, limit: usize) -> bool {
        let Some(stream) = &self.legacy_stream else {
            return false;
        };
        let waiting = self.session.open_handlers() + stream.queue.len();
        waiting >= limit || stream.bytes > MAX_STREAM_BYTES
    }
}

impl SessionShared {
    /// Begins a session whose messages all leave on one event stream. Must be called within a
    /// runtime.
    pub(in super::super) fn for_legacy_sse(
        server: Arc<ServerCore>,
        config: Arc<SessionConfig>,
        clock: Clock,
        principal: Option<Principal>,
    ) -> Arc<Self> {
        let start = HttpSessionStart {
            config,
            clock,
            principal,
            resumed: None,
            log: None,
        };
        let shared = Self::for_http(server, start);
        shared.lock().legacy_stream = Some(LegacyStream::default());
        shared
    }

    /// Handles the message of a POST, and runs its handlers in place. A request is not taken while
    /// `limit` requests are unanswered or have an unread response.
    pub(in super::super) fn handle_legacy_post(
        self: &Arc<Self>,
        frame: &Bytes,
        message: Envelope<'_>,
        parts: &HttpRequestParts,
        limit: usize,
        cx: &mut TaskContext<'_>,
    ) -> Result<(), NotTaken> {
        let _entered = entered(&self.span);
        let mut now = self.now();
        let drained = {
            let mut core = self.lock();
            let is_request = matches!(message, Envelope::Request(_) | Envelope::Batch(_));
            match core.session.phase() {
                SessionPhase::Closed => return Err(NotTaken::Closed),
                SessionPhase::ShuttingDown if is_request => return Err(NotTaken::ShuttingDown),
                _ => {}
            }
            if is_request && core.has_legacy_backlog(limit) {
                return Err(NotTaken::Busy);
            }
            core.session.handle_message(now, None, frame, message);
            core.drain_http(self.clock)
        };
        for message in drained.finish(self) {
            now = self.run_inbound(message, parts, now, cx);
        }
        Ok(())
    }

    /// Returns the next message of the stream. A session that shuts down ends here, once its
    /// requests are answered and the answers are taken.
    pub(in super::super) fn poll_legacy_stream(
        &self,
        timer: &mut SessionTimer,
        cx: &mut TaskContext<'_>,
    ) -> Poll<LegacyOutput> {
        timer.poll(cx);
        let drained = {
            let mut core = self.lock();
            let Some(stream) = &mut core.legacy_stream else {
                return Poll::Ready(LegacyOutput::End);
            };
            if stream.is_cut {
                return Poll::Ready(LegacyOutput::Cut);
            }
            if let Some(transmit) = stream.pop() {
                return Poll::Ready(LegacyOutput::Message(transmit));
            }
            match core.session.phase() {
                SessionPhase::Closed => return Poll::Ready(LegacyOutput::End),
                SessionPhase::ShuttingDown if core.session.open_handlers() == 0 => {
                    core.session.close(self.now());
                    core.drain_http(self.clock)
                }
                _ => {
                    if let Some(stream) = &mut core.legacy_stream {
                        stream.waker = Some(cx.waker().clone());
                    }
                    return Poll::Pending;
                }
            }
        };
        drained.finish_outbound(self);
        Poll::Ready(LegacyOutput::End)
    }
}
