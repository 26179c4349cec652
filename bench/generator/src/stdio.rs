//! A load on stdio.

use std::io::{Read as _, Write as _};

use crate::messages::{Messages, Reply};
use crate::server::Server;
use crate::{Failure, Figures, Load};

/// What a pipe holds by default. All open calls fit into it, and so do their answers, so that
/// neither side waits for the other one to read.
const PIPE: usize = 64 * 1024;

pub(crate) fn measure(load: &Load) -> Result<Figures, Failure> {
    // Around the text of a stateless call and its answer there are less than 512 bytes.
    if load.window * (load.bytes + 512) > PIPE {
        return Err("more than fits into a pipe".into());
    }
    let mut server = Server::on_pipes(&load.command)?;
    let mut pump = Pump::new(load)?;
    pump.shake_hands(&mut server)?;
    pump.run(&mut server, load.warm_up(), Check::Text)?;
    let figures = Figures::take(&mut server, |server| {
        pump.run(server, load.calls, Check::Length)?;
        Ok(Vec::new())
    })?;
    server.end_input()?;
    Ok(figures)
}

/// How closely an answer is looked at.
#[derive(Clone, Copy)]
enum Check {
    /// The text is the one that was sent.
    Text,
    /// It is a result that is long enough: while it counts, the server shall not wait for us.
    Length,
}

struct Pump {
    messages: Messages,
    window: usize,
    out: Vec<u8>,
    /// Of which the first `filled` bytes were read and not used yet.
    input: Vec<u8>,
    filled: usize,
}

impl Pump {
    fn new(load: &Load) -> Result<Self, Failure> {
        Ok(Self {
            messages: Messages::new(&load.revision, load.bytes)?,
            window: load.window,
            out: Vec::new(),
            input: vec![0; PIPE],
            filled: 0,
        })
    }

    fn shake_hands(&mut self, server: &mut Server) -> Result<(), Failure> {
        self.messages.first(&mut self.out);
        self.out.push(b'\n');
        let mut is_agreed = false;
        while !is_agreed {
            self.exchange(server, |_, line| {
                is_agreed |= Reply::read(line)?.is_result();
                Ok(())
            })?;
        }
        if let Some(second) = self.messages.second() {
            self.out.extend_from_slice(second);
            self.out.push(b'\n');
        }
        Ok(())
    }

    fn run(&mut self, server: &mut Server, calls: usize, check: Check) -> Result<(), Failure> {
        let mut asked = 0;
        // What is open, by its number: an answer that comes twice or to nothing is found.
        let mut open = vec![false; calls];
        let mut answered = 0;
        let first = self.messages.next_id();
        while answered < calls {
            while asked < calls && asked - answered < self.window {
                self.messages.call(&mut self.out);
                self.out.push(b'\n');
                open[asked] = true;
                asked += 1;
            }
            self.exchange(server, |messages, line| {
                let reply = Reply::read(line)?;
                let Some(id) = reply.id() else {
                    return Ok(());
                };
                match check {
                    Check::Text => messages.check(&reply)?,
                    Check::Length => messages.check_length(&reply)?,
                }
                let number = id
                    .checked_sub(first)
                    .and_then(|at| usize::try_from(at).ok());
                let place = number.and_then(|number| open.get_mut(number));
                match place.map(std::mem::take) {
                    Some(true) => answered += 1,
                    _ => return Err(format!("an answer to nothing: {id}").into()),
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Writes what is queued, and looks at each line of what comes then.
    fn exchange(
        &mut self,
        server: &mut Server,
        mut look: impl FnMut(&Messages, &[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        server.stdin()?.write_all(&self.out)?;
        self.out.clear();
        if self.filled == self.input.len() {
            return Err("a line that is too long".into());
        }
        let read = server.stdout()?.read(&mut self.input[self.filled..])?;
        if read == 0 {
            return Err("the server has ended".into());
        }
        self.filled += read;
        let mut start = 0;
        for line in self.input[..self.filled].split_inclusive(|byte| *byte == b'\n') {
            if !line.ends_with(b"\n") {
                break;
            }
            look(&self.messages, line)?;
            start += line.len();
        }
        self.input.copy_within(start..self.filled, 0);
        self.filled -= start;
        Ok(())
    }
}
