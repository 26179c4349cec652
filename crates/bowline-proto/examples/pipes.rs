//! A blocking driver over pipes: the core, a child process, and nothing else.
//!
//! `cargo run -p bowline-proto --example pipes` starts itself as a server, calls a tool in
//! both eras and prints the answers. It shows how little a driver has to do, and that the
//! core needs no runtime; it is no library.

mod tool;

use std::io::{Read, Write, stdin, stdout};
use std::process::{Child, Command, Stdio};

use bowline_proto::connection::Event;
use bowline_proto::server::{Session, SessionConfig};
use bowline_proto::{CallRequest, Config, Connection, IdCounter, Instant, Outcome};
use bowline_types::common::Implementation;
use bowline_types::{Era, Revisions};

use tool::{Outcomes, answer_all, capabilities, text_of};

fn main() -> Outcomes<()> {
    if std::env::args().nth(1).as_deref() == Some("server") {
        return serve();
    }
    let mut out = stdout().lock();
    for era in [Era::Handshake, Era::Stateless] {
        let answer = call_over_pipes(era.revisions())?;
        writeln!(out, "{era}: {answer}")?;
    }
    Ok(())
}

/// Starts a server, shakes hands, calls its tool, and returns its result.
fn call_over_pipes(revisions: Revisions) -> Outcomes<String> {
    let mut child = Command::new(std::env::current_exe()?)
        .arg("server")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut config = Config::new(Implementation::new("pipes", "0"));
    config.revisions(revisions);
    let mut connection = Connection::new(config, IdCounter::new());
    // This driver doesn't measure time: nothing here waits for long.
    connection.open(Instant::START);
    let outcome = drive(&mut connection, &mut child);
    drop(child.stdin.take());
    child.wait()?;
    match outcome? {
        Outcome::Result(payload) => text_of(&payload),
        other => Err(format!("{other:?}").into()),
    }
}

/// Moves bytes until the call has ended.
fn drive(connection: &mut Connection, child: &mut Child) -> Outcomes<Outcome> {
    let (Some(stdin), Some(stdout)) = (&mut child.stdin, &mut child.stdout) else {
        return Err("the child has no pipes".into());
    };
    let mut chunk = vec![0; 64 * 1024];
    loop {
        while let Some(event) = connection.poll_event() {
            match event {
                Event::Ready(_) => {
                    let call = CallRequest::new("tools/call", &br#""name":"echo""#[..]);
                    connection.call(Instant::START, call)?;
                }
                Event::Ended { outcome, .. } => return Ok(outcome),
                Event::Closed(reason) => return Err(reason.to_string().into()),
                _ => {}
            }
        }
        while let Some(transmit) = connection.poll_transmit() {
            stdin.write_all(&transmit.to_bytes())?;
        }
        stdin.flush()?;
        match stdout.read(&mut chunk)? {
            0 => connection.handle_eof(Instant::START),
            length => {
                connection.read_buffer().extend_from_slice(&chunk[..length]);
                connection.handle_read(Instant::START);
            }
        }
    }
}

/// The server: one tool, both eras on one stream.
fn serve() -> Outcomes<()> {
    let mut config = SessionConfig::new(Implementation::new("pipes", "0"));
    config.capabilities(capabilities());
    let mut session = Session::new(Instant::START, config);
    let (mut input, mut output) = (stdin().lock(), stdout().lock());
    let mut chunk = vec![0; 64 * 1024];
    loop {
        match input.read(&mut chunk)? {
            0 => return Ok(()),
            length => session.read_buffer().extend_from_slice(&chunk[..length]),
        }
        session.handle_read(Instant::START);
        answer_all(&mut session)?;
        while let Some(transmit) = session.poll_transmit() {
            output.write_all(&transmit.to_bytes())?;
        }
        output.flush()?;
    }
}
