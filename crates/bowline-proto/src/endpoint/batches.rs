//! Sending responses: to the outgoing queue, or into the array of a batch.

use bowline_types::RequestId;
use bowline_types::envelope::{Batch, Envelope};

use super::Endpoint;
use crate::batches::{Batches, CompletedBatch, ReplyTo};
use crate::event_queue::EndpointEvent;
use crate::outbox::{StreamId, Transmit};

/// The admission of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BatchAdmission {
    /// The requests of the batch are served.
    Served(ReplyTo),
    /// The requests are refused: the responses of other batches take too much room.
    Busy(ReplyTo),
    /// The whole batch is refused: it has too many messages.
    TooLong,
}

impl<E: EndpointEvent> Endpoint<E> {
    /// Begins to read a batch of the peer. [`end_batch`](Self::end_batch) follows.
    pub(crate) fn begin_batch(
        &mut self,
        stream: Option<StreamId>,
        batch: &Batch<'_>,
    ) -> BatchAdmission {
        if batch.len() > self.limits.max_batch {
            return BatchAdmission::TooLong;
        }
        // A malformed part may need an error response.
        let room = batch.messages().map(|part| match part {
            Ok(Envelope::Request(request)) => Batches::room(Some(&request.id)),
            Ok(_) => 0,
            Err(error) => Batches::room(error.id()),
        });
        let room = room.sum();
        if !self.batches.fits_one_array(room) {
            return BatchAdmission::TooLong;
        }
        let is_busy = !self.batches.has_room(room);
        let batch = Some(self.batches.begin(stream));
        let to = ReplyTo { stream, batch };
        if is_busy {
            BatchAdmission::Busy(to)
        } else {
            BatchAdmission::Served(to)
        }
    }

    /// Registers that a part of a batch will be completed.
    pub(crate) fn expect_response(&mut self, to: ReplyTo, id: Option<&RequestId>) {
        if let Some(batch) = to.batch {
            self.batches.expect(batch, id);
        }
    }

    /// Ends reading a batch.
    pub(crate) fn end_batch(&mut self, to: ReplyTo) {
        if let Some(batch) = to.batch {
            let completed = self.batches.end(batch);
            self.send_array(completed);
        }
    }

    /// Returns `true` if a response is small enough: for a frame, and for the array that it belongs
    /// to.
    pub(super) fn fits(&self, to: ReplyTo, id: Option<&RequestId>, message: &Transmit) -> bool {
        let fits_array = match to.batch {
            Some(batch) => self.batches.takes(batch, id, message.frame_len()),
            None => true,
        };
        fits_array && self.check_size(message).is_ok()
    }

    /// Returns the message of the error that replaces a result that does not fit.
    pub(super) fn too_large_message(&self, message: &Transmit) -> &'static str {
        if self.check_size(message).is_err() {
            "the result is too large"
        } else {
            "the results of the batch are too large"
        }
    }

    /// Queues a response that [fits](Self::fits), or is short.
    pub(super) fn send_response(
        &mut self,
        to: ReplyTo,
        id: Option<&RequestId>,
        mut message: Transmit,
    ) {
        let Some(batch) = to.batch else {
            message.stream = to.stream;
            self.outbox.push_owed(message);
            return;
        };
        let write = |text: &mut Vec<u8>| message.append_frame_to(text);
        let completed = self.batches.add_response(batch, id, write);
        self.send_array(completed);
    }

    /// Registers that a request of a batch has no response.
    pub(super) fn skip_response(&mut self, to: ReplyTo, id: &RequestId) {
        if let Some(batch) = to.batch {
            let completed = self.batches.skip(batch, Some(id));
            self.send_array(completed);
        }
    }

    fn send_array(&mut self, completed: Option<CompletedBatch>) {
        if let Some(CompletedBatch { stream, text }) = completed {
            let mut message = self.composer.batch(text);
            message.stream = stream;
            self.outbox.push_owed(message);
        }
    }
}
