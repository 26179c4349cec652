//! The web origins whose pages may use a server (DNS rebinding, cross-site requests).

use ::http::header::ORIGIN;
use ::http::{HeaderMap, HeaderValue};

use super::authority::{Authority, AuthorityPattern};
use super::cors::CorsOrigin;
use super::invalid_setting::InvalidHttpSetting;
use super::refusal::{HttpRefusal, RefusalKind, Shown};

/// The web origins that requests may come from.
///
/// Browsers send the header `Origin`, other clients don't: a request without it is allowed. The
/// default is `http` or `https` from `localhost`, `127.0.0.1` or `[::1]` with any port. Any other
/// origin is answered with 403.
#[derive(Clone, Debug, Default)]
pub struct AllowedOrigins(List);

#[derive(Clone, Debug, Default)]
enum List {
    #[default]
    Local,
    Listed(Vec<OriginPattern>),
    Any,
}

#[derive(Clone, Debug)]
struct OriginPattern {
    scheme: Box<str>,
    authority: AuthorityPattern,
}

impl AllowedOrigins {
    /// Creates a list in place of the default. An entry is an origin as browsers send it:
    /// `https://app.example`, or `http://localhost:3000`; `http://localhost:*` has any port.
    ///
    /// ```
    /// use bowline::server::AllowedOrigins;
    ///
    /// let origins = AllowedOrigins::new(["https://app.example", "http://localhost:*"])?;
    /// # Ok::<(), bowline::server::InvalidHttpSetting>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the first entry that is no origin. `null` is none: many different pages send it.
    pub fn new<S: AsRef<str>>(
        entries: impl IntoIterator<Item = S>,
    ) -> Result<Self, InvalidHttpSetting> {
        let parse = |entry: S| {
            let entry = entry.as_ref();
            OriginPattern::parse(entry).ok_or_else(|| {
                InvalidHttpSetting::new("allowed origin", entry, "\"https://host[:port]\"")
            })
        };
        let entries = entries.into_iter().map(parse).collect::<Result<_, _>>()?;
        Ok(Self(List::Listed(entries)))
    }

    /// Allows any origin. Any page that a user opens may then send requests to the server, so
    /// each request must be authenticated.
    pub fn any() -> Self {
        Self(List::Any)
    }

    /// Checks the origin of a request. Returns the one that the headers of the response are for.
    pub(super) fn check(&self, headers: &HeaderMap) -> Result<CorsOrigin, HttpRefusal> {
        let mut values = headers.get_all(ORIGIN).iter();
        let Some(origin) = values.next() else {
            return Ok(CorsOrigin::Absent);
        };
        if values.next().is_some() {
            let message = "the header Origin was sent more than once";
            return Err(HttpRefusal::bad_request(message).counted_as(RefusalKind::Origin));
        }
        if matches!(self.0, List::Any) {
            return Ok(CorsOrigin::Any);
        }
        if self.allows(origin) {
            return Ok(CorsOrigin::Listed(origin.clone()));
        }
        let message = format!(
            "origin {} is not allowed by this server (add it to the allowed origins)",
            Shown(origin.as_bytes())
        );
        Err(HttpRefusal::forbidden(RefusalKind::Origin, message))
    }

    fn allows(&self, origin: &HeaderValue) -> bool {
        let Some((scheme, authority)) = origin.to_str().ok().and_then(parse) else {
            return false;
        };
        match &self.0 {
            List::Local => is_web(scheme) && authority.host.is_local(),
            List::Listed(entries) => entries
                .iter()
                .any(|entry| entry.matches(scheme, &authority)),
            List::Any => true,
        }
    }
}

impl OriginPattern {
    fn parse(text: &str) -> Option<Self> {
        let (scheme, authority) = split_scheme(text)?;
        Some(Self {
            scheme: scheme.into(),
            authority: AuthorityPattern::parse(authority)?,
        })
    }

    fn matches(&self, scheme: &str, authority: &Authority<'_>) -> bool {
        let defaults: &[u16] = match scheme {
            scheme if scheme.eq_ignore_ascii_case("http") => &[80],
            scheme if scheme.eq_ignore_ascii_case("https") => &[443],
            _ => &[],
        };
        self.scheme.eq_ignore_ascii_case(scheme) && self.authority.matches(authority, defaults)
    }
}

fn parse(origin: &str) -> Option<(&str, Authority<'_>)> {
    let (scheme, authority) = split_scheme(origin)?;
    Some((scheme, Authority::parse(authority)?))
}

fn split_scheme(origin: &str) -> Option<(&str, &str)> {
    let (scheme, authority) = origin.split_once("://")?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    is_scheme.then_some((scheme, authority))
}

fn is_web(scheme: &str) -> bool {
    scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: F-HT-10, SE-1, SE-2, SE-4
    #[test]
    fn only_local_origins_are_allowed_by_default() {
        for (origins, expected) in [
            (&[][..], 200),
            (&["http://localhost"], 200),
            (&["https://localhost:3000"], 200),
            (&["http://127.0.0.1:1"], 200),
            (&["http://[::1]:8080"], 200),
            (&["HTTP://LOCALHOST:80"], 200),
            (&["http://evil.example.com"], 403),
            (&["http://localhost.evil.example"], 403),
            (&["http://localhost."], 403),
            (&["https://127.0.0.1.nip.io"], 403),
            (&["chrome-extension://localhost"], 403),
            (&["file://"], 403),
            (&["null"], 403),
            (&[""], 403),
            (&["localhost"], 403),
            (&["http://"], 403),
            (&["http://localhost/"], 403),
            (&["http://user@localhost"], 403),
            (&["http://localhost http://evil.example"], 403),
            (&["http://localhost", "http://localhost"], 400),
        ] {
            check(&AllowedOrigins::default(), origins, expected);
        }
    }

    #[test]
    fn a_list_is_exact() {
        let list = ["https://app.example", "http://dev.example:*", "app://id"];
        let origins = AllowedOrigins::new(list).expect("valid entries");
        for (origin, expected) in [
            ("https://app.example", 200),
            ("https://APP.example:443", 200),
            ("https://app.example:80", 403),
            ("http://app.example", 403),
            ("https://sub.app.example", 403),
            ("http://dev.example:5173", 200),
            ("app://id", 200),
            ("app://id:80", 403),
            ("http://localhost", 403),
            ("null", 403),
        ] {
            check(&origins, &[origin], expected);
        }
        check(&origins, &[], 200);
    }

    #[test]
    fn entries_are_checked() {
        for bad in [
            "",
            "*",
            "null",
            "app.example",
            "https://a/",
            "https://",
            "://a",
            "https://*",
        ] {
            let error = AllowedOrigins::new([bad]).expect_err(bad).to_string();
            assert!(error.starts_with("invalid allowed origin"), "{error}");
        }
    }

    #[test]
    fn any_origin_may_be_allowed_once() {
        for origin in ["null", "http://evil.example", "?"] {
            check(&AllowedOrigins::any(), &[origin], 200);
        }
        check(&AllowedOrigins::any(), &["http://a", "http://b"], 400);
    }

    #[test]
    fn no_origin_costs_no_allocation() {
        let headers = headers(&[]);
        let origins = AllowedOrigins::default();
        let cost = allocation_counter::measure(|| assert!(origins.check(&headers).is_ok()));
        assert_eq!(cost.count_total, 0);
    }

    #[track_caller]
    fn check(allowed: &AllowedOrigins, origins: &[&str], expected: u16) {
        let outcome = allowed.check(&headers(origins));
        let status = outcome.map_or_else(|refusal| refusal.status().as_u16(), |_| 200);
        assert_eq!(status, expected, "{origins:?}");
    }

    fn headers(origins: &[&str]) -> HeaderMap {
        let origins = origins.iter();
        let values = origins.map(|origin| HeaderValue::from_str(origin).expect("a valid value"));
        values.map(|value| (ORIGIN, value)).collect()
    }
}
