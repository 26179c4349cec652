//! URL elicitation. The URL is never opened for the user: it is shown with its host and with
//! warnings, and the user answers if they opened it.

use bowline_types::elicitation::{ElicitAction, ElicitResult, ElicitUrlParams};

use crate::server_requests::prompter::{Input, Prompter, cut, show_text, unknown_command};

/// Shows the URL, and asks if it was opened.
pub(super) async fn ask_to_open(
    prompter: &mut impl Prompter,
    server: &str,
    params: &ElicitUrlParams,
) -> ElicitResult {
    prompter.show(&format!("{server} asks you to open a URL:"));
    show_text(prompter, &params.message);
    for line in url_lines(&params.url) {
        prompter.show(&line);
    }
    prompter.show("open it yourself if you trust it; it is not opened for you");
    loop {
        match Input::parse(prompter.ask("opened? (y)es, (n)o> ").await) {
            Input::Text(text) => match text.to_lowercase().as_str() {
                "y" | "yes" => return accepted(),
                "n" | "no" => return ElicitResult::decline(),
                _ => prompter.show("answer y or n, !decline or !cancel"),
            },
            Input::Empty => {}
            Input::Decline => return ElicitResult::decline(),
            Input::Cancel => return ElicitResult::cancel(),
            Input::Command(command) => prompter.show(&unknown_command(&command)),
        }
    }
}

/// Asks if the call that required the URLs should be sent again.
pub(super) async fn ask_to_retry(prompter: &mut impl Prompter) -> bool {
    prompter.show("the call is sent again after that");
    loop {
        match Input::parse(prompter.ask("press Enter when done, or !cancel> ").await) {
            Input::Empty | Input::Text(_) => return true,
            Input::Decline | Input::Cancel => return false,
            Input::Command(command) => prompter.show(&unknown_command(&command)),
        }
    }
}

/// Returns the result for a URL that was opened. The interaction may not be completed.
pub(super) fn accepted() -> ElicitResult {
    ElicitResult::new(ElicitAction::Accept)
}

/// Returns the lines that show the URL, its host, and warnings about them.
pub(super) fn url_lines(url: &str) -> Vec<String> {
    // The URL is never cut: the part that is left out could be the important one.
    let mut lines = vec![format!("  URL: {url}")];
    let parts = UrlParts::of(url);
    if let Some(parts) = &parts {
        lines.push(format!("  host: {}", cut(parts.host)));
    }
    let warnings = warnings(url, parts.as_ref());
    lines.extend(
        warnings
            .into_iter()
            .map(|warning| format!("  warning: {warning}")),
    );
    lines
}

/// The parts of a URL that identify its host.
#[derive(Debug, PartialEq, Eq)]
struct UrlParts<'a> {
    scheme: &'a str,
    /// The part before `@`.
    user: Option<&'a str>,
    /// The host with its port.
    host: &'a str,
}

impl<'a> UrlParts<'a> {
    /// Parses a URL that has a host (RFC 3986, section 3.2). Returns `None` for others.
    fn of(url: &'a str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        // Browsers treat a backslash as a slash.
        let end = rest.find(['/', '\\', '?', '#']).unwrap_or(rest.len());
        let authority = &rest[..end];
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        (!host.is_empty()).then_some(Self { scheme, user, host })
    }
}

/// Returns the warnings about a URL (client/elicitation, 2025-11-25: warn of ambiguous URLs).
fn warnings(url: &str, parts: Option<&UrlParts<'_>>) -> Vec<&'static str> {
    let Some(UrlParts { scheme, user, host }) = parts else {
        return vec!["not an http or https URL"];
    };
    let scheme = scheme.to_ascii_lowercase();
    let is_loopback = is_loopback(host);
    let is_punycode = host.split('.').any(|part| {
        let beginning = part.get(..4);
        beginning.is_some_and(|prefix| prefix.eq_ignore_ascii_case("xn--"))
    });
    [
        (
            scheme != "https" && scheme != "http",
            "not an http or https URL",
        ),
        (
            scheme == "http" && !is_loopback,
            "the connection is not encrypted",
        ),
        (user.is_some(), "the part before the @ is not the host"),
        (
            !host.is_ascii() || is_punycode,
            "the host name may imitate another one",
        ),
        (
            url.contains(|c: char| c.is_control() || c.is_whitespace() || c == '\\'),
            "the URL has invalid characters",
        ),
    ]
    .into_iter()
    .filter_map(|(is_so, warning)| is_so.then_some(warning))
    .collect()
}

/// Returns `true` if a host is this machine.
fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    matches!(name, "localhost" | "127.0.0.1" | "::1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server_requests::prompter::script::{Script, now};

    fn asked_to_open(lines: &[&str]) -> (String, String) {
        let page = ElicitUrlParams::new("Please\nlook", "https://example.com/a?b=c");
        let mut prompter = Script::of(lines);
        let answer = now(ask_to_open(&mut prompter, "demo", &page));
        assert_eq!(prompter.rest(), 0, "{}", prompter.seen);
        assert_eq!(answer.content, None);
        (answer.action.as_str().to_owned(), prompter.seen)
    }

    // proves: FT-8
    #[test]
    fn a_url_is_shown_and_not_opened() {
        let (sent, seen) = asked_to_open(&["", "what", "!open", "yes"]);
        assert_eq!(sent, "accept");
        let expected = "demo asks you to open a URL:\n  | Please\n  | look\n  \
             URL: https://example.com/a?b=c\n  host: example.com\n\
             open it yourself if you trust it; it is not opened for you\n\
             opened? (y)es, (n)o> \n\
             opened? (y)es, (n)o> what\nanswer y or n, !decline or !cancel\n\
             opened? (y)es, (n)o> !open\n\
             unknown command !open; for text that begins with !, write !!open\n\
             opened? (y)es, (n)o> yes\n";
        assert_eq!(seen, expected);
        assert_eq!(asked_to_open(&["n"]).0, "decline");
        assert_eq!(asked_to_open(&["!decline"]).0, "decline");
        assert_eq!(asked_to_open(&["!cancel"]).0, "cancel");
        assert_eq!(asked_to_open(&[]).0, "cancel");
    }

    // proves: FT-8
    #[test]
    fn the_user_confirms_the_retry() {
        for (lines, expected) in [
            (&[""][..], true),
            (&["yes"], true),
            (&["!what", ""], true),
            (&["!cancel"], false),
            (&["!decline"], false),
            (&[], false),
        ] {
            let mut prompter = Script::of(lines);
            assert_eq!(now(ask_to_retry(&mut prompter)), expected, "{lines:?}");
            assert_eq!(prompter.rest(), 0, "{}", prompter.seen);
        }
    }

    // proves: F-CL-01
    #[test]
    fn the_host_and_warnings_of_a_url_are_shown() {
        let web = "not an http or https URL";
        let read = "the connection is not encrypted";
        let user = "the part before the @ is not the host";
        let alike = "the host name may imitate another one";
        let odd = "the URL has invalid characters";
        for (url, host, warnings) in [
            ("https://example.com", Some("example.com"), &[][..]),
            ("HTTPS://example.com:8443/x", Some("example.com:8443"), &[]),
            ("http://localhost:80/x", Some("localhost:80"), &[]),
            ("http://[::1]:80/", Some("[::1]:80"), &[]),
            ("http://example.com", Some("example.com"), &[read]),
            (
                "https://bank.com@evil.org/bank.com",
                Some("evil.org"),
                &[user],
            ),
            ("https://evil.org?@bank.com", Some("evil.org"), &[]),
            ("https://evil.org\\@bank.com", Some("evil.org"), &[odd]),
            ("https://b\u{e4}nk.com", Some("b\u{e4}nk.com"), &[alike]),
            (
                "https://a.XN--bnk-pla.com",
                Some("a.XN--bnk-pla.com"),
                &[alike],
            ),
            ("javascript:alert(1)", None, &[web]),
            ("file:///etc/passwd", None, &[web]),
            ("ftp://example.com", Some("example.com"), &[web]),
            ("", None, &[web]),
        ] {
            let mut expected = vec![format!("  URL: {url}")];
            expected.extend(host.map(|host| format!("  host: {host}")));
            expected.extend(
                warnings
                    .iter()
                    .map(|warning| format!("  warning: {warning}")),
            );
            assert_eq!(url_lines(url), expected);
        }
        let hostile = url_lines("https://a\u{1b}[2J.com");
        assert_eq!(hostile[1], "  host: a\\u{1b}[2J.com");
        assert_eq!(hostile[2], format!("  warning: {odd}"));
    }
}
