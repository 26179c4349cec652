//! The lifecycle of a session: handshake, deadlines, shutting down, closing.

use bowline_types::lifecycle::{InitializeParams, InitializeResult};
use bowline_types::{ErrorCode, RawJsonRef, RequestId, Revision, Wire};

use super::{ClientInfo, Session, SessionEvent, SessionPhase};
use crate::batches::ReplyTo;
use crate::close::{CloseReason, PeerFault};
use crate::codec::CodecFault;
use crate::config::CancelDialect;
use crate::endpoint::{CancelForm, Stall};
use crate::outbox::Transmit;
use crate::outcome::Outcome;
use crate::payload::Payload;
use crate::time::Instant;
use crate::trace::{self, Side};

/// The form of cancellations to a client: the notification of the protocol.
pub(super) const CANCEL: CancelForm = CancelForm::Message(CancelDialect::Cancelled);

impl Session {
    /// Handles the deadlines that have passed. Call it when the time of
    /// [`poll_timeout`](Self::poll_timeout) has come.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.phase == SessionPhase::Closed {
            return;
        }
        if self.handshake.is_some_and(|deadline| deadline <= now) {
            self.handshake = None;
            self.endpoint.push_event(SessionEvent::HandshakeTimedOut);
            if !self.config.handshake_timeout_only_logs {
                let fault = PeerFault::HandshakeTimeout;
                return self.close_with(now, CloseReason::Peer(fault));
            }
        }
        self.endpoint.time_out_calls(now, CANCEL);
        while let Some(request) = self.endpoint.time_out_request(now) {
            self.endpoint
                .push_event(SessionEvent::RequestTimedOut(request));
        }
        match self.endpoint.check_flow(now) {
            None => {}
            Some(Stall::Reading | Stall::Writing) => self.close_with(now, CloseReason::Stalled),
            Some(Stall::Skipping) => {
                let fault = PeerFault::Codec(CodecFault::EndlessFrame);
                self.close_with(now, CloseReason::Peer(fault));
            }
            Some(Stall::Unfinished) => {
                self.close_with(now, CloseReason::Peer(PeerFault::UnfinishedFrame));
            }
        }
    }

    /// Handles a busy transport, which did not take the `transmit` of
    /// [`poll_transmit`](Self::poll_transmit). It is offered again a few times; on a carrier with a
    /// stream per request only its own stream waits.
    pub fn handle_busy(&mut self, now: Instant, transmit: Transmit) {
        if self.endpoint.handle_busy(now, transmit) {
            self.close_with(now, CloseReason::Stalled);
        }
    }

    /// Handles the loss of the transport.
    pub fn handle_lost(&mut self, now: Instant, reason: &str) {
        self.close_with(now, CloseReason::Transport(reason.into()));
    }

    /// Refuses new requests; open ones may still be answered.
    pub fn shut_down(&mut self) {
        match self.phase {
            SessionPhase::AwaitingInitialize | SessionPhase::Initialized | SessionPhase::Ready => {
                self.change_phase(SessionPhase::ShuttingDown, "shutdown requested");
                self.handshake = None;
            }
            SessionPhase::ShuttingDown | SessionPhase::Closed => {}
        }
    }

    /// Ends the session and everything in it.
    pub fn close(&mut self, now: Instant) {
        self.close_with(now, CloseReason::Local);
    }

    pub(super) fn close_with(&mut self, now: Instant, reason: CloseReason) {
        if self.phase == SessionPhase::Closed {
            return;
        }
        self.change_phase(SessionPhase::Closed, reason.name());
        self.handshake = None;
        let open = self.endpoint.end_all(now, || match &reason {
            CloseReason::Local => Outcome::Shutdown,
            other => Outcome::Lost {
                reason: other.lost_reason(),
            },
        });
        for request in open {
            self.endpoint
                .push_event(SessionEvent::RequestCancelled(request));
        }
        self.subscribed.clear();
        self.subscribed_bytes = 0;
        self.endpoint.push_event(SessionEvent::Closed(reason));
    }

    pub(super) fn change_phase(&mut self, phase: SessionPhase, reason: &str) {
        trace::transition(Side::Server, self.phase.as_str(), phase.as_str(), reason);
        self.phase = phase;
    }

    /// Handles `initialize`.
    pub(super) fn handle_initialize(
        &mut self,
        id: &RequestId,
        to: ReplyTo,
        params: Option<RawJsonRef<'_>>,
    ) {
        let text = params.map_or("{}", RawJsonRef::as_str);
        let params = match InitializeParams::from_json(text) {
            Ok(params) => params,
            Err(error) => {
                let message = error.under_key("params").to_string();
                return self.refuse(Some(id), to, ErrorCode::InvalidParams, &message);
            }
        };
        let ours = self.config.handshake_revisions();
        // Spec, basic/lifecycle: the requested revision, or the newest of ours.
        let asked = params.protocol_version.parse::<Revision>().ok();
        let asked = asked.filter(|revision| ours.contains(*revision));
        let Some(revision) = asked.or(ours.newest()) else {
            let message = "this server does not support initialize";
            return self.refuse(Some(id), to, ErrorCode::InvalidParams, message);
        };
        let Some(result) = self.initialize_result(revision) else {
            let message = "the capabilities can't be encoded for this revision";
            return self.refuse(Some(id), to, ErrorCode::InternalError, message);
        };
        self.endpoint.respond_with_result(id, to, result);
        self.revision = Some(revision);
        self.change_phase(SessionPhase::Initialized, revision.as_str());
        self.endpoint
            .push_event(SessionEvent::Initialized(Box::new(ClientInfo {
                info: params.client_info,
                capabilities: params.capabilities,
                revision,
            })));
    }

    fn initialize_result(&self, revision: Revision) -> Option<Payload> {
        let mut result = InitializeResult::new(
            revision,
            self.config.capabilities.clone(),
            self.config.server_info.clone(),
        );
        result.instructions.clone_from(&self.config.instructions);
        Payload::encode(&result, revision).ok()
    }
}
