//! `bowline watch`: follows the changes of a server, across its restarts.
//!
//! Three sources feed one bounded channel: the states of the connection, a subscription, and the
//! log. Each is bounded in the library, which counts the dropped events when the reader of the
//! output is slower than the server.
//!
//! - [`event`]: events as data, for `--json`, and as text.
//! - [`stdout_watch`]: notices when the reader of stdout is gone.

mod event;
mod stdout_watch;

use std::sync::Arc;
use std::time::Instant;

use bowline::Client;
use bowline::client::{ServerNotification, StateChanges, Subscription};
use bowline_types::logging::{LoggingLevel, LoggingMessageParams};
use bowline_types::subscriptions::SubscriptionFilter;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::time::timeout_at;

use crate::commands::watch::event::{Event, EventKind};
use crate::connect::call_error;
use crate::environment::Environment;
use crate::exit::ExitStatus;
use crate::interrupt;
use crate::printer::{OutputClosed, Printer};
use crate::server_connection::{self, ServerConnection};
use crate::settings::{Format, WatchSettings};

/// Watches a server until Ctrl-C, `--for` or `--count` ends it.
///
/// # Errors
///
/// The server can't be reached, doesn't support the subscription, or is lost for good.
pub(crate) fn watch(
    settings: &WatchSettings,
    environment: &Environment,
    printer: &mut Printer,
) -> anyhow::Result<ExitStatus> {
    let watched = server_connection::run_with_server(
        &settings.server,
        environment,
        printer,
        async |connection| watch_events(settings, connection).await,
    );
    match watched {
        // This is the normal end.
        Err(error) if interrupt::is_interrupt(&error) => Ok(ExitStatus::Done),
        other => other.map(|()| ExitStatus::Done),
    }
}

async fn watch_events(
    settings: &WatchSettings,
    connection: &mut ServerConnection<'_>,
) -> anyhow::Result<()> {
    let client = connection.client.clone();
    let (sender, mut events) = mpsc::channel(MAX_QUEUED_EVENTS);
    // There is no await between the two, so no change is lost or repeated.
    let (changes, history) = (client.state_changes(), client.history());
    // The time includes connecting.
    let until = settings.server.whole_time;
    let until = until.map(|time| tokio::time::Instant::from_std(connection.started_at) + time);
    let subscribing = subscribe(&client, &settings.resources);
    let subscribed = match until {
        Some(until) => timeout_at(until, subscribing).await,
        None => Ok(subscribing.await),
    };
    // A server that has not confirmed the subscription by then is not awaited.
    let subscription = subscribed.ok().transpose()?;
    if let Some(subscription) = &subscription {
        print_introduction(connection, subscription.is_some());
    }
    let mut printer = EventPrinter {
        started_at: connection.started_at,
        left: settings.count,
    };
    for transition in &history {
        printer.print(EventKind::state(transition), connection)?;
    }
    let Some(subscription) = subscription else {
        return Ok(());
    };
    if let Some(log) = connection.log.take() {
        let level = settings.server.log.clone();
        tokio::spawn(forward_log(log, level, sender.clone()));
    }
    let weak_sender = sender.downgrade();
    stdout_watch::on_reader_gone(move || {
        if let Some(sender) = weak_sender.upgrade() {
            let _ = sender.blocking_send(WatchMessage::ReaderGone);
        }
    })?;
    tokio::spawn(forward_states(changes, sender.clone()));
    if let Some(subscription) = subscription {
        tokio::spawn(forward_changes(subscription, sender));
    }
    while printer.left != Some(0) {
        let next = match until {
            Some(until) => timeout_at(until, events.recv()).await,
            None => Ok(events.recv().await),
        };
        match next {
            Err(_) | Ok(None) => break,
            Ok(Some(WatchMessage::Event(kind))) => printer.print(kind, connection)?,
            Ok(Some(WatchMessage::ReaderGone)) => return Err(OutputClosed.into()),
            Ok(Some(WatchMessage::Closed)) => {
                // The error has the reason.
                return client.ready().await.map_err(call_error);
            }
        }
    }
    Ok(())
}

/// A message of one of the sources.
enum WatchMessage {
    Event(EventKind),
    /// The client has closed for good.
    Closed,
    /// The reader of the output is gone.
    ReaderGone,
}

/// Prints events, up to a number of them.
struct EventPrinter {
    started_at: Instant,
    /// The number of events that are still to be printed, if it is limited.
    left: Option<u64>,
}

impl EventPrinter {
    fn print(
        &mut self,
        kind: EventKind,
        connection: &mut ServerConnection<'_>,
    ) -> anyhow::Result<()> {
        if self.left == Some(0) {
            return Ok(());
        }
        self.left = self.left.map(|left| left - 1);
        let event = Event::now(self.started_at.elapsed(), kind);
        match connection.format {
            Format::Text => connection.printer.pieces(0, &event.pieces())?,
            Format::Json => connection.printer.json(&event)?,
        }
        // Events are shown at once.
        connection.printer.flush()
    }
}

fn print_introduction(connection: &mut ServerConnection<'_>, is_subscribed: bool) {
    if connection.format == Format::Text {
        let name = &connection.name;
        let note = if is_subscribed {
            format!("watching {name}; Ctrl-C stops")
        } else {
            format!("watching {name}, which sends no notifications of changes; Ctrl-C stops")
        };
        connection.printer.note(&note);
    }
}

/// Subscribes to the lists whose changes the server announces, and to `resources`.
async fn subscribe(client: &Client, resources: &[String]) -> anyhow::Result<Option<Subscription>> {
    let has = client.capabilities().unwrap_or_default();
    let tools = has.tools.and_then(|capability| capability.list_changed);
    let prompts = has.prompts.and_then(|capability| capability.list_changed);
    let listed = has.resources.and_then(|capability| capability.list_changed);
    let mut filter = SubscriptionFilter::new();
    filter.tools_list_changed = tools.filter(|is_announced| *is_announced);
    filter.prompts_list_changed = prompts.filter(|is_announced| *is_announced);
    filter.resources_list_changed = listed.filter(|is_announced| *is_announced);
    if !resources.is_empty() {
        filter = filter.resource_subscriptions(resources);
    }
    if filter == SubscriptionFilter::new() {
        return Ok(None);
    }
    let subscribed = client.subscribe(filter).wait_for_ready().await;
    subscribed.map(Some).map_err(call_error)
}

/// Forwards log messages from a level on, or all of them.
async fn forward_log(
    mut log: Receiver<Arc<ServerNotification>>,
    wished: Option<LoggingLevel>,
    sender: Sender<WatchMessage>,
) {
    while let Some(note) = log.recv().await {
        let message = note.decode::<LoggingMessageParams>().ok();
        let is_wanted = |message: &LoggingMessageParams| {
            let wished = wished.as_ref();
            wished.is_none_or(|level| message.level.is_at_least(level))
        };
        let missed = Some(note.missed()).filter(|count| *count > 0);
        let missed = missed.map(|count| EventKind::Missed { count });
        let message = message.filter(is_wanted).map(EventKind::log);
        for kind in missed.into_iter().chain(message) {
            if sender.send(WatchMessage::Event(kind)).await.is_err() {
                return;
            }
        }
    }
}

async fn forward_states(mut changes: StateChanges, sender: Sender<WatchMessage>) {
    let mut missed = 0;
    while let Some(transition) = changes.next().await {
        let count = changes.missed() - missed;
        missed = changes.missed();
        let gap = (count > 0).then_some(EventKind::Missed { count });
        for kind in gap.into_iter().chain([EventKind::state(&transition)]) {
            if sender.send(WatchMessage::Event(kind)).await.is_err() {
                return;
            }
        }
    }
    let _ = sender.send(WatchMessage::Closed).await;
}

async fn forward_changes(mut subscription: Subscription, sender: Sender<WatchMessage>) {
    while let Some(change) = subscription.next().await {
        let Some(kind) = EventKind::change(change) else {
            continue;
        };
        if sender.send(WatchMessage::Event(kind)).await.is_err() {
            return;
        }
    }
    let reason = match subscription.end() {
        Some(Err(error)) => error.to_string(),
        Some(Ok(())) | None => "ended by the server".to_owned(),
    };
    let _ = sender
        .send(WatchMessage::Event(EventKind::Unsubscribed { reason }))
        .await;
}

/// The number of events that wait for the reader of the output.
const MAX_QUEUED_EVENTS: usize = 64;

#[cfg(test)]
mod tests {
    use bowline::ClientConfig;
    use bowline_types::common::Implementation;

    use super::*;

    #[tokio::test]
    async fn the_end_of_a_client_follows_its_last_state() {
        let (transport, _peer) = bowline::testing::peer();
        let config = ClientConfig::new(Implementation::new("test", "1"));
        let client = Client::start(transport, config);
        let (sender, mut events) = mpsc::channel(MAX_QUEUED_EVENTS);
        let forwarding = tokio::spawn(forward_states(client.state_changes(), sender));
        client.stop().await;
        forwarding.await.unwrap();
        let mut messages = Vec::new();
        while let Some(message) = events.recv().await {
            messages.push(match message {
                WatchMessage::Event(EventKind::State { to, .. }) => to,
                WatchMessage::Event(_) => "something else",
                WatchMessage::Closed => "the end",
                WatchMessage::ReaderGone => "unread",
            });
        }
        assert_eq!(
            messages[messages.len() - 2..],
            ["closed", "the end"],
            "{messages:?}"
        );
    }
}
