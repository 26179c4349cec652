//! The bytes of all large responses that clients have not read, within a limit.
//!
//! A response is complete before its client reads it: a hundred streams of one HTTP/2 connection
//! whose client reads nothing would each keep theirs. Those that are over [`MAX_UNCOUNTED`] are
//! kept here, and leave in copies of that size at most: a part of the buffer would keep all of it.
//! Beyond the limit the responses that were not read for the longest time are cut.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};

use super::stats::HttpCounters;

/// Larger responses count, and leave in pieces of this size.
pub(in crate::server) const MAX_UNCOUNTED: usize = 64 * 1024;

/// All large responses of a service that are not read in full.
#[derive(Debug)]
pub(in crate::server) struct UnreadResponses {
    state: Mutex<State>,
    max: usize,
    counters: Arc<HttpCounters>,
}

#[derive(Debug, Default)]
struct State {
    /// The response that was not read for the longest time is the first.
    held: BTreeMap<u64, Held>,
    last_key: u64,
    total: usize,
}

/// The buffers of one response.
#[derive(Debug)]
struct Held {
    parts: [Bytes; 3],
    /// What they keep, until the last byte was read.
    bytes: usize,
}

/// The rest of one response. Its bytes are given back when it was read, or is dropped.
#[derive(Debug)]
pub(in crate::server) struct UnreadResponse {
    responses: Arc<UnreadResponses>,
    key: u64,
    remaining: usize,
}

/// Responses that were cut. To be logged, and dropped, without a lock.
#[derive(Debug, Default)]
#[must_use]
pub(in crate::server) struct CutResponses(Vec<Held>);

impl UnreadResponses {
    /// Creates the limit of a service, which counts the responses that are cut.
    pub(super) fn new(max: usize, counters: Arc<HttpCounters>) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            max,
            counters,
        })
    }

    /// Keeps the parts of a response. It is not cut itself by this, whatever its size.
    pub(in crate::server) fn hold(
        self: &Arc<Self>,
        parts: [Bytes; 3],
    ) -> (UnreadResponse, CutResponses) {
        let bytes = parts.iter().map(Bytes::len).sum();
        let mut cut = Vec::new();
        let mut state = self.lock();
        state.total += bytes;
        while state.total > self.max
            && let Some((_, oldest)) = state.held.pop_first()
        {
            state.total -= oldest.bytes;
            cut.push(oldest);
        }
        let key = state.insert(Held { parts, bytes });
        drop(state);
        self.counters.count_cut_responses(cut.len());
        let response = UnreadResponse {
            responses: Arc::clone(self),
            key,
            remaining: bytes,
        };
        (response, CutResponses(cut))
    }

    /// Returns the bytes that are kept.
    pub(super) fn bytes(&self) -> usize {
        self.lock().total
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Adds a response as the one that was read last.
    fn insert(&mut self, held: Held) -> u64 {
        self.last_key += 1;
        self.held.insert(self.last_key, held);
        self.last_key
    }
}

impl UnreadResponse {
    /// Returns the number of bytes that are not read.
    pub(super) fn remaining(&self) -> usize {
        self.remaining
    }

    /// Returns the next bytes, or `None` at the end.
    ///
    /// # Errors
    ///
    /// Returns an error if the response was cut.
    pub(super) fn read(&mut self) -> io::Result<Option<Bytes>> {
        if self.remaining == 0 {
            return Ok(None);
        }
        let mut state = self.responses.lock();
        let Some(mut held) = state.held.remove(&self.key) else {
            self.remaining = 0;
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the client doesn't read its response",
            ));
        };
        let mut room = MAX_UNCOUNTED.min(self.remaining);
        self.remaining -= room;
        let mut piece = BytesMut::new();
        let parts = held.parts.each_mut().map(|part| {
            let taken = part.split_to(part.len().min(room));
            room -= taken.len();
            taken
        });
        let ended = if self.remaining == 0 {
            state.total -= held.bytes;
            Some(held)
        } else {
            self.key = state.insert(held);
            None
        };
        // What takes time is done without the lock.
        drop(state);
        piece.reserve(parts.iter().map(Bytes::len).sum());
        for part in &parts {
            piece.extend_from_slice(part);
        }
        drop(ended);
        Ok(Some(piece.freeze()))
    }
}

impl Drop for UnreadResponse {
    fn drop(&mut self) {
        if self.remaining > 0 {
            let mut state = self.responses.lock();
            let held = state.held.remove(&self.key);
            state.total -= held.as_ref().map_or(0, |held| held.bytes);
            drop(state);
        }
    }
}

impl CutResponses {
    /// Returns `true` if there are none.
    pub(in crate::server) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds others.
    pub(in crate::server) fn append(&mut self, mut others: Self) {
        if !others.is_empty() {
            self.0.append(&mut others.0);
        }
    }

    /// Logs them, if there are any, and frees their memory. Must not be called with a lock.
    pub(in crate::server) fn log(self) {
        if !self.is_empty() {
            let bytes: usize = self.0.iter().map(|held| held.bytes).sum();
            tracing::warn!(
                count = self.0.len(),
                bytes,
                "unread responses cut: together they are too large"
            );
        }
    }
}

#[cfg(test)]
mod tests;
