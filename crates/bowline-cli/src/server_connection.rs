//! A connection to a server for the time of a command: finding the server, connecting, running the
//! command, and closing.
//!
//! A command passes a closure to [`run_with_server`], which gets a connected [`ServerConnection`].
//! The server is stopped in any case.
//!
//! - [`server_log`]: the log messages of the server.
//! - [`stderr_messages`]: lines on stderr while a progress bar may be drawn there.

mod server_log;
mod stderr_messages;

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use bowline::client::ServerNotification;
use bowline::client::features::{ListPage, Pages};
use bowline::transport::{ChildProcess, ChildProcesses};
use bowline::{Client, ClientConfig, Error, Timeouts};
use bowline_types::Era;
use bowline_types::logging::LoggingLevel;
use bowline_types::roots::Root;
use tokio::runtime::Builder;
use tokio::sync::mpsc::Receiver;
use tokio::time::timeout;

use crate::connect::{ConnectOptions, HintContext, call_error_within, connect};
use crate::descriptors;
use crate::environment::Environment;
use crate::interrupt::{Interrupt, is_interrupt};
use crate::printer::{self, Printer};
use crate::progress::{BarStyle, Progress};
use crate::server_connection::stderr_messages::StderrMessages;
use crate::server_requests::ServerRequests;
use crate::settings::{Format, ServerSettings};
use crate::target::Target;

/// A connected server, and where a command writes its output.
pub(crate) struct ServerConnection<'a> {
    /// The client.
    pub(crate) client: Client,
    /// Where output is written.
    pub(crate) printer: &'a mut Printer,
    /// Text or JSON.
    pub(crate) format: Format,
    /// The name of the server for messages.
    pub(crate) name: String,
    /// When connecting began, which is where the times of the client begin.
    pub(crate) started_at: Instant,
    /// How long connecting took.
    pub(crate) connected_in: Duration,
    /// The log messages of the server, where they are not written to stderr.
    pub(crate) log: Option<Receiver<Arc<ServerNotification>>>,
    /// The time limits of a call.
    limits: Timeouts,
    bar_style: BarStyle,
    messages: StderrMessages,
}

/// Finds the server, connects, runs `command`, and stops the server.
///
/// # Errors
///
/// The server is not known or can't be reached, or the error of `command`.
pub(crate) fn run_with_server<T>(
    settings: &ServerSettings,
    environment: &Environment,
    printer: &mut Printer,
    command: impl AsyncFnOnce(&mut ServerConnection<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let choice = settings.choice.clone();
    let target = choice.find(&settings.config, environment, printer)?;
    target.launch.register_secrets(environment);
    let requests = settings.server_requests()?;
    let roots = settings.roots()?;
    descriptors::check(descriptors::OF_CLIENT)?;
    let mut interrupt = Interrupt::install()?;
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the async runtime")?;
    let name = target.name.clone();
    let child = target.launch.child().grace(GRACE);
    let processes = child.processes();
    let outcome = runtime.block_on(async {
        let request_settings = (&requests, roots);
        let connecting =
            ServerConnection::connect(child, target, settings, request_settings, printer);
        // If the connection never got ready, the server is not waited for: its watchdog ends it.
        let connection = interrupt.run(connecting, || 0).await?;
        let finished = run_command(connection, &mut interrupt, &requests, command).await;
        // A server that saves something when it exits has done so when the command ends.
        let exited = interrupt
            .run(wait_for_exit(processes, &name, printer), || 0)
            .await;
        let exited = match exited {
            // The command is done; after Ctrl-C the exit of the server is not awaited.
            Err(error) if is_interrupt(&error) => Ok(()),
            exited => exited,
        };
        finished.and_then(|value| exited.map(|()| value))
    });
    runtime.shutdown_background();
    outcome
}

/// Runs the command, and stops the client.
async fn run_command<T>(
    mut connection: ServerConnection<'_>,
    interrupt: &mut Interrupt,
    requests: &ServerRequests,
    command: impl AsyncFnOnce(&mut ServerConnection<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let client = connection.client.clone();
    let running = command(&mut connection);
    let outcome = interrupt.run(running, || client.pending()).await;
    requests.warn_of_unused_answers(connection.printer);
    // A reader of the output does not have to wait until the server has exited.
    let flushed = connection.printer.flush();
    connection.close().await;
    outcome.and_then(|value| flushed.map(|()| value))
}

/// Waits until the server process has exited, by itself or because it was killed.
async fn wait_for_exit(
    mut processes: ChildProcesses,
    name: &str,
    printer: &mut Printer,
) -> anyhow::Result<()> {
    if timeout(EXIT_NOTICE_DELAY, processes.wait_all())
        .await
        .is_ok()
    {
        return Ok(());
    }
    printer.note(&format!("waiting for {name} to exit; Ctrl-C stops waiting"));
    let ended = timeout(EXIT_TIMEOUT, processes.wait_all()).await;
    ended.with_context(|| format!("the process of {name} did not exit"))
}

impl<'a> ServerConnection<'a> {
    async fn connect(
        child: ChildProcess,
        target: Target,
        settings: &ServerSettings,
        (requests, roots): (&ServerRequests, Vec<Root>),
        printer: &'a mut Printer,
    ) -> anyhow::Result<Self> {
        let messages = StderrMessages::new(settings.format);
        let bar_style = BarStyle {
            charset: settings.terminal.charset,
            has_colour: printer.has_colour(),
            is_hidden: settings.terminal.is_verbose || settings.format == Format::Json,
        };
        let mut config = client_config(settings, target.timeout, &messages);
        config.name(&*target.name);
        if !roots.is_empty() {
            config.roots(roots);
        }
        let paused = messages.clone();
        let pause_progress = move |is_prompting| paused.pause_progress(is_prompting);
        requests.install(&mut config, &target.name, pause_progress);
        let limits = config.connection().default_timeouts();
        // From the beginning: many servers log when they start.
        let log = settings.is_watching.then(|| server_log::collect(&config));
        let started_at = Instant::now();
        let client = {
            // Some servers are installed before they start.
            let _shown =
                ProgressGuard::begin(&format!("starting {}", target.name), bar_style, &messages);
            let hint_context = HintContext {
                only: settings.revision,
                is_verbose: settings.terminal.is_verbose,
            };
            connect(child, config, hint_context).await?
        };
        let connection = Self {
            client,
            printer,
            format: settings.format,
            name: target.name,
            started_at,
            connected_in: started_at.elapsed(),
            log,
            limits,
            bar_style,
            messages,
        };
        connection.request_log_level(settings.log.as_ref()).await;
        Ok(connection)
    }

    /// Waits for the result of a call. Every command waits here, so that time limits and errors are
    /// treated alike.
    ///
    /// # Errors
    ///
    /// The error of the command if the call failed.
    pub(crate) async fn complete_call<T>(
        &self,
        call: impl IntoFuture<Output = Result<T, Error>>,
    ) -> anyhow::Result<T> {
        call.await
            .map_err(|error| call_error_within(error, self.limits))
    }

    /// Collects a whole list. Invalid items are skipped with a warning, so that one of them doesn't
    /// hide the others.
    ///
    /// # Errors
    ///
    /// The list can't be read, or all its items are invalid.
    pub(crate) async fn list<P: ListPage>(
        &self,
        pages: Pages<'_, P>,
        kind: &str,
    ) -> anyhow::Result<Vec<P::Item>> {
        let (items, skipped_items) = self.complete_call(pages.collect_all()).await?;
        for invalid in &skipped_items.first {
            let name = invalid.name.as_deref().map(|name| format!(" `{name}`"));
            let name = name.unwrap_or_default();
            self.warn(
                &format!("skipped an invalid {kind}{name}: {}", invalid.error),
                None,
            );
        }
        let more = skipped_items.count - skipped_items.first.len();
        if more > 0 {
            self.warn(&format!("skipped {more} more invalid items"), None);
        }
        if items.is_empty() && !skipped_items.is_empty() {
            return Err(anyhow!("every {kind} that the server lists is invalid"));
        }
        Ok(items)
    }

    /// Writes a warning to stderr.
    pub(crate) fn warn(&self, text: &str, hint: Option<&str>) {
        printer::warning_to_stderr(self.format == Format::Json, text, hint);
    }

    /// Shows the progress of a call of `name` until the guard is dropped.
    pub(crate) fn progress(&self, name: &str) -> ProgressGuard<'_> {
        ProgressGuard::begin(name, self.bar_style, &self.messages)
    }

    /// Writes the number of items of a list to stderr.
    ///
    /// # Errors
    ///
    /// The output can't be written.
    pub(crate) fn print_count(&mut self, count: usize, kind: &str) -> anyhow::Result<()> {
        // The list comes first.
        self.printer.flush()?;
        let plural = if count == 1 { "" } else { "s" };
        self.printer.note(&format!("{count} {kind}{plural}"));
        Ok(())
    }

    /// Requests log messages from a level on. In the handshake era the level is only set if the
    /// user asked for one: until then the server logs what it likes.
    async fn request_log_level(&self, level_option: Option<&LoggingLevel>) {
        let Some(agreement) = self.client.agreement() else {
            return;
        };
        let level = match agreement.revision.era() {
            Era::Stateless => level_option.unwrap_or(&server_log::DEFAULT_LEVEL),
            Era::Handshake => match level_option {
                Some(level) => level,
                None => return,
            },
        };
        if agreement.capabilities.logging.is_none() {
            return;
        }
        if let Err(error) = self.client.logging().set_level(level.clone()).await {
            self.messages
                .write_text(&format!("cannot set the log level: {error}"));
        }
    }

    /// Stops the client.
    async fn close(self) {
        // The server ends within its grace period; if that fails, the user should not have to wait.
        let _ = timeout(EXIT_TIMEOUT, self.client.stop()).await;
    }
}

/// Returns the configuration of the client, with the handler of log messages installed.
fn client_config(
    settings: &ServerSettings,
    configured_timeout: Option<Duration>,
    messages: &StderrMessages,
) -> ClientConfig {
    let connect_timeout = settings.timeout;
    let connect_timeout = connect_timeout.unwrap_or(ConnectOptions::default().connect_timeout);
    let options = ConnectOptions {
        revision: settings.revision,
        connect_timeout: connect_timeout.min(settings.whole_time.unwrap_or(Duration::MAX)),
        call_timeout: settings.timeout.or(configured_timeout),
        max_time: settings.max_time,
        attempts: (!settings.is_watching).then_some(1),
    };
    let mut config = options.config();
    // A call that becomes a task is followed to its end.
    config.tasks();
    if !settings.is_watching {
        let level = settings.log.clone().unwrap_or(server_log::DEFAULT_LEVEL);
        server_log::show(&config, level, messages.clone());
    }
    config
}

/// Shows progress until it is dropped.
pub(crate) struct ProgressGuard<'a> {
    progress: Progress,
    messages: &'a StderrMessages,
}

impl<'a> ProgressGuard<'a> {
    fn begin(name: &str, bar_style: BarStyle, messages: &'a StderrMessages) -> Self {
        let label: String = name.chars().take(MAX_LABEL_LENGTH).chain([' ']).collect();
        let progress = Progress::begin(&label, bar_style);
        messages.set_progress(Some(progress.clone()));
        Self { progress, messages }
    }

    /// Returns the bar for progress notifications.
    pub(crate) fn bar(&self) -> Progress {
        self.progress.clone()
    }
}

impl Drop for ProgressGuard<'_> {
    fn drop(&mut self) {
        self.messages.set_progress(None);
        self.progress.end();
    }
}

/// How long a server may take to exit after its stdin is closed, and again after SIGTERM. Longer
/// than the default of the library: a user can wait, and can press Ctrl-C.
const GRACE: Duration = Duration::from_secs(2);

/// How long a server may take to exit before a message shows that it is awaited.
const EXIT_NOTICE_DELAY: Duration = Duration::from_secs(1);

/// How long to wait for the exit of a server. It is killed long before that.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum length of the label before a bar, which needs space for itself.
const MAX_LABEL_LENGTH: usize = 32;
