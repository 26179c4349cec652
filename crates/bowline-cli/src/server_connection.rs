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

use crate::connect::{Said, Wishes, call_failed_within, connect};
use crate::descriptors;
use crate::interrupt::{Interrupt, is_interrupt};
use crate::printer::{self, Printer};
use crate::progress::{Look, Progress};
use crate::server_connection::stderr_messages::Aside;
use crate::server_requests::Asking;
use crate::settings::{Format, ServerSettings};
use crate::surroundings::Surroundings;
use crate::target::Target;

/// A server that answers, and whoever is told what it says.
pub(crate) struct Conversation<'a> {
    /// The server.
    pub(crate) client: Client,
    /// Who is told.
    pub(crate) printer: &'a mut Printer,
    /// How they are told.
    pub(crate) format: Format,
    /// What to call the server.
    pub(crate) name: String,
    /// When it was begun to connect, which is where the client's own times begin.
    pub(crate) begun: Instant,
    /// How long it took until it was ready.
    pub(crate) connected_in: Duration,
    /// What the server logs, where that is not shown by itself.
    pub(crate) log: Option<Receiver<Arc<ServerNotification>>>,
    /// How long a call may take.
    limits: Timeouts,
    look: Look,
    aside: Aside,
}

/// Connects to the server that is wanted, talks, and lets it go.
///
/// # Errors
///
/// There is no such server, it can't be reached, or what `talk` says.
pub(crate) fn hold<T>(
    settings: &ServerSettings,
    surroundings: &Surroundings,
    printer: &mut Printer,
    talk: impl AsyncFnOnce(&mut Conversation<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let wanted = settings.wanted.clone();
    let target = wanted.find(&settings.config, surroundings, printer)?;
    target.launch.keep_secrets(surroundings);
    let asking = settings.asking()?;
    let roots = settings.roots()?;
    descriptors::check(descriptors::OF_CLIENT)?;
    let mut interrupt = Interrupt::listen()?;
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the async runtime")?;
    let name = target.name.clone();
    let child = target.launch.child().grace(GRACE);
    let children = child.children();
    let outcome = runtime.block_on(async {
        let answering = (&asking, roots);
        let beginning = Conversation::begin(child, target, settings, answering, printer);
        // One that never said a word is not waited for: its watchdog sees to its end.
        let conversation = interrupt.or(beginning, || 0).await?;
        let held = talked(conversation, &mut interrupt, &asking, talk).await;
        // One that saves something when it ends has done so when the command has.
        let gone = interrupt.or(gone(children, &name, printer), || 0).await;
        let gone = match gone {
            // What was asked for is done; nobody has to wait for the server's end.
            Err(error) if is_interrupt(&error) => Ok(()),
            gone => gone,
        };
        held.and_then(|value| gone.map(|()| value))
    });
    runtime.shutdown_background();
    outcome
}

/// Talks, and stops the client.
async fn talked<T>(
    mut conversation: Conversation<'_>,
    interrupt: &mut Interrupt,
    asking: &Asking,
    talk: impl AsyncFnOnce(&mut Conversation<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let client = conversation.client.clone();
    let talking = talk(&mut conversation);
    let outcome = interrupt.or(talking, || client.pending()).await;
    asking.warn_of_unused(conversation.printer);
    // Readers need not wait until the server has ended.
    let flushed = conversation.printer.flush();
    conversation.end().await;
    outcome.and_then(|value| flushed.map(|()| value))
}

/// Waits until the server's process has ended, by itself or because it took too long.
async fn gone(mut children: Children, name: &str, printer: &mut Printer) -> anyhow::Result<()> {
    if timeout(LONG_END, children.ended()).await.is_ok() {
        return Ok(());
    }
    printer.talk(&format!("waiting for {name} to exit; Ctrl-C stops waiting"));
    let ended = timeout(LONGEST_END, children.ended()).await;
    ended.with_context(|| format!("the process of {name} did not exit"))
}

impl<'a> Conversation<'a> {
    async fn begin(
        child: ChildProcess,
        target: Target,
        settings: &ServerSettings,
        (asking, roots): (&Asking, Vec<Root>),
        printer: &'a mut Printer,
    ) -> anyhow::Result<Self> {
        let aside = Aside::new(settings.format);
        let look = Look {
            charset: settings.screen.charset,
            has_colour: printer.has_colour(),
            is_hidden: settings.screen.is_verbose || settings.format == Format::Json,
        };
        let mut config = finished_config(settings, target.timeout, &aside);
        config.name(&*target.name);
        if !roots.is_empty() {
            config.roots(roots);
        }
        let hushed = aside.clone();
        let hush = move |is_asked| hushed.hush(is_asked);
        asking.answer(&mut config, &target.name, hush);
        let limits = config.connection().default_timeouts();
        // From the beginning: many servers log when they start.
        let log = settings.is_followed.then(|| server_log::keep(&config));
        let begun = Instant::now();
        let client = {
            // Some servers are installed before they start.
            let _shown = Shown::begin(&format!("starting {}", target.name), look, &aside);
            let said = Said {
                only: settings.revision,
                is_verbose: settings.screen.is_verbose,
            };
            connect(child, config, said).await?
        };
        let conversation = Self {
            client,
            printer,
            format: settings.format,
            name: target.name,
            begun,
            connected_in: begun.elapsed(),
            log,
            limits,
            look,
            aside,
        };
        conversation.ask_for_log(settings.log.as_ref()).await;
        Ok(conversation)
    }

    /// Waits for an answer of the server. The only place that waits for one: what ends the
    /// wait of every command ends it here.
    ///
    /// # Errors
    ///
    /// What it means for the command that there is no answer.
    pub(crate) async fn answer<T>(
        &self,
        call: impl IntoFuture<Output = Result<T, Error>>,
    ) -> anyhow::Result<T> {
        call.await
            .map_err(|error| call_failed_within(error, self.limits))
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
        let (items, skipped_items) = self.answer(pages.collect_all()).await?;
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
    pub(crate) fn progress(&self, name: &str) -> Shown<'_> {
        Shown::begin(name, self.look, &self.aside)
    }

    /// Says how many there are, to whoever reads a list of them.
    ///
    /// # Errors
    ///
    /// What the printer says.
    pub(crate) fn tally(&mut self, count: usize, kind: &str) -> anyhow::Result<()> {
        // The list first.
        self.printer.flush()?;
        let plural = if count == 1 { "" } else { "s" };
        self.printer.talk(&format!("{count} {kind}{plural}"));
        Ok(())
    }

    /// Says which part of the log is wanted. A server of the handshake era is only told when
    /// somebody wished for a level: until then it logs what it likes.
    async fn ask_for_log(&self, wished: Option<&LoggingLevel>) {
        let Some(agreement) = self.client.agreement() else {
            return;
        };
        let level = match agreement.revision.era() {
            Era::Stateless => wished.unwrap_or(&server_log::USUAL),
            Era::Handshake => match wished {
                Some(level) => level,
                None => return,
            },
        };
        if agreement.capabilities.logging.is_none() {
            return;
        }
        if let Err(error) = self.client.logging().set_level(level.clone()).await {
            self.aside
                .say(&format!("cannot set the log level: {error}"));
        }
    }

    /// Lets the server go.
    async fn end(self) {
        // It ends within its grace; if that fails it is not our user who shall wait.
        let _ = timeout(LONGEST_END, self.client.stop()).await;
    }
}

/// The configuration of the client, finished: whoever wants to hear of the server's
/// notifications or to answer its requests is installed here.
fn finished_config(
    settings: &ServerSettings,
    configured_timeout: Option<Duration>,
    aside: &Aside,
) -> ClientConfig {
    let connect_timeout = settings.timeout;
    let connect_timeout = connect_timeout.unwrap_or(Wishes::default().connect_timeout);
    let wishes = Wishes {
        revision: settings.revision,
        connect_timeout: connect_timeout.min(settings.whole_time.unwrap_or(Duration::MAX)),
        call_timeout: settings.timeout.or(configured_timeout),
        max_time: settings.max_time,
        attempts: (!settings.is_followed).then_some(1),
    };
    let mut config = wishes.config();
    // A call that becomes a task is followed to its end.
    config.tasks();
    if !settings.is_followed {
        let level = settings.log.clone().unwrap_or(server_log::USUAL);
        server_log::show(&config, level, aside.clone());
    }
    config
}

/// Something that goes on, as long as it is shown.
pub(crate) struct Shown<'a> {
    progress: Progress,
    aside: &'a Aside,
}

impl<'a> Shown<'a> {
    fn begin(name: &str, look: Look, aside: &'a Aside) -> Self {
        let label: String = name.chars().take(LONGEST_LABEL).chain([' ']).collect();
        let progress = Progress::begin(&label, look);
        aside.beside(Some(progress.clone()));
        Self { progress, aside }
    }

    /// What reports are shown with.
    pub(crate) fn bar(&self) -> Progress {
        self.progress.clone()
    }
}

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        self.aside.beside(None);
        self.progress.end();
    }
}

/// How long a server may take to end when its stdin is closed, and again when it is told to.
/// Longer than the library gives it: whoever typed a command can wait, and can leave.
const GRACE: Duration = Duration::from_secs(2);

/// How long a server may take to end before somebody is told that we wait for it.
const LONG_END: Duration = Duration::from_secs(1);

/// How long a server may take to end before we leave. It is killed long before that.
const LONGEST_END: Duration = Duration::from_secs(10);

/// Characters before a bar, which needs room for itself.
const LONGEST_LABEL: usize = 32;
