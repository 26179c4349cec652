//! Settings that both sides have: `% name value`.

use std::time::Duration;

use bowline_proto::codec::{FrameLimits, Oversize};
use bowline_proto::{Limits, Timeouts};
use bowline_types::{Revision, Revisions};

/// The settings of a transcript, name and value.
pub(crate) fn of(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let settings = text.lines().filter_map(|line| line.strip_prefix("% "));
    settings.map(|setting| setting.split_once(' ').unwrap_or((setting, "")))
}

/// Sets a limit. `oversize` is what happens to a large frame unless the setting says so.
pub(crate) fn limit(limits: &mut Limits, oversize: Oversize, name: &str, value: &str) {
    let number = || value.parse::<usize>().expect("a number");
    match name {
        "max-pending" => limits.max_pending(number()),
        "max-tombstones" => limits.max_tombstones(number()),
        "tombstone-lifetime" => limits.tombstone_lifetime(seconds(value)),
        "max-queued" => limits.max_queued(number()),
        "max-queued-bytes" => limits.max_queued_bytes(number()),
        "max-peer-requests" => limits.max_peer_requests(number()),
        "max-peer-id-bytes" => limits.max_peer_id_bytes(number()),
        "max-batch" => limits.max_batch(number()),
        "max-undelivered" => limits.max_undelivered(number()),
        "misbehavior-budget" => limits.misbehavior_budget(value.parse().expect("a number")),
        "stall-timeout" => limits.stall_timeout(seconds(value)),
        "max-frame" => limits.frames(frames(oversize, value)),
        other => panic!("unknown setting {other}"),
    };
}

/// `BYTES [stop | skip [BYTES SKIPPED]]`
fn frames(oversize: Oversize, value: &str) -> FrameLimits {
    let mut words = value.split(' ');
    let mut limits = FrameLimits::default();
    limits.frame = words
        .next()
        .and_then(|word| word.parse().ok())
        .expect("bytes");
    limits.oversize = match words.next() {
        None => oversize,
        Some("stop") => Oversize::Stop,
        Some("skip") => Oversize::Skip,
        Some(other) => panic!("unknown policy {other}"),
    };
    if let Some(skipped) = words.next() {
        limits.skipped = skipped.parse().expect("bytes");
    }
    limits
}

/// `A,B`
pub(crate) fn revisions(names: &str) -> Revisions {
    let names = names.split(',');
    names
        .map(|name| name.parse::<Revision>().expect("a revision"))
        .collect()
}

/// `IDLE [TOTAL]`, in seconds; progress counts.
pub(crate) fn timeouts(value: &str) -> Timeouts {
    let (idle, total) = value.split_once(' ').unwrap_or((value, "600"));
    let mut timeouts = Timeouts::new(seconds(idle), seconds(total));
    timeouts.progress_counts = true;
    timeouts
}

pub(crate) fn seconds(value: &str) -> Duration {
    Duration::from_secs(value.parse().expect("seconds"))
}
