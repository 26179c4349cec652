//! HTTP/2 without TLS or an upgrade.

use http_body_util::Empty;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::AsyncWrite;

use super::*;

async fn client(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> (SendRequest<Empty<Bytes>>, JoinHandle<hyper::Result<()>>) {
    let (client, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream))
        .await
        .unwrap();
    (client, tokio::spawn(connection))
}

fn request(query: &str) -> Request<Empty<Bytes>> {
    let uri = format!("http://a/mcp{query}");
    Request::builder().uri(uri).body(Empty::new()).unwrap()
}

pub(super) async fn check_two_requests(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) {
    let (mut client, _) = client(stream).await;
    for _ in 0..2 {
        let response = client.send_request(request("")).await.unwrap();
        assert_eq!(response.status(), 200);
    }
}

#[tokio::test]
async fn a_stream_in_memory_speaks_http2() {
    let (stream, _state, _end, serving) = in_memory();
    check_two_requests(stream).await;
    serving.await.unwrap();
}

#[tokio::test]
async fn a_shutdown_finishes_the_streams_of_http2() {
    let (mut stream, state, end, serving) = in_memory();
    stream.write_all(PREFACE).await.unwrap();
    let mut request = headers(1);
    request[4] |= END_STREAM;
    stream.write_all(&request).await.unwrap();
    state.began.acquire().await.unwrap().forget();
    end.send_replace(true);
    let mut answers = Vec::new();
    while goaway(&answers).is_none() {
        stream.read_buf(&mut answers).await.unwrap();
    }
    assert_eq!(goaway(&answers), Some(0));
    state.permits.add_permits(1);
    // HEADERS.
    while !answers.windows(6).any(|bytes| bytes == [1, 5, 0, 0, 0, 1]) {
        assert_ne!(
            stream.read_buf(&mut answers).await.unwrap(),
            0,
            "a response"
        );
    }
    // The client doesn't confirm it.
    serving.await.unwrap();
}

#[tokio::test]
async fn a_lost_connection_cancels_its_streams() {
    let (mut stream, state, _end, serving) = in_memory();
    stream.write_all(PREFACE).await.unwrap();
    stream.write_all(&headers(1)).await.unwrap();
    state.began.acquire().await.unwrap().forget();
    drop(stream);
    state.cancelled.notified().await;
    serving.await.unwrap();
}

/// The flag of a frame that ends its stream.
const END_STREAM: u8 = 1;

/// The code of an error: the client asks for too much work.
const ENHANCE_YOUR_CALM: u32 = 11;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// HEADERS of `POST http://a/mcp?slow`, without the end of the stream.
fn headers(stream: u32) -> Vec<u8> {
    let mut block = vec![0x83, 0x86, 0x04, 9];
    block.extend(b"/mcp?slow");
    block.extend([0x01, 1, b'a']);
    frame(1, 4, stream, &block)
}

/// Returns the code of the first GOAWAY.
fn goaway(answers: &[u8]) -> Option<u32> {
    let mut rest = answers;
    while let Some((head, behind)) = rest.split_first_chunk::<9>() {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        if head[3] == 7 {
            return Some(u32::from_be_bytes(behind.get(4..8)?.try_into().unwrap()));
        }
        rest = behind.get(length..)?;
    }
    None
}

/// Sends frames until the server closes, or `count` times, while reading what it answers. Returns
/// the code of its GOAWAY.
async fn flood(stream: DuplexStream, count: u32, frames: impl Fn(u32) -> Vec<u8>) -> Option<u32> {
    let (mut reader, mut writer) = split(stream);
    let reading = tokio::spawn(async move { closed(&mut reader).await });
    for index in 0..count {
        if writer.write_all(&frames(index)).await.is_err() {
            break;
        }
    }
    let _ = writer.shutdown().await;
    let answers = reading.await.unwrap();
    assert!(answers.len() < 1024 * 1024, "{}", answers.len());
    goaway(&answers)
}

// proves: F-HT-15
#[tokio::test]
async fn rapid_reset_ends_the_connection() {
    let (mut stream, state, _end, serving) = in_memory();
    stream.write_all(PREFACE).await.unwrap();
    let code = flood(stream, 10_000, |index| {
        let id = 2 * index + 1;
        [headers(id), frame(3, 0, id, &8_u32.to_be_bytes())].concat()
    });
    assert_eq!(code.await, Some(ENHANCE_YOUR_CALM));
    serving.await.unwrap();
    assert!(state.began.available_permits() <= 100);
}

// proves: F-HT-15
#[tokio::test]
async fn a_flood_of_empty_data_ends_the_connection() {
    let (mut stream, state, _end, serving) = in_memory();
    stream.write_all(PREFACE).await.unwrap();
    stream.write_all(&headers(1)).await.unwrap();
    state.began.acquire().await.unwrap().forget();
    let code = flood(stream, 100_000, |_| frame(0, 0, 1, &[])).await;
    assert_eq!(code, Some(ENHANCE_YOUR_CALM));
    serving.await.unwrap();
    state.cancelled.notified().await;
}

// proves: F-HT-15
#[tokio::test]
async fn ten_thousand_open_streams_end_the_connection() {
    let (mut stream, state, _end, serving) = in_memory();
    stream.write_all(PREFACE).await.unwrap();
    // Of requests whose bodies never come.
    let code = flood(stream, 10_000, |index| headers(2 * index + 1)).await;
    assert_eq!(code, Some(ENHANCE_YOUR_CALM));
    serving.await.unwrap();
    assert!(state.began.available_permits() <= 100);
}

// proves: F-HT-15, SE-12
#[tokio::test]
async fn a_head_without_an_end_ends_the_connection() {
    let (mut stream, state, _end, serving) = in_memory();
    stream.write_all(PREFACE).await.unwrap();
    let mut begin = headers(1);
    // Without END_HEADERS.
    begin[4] = 0;
    stream.write_all(&begin).await.unwrap();
    // A literal header that isn't indexed, in CONTINUATION frames.
    let code = flood(stream, 100_000, |_| {
        frame(
            9,
            0,
            1,
            &[b"\0\x01a\x7f\x01".as_slice(), &[b'b'; 128]].concat(),
        )
    });
    assert!(code.await.is_some());
    serving.await.unwrap();
    assert_eq!(state.began.available_permits(), 0);
}

// proves: F-HT-14
#[tokio::test]
async fn a_connection_whose_bodies_are_slow_makes_room() {
    let server = Server::start(HttpConfig::new().max_connections(1)).await;
    let mut slow = server.connect().await;
    slow.write_all(PREFACE).await.unwrap();
    slow.write_all(&headers(1)).await.unwrap();
    server.began().await;
    assert_eq!(get(&mut server.connect().await).await, 200);
    server.state.cancelled.notified().await;
    closed(&mut slow).await;
    server.shut_down().await;
}
