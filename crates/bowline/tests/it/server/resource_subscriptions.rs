//! Subscriptions whose handler takes its time, requested at once.

use std::sync::Arc;
use std::time::Duration;

use bowline::server::{Context, Handler, Server, ServerFeatures};
use bowline::types::capabilities::{ResourcesCapability, ServerCapabilities};
use bowline::types::{ErrorObject, Revision};
use serde_json::Value;
use tokio::sync::{Semaphore, mpsc};

use super::line_client::LineClient;

/// Records the calls, and accepts a subscription when the test allows it.
struct Slow {
    lets: Arc<Semaphore>,
    received: mpsc::UnboundedSender<String>,
}

impl Handler for Slow {
    fn capabilities(&self) -> ServerCapabilities {
        let resources = ResourcesCapability::new().subscribe(true);
        ServerCapabilities::new().resources(resources)
    }

    async fn on_subscribe(&self, uri: &str, _: &Context) -> Result<(), ErrorObject> {
        self.received
            .send(format!("on {uri}"))
            .expect("it is heard");
        let permit = self.lets.acquire().await.expect("it is open");
        permit.forget();
        Ok(())
    }

    fn on_unsubscribe(&self, uri: &str, _: &Context) {
        // The test may be over.
        let _ = self.received.send(format!("off {uri}"));
    }
}

struct World {
    features: ServerFeatures,
    client: LineClient,
    lets: Arc<Semaphore>,
    received: mpsc::UnboundedReceiver<String>,
}

impl World {
    async fn new() -> Self {
        let (received, hears) = mpsc::unbounded_channel();
        let lets = Arc::new(Semaphore::new(0));
        let slow = Slow {
            lets: Arc::clone(&lets),
            received,
        };
        let server = Server::with_handler("slow", "1", slow);
        let features = server.features();
        let running = server.build().expect("it can be served");
        let mut client = LineClient::open(&running);
        client.begin(Revision::V2025_11_25).await;
        Self {
            features,
            client,
            lets,
            received: hears,
        }
    }

    async fn write_line(&mut self, what: &str, uri: &str) -> u64 {
        let params = format!(r#"{{"uri":"{uri}"}}"#);
        self.client
            .send(&format!("resources/{what}"), &params)
            .await
    }

    /// Accepts so many subscriptions, once all requests were read.
    async fn lets(&mut self, count: usize) {
        self.client.ask("ping", "{}").await;
        self.lets.add_permits(count);
    }

    async fn is_done(&mut self, request: u64) {
        let answer = self.client.answer(request).await;
        assert!(answer["result"].is_object(), "{answer}");
    }

    /// The calls of the handler so far.
    fn heard(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.received.try_recv().ok()).collect()
    }

    /// Returns `true` if the client is notified of a change.
    async fn is_told(&mut self, uri: &str) -> bool {
        self.features.notify_resource_updated(uri);
        // Notifications are sent at most ten times a second.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let ping = self.client.send("ping", "{}").await;
        let received = self.client.receive().await;
        if received["method"] == "notifications/resources/updated" {
            self.client.answer(ping).await;
            true
        } else {
            assert_eq!(received["id"], Value::from(ping), "{received}");
            false
        }
    }
}

// proves: SV-3
#[tokio::test(start_paused = true)]
async fn two_concurrent_subscribe_requests_are_one_subscription() {
    let mut world = World::new().await;
    let first = world.write_line("subscribe", "a:").await;
    let second = world.write_line("subscribe", "a:").await;
    world.lets(2).await;
    world.is_done(first).await;
    world.is_done(second).await;
    assert_eq!(world.heard(), ["on a:"], "and it is not over");
    assert!(world.is_told("a:").await);
}

// proves: SV-3
#[tokio::test(start_paused = true)]
async fn the_last_request_about_a_resource_wins() {
    let mut world = World::new().await;
    let on = world.write_line("subscribe", "a:").await;
    let off = world.write_line("unsubscribe", "a:").await;
    // Another resource doesn't wait for this one.
    let other = world.write_line("unsubscribe", "b:").await;
    world.is_done(other).await;
    world.lets(1).await;
    world.is_done(on).await;
    world.is_done(off).await;
    assert_eq!(world.heard(), ["on a:", "off a:"]);
    assert!(!world.is_told("a:").await);

    let mut requests = Vec::new();
    for what in ["subscribe", "unsubscribe", "subscribe"] {
        requests.push(world.write_line(what, "a:").await);
    }
    world.lets(2).await;
    for request in requests {
        world.is_done(request).await;
    }
    assert_eq!(world.heard(), ["on a:", "off a:", "on a:"]);
    assert!(world.is_told("a:").await);
}

// proves: SV-3
#[tokio::test(start_paused = true)]
async fn a_cancelled_request_lets_no_other_overtake() {
    let mut world = World::new().await;
    let on = world.write_line("subscribe", "a:").await;
    let given_up = world.write_line("unsubscribe", "a:").await;
    let off = world.write_line("unsubscribe", "a:").await;
    world.lets(0).await;
    world.client.cancel(given_up).await;
    // Its time is over.
    tokio::time::sleep(Duration::from_secs(1)).await;
    world.lets(1).await;
    world.is_done(on).await;
    world.is_done(off).await;
    assert_eq!(world.heard(), ["on a:", "off a:"]);
    assert!(!world.is_told("a:").await);
}

// proves: SV-3
#[tokio::test(start_paused = true)]
async fn a_cancelled_subscription_does_not_begin() {
    let mut world = World::new().await;
    let on = world.write_line("subscribe", "a:").await;
    world.lets(0).await;
    world.client.cancel(on).await;
    // It agrees before its time is over.
    world.lets(1).await;
    assert!(!world.is_told("a:").await);
    assert_eq!(world.heard(), ["on a:", "off a:"]);
}
