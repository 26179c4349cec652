//! Codecs: bytes to frames and back, without I/O.
//!
//! - [`FrameDecoder`] for byte streams (stdio, sockets): newline framing, and the
//!   `Content-Length` framing that some peers speak instead.
//! - [`SseDecoder`] for event streams (HTTP).
//!
//! All of them are incremental: however the bytes are split, the frames are the same. A
//! frame is a slice of the buffer that it was read into. Nothing is kept beyond the limit
//! on a frame, and every byte is looked at a bounded number of times.

mod frame;
mod framing;
mod length;
mod oversize_id_scanner;
mod sse;

pub use frame::FrameDecoder;
pub use framing::{CodecFault, Decoded, FrameLimits, Framing, Oversize, TooLarge};
pub use sse::{SseDecoder, SseItem, write_event};

use bytes::BytesMut;

/// The byte order mark of UTF-8, which means nothing and is dropped.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// A buffer that is larger than this and empty is given back.
const KEPT_CAPACITY: usize = 64 * 1024;

/// Gives back what a large frame left behind: a small one that follows it would keep it
/// alive.
fn shrink_after(buffer: &mut BytesMut, frame: usize) {
    // No more is copied than was read of the frame.
    if frame > KEPT_CAPACITY && buffer.len() <= frame {
        *buffer = BytesMut::from(&**buffer);
    }
    shrink(buffer);
}

/// Gives back an empty buffer that is large. One without room may be the end of a large one.
fn shrink(buffer: &mut BytesMut) {
    if buffer.is_empty() && (buffer.capacity() > KEPT_CAPACITY || buffer.capacity() == 0) {
        *buffer = BytesMut::new();
    }
}
