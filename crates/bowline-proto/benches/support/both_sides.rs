//! A client and a server in one process, with the copy that a transport makes between them.
//!
//! Benchmarks and the allocation test reach the core through here and nowhere else, so that
//! they all measure the same thing, and a change to the core is followed in one place.

#![allow(dead_code, reason = "each user takes what it needs")]

use bowline_proto::connection::Event;
use bowline_proto::server::{Session, SessionConfig, SessionEvent};
use bowline_proto::{
    CallId, CallRequest, Config, Connection, IdCounter, Instant, Outcome, Payload, RequestKey,
};
use bowline_types::capabilities::{ClientCapabilities, ServerCapabilities};
use bowline_types::common::Implementation;
use bowline_types::lifecycle::DiscoverResult;
use bowline_types::{Era, ErrorObject, JsonObject, Method, Revision, Revisions, Wire};
use bytes::Bytes;

/// The response of the server's handler to every call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer<'a> {
    /// A result that is already encoded, as the parameters of the call are.
    Result(&'a Payload),
    Error(&'a ErrorObject),
    /// It is still at work.
    Nothing,
}

/// A client and a server.
#[derive(Debug)]
pub(crate) struct BothSides {
    client: Connection,
    server: Server,
}

impl BothSides {
    /// Two sides that have not spoken yet.
    pub(crate) fn new(offers: Offers) -> Self {
        let mut client = Config::new(Implementation::new("client", "1.0"));
        client
            .revisions(offers.client)
            .capabilities(offers.client_capabilities());
        client.limits().max_pending(MANY).max_queued(MANY);
        Self {
            client: Connection::new(client, IdCounter::new()),
            server: Server::new(offers),
        }
    }

    /// Two sides that have agreed on a revision of this era.
    pub(crate) fn ready(era: Era) -> Self {
        let mut sides = Self::new(Offers::only(era));
        sides.shake_hands();
        sides
    }

    /// The whole handshake.
    pub(crate) fn shake_hands(&mut self) {
        self.client.open(NOW);
        self.carry(Answer::Nothing);
        match self.client.poll_event() {
            Some(Event::Ready(_)) => {}
            other => panic!("no handshake: {other:?}"),
        }
    }

    /// One whole call: composed, sent, read, routed, answered, sent back, read, ended.
    pub(crate) fn call(&mut self, body: &Bytes, answer: Answer<'_>) -> Outcome {
        self.begin_call(body);
        self.carry(answer);
        self.ended().expect("the call has its answer")
    }

    /// Makes calls that both sides keep, without a response.
    pub(crate) fn hold(&mut self, calls: usize) {
        for _ in 0..calls {
            self.begin_call(&Bytes::from_static(br#""name":"slow""#));
            self.carry(Answer::Nothing);
        }
    }

    /// Composes a call and puts it into the client's queue.
    pub(crate) fn begin_call(&mut self, body: &Bytes) -> CallId {
        let request = CallRequest::new("tools/call", body.clone());
        self.client.call(NOW, request).expect("the client is ready")
    }

    /// Takes and drops the messages in the client's queue.
    pub(crate) fn drop_sent(&mut self) {
        while self.client.poll_transmit().is_some() {}
    }

    /// The client reads these bytes.
    pub(crate) fn client_reads(&mut self, bytes: &[u8]) {
        self.client.read_buffer().extend_from_slice(bytes);
        self.client.handle_read(NOW);
    }

    /// The next event of the client, which must be a notification.
    pub(crate) fn notified(&mut self) {
        match self.client.poll_event() {
            Some(Event::Notification { .. }) => {}
            other => panic!("no notification: {other:?}"),
        }
    }

    /// The next event of the client, which must be the end of a call, if there is one.
    pub(crate) fn ended(&mut self) -> Option<Outcome> {
        match self.client.poll_event()? {
            Event::Ended { outcome, .. } => Some(outcome),
            other => panic!("no end of a call: {other:?}"),
        }
    }

    /// Sends a notification from the server to the client.
    pub(crate) fn notify(&mut self, body: &Bytes) {
        let method = Method::ResourceUpdated.as_str();
        self.server
            .session
            .notify(None, method, body.clone())
            .expect("there is room");
        self.carry(Answer::Nothing);
        self.notified();
    }

    /// The client closes the connection. Returns how many events that was worth.
    pub(crate) fn close(&mut self) -> usize {
        self.client.close(NOW);
        std::iter::from_fn(|| self.client.poll_event()).count()
    }

    /// The client, to be asked.
    pub(crate) fn client(&self) -> &Connection {
        &self.client
    }

    /// Moves bytes both ways until neither side has any to send.
    fn carry(&mut self, answer: Answer<'_>) {
        while self.carry_to_server() {
            self.server.work(answer);
            self.carry_to_client();
        }
        self.server.work(answer);
        self.carry_to_client();
    }

    fn carry_to_server(&mut self) -> bool {
        let mut has_sent = false;
        while let Some(transmit) = self.client.poll_transmit() {
            transmit.append_to(self.server.session.read_buffer());
            has_sent = true;
        }
        has_sent
    }

    fn carry_to_client(&mut self) {
        let buffer = self.client.read_buffer();
        while let Some(transmit) = self.server.session.poll_transmit() {
            transmit.append_to(buffer);
        }
        if !buffer.is_empty() {
            self.client.handle_read(NOW);
        }
    }
}

/// What the two sides offer each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offers {
    pub(crate) client: Revisions,
    pub(crate) server: Revisions,
    /// `true` if both sides declare all capabilities, `false` if none.
    pub(crate) everything: bool,
}

impl Offers {
    /// Both speak the revisions of one era.
    pub(crate) fn only(era: Era) -> Self {
        Self {
            client: era.revisions(),
            server: era.revisions(),
            everything: false,
        }
    }

    fn client_capabilities(self) -> ClientCapabilities {
        let json = if self.everything { CLIENT } else { "{}" };
        ClientCapabilities::from_json(json).expect("capabilities")
    }

    fn server_capabilities(self) -> ServerCapabilities {
        let json = if self.everything { SERVER } else { "{}" };
        ServerCapabilities::from_json(json).expect("capabilities")
    }
}

/// A server with one tool and both eras.
#[derive(Debug)]
struct Server {
    offers: Offers,
    session: Session,
}

impl Server {
    fn new(offers: Offers) -> Self {
        let mut config = SessionConfig::new(Implementation::new("server", "1.0"));
        config
            .revisions(offers.server)
            .capabilities(offers.server_capabilities());
        config.limits().max_peer_requests(MANY);
        Self {
            offers,
            session: Session::new(NOW, config),
        }
    }

    /// Reads what has come and answers it.
    fn work(&mut self, answer: Answer<'_>) {
        self.session.handle_read(NOW);
        while let Some(event) = self.session.poll_event() {
            match event {
                SessionEvent::Request {
                    request,
                    method: Method::Discover,
                    ..
                } => self.discover(request),
                SessionEvent::Request { request, .. } => self.respond(request, answer),
                _ => {}
            }
        }
    }

    fn discover(&mut self, request: RequestKey) {
        let versions: Vec<String> = self.offers.server.iter().map(String::from).collect();
        let result = DiscoverResult::new(versions, self.offers.server_capabilities());
        let result = Payload::encode(&result, Revision::LATEST).expect("this revision has it");
        self.respond(request, Answer::Result(&result));
    }

    fn respond(&mut self, request: RequestKey, answer: Answer<'_>) {
        match answer {
            Answer::Result(result) => self.session.respond(NOW, request, result.clone()),
            Answer::Error(error) => self.session.respond_error(NOW, request, error),
            Answer::Nothing => Ok(()),
        }
        .expect("the request is open");
    }
}

/// The members of the parameters of a `tools/call`, about `bytes` long.
pub(crate) fn body(bytes: usize) -> Bytes {
    let body = format!(
        r#""name":"search","arguments":{{"query":"{}"}}"#,
        text(bytes.saturating_sub(45))
    );
    Bytes::from(body)
}

/// The result of a `tools/call`, about `bytes` long.
pub(crate) fn result(bytes: usize) -> Payload {
    let text = text(bytes.saturating_sub(42));
    let result = format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#);
    JsonObject::parse(&result).expect("an object").into()
}

/// Prose with an escape in every 64 bytes or so, and not only ASCII.
fn text(bytes: usize) -> String {
    const LINES: &str = concat!(
        r"The quick brown fox jumps over the lazy dog, and café owners w\n",
        r#"atch it \"every\" day; nobody knows why it would want to do so.\n"#
    );
    let mut text = LINES.repeat(bytes / LINES.len());
    text.push_str(&"x".repeat(bytes % LINES.len()));
    text
}

/// Nothing that is measured here depends on the time.
const NOW: Instant = Instant::START;

/// More than any benchmark keeps waiting.
const MANY: usize = 2000;

const CLIENT: &str = r#"{"roots":{"listChanged":true},"sampling":{"context":{},"tools":{}},"elicitation":{"form":{},"url":{}},"tasks":{"list":{},"cancel":{}},"experimental":{"x-one":{"a":1},"x-two":{}},"extensions":{"com.example/one":{"settings":{"depth":3}}}}"#;
const SERVER: &str = r#"{"tools":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"prompts":{"listChanged":true},"logging":{},"completions":{},"tasks":{"list":{},"cancel":{}},"experimental":{"x-one":{"a":1},"x-two":{}},"extensions":{"com.example/one":{"settings":{"depth":3}}}}"#;
