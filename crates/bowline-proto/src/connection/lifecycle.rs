//! The lifecycle of a connection: opening, negotiation, keepalive, closing.

use bowline_types::lifecycle::{DiscoverResult, InitializeParams, InitializeResult};
use bowline_types::meta::{RequestMeta, keys};
use bowline_types::wire::EncodeMembers as _;
use bowline_types::{Encoder, Era, ErrorObject, Method, RawJsonRef, Revision, Wire, tasks};
use bytes::Bytes;

use super::{Connection, Event, Phase, StreamEnd};
use crate::calls::{CallId, Timeouts};
use crate::close::{CloseReason, PeerFault};
use crate::config::Carrier;
use crate::defect::{self, Defect};
use crate::endpoint::{Purpose, Tag};
use crate::keepalive::{Silence, Verdict};
use crate::message::SESSION_KEY;
use crate::negotiation::{Agreement, Negotiation, Step};
use crate::outcome::{Outcome, Sent};
use crate::time::Instant;
use crate::trace::{self, Side};

/// The timeouts of handshake messages: the handshake has a deadline of its own.
const UNLIMITED: Timeouts = Timeouts::UNLIMITED;

impl Connection {
    /// Begins the handshake: the transport is up.
    pub fn open(&mut self, now: Instant) {
        let Phase::New = self.phase else { return };
        // Expired tombstones may come from the previous connection.
        self.endpoint.calls.sweep(now);
        let (negotiation, step) = Negotiation::begin(self.config.revisions, self.config.known_era);
        let startup = self.config.startup_timeout;
        self.change_phase(
            Phase::Negotiating {
                negotiation,
                deadline: now + startup.unwrap_or(self.config.handshake_timeout),
                has_received: startup.is_none(),
                probe: None,
            },
            "opened",
        );
        self.advance(now, step);
    }

    /// Handles an expired session of the handshake era: the server refused `call` for it. One
    /// handshake for all calls opens a new session; calls that wait on their streams go on
    /// waiting.
    pub fn handle_session_expired(&mut self, now: Instant, call: CallId) {
        self.handle_expired_call(now, call);
        let Phase::Ready { .. } = self.phase else {
            return;
        };
        let (negotiation, step) = Negotiation::begin(self.config.revisions, Some(Era::Handshake));
        let phase = Phase::Negotiating {
            negotiation,
            deadline: now + self.config.handshake_timeout,
            has_received: true,
            probe: None,
        };
        self.silence = None;
        self.change_phase(phase, "session expired");
        self.advance(now, step);
    }

    /// Ends a call that was not served because its session has expired.
    pub(crate) fn handle_expired_call(&mut self, now: Instant, call: CallId) {
        let purpose = self
            .endpoint
            .calls
            .get(call)
            .map(|waiting| waiting.tag.purpose);
        match purpose {
            None => {}
            // The handshake is outside of any session: it was refused.
            Some(Purpose::Discover | Purpose::Initialize) => {
                self.handle_stream_end(now, call, StreamEnd::Refused(404));
            }
            Some(Purpose::Keepalive | Purpose::User) => {
                if let Some(waiting) = self.endpoint.calls.give_up(now, call) {
                    let reason = "the session has expired".into();
                    let outcome = Outcome::Lost { reason };
                    self.endpoint
                        .complete_call_as(now, call, &waiting, outcome, Sent::No);
                }
            }
        }
    }

    /// Returns `true` if no call can be made any more.
    pub(crate) fn is_out_of_ids(&self) -> bool {
        self.endpoint.counter.is_exhausted()
    }

    /// Closes the connection: pending calls end with it.
    pub fn close(&mut self, now: Instant) {
        self.close_with(now, CloseReason::Local);
    }

    /// Closes the connection because its ids are used up.
    pub(crate) fn close_for_ids(&mut self, now: Instant) {
        self.close_with(now, CloseReason::IdsExhausted);
    }

    pub(super) fn close_with(&mut self, now: Instant, reason: CloseReason) {
        if self.is_closed() {
            return;
        }
        self.was_probing = match &self.phase {
            Phase::Negotiating { negotiation, .. } => negotiation.is_probing(),
            Phase::New | Phase::Ready { .. } | Phase::Closed => false,
        };
        self.change_phase(Phase::Closed, reason.name());
        self.silence = None;
        // The driver stops all handlers on the `Closed` event.
        self.endpoint.end_all(now, || close_outcome(&reason));
        self.endpoint.push_event(Event::Closed(reason));
    }

    fn change_phase(&mut self, phase: Phase, reason: &str) {
        trace::transition(Side::Client, self.phase.name(), phase.name(), reason);
        self.phase = phase;
    }

    pub(super) fn handle_handshake_timeout(&mut self, now: Instant) {
        let Phase::Negotiating {
            negotiation,
            deadline,
            probe,
            ..
        } = &mut self.phase
        else {
            return;
        };
        if *deadline <= now && !defect::is(Defect::EndlessHandshake) {
            return self.close_with(now, CloseReason::Peer(PeerFault::HandshakeTimeout));
        }
        if probe.is_some_and(|at| at <= now) {
            *probe = None;
            let step = negotiation.on_probe_timeout();
            self.advance(now, step);
        }
    }

    /// Handles the response to `server/discover` or `initialize`.
    pub(super) fn handle_handshake_response(
        &mut self,
        now: Instant,
        purpose: Purpose,
        answer: Result<RawJsonRef<'_>, Option<ErrorObject>>,
    ) {
        // The lookup scans all calls, so only for the probe.
        let has_initialized = purpose == Purpose::Discover && self.may_have_sent_initialize();
        let Phase::Negotiating { negotiation, .. } = &mut self.phase else {
            return;
        };
        let step = match (purpose, answer) {
            (Purpose::Discover, Ok(result)) => match DiscoverResult::from_json(result.as_str()) {
                Ok(result) => negotiation.on_discover(result, has_initialized),
                Err(_) => negotiation.on_discover_error(None),
            },
            (Purpose::Discover, Err(error)) => negotiation.on_discover_error(error),
            (Purpose::Initialize, Ok(result)) => match InitializeResult::from_json(result.as_str())
            {
                Ok(result) => negotiation.on_initialize(result),
                Err(error) => negotiation.on_invalid_initialize(error.to_string()),
            },
            (Purpose::Initialize, Err(Some(error))) => negotiation.on_initialize_error(error),
            (Purpose::Initialize, Err(None)) => {
                negotiation.on_invalid_initialize("the error can't be decoded".into())
            }
            (Purpose::User | Purpose::Keepalive, _) => return,
        };
        self.advance(now, step);
    }

    /// Returns `true` if the server may have seen an `initialize` that waits for its response.
    fn may_have_sent_initialize(&self) -> bool {
        let calls = &self.endpoint.calls;
        let is_initialize = |tag: &Tag| tag.purpose == Purpose::Initialize;
        let waiting = calls
            .find_first(is_initialize)
            .and_then(|call| calls.get(call));
        let ticket = waiting.map(|waiting| waiting.tag.ticket);
        ticket.is_some_and(|ticket| ticket.is_none_or(|ticket| !self.endpoint.outbox.holds(ticket)))
    }

    fn advance(&mut self, now: Instant, step: Step) {
        match step {
            Step::Wait => {}
            Step::Discover(revision) => {
                self.set_stateless_meta(self.build_stateless_meta(revision));
                let meta = self.stateless_meta.clone();
                self.send_handshake(
                    now,
                    Purpose::Discover,
                    Method::Discover,
                    &meta,
                    Bytes::new(),
                );
                // Over HTTP every server answers what it doesn't know; silence is an error
                // of the transport, and does not indicate the era.
                let until = match self.config.carrier {
                    Carrier::SharedStream => Some(now + self.config.probe_timeout),
                    Carrier::StreamPerRequest => None,
                };
                if let Phase::Negotiating { probe, .. } = &mut self.phase {
                    *probe = until;
                }
            }
            Step::Initialize(revision) => {
                // All requests from here on are of the handshake era.
                self.set_stateless_meta(Bytes::new());
                if let Phase::Negotiating { probe, .. } = &mut self.phase {
                    *probe = None;
                }
                let body = self.initialize_body(revision);
                self.send_handshake(now, Purpose::Initialize, Method::Initialize, &[], body);
            }
            Step::Agreed(agreement) => self.become_ready(now, agreement),
            Step::Failed(error) => self.close_with(now, CloseReason::Negotiation(error)),
        }
    }

    fn become_ready(&mut self, now: Instant, agreement: Box<Agreement>) {
        let revision = agreement.revision;
        self.change_phase(Phase::Ready { revision }, revision.as_str());
        // The loser of the two may still be answered.
        let is_handshake = |tag: &Tag| match tag.purpose {
            Purpose::Discover | Purpose::Initialize => true,
            Purpose::Keepalive | Purpose::User => false,
        };
        while let Some(call) = self.endpoint.calls.find_first(is_handshake) {
            self.endpoint.drop_internal_call(now, call);
        }
        self.silence = self
            .config
            .keepalive
            .map(|settings| Silence::begin(now, settings));
        match revision.era() {
            Era::Stateless => self.set_stateless_meta(self.build_stateless_meta(revision)),
            Era::Handshake => {
                self.set_stateless_meta(Bytes::new());
                self.endpoint.notify_owed(Method::Initialized, Bytes::new());
            }
        }
        self.endpoint.push_event(Event::Ready(agreement));
    }

    /// Pings a silent server, or closes the connection after too many pings.
    pub(super) fn handle_silence(&mut self, now: Instant) {
        let Some(silence) = &mut self.silence else {
            return;
        };
        if !self.endpoint.wants_read() {
            // The server may have sent bytes that were not read.
            return silence.reset(now);
        }
        match silence.check(now) {
            Verdict::Wait => {}
            Verdict::Ask { asked } => {
                let is_of_user = |tag: &Tag| tag.purpose == Purpose::User;
                if self.endpoint.counter.is_exhausted()
                    && self.endpoint.calls.find_first(is_of_user).is_some()
                {
                    // Calls that wait may still be answered.
                    return silence.reset(now);
                }
                trace::keepalive(Side::Client, asked);
                // The previous ping has had its time.
                let is_question = |tag: &Tag| tag.purpose == Purpose::Keepalive;
                if let Some(call) = self.endpoint.calls.find_first(is_question) {
                    self.endpoint.drop_internal_call(now, call);
                }
                let method = self.ping_method();
                let meta = self.stateless_meta.clone();
                let purpose = Purpose::Keepalive;
                let asked = self.endpoint.call_internally(
                    now,
                    purpose,
                    method,
                    &meta,
                    Bytes::new(),
                    UNLIMITED,
                );
                if asked.is_none() {
                    self.close_with(now, CloseReason::IdsExhausted);
                }
            }
            Verdict::Dead { missed } => {
                let fault = PeerFault::Silent { missed };
                self.close_with(now, CloseReason::Peer(fault));
            }
        }
    }

    fn send_handshake(
        &mut self,
        now: Instant,
        purpose: Purpose,
        method: Method,
        meta: &[u8],
        body: Bytes,
    ) {
        let sent = self
            .endpoint
            .call_internally(now, purpose, method, meta, body, UNLIMITED);
        if sent.is_none() {
            self.close_with(now, CloseReason::IdsExhausted);
        }
    }

    fn set_stateless_meta(&mut self, meta: Bytes) {
        self.stateless_meta = meta;
        self.join_meta();
    }

    /// Joins the members of `_meta` that every call of the user carries.
    pub(super) fn join_meta(&mut self) {
        self.request_meta = match self.session_tag {
            None => self.stateless_meta.clone(),
            Some(session) => {
                let mut meta = self.stateless_meta.to_vec();
                let mut encoder = Encoder::lossless(&mut meta);
                encoder.key(SESSION_KEY);
                encoder.integer(i64::try_from(session).unwrap_or(i64::MAX));
                meta.into()
            }
        };
    }

    fn initialize_body(&self, revision: Revision) -> Bytes {
        let mut capabilities = self.config.capabilities.clone();
        // Tasks are a part of 2025-11-25 itself, and the extension means nothing in it.
        capabilities.remove_extension(tasks::EXTENSION);
        let params = InitializeParams::new(
            revision.as_str(),
            capabilities,
            self.config.client_info.clone(),
        );
        let mut body = Vec::new();
        params
            .encode_members(&mut Encoder::new(&mut body, revision), false)
            .expect("a handshake revision has `initialize`");
        body.into()
    }

    /// Returns the members of `_meta` that describe the client in every stateless request.
    fn build_stateless_meta(&self, revision: Revision) -> Bytes {
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

    /// Returns `true` if a call is a subscription of the stateless era.
    pub(super) fn is_subscription(&self, call: CallId) -> bool {
        let waiting = self.endpoint.calls.get(call);
        waiting.is_some_and(|waiting| waiting.tag.is_subscription)
    }
}

/// Returns the outcome of calls that end with their connection.
fn close_outcome(reason: &CloseReason) -> Outcome {
    match reason {
        CloseReason::Local => Outcome::Shutdown,
        CloseReason::Peer(PeerFault::OversizedFrame { size }) => Outcome::TooLarge { size: *size },
        CloseReason::Peer(PeerFault::SessionReset) => Outcome::CancelledByServer,
        CloseReason::Peer(fault @ PeerFault::Initialize) => Outcome::Invalid(fault.to_string()),
        CloseReason::Peer(
            PeerFault::HandshakeTimeout
            | PeerFault::UnfinishedFrame
            | PeerFault::Codec(_)
            | PeerFault::TooManyViolations
            | PeerFault::Silent { .. },
        )
        | CloseReason::Negotiation(_)
        | CloseReason::Transport(_)
        | CloseReason::Refused(_)
        | CloseReason::Stalled
        | CloseReason::IdsExhausted => Outcome::Lost {
            reason: reason.lost_reason(),
        },
    }
}
