//! A run as text: time, client, wire, server, one line for each thing that happened.

use std::fmt::Write as _;

use bowline_proto::Instant;
use bowline_proto::link::LinkEvent;

/// Where something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    Client,
    Wire,
    Server,
}

/// Characters of the columns before the last.
const CLIENT: usize = 42;
const WIRE: usize = 64;

/// The lines so far, when they are wanted.
#[derive(Debug)]
pub(crate) struct TraceText(Option<String>);

impl TraceText {
    pub(crate) fn new(is_wanted: bool) -> Self {
        Self(is_wanted.then(|| {
            let head = format!(
                "{:>13} │ {:CLIENT$} │ {:WIRE$} │ server\n",
                "time", "client", "wire"
            );
            let rule = format!(
                "{:─>13}─┼─{:─<CLIENT$}─┼─{:─<WIRE$}─┼─{:─<30}\n",
                "", "", "", ""
            );
            head + &rule
        }))
    }

    pub(crate) fn note(&mut self, at: Instant, column: Column, text: impl FnOnce() -> String) {
        let Some(lines) = &mut self.0 else {
            return;
        };
        let text = text();
        let (client, wire, server) = match column {
            Column::Client => (text.as_str(), "", ""),
            Column::Wire => ("", text.as_str(), ""),
            Column::Server => ("", "", text.as_str()),
        };
        let at = at.to_string();
        // A string takes every write.
        let _ = writeln!(
            lines,
            "{at:>13} │ {client:CLIENT$} │ {wire:WIRE$} │ {server}"
        );
    }

    pub(crate) fn into_text(self) -> String {
        self.0.unwrap_or_default()
    }
}

/// Returns the beginning of a frame, on one line.
pub(crate) fn shown(frame: &[u8]) -> String {
    const MOST: usize = 110;
    let text = String::from_utf8_lossy(frame);
    let text = text.replace("\"jsonrpc\":\"2.0\",", "");
    let mut line: String = text
        .chars()
        .take(MOST)
        .map(|c| if c.is_control() { '·' } else { c })
        .collect();
    if text.chars().count() > MOST {
        line.push('…');
    }
    line
}

/// Returns an event in a few words.
pub(crate) fn describe_event(event: &LinkEvent) -> String {
    match event {
        LinkEvent::State(transition) => {
            let (from, to) = (transition.from, transition.to);
            format!("{from} → {to}: {}", transition.cause.name())
        }
        LinkEvent::Ended {
            call,
            outcome,
            sent,
        } => format!("call {call} ended: {}, sent {sent:?}", outcome.name()),
        LinkEvent::Ready { session, agreement } => {
            format!("session {session} in {}", agreement.revision)
        }
        LinkEvent::Progress { call, .. } => format!("progress of call {call}"),
        LinkEvent::InputRequired { call, round, .. } => {
            format!("input for call {call}, round {round}")
        }
        LinkEvent::Request {
            request, method, ..
        } => format!("request {request}: {method}"),
        LinkEvent::RequestCancelled(request) => format!("request {request} cancelled"),
        LinkEvent::Notification { method, .. } => format!("notified: {method}"),
        LinkEvent::SubscriptionOpened { subscription, .. } => {
            format!("subscription {subscription} is open")
        }
        LinkEvent::SubscriptionGap { subscription, .. } => {
            format!("gap in subscription {subscription}")
        }
        LinkEvent::SubscriptionEnded {
            subscription,
            outcome,
        } => format!("subscription {subscription} ended: {}", outcome.name()),
        other => format!("{other:?}"),
    }
}
