//! Changes of state: without gaps, along listed edges, and with waits that grow.

use std::time::Duration;

use bowline_proto::link::{Cause, LinkState as State, Transition};
use bowline_proto::{CloseReason, Link};

use super::Oracle;
use super::edges::is_listed;

/// How long a link must be ready for its failures to be forgotten.
const STABLE: Duration = Duration::from_secs(10);

impl Oracle {
    pub(super) fn on_transition(&mut self, link: &Link, transition: &Transition, is_prompt: bool) {
        let Transition {
            at,
            from,
            to,
            cause,
            ..
        } = transition;
        if *from != self.state {
            let state = self.state;
            self.violated(format!("6: {from} → {to} was reported after {state}"));
        }
        if !is_listed(*from, *to, cause) {
            self.violated(format!("2: {from} → {to} is not listed for {cause:?}"));
        }
        if *from == State::Backoff && *cause == Cause::BackoffElapsed && *at < self.earliest {
            self.violated(format!("2: the wait ended before {}", self.earliest));
        }
        if *from == State::Ready && at.since(self.since) >= STABLE {
            self.failures = 0;
        }
        self.state = *to;
        match to {
            State::Backoff => self.on_backoff(link, transition, is_prompt),
            State::Starting | State::Initializing | State::Ready => {}
            State::Closing | State::Closed => {}
        }
        if *from == State::Ready || *to == State::Closed {
            // Their responses are not awaited any more; their handlers may still run.
            self.requests.clear();
        }
        self.since = *at;
    }

    fn on_backoff(&mut self, link: &Link, transition: &Transition, is_prompt: bool) {
        let at = transition.at;
        if transition.cause == Cause::Ended(CloseReason::IdsExhausted) {
            self.earliest = at;
            return;
        }
        self.failures += 1;
        let doublings = (self.failures - 1).min(20);
        let wait = self.bounds.first_wait.saturating_mul(1 << doublings);
        let least = wait.min(self.bounds.longest_wait) * 8 / 10;
        self.earliest = at + least;
        if !is_prompt || link.state() != State::Backoff {
            return;
        }
        match link.next_attempt() {
            None => self.violated("3: Backoff without its timer"),
            Some(next) if next < self.earliest => {
                self.violated(format!("the wait until {next} is too short"));
            }
            Some(next) if next > at + self.bounds.longest_wait => {
                self.violated(format!("the wait until {next} is too long"));
            }
            Some(_) => {}
        }
    }
}
