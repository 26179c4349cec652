//! A conversation with a server: from finding out which one it is to letting it go.
//!
//! A command hands [`hold`] what it wants to ask, and gets a connected [`Conversation`] to ask
//! it with. The server is stopped whatever comes of it.

mod server_log;
mod stderr_messages;

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use bowline::client::ServerNotification;
use bowline::client::features::{Listed, Pages};
use bowline::transport::{ChildProcess, Children};
use bowline::{Client, ClientConfig, Error, Timeouts};
use bowline_types::Era;
use bowline_types::logging::LoggingLevel;
use bowline_types::roots::Root;
use tokio::runtime::Builder;
use tokio::sync::mpsc::Receiver;
use tokio::time::timeout;

use crate::connect::{ConnectOptions, HintContext, call_error_within, connect};
use crate::descriptors;
use crate::interrupt::{Interrupt, is_interrupt};
use crate::printer::{self, Printer};
use crate::progress::{BarStyle, Progress};
use crate::server_connection::stderr_messages::StderrMessages;
use crate::server_requests::ServerRequests;
use crate::settings::{Format, ServerSettings};
use crate::surroundings::Surroundings;
use crate::target::Target;

/// A server that answers, and whoever is told what it says.
pub(crate) struct ServerConnection<'a> {
    /// The server.
    pub(crate) client: Client,
    /// Who is told.
    pub(crate) printer: &'a mut Printer,
    /// How they are told.
    pub(crate) format: Format,
    /// What to call the server.
    pub(crate) name: String,
    /// When it was begun to connect, which is where the client's own times begin.
    pub(crate) started_at: Instant,
    /// How long it took until it was ready.
    pub(crate) connected_in: Duration,
    /// What the server logs, where that is not shown by itself.
    pub(crate) log: Option<Receiver<Arc<ServerNotification>>>,
    /// How long a call may take.
    limits: Timeouts,
    bar_style: BarStyle,
    messages: StderrMessages,
}

/// Connects to the server that is wanted, talks, and lets it go.
///
/// # Errors
///
/// There is no such server, it can't be reached, or what `talk` says.
pub(crate) fn run_with_server<T>(
    settings: &ServerSettings,
    surroundings: &Surroundings,
    printer: &mut Printer,
    command: impl AsyncFnOnce(&mut ServerConnection<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let choice = settings.choice.clone();
    let target = choice.find(&settings.config, surroundings, printer)?;
    target.launch.register_secrets(surroundings);
    let requests = settings.server_requests()?;
    let roots = settings.roots()?;
    descriptors::check(descriptors::OF_CLIENT)?;
    let mut interrupt = Interrupt::install()?;
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the async runtime")?;
    let name = target.name.clone();
    let child = target.launch.child().grace(GRACE);
    let children = child.children();
    let outcome = runtime.block_on(async {
        let request_settings = (&requests, roots);
        let connecting =
            ServerConnection::connect(child, target, settings, request_settings, printer);
        // One that never said a word is not waited for: its watchdog sees to its end.
        let connection = interrupt.or(connecting, || 0).await?;
        let finished = run_command(connection, &mut interrupt, &requests, command).await;
        // One that saves something when it ends has done so when the command has.
        let gone = interrupt
            .or(wait_for_exit(children, &name, printer), || 0)
            .await;
        let gone = match gone {
            // What was asked for is done; nobody has to wait for the server's end.
            Err(error) if is_interrupt(&error) => Ok(()),
            gone => gone,
        };
        finished.and_then(|value| gone.map(|()| value))
    });
    runtime.shutdown_background();
    outcome
}

/// Talks, and stops the client.
async fn run_command<T>(
    mut connection: ServerConnection<'_>,
    interrupt: &mut Interrupt,
    requests: &ServerRequests,
    command: impl AsyncFnOnce(&mut ServerConnection<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let client = connection.client.clone();
    let running = command(&mut connection);
    let outcome = interrupt.or(running, || client.pending()).await;
    requests.warn_of_unused_answers(connection.printer);
    // Readers need not wait until the server has ended.
    let flushed = connection.printer.flush();
    connection.close().await;
    outcome.and_then(|value| flushed.map(|()| value))
}

/// Waits until the server's process has ended, by itself or because it took too long.
async fn wait_for_exit(
    mut children: Children,
    name: &str,
    printer: &mut Printer,
) -> anyhow::Result<()> {
    if timeout(EXIT_NOTICE_DELAY, children.ended()).await.is_ok() {
        return Ok(());
    }
    printer.talk(&format!("waiting for {name} to exit; Ctrl-C stops waiting"));
    let ended = timeout(EXIT_TIMEOUT, children.ended()).await;
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

    /// Waits for an answer of the server. The only place that waits for one: what ends the
    /// wait of every command ends it here.
    ///
    /// # Errors
    ///
    /// What it means for the command that there is no answer.
    pub(crate) async fn complete_call<T>(
        &self,
        call: impl IntoFuture<Output = Result<T, Error>>,
    ) -> anyhow::Result<T> {
        call.await
            .map_err(|error| call_error_within(error, self.limits))
    }

    /// The whole of a list. What makes no sense in it is left out, with a warning: one odd
    /// `kind` doesn't hide the others.
    ///
    /// # Errors
    ///
    /// What it means for the command that there is no list.
    pub(crate) async fn list<P: Listed>(
        &self,
        pages: Pages<'_, P>,
        kind: &str,
    ) -> anyhow::Result<Vec<P::Item>> {
        let (items, skipped_items) = self.complete_call(pages.collect_all()).await?;
        for odd in &skipped_items.first {
            let name = odd.name.as_deref().map(|name| format!(" `{name}`"));
            let name = name.unwrap_or_default();
            self.warn(
                &format!("skipped an invalid {kind}{name}: {}", odd.error),
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

    /// What is not well but no reason to stop.
    pub(crate) fn warn(&self, text: &str, hint: Option<&str>) {
        printer::warn_aside(self.format == Format::Json, text, hint);
    }

    /// Begins to show how far a call of `name` is. Nothing is shown once it is dropped.
    pub(crate) fn progress(&self, name: &str) -> ProgressGuard<'_> {
        ProgressGuard::begin(name, self.bar_style, &self.messages)
    }

    /// Says how many there are, to whoever reads a list of them.
    ///
    /// # Errors
    ///
    /// What the printer says.
    pub(crate) fn print_count(&mut self, count: usize, kind: &str) -> anyhow::Result<()> {
        // The list first.
        self.printer.flush()?;
        let plural = if count == 1 { "" } else { "s" };
        self.printer.talk(&format!("{count} {kind}{plural}"));
        Ok(())
    }

    /// Says which part of the log is wanted. A server of the handshake era is only told when
    /// somebody wished for a level: until then it logs what it likes.
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

    /// Lets the server go.
    async fn close(self) {
        // It ends within its grace; if that fails it is not our user who shall wait.
        let _ = timeout(EXIT_TIMEOUT, self.client.stop()).await;
    }
}

/// The configuration of the client, finished: whoever wants to hear of the server's
/// notifications or to answer its requests is installed here.
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

/// Something that goes on, as long as it is shown.
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

    /// What reports are shown with.
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

/// How long a server may take to end when its stdin is closed, and again when it is told to.
/// Longer than the library gives it: whoever typed a command can wait, and can leave.
const GRACE: Duration = Duration::from_secs(2);

/// How long a server may take to end before somebody is told that we wait for it.
const EXIT_NOTICE_DELAY: Duration = Duration::from_secs(1);

/// How long a server may take to end before we leave. It is killed long before that.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);

/// Characters before a bar, which needs room for itself.
const MAX_LABEL_LENGTH: usize = 32;
