//! A load over Streamable HTTP: connections that are kept alive, each with a client of its own.
//!
//! One thread goes round the connections. It reads the answer on one, compares it with its
//! request, and sends the next one there; meanwhile the server has the calls of all others. A request leaves
//! in one write. The stream of a response that is one is read to its end, so that the connection
//! can be used again.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::messages::{Messages, Reply};
use crate::response::{Head, Input};
use crate::server::{PATIENCE, Server};
use crate::{Failure, Figures, Load};

pub(crate) fn measure(load: &Load) -> Result<Figures, Failure> {
    let mut server = Server::listening(&load.command)?;
    let mut clients = Vec::new();
    for _ in 0..load.window {
        let mut client = Client::connect(server.address()?, load)?;
        client.shake_hands()?;
        clients.push(client);
    }
    run(&mut clients, load.warm_up())?;
    let figures = Figures::take(&mut server, |_| run(&mut clients, load.calls))?;
    server.terminate()?;
    Ok(figures)
}

/// Makes calls on all connections. Returns how long each took.
fn run(clients: &mut [Client], calls: usize) -> Result<Vec<Duration>, Failure> {
    let mut took = Vec::with_capacity(calls);
    let window = clients.len();
    for client in clients.iter_mut().take(calls) {
        client.call()?;
    }
    for number in 0..calls {
        let client = &mut clients[number % window];
        took.push(client.answer()?);
        if number + window < calls {
            client.call()?;
        }
    }
    Ok(took)
}

/// A client on a connection of its own.
struct Client {
    stream: TcpStream,
    messages: Messages,
    /// The head of a call's request, up to the length of its body.
    head: Vec<u8>,
    session: Option<String>,
    asked: Instant,
    body: Vec<u8>,
    out: Vec<u8>,
    input: Input,
}

impl Client {
    fn connect(address: &str, load: &Load) -> Result<Self, Failure> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self {
            stream,
            messages: Messages::new(&load.revision, load.bytes)?,
            head: Vec::new(),
            session: None,
            asked: Instant::now(),
            body: Vec::new(),
            out: Vec::new(),
            input: Input::default(),
        })
    }

    /// Opens a session, or asks what the server is where there are none.
    fn shake_hands(&mut self) -> Result<(), Failure> {
        self.messages.first(&mut self.body);
        let routing: &[(&str, &str)] = match self.messages.is_stateless() {
            true => &[("Mcp-Method", "server/discover")],
            false => &[],
        };
        self.head = self.request_head(routing)?;
        self.send()?;
        let (head, reply, _) = self.input.response(&mut self.stream, 0)?;
        expect_status(&head, 200, &reply)?;
        if !Reply::read(&reply)?.is_result() {
            return Err("no handshake".into());
        }
        self.session = head.session;
        if let Some(second) = self.messages.second() {
            self.body.extend_from_slice(second);
            self.head = self.request_head(&[])?;
            self.send()?;
            let (head, body, _) = self.input.response(&mut self.stream, 0)?;
            expect_status(&head, 202, &body)?;
        }
        self.head = match self.messages.is_stateless() {
            true => self.request_head(&[("Mcp-Method", "tools/call"), ("Mcp-Name", "echo")])?,
            false => self.request_head(&[])?,
        };
        Ok(())
    }

    fn request_head(&self, routing: &[(&str, &str)]) -> Result<Vec<u8>, Failure> {
        let mut head = Vec::new();
        write!(head, "POST /mcp HTTP/1.1\r\n")?;
        write!(head, "Host: {}\r\n", self.stream.peer_addr()?)?;
        write!(head, "Content-Type: application/json\r\n")?;
        write!(head, "Accept: application/json, text/event-stream\r\n")?;
        for (name, value) in routing {
            write!(head, "{name}: {value}\r\n")?;
        }
        if self.messages.is_stateless() || self.session.is_some() {
            let revision = self.messages.revision();
            write!(head, "MCP-Protocol-Version: {revision}\r\n")?;
        }
        if let Some(session) = &self.session {
            write!(head, "Mcp-Session-Id: {session}\r\n")?;
        }
        write!(head, "Content-Length: ")?;
        Ok(head)
    }

    fn send(&mut self) -> Result<(), Failure> {
        self.out.clear();
        self.out.extend_from_slice(&self.head);
        write!(self.out, "{}\r\n\r\n", self.body.len())?;
        self.out.extend_from_slice(&self.body);
        self.body.clear();
        self.asked = Instant::now();
        self.stream.write_all(&self.out)?;
        Ok(())
    }

    fn call(&mut self) -> Result<(), Failure> {
        self.messages.call(&mut self.body);
        self.send()
    }

    /// Reads the answer to the call. Returns how long it took to come, to its last byte: what
    /// follows it in its response doesn't count.
    fn answer(&mut self) -> Result<Duration, Failure> {
        let id = self.messages.next_id() - 1;
        let (head, reply, at) = self.input.response(&mut self.stream, id)?;
        expect_status(&head, 200, &reply)?;
        let reply = Reply::read(&reply)?;
        if reply.id() != Some(id) {
            return Err(format!("{:?} was answered, not {id}", reply.id()).into());
        }
        self.messages.check(&reply)?;
        Ok(at.duration_since(self.asked))
    }
}

fn expect_status(head: &Head, status: u16, body: &[u8]) -> Result<(), Failure> {
    if head.status == status {
        return Ok(());
    }
    let body = String::from_utf8_lossy(body);
    Err(format!("status {}: {body}", head.status).into())
}
