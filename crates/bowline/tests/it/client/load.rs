//! Many calls, and streams that take little at a time.

use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bowline::testing::{self, ReceivedMessage};
use bowline::transport::Stream;
use bowline::{Client, ConnectionState, ErrorKind};
use tokio::io::AsyncWrite;
use tokio::task::JoinSet;

use crate::client::support::{OLD, Test, all_is_read, config, connected, wrapped};

// proves: CN-7
#[tokio::test]
async fn many_calls_at_once_each_have_their_answer() -> Test {
    let (transport, peer) = testing::peer();
    testing::serve_fn(peer, |_, params| Ok(params.clone()));
    let client = Client::connect(transport, config()).await?;
    let mut calls = JoinSet::new();
    for number in 0..900 {
        let client = client.clone();
        calls.spawn(async move {
            let params = format!(r#""name":"{number}""#);
            let answer = client.call("tools/call", format!("{{{params}}}")).await;
            assert!(answer.expect("a result").as_str().contains(&params));
        });
    }
    while let Some(done) = calls.join_next().await {
        done.expect("no panic");
    }
    assert_eq!(
        (client.pending(), client.state()),
        (0, ConnectionState::Ready)
    );
    Ok(())
}

const TASKS: usize = 1000;
const SENDS: usize = 100;

// proves: F-FR-22
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn messages_of_many_tasks_arrive_whole_and_in_the_order_of_each() -> Test {
    let (client, mut server, _peer) = connected(OLD).await?;
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let client = client.clone();
        tasks.spawn(async move {
            for number in 0..SENDS {
                let params = format!(r#"{{"task":{task},"number":{number}}}"#);
                while let Err(error) = client.notify("notifications/x", params.as_str()) {
                    assert_eq!(error.kind(), ErrorKind::Backpressure);
                    tokio::task::yield_now().await;
                }
            }
        });
    }
    let mut next = HashMap::new();
    for _ in 0..TASKS * SENDS {
        let ReceivedMessage::Notification(note) = server.next().await? else {
            panic!("only notifications are sent");
        };
        let (task, number) = numbers(note.params().as_str());
        let expected = next.entry(task).or_insert(0);
        assert_eq!(number, *expected, "of task {task}");
        *expected += 1;
    }
    assert!(next.len() == TASKS && next.values().all(|count| *count == SENDS));
    while let Some(done) = tasks.join_next().await {
        done?;
    }
    Ok(())
}

fn numbers(params: &str) -> (usize, usize) {
    let mut numbers = params.split(|character: char| !character.is_ascii_digit());
    let mut next = || {
        let number = numbers
            .find(|number| !number.is_empty())
            .expect("two numbers");
        number.parse().expect("digits")
    };
    (next(), next())
}

/// A writer that takes a byte, some bytes or none, at random, and hands on what it took when
/// it is flushed.
struct Reluctant<W> {
    writer: W,
    taken: Vec<u8>,
    chance: Chance,
}

/// Numbers that look random, from a seed (SplitMix64).
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for Reluctant<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let take = match self.chance.below(8) {
            0 => {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            1 => return Poll::Ready(Err(io::ErrorKind::Interrupted.into())),
            2 => return Poll::Ready(Err(io::ErrorKind::WouldBlock.into())),
            3 => 2000,
            _ => 1,
        };
        let take = take.min(bytes.len());
        self.taken.extend_from_slice(&bytes[..take]);
        Poll::Ready(Ok(take))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        while !this.taken.is_empty() {
            let written = ready!(Pin::new(&mut this.writer).poll_write(cx, &this.taken))?;
            this.taken.drain(..written);
            if this.chance.below(2) == 0 {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
        Pin::new(&mut this.writer).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_shutdown(cx)
    }
}

// proves: F-FR-21
#[tokio::test(start_paused = true)]
async fn a_reluctant_writer_loses_nothing() -> Test {
    for seed in 0..20 {
        let (transport, mut streams) = wrapped(move |reader, writer| {
            let writer = Reluctant {
                writer,
                taken: Vec::new(),
                chance: Chance(seed),
            };
            Stream::new(reader, writer)
        });
        let client = Client::start(transport, config());
        let mut server = streams.accept(OLD).await?;
        client.ready().await?;
        let lengths = [0, 1, 100, 3000, 70_000, 5, 200_000, 1];
        let sent = lengths.map(|length| format!(r#"{{"text":"{}"}}"#, "é".repeat(length)));
        for params in &sent {
            client.notify("notifications/x", params.as_str())?;
        }
        for params in &sent {
            let note = server.expect_notification("notifications/x").await?;
            assert!(note.params().as_str() == params, "seed {seed}");
        }
        all_is_read(&client, &mut server).await?;
    }
    Ok(())
}
