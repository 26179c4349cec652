//! The life of a connection: opening, agreeing, closing.

use std::time::Duration;

use bowline_types::lifecycle::{DiscoverResult, InitializeParams, InitializeResult};
use bowline_types::meta::{RequestMeta, keys};
use bowline_types::wire::Members as _;
use bowline_types::{Encoder, Era, ErrorObject, JsonRef, Method, Revision, Wire};
use bytes::Bytes;

use super::{CloseReason, Connection, Event, Outcome, PeerFault, Phase, Sent, Tag};
use crate::calls::{CallId, Timeouts};
use crate::message::Members;
use crate::negotiation::{Agreement, Negotiation, Step};
use crate::outbox::TransmitKind;
use crate::time::Instant;

/// Messages of the handshake have the handshake's time, not one of their own.
const UNLIMITED: Timeouts = Timeouts::new(Duration::MAX, Duration::MAX);

impl Connection {
    /// Begins the handshake: the transport is up.
    pub fn open(&mut self, now: Instant) {
        let Phase::New = self.phase else { return };
        let (negotiation, step) = Negotiation::begin(self.config.revisions, self.config.known_era);
        self.phase = Phase::Negotiating {
            negotiation,
            handshake: now + self.config.handshake_timeout,
            probe: None,
        };
        self.advance(now, step);
    }

    /// Ends the connection: what waits ends with it.
    pub fn close(&mut self, now: Instant) {
        self.close_with(now, CloseReason::Local);
    }

    pub(super) fn close_with(&mut self, now: Instant, reason: CloseReason) {
        if self.is_closed() {
            return;
        }
        self.phase = Phase::Closed;
        while let Some(call) = self.calls.first() {
            let Some(waiting) = self.calls.give_up(now, call) else {
                break;
            };
            match waiting.tag {
                Tag::User { ticket, .. } => {
                    let sent = if ticket.is_some() {
                        Sent::No
                    } else {
                        Sent::Maybe
                    };
                    self.end(call, outcome_of(&reason, sent));
                }
                Tag::Discover | Tag::Initialize => {}
            }
        }
        while self.outbox.pop().is_some() {}
        self.peer_requests.clear();
        self.emit(Event::Closed(reason));
    }

    pub(super) fn handle_handshake_timeout(&mut self, now: Instant) {
        let Phase::Negotiating {
            negotiation,
            handshake,
            probe,
        } = &mut self.phase
        else {
            return;
        };
        if *handshake <= now {
            return self.close_with(now, CloseReason::Peer(PeerFault::HandshakeTimeout));
        }
        if probe.is_some_and(|deadline| deadline <= now) {
            *probe = None;
            let step = negotiation.on_probe_timeout();
            self.advance(now, step);
        }
    }

    /// An answer to `server/discover` or `initialize`.
    pub(super) fn handle_handshake_answer(
        &mut self,
        now: Instant,
        tag: &Tag,
        answer: Result<JsonRef<'_>, Option<ErrorObject>>,
    ) {
        let Phase::Negotiating { negotiation, .. } = &mut self.phase else {
            return;
        };
        let step = match (tag, answer) {
            (Tag::Discover, Ok(result)) => match DiscoverResult::from_json(result.as_str()) {
                Ok(result) => negotiation.on_discover(result),
                Err(_) => negotiation.on_discover_error(None),
            },
            (Tag::Discover, Err(error)) => negotiation.on_discover_error(error),
            (Tag::Initialize, Ok(result)) => match InitializeResult::from_json(result.as_str()) {
                Ok(result) => negotiation.on_initialize(result),
                Err(error) => negotiation.on_invalid_initialize(error.to_string()),
            },
            (Tag::Initialize, Err(Some(error))) => negotiation.on_initialize_error(error),
            (Tag::Initialize, Err(None)) => {
                negotiation.on_invalid_initialize("the error can't be read".into())
            }
            (Tag::User { .. }, _) => return,
        };
        self.advance(now, step);
    }

    fn advance(&mut self, now: Instant, step: Step) {
        match step {
            Step::Wait => {}
            Step::Discover(revision) => {
                self.stateless_meta = self.meta_of(revision);
                let params = Members {
                    meta: self.stateless_meta.to_vec(),
                    body: Bytes::new(),
                };
                self.send_handshake(now, Method::Discover, Tag::Discover, params);
                let deadline = now + self.config.probe_timeout;
                if let Phase::Negotiating { probe, .. } = &mut self.phase {
                    *probe = Some(deadline);
                }
            }
            Step::Initialize(revision) => {
                if let Phase::Negotiating { probe, .. } = &mut self.phase {
                    *probe = None;
                }
                let params = Members {
                    meta: Vec::new(),
                    body: self.initialize_body(revision),
                };
                self.send_handshake(now, Method::Initialize, Tag::Initialize, params);
            }
            Step::Agreed(agreement) => self.become_ready(now, agreement),
            Step::Failed(error) => self.close_with(now, CloseReason::Negotiation(error)),
        }
    }

    fn become_ready(&mut self, now: Instant, agreement: Box<Agreement>) {
        let revision = agreement.revision;
        self.phase = Phase::Ready { revision };
        // The loser of the two may still be answered.
        while let Some(call) = self.calls.first() {
            self.calls.give_up(now, call);
        }
        match revision.era() {
            Era::Stateless => self.stateless_meta = self.meta_of(revision),
            Era::Handshake => {
                self.stateless_meta = Bytes::new();
                let method = Method::Initialized.as_str();
                let done = self.composer.message(
                    TransmitKind::Notification,
                    None,
                    method,
                    Members::default(),
                );
                self.outbox.push_owed(done);
            }
        }
        self.emit(Event::Ready(agreement));
    }

    fn send_handshake(&mut self, now: Instant, method: Method, tag: Tag, params: Members) {
        let Some(call) = self.counter.issue() else {
            let reason = "the ids are used up".to_owned();
            return self.close_with(now, CloseReason::Transport(reason));
        };
        let kind = TransmitKind::Call(call);
        let message = self
            .composer
            .message(kind, Some(&call.into()), method.as_str(), params);
        self.calls.insert(now, call, UNLIMITED, tag);
        self.outbox.push_owed(message);
    }

    fn initialize_body(&self, revision: Revision) -> Bytes {
        let params = InitializeParams::new(
            revision.as_str(),
            self.config.capabilities.clone(),
            self.config.client_info.clone(),
        );
        let mut body = Vec::new();
        params
            .encode_members(&mut Encoder::new(&mut body, revision), false)
            .expect("a handshake revision has `initialize`");
        body.into()
    }

    /// What every request of the stateless era says of its client.
    fn meta_of(&self, revision: Revision) -> Bytes {
        let capabilities = self.config.capabilities.to_json(revision);
        let mut meta = RequestMeta::new().with(keys::PROTOCOL_VERSION, revision.as_str());
        if let Ok(capabilities) = capabilities {
            meta.insert(keys::CLIENT_CAPABILITIES.name(), capabilities);
        }
        if let Ok(info) = self.config.client_info.to_json(revision) {
            meta.insert(keys::CLIENT_INFO.name(), info);
        }
        let object = meta.as_object().as_str();
        let members = object.get(1..object.len() - 1).unwrap_or_default();
        Bytes::copy_from_slice(members.as_bytes())
    }

    /// Whether a call is one of the handshake.
    pub(super) fn is_handshake(&self, call: CallId) -> bool {
        match self.calls.get(call).map(|waiting| &waiting.tag) {
            Some(Tag::Discover | Tag::Initialize) => true,
            Some(Tag::User { .. }) | None => false,
        }
    }
}

/// How a call ends when its connection does.
fn outcome_of(reason: &CloseReason, sent: Sent) -> Outcome {
    match reason {
        CloseReason::Local => Outcome::Shutdown,
        CloseReason::Peer(PeerFault::OversizedFrame { size }) => Outcome::TooLarge { size: *size },
        CloseReason::Peer(PeerFault::SessionReset) => Outcome::CancelledByServer,
        CloseReason::Peer(fault @ PeerFault::Initialize) => Outcome::Invalid(fault.to_string()),
        CloseReason::Peer(
            PeerFault::HandshakeTimeout | PeerFault::Codec(_) | PeerFault::Nonsense,
        )
        | CloseReason::Negotiation(_)
        | CloseReason::Transport(_) => Outcome::Lost {
            reason: reason.to_string(),
            sent,
        },
    }
}
