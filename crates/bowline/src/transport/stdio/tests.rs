//! A process that speaks through its own stdin and stdout, whatever they are.
//!
//! The other process is this one again: it runs the test that is ignored. What its harness
//! prints comes before its messages.

use std::fs;
use std::io::{BufRead as _, PipeReader, Read, Write, pipe};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio as Std};
use std::thread;
use std::time::Duration;

use rustix::fs::{OFlags, fcntl_getfl};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use super::*;

/// Not a test by itself: it answers each line with the same line, until there are no more.
#[test]
#[ignore = "it is started by the others"]
#[expect(
    clippy::print_stdout,
    reason = "that is what must not reach the stream"
)]
fn echo() {
    if std::env::var_os("BOWLINE_ECHO").is_none() {
        return;
    }
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut stdio = stdio();
        print!("a stray word");
        let stream = stdio.open().await.expect("the first time");
        let error = stdio.open().await.expect_err("the second time");
        assert!(error.is_permanent && error.reason.starts_with("stdin was already taken"));
        println!("a stray line");
        let (reader, mut writer) = (BufReader::new(stream.reader), stream.writer);
        let mut lines = reader.lines();
        writer.write_all(b"\n> ready\n").await.unwrap();
        writer.flush().await.unwrap();
        while let Some(line) = lines.next_line().await.unwrap() {
            writer
                .write_all(format!("> {line}\n").as_bytes())
                .await
                .unwrap();
            writer.flush().await.unwrap();
        }
    });
    std::process::exit(21);
}

fn start(stdin: impl Into<Std>, stdout: impl Into<Std>) -> Child {
    let this = std::env::current_exe().expect("it is running");
    Command::new(this)
        .args(["--exact", "--ignored", "--nocapture"])
        .arg("transport::stdio::tests::echo")
        .env("BOWLINE_ECHO", "yes")
        .stdin(stdin)
        .stdout(stdout)
        .stderr(Std::null())
        .spawn()
        .expect("it starts")
}

/// Skips what the harness prints.
fn skip_to_ready(from: &mut impl Read) {
    let mut output_text = String::new();
    let mut byte = [0];
    while !output_text.ends_with("> ready\n") {
        from.read_exact(&mut byte).expect("more to come");
        output_text.push(char::from(byte[0]));
    }
    assert!(!output_text.contains("stray"), "{output_text}");
}

/// Writes much, closes, and expects to read the same.
fn check(
    mut to: impl Write + Send,
    from: impl Read,
    close: impl FnOnce() + Send,
    mut child: Child,
) {
    // More than a pipe or a socket holds.
    let long = "x".repeat(1 << 20);
    let lines = ["first", &long, "last"];
    thread::scope(|scope| {
        scope.spawn(move || {
            for line in lines {
                writeln!(to, "{line}").expect("it is read");
            }
            drop(to);
            close();
        });
        let received = std::io::BufReader::new(from).lines();
        let received: Vec<_> = received.map(Result::unwrap).collect();
        assert!(received == lines.map(|line| format!("> {line}")));
    });
    assert_eq!(child.wait().expect("it is ours").code(), Some(21));
}

fn is_blocking(file: &impl AsFd) -> bool {
    !fcntl_getfl(file)
        .expect("it is open")
        .contains(OFlags::NONBLOCK)
}

// proves: TP-3
#[test]
fn a_pipe_is_not_made_non_blocking_for_others() {
    let ((stdin, to), (mut from, stdout)) = (pipe().unwrap(), pipe().unwrap());
    let shared = (stdin.try_clone().unwrap(), stdout.try_clone().unwrap());
    let child = start(stdin, stdout);
    skip_to_ready(&mut from);
    assert!(is_blocking(&shared.0) && is_blocking(&shared.1));
    drop(shared);
    check(to, from, || {}, child);
}

// proves: TP-3
#[test]
fn a_socket_is_not_made_non_blocking_for_others() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let shared = theirs.try_clone().unwrap();
    let both = OwnedFd::from(theirs);
    let child = start(both.try_clone().unwrap(), both);
    let (mut from, to) = (ours.try_clone().unwrap(), ours.try_clone().unwrap());
    skip_to_ready(&mut from);
    assert!(is_blocking(&shared));
    drop(shared);
    check(to, from, || ours.shutdown(Shutdown::Write).unwrap(), child);
}

// proves: TP-3
#[test]
fn files_are_read_and_written() {
    let name = |what| format!("bowline-stdio-{what}-{}", std::process::id());
    let [input, output] = ["in", "out"].map(|what| std::env::temp_dir().join(name(what)));
    let long = "x".repeat(1 << 20);
    fs::write(&input, format!("first\n{long}\nlast")).unwrap();
    let stdout = fs::File::create(&output).unwrap();
    let mut child = start(fs::File::open(&input).unwrap(), stdout);
    assert_eq!(child.wait().unwrap().code(), Some(21));
    let output_text = fs::read_to_string(&output).unwrap();
    let (_, output_text) = output_text.split_once("\n> ready\n").unwrap();
    assert!(output_text == format!("> first\n> {long}\n> last\n"));
    for path in [input, output] {
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_silent_terminal_does_not_block_the_end() {
    // A pipe that is read as if it were one.
    let (silent, _kept): (PipeReader, _) = pipe().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let reader = plain::Reader::start(silent.into()).unwrap();
    let mut reader = BufReader::new(reader);
    runtime.spawn(async move { reader.read_line(&mut String::new()).await });
    let (done, is_done) = std::sync::mpsc::channel();
    thread::spawn(move || {
        drop(runtime);
        done.send(())
    });
    is_done
        .recv_timeout(Duration::from_secs(30))
        .expect("it ends");
}

#[tokio::test]
async fn writing_without_a_reader_is_an_error() {
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    let mut writer = super::writer(writer.into()).unwrap();
    let error = writer
        .write_all(b"x")
        .await
        .expect_err("the reader is closed");
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);

    let (reader, writer) = pipe().unwrap();
    drop(reader);
    let mut writer = plain::Writer::start(writer.into()).unwrap();
    writer.write_all(b"x").await.expect("it is queued");
    let error = writer.flush().await.expect_err("the reader is closed");
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
}
