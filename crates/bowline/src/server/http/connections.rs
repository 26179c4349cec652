//! The connections of a server over HTTP: it accepts them, keeps their number within the limit, and
//! ends them when the server shuts down.
//!
//! Nothing here knows where a stream of bytes comes from, or what the service behind it does.
//!
//! At the limit a new connection takes the place of one that has no request: at first of those that
//! never had one, at last of those that are still sending one, so that a client that opens
//! connections and sends nothing, or sends it slowly, doesn't keep others out. If all are being
//! served the new one is answered with 503, rather than left waiting to be accepted: streams may be
//! open for hours, and a load balancer has to know at once.
//!
//! - `connection`: one connection, on hyper. `stream_tasks`: the tasks of its HTTP/2 requests.
//! - `connection_state`: what it is doing, for its timeouts and for making room.
//! - `connection_io`: its stream, as hyper reads and writes it.
//! - `message_bodies`: bodies between hyper and the service.

mod connection;
mod connection_io;
mod connection_state;
mod message_bodies;
mod stream_tasks;

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{Instant, Sleep, sleep};
use tracing::Instrument as _;

use self::connection::{ConnectionSettings, ServeHttp, serve_connection};
use self::connection_state::{ConnectionState, Timeouts};
use super::config::HttpConfig;
use super::endpoint::Endpoint;
use crate::error::{Error, ErrorKind};
use crate::server::accept::{Listener, RETRY_DELAYS, is_transient};
use crate::transport::Stream;

/// Connections beyond the limit that are being refused, or take the place of one that is being
/// closed. Beyond them clients wait to be accepted.
const MAX_EXCESS: usize = 64;

/// The least time between two warnings that no client can be accepted.
const WARNING_INTERVAL: Duration = Duration::from_secs(10);

/// How the connections of a server end.
#[derive(Clone, Debug)]
pub(in crate::server) struct Shutdown {
    /// `true` when the server shuts down.
    pub(in crate::server) signal: watch::Receiver<bool>,
    /// How long requests that are being served may take then.
    pub(in crate::server) deadline: Duration,
}

/// Serves every connection that a listener accepts, until the server shuts down and all of them
/// have ended.
///
/// Cancel safe: dropping the future ends all connections.
///
/// # Errors
///
/// When the listener fails permanently.
pub(in crate::server::http) async fn serve_listener<L, S>(
    listener: L,
    endpoint: Endpoint<S>,
    config: &HttpConfig,
    shutdown: Shutdown,
) -> Result<(), Error>
where
    L: Listener,
    Endpoint<S>: ServeHttp,
    S: Clone,
{
    let timeouts = timeouts(config);
    let mut connections = Connections {
        tasks: JoinSet::new(),
        open: HashMap::new(),
        endpoint,
        timeouts,
        max_connections: config.max_connections,
        shutdown,
    };
    let mut listener = listener;
    let accepted = connections.accept_all(&mut listener).await;
    connections
        .shut_down(accepted.is_ok().then_some(listener))
        .await;
    accepted
}

/// Serves one stream of bytes, until the client closes it or the server shuts down. The client may
/// be silent for as long as it likes: there is no other one to make room for.
///
/// Cancel safe: dropping the future ends the connection.
pub(in crate::server::http) async fn serve_stream<S>(
    stream: Stream,
    endpoint: Endpoint<S>,
    shutdown: Shutdown,
) where
    Endpoint<S>: ServeHttp,
{
    /// A timeout that is never reached.
    const NEVER: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);
    let settings = ConnectionSettings {
        timeouts: Timeouts {
            head: NEVER,
            idle: NEVER,
        },
        closes_after_request: false,
        end_signal: shutdown.signal.clone(),
    };
    let state = Arc::new(ConnectionState::new());
    let mut serving = pin!(serve_connection(stream, endpoint, settings, state));
    let mut overdue = pin!(overdue(shutdown));
    poll_fn(|cx| match serving.as_mut().poll(cx) {
        Poll::Pending => overdue.as_mut().poll(cx),
        Poll::Ready(()) => Poll::Ready(()),
    })
    .await;
}

/// Returns when the deadline of the shutdown has passed.
async fn overdue(mut shutdown: Shutdown) {
    let _ = shutdown.signal.wait_for(|is_ending| *is_ending).await;
    sleep(shutdown.deadline).await;
}

fn timeouts(config: &HttpConfig) -> Timeouts {
    Timeouts {
        head: config.head_timeout,
        idle: config.idle_timeout,
    }
}

/// The open connections of a listener.
struct Connections<S> {
    tasks: JoinSet<()>,
    open: HashMap<Id, Arc<ConnectionState>>,
    endpoint: Endpoint<S>,
    timeouts: Timeouts,
    max_connections: usize,
    shutdown: Shutdown,
}

/// An event of the accept loop.
enum AcceptEvent {
    Accepted(io::Result<Stream>),
    Closed(Id),
    Resumed,
    Ending,
}

impl<S: Clone> Connections<S>
where
    Endpoint<S>: ServeHttp,
{
    async fn accept_all(&mut self, listener: &mut impl Listener) -> Result<(), Error> {
        let mut end_signal = self.shutdown.signal.clone();
        let mut ending = pin!(async move {
            let _ = end_signal.wait_for(|is_ending| *is_ending).await;
        });
        let mut pause = None;
        let mut delay = RETRY_DELAYS.0;
        let mut warned_at: Option<Instant> = None;
        loop {
            let event = {
                let mut accepted = pin!(listener.accept());
                poll_fn(|cx| {
                    if ending.as_mut().poll(cx).is_ready() {
                        return Poll::Ready(AcceptEvent::Ending);
                    }
                    self.poll_event(&mut pause, accepted.as_mut(), cx)
                })
                .await
            };
            match event {
                AcceptEvent::Ending => return Ok(()),
                AcceptEvent::Resumed => pause = None,
                AcceptEvent::Closed(id) => drop(self.open.remove(&id)),
                AcceptEvent::Accepted(Ok(stream)) => {
                    delay = RETRY_DELAYS.0;
                    self.serve(stream);
                }
                AcceptEvent::Accepted(Err(error)) if is_transient(&error) => {
                    // A client can make it fail as often as it likes.
                    if warned_at.is_none_or(|at| at.elapsed() >= WARNING_INTERVAL) {
                        warned_at = Some(Instant::now());
                        tracing::warn!(%error, "accepting a client failed, trying again");
                    }
                    if is_out_of_descriptors(&error) {
                        self.make_room();
                    }
                    pause = Some(Box::pin(sleep(delay)));
                    delay = (delay * 2).min(RETRY_DELAYS.1);
                }
                AcceptEvent::Accepted(Err(error)) => {
                    let message = error.to_string();
                    return Err(Error::new(ErrorKind::Transport, message).in_operation("listen"));
                }
            }
        }
    }

    fn poll_event(
        &mut self,
        pause: &mut Option<Pin<Box<Sleep>>>,
        accepted: Pin<&mut impl Future<Output = io::Result<Stream>>>,
        cx: &mut Context<'_>,
    ) -> Poll<AcceptEvent> {
        if let Poll::Ready(Some(joined)) = self.tasks.poll_join_next_with_id(cx) {
            return Poll::Ready(AcceptEvent::Closed(joined_id(joined)));
        }
        if let Some(pause) = pause {
            return pause.as_mut().poll(cx).map(|()| AcceptEvent::Resumed);
        }
        if self.open.len() < self.max_connections.saturating_add(MAX_EXCESS) {
            accepted.poll(cx).map(AcceptEvent::Accepted)
        } else {
            Poll::Pending
        }
    }

    fn serve(&mut self, stream: Stream) {
        let has_room = self.open.len() < self.max_connections || self.make_room();
        let mut endpoint = self.endpoint.clone();
        if !has_room {
            endpoint = endpoint.without_room();
        }
        let settings = ConnectionSettings {
            timeouts: self.timeouts,
            closes_after_request: !endpoint.has_room(),
            end_signal: self.shutdown.signal.clone(),
        };
        let state = Arc::new(ConnectionState::new());
        let serving = serve_connection(stream, endpoint, settings, Arc::clone(&state));
        let id = self.tasks.spawn(serving.in_current_span()).id();
        self.open.insert(id, state);
    }

    /// Closes the connection that has been without a whole request for the longest time. Returns
    /// `false` if all are being served.
    fn make_room(&self) -> bool {
        let evictable = self.open.values();
        let evictable = evictable.filter_map(|state| state.evictable().map(|key| (key, state)));
        let Some((_, oldest)) = evictable.min_by_key(|(key, _)| *key) else {
            return false;
        };
        oldest.evict();
        true
    }

    /// Waits until the connections have ended, which have the signal too, and drops those that
    /// take longer than the deadline. Meanwhile new ones are answered that the server shuts down, so
    /// that a load balancer sees it.
    async fn shut_down(&mut self, listener: Option<impl Listener>) {
        let mut deadline = pin!(sleep(self.shutdown.deadline));
        let (endpoint, timeouts) = (self.endpoint.clone(), self.timeouts);
        let mut answering = pin!(async move {
            if let Some(listener) = listener {
                answer_late(listener, endpoint, timeouts).await;
            }
            // The listener has failed: only the open connections are left.
            std::future::pending::<()>().await;
        });
        let are_closed = poll_fn(|cx| {
            while let Poll::Ready(joined) = self.tasks.poll_join_next(cx) {
                if joined.is_none() {
                    return Poll::Ready(true);
                }
            }
            let _ = answering.as_mut().poll(cx);
            deadline.as_mut().poll(cx).map(|()| false)
        })
        .await;
        if !are_closed {
            let open = self.tasks.len();
            tracing::warn!(
                open,
                "connections closed before their requests were finished"
            );
            self.tasks.shutdown().await;
        }
    }
}

/// Accepts connections of a server that shuts down, and answers one request on each. Dropping the
/// future ends them.
async fn answer_late<S>(mut listener: impl Listener, endpoint: Endpoint<S>, timeouts: Timeouts)
where
    Endpoint<S>: ServeHttp,
{
    let mut tasks = JoinSet::new();
    // It stays open for its request, though the server ends.
    let (_end, end_signal) = watch::channel(false);
    loop {
        let accepted = {
            let mut accepting = pin!(listener.accept());
            poll_fn(|cx| {
                while let Poll::Ready(Some(_)) = tasks.poll_join_next(cx) {}
                if tasks.len() < MAX_EXCESS {
                    accepting.as_mut().poll(cx)
                } else {
                    Poll::Pending
                }
            })
            .await
        };
        match accepted {
            Ok(stream) => {
                let settings = ConnectionSettings {
                    timeouts,
                    closes_after_request: true,
                    end_signal: end_signal.clone(),
                };
                let state = Arc::new(ConnectionState::new());
                let serving = serve_connection(stream, endpoint.clone(), settings, state);
                tasks.spawn(serving.in_current_span());
            }
            Err(error) if is_transient(&error) => sleep(RETRY_DELAYS.1).await,
            Err(_) => return,
        }
    }
}

fn joined_id(joined: Result<(Id, ()), JoinError>) -> Id {
    match joined {
        Ok((id, ())) => id,
        // A service that panics ends its own connection.
        Err(error) => error.id(),
    }
}

/// Returns `true` if the process, or the system, has no more file descriptors.
#[cfg(unix)]
fn is_out_of_descriptors(error: &io::Error) -> bool {
    use rustix::io::Errno;
    matches!(
        Errno::from_io_error(error),
        Some(Errno::MFILE | Errno::NFILE)
    )
}

#[cfg(not(unix))]
fn is_out_of_descriptors(_error: &io::Error) -> bool {
    false
}

#[cfg(test)]
mod tests;
