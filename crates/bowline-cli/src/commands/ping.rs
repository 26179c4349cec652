//! `bowline ping`: measures how long a server takes to respond.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::durations;
use crate::environment::Environment;
use crate::exit::ExitStatus;
use crate::printer::{OutputClosed, Printer, Tone};
use crate::server_connection::{self, ServerConnection};
use crate::settings::{Format, PingSettings};

/// Pings a server.
///
/// # Errors
///
/// The server can't be reached, or doesn't respond in time.
pub(crate) fn ping(
    settings: &PingSettings,
    environment: &Environment,
    printer: &mut Printer,
) -> anyhow::Result<ExitStatus> {
    let mut statistics = PingStatistics::default();
    let outcome = server_connection::run_with_server(
        &settings.server,
        environment,
        printer,
        async |connection| ping_all(settings, &mut statistics, connection).await,
    );
    // The statistics are printed whatever ended the command, unless the output was closed.
    let is_readable = !matches!(&outcome, Err(error) if error.is::<OutputClosed>());
    let is_text = settings.server.format == Format::Text;
    if is_readable && is_text && settings.count > 1 && statistics.count > 0 {
        printer.note(&statistics.to_string());
    }
    outcome.map(|()| ExitStatus::Done)
}

async fn ping_all(
    settings: &PingSettings,
    statistics: &mut PingStatistics,
    connection: &mut ServerConnection<'_>,
) -> anyhow::Result<()> {
    if connection.format == Format::Text {
        let took = durations::shown(connection.connected_in);
        let name = match connection.client.server_info() {
            Some(server) => format!("{} {}", server.name, server.version),
            None => connection.name.clone(),
        };
        let line = format!("connected to {name} in {took}");
        connection.printer.note(&line);
    }
    for number in 1..=settings.count {
        if number > 1 {
            tokio::time::sleep(settings.interval).await;
        }
        let begun = Instant::now();
        connection.complete_call(connection.client.ping()).await?;
        let took = begun.elapsed();
        statistics.count(took);
        match connection.format {
            Format::Text => {
                let line = format!("answered in {}", durations::shown(took));
                connection.printer.line(0, Tone::Plain, &line)?;
            }
            Format::Json => {
                let object = json!({"ping": number, "took_ms": durations::millis(took)});
                connection.printer.json(&object)?;
            }
        }
        connection.printer.flush()?;
    }
    Ok(())
}

/// The statistics of all pings.
#[derive(Debug, Default)]
struct PingStatistics {
    count: u32,
    sum: Duration,
    shortest: Option<Duration>,
    longest: Duration,
}

impl PingStatistics {
    fn count(&mut self, took: Duration) {
        self.count += 1;
        self.sum += took;
        self.shortest = Some(self.shortest.map_or(took, |shortest| shortest.min(took)));
        self.longest = self.longest.max(took);
    }
}

impl std::fmt::Display for PingStatistics {
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
        let mut statistics = PingStatistics::default();
        statistics.count(Duration::from_millis(20));
        assert_eq!(
            statistics.to_string(),
            "1 ping: min 20 ms, average 20 ms, max 20 ms"
        );
        for millis in [10, 60] {
            statistics.count(Duration::from_millis(millis));
        }
        assert_eq!(
            statistics.to_string(),
            "3 pings: min 10 ms, average 30 ms, max 60 ms"
        );
    }
}
