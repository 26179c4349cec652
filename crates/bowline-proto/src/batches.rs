//! Batches of the peer: several requests in one frame, whose responses leave as one array.
//!
//! JSON-RPC 2.0, 6: the responses to a batch are one array, in any order; notifications have none,
//! and a batch of notifications alone has no array. Only 2025-03-26 has batches.
//!
//! An array waits for its slowest response, so its size is bounded: no array becomes larger than a
//! frame, nor do all waiting arrays together. Room for a short error is reserved for every pending
//! response, so that one which doesn't fit can always be replaced by an error.

use std::collections::BTreeMap;

use bowline_types::RequestId;

use crate::outbox::StreamId;

/// The destination of the response to a request of the peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReplyTo {
    /// The stream of the request, on a carrier with a stream per request.
    pub(crate) stream: Option<StreamId>,
    /// The batch of the request.
    pub(crate) batch: Option<BatchKey>,
}

impl From<Option<StreamId>> for ReplyTo {
    fn from(stream: Option<StreamId>) -> Self {
        Self {
            stream,
            batch: None,
        }
    }
}

/// A batch that has not been answered in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BatchKey(u64);

/// The incomplete array of responses to a batch.
#[derive(Debug, Default)]
struct Batch {
    stream: Option<StreamId>,
    /// The responses, with a bracket or a comma before each.
    text: Vec<u8>,
    /// The number of pending responses. While the batch is read that counts as one.
    missing: usize,
    /// Bytes that are reserved for them.
    reserved: usize,
}

impl Batch {
    fn held(&self) -> usize {
        self.text.len() + self.reserved
    }
}

/// A complete array, for this stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CompletedBatch {
    pub(crate) stream: Option<StreamId>,
    pub(crate) text: Vec<u8>,
}

/// The batches that have not been answered in full.
#[derive(Debug)]
pub(crate) struct Batches {
    /// Bytes of one array, and of all that wait.
    limit: usize,
    open: BTreeMap<BatchKey, Batch>,
    next: u64,
    /// Bytes of all arrays, with those that are kept.
    held: usize,
}

/// The message of the error that replaces an oversized error.
pub(crate) const TOO_LARGE_TO_BE_SENT: &str = "the error is too large to be sent";

/// Bytes of an error with these words in an array, without its id: the code may have 20 digits.
const ERROR_ROOM: usize = 160;

/// Bytes of the brackets.
const BRACKETS: usize = 2;

impl Batches {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            open: BTreeMap::new(),
            next: 0,
            held: 0,
        }
    }

    /// Returns the number of bytes that are reserved for the response to a request of this id.
    pub(crate) fn room(id: Option<&RequestId>) -> usize {
        ERROR_ROOM + id.map_or(0, |id| id.to_string().len())
    }

    /// Returns `true` if errors that take so much room fit into one array.
    pub(crate) fn fits_one_array(&self, room: usize) -> bool {
        room + BRACKETS <= self.limit
    }

    /// Returns `true` if they fit beside the arrays that wait.
    pub(crate) fn has_room(&self, room: usize) -> bool {
        self.held + room <= self.limit
    }

    /// Begins to read a batch.
    pub(crate) fn begin(&mut self, stream: Option<StreamId>) -> BatchKey {
        let key = BatchKey(self.next);
        self.next += 1;
        let batch = Batch {
            stream,
            missing: 1,
            ..Batch::default()
        };
        self.open.insert(key, batch);
        key
    }

    /// Registers a response that will come.
    pub(crate) fn expect(&mut self, key: BatchKey, id: Option<&RequestId>) {
        if let Some(batch) = self.open.get_mut(&key) {
            let room = Self::room(id);
            batch.missing += 1;
            batch.reserved += room;
            self.held += room;
        }
    }

    /// Returns `true` if a response of so many bytes fits, beside what is kept for the others.
    pub(crate) fn takes(&self, key: BatchKey, id: Option<&RequestId>, size: usize) -> bool {
        let Some(batch) = self.open.get(&key) else {
            return false;
        };
        let room = Self::room(id);
        let more = (size + 1).saturating_sub(room);
        if more == 0 {
            return true;
        }
        // What leaves at once is not held.
        let is_last = batch.missing == 1;
        batch.held() + more + BRACKETS <= self.limit && (is_last || self.has_room(more))
    }

    /// Adds a response. Returns the array if it was the last one.
    pub(crate) fn add_response(
        &mut self,
        key: BatchKey,
        id: Option<&RequestId>,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Option<CompletedBatch> {
        let batch = self.open.get_mut(&key)?;
        let before = batch.text.len();
        batch.text.push(if before == 0 { b'[' } else { b',' });
        write(&mut batch.text);
        self.held += batch.text.len() - before;
        self.skip(key, id)
    }

    /// Removes a pending response, since its request was cancelled. Returns the array if it was the
    /// last one.
    pub(crate) fn skip(&mut self, key: BatchKey, id: Option<&RequestId>) -> Option<CompletedBatch> {
        let batch = self.open.get_mut(&key)?;
        let room = Self::room(id).min(batch.reserved);
        batch.reserved -= room;
        self.held -= room;
        self.complete_one(key)
    }

    /// Ends reading the batch. Returns the array if all responses have come.
    pub(crate) fn end(&mut self, key: BatchKey) -> Option<CompletedBatch> {
        self.complete_one(key)
    }

    /// Removes all batches.
    pub(crate) fn clear(&mut self) {
        self.open.clear();
        self.held = 0;
    }

    fn complete_one(&mut self, key: BatchKey) -> Option<CompletedBatch> {
        let batch = self.open.get_mut(&key)?;
        batch.missing -= 1;
        if batch.missing > 0 {
            return None;
        }
        let batch = self.open.remove(&key)?;
        self.held -= batch.held();
        let Batch {
            stream, mut text, ..
        } = batch;
        if text.is_empty() {
            return None;
        }
        text.push(b']');
        Some(CompletedBatch { stream, text })
    }
}

#[cfg(test)]
mod tests {
    use bowline_types::{ErrorObject, envelope};

    use super::*;

    fn text(answered: Option<CompletedBatch>) -> Option<String> {
        answered.map(|answered| String::from_utf8(answered.text).unwrap())
    }

    fn write(words: &str) -> impl FnOnce(&mut Vec<u8>) {
        |text| text.extend_from_slice(words.as_bytes())
    }

    #[test]
    fn an_array_leaves_when_its_last_answer_has_come() {
        let mut batches = Batches::new(10_000);
        let stream = Some(StreamId::new(7));
        let key = batches.begin(stream);
        let ids: [RequestId; 3] = [1.into(), "a".into(), 3.into()];
        for id in &ids {
            batches.expect(key, Some(id));
        }
        assert_eq!(batches.add_response(key, Some(&ids[1]), write("A")), None);
        assert_eq!(batches.end(key), None);
        assert_eq!(batches.skip(key, Some(&ids[0])), None);
        let answered = batches.add_response(key, Some(&ids[2]), write("C"));
        assert_eq!(
            answered.as_ref().and_then(|completed| completed.stream),
            stream
        );
        assert_eq!(text(answered).as_deref(), Some("[A,C]"));
        assert_eq!((batches.held, batches.open.len()), (0, 0));
        assert_eq!(batches.add_response(key, Some(&ids[2]), write("C")), None);
    }

    #[test]
    fn nothing_is_sent_where_nothing_is_answered() {
        let mut batches = Batches::new(10_000);
        let key = batches.begin(None);
        assert_eq!(batches.end(key), None);
        let key = batches.begin(None);
        batches.expect(key, None);
        assert_eq!(batches.end(key), None);
        assert_eq!(batches.skip(key, None), None);
        assert_eq!((batches.held, batches.open.len()), (0, 0));
    }

    #[test]
    fn arrays_are_bounded_alone_and_together() {
        let limit = 1000;
        let mut batches = Batches::new(limit);
        assert!(batches.fits_one_array(limit - BRACKETS) && !batches.fits_one_array(limit - 1));
        let (first, second) = (batches.begin(None), batches.begin(None));
        for key in [first, first, second] {
            batches.expect(key, None);
        }
        batches.end(first);
        batches.end(second);
        // One of two in its own array, with room for the other.
        let most = limit - BRACKETS - 2 * ERROR_ROOM - 1 + ERROR_ROOM;
        let held_elsewhere = ERROR_ROOM;
        assert!(!batches.takes(first, None, most));
        assert!(batches.takes(first, None, most - held_elsewhere + BRACKETS));
        assert!(!batches.takes(first, None, most - held_elsewhere + BRACKETS + 1));
        // The last one of its array leaves at once.
        assert!(batches.takes(second, None, limit - BRACKETS - 1));
        assert!(!batches.takes(second, None, limit - BRACKETS));
        let words = "x".repeat(most - held_elsewhere + BRACKETS);
        assert_eq!(batches.add_response(first, None, write(&words)), None);
        assert_eq!(batches.held, limit);
        assert!(!batches.has_room(1) && batches.has_room(0));
        batches.skip(second, None);
        assert!(batches.takes(first, None, ERROR_ROOM - 1));
        batches.clear();
        assert!(batches.has_room(limit));
    }

    #[test]
    fn the_shortest_errors_fit_what_is_kept_for_them() {
        let error = ErrorObject::new(i64::MIN, TOO_LARGE_TO_BE_SENT);
        for id in ["", "a", "\u{1}\"\n", "é😀"] {
            let id = RequestId::from(id);
            let mut text = Vec::new();
            envelope::write_error(&mut text, Some(&id), &error);
            assert!(text.len() < Batches::room(Some(&id)), "{}", text.len());
        }
    }
}
