//! Templates and URIs that follow them, or don't.

mod expansion;

use std::cell::Cell;

use super::*;

thread_local! {
    static STEPS: Cell<usize> = const { Cell::new(0) };
}

/// Matching has looked at a place of a URI.
pub(super) fn count_step() {
    STEPS.with(|steps| steps.set(steps.get() + 1));
}

fn matched(template: &str, uri: &str) -> Option<String> {
    let found = UriTemplate::parse(template).expect(template).matches(uri)?;
    let words = found.iter().map(|(name, value)| format!("{name}={value}"));
    Some(words.collect::<Vec<_>>().join(" "))
}

#[test]
fn a_uri_gives_its_variables() {
    for (template, uri, expected) in [
        ("note:///{id}", "note:///7", Some("id=7")),
        ("note:///{id}", "note:///a%20b", Some("id=a b")),
        ("note:///{id}", "note:///", None),
        ("note:///{id}", "note:///a/b", None),
        ("note:///{+path}", "note:///a/b", Some("path=a/b")),
        (
            "db://{table}/rows/{row}",
            "db://t/rows/3",
            Some("table=t row=3"),
        ),
        ("db://{table}/rows/{row}", "db://t/cells/3", None),
        ("a{/b,c}", "a/1/2", Some("b=1 c=2")),
        ("file{.kind}", "file.txt", Some("kind=txt")),
        ("x://{name}{#part}", "x://n#p/q", Some("name=n part=p/q")),
        (
            "s://find{?q,page}",
            "s://find?q=a%26b&page=2",
            Some("q=a&b page=2"),
        ),
        ("s://find{?q,page}", "s://find?page=2", Some("page=2")),
        ("s://find{?q,page}", "s://find", Some("")),
        ("s://find{?q}", "s://find?other=1", None),
        ("s://find{?q}", "s://find?q=1&q=2", None),
        ("s://find?x=1{&q}", "s://find?x=1&q=2", Some("q=2")),
        // A literal may contain what ends a variable, and stand in a variable too.
        (
            "db://{host}:5432/{table}",
            "db://here:5432/people",
            Some("host=here table=people"),
        ),
        ("db://{host}:5432/{table}", "db://here/5432/people", None),
        (
            "repo:///{+path}/raw",
            "repo:///a/raw/1.jpg/raw",
            Some("path=a/raw/1.jpg"),
        ),
        ("repo:///{+path}/raw", "repo:///raw", None),
        (
            "file:///{+folder}/{name}",
            "file:///a/b/c",
            Some("folder=a/b name=c"),
        ),
        ("x:{+a}/b/{c}/d", "x:1/b/2/b/3/d", Some("a=1/b/2 c=3")),
        ("x:{name}.{kind}", "x:a.tar.gz", Some("name=a kind=tar.gz")),
        ("x:{a}--{b}", "x:---", None),
        ("x:{a}--{b}", "x:----", Some("a=- b=-")),
        ("x:{a}é{b}", "x:üéö", Some("a=ü b=ö")),
        ("s:{+path}{?q}", "s:a/b?q=c?", Some("path=a/b q=c?")),
        ("s:a?x=1&y=2{&q}", "s:a?x=1&y=2&q=3", Some("q=3")),
        ("s:a{?q}{&r}", "s:a?r=1&q=2", Some("r=1 q=2")),
        ("s:a{?q}{#part}", "s:a?q=1#p", Some("q=1 part=p")),
        ("s:a{?q}{#part}", "s:a#p", Some("part=p")),
        // RFC 6570, 3.2.2 to 3.2.7.
        ("x:{a,b}", "x:1,2", Some("a=1 b=2")),
        ("x:{a,b}", "x:1,2,3", None),
        ("x:{+a,b}", "x:1/x,2/y", Some("a=1/x b=2/y")),
        ("x:{+a,b}", "x:1,2,3", None),
        ("x:{#a,b}", "x:#1,2", Some("a=1 b=2")),
        ("x:{#a,b}", "x:#1#2", None),
        ("x:{.a,b}", "x:.1.2", Some("a=1 b=2")),
        ("x:{;a,b}", "x:;a=1;b=2", Some("a=1 b=2")),
        ("x:{;a,b}", "x:;a=1;b=2;b=3", None),
        ("x:{;a,b}", "x:;b=2;a=1", None),
        ("x:{/path*}", "x:/a/b%20c/d", Some("path=a/b c/d")),
        ("x:{/path*}", "x:", None),
        ("x:{/path*}", "x:/a?b", None),
        ("x:{/path*}/{name}", "x:/a/b/c", Some("path=a/b name=c")),
        ("x:{list*}", "x:a,b%2Cc", Some("list=a,b,c")),
        ("x:{list*}", "x:a/b", None),
        ("x:{+path*}", "x:a/b,c", Some("path=a/b,c")),
        ("x:{user.name}", "x:ada", Some("user.name=ada")),
        // 2.4.1: characters, not bytes, and those that are written with percent signs are one.
        ("x:{a:3}", "x:abc", Some("a=abc")),
        ("x:{a:3}", "x:abcd", None),
        ("x:{a:3}", "x:%C3%A9%E2%82%ACx", Some("a=é€x")),
        ("x:{a:3}", "x:%C3%A9%E2%82%ACxy", None),
        ("x:{a:3}", "x:é€x", Some("a=é€x")),
        ("x:{a:3}", "x:é€xy", None),
        ("x:{a:1}/{a.rest}", "x:t/term", Some("a=t a.rest=term")),
        ("x:{a:2}-{b}", "x:a-b-c", Some("a=a b=b-c")),
        ("x:{a:2}-{b}", "x:abc-d", None),
        ("x:{+a:3}", "x:a/b", Some("a=a/b")),
        ("x:{+a:3}", "x:a/bc", None),
        ("x:{?a:2}", "x:?a=%C3%A9b", Some("a=éb")),
        ("x:{?a:2}", "x:?a=abc", None),
        ("plain://it", "plain://it", Some("")),
        ("plain://it", "plain://its", None),
        ("note:///{id}", "note:///%ff", None),
        ("note:///{id}", "note:///%4", None),
    ] {
        assert_eq!(
            matched(template, uri).as_deref(),
            expected,
            "{template} {uri}"
        );
    }
    let names = UriTemplate::parse("a{/b,c}{?d}").expect("a template");
    assert_eq!(names.names().collect::<Vec<_>>(), ["b", "c", "d"]);
}

#[test]
fn templates_that_can_not_be_matched_are_refused_with_a_reason() {
    for (template, words) in [
        ("a{b", "`{` without a `}`"),
        ("a}b", "`}` without a `{`"),
        ("{}", "is invalid: a name has"),
        ("{a b}", "is invalid: a name has"),
        ("{a%20b}", "is invalid: a name has"),
        ("{.}", "is invalid: a name has"),
        ("{a.}", "is invalid: a name has"),
        ("{a..b}", "is invalid: a name has"),
        ("{a:}", "a number from 1 to 9999"),
        ("{a:0}", "a number from 1 to 9999"),
        ("{a:10000}", "a number from 1 to 9999"),
        ("{a:+3}", "a number from 1 to 9999"),
        ("{a:3*}", "both"),
        ("{;a*}", "not supported"),
        ("{?a*}", "not supported"),
        ("{a?b}{&c*}", "is invalid: a name has"),
        ("{/a*,b}", "the end of its list is ambiguous"),
        ("{=a}", "which is reserved"),
        ("{|a}", "which is reserved"),
        ("{a}{b}", "{b} directly follows another variable"),
        ("{a}/{a}", "twice"),
        ("{a}{?a}", "twice"),
        ("a{?b}/c", "only a fragment"),
    ] {
        let error = UriTemplate::parse(template).expect_err(template);
        assert!(error.contains(words) && error.contains(template), "{error}");
    }
}

// proves: F-HD-13
#[test]
fn matching_is_linear() {
    for (template, again) in [
        ("x://{+a}/b/{+c}/d/{+e}", "/b/"),
        ("x://{+a}x{b}y{c}", "x"),
        ("x://{+a}/{b}x{c}y{+d}", "/x"),
        ("x://{+a}{?q}", "?q="),
        ("x://{/a*}/x{/b*}/y", "/x"),
        ("x://{+a:9000}x{b:2}", "x"),
        ("x://{+a:9999}/{+b:9999}#", "/%C3"),
        ("x://{;a,b,c}", ";a=;b="),
        ("x://{+a,b,c}!", ","),
        ("x://{a*}!", "a,"),
    ] {
        let template = UriTemplate::parse(template).expect("a template");
        let steps = |times: usize| {
            let uri = format!("x://{}", again.repeat(times));
            STEPS.with(|steps| steps.set(0));
            // Whether it follows the template or not.
            let _ = template.matches(&uri);
            (STEPS.with(Cell::get), uri.len())
        };
        let (few, _) = steps(1_000);
        let (many, length) = steps(10_000);
        assert!(many <= 10 * few + 100, "{template:?}: {few}, {many}");
        assert!(many <= 8 * length, "{template:?}: {many} for {length}");
    }
}
