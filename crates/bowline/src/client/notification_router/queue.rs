//! Notifications that wait for their handlers, in bounded memory.

use std::collections::{HashSet, VecDeque};

use bowline_types::Method;

use super::ServerNotification;

/// What waits at most.
const NOTIFICATIONS: usize = 1000;
const BYTES: usize = 16 * 1024 * 1024;

/// What waits for handlers, in order.
///
/// Those that need to wait only once have a row of their own, so that a flood of others
/// can't push them out.
#[derive(Debug)]
pub(super) struct Queue {
    coalesced: Row,
    others: Row,
    /// What waits of the first row.
    keys: HashSet<Box<str>>,
    /// How many came.
    received: u64,
    bytes: usize,
    max: usize,
    max_bytes: usize,
    dropped: u64,
    /// Dropped since something was handed out.
    missed: u64,
    /// A task takes from it.
    has_runner: bool,
}

/// Notifications with the numbers in which they came.
type Row = VecDeque<(u64, ServerNotification)>;

impl Default for Queue {
    fn default() -> Self {
        Self {
            coalesced: Row::new(),
            others: Row::new(),
            keys: HashSet::new(),
            received: 0,
            bytes: 0,
            max: NOTIFICATIONS,
            max_bytes: BYTES,
            dropped: 0,
            missed: 0,
            has_runner: false,
        }
    }
}

impl Queue {
    pub(super) fn limit(&mut self, notifications: usize, bytes: usize) {
        self.max = notifications.max(1);
        self.max_bytes = bytes;
    }

    /// Returns another one with the same limits, in which nothing waits.
    pub(super) fn with_same_limits(&self) -> Self {
        Self {
            max: self.max,
            max_bytes: self.max_bytes,
            ..Self::default()
        }
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Adds a notification at the end. Returns `true` if a task has to be started to take it.
    pub(super) fn push(&mut self, note: ServerNotification) -> bool {
        let key = coalescing_key(&note);
        let row = match &key {
            Some(_) => &mut self.coalesced,
            None => &mut self.others,
        };
        if let Some(key) = key
            && !self.keys.insert(key)
        {
            // The one that waits will be seen after this moment too.
            return false;
        }
        self.received += 1;
        self.bytes += byte_len(&note);
        row.push_back((self.received, note));
        while self.is_over_limit() {
            let is_others = self.coalesced.len() <= self.max && !self.others.is_empty();
            self.take(is_others);
            self.dropped += 1;
            self.missed += 1;
        }
        !std::mem::replace(&mut self.has_runner, true)
    }

    /// Returns the next notification. When there is none, the task that takes is done.
    pub(super) fn pop(&mut self) -> Option<ServerNotification> {
        let number = |row: &Row| row.front().map_or(u64::MAX, |(number, _)| *number);
        let is_others = number(&self.others) < number(&self.coalesced);
        let Some(mut note) = self.take(is_others) else {
            self.has_runner = false;
            for row in [&mut self.coalesced, &mut self.others] {
                row.shrink_to(8);
            }
            return None;
        };
        note.missed = std::mem::take(&mut self.missed);
        Some(note)
    }

    /// Records that the task that took from it has ended.
    pub(super) fn set_idle(&mut self) {
        self.has_runner = false;
    }

    /// One is always let in, however large it is: a frame has a limit of its own.
    fn is_over_limit(&self) -> bool {
        let waiting = self.coalesced.len() + self.others.len();
        self.coalesced.len() > self.max
            || self.others.len() > self.max
            || self.bytes > self.max_bytes && waiting > 1
    }

    fn take(&mut self, is_others: bool) -> Option<ServerNotification> {
        let row = if is_others {
            &mut self.others
        } else {
            &mut self.coalesced
        };
        let (_, note) = row.pop_front()?;
        self.bytes -= byte_len(&note);
        if let Some(key) = coalescing_key(&note) {
            self.keys.remove(&key);
        }
        Some(note)
    }
}

fn byte_len(note: &ServerNotification) -> usize {
    let params = note.params().map_or(0, |params| params.as_str().len());
    note.method().len() + params
}

/// Returns the key of a notification that has to be delivered only once however often it waits:
/// that a list has changed, or one resource.
fn coalescing_key(note: &ServerNotification) -> Option<Box<str>> {
    match note.method().parse() {
        Ok(Method::ToolListChanged | Method::PromptListChanged | Method::ResourceListChanged) => {
            Some(note.method().into())
        }
        Ok(Method::ResourceUpdated) => {
            let params = note.params().map_or("", |params| params.as_str());
            Some(format!("{} {params}", note.method()).into())
        }
        Ok(_) | Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(method: &str, params: &str) -> ServerNotification {
        let params = bowline_types::JsonObject::parse(params).expect("an object");
        ServerNotification {
            span: tracing::Span::none(),
            method: method.into(),
            params: Some(params.into()),
            missed: 0,
        }
    }

    fn log(number: u32) -> ServerNotification {
        note("notifications/message", &format!(r#"{{"data":{number}}}"#))
    }

    const TOOLS: &str = "notifications/tools/list_changed";

    // proves: F-BP-04, FT-13
    #[test]
    fn the_oldest_are_dropped_and_counted() {
        let mut queue = Queue::default();
        queue.limit(3, 1 << 20);
        assert!(queue.push(log(0)));
        assert!((1..10).all(|number| !queue.push(log(number))));
        let first = queue.pop().expect("three wait");
        assert_eq!(
            first.params().expect("it has some").as_str(),
            r#"{"data":7}"#
        );
        assert_eq!((first.missed, queue.dropped()), (7, 7));
        assert_eq!(queue.pop().map(|note| note.missed), Some(0));
        assert!(queue.pop().is_some());
        assert!(queue.pop().is_none());
        assert!(queue.push(log(1)), "a task has to be started again");
    }

    #[test]
    fn coalesced_notifications_wait_once_and_are_not_dropped_for_others() {
        let mut queue = Queue::default();
        queue.limit(3, 1 << 20);
        queue.push(log(0));
        for number in 0..10 {
            queue.push(note(TOOLS, "{}"));
            queue.push(note("notifications/resources/updated", r#"{"uri":"a:1"}"#));
            queue.push(log(number));
        }
        let order: Vec<_> = std::iter::from_fn(|| queue.pop())
            .map(|note| note.method)
            .collect();
        assert_eq!(order.len(), 5, "{order:?}");
        assert_eq!(&*order[0], TOOLS);
        assert_eq!(&*order[1], "notifications/resources/updated");
        queue.push(note(TOOLS, "{}"));
        assert!(
            queue.pop().is_some(),
            "it is queued again once it was taken"
        );
    }

    #[test]
    fn bytes_are_limited_too() {
        let mut queue = Queue::default();
        queue.limit(1000, 100);
        let long = format!(r#"{{"data":"{}"}}"#, "x".repeat(200));
        for _ in 0..10 {
            queue.push(note("notifications/message", &long));
        }
        assert_eq!(queue.dropped(), 9);
        for number in 0..1000 {
            queue.push(note(
                "notifications/resources/updated",
                &format!(r#"{{"uri":"{number}"}}"#),
            ));
        }
        assert!(queue.bytes <= 100 && queue.keys.len() == queue.coalesced.len());
    }
}
