//! A page that a server wants a person to open. It is never opened for them: they see where it
//! leads, and say what they did.

use bowline_types::elicitation::{ElicitAction, ElicitResult, ElicitUrlParams};

use crate::server_requests::prompter::{Person, Said, cut, show_text, unknown_command};

/// Shows the page, and asks whether it was opened.
pub(super) async fn visit(
    person: &mut impl Person,
    server: &str,
    page: &ElicitUrlParams,
) -> ElicitResult {
    person.show(&format!("{server} asks you to open a URL:"));
    show_text(person, &page.message);
    for line in lines(&page.url) {
        person.show(&line);
    }
    person.show("open it yourself if you trust it; it is not opened for you");
    loop {
        match Said::of(person.ask("opened? (y)es, (n)o> ").await) {
            Said::Text(text) => match text.to_lowercase().as_str() {
                "y" | "yes" => return accepted(),
                "n" | "no" => return ElicitResult::decline(),
                _ => person.show("answer y or n, !decline or !cancel"),
            },
            Said::Nothing => {}
            Said::Decline => return ElicitResult::decline(),
            Said::Cancel => return ElicitResult::cancel(),
            Said::Command(command) => person.show(&unknown_command(&command)),
        }
    }
}

/// Asks whether the call that needs the pages is to be made again.
pub(super) async fn is_done(person: &mut impl Person) -> bool {
    person.show("the call is made again when you are done there");
    loop {
        match Said::of(person.ask("press Enter when done, or !cancel> ").await) {
            Said::Nothing | Said::Text(_) => return true,
            Said::Decline | Said::Cancel => return false,
            Said::Command(command) => person.show(&unknown_command(&command)),
        }
    }
}

/// That the page was opened, which says nothing of what happened there.
pub(super) fn accepted() -> ElicitResult {
    ElicitResult::new(ElicitAction::Accept)
}

/// The URL, its host, and what is odd about them.
pub(super) fn lines(url: &str) -> Vec<String> {
    // All of it, however long: what is left out could be the point.
    let mut lines = vec![format!("  URL: {url}")];
    let place = Place::of(url);
    if let Some(place) = &place {
        lines.push(format!("  host: {}", cut(place.host)));
    }
    let doubts = doubts(url, place.as_ref());
    lines.extend(
        doubts
            .into_iter()
            .map(|doubt| format!("  warning: {doubt}")),
    );
    lines
}

/// Where a URL leads.
#[derive(Debug, PartialEq, Eq)]
struct Place<'a> {
    scheme: &'a str,
    /// What stands before an `@`.
    user: Option<&'a str>,
    /// With its port.
    host: &'a str,
}

impl<'a> Place<'a> {
    /// Of a URL that has a host (RFC 3986, section 3.2).
    fn of(url: &'a str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        // Browsers take a backslash for a slash.
        let end = rest.find(['/', '\\', '?', '#']).unwrap_or(rest.len());
        let authority = &rest[..end];
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        (!host.is_empty()).then_some(Self { scheme, user, host })
    }
}

/// Why somebody should look twice (client/elicitation, 2025-11-25: warn of ambiguous URLs).
fn doubts(url: &str, place: Option<&Place<'_>>) -> Vec<&'static str> {
    let Some(Place { scheme, user, host }) = place else {
        return vec!["not an http or https URL"];
    };
    let scheme = scheme.to_ascii_lowercase();
    let is_here = is_here(host);
    let is_disguised = host.split('.').any(|part| {
        let beginning = part.get(..4);
        beginning.is_some_and(|it| it.eq_ignore_ascii_case("xn--"))
    });
    [
        (
            scheme != "https" && scheme != "http",
            "not an http or https URL",
        ),
        (
            scheme == "http" && !is_here,
            "the connection is not encrypted",
        ),
        (user.is_some(), "the part before the @ is not the host"),
        (
            !host.is_ascii() || is_disguised,
            "the host name may imitate another one",
        ),
        (
            url.contains(|it: char| it.is_control() || it.is_whitespace() || it == '\\'),
            "the URL has invalid characters",
        ),
    ]
    .into_iter()
    .filter_map(|(is_so, doubt)| is_so.then_some(doubt))
    .collect()
}

/// Whether a host is this machine.
fn is_here(host: &str) -> bool {
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

    fn visited(lines: &[&str]) -> (String, String) {
        let page = ElicitUrlParams::new("Please\nlook", "https://example.com/a?b=c");
        let mut person = Script::of(lines);
        let answer = now(visit(&mut person, "demo", &page));
        assert_eq!(person.rest(), 0, "{}", person.seen);
        assert_eq!(answer.content, None);
        (answer.action.as_str().to_owned(), person.seen)
    }

    // proves: FT-8
    #[test]
    fn a_page_is_shown_and_not_opened() {
        let (said, seen) = visited(&["", "what", "!open", "yes"]);
        assert_eq!(said, "accept");
        let expected = "demo asks you to open a URL:\n  | Please\n  | look\n  \
             URL: https://example.com/a?b=c\n  host: example.com\n\
             open it yourself if you trust it; it is not opened for you\n\
             opened? (y)es, (n)o> \n\
             opened? (y)es, (n)o> what\nanswer y or n, !decline or !cancel\n\
             opened? (y)es, (n)o> !open\n\
             unknown command !open; for a text that begins with ! write !!open\n\
             opened? (y)es, (n)o> yes\n";
        assert_eq!(seen, expected);
        assert_eq!(visited(&["n"]).0, "decline");
        assert_eq!(visited(&["!decline"]).0, "decline");
        assert_eq!(visited(&["!cancel"]).0, "cancel");
        assert_eq!(visited(&[]).0, "cancel");
    }

    // proves: FT-8
    #[test]
    fn a_person_says_when_they_are_done() {
        for (lines, expected) in [
            (&[""][..], true),
            (&["yes"], true),
            (&["!what", ""], true),
            (&["!cancel"], false),
            (&["!decline"], false),
            (&[], false),
        ] {
            let mut person = Script::of(lines);
            assert_eq!(now(is_done(&mut person)), expected, "{lines:?}");
            assert_eq!(person.rest(), 0, "{}", person.seen);
        }
    }

    // proves: F-CL-01
    #[test]
    fn where_it_leads_is_said_plainly() {
        let web = "not an http or https URL";
        let read = "the connection is not encrypted";
        let user = "the part before the @ is not the host";
        let alike = "the host name may imitate another one";
        let odd = "the URL has invalid characters";
        for (url, host, doubts) in [
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
            expected.extend(doubts.iter().map(|it| format!("  warning: {it}")));
            assert_eq!(lines(url), expected);
        }
        let hostile = lines("https://a\u{1b}[2J.com");
        assert_eq!(hostile[1], "  host: a\\u{1b}[2J.com");
        assert_eq!(hostile[2], format!("  warning: {odd}"));
    }
}
