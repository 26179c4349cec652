//! What one connection is doing, for its timeouts and for making room.
//!
//! The I/O of the connection reports bytes, the service around the server's reports requests and
//! their ends. The connection's own task asks for the next deadline, the accept loop for
//! connections that can be closed.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ::http::Version;
use tokio::sync::Notify;
use tokio::time::Instant;

/// How long a connection may do what.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timeouts {
    /// To send the head of a request.
    pub(super) head: Duration,
    /// To send nothing between two requests, or to read nothing of what is sent.
    pub(super) idle: Duration,
}

#[derive(Debug)]
pub(super) struct ConnectionState {
    state: Mutex<State>,
    /// The connection is asked to make room for another one.
    pub(super) eviction: Notify,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    head: ReceivedHead,
    /// The version of the requests, once there was one.
    version: Option<Version>,
    /// HTTP/1: the current request, or the last one.
    exchange: Exchange,
    write_blocked_since: Option<Instant>,
    /// HTTP/2: the responses that wait until the client takes more of them, since when. It can
    /// stop one of them and go on reading the others.
    blocked_responses: BTreeMap<ResponseNumber, Instant>,
    last_response: ResponseNumber,
    is_evicted: bool,
}

/// A response within its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ResponseNumber(u64);

/// What the connection is doing.
#[derive(Debug)]
enum Phase {
    /// The head of a request is being received, or the first one is awaited.
    ReadingHead { since: Instant },
    /// Between two requests.
    Idle { since: Instant },
    /// Requests are being served, or their responses sent. With HTTP/2 there can be several.
    Serving {
        requests: usize,
        /// Those whose body is still awaited.
        receiving: usize,
        since: Instant,
    },
}

#[derive(Debug, Default)]
struct Exchange {
    is_body_received: bool,
    has_response_begun: bool,
    /// Bytes of the next request were received already.
    has_next: bool,
}

/// A connection that can be closed to make room. The smallest one is closed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Evictable {
    progress: Progress,
    since: Instant,
}

/// How far a connection is that serves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Progress {
    /// It has never sent the whole head of a request.
    NoRequest,
    /// It is between two requests.
    Idle,
    /// It is sending the body of a request.
    SendingBody,
}

/// The begin of a request as it was received, up to [`MAX_KEPT_HEAD`] bytes.
///
/// hyper removes `Content-Length` where there is `Transfer-Encoding` too, so that the service can't
/// refuse such a request. A head that arrives together with the end of the request before it isn't
/// here; its length counts for nothing either, and hyper closes its connection.
#[derive(Debug, Default)]
struct ReceivedHead {
    /// What follows the head in the same read is here as well.
    bytes: Vec<u8>,
}

impl ReceivedHead {
    fn begin(&mut self) {
        self.bytes.clear();
    }

    fn push(&mut self, bytes: &[u8]) {
        let room = MAX_KEPT_HEAD.saturating_sub(self.bytes.len());
        let kept = bytes.get(..room).unwrap_or(bytes);
        self.bytes.extend_from_slice(kept);
    }

    /// Returns the value of the first `Content-Length`.
    fn content_length(&self) -> Option<&[u8]> {
        let is_blank = |line: &&[u8]| line.trim_ascii().is_empty();
        let lines = self.bytes.split(|byte| *byte == b'\n');
        // Blank lines before the request line are allowed (RFC 9112, 2.2).
        let headers = lines.skip_while(is_blank).skip(1);
        let mut headers = headers.take_while(|line| !is_blank(line));
        headers.find_map(|line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            let (name, value) = line.split_at(colon);
            let value = value.get(1..)?.trim_ascii();
            name.eq_ignore_ascii_case(b"content-length")
                .then_some(value)
        })
    }
}

/// The most bytes that are kept of a head.
const MAX_KEPT_HEAD: usize = 4096;

impl ConnectionState {
    pub(super) fn new() -> Self {
        let since = Instant::now();
        Self {
            state: Mutex::new(State {
                phase: Phase::ReadingHead { since },
                head: ReceivedHead::default(),
                version: None,
                exchange: Exchange::default(),
                write_blocked_since: None,
                blocked_responses: BTreeMap::new(),
                last_response: ResponseNumber(0),
                is_evicted: false,
            }),
            eviction: Notify::new(),
        }
    }

    pub(super) fn on_bytes_received(&self, bytes: &[u8]) {
        let mut state = self.state();
        // With HTTP/2 bytes are not always those of a request, but pings for example.
        if state.is_http2() {
            return;
        }
        match state.phase {
            Phase::Idle { .. } => {
                let since = Instant::now();
                state.phase = Phase::ReadingHead { since };
            }
            Phase::ReadingHead { .. } => {}
            Phase::Serving { .. } if state.exchange.is_body_received => {
                state.exchange.has_next = true;
            }
            Phase::Serving { .. } => return,
        }
        state.head.push(bytes);
    }

    pub(super) fn on_request(&self, version: Version, is_body_received: bool) {
        let mut state = self.state();
        state.version = Some(version);
        state.head.begin();
        state.exchange = Exchange {
            is_body_received,
            ..Exchange::default()
        };
        let is_receiving = usize::from(!is_body_received);
        state.phase = match state.phase {
            Phase::Serving {
                requests,
                receiving,
                since,
            } => Phase::Serving {
                requests: requests + 1,
                receiving: receiving + is_receiving,
                since,
            },
            Phase::Idle { .. } | Phase::ReadingHead { .. } => Phase::Serving {
                requests: 1,
                receiving: is_receiving,
                since: Instant::now(),
            },
        };
    }

    /// Returns the `Content-Length` of the request that begins now, as it was received.
    pub(super) fn received_content_length(&self) -> Option<Vec<u8>> {
        self.state().head.content_length().map(<[u8]>::to_vec)
    }

    pub(super) fn on_body_received(&self) {
        self.state().exchange.is_body_received = true;
    }

    /// The body of a request is complete, or isn't read any further.
    pub(super) fn on_body_end(&self) {
        if let Phase::Serving { receiving, .. } = &mut self.state().phase {
            *receiving = receiving.saturating_sub(1);
        }
    }

    /// A response begins. With HTTP/2 it has a number, and waits until the client takes it.
    pub(super) fn on_response_begun(&self) -> Option<ResponseNumber> {
        let mut state = self.state();
        state.exchange.has_response_begun = true;
        if !state.is_http2() {
            return None;
        }
        let number = ResponseNumber(state.last_response.0 + 1);
        state.last_response = number;
        state.blocked_responses.insert(number, Instant::now());
        Some(number)
    }

    /// The client takes more of a response.
    pub(super) fn on_response_wanted(&self, response: ResponseNumber) {
        self.state().blocked_responses.remove(&response);
    }

    /// A part of a response was passed on: it waits until the client takes more.
    pub(super) fn on_response_part(&self, response: ResponseNumber) {
        let mut state = self.state();
        state.blocked_responses.insert(response, Instant::now());
    }

    pub(super) fn on_request_end(&self) {
        let mut state = self.state();
        let Phase::Serving { requests, .. } = &mut state.phase else {
            return;
        };
        *requests -= 1;
        if *requests > 0 {
            return;
        }
        let since = Instant::now();
        state.phase = if state.exchange.has_next {
            Phase::ReadingHead { since }
        } else {
            Phase::Idle { since }
        };
    }

    pub(super) fn on_write_blocked(&self) {
        let mut state = self.state();
        let since = state.write_blocked_since;
        state.write_blocked_since = since.or_else(|| Some(Instant::now()));
    }

    pub(super) fn on_written(&self) {
        self.state().write_blocked_since = None;
    }

    /// Returns when the connection is to be closed, unless it goes on before. `None` as long as it
    /// is the server's turn.
    pub(super) fn deadline(&self, timeouts: Timeouts) -> Option<Instant> {
        let state = self.state();
        let phase = match state.phase {
            Phase::ReadingHead { since } => Some(since + timeouts.head),
            Phase::Idle { since } => Some(since + timeouts.idle),
            Phase::Serving { .. } => None,
        };
        let blocked = state.blocked_since().map(|since| since + timeouts.idle);
        phase.into_iter().chain(blocked).min()
    }

    /// Returns `true` if the client has read nothing of what is sent for too long.
    pub(super) fn is_not_read(&self, timeouts: Timeouts) -> bool {
        let since = self.state().blocked_since();
        since.is_some_and(|since| since + timeouts.idle <= Instant::now())
    }

    /// Returns `true` if a client that sends nothing more may be waiting for its response: its
    /// request of HTTP/1.1 is not answered yet. HTTP/1.0 has no interim responses, which are needed
    /// to find out if the client is still there.
    pub(super) fn awaits_response(&self) -> bool {
        let state = self.state();
        matches!(state.phase, Phase::Serving { .. })
            && state.version == Some(Version::HTTP_11)
            && !state.exchange.has_response_begun
    }

    /// Returns `true` if the service has taken the whole request.
    pub(super) fn is_request_received(&self) -> bool {
        self.state().exchange.is_body_received
    }

    pub(super) fn has_response_begun(&self) -> bool {
        self.state().exchange.has_response_begun
    }

    pub(super) fn is_serving(&self) -> bool {
        matches!(self.state().phase, Phase::Serving { .. })
    }

    pub(super) fn has_sent_request(&self) -> bool {
        self.state().version.is_some()
    }

    pub(super) fn is_http2(&self) -> bool {
        self.state().is_http2()
    }

    /// Returns `true` if the client may be sending something that was not read: its request was
    /// refused early.
    pub(super) fn has_unread_input(&self) -> bool {
        let state = self.state();
        match state.phase {
            _ if state.is_http2() => false,
            Phase::ReadingHead { .. } => true,
            Phase::Idle { .. } | Phase::Serving { .. } => !state.exchange.is_body_received,
        }
    }

    /// Returns how well the connection can be closed now. `None` if it is serving a request, or
    /// is being closed already.
    pub(super) fn evictable(&self) -> Option<Evictable> {
        let state = self.state();
        (!state.is_evicted).then(|| state.evictable()).flatten()
    }

    pub(super) fn evict(&self) {
        self.state().is_evicted = true;
        self.eviction.notify_one();
    }

    /// Returns `true` if the connection can still be closed to make room. If it serves a request by
    /// now it stays.
    pub(super) fn confirm_eviction(&self) -> bool {
        let mut state = self.state();
        state.is_evicted = state.evictable().is_some();
        state.is_evicted
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_http2(&self) -> bool {
        self.version == Some(Version::HTTP_2)
    }

    /// Returns since when the client has not taken what is sent to it.
    fn blocked_since(&self) -> Option<Instant> {
        let responses = self.blocked_responses.values().copied();
        responses.chain(self.write_blocked_since).min()
    }

    fn evictable(&self) -> Option<Evictable> {
        let (progress, since) = match self.phase {
            Phase::ReadingHead { since } | Phase::Idle { since } if self.version.is_none() => {
                (Progress::NoRequest, since)
            }
            Phase::ReadingHead { since } | Phase::Idle { since } => (Progress::Idle, since),
            // A client that sends its bodies slowly must not keep others out.
            Phase::Serving {
                requests,
                receiving,
                since,
            } if receiving == requests => (Progress::SendingBody, since),
            Phase::Serving { .. } => return None,
        };
        Some(Evictable { progress, since })
    }
}
