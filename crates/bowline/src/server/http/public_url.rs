//! The URL at which clients see a server.

use ::http::Uri;
use ::http::uri::Scheme;

use super::invalid_setting::InvalidHttpSetting;

/// The URL at which clients see the root path of a server, where a proxy changes it: for
/// [`HttpConfig::public_url`](super::HttpConfig::public_url).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl {
    origin: Box<str>,
    /// Without a slash at its end: empty for the root.
    path: Box<str>,
}

impl PublicUrl {
    /// Creates a URL, such as `https://mcp.example` or `https://example.com/tools`. A slash at its
    /// end makes no difference.
    ///
    /// ```
    /// use bowline::server::{HttpConfig, PublicUrl};
    ///
    /// // A proxy passes https://example.com/tools/mcp on as /mcp.
    /// let config = HttpConfig::new().public_url(PublicUrl::new("https://example.com/tools")?);
    /// # let _ = config;
    /// # Ok::<(), bowline::server::InvalidHttpSetting>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When it is no `http` or `https` URL, or has a user, a query or a fragment.
    pub fn new(url: impl AsRef<str>) -> Result<Self, InvalidHttpSetting> {
        let url = url.as_ref();
        let expected = "\"https://host[:port][/path]\"";
        Self::parse(url).ok_or_else(|| InvalidHttpSetting::new("public URL", url, expected))
    }

    fn parse(url: &str) -> Option<Self> {
        if url.contains(['#', '?', '@']) {
            return None;
        }
        let uri: Uri = url.parse().ok()?;
        let scheme = uri.scheme()?;
        if *scheme != Scheme::HTTP && *scheme != Scheme::HTTPS {
            return None;
        }
        Some(Self {
            origin: format!("{scheme}://{}", uri.authority()?).into(),
            path: uri.path().trim_end_matches('/').into(),
        })
    }

    /// Returns the path at which clients see a path of the server.
    pub(super) fn path_of(&self, path: &str) -> String {
        format!("{}{path}", self.path)
    }

    /// Returns the URL at which clients see a path of the server.
    pub(super) fn url_of(&self, path: &str) -> String {
        format!("{}{}{path}", self.origin, self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_below_the_url() {
        for (url, path, full) in [
            ("https://a.example", "/sse", "https://a.example/sse"),
            ("https://a.example/", "/sse", "https://a.example/sse"),
            ("http://[::1]:80/b/c", "/b/c/sse", "http://[::1]:80/b/c/sse"),
            ("https://a.example/b/", "/b/sse", "https://a.example/b/sse"),
        ] {
            let url = PublicUrl::new(url).expect("a valid URL");
            assert_eq!(url.path_of("/sse"), path);
            assert_eq!(url.url_of("/sse"), full);
        }
    }

    #[test]
    fn a_public_url_that_is_no_url_is_refused() {
        for url in [
            "",
            "/base",
            "a.example",
            "ftp://a.example",
            "https://",
            "https://user@a.example",
            "https://a.example?b",
            "https://a.example/#c",
            "https://a.example/\n",
            "https://a .example",
        ] {
            let error = PublicUrl::new(url).expect_err(url).to_string();
            assert!(error.starts_with("invalid public URL"), "{error}");
        }
    }
}
