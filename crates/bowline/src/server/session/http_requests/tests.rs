//! What can't be reached from outside: a session that ends just before a stream of it is opened.

use std::task::Waker;

use super::*;
use crate::server::Server;
use crate::server::http::HttpConfig;

#[tokio::test]
async fn the_stream_of_a_session_that_has_ended_ends() {
    for mode in [ShutdownMode::Immediate, ShutdownMode::Graceful] {
        for config in [HttpConfig::new(), HttpConfig::new().without_resumption()] {
            let server = Server::new("test", "1").build().unwrap();
            let core = server.core();
            let start = HttpSessionStart {
                config: Arc::new(core.config.clone()),
                clock: Clock::start(),
                principal: None,
                resumed: None,
                log: config.log_settings(),
            };
            let shared = SessionShared::for_http(Arc::clone(core), start);
            shared.end(mode);
            let (stream, start) = shared.open_server_stream().unwrap();
            let mut timer = SessionTimer::new(Arc::clone(&shared));
            let mut cx = TaskContext::from_waker(Waker::noop());
            let reader = start.reader.as_ref();
            let mut polled = shared.poll_stream(stream, reader, &mut timer, &mut cx);
            while let Poll::Ready(StreamOutput::Event(_)) = polled {
                polled = shared.poll_stream(stream, reader, &mut timer, &mut cx);
            }
            assert!(
                matches!(polled, Poll::Ready(StreamOutput::End)),
                "{mode:?}: {polled:?}"
            );
        }
    }
}
