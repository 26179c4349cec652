//! Connecting to a server: the configuration of the client, and the errors and hints of the command
//! when connecting or a call fails.
//!
//! [`target`](crate::target) decides which server it is.

use std::time::Duration;

use anyhow::anyhow;
use bowline::transport::{ChildProcess, TransportEnd};
use bowline::{
    Backoff, Cause, Client, ClientConfig, ConnectionState, Error, ErrorKind, NegotiationError,
    Timeouts,
};
use bowline_types::common::Implementation;
use bowline_types::error::codes;
use bowline_types::{ErrorObject, Method, Revision, Revisions};

use crate::exit::ExitStatus;
use crate::failure::{Failure, hinted, stderr_suffix};
use crate::redact;

/// The options of a connection that a user can set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectOptions {
    /// The only protocol revision to use, if set.
    pub(crate) revision: Option<Revision>,
    /// How long connecting may take.
    pub(crate) connect_timeout: Duration,
    /// How long a call may take without a response or progress. `None` is the default of the
    /// library.
    pub(crate) call_timeout: Option<Duration>,
    /// How long a call, or the task that it becomes, may take in total, whatever progress it
    /// reports. `None` is the default of the library.
    pub(crate) max_time: Option<Duration>,
    /// How many consecutive attempts to connect may fail. `None` is any number.
    pub(crate) attempts: Option<u32>,
}

impl Default for ConnectOptions {
    fn default() -> Self {
        Self {
            revision: None,
            // `npx` may need this long to install a server.
            connect_timeout: Duration::from_secs(30),
            call_timeout: None,
            max_time: None,
            // A server that exits at its start will do so again, while the user waits. Where the
            // probe for the era may be what ended it, one attempt is two starts.
            attempts: Some(1),
        }
    }
}

impl ConnectOptions {
    /// Returns the configuration of a client that a user waits for.
    pub(crate) fn config(&self) -> ClientConfig {
        let info = Implementation::new("bowline", env!("CARGO_PKG_VERSION")).title("Bowline");
        let mut config = ClientConfig::new(info);
        if let Some(revision) = self.revision {
            config.connection().revisions(Revisions::only(revision));
        }
        config.connect_timeout(Some(self.connect_timeout));
        // An old server may not respond to the probe at all, and needs time left for `initialize`.
        let probe_timeout = PROBE_TIMEOUT.min(self.connect_timeout / 3);
        config.connection().probe_timeout(probe_timeout);
        let mut timeouts = config.connection().default_timeouts();
        // The user sees the progress, so progress extends the timeout.
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

/// How long the server may take to respond to the era probe, if there is time.
const PROBE_TIMEOUT: Duration = Duration::from_secs(3);

/// What the user asked for, so that a hint does not repeat it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HintContext {
    /// The only revision that was allowed.
    pub(crate) only: Option<Revision>,
    /// `true` with `--verbose`.
    pub(crate) is_verbose: bool,
}

/// Connects, and waits until the connection is ready. Cancel safe.
///
/// # Errors
///
/// A [`Failure`] with the reason and the exit status for an unreachable server.
pub(crate) async fn connect(
    server: ChildProcess,
    config: ClientConfig,
    hint_context: HintContext,
) -> anyhow::Result<Client> {
    let processes = server.processes();
    let connected = Client::connect(server, config).await;
    connected.map_err(|error| {
        let context = FailureContext {
            is_stopped: processes.is_stopped(),
            stderr_tail: processes.stderr_tail(),
            hint_context,
        };
        connect_error(&error, &context)
    })
}

/// What is known about a failed connection besides the error.
#[derive(Debug, Default)]
struct FailureContext {
    /// `true` if the server process is stopped.
    is_stopped: bool,
    /// The last lines that it wrote to stderr.
    stderr_tail: Option<String>,
    /// What the user asked for.
    hint_context: HintContext,
}

/// Returns the error for a connection that could not be established.
fn connect_error(error: &Error, context: &FailureContext) -> anyhow::Error {
    let status = match error.kind() {
        ErrorKind::Auth => ExitStatus::Authorization,
        _ => ExitStatus::Unreachable,
    };
    let is_unresponsive = is_unresponsive(error);
    let mut stderr_tail = error.transport_end().and_then(TransportEnd::stderr_tail);
    let mut words = format!("cannot connect: {}", reason(error));
    if is_unresponsive && context.is_stopped {
        words += "; the server process is stopped, which happens when it tries to read from the terminal";
    }
    if let Some(sample) = malformed_sample(error) {
        words += &format!("; the server wrote a line that is not an MCP message: `{sample}`");
    }
    if is_unresponsive && let Some(lines) = &context.stderr_tail {
        words += &stderr_suffix(lines);
        stderr_tail = Some(lines.clone());
    }
    let failure = Failure::new(status, anyhow!(words)).stderr_tail(stderr_tail);
    match hint(error, context) {
        Some(hint) => failure.hint(hint).into(),
        None => failure.into(),
    }
}

/// Returns the reason of the failure.
fn reason(error: &Error) -> String {
    match (error.transport_end(), error.connection_failure()) {
        // How the process ended is more specific than that it ended too often.
        (Some(transport_end), _) if !is_unresponsive(error) => transport_end.reason.clone(),
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

/// Returns `true` if the server runs and does not respond.
fn is_unresponsive(error: &Error) -> bool {
    let failure = error.connection_failure();
    // A server that ended before and was started again is running.
    let waits = failure.is_some_and(|failure| failure.state == ConnectionState::Backoff);
    error.kind() == ErrorKind::Timeout && !(waits && error.transport_end().is_some())
}

/// Returns `true` if the server supports none of the revisions of the client.
fn has_no_common_revision(error: &Error) -> bool {
    matches!(
        error.negotiation_error(),
        Some(NegotiationError::NoCommonRevision { .. })
    )
}

/// Returns a sample of output that is not an MCP message, if that may be the reason. A server that
/// refused the handshake may have written it besides.
fn malformed_sample(error: &Error) -> Option<String> {
    let is_refusal = matches!(
        error.negotiation_error(),
        Some(NegotiationError::NoCommonRevision { .. } | NegotiationError::Refused(_))
    );
    let sample = error.malformed_sample().filter(|_| !is_refusal)?;
    // Redact before cutting, which may leave a part of a secret.
    let sample = redact::beginning_without_secrets(sample);
    let shown: String = sample.chars().take(MAX_SAMPLE_LENGTH).collect();
    let dots = if shown.len() < sample.len() {
        "…"
    } else {
        ""
    };
    Some(shown + dots)
}

/// Returns what to do about it, unless the error has that itself.
fn hint(error: &Error, context: &FailureContext) -> Option<String> {
    let (is_unresponsive, hint_context) = (is_unresponsive(error), context.hint_context);
    if malformed_sample(error).is_some() {
        return Some(NOT_AN_MCP_SERVER.to_owned());
    }
    let advice = match (
        error.transport_end().filter(|_| !is_unresponsive),
        hint_context.only,
    ) {
        (Some(_), _) => {
            return Some("run the server's command by itself to see its output".to_owned());
        }
        // The error of a program that can't be started includes what to do.
        (None, _) if error.kind() == ErrorKind::Transport => return None,
        (None, Some(_)) if has_no_common_revision(error) => {
            return Some("omit --revision, or name a revision that the server supports".to_owned());
        }
        (None, _) if is_unresponsive && context.is_stopped => return Some(NO_TERMINAL.to_owned()),
        (None, Some(_)) => Some("omit --revision: the server may not support this revision"),
        (None, None) if is_unresponsive => {
            Some("if the server supports only an old revision, name it with --revision")
        }
        (None, None) => None,
    };
    let verbose = (!hint_context.is_verbose).then_some("`--verbose` shows what was tried");
    let hints: Vec<_> = advice.into_iter().chain(verbose).collect();
    (!hints.is_empty()).then(|| hints.join("; "))
}

const NOT_AN_MCP_SERVER: &str = "an MCP server writes only messages to stdout; \
    check that this is an MCP server, and whether it needs an option to run as one";

const NO_TERMINAL: &str = "a server has no terminal: pass what it needs as an argument, an environment variable or a file";

/// The number of characters shown of output that is not a message.
const MAX_SAMPLE_LENGTH: usize = 80;

/// Returns the error of a call that had these time limits.
pub(crate) fn call_error_within(error: Error, limits: Timeouts) -> anyhow::Error {
    let took_all = error.elapsed().is_some_and(|took| took >= limits.total);
    // Where both limits are equal it is unknown which one expired, and raising only one is not
    // enough.
    if error.kind() != ErrorKind::Timeout || !took_all || limits.idle == limits.total {
        return call_error(error);
    }
    let hint = match execution_hint(&error) {
        Some(executed) => format!("{executed}; --max-time SECONDS lets it take longer"),
        None => "--max-time SECONDS lets it take longer".to_owned(),
    };
    hinted(anyhow!(error), hint)
}

/// Returns the error of the command for a failed call.
pub(crate) fn call_error(error: Error) -> anyhow::Error {
    let status = match error.kind() {
        ErrorKind::Auth => ExitStatus::Authorization,
        ErrorKind::Tool => ExitStatus::ToolError,
        // No command stops its client during a call: the client has given up on the server.
        ErrorKind::Transport
        | ErrorKind::TransportDown
        | ErrorKind::Unavailable
        | ErrorKind::Shutdown => ExitStatus::Unreachable,
        _ => ExitStatus::Failed,
    };
    let stderr_tail = error.transport_end().and_then(TransportEnd::stderr_tail);
    let failure = |error: Error| Failure::new(status, anyhow!(error)).stderr_tail(stderr_tail);
    // The server requires a capability that we have not declared (2026-07-28, LC-48).
    let is_undeclared = error
        .server_error()
        .is_some_and(|error| error.code == codes::MISSING_REQUIRED_CLIENT_CAPABILITY);
    // The call was refused, and not executed.
    if let [elicitation, ..] = &error.url_elicitations()[..] {
        let url: String = elicitation.url.chars().take(MAX_URL_LENGTH).collect();
        let hint = format!("open {url} if you trust it, then call again with --accept-urls");
        return failure(error).hint(hint).into();
    }
    match execution_hint(&error) {
        Some(executed) => failure(error).hint(executed).into(),
        None if is_undeclared => failure(error).hint(UNDECLARED_CAPABILITY).into(),
        None => failure(error).into(),
    }
}

/// The number of characters that are repeated of a URL.
const MAX_URL_LENGTH: usize = 500;

const UNDECLARED_CAPABILITY: &str = "the server requires a client capability that bowline has not declared; \
    --root PATH declares roots";

/// Returns the error with which the server answered, if `error` is one.
pub(crate) fn server_error_of(error: &anyhow::Error) -> Option<&ErrorObject> {
    Failure::inner_of::<Error>(error)?.server_error()
}

/// Returns `true` if the server does not implement the method.
pub(crate) fn is_unknown_method(error: &anyhow::Error) -> bool {
    let kind = server_error_of(error).and_then(|error| error.error_code(Revision::LATEST));
    kind == Some(bowline_types::ErrorCode::MethodNotFound)
}

/// Returns if the server has executed a failed tool call, where that is in question.
pub(crate) fn execution_hint(error: &Error) -> Option<&'static str> {
    // All other requests have no side effects and can be sent again.
    if error.operation() != Some(Method::CallTool.as_str()) {
        return None;
    }
    match error.kind() {
        ErrorKind::SchemaMismatch => {
            return Some("the tool was executed; its result is shown as received");
        }
        ErrorKind::InvalidResponse => return Some(INVALID_RESULT),
        ErrorKind::Timeout
        | ErrorKind::TransportDown
        | ErrorKind::Unavailable
        | ErrorKind::OversizedFrame
        | ErrorKind::Protocol => {}
        // The error itself is enough: what the tool answered, what this side refused, or why it can't
        // be called at all.
        _ => return None,
    }
    Some(if error.may_have_run()? {
        "the call was sent, and the server may have executed it"
    } else {
        "the call was not sent, so the server has not executed it"
    })
}

const INVALID_RESULT: &str = "the tool was executed, but its result is invalid and can't be shown";

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(server: ChildProcess) -> anyhow::Error {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let connecting = connect(
            server,
            ConnectOptions::default().config(),
            HintContext::default(),
        );
        runtime.unwrap().block_on(connecting).unwrap_err()
    }

    #[test]
    fn a_failed_connection_reports_its_reason() {
        let missing = refused(ChildProcess::new("/no/such/server"));
        assert_eq!(Failure::status_of(&missing), ExitStatus::Unreachable);
        let words = missing.to_string();
        let begins = "cannot connect: /no/such/server: no such file";
        assert!(words.starts_with(begins), "{words}");

        let script = "echo no licence >&2; exit 3";
        let dying = refused(ChildProcess::new("/bin/sh").args(["-c", script]));
        assert_eq!(Failure::status_of(&dying), ExitStatus::Unreachable);
        let words = "cannot connect: the server ended with exit status: 3; stderr: no licence";
        assert_eq!(dying.to_string(), words);
        assert!(Failure::hint_of(&dying).is_some());
    }

    #[tokio::test]
    async fn the_timeout_option_limits_a_call() {
        let options = ConnectOptions {
            revision: Some(Revision::V2025_06_18),
            call_timeout: Some(Duration::from_millis(20)),
            ..ConnectOptions::default()
        };
        let (transport, mut peer) = bowline::testing::peer();
        let client = Client::start(transport, options.config());
        let mut server = peer.accept().await.unwrap();
        server.handshake(Revision::V2025_06_18).await.unwrap();
        let error = client.call("tools/list", ()).wait_for_ready().await;
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Timeout);
        assert_eq!(client.revision(), options.revision);
    }

    #[test]
    fn the_total_of_a_call_is_max_time_or_the_largest_timeout() {
        let total = |call: Option<u64>, max: Option<u64>| {
            let options = ConnectOptions {
                call_timeout: call.map(Duration::from_secs),
                max_time: max.map(Duration::from_secs),
                ..ConnectOptions::default()
            };
            let timeouts = options.config().connection().default_timeouts();
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
    fn the_kind_of_error_decides_the_exit_code() {
        for (kind, status) in [
            (ErrorKind::Auth, ExitStatus::Authorization),
            (ErrorKind::Tool, ExitStatus::ToolError),
            (ErrorKind::TransportDown, ExitStatus::Unreachable),
            (ErrorKind::Unavailable, ExitStatus::Unreachable),
            (ErrorKind::Shutdown, ExitStatus::Unreachable),
            (ErrorKind::JsonRpc, ExitStatus::Failed),
            (ErrorKind::Timeout, ExitStatus::Failed),
        ] {
            let failure = call_error(Error::new(kind, "x"));
            assert_eq!(Failure::status_of(&failure), status);
        }
        let refused = connect_error(
            &Error::new(ErrorKind::Auth, "x"),
            &FailureContext::default(),
        );
        assert_eq!(Failure::status_of(&refused), ExitStatus::Authorization);
    }
}
