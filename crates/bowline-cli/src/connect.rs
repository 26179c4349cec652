//! Connecting to a server: who we say we are, which revisions we speak, how long we wait; and
//! what it means for the command when that or a call fails.
//!
//! Which server it is has been found out elsewhere, by [`target`](crate::target).

use std::time::Duration;

use anyhow::anyhow;
use bowline::transport::{ChildProcess, TransportEnd};
use bowline::{Backoff, Cause, Client, ClientConfig, ConnectionState, Error, ErrorKind, Timeouts};
use bowline_types::common::Implementation;
use bowline_types::error::codes;
use bowline_types::{ErrorObject, Method, Revision, Revisions};

use crate::exit::ExitStatus;
use crate::failure::{Failure, hinted, in_error};
use crate::redact;

/// What a user can say about a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wishes {
    /// The revision to speak, when it may be only one.
    pub(crate) revision: Option<Revision>,
    /// How long connecting may take.
    pub(crate) connect_timeout: Duration,
    /// How long a call may take without an answer or progress. None: as long as usual.
    pub(crate) call_timeout: Option<Duration>,
    /// How long a call may take in all, whatever progress it reports, and the task that it
    /// becomes. None: as long as usual.
    pub(crate) max_time: Option<Duration>,
    /// How many attempts to connect may fail in a row. None: any number.
    pub(crate) attempts: Option<u32>,
}

impl Default for Wishes {
    fn default() -> Self {
        Self {
            revision: None,
            // What `npx` may take to install a server.
            connect_timeout: Duration::from_secs(30),
            call_timeout: None,
            max_time: None,
            // A server that ends when it is started does so again, and somebody waits. Where the
            // question for its era may have ended it, one attempt is two starts.
            attempts: Some(1),
        }
    }
}

impl Wishes {
    /// The configuration of a client that somebody waits for.
    pub(crate) fn config(&self) -> ClientConfig {
        let info = Implementation::new("bowline", env!("CARGO_PKG_VERSION")).title("Bowline");
        let mut config = ClientConfig::new(info);
        if let Some(revision) = self.revision {
            config.connection().revisions(Revisions::only(revision));
        }
        config.connect_timeout(Some(self.connect_timeout));
        // An old server may say nothing to the first question, and has to have time for the other.
        let probe_timeout = PROBE_TIMEOUT.min(self.connect_timeout / 3);
        config.connection().probe_timeout(probe_timeout);
        let mut timeouts = config.connection().default_timeouts();
        // Somebody sees that it goes on.
        timeouts.progress_counts = true;
        if let Some(timeout) = self.call_timeout {
            timeouts.idle = timeout;
            timeouts.total = timeouts.total.max(timeout);
        }
        if let Some(time) = self.max_time {
            timeouts.total = time;
        }
        config.connection().call_timeouts(timeouts);
        let mut backoff = Backoff::fast();
        backoff.max_attempts(self.attempts);
        config.backoff(backoff);
        config
    }
}

/// How long a server may take to say which era it is of, if there is time.
const PROBE_TIMEOUT: Duration = Duration::from_secs(3);

/// What whoever waits for a connection has said about it, for a hint to know.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Said {
    /// The revision that has to be spoken.
    pub(crate) only: Option<Revision>,
    /// Whether the library tells what it does.
    pub(crate) is_verbose: bool,
}

/// Connects, and waits until calls are served. Cancel safe.
///
/// # Errors
///
/// A [`Failure`] that says why, and that the server can't be reached.
pub(crate) async fn connect(
    server: ChildProcess,
    config: ClientConfig,
    said: Said,
) -> anyhow::Result<Client> {
    let children = server.children();
    let connected = Client::connect(server, config).await;
    connected.map_err(|error| {
        let scene = Scene {
            is_stopped: children.is_stopped(),
            last_words: children.last_words(),
            said,
        };
        not_connected(&error, &scene)
    })
}

/// What else is known when there is no connection.
#[derive(Debug, Default)]
struct Scene {
    /// Whether the server's process is stopped.
    is_stopped: bool,
    /// What it said last.
    last_words: Option<String>,
    /// What was said about the connection.
    said: Said,
}

/// What it means that there is no connection.
fn not_connected(error: &Error, scene: &Scene) -> anyhow::Error {
    let status = match error.kind() {
        ErrorKind::Auth => ExitStatus::Authorization,
        _ => ExitStatus::Unreachable,
    };
    let has_hung = has_hung(error);
    let mut last_words = error.transport_end().and_then(TransportEnd::last_words);
    let mut words = format!("cannot connect: {}", reason(error));
    if has_hung && scene.is_stopped {
        words += "; the server is stopped, as one that asks for something on the terminal is";
    }
    if let Some(sample) = sample(error) {
        words += &format!("; the server wrote something that is not MCP: `{sample}`");
    }
    if has_hung && let Some(lines) = &scene.last_words {
        words += &in_error(lines);
        last_words = Some(lines.clone());
    }
    let failure = Failure::new(status, anyhow!(words)).last_words(last_words);
    match hint(error, scene) {
        Some(hint) => failure.hint(hint).into(),
        None => failure.into(),
    }
}

/// Why there is no connection, beyond that there is none.
fn reason(error: &Error) -> String {
    match (error.transport_end(), error.connection_failure()) {
        // How its process ended says more than that it did so too often.
        (Some(ending), _) if !has_hung(error) => ending.reason.clone(),
        (_, Some(failure)) if failure.has_given_up() => {
            let cause = match &failure.cause {
                Cause::OpenFailed(reason) => reason.clone(),
                cause => cause.to_string(),
            };
            match failure.attempts {
                0 | 1 => cause,
                attempts => format!("gave up after {attempts} attempts: {cause}"),
            }
        }
        (_, _) => {
            let words = error.to_string();
            let inner = words.strip_prefix("connect: ").map(str::to_owned);
            inner.unwrap_or(words)
        }
    }
}

/// Whether the server runs and doesn't answer.
fn has_hung(error: &Error) -> bool {
    let failure = error.connection_failure();
    // One that ended before, and was started again, runs.
    let waits = failure.is_some_and(|failure| failure.state == ConnectionState::Backoff);
    error.kind() == ErrorKind::Timeout && !(waits && error.transport_end().is_some())
}

/// What the server wrote that is no message, where that may be the reason: one that has answered
/// and says no may have written it beside that.
fn sample(error: &Error) -> Option<String> {
    let words = error.to_string();
    let says_no = [NOTHING_IN_COMMON, REFUSED]
        .iter()
        .any(|no| words.contains(no));
    let sample = error.malformed_sample().filter(|_| !says_no)?;
    // Before it is cut again, in the middle of a secret perhaps.
    let sample = redact::beginning_without_secrets(sample);
    let shown: String = sample.chars().take(LONGEST_SAMPLE).collect();
    let dots = if shown.len() < sample.len() {
        "…"
    } else {
        ""
    };
    Some(shown + dots)
}

/// What to do about it, if that is not said already.
fn hint(error: &Error, scene: &Scene) -> Option<String> {
    let (has_hung, said) = (has_hung(error), scene.said);
    if sample(error).is_some() {
        return Some(NO_SERVER.to_owned());
    }
    let guess = match (error.transport_end().filter(|_| !has_hung), said.only) {
        (Some(_), _) => return Some("run the server by itself to see what it says".to_owned()),
        // What can't be started says itself what to do.
        (None, _) if error.kind() == ErrorKind::Transport => return None,
        (None, Some(_)) if error.to_string().contains(NOTHING_IN_COMMON) => {
            return Some("leave --revision out, or name one that the server speaks".to_owned());
        }
        (None, _) if has_hung && scene.is_stopped => return Some(NO_TERMINAL.to_owned()),
        (None, Some(_)) => Some("leave --revision out, which the server may not speak"),
        (None, None) if has_hung => Some("name its revision with --revision if it is an old one"),
        (None, None) => None,
    };
    let verbose = (!said.is_verbose).then_some("`--verbose` tells what was tried");
    let hints: Vec<_> = guess.into_iter().chain(verbose).collect();
    (!hints.is_empty()).then(|| hints.join("; "))
}

const NO_SERVER: &str =
    "stdout of a server is for messages alone; is it one, or does it need an option to be one?";

const NO_TERMINAL: &str = "a server has no terminal: give it what it asks for in another way";

/// Characters that are shown of what a server wrote that is no message.
const LONGEST_SAMPLE: usize = 80;

/// What an error says when the server doesn't want us.
const REFUSED: &str = "the server refused the handshake";

/// What an error says when client and server speak no common revision.
const NOTHING_IN_COMMON: &str = "no common protocol version";

/// What it means that a call failed that could take so long.
pub(crate) fn call_failed_within(error: Error, limits: Timeouts) -> anyhow::Error {
    let took_all = error.elapsed().is_some_and(|took| took >= limits.total);
    // Where both are the same nobody knows which one it was, and more of one is not enough.
    if error.kind() != ErrorKind::Timeout || !took_all || limits.idle == limits.total {
        return call_failed(error);
    }
    let hint = match was_executed(&error) {
        Some(executed) => format!("{executed}; --max-time SECONDS lets it take longer"),
        None => "--max-time SECONDS lets it take longer".to_owned(),
    };
    hinted(anyhow!(error), hint)
}

/// What it means that a call failed.
pub(crate) fn call_failed(error: Error) -> anyhow::Error {
    let status = match error.kind() {
        ErrorKind::Auth => ExitStatus::Authorization,
        ErrorKind::Tool => ExitStatus::ToolError,
        // No command stops its client while it calls: the client has given the server up.
        ErrorKind::Transport
        | ErrorKind::TransportDown
        | ErrorKind::Unavailable
        | ErrorKind::Shutdown => ExitStatus::Unreachable,
        _ => ExitStatus::Failed,
    };
    let last_words = error.transport_end().and_then(TransportEnd::last_words);
    let failure = |error: Error| Failure::new(status, anyhow!(error)).last_words(last_words);
    // It needs a capability that we have not declared (2026-07-28, LC-48).
    let is_undeclared = error
        .server_error()
        .is_some_and(|error| error.code == codes::MISSING_REQUIRED_CLIENT_CAPABILITY);
    // It was refused, and not executed.
    if let [page, ..] = &error.url_elicitations()[..] {
        let page: String = page.url.chars().take(LONGEST_PAGE).collect();
        let hint = format!("open {page} if you trust it; --accept-pages says that you have");
        return failure(error).hint(hint).into();
    }
    match was_executed(&error) {
        Some(executed) => failure(error).hint(executed).into(),
        None if is_undeclared => failure(error).hint(DECLARE).into(),
        None => failure(error).into(),
    }
}

/// The most that is repeated of a page's address.
const LONGEST_PAGE: usize = 500;

const DECLARE: &str = "bowline has not declared what the server requires of its client; \
    --root PATH declares roots";

/// The error with which the server answered, if that is what `error` is about.
pub(crate) fn server_error_of(error: &anyhow::Error) -> Option<&ErrorObject> {
    Failure::inner_of::<Error>(error)?.server_error()
}

/// Whether the server doesn't know what it was asked for.
pub(crate) fn is_unknown_method(error: &anyhow::Error) -> bool {
    let kind = server_error_of(error).and_then(|error| error.kind(Revision::LATEST));
    kind == Some(bowline_types::ErrorCode::MethodNotFound)
}

/// Whether the server has done what a failed call asked for, where that is a question.
pub(crate) fn was_executed(error: &Error) -> Option<&'static str> {
    // Whatever else was lost changes nothing, and can be asked for again.
    if error.operation() != Some(Method::CallTool.as_str()) {
        return None;
    }
    match error.kind() {
        ErrorKind::SchemaMismatch => {
            return Some("the tool was executed, and its answer is told as it came");
        }
        ErrorKind::InvalidResponse => return Some(ANSWERED),
        ErrorKind::Timeout
        | ErrorKind::TransportDown
        | ErrorKind::Unavailable
        | ErrorKind::OversizedFrame
        | ErrorKind::Protocol => {}
        // The error says it: what the tool answered, what this side refused, or why it can't be
        // called at all.
        _ => return None,
    }
    Some(match error.may_have_run()? {
        true => "the server had been sent the call and may have executed it",
        false => "the call was never sent, so the server has not executed it",
    })
}

const ANSWERED: &str = "the tool was executed: there is an answer, but not one that can be told";

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(server: ChildProcess) -> anyhow::Error {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let connecting = connect(server, Wishes::default().config(), Said::default());
        runtime.unwrap().block_on(connecting).unwrap_err()
    }

    #[test]
    fn why_there_is_no_connection_is_said() {
        let missing = refused(ChildProcess::new("/no/such/server"));
        assert_eq!(Failure::status_of(&missing), ExitStatus::Unreachable);
        let words = missing.to_string();
        let begins = "cannot connect: /no/such/server: no such file";
        assert!(words.starts_with(begins), "{words}");

        let script = "echo no licence >&2; exit 3";
        let dying = refused(ChildProcess::new("/bin/sh").args(["-c", script]));
        assert_eq!(Failure::status_of(&dying), ExitStatus::Unreachable);
        let words =
            "cannot connect: the server ended with exit status: 3; its last words: no licence";
        assert_eq!(dying.to_string(), words);
        assert!(Failure::hint_of(&dying).is_some());
    }

    #[tokio::test]
    async fn a_call_takes_no_longer_than_was_wished() {
        let wishes = Wishes {
            revision: Some(Revision::V2025_06_18),
            call_timeout: Some(Duration::from_millis(20)),
            ..Wishes::default()
        };
        let (transport, mut peer) = bowline::testing::peer();
        let client = Client::start(transport, wishes.config());
        let mut server = peer.accept().await.unwrap();
        server.handshake(Revision::V2025_06_18).await.unwrap();
        let error = client.call("tools/list", ()).wait_for_ready().await;
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Timeout);
        assert_eq!(client.revision(), wishes.revision);
    }

    #[test]
    fn the_total_of_a_call_is_what_was_wished_or_the_largest() {
        let total = |call: Option<u64>, max: Option<u64>| {
            let wishes = Wishes {
                call_timeout: call.map(Duration::from_secs),
                max_time: max.map(Duration::from_secs),
                ..Wishes::default()
            };
            let timeouts = wishes.config().connection().default_timeouts();
            assert!(timeouts.progress_counts);
            timeouts.total.as_secs()
        };
        assert_eq!(total(None, None), 600);
        assert_eq!(total(Some(5), None), 600);
        assert_eq!(total(Some(700), None), 700);
        assert_eq!(total(Some(700), Some(3)), 3);
        assert_eq!(total(None, Some(1000)), 1000);
    }

    #[test]
    fn what_failed_decides_the_exit_code() {
        for (kind, status) in [
            (ErrorKind::Auth, ExitStatus::Authorization),
            (ErrorKind::Tool, ExitStatus::ToolError),
            (ErrorKind::TransportDown, ExitStatus::Unreachable),
            (ErrorKind::Unavailable, ExitStatus::Unreachable),
            (ErrorKind::Shutdown, ExitStatus::Unreachable),
            (ErrorKind::JsonRpc, ExitStatus::Failed),
            (ErrorKind::Timeout, ExitStatus::Failed),
        ] {
            let failure = call_failed(Error::new(kind, "x"));
            assert_eq!(Failure::status_of(&failure), status);
        }
        let refused = not_connected(&Error::new(ErrorKind::Auth, "x"), &Scene::default());
        assert_eq!(Failure::status_of(&refused), ExitStatus::Authorization);
    }
}
