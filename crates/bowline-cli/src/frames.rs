//! Frames: the lines of an input, one at a time and none larger than a limit.
//!
//! Owns the one buffer that frames are read into. Messages are not parsed here.

use std::io::{self, BufRead, ErrorKind};

/// Reads the frames of an input.
#[derive(Debug)]
pub(crate) struct Frames<R> {
    input: R,
    limit: usize,
    /// The current line. Never much larger than `limit`.
    buffer: Vec<u8>,
    line: u64,
}

/// A line that is not blank.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    /// The number of the line, from 1. Blank lines count.
    pub(crate) line: u64,
    /// The content.
    pub(crate) content: Content<'a>,
}

/// The content of a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Content<'a> {
    /// The whole line, without its line break.
    Whole(&'a [u8]),
    /// The line is larger than the limit, and was skipped.
    TooLarge {
        /// The size of the line.
        bytes: u64,
    },
}

impl<R: BufRead> Frames<R> {
    /// Reads the frames of `input`, each of at most `limit` bytes without its line break.
    pub(crate) fn new(input: R, limit: usize) -> Self {
        Self {
            input,
            limit,
            buffer: Vec::new(),
            line: 0,
        }
    }

    /// Returns the next frame, or `None` at the end. Reads no further than that frame.
    ///
    /// # Errors
    ///
    /// An I/O error of the input. The frames before it were returned.
    pub(crate) fn next(&mut self) -> io::Result<Option<Frame<'_>>> {
        loop {
            let Some(length) = self.read_line()? else {
                return Ok(None);
            };
            self.line += 1;
            let (line, (start, end)) = (self.line, self.span());
            let is_whole = self.buffer.len() as u64 == length;
            if !is_whole || end - start > self.limit {
                let content = Content::TooLarge { bytes: length };
                return Ok(Some(Frame { line, content }));
            }
            if !self.buffer[start..end].iter().all(u8::is_ascii_whitespace) {
                let content = Content::Whole(&self.buffer[start..end]);
                return Ok(Some(Frame { line, content }));
            }
        }
    }

    /// Returns the number of lines that were read.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// Reads a line into the buffer, as far as it may be needed, and returns its length.
    fn read_line(&mut self) -> io::Result<Option<u64>> {
        self.buffer.clear();
        let mut length = 0;
        loop {
            let chunk = match self.input.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if chunk.is_empty() {
                return Ok((length > 0).then_some(length));
            }
            let newline = chunk.iter().position(|byte| *byte == b'\n');
            let line = &chunk[..newline.unwrap_or(chunk.len())];
            length += line.len() as u64;
            let room = (self.limit + AROUND).saturating_sub(self.buffer.len());
            self.buffer.extend_from_slice(&line[..line.len().min(room)]);
            let used = line.len() + usize::from(newline.is_some());
            self.input.consume(used);
            if newline.is_some() {
                return Ok(Some(length));
            }
        }
    }

    /// Returns the range of the frame in the buffer: after a byte order mark, before the CR of a
    /// CRLF.
    fn span(&self) -> (usize, usize) {
        let has_mark = self.line == 1 && self.buffer.starts_with(BYTE_ORDER_MARK);
        let start = if has_mark { BYTE_ORDER_MARK.len() } else { 0 };
        let has_return = self
            .buffer
            .get(start..)
            .is_some_and(|rest| rest.ends_with(b"\r"));
        (start, self.buffer.len() - usize::from(has_return))
    }
}

/// The byte order mark.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Bytes around a frame that don't count: a byte order mark and a CR.
const AROUND: usize = BYTE_ORDER_MARK.len() + 1;

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    fn check(input: &[u8], limit: usize, expected: &[(u64, Result<&str, u64>)]) {
        // However the input is cut into chunks, the frames are the same.
        for chunk in [1, 2, 3, 7, 64] {
            let mut frames = Frames::new(BufReader::with_capacity(chunk, input), limit);
            for (line, content) in expected {
                let content = match *content {
                    Ok(text) => Content::Whole(text.as_bytes()),
                    Err(bytes) => Content::TooLarge { bytes },
                };
                let line = *line;
                assert_eq!(frames.next().unwrap(), Some(Frame { line, content }));
            }
            assert_eq!(frames.next().unwrap(), None);
            assert!(frames.buffer.capacity() <= 2 * (limit + AROUND).max(8));
        }
    }

    #[test]
    fn frames_are_lines_that_are_not_blank() {
        check(b"", 9, &[]);
        check(b"\n", 9, &[]);
        check(b"\r\n \t\r\n", 9, &[]);
        check(b"a\nb", 9, &[(1, Ok("a")), (2, Ok("b"))]);
        check(b"a\r\n\r\n b \n", 9, &[(1, Ok("a")), (3, Ok(" b "))]);
        check(b"a\r\r\nb\rc", 9, &[(1, Ok("a\r")), (2, Ok("b\rc"))]);
    }

    #[test]
    fn a_byte_order_mark_is_passed_over_at_the_beginning_only() {
        check(b"\xef\xbb\xbfa\n", 9, &[(1, Ok("a"))]);
        check(b"\xef\xbb\xbf", 9, &[]);
        check(b"\xef\xbb\xbf\r\na", 9, &[(2, Ok("a"))]);
        check(
            "a\n\u{feff}b".as_bytes(),
            9,
            &[(1, Ok("a")), (2, Ok("\u{feff}b"))],
        );
    }

    #[test]
    fn a_frame_over_the_limit_is_skipped_and_what_follows_is_not() {
        check(
            b"12345\n123456\nab\n",
            5,
            &[(1, Ok("12345")), (2, Err(6)), (3, Ok("ab"))],
        );
        // What stands around a frame doesn't count.
        check(b"\xef\xbb\xbf12345\r\n", 5, &[(1, Ok("12345"))]);
        check(b"\xef\xbb\xbf123456\r\n", 5, &[(1, Err(10))]);
        check(b"123456\r\n", 5, &[(1, Err(7))]);
        check(b"12345\r", 5, &[(1, Ok("12345"))]);
        let long = [vec![b'x'; 10_000], b"\nab".to_vec()].concat();
        check(&long, 5, &[(1, Err(10_000)), (2, Ok("ab"))]);
    }
}
