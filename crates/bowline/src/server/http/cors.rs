//! What browsers need to let a page of another origin use the server (CORS).

use ::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, VARY,
};
use ::http::request::Parts;
use ::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};

use super::refusal::HttpRefusal;

/// The origin of a request, after [`AllowedOrigins`](super::AllowedOrigins) has allowed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CorsOrigin {
    /// There was none.
    Absent,
    /// An origin of the list.
    Listed(HeaderValue),
    /// Some origin, where all are allowed.
    Any,
}

impl CorsOrigin {
    /// Adds the headers with which a browser lets the page read a response. For each response,
    /// errors included, once.
    pub(super) fn add_headers(&self, headers: &mut HeaderMap) {
        let origin = match self {
            Self::Absent => return,
            Self::Listed(origin) => {
                headers.append(VARY, HeaderValue::from_static("Origin"));
                origin.clone()
            }
            Self::Any => HeaderValue::from_static("*"),
        };
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(
            ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static(EXPOSED),
        );
    }
}

/// Answers a request with the method `OPTIONS`: a preflight of an allowed origin with 204.
/// `methods` are those of the endpoint, as in `Allow`. [`CorsOrigin::add_headers`] is the
/// caller's.
///
/// A preflight carries no credentials, so it is answered before authorization.
///
/// # Errors
///
/// Returns 405 for any other `OPTIONS`.
pub(super) fn answer_options(
    parts: &Parts,
    origin: &CorsOrigin,
    methods: &'static str,
) -> Result<Response<()>, HttpRefusal> {
    let is_preflight = parts.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    if *origin == CorsOrigin::Absent || !is_preflight {
        return Err(HttpRefusal::method_not_allowed(&parts.method, methods));
    }
    let mut response = Response::new(());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(
        ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static(methods),
    );
    headers.insert(
        ACCESS_CONTROL_ALLOW_HEADERS,
        allowed_headers(&parts.headers),
    );
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(MAX_AGE));
    Ok(response)
}

/// Returns the headers that a request may have: those of the protocol, and the requested ones of
/// tool parameters, which CORS can't allow by their prefix.
fn allowed_headers(headers: &HeaderMap) -> HeaderValue {
    let requested = headers
        .get_all(ACCESS_CONTROL_REQUEST_HEADERS)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|names| names.split(','))
        .map(str::trim)
        .filter(|name| is_param_header(name))
        .take(MAX_PARAM_HEADERS);
    let mut allowed = String::from(ALLOWED);
    for name in requested {
        allowed.push_str(", ");
        allowed.push_str(name);
    }
    HeaderValue::try_from(allowed).unwrap_or(HeaderValue::from_static(ALLOWED))
}

fn is_param_header(name: &str) -> bool {
    name.len() > PARAM_PREFIX.len()
        && name.len() <= MAX_PARAM_HEADER
        && name
            .get(..PARAM_PREFIX.len())
            .is_some_and(|prefix| prefix.eq_ignore_ascii_case(PARAM_PREFIX))
        && HeaderName::try_from(name).is_ok()
}

const ALLOWED: &str = "Content-Type, Accept, Authorization, MCP-Protocol-Version, Mcp-Session-Id, \
                       Last-Event-ID, Mcp-Method, Mcp-Name";
const EXPOSED: &str = "Mcp-Session-Id, WWW-Authenticate, Retry-After, MCP-Protocol-Version";
const PARAM_PREFIX: &str = "mcp-param-";

/// The most headers of parameters that one preflight allows, and the longest name.
const MAX_PARAM_HEADERS: usize = 32;
const MAX_PARAM_HEADER: usize = 128;

/// Two hours, the most that Chromium keeps. A list of origins seldom changes.
const MAX_AGE: &str = "7200";

#[cfg(test)]
mod tests {
    use super::*;

    const METHODS: &str = "GET, POST, DELETE";

    // proves: F-HT-18
    #[test]
    fn only_a_preflight_of_an_allowed_origin_is_answered() {
        let listed = CorsOrigin::Listed(HeaderValue::from_static("http://localhost"));
        for (origin, has_method, expected) in [
            (&listed, true, 204),
            (&CorsOrigin::Any, true, 204),
            (&CorsOrigin::Absent, true, 405),
            (&listed, false, 405),
        ] {
            let method = has_method.then_some("POST");
            match answer_options(&parts(method, &[]), origin, METHODS) {
                Ok(response) => assert_eq!(response.status(), expected),
                Err(refusal) => {
                    assert_eq!(refusal.status(), expected);
                    assert_eq!(refusal.into_response().headers()["allow"], METHODS);
                }
            }
        }
    }

    #[test]
    fn a_preflight_allows_what_the_protocol_uses() {
        let parts = parts(
            Some("POST"),
            &["authorization, Mcp-Param-Region", "x-other"],
        );
        let response = answer_options(&parts, &CorsOrigin::Any, METHODS).expect("a preflight");
        let headers = response.headers();
        assert_eq!(headers["access-control-allow-methods"], METHODS);
        let allowed = format!("{ALLOWED}, Mcp-Param-Region");
        assert_eq!(headers["access-control-allow-headers"], allowed.as_str());
        assert_eq!(headers["access-control-max-age"], "7200");
        assert!(!headers.contains_key("access-control-allow-credentials"));
    }

    #[test]
    fn requested_parameters_are_bounded() {
        let longest = format!("mcp-param-{}", "a".repeat(MAX_PARAM_HEADER - 10));
        for (name, is_allowed) in [
            ("mcp-param-a", true),
            ("MCP-PARAM-a!#$%&'*+-.^_`|~", true),
            ("mcp-param-", false),
            ("mcp-param-a b", false),
            ("mcp-param-a:b", false),
            ("mcp-param", false),
            ("mcp-other", false),
            (longest.as_str(), true),
            (&format!("{longest}a"), false),
        ] {
            let allowed = allowed_headers(&parts(None, &[name]).headers);
            let is_listed = allowed.to_str().expect("ASCII").ends_with(name);
            assert_eq!(is_listed, is_allowed, "{name}");
        }
        let many = vec!["mcp-param-a"; MAX_PARAM_HEADERS + 1].join(",");
        let allowed = allowed_headers(&parts(None, &[&many]).headers);
        let count = allowed
            .to_str()
            .expect("ASCII")
            .matches("mcp-param-a")
            .count();
        assert_eq!(count, MAX_PARAM_HEADERS);
    }

    // proves: F-HT-18
    #[test]
    fn only_allowed_origins_may_read_responses() {
        let origin = HeaderValue::from_static("https://app.example");
        for (cors, expected, varies) in [
            (CorsOrigin::Absent, None, false),
            (CorsOrigin::Any, Some("*"), false),
            (
                CorsOrigin::Listed(origin),
                Some("https://app.example"),
                true,
            ),
        ] {
            let mut headers = HeaderMap::new();
            cors.add_headers(&mut headers);
            let value = headers.get(ACCESS_CONTROL_ALLOW_ORIGIN);
            assert_eq!(value.map(|value| value.to_str().expect("ASCII")), expected);
            assert_eq!(headers.contains_key(VARY), varies);
            let is_exposed = headers.contains_key(ACCESS_CONTROL_EXPOSE_HEADERS);
            assert_eq!(is_exposed, expected.is_some());
        }
    }

    fn parts(method: Option<&str>, names: &[&str]) -> Parts {
        let mut request = ::http::Request::builder().method("OPTIONS");
        if let Some(method) = method {
            request = request.header(ACCESS_CONTROL_REQUEST_METHOD, method);
        }
        for name in names {
            request = request.header(ACCESS_CONTROL_REQUEST_HEADERS, *name);
        }
        request.body(()).expect("a valid request").into_parts().0
    }
}
