use std::future::{Ready, ready};

use http_body_util::{BodyExt as _, Full};

use super::*;

#[derive(Clone)]
struct Hello;

impl Service<Request<()>> for Hello {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        ready(Ok(Response::new(Full::from("hello"))))
    }
}

fn endpoint(path: &str, is_draining: watch::Receiver<bool>) -> Endpoint<Hello> {
    let config = HttpConfig::new().path(path);
    Endpoint::new(Hello, &config, is_draining, Arc::default())
}

async fn answer(endpoint: &Endpoint<Hello>, method: Method, path: &str) -> (u16, String) {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .body(())
        .unwrap();
    let Ok(response) = endpoint.clone().call(request).await;
    let status = response.status().as_u16();
    let body = response.collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn only_the_endpoint_is_served() {
    let (_end, is_draining) = watch::channel(false);
    let endpoint = endpoint("/base/mcp", is_draining.clone());
    for path in ["/base/mcp", "/base/mcp/", "/base/mcp?a=b"] {
        let (status, body) = answer(&endpoint, Method::POST, path).await;
        assert_eq!((status, &*body), (200, "hello"), "{path}");
    }
    for path in [
        "/",
        "/base",
        "/base/mcp/x",
        "/base/mcpx",
        "/base/mcp//",
        "//base/mcp",
    ] {
        let (status, body) = answer(&endpoint, Method::POST, path).await;
        assert_eq!(status, 404, "{path}");
        let error: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert!(error.get("id").is_none() && error["error"]["code"] == -32600);
        assert!(
            error["error"]["message"]
                .as_str()
                .unwrap()
                .contains("/base/mcp")
        );
    }
    let root = self::endpoint("/", is_draining);
    assert_eq!(answer(&root, Method::POST, "/").await.0, 200);
    assert_eq!(answer(&root, Method::POST, "/mcp").await.0, 404);
}

#[tokio::test]
async fn readiness_ends_with_the_server() {
    let (end, is_draining) = watch::channel(false);
    let endpoint = endpoint("/mcp", is_draining);
    let status = async |path| answer(&endpoint, Method::GET, path).await.0;
    assert_eq!(
        (status("/healthz").await, status("/readyz").await),
        (200, 200)
    );
    end.send_replace(true);
    assert_eq!(
        (status("/healthz").await, status("/readyz").await),
        (200, 503)
    );
    assert_eq!(answer(&endpoint, Method::POST, "/healthz").await.0, 405);
}
