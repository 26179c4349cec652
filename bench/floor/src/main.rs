//! What the exchange costs with no MCP library: the tool `echo` on stdio, one task on
//! non-blocking pipes.
//!
//! It reads the text of a call into a string and writes it again, as a library with typed
//! arguments must. All that was read together is answered together.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;

use floor::{Answer, answer};
use memchr::{memchr_iter, memrchr};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe;
use tokio::runtime::Builder;

const CHUNK: usize = 64 * 1024;

fn main() -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(serve())
}

async fn serve() -> io::Result<()> {
    let mut stdin = pipe::Receiver::from_file(reopen("/proc/self/fd/0", false)?)?;
    let mut stdout = pipe::Sender::from_file(reopen("/proc/self/fd/1", true)?)?;
    let (mut input, mut filled) = (vec![0; 2 * CHUNK], 0);
    let mut out = Vec::new();
    loop {
        if input.len() < filled + CHUNK {
            input.resize(2 * filled + CHUNK, 0);
        }
        let read = stdin.read(&mut input[filled..]).await?;
        if read == 0 {
            return Ok(());
        }
        let fresh = filled..filled + read;
        filled = fresh.end;
        let Some(end) = memrchr(b'\n', &input[fresh.clone()]) else {
            continue;
        };
        let end = fresh.start + end + 1;
        answer_lines(&input[..end], &mut out)?;
        stdout.write_all(&out).await?;
        out.clear();
        input.copy_within(end..filled, 0);
        filled -= end;
    }
}

/// A pipe of our own, so that no other process finds its own non-blocking.
fn reopen(path: &str, is_written: bool) -> io::Result<File> {
    const O_NONBLOCK: i32 = 0o4000;
    let mut options = OpenOptions::new();
    options.read(!is_written).write(is_written);
    options.custom_flags(O_NONBLOCK).open(path)
}

fn answer_lines(lines: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    let mut start = 0;
    for end in memchr_iter(b'\n', lines) {
        if answer(&lines[start..end], out)? != Answer::None {
            out.push(b'\n');
        }
        start = end + 1;
    }
    Ok(())
}
