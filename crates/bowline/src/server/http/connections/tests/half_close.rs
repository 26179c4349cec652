//! Clients that end their side, and clients that are gone.

use super::*;

#[tokio::test]
async fn a_half_closed_client_gets_its_answer() {
    let server = Server::start(HttpConfig::new()).await;
    let mut stream = server.slow_request().await;
    stream.shutdown().await.unwrap();
    // The server has seen it when it asks if the client is there.
    let mut interim = [0; 25];
    stream.read_exact(&mut interim).await.unwrap();
    assert_eq!(&interim[..], b"HTTP/1.1 100 Continue\r\n\r\n");
    server.state.permits.add_permits(1);
    assert_eq!(response(&mut stream).await.0, 200);
    assert!(closed(&mut stream).await.is_empty());
    server.shut_down().await;
}

#[tokio::test]
async fn a_client_that_is_gone_cancels_its_request() {
    let server = Server::start(HttpConfig::new()).await;
    let stream = server.slow_request().await;
    let start = std::time::Instant::now();
    drop(stream);
    server.state.cancelled.notified().await;
    assert!(
        start.elapsed() < Duration::from_millis(100),
        "{:?}",
        start.elapsed()
    );
    server.shut_down().await;
}

#[tokio::test]
async fn a_request_that_is_cut_is_no_request() {
    let server = Server::start(HttpConfig::new()).await;
    let mut stream = server.connect().await;
    let cut = b"POST /mcp HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\ncut";
    stream.write_all(cut).await.unwrap();
    server.began().await;
    stream.shutdown().await.unwrap();
    closed(&mut stream).await;
    server.shut_down().await;
}

#[tokio::test]
async fn a_refused_client_can_read_its_answer() {
    let server = Server::start(HttpConfig::new()).await;
    let mut stream = server.connect().await;
    // It goes on sending while it is refused; with an immediate close that would be a reset.
    let head = b"POST /nowhere HTTP/1.1\r\nhost: a\r\ncontent-length: 2000000\r\n\r\n";
    stream.write_all(head).await.unwrap();
    stream.write_all(&vec![b'a'; 2_000_000]).await.unwrap();
    assert_eq!(response(&mut stream).await.0, 404);
    server.shut_down().await;
}

#[tokio::test]
async fn a_half_closed_client_gets_the_answers_of_all_its_requests() {
    for (framing, body) in [
        ("content-length: 4", "abcd"),
        ("transfer-encoding: chunked", "4\r\nabcd\r\n0\r\n\r\n"),
    ] {
        let server = Server::start(HttpConfig::new()).await;
        let mut stream = server.connect().await;
        let request = format!("POST /mcp?slow HTTP/1.1\r\nhost: a\r\n{framing}\r\n\r\n{body}");
        stream
            .write_all(request.repeat(3).as_bytes())
            .await
            .unwrap();
        stream.shutdown().await.unwrap();
        let mut answering = Box::pin(closed(&mut stream));
        for _ in 0..3 {
            // The connection is closed instead if a request is taken for one that was given up.
            tokio::select! {
                () = server.began() => server.state.permits.add_permits(1),
                answers = &mut answering => panic!("{}", String::from_utf8_lossy(&answers)),
            }
        }
        let answers = String::from_utf8(answering.await).unwrap();
        assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 3, "{answers}");
        server.shut_down().await;
    }
}
