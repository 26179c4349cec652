use super::*;

// proves: F-HT-09, SE-4
#[test]
fn only_local_hosts_are_allowed_by_default() {
    let hosts = AllowedHosts::default();
    for (host, expected) in [
        ("localhost", 200),
        ("localhost:3000", 200),
        ("LOCALHOST:1", 200),
        ("127.0.0.1", 200),
        ("127.0.0.1:65535", 200),
        ("[::1]", 200),
        ("[::1]:8080", 200),
        ("[0:0:0:0:0:0:0:1]:8080", 200),
        ("evil.example.com", 403),
        ("evil.example.com:3000", 403),
        // Public names that resolve to a loopback address.
        ("localtest.me", 403),
        ("127.0.0.1.nip.io:3000", 403),
        ("localhost.evil.example", 403),
        // Other ways to write the address.
        ("127.1", 403),
        ("2130706433", 403),
        ("0x7f.0.0.1", 403),
        ("0.0.0.0", 403),
        ("[::ffff:127.0.0.1]", 403),
        ("localhost.", 403),
        ("evil.example.com.", 403),
        ("", 400),
        (":3000", 400),
        ("localhost:", 200),
        ("localhost:x", 400),
        ("localhost:99999", 400),
        ("user@localhost", 400),
        ("localhost, evil.example", 400),
        ("localhost/evil", 400),
        ("::1", 400),
        ("[::1%25lo]", 400),
    ] {
        check(&hosts, Version::HTTP_11, "/mcp", &[host], expected);
    }
}

// proves: F-HT-09
#[test]
fn a_host_that_is_ambiguous_or_missing_is_a_bad_request() {
    let default = AllowedHosts::default();
    let any = AllowedHosts::any();
    let (one, one_one, two) = (Version::HTTP_10, Version::HTTP_11, Version::HTTP_2);
    for (hosts, version, uri, headers, expected) in [
        (&default, one_one, "/", &["localhost", "localhost"][..], 400),
        (&any, one_one, "/", &["a", "b"], 400),
        (&default, one_one, "http://localhost/", &["localhost"], 200),
        (
            &default,
            one_one,
            "http://localhost:80/",
            &["LOCALHOST"],
            200,
        ),
        (
            &default,
            one_one,
            "http://localhost:81/",
            &["localhost"],
            400,
        ),
        (
            &default,
            one_one,
            "http://evil.example/",
            &["localhost"],
            400,
        ),
        (
            &default,
            one_one,
            "http://localhost/",
            &["evil.example"],
            400,
        ),
        (
            &default,
            one_one,
            "http://evil.example/",
            &["evil.example"],
            403,
        ),
        (
            &default,
            one_one,
            "http://user@localhost/",
            &["localhost"],
            400,
        ),
        (&default, one_one, "http://localhost/", &[], 400),
        (&any, one_one, "http://evil.example/", &["localhost"], 400),
        (&default, two, "https://localhost/", &[], 200),
        (&default, two, "https://localhost/", &["localhost:443"], 200),
        (&default, two, "https://evil.example/", &[], 403),
        (&default, two, "https://localhost/", &["evil.example"], 400),
        (&default, two, "/", &["localhost"], 200),
        (&default, two, "/", &[], 400),
        (&default, one, "/", &[], 400),
        (&default, one, "/", &["localhost"], 200),
        (&any, one, "/", &[], 200),
        (&any, one_one, "/", &[], 400),
        (&any, one_one, "/", &[""], 400),
        (&any, one_one, "/", &["evil.example:1"], 200),
    ] {
        check(hosts, version, uri, headers, expected);
    }
}

#[test]
fn a_list_replaces_the_default() {
    let hosts = AllowedHosts::new([
        "app.example",
        "port.example:8443",
        "secure.example:443",
        "any.example:*",
        "[2001:db8::1]:*",
        "dot.example.",
    ])
    .expect("valid entries");
    for (host, expected) in [
        ("app.example", 200),
        ("APP.example:443", 200),
        ("app.example:80", 200),
        ("app.example:8080", 403),
        ("port.example:8443", 200),
        ("port.example", 403),
        ("secure.example", 200),
        ("secure.example:80", 403),
        ("any.example", 200),
        ("any.example:9", 200),
        ("[2001:DB8:0::1]:9", 200),
        ("dot.example.", 200),
        ("dot.example", 403),
        ("sub.app.example", 403),
        ("localhost", 403),
    ] {
        check(&hosts, Version::HTTP_11, "/", &[host], expected);
        let forwarded = hosts.check_forwarded(host);
        assert_eq!(status(forwarded), expected, "forwarded {host:?}");
    }
}

#[test]
fn entries_are_checked() {
    for bad in [
        "",
        "*",
        "*:*",
        "a:80:*",
        "*.example",
        "http://a",
        "a/b",
        ":80",
    ] {
        let error = AllowedHosts::new([bad]).expect_err(bad).to_string();
        assert!(error.starts_with("invalid allowed host"), "{error}");
    }
}

#[test]
fn the_error_shows_the_host_and_what_to_do() {
    let parts = parts(Version::HTTP_11, "/", &["evil.example:1"]);
    let refusal = AllowedHosts::default().check(&parts).expect_err("foreign");
    assert_eq!(refusal.kind, RefusalKind::Host);
    let body = refusal.into_response().into_body();
    let text = String::from_utf8_lossy(&body);
    assert!(
        text.contains(r#"host \"evil.example:1\" is not allowed"#),
        "{text}"
    );
}

#[test]
fn a_local_host_costs_no_allocation() {
    let parts = parts(Version::HTTP_11, "/", &["localhost:3000"]);
    let hosts = AllowedHosts::default();
    // The first one that is allowed is kept.
    assert!(hosts.check(&parts).is_ok());
    let cost = allocation_counter::measure(|| assert!(hosts.check(&parts).is_ok()));
    assert_eq!(cost.count_total, 0);
}

#[track_caller]
fn check(hosts: &AllowedHosts, version: Version, uri: &str, headers: &[&str], expected: u16) {
    let outcome = hosts.check(&parts(version, uri, headers));
    assert_eq!(status(outcome), expected, "{version:?} {uri} {headers:?}");
}

fn status(outcome: Result<(), HttpRefusal>) -> u16 {
    outcome.map_or_else(|refusal| refusal.status().as_u16(), |()| 200)
}

fn parts(version: Version, uri: &str, hosts: &[&str]) -> Parts {
    let mut request = ::http::Request::builder().version(version).uri(uri);
    for host in hosts {
        request = request.header(HOST, *host);
    }
    request.body(()).expect("a valid request").into_parts().0
}

#[test]
fn a_host_that_was_allowed_lets_no_other_one_in() {
    let hosts = AllowedHosts::new(["mcp.example.com", "localhost:*"]).unwrap();
    for (host, expected) in [
        ("evil.example.com", 403),
        ("mcp.example.com", 200),
        ("mcp.example.com", 200),
        ("mcp.example.com.evil.example", 403),
        ("evil.example.com", 403),
        ("localhost:1", 200),
        ("", 400),
    ] {
        check(&hosts, Version::HTTP_11, "/mcp", &[host], expected);
    }
    let both = ["mcp.example.com", "mcp.example.com"];
    check(&hosts, Version::HTTP_11, "/mcp", &both, 400);
    let uri = "http://evil.example.com/";
    check(&hosts, Version::HTTP_11, uri, &["mcp.example.com"], 400);
}
