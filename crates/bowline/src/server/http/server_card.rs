//! The server card: what a client may know of a server before it connects.
//!
//! A draft (SEP-2127, schema v2), so it is off by default and may change with it. It has no
//! capabilities and no tools: a client asks the server for these.

use ::http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_TYPE};
use ::http::request::Parts;
use ::http::{HeaderValue, Method, Response};
use bowline_proto::Payload;
use bowline_types::{Era, Revision, Revisions};
use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::HttpConfig;
use super::body::HttpBody;
use super::head_checks::check_head;
use super::invalid_setting::InvalidHttpSetting;
use super::refusal::HttpRefusal;
use crate::server::server_core::ServerCore;

/// What the card of a server contains beside its version, title, icons and web site: for
/// [`HttpConfig::server_card`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerCard {
    name: Box<str>,
    description: Box<str>,
}

impl ServerCard {
    /// Creates the card of a server with a name that is unique in the world: a domain in reverse
    /// order, and a name below it.
    ///
    /// ```
    /// use bowline::server::{HttpConfig, PublicUrl, ServerCard};
    ///
    /// let card = ServerCard::new("com.example/weather", "The weather of all places")?;
    /// let config = HttpConfig::new()
    ///     .public_url(PublicUrl::new("https://mcp.example.com")?)
    ///     .server_card(card);
    /// # let _ = config;
    /// # Ok::<(), bowline::server::InvalidHttpSetting>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the name is not of this form or longer than 200 characters, or the description is empty
    /// or longer than 100 characters.
    pub fn new(
        name: impl AsRef<str>,
        description: impl AsRef<str>,
    ) -> Result<Self, InvalidHttpSetting> {
        let (name, description) = (name.as_ref(), description.as_ref());
        if !is_name(name) {
            let expected = "\"com.example/name\"";
            return Err(InvalidHttpSetting::new("server card name", name, expected));
        }
        if !(1..=MAX_TEXT).contains(&description.chars().count()) {
            let kind = "server card description";
            let expected = "1 to 100 characters";
            return Err(InvalidHttpSetting::new(kind, description, expected));
        }
        Ok(Self {
            name: name.into(),
            description: description.into(),
        })
    }

    /// Returns the card as a client sees it.
    fn document(&self, core: &ServerCore, config: &HttpConfig) -> Bytes {
        let info = Payload::encode(core.config.server_info(), Revision::LATEST);
        let info = info
            .ok()
            .and_then(|info| serde_json::from_str(info.as_str()).ok());
        let info: Map<String, Value> = info.unwrap_or_default();
        let mut card = Map::new();
        card.insert("$schema".to_owned(), SCHEMA.into());
        card.insert("name".to_owned(), (*self.name).into());
        card.insert("description".to_owned(), (*self.description).into());
        for (name, value) in info {
            let is_short = |text: &str| (1..=MAX_TEXT).contains(&text.chars().count());
            let is_valid = match &*name {
                "version" | "websiteUrl" | "icons" => true,
                "title" => value.as_str().is_some_and(is_short),
                _ => false,
            };
            if is_valid {
                card.insert(name, value);
            }
        }
        let remotes = remotes(core.config.supported_revisions(), config);
        if !remotes.is_empty() {
            card.insert("remotes".to_owned(), remotes.into());
        }
        Value::from(card).to_string().into()
    }
}

fn is_name(name: &str) -> bool {
    let is_valid = |part: &str, others: &[u8]| {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || others.contains(&byte);
        !part.is_empty() && part.bytes().all(is_allowed)
    };
    name.len() <= MAX_NAME
        && name
            .split_once('/')
            .is_some_and(|(domain, name)| is_valid(domain, b".-") && is_valid(name, b"._-"))
}

/// Returns the endpoints. Their URLs are known where the public one is set.
fn remotes(revisions: Revisions, config: &HttpConfig) -> Vec<Value> {
    let Some(url) = &config.public_url else {
        return Vec::new();
    };
    let remote = |kind: &str, path: &str, revisions: Revisions| {
        let versions: Vec<_> = revisions.iter().map(Revision::as_str).collect();
        json!({"type": kind, "url": url.url_of(path), "supportedProtocolVersions": versions})
    };
    let mut remotes = vec![remote("streamable-http", &config.path, revisions)];
    if let Some(path) = &config.legacy_sse {
        let revisions = revisions.intersection(Era::Handshake.revisions());
        remotes.push(remote("sse", path, revisions));
    }
    remotes
}

/// The card of a server, ready to be sent.
#[derive(Debug)]
pub(super) struct CardDocument(Bytes);

impl CardDocument {
    /// Returns the card of a server, if one is configured.
    pub(super) fn new(core: &ServerCore, config: &HttpConfig) -> Option<Self> {
        let card = config.server_card.as_ref()?;
        Some(Self(card.document(core, config)))
    }

    /// Returns `true` if a request is for the card: its path is that of the endpoint and one part
    /// more.
    pub(super) fn is_requested(parts: &Parts) -> bool {
        parts.uri.path().ends_with(PATH)
    }

    /// Answers a request for the card. It is public, also for the pages of any origin.
    pub(super) fn respond(
        &self,
        config: &HttpConfig,
        parts: &Parts,
    ) -> Result<Response<HttpBody>, HttpRefusal> {
        check_head(config, parts)?;
        if parts.method != Method::GET && parts.method != Method::HEAD {
            return Err(HttpRefusal::method_not_allowed(&parts.method, "GET, HEAD"));
        }
        let mut response = Response::new(HttpBody::full(self.0.clone()));
        for (name, value) in [
            (CONTENT_TYPE, "application/mcp-server-card+json"),
            (CACHE_CONTROL, "public, max-age=3600"),
            (ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        ] {
            let value = HeaderValue::from_static(value);
            response.headers_mut().insert(name, value);
        }
        Ok(response)
    }
}

/// Where the card is, below the endpoint.
pub(super) const PATH: &str = "/server-card";

const SCHEMA: &str = "https://static.modelcontextprotocol.io/schemas/v2/server-card.schema.json";
const MAX_NAME: usize = 200;
const MAX_TEXT: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_a_domain() {
        let longest = format!("a/{}", "b".repeat(198));
        for (name, is_valid) in [
            ("com.example/weather", true),
            ("a-b.C1/x_y.z-0", true),
            (&*longest, true),
            (&format!("{longest}b"), false),
            ("weather", false),
            ("/weather", false),
            ("com.example/", false),
            ("com.example/a/b", false),
            ("com_example/a", false),
            ("com.example/ä", false),
        ] {
            assert_eq!(ServerCard::new(name, "d").is_ok(), is_valid, "{name}");
        }
    }

    #[test]
    fn a_description_is_short() {
        for (length, is_valid) in [(0, false), (1, true), (100, true), (101, false)] {
            let card = ServerCard::new("a/b", "ä".repeat(length));
            assert_eq!(card.is_ok(), is_valid, "{length}");
        }
    }
}
