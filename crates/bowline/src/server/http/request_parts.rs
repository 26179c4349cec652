//! The HTTP parts of a request, for its handler.

use std::fmt;
use std::sync::Arc;

use ::http::{Extensions, HeaderMap, Method, Uri, Version, header, request};

use super::forwarded::{ClientAddr, TrustedProxies};
use crate::server::context::Context;

/// The HTTP parts of the request in which a message arrived: its method, URI and headers, and what
/// layers have added to its [extensions](Self::extensions), such as the address of the peer.
///
/// `Authorization`, `Proxy-Authorization` and `Cookie` are not among the headers: a token must not
/// reach what a handler calls or logs. [Authentication](super::HttpConfig::authenticate) puts the
/// [`Principal`](crate::server::Principal) into the extensions.
///
/// A handler gets it with [`Context::http_request`], or as an argument by
/// [`Extension`](crate::server::Extension).
#[derive(Clone)]
pub struct HttpRequestParts(Arc<Inner>);

struct Inner {
    method: Method,
    uri: Uri,
    version: Version,
    headers: HeaderMap,
    extensions: Extensions,
    client: ClientAddr,
}

impl HttpRequestParts {
    pub(super) fn new(parts: request::Parts, proxies: &TrustedProxies) -> Self {
        let client = proxies.client(&parts);
        let mut headers = parts.headers;
        // Removing one would hash its name, also where it isn't there.
        if headers.keys().any(|name| SECRET_HEADERS.contains(name)) {
            for secret in SECRET_HEADERS {
                headers.remove(secret);
            }
        }
        Self(Arc::new(Inner {
            method: parts.method,
            uri: parts.uri,
            version: parts.version,
            headers,
            extensions: parts.extensions,
            client,
        }))
    }

    /// Returns the method of the request.
    pub fn method(&self) -> &Method {
        &self.0.method
    }

    /// Returns the URI of the request.
    pub fn uri(&self) -> &Uri {
        &self.0.uri
    }

    /// Returns the HTTP version.
    pub fn version(&self) -> Version {
        self.0.version
    }

    /// Returns the headers, without credentials.
    pub fn headers(&self) -> &HeaderMap {
        &self.0.headers
    }

    /// Returns the client's address and scheme, as far as they are known: behind [trusted
    /// proxies](super::HttpConfig::trusted_proxies) they are not those of the connection.
    pub fn client(&self) -> &ClientAddr {
        &self.0.client
    }

    /// Returns what layers and the listener have added to the request.
    pub fn extensions(&self) -> &Extensions {
        &self.0.extensions
    }
}

/// The headers that handlers don't get (AU-65).
const SECRET_HEADERS: [header::HeaderName; 3] = [
    header::AUTHORIZATION,
    header::PROXY_AUTHORIZATION,
    header::COOKIE,
];

/// Prints no values of headers.
impl fmt::Debug for HttpRequestParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpRequestParts")
            .field("method", &self.0.method)
            .field("version", &self.0.version)
            .finish_non_exhaustive()
    }
}

impl Context {
    /// Returns the HTTP parts of the request, where it arrived over HTTP.
    pub fn http_request(&self) -> Option<HttpRequestParts> {
        self.extension()
    }
}
