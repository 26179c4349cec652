//! Clients that are too many, too slow or too large.

use std::collections::VecDeque;

use super::*;

// proves: F-HT-14
#[tokio::test(start_paused = true)]
async fn a_head_that_takes_too_long_closes_the_connection() {
    let config = HttpConfig::new();
    for head in [
        &b""[..],
        b"G",
        b"PRI * HTTP/2.0\r\n",
        b"GET /mcp HTTP/1.1\r\nhost: a\r\n",
    ] {
        let (mut ours, theirs) = duplex(1024);
        ours.write_all(head).await.unwrap();
        let (reader, writer) = split(theirs);
        let (_end, shutdown) = shutdown();
        let settings = ConnectionSettings {
            timeouts: timeouts(&config),
            closes_after_request: false,
            end_signal: shutdown.signal.clone(),
        };
        let state = Arc::new(ConnectionState::new());
        let endpoint = endpoint(echo().0, &config, &shutdown);
        let start = Instant::now();
        serve_connection(Stream::new(reader, writer), endpoint, settings, state).await;
        assert_eq!(start.elapsed().as_secs(), 10, "{head:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_is_closed_later() {
    let (mut ours, theirs) = duplex(1024);
    let (reader, writer) = split(theirs);
    let (_end, shutdown) = shutdown();
    let settings = ConnectionSettings {
        timeouts: timeouts(&HttpConfig::new()),
        closes_after_request: false,
        end_signal: shutdown.signal.clone(),
    };
    let state = Arc::new(ConnectionState::new());
    let (service, _peers) = echo();
    let endpoint = endpoint(service, &HttpConfig::new(), &shutdown);
    let stream = Stream::new(reader, writer);
    let start = Instant::now();
    let serving = tokio::spawn(serve_connection(stream, endpoint, settings, state));
    ours.write_all(GET).await.unwrap();
    assert_eq!(response(&mut ours).await.0, 200);
    serving.await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 60);
}

// proves: F-HT-14
#[tokio::test]
async fn five_thousand_silent_connections_keep_no_client_out() {
    let server = Server::start(HttpConfig::new().max_connections(16)).await;
    let mut honest = server.connect().await;
    assert_eq!(get(&mut honest).await, 200);
    // In portions, since the descriptors of this process are limited as well.
    let mut silent = VecDeque::new();
    for count in 0..5_000 {
        let mut stream = server.connect().await;
        // One whose place is taken already may be closed.
        let _ = stream.write_all(b"GET /mcp HTTP/1.1\r\nhost:").await;
        silent.push_back(stream);
        if silent.len() > 200 {
            silent.pop_front();
        }
        if count % 500 == 0 {
            assert_eq!(get(&mut honest).await, 200, "at {count}");
            assert_eq!(get(&mut server.connect().await).await, 200, "at {count}");
        }
    }
    server.shut_down().await;
}

#[tokio::test]
async fn one_past_the_limit_is_refused() {
    let server = Server::start(HttpConfig::new().max_connections(2)).await;
    let mut first = server.slow_request().await;
    let _second = server.slow_request().await;
    let mut third = server.connect().await;
    third.write_all(GET).await.unwrap();
    let (status, head) = response(&mut third).await;
    assert_eq!(status, 503);
    assert!(
        head.contains("retry-after: 1") && head.contains("connection: close"),
        "{head}"
    );
    assert!(closed(&mut third).await.is_empty());
    let mut health = server.connect().await;
    health
        .write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n")
        .await
        .unwrap();
    assert_eq!(response(&mut health).await.0, 200);
    // One that is idle makes room.
    server.state.permits.add_permits(1);
    assert_eq!(response(&mut first).await.0, 200);
    assert_eq!(get(&mut server.connect().await).await, 200);
    server.state.permits.add_permits(1);
    server.shut_down().await;
}

// proves: F-HT-19
#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let server = Server::start(HttpConfig::new()).await;
    let many = "a: b\r\n".repeat(100);
    let long = format!("a: {}\r\n", "b".repeat(64 * 1024));
    let smuggled = "transfer-encoding: chunked\r\ncontent-length: 3\r\n";
    let folded = "a: b\r\n c\r\n";
    for (headers, expected) in [(&*many, 431), (&*long, 431), (folded, 400), (smuggled, 0)] {
        let mut stream = server.connect().await;
        let head = format!("POST /mcp HTTP/1.1\r\nhost: a\r\n{headers}\r\n0\r\n\r\n");
        let _ = stream.write_all(head.as_bytes()).await;
        let status = response(&mut stream).await.0;
        if expected != 0 {
            assert_eq!(status, expected);
        }
        // Nothing behind such a request is taken for another one.
        assert!(closed(&mut stream).await.is_empty());
    }
    server.shut_down().await;
}

/// A listener whose first attempts fail.
struct Failing(VecDeque<i32>, mpsc::Receiver<DuplexStream>);

impl Listener for Failing {
    async fn accept(&mut self) -> io::Result<Stream> {
        if let Some(code) = self.0.pop_front() {
            return Err(io::Error::from_raw_os_error(code));
        }
        match self.1.recv().await {
            Some(stream) => {
                let (reader, writer) = split(stream);
                Ok(Stream::new(reader, writer))
            }
            None => Err(io::ErrorKind::InvalidInput.into()),
        }
    }
}

#[cfg(unix)]
#[tokio::test(start_paused = true)]
async fn errors_of_accepting_are_waited_out() {
    let codes = [24, 23, 103, 12].into_iter().collect();
    let (clients, receiver) = mpsc::channel(1);
    let (_end, shutdown) = shutdown();
    let (service, _peers) = echo();
    let endpoint = endpoint(service, &HttpConfig::new(), &shutdown);
    let serving = tokio::spawn(async move {
        serve_listener(
            Failing(codes, receiver),
            endpoint,
            &HttpConfig::new(),
            shutdown,
        )
        .await
    });
    let (mut ours, theirs) = duplex(1024);
    clients.send(theirs).await.unwrap();
    ours.write_all(GET).await.unwrap();
    assert_eq!(response(&mut ours).await.0, 200);
    drop((clients, ours));
    let error = serving.await.unwrap().expect_err("the listener is gone");
    assert_eq!(error.kind(), ErrorKind::Transport);
}
