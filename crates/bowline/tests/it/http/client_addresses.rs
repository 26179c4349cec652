//! The address and scheme of a client, as handlers and authentication see them.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bowline::server::{
    AuthenticationRefusal, ClientAddr, Context, HttpConfig, HttpRequestHead, Principal, Server,
    TrustedProxies,
};
use bowline::transport::PeerAddr;
use serde_json::json;

use super::support::HttpClient;

fn describe(client: &ClientAddr) -> String {
    let ip = client.ip().map(|ip| ip.to_string());
    let scheme = client.scheme().map(|scheme| scheme.as_str());
    format!("{} {}", ip.unwrap_or_default(), scheme.unwrap_or_default())
}

// proves: HS-16
#[tokio::test]
async fn client_addresses_are_those_that_trusted_proxies_forward() {
    let cases = [
        // The peer, what it forwards, and the client.
        (
            "10.0.0.1:5",
            Some(("192.0.2.7", "https")),
            "192.0.2.7 https",
        ),
        (
            "10.0.0.1:5",
            Some(("192.0.2.7, 10.0.0.2", "https")),
            "192.0.2.7 https",
        ),
        (
            "10.0.0.1:5",
            Some(("6.6.6.6, 192.0.2.7", "http")),
            "192.0.2.7 http",
        ),
        ("10.0.0.1:5", None, "10.0.0.1 "),
        ("192.0.2.9:5", Some(("6.6.6.6", "https")), "192.0.2.9 "),
        (
            "[::ffff:10.0.0.1]:5",
            Some(("192.0.2.7", "https")),
            "192.0.2.7 https",
        ),
    ];
    let hook_saw = Arc::new(Mutex::new(String::new()));
    let seen = Arc::clone(&hook_saw);
    let hook = move |head: HttpRequestHead| {
        *seen.lock().unwrap() = describe(head.client());
        async { Ok::<_, AuthenticationRefusal>(Principal::new("ann")) }
    };
    let server = Server::new("test", "1.0.0").tool("client", "Tells", async |cx: Context| {
        describe(cx.http_request().expect("it came over HTTP").client())
    });
    let proxies = TrustedProxies::new(["10.0.0.0/8"]).unwrap();
    let config = HttpConfig::new()
        .trusted_proxies(proxies)
        .authenticate(hook);
    let client = HttpClient::with_config(server, config);
    for (peer, forwarded, expected) in cases {
        let peer: SocketAddr = peer.parse().unwrap();
        let mut client = client.clone().extension(PeerAddr::from(peer));
        if let Some((for_, proto)) = forwarded {
            client = client
                .header("x-forwarded-for", for_)
                .header("x-forwarded-proto", proto);
        }
        let reply = client
            .stateless(1, "tools/call", json!({"name": "client"}))
            .await;
        let body = reply.json().await;
        assert_eq!(body["result"]["content"][0]["text"], expected);
        assert_eq!(*hook_saw.lock().unwrap(), expected);
    }
    // A stream without addresses.
    let reply = client
        .stateless(1, "tools/call", json!({"name": "client"}))
        .await;
    assert_eq!(reply.json().await["result"]["content"][0]["text"], " ");
}
