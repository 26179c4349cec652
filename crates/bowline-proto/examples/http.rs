//! A driver over plain `hyper`: each message of the client is a POST, each answer its body.
//!
//! `cargo run -p bowline-proto --example http` serves a tool on a port of its own, calls it in
//! both eras and prints the answers. It shows that the core that drives pipes drives streams
//! of requests as well; it is no library: no event streams, one session, no limits on bodies.

mod tool;

use std::io::{Write as _, stdout};
use std::sync::{Arc, Mutex, PoisonError};

use bowline_proto::connection::{Event, MessageHeaders, StreamEnd};
use bowline_proto::server::{
    Headers, Routed, RouterConfig, Session, SessionConfig, route, write_response,
};
use bowline_proto::{
    CallRequest, Carrier, Config, Connection, IdCounter, Instant, Outcome, StreamId, TransmitKind,
};
use bowline_types::common::Implementation;
use bowline_types::{Era, Revisions, envelope};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tool::{Outcomes, answer, answer_all, capabilities, text_of};

fn main() -> Outcomes<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        tokio::spawn(serve(listener));
        for era in [Era::Handshake, Era::Stateless] {
            let stream = TokioIo::new(TcpStream::connect(address).await?);
            let (sender, http) = hyper::client::conn::http1::handshake(stream).await?;
            tokio::spawn(http);
            let answer = call_over_http(sender, era.revisions()).await?;
            writeln!(stdout(), "{era}: {answer}")?;
        }
        Ok(())
    })
}

/// Shakes hands, calls a tool, and returns its result.
async fn call_over_http(mut http: SendRequest<Full<Bytes>>, ours: Revisions) -> Outcomes<String> {
    let mut config = Config::new(Implementation::new("http", "0"));
    config.revisions(ours).carrier(Carrier::StreamPerRequest);
    let mut connection = Connection::new(config, IdCounter::new());
    // This driver doesn't measure time: nothing here waits for long.
    let now = Instant::START;
    connection.open(now);
    loop {
        while let Some(event) = connection.poll_event() {
            match event {
                Event::Ready(_) => {
                    let call = CallRequest::new("tools/call", &br#""name":"echo""#[..]);
                    connection.call(now, call)?;
                }
                Event::Ended {
                    outcome: Outcome::Result(payload),
                    ..
                } => {
                    return text_of(&payload);
                }
                other => return Err(format!("{other:?}").into()),
            }
        }
        let transmit = connection.poll_transmit().ok_or("nothing left to do")?;
        let frame = transmit.to_bytes();
        let mut post = Request::post("/mcp");
        for (name, value) in MessageHeaders::from_frame(&frame, connection.revision()).iter() {
            post = post.header(name, value);
        }
        let response = http
            .send_request(post.body(Full::new(frame.into()))?)
            .await?;
        let body = response.into_body().collect().await?.to_bytes();
        if let TransmitKind::Call(call) = transmit.kind {
            connection.handle_message(now, Some(call), &body);
            connection.handle_stream_end(now, call, StreamEnd::Complete);
        }
    }
}

/// One tool, both eras on one address.
async fn serve(listener: TcpListener) -> Outcomes<()> {
    let mut config = SessionConfig::new(Implementation::new("http", "0"));
    config
        .capabilities(capabilities())
        .carrier(Carrier::StreamPerRequest);
    let session = Arc::new(Mutex::new(Session::new(Instant::START, config)));
    loop {
        let stream = TokioIo::new(listener.accept().await?.0);
        let session = Arc::clone(&session);
        let service = service_fn(move |post| handle(Arc::clone(&session), post));
        tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(stream, service));
    }
}

async fn handle(
    session: Arc<Mutex<Session>>,
    post: Request<Incoming>,
) -> Outcomes<Response<Full<Bytes>>> {
    let (head, body) = post.into_parts();
    let frame = body.collect().await?.to_bytes();
    let pairs = head
        .headers
        .iter()
        .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
    let headers = Headers::collect(pairs);
    let mut out = Vec::new();
    let mut status = 200;
    match route(&RouterConfig::new(Revisions::ALL), &frame, Some(&headers)) {
        Routed::Stateless(request) => {
            let revision = request.context.revision;
            let result = answer(request.method, Some(request.params.as_str()), revision)?;
            write_response(&mut out, &request.id, &result);
        }
        Routed::Session(message) => {
            let mut session = session.lock().unwrap_or_else(PoisonError::into_inner);
            session.handle_message(Instant::START, Some(StreamId::new(1)), &frame, message);
            answer_all(&mut session)?;
            match session.poll_transmit() {
                Some(transmit) => out = transmit.to_bytes(),
                None => status = 202,
            }
        }
        Routed::Refused(refusal) => {
            status = refusal.status;
            envelope::write_error(&mut out, refusal.id.as_ref(), &refusal.error);
        }
        other => return Err(format!("{other:?}").into()),
    }
    Ok(Response::builder()
        .status(status)
        .body(Full::new(out.into()))?)
}
