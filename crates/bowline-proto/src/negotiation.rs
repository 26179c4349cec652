//! Negotiation with a server: its era, its revision, its capabilities.
//!
//! A client of both eras begins with `server/discover`, which only a stateless server
//! understands; after any other response, or none, it sends `initialize`. The rules are those of
//! docs/state-machine.md, "Initializing". This module decides; the connection sends.

use std::fmt;

use bowline_types::capabilities::ServerCapabilities;
use bowline_types::common::Implementation;
use bowline_types::error::UnsupportedVersionData;
use bowline_types::lifecycle::{DiscoverResult, InitializeResult};
use bowline_types::meta::keys;
use bowline_types::{Era, ErrorCode, ErrorObject, Revision, Revisions};

/// The result of the negotiation between client and server.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Agreement {
    /// The negotiated protocol revision.
    pub revision: Revision,
    /// The capabilities of the server.
    pub capabilities: ServerCapabilities,
    /// The name and version of the server, if it declares them.
    pub server_info: Option<Implementation>,
    /// The server's instructions for the model.
    pub instructions: Option<String>,
}

/// Why the negotiation failed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum NegotiationError {
    /// There is no common revision. Trying again doesn't help.
    NoCommonRevision {
        /// The revisions of the client.
        ours: Revisions,
        /// The versions of the server, as it names them.
        theirs: Vec<String>,
    },
    /// The server refused. It may accept later.
    Refused(ErrorObject),
    /// The server's response is invalid.
    InvalidResponse(String),
}

impl NegotiationError {
    /// Returns `true` if trying again at once can't help.
    pub fn is_permanent(&self) -> bool {
        match self {
            Self::NoCommonRevision { .. } => true,
            Self::Refused(_) | Self::InvalidResponse(_) => false,
        }
    }
}

impl fmt::Display for NegotiationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCommonRevision { ours, theirs } => {
                let theirs = theirs.join(", ");
                write!(
                    f,
                    "no common protocol version (client: {ours}; server: {theirs})"
                )
            }
            Self::Refused(error) => write!(f, "the server refused the handshake: {error}"),
            Self::InvalidResponse(reason) => {
                write!(f, "the server's response is invalid: {reason}")
            }
        }
    }
}

impl std::error::Error for NegotiationError {}

/// The next step of a negotiation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// Send `server/discover` in this revision.
    Discover(Revision),
    /// Send `initialize` and offer this revision.
    Initialize(Revision),
    /// Wait for the other response.
    Wait,
    /// The negotiation succeeded. After a handshake `notifications/initialized` is due.
    Agreed(Box<Agreement>),
    /// The negotiation failed.
    Failed(NegotiationError),
}

/// The state of one negotiation.
#[derive(Clone, Debug)]
pub(crate) struct Negotiation {
    ours: Revisions,
    state: State,
    /// Set when the probe was sent again, in another revision or in the same one.
    has_retried: bool,
    /// The revision of the last probe.
    asked: Option<Revision>,
    /// The failure of `initialize` while the probe was open: there is no alternative left.
    failed: Option<NegotiationError>,
    /// The result of the probe while `initialize` was pending: it counts if that fails.
    discovered: Option<Box<Agreement>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Waiting for the response to `server/discover` in this revision.
    Probing(Revision),
    /// Waiting for the response to `initialize`; that of a slow probe may still come.
    Initializing {
        probe_is_open: bool,
    },
    Done,
}

impl Negotiation {
    /// Begins with the likely era: `known` is the era of the server's last session.
    ///
    /// Fails at once if there is no revision to offer.
    pub(crate) fn begin(ours: Revisions, known: Option<Era>) -> (Self, Step) {
        let stateless = ours.intersection(Era::Stateless.revisions()).newest();
        let handshake = newest_handshake(ours);
        let (state, step) = match (stateless, handshake) {
            (Some(revision), handshake) if known != Some(Era::Handshake) || handshake.is_none() => {
                (State::Probing(revision), Step::Discover(revision))
            }
            (_, Some(revision)) => (
                State::Initializing {
                    probe_is_open: false,
                },
                Step::Initialize(revision),
            ),
            (_, None) => (State::Done, Step::Failed(no_common(ours, &[]))),
        };
        let negotiation = Self {
            ours,
            state,
            has_retried: false,
            asked: stateless,
            failed: None,
            discovered: None,
        };
        (negotiation, step)
    }

    /// Returns `true` if only the probe has been sent.
    pub(crate) fn is_probing(&self) -> bool {
        matches!(self.state, State::Probing(_)) && self.failed.is_none()
    }

    /// Returns `true` if `initialize` waits for its response.
    pub(crate) fn has_sent_initialize(&self) -> bool {
        matches!(self.state, State::Initializing { .. })
    }

    /// Returns `true` if the handshake era alone is left to try, in which a `ping` may be sent.
    pub(crate) fn is_initializing(&self) -> bool {
        match self.state {
            State::Initializing {
                probe_is_open: false,
            } => true,
            State::Initializing {
                probe_is_open: true,
            }
            | State::Probing(_)
            | State::Done => false,
        }
    }

    /// Handles the result of the probe.
    pub(crate) fn on_discover(&mut self, result: DiscoverResult, has_initialized: bool) -> Step {
        match self.state {
            State::Probing(_)
            | State::Initializing {
                probe_is_open: true,
            } => {}
            State::Initializing {
                probe_is_open: false,
            }
            | State::Done => return Step::Wait,
        }
        let common = self.in_common(&result.supported_versions);
        if let Some(revision) = common.intersection(Era::Stateless.revisions()).newest() {
            let agreement = Box::new(discovered(revision, result));
            if has_initialized && self.has_sent_initialize() {
                // A server of both eras may take `initialize` for what the client has chosen,
                // as one of the official TypeScript SDK does.
                self.discovered = Some(agreement);
                return self.without_probe();
            }
            self.state = State::Done;
            return Step::Agreed(agreement);
        }
        match (newest_handshake(common), self.state) {
            // An `initialize` is on its way already.
            (Some(_), State::Initializing { .. }) => self.without_probe(),
            (Some(revision), _) => self.initialize(revision, false),
            (None, _) => self.fail(no_common(self.ours, &result.supported_versions)),
        }
    }

    /// Handles an error or an invalid result of the probe.
    pub(crate) fn on_discover_error(&mut self, error: Option<ErrorObject>) -> Step {
        let State::Probing(asked) = self.state else {
            return self.without_probe();
        };
        let kind = error.as_ref().and_then(|error| error.error_code(asked));
        match (kind, error) {
            (Some(ErrorCode::UnsupportedProtocolVersion), Some(error)) => {
                match error.data_as::<UnsupportedVersionData>() {
                    Ok(Some(data)) => self.retry(asked, &data.supported),
                    // A code that legacy servers may use for anything.
                    Ok(None) | Err(_) => self.fall_back(false),
                }
            }
            // Spec, basic/versioning, 2026-07-28: these come from a stateless server only,
            // which must not be sent an `initialize`.
            (
                Some(ErrorCode::HeaderMismatch | ErrorCode::MissingRequiredClientCapability),
                Some(error),
            ) => self.fail(NegotiationError::Refused(error)),
            (_, _) => self.fall_back(false),
        }
    }

    /// Handles a probe without a response. The server may be slow, or may never answer unknown
    /// methods: `initialize` is sent, and its response counts. Only if that is an error, the
    /// response to the probe counts, whenever it comes.
    pub(crate) fn on_probe_timeout(&mut self) -> Step {
        match self.state {
            State::Probing(_) => self.fall_back(true),
            State::Initializing { .. } | State::Done => Step::Wait,
        }
    }

    /// Handles the result of `initialize`.
    pub(crate) fn on_initialize(&mut self, result: InitializeResult) -> Step {
        let State::Initializing { .. } = self.state else {
            return Step::Wait;
        };
        let handshake = self.ours.intersection(Era::Handshake.revisions());
        let revision = result.protocol_version.parse::<Revision>().ok();
        match revision.filter(|revision| handshake.contains(*revision)) {
            Some(revision) => {
                self.state = State::Done;
                Step::Agreed(Box::new(Agreement {
                    revision,
                    capabilities: result.capabilities,
                    server_info: Some(result.server_info),
                    instructions: result.instructions,
                }))
            }
            None => {
                let error = no_common(self.ours, &[result.protocol_version]);
                self.fail_initialize(false, error)
            }
        }
    }

    /// Handles an error of `initialize`. While the response to a slow probe may still come, that
    /// one decides.
    pub(crate) fn on_initialize_error(&mut self, error: ErrorObject) -> Step {
        let State::Initializing { probe_is_open } = self.state else {
            return Step::Wait;
        };
        // A server that lists its revisions does not support ours.
        let error = match error.data_as::<UnsupportedVersionData>() {
            Ok(Some(data)) if self.in_common(&data.supported).is_empty() => {
                no_common(self.ours, &data.supported)
            }
            Ok(_) | Err(_) => NegotiationError::Refused(error),
        };
        self.fail_initialize(probe_is_open, error)
    }

    /// Handles an invalid response to `initialize`.
    pub(crate) fn on_invalid_initialize(&mut self, reason: String) -> Step {
        let State::Initializing { probe_is_open } = self.state else {
            return Step::Wait;
        };
        self.fail_initialize(probe_is_open, NegotiationError::InvalidResponse(reason))
    }

    fn fail_initialize(&mut self, probe_is_open: bool, error: NegotiationError) -> Step {
        if let Some(agreement) = self.discovered.take() {
            self.state = State::Done;
            return Step::Agreed(agreement);
        }
        let may_succeed = !error.is_permanent() && probe_is_open;
        match self.asked.filter(|_| may_succeed) {
            Some(asked) => {
                self.state = State::Probing(asked);
                self.failed = Some(error);
                Step::Wait
            }
            None => self.fail(error),
        }
    }

    fn retry(&mut self, asked: Revision, theirs: &[String]) -> Step {
        let common = self.in_common(theirs);
        let stateless = common.intersection(Era::Stateless.revisions()).newest();
        match (stateless, newest_handshake(common)) {
            (Some(revision), _) if revision != asked || !self.has_retried => {
                self.has_retried = true;
                self.asked = Some(revision);
                self.state = State::Probing(revision);
                Step::Discover(revision)
            }
            (_, Some(revision)) => self.initialize(revision, false),
            (_, None) => self.fail(no_common(self.ours, theirs)),
        }
    }

    fn fall_back(&mut self, probe_is_open: bool) -> Step {
        if let Some(error) = self.failed.take() {
            return self.fail(error);
        }
        match newest_handshake(self.ours) {
            Some(revision) => self.initialize(revision, probe_is_open),
            // A client without handshake revisions has no alternative; it goes on waiting for a
            // slow probe.
            None if probe_is_open => Step::Wait,
            None => self.fail(no_common(self.ours, &["no stateless revision".into()])),
        }
    }

    fn initialize(&mut self, revision: Revision, probe_is_open: bool) -> Step {
        self.state = State::Initializing { probe_is_open };
        Step::Initialize(revision)
    }

    fn without_probe(&mut self) -> Step {
        if let State::Initializing { probe_is_open } = &mut self.state {
            *probe_is_open = false;
        }
        Step::Wait
    }

    fn fail(&mut self, error: NegotiationError) -> Step {
        self.state = State::Done;
        Step::Failed(error)
    }

    fn in_common(&self, theirs: &[String]) -> Revisions {
        let known = theirs.iter().filter_map(|name| name.parse().ok());
        known.collect::<Revisions>().intersection(self.ours)
    }
}

fn discovered(revision: Revision, result: DiscoverResult) -> Agreement {
    let server_info = result.meta.as_ref().and_then(|meta| {
        // The server's name must not decide anything: a malformed one is ignored.
        meta.read(keys::SERVER_INFO).ok().flatten()
    });
    Agreement {
        revision,
        capabilities: result.capabilities,
        server_info,
        instructions: result.instructions,
    }
}

fn newest_handshake(revisions: Revisions) -> Option<Revision> {
    revisions.intersection(Era::Handshake.revisions()).newest()
}

fn no_common(ours: Revisions, theirs: &[String]) -> NegotiationError {
    NegotiationError::NoCommonRevision {
        ours,
        theirs: theirs.to_vec(),
    }
}

#[cfg(test)]
mod tests;
