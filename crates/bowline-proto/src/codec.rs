//! Codecs: bytes to frames and back, without I/O.
//!
//! - [`FrameDecoder`] for byte streams (stdio, sockets): newline framing, and the
//!   `Content-Length` framing that some peers speak instead.
//! - [`SseDecoder`] for event streams (HTTP).
//!
//! All of them are incremental: the frames don't depend on how the bytes are split. A frame is a
//! slice of the buffer that it was read into. Nothing is kept beyond the limit on a frame, and
//! every byte is read a bounded number of times.
//!
//! - `frame`: the decoder of byte streams. `framing`: its limits, items and faults. `length`: the
//!   headers of `Content-Length` framing.
//! - `oversize_id_scanner`: finding the id of a frame that is too large to keep.
//! - `sse`: the decoder and encoder of event streams.

mod frame;
mod framing;
mod length;
mod oversize_id_scanner;
mod sse;

pub use frame::FrameDecoder;
pub use framing::{CodecFault, Decoded, FrameLimits, Framing, Oversize, TooLarge};
pub use sse::{SseDecoder, SseItem, write_comment, write_event, write_priming, write_retry};

use bytes::BytesMut;

/// The byte order mark of UTF-8, which has no meaning and is dropped.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// The capacity above which an empty buffer is released.
const KEPT_CAPACITY: usize = 64 * 1024;

/// Releases the buffer of a large frame, which a small following frame would keep alive.
fn shrink_after(buffer: &mut BytesMut, frame: usize) {
    // The copy is no larger than the frame that was read.
    if frame > KEPT_CAPACITY && buffer.len() <= frame {
        *buffer = BytesMut::from(&**buffer);
    }
    shrink(buffer);
}

/// Releases an empty buffer that is large. One without capacity may be the end of a large one.
fn shrink(buffer: &mut BytesMut) {
    if buffer.is_empty() && (buffer.capacity() > KEPT_CAPACITY || buffer.capacity() == 0) {
        *buffer = BytesMut::new();
    }
}
