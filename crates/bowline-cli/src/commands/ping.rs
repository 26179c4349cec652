//! `bowline ping`: how long a server takes to answer.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::durations;
use crate::exit::ExitStatus;
use crate::printer::{OutputClosed, Printer, Tone};
use crate::server_connection::{self, Conversation};
use crate::settings::{Format, PingSettings};
use crate::surroundings::Surroundings;

/// Pings a server.
///
/// # Errors
///
/// The server can't be reached, or doesn't answer in time.
pub(crate) fn ping(
    settings: &PingSettings,
    surroundings: &Surroundings,
    printer: &mut Printer,
) -> anyhow::Result<ExitStatus> {
    let mut tally = Tally::default();
    let outcome = server_connection::hold(
        &settings.server,
        surroundings,
        printer,
        async |conversation| ping_all(settings, &mut tally, conversation).await,
    );
    // What was measured is worth telling whatever ended it, except that nobody listens.
    let is_heard = !matches!(&outcome, Err(error) if error.is::<OutputClosed>());
    let is_text = settings.server.format == Format::Text;
    if is_heard && is_text && settings.count > 1 && tally.count > 0 {
        printer.talk(&tally.to_string());
    }
    outcome.map(|()| ExitStatus::Done)
}

async fn ping_all(
    settings: &PingSettings,
    tally: &mut Tally,
    conversation: &mut Conversation<'_>,
) -> anyhow::Result<()> {
    if conversation.format == Format::Text {
        let took = durations::shown(conversation.connected_in);
        let name = match conversation.client.server_info() {
            Some(server) => format!("{} {}", server.name, server.version),
            None => conversation.name.clone(),
        };
        let line = format!("connected to {name} in {took}");
        conversation.printer.talk(&line);
    }
    for number in 1..=settings.count {
        if number > 1 {
            tokio::time::sleep(settings.interval).await;
        }
        let begun = Instant::now();
        conversation.answer(conversation.client.ping()).await?;
        let took = begun.elapsed();
        tally.count(took);
        match conversation.format {
            Format::Text => {
                let line = format!("answered in {}", durations::shown(took));
                conversation.printer.line(0, Tone::Plain, &line)?;
            }
            Format::Json => {
                let object = json!({"ping": number, "took_ms": durations::millis(took)});
                conversation.printer.json(&object)?;
            }
        }
        conversation.printer.flush()?;
    }
    Ok(())
}

/// What is known of all pings.
#[derive(Debug, Default)]
struct Tally {
    count: u32,
    sum: Duration,
    shortest: Option<Duration>,
    longest: Duration,
}

impl Tally {
    fn count(&mut self, took: Duration) {
        self.count += 1;
        self.sum += took;
        self.shortest = Some(self.shortest.map_or(took, |shortest| shortest.min(took)));
        self.longest = self.longest.max(took);
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [shortest, average, longest] = [
            self.shortest.unwrap_or_default(),
            self.sum / self.count.max(1),
            self.longest,
        ]
        .map(durations::shown);
        let count = self.count;
        let plural = if count == 1 { "" } else { "s" };
        write!(
            f,
            "{count} ping{plural}: min {shortest}, average {average}, max {longest}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pings_are_summed_up() {
        let mut tally = Tally::default();
        tally.count(Duration::from_millis(20));
        assert_eq!(
            tally.to_string(),
            "1 ping: min 20 ms, average 20 ms, max 20 ms"
        );
        for millis in [10, 60] {
            tally.count(Duration::from_millis(millis));
        }
        assert_eq!(
            tally.to_string(),
            "3 pings: min 10 ms, average 30 ms, max 60 ms"
        );
    }
}
