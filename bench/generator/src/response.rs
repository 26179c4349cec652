//! Responses of HTTP/1.1, as far as servers send them here: JSON, or a stream of events.

use std::io::Read;
use std::time::Instant;

use crate::Failure;
use crate::messages::Reply;

/// What of the head of a response matters here.
#[derive(Default)]
pub(crate) struct Head {
    pub(crate) status: u16,
    length: usize,
    is_chunked: bool,
    is_stream: bool,
    pub(crate) session: Option<String>,
}

impl Head {
    fn parse(text: &[u8]) -> Result<Self, Failure> {
        let mut lines = std::str::from_utf8(text)?.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1));
        let mut head = Self {
            status: status.ok_or("no status")?.parse()?,
            ..Self::default()
        };
        for line in lines {
            let (name, value) = line.split_once(':').ok_or("no header")?;
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => head.length = value.parse()?,
                "transfer-encoding" => head.is_chunked = value.eq_ignore_ascii_case("chunked"),
                "content-type" => head.is_stream = value.starts_with("text/event-stream"),
                "mcp-session-id" => head.session = Some(value.to_owned()),
                "connection" if value.eq_ignore_ascii_case("close") => {
                    return Err("the server closes the connection".into());
                }
                _ => {}
            }
        }
        Ok(head)
    }
}

/// What a connection has received.
#[derive(Default)]
pub(crate) struct Input {
    received: Vec<u8>,
    /// How much of it was used.
    used: usize,
    body: Vec<u8>,
}

impl Input {
    /// Reads a response to its end. Returns its head, the answer to the request with an id, or the
    /// body where it is no stream, and when the last byte of that was read.
    pub(crate) fn response(
        &mut self,
        from: &mut impl Read,
        id: u64,
    ) -> Result<(Head, Vec<u8>, Instant), Failure> {
        self.received.drain(..self.used);
        self.used = 0;
        self.body.clear();
        let head = Head::parse(self.until(from, b"\r\n\r\n")?)?;
        let mut answered = None;
        if head.is_chunked {
            loop {
                let size = std::str::from_utf8(self.until(from, b"\r\n")?)?;
                let size = usize::from_str_radix(size.trim(), 16)?;
                self.take(from, size)?;
                self.until(from, b"\r\n")?;
                if size == 0 {
                    break;
                }
                if head.is_stream && answered.is_none() {
                    answered = answer(&self.body, id).map(|answer| (answer, Instant::now()));
                }
            }
        } else {
            self.take(from, head.length)?;
        }
        if head.is_stream {
            let (answer, at) = answered.ok_or("no answer in the stream")?;
            return Ok((head, answer, at));
        }
        Ok((head, self.body.clone(), Instant::now()))
    }

    /// Takes what is before some bytes, and these.
    fn until(&mut self, from: &mut impl Read, end: &[u8]) -> Result<&[u8], Failure> {
        let start = self.used;
        loop {
            let windows = self.received[start..].windows(end.len());
            if let Some(length) = windows.into_iter().position(|window| window == end) {
                self.used = start + length + end.len();
                return Ok(&self.received[start..start + length]);
            }
            self.more(from)?;
        }
    }

    /// Moves bytes to the body.
    fn take(&mut self, from: &mut impl Read, length: usize) -> Result<(), Failure> {
        while self.received.len() < self.used + length {
            self.more(from)?;
        }
        let taken = &self.received[self.used..self.used + length];
        self.body.extend_from_slice(taken);
        self.used += length;
        Ok(())
    }

    fn more(&mut self, from: &mut impl Read) -> Result<(), Failure> {
        let filled = self.received.len();
        self.received.resize(filled + 4096, 0);
        let read = from.read(&mut self.received[filled..]);
        self.received
            .truncate(filled + *read.as_ref().unwrap_or(&0));
        match read? {
            0 => Err("the server has closed the connection".into()),
            _ => Ok(()),
        }
    }
}

/// Finds the answer to a request in the events that have arrived.
fn answer(events: &[u8], id: u64) -> Option<Vec<u8>> {
    let complete = events.split_inclusive(|byte| *byte == b'\n');
    complete
        .filter_map(|line| line.strip_suffix(b"\n")?.strip_prefix(b"data:"))
        .find(|data| Reply::read(data).is_ok_and(|reply| reply.id() == Some(id)))
        .map(<[u8]>::to_vec)
}
