use super::*;

const CLIENT: &str = "203.0.113.7";

#[test]
fn headers_count_from_trusted_proxies_only() {
    let headers = [
        ("x-forwarded-for", CLIENT),
        ("x-forwarded-proto", "https"),
        ("x-forwarded-host", "mcp.example"),
    ];
    let all = (Some(CLIENT), Some("https"), Some("mcp.example"));
    for (peer, expected) in [
        (Some("10.1.2.3"), all),
        (Some("::ffff:10.1.2.3"), all),
        (Some("::1"), all),
        (Some("11.1.2.3"), (Some("11.1.2.3"), None, None)),
        (None, (None, None, None)),
    ] {
        check(&proxies(), peer, &headers, expected);
    }
    let none = TrustedProxies::default();
    check(
        &none,
        Some("10.1.2.3"),
        &headers,
        (Some("10.1.2.3"), None, None),
    );
}

#[test]
fn the_client_is_the_first_address_that_is_not_trusted() {
    let many = vec!["10.0.0.9"; 40].join(",");
    for (values, expected) in [
        (&["1.1.1.1, 203.0.113.7"][..], CLIENT),
        (&["1.1.1.1, 203.0.113.7, 10.0.0.2"], CLIENT),
        (&["1.1.1.1", "203.0.113.7", "10.0.0.2"], CLIENT),
        (&["203.0.113.7:4711"], CLIENT),
        (&["::ffff:203.0.113.7"], CLIENT),
        (&["[2001:db8::1]:80"], "2001:db8::1"),
        (&["2001:db8::1"], "2001:db8::1"),
        (&["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
        (&["1.1.1.1, unknown, 10.0.0.2"], "10.0.0.2"),
        (&["1.1.1.1, "], "10.0.0.1"),
        (&["garbage"], "10.0.0.1"),
        (&[], "10.0.0.1"),
        (&[many.as_str()], "10.0.0.9"),
        (&[&format!("1.1.1.1,{many}")], "10.0.0.9"),
    ] {
        let headers: Vec<_> = values
            .iter()
            .map(|value| ("x-forwarded-for", *value))
            .collect();
        check(
            &proxies(),
            Some("10.0.0.1"),
            &headers,
            (Some(expected), None, None),
        );
    }
}

#[test]
fn scheme_and_host_are_those_of_the_outermost_trusted_proxy() {
    for (addresses, protocols, expected) in [
        ("203.0.113.7", "https", Some("https")),
        ("203.0.113.7, 10.0.0.2", "https", Some("https")),
        ("203.0.113.7, 10.0.0.2", "https, http", Some("https")),
        (
            "1.1.1.1, 203.0.113.7, 10.0.0.2",
            "http, https, http",
            Some("https"),
        ),
        ("203.0.113.7", "https, HTTP", Some("http")),
        ("203.0.113.7", "gopher", None),
    ] {
        let headers = [
            ("x-forwarded-for", addresses),
            ("x-forwarded-proto", protocols),
        ];
        check(
            &proxies(),
            Some("10.0.0.1"),
            &headers,
            (Some(CLIENT), expected, None),
        );
    }
}

#[test]
fn only_the_chosen_header_family_counts() {
    let headers = [
        ("forwarded", "for=203.0.113.7;proto=https;host=mcp.example"),
        ("x-forwarded-for", "1.1.1.1"),
    ];
    check(
        &proxies(),
        Some("10.0.0.1"),
        &headers,
        (Some("1.1.1.1"), None, None),
    );
    let forwarded = proxies().use_forwarded_header();
    let all = (Some(CLIENT), Some("https"), Some("mcp.example"));
    check(&forwarded, Some("10.0.0.1"), &headers, all);
}

#[test]
fn forwarded_is_read_from_the_end() {
    let proxies = proxies().use_forwarded_header();
    for (value, client, scheme, host) in [
        (
            "For=\"[2001:db8::1]:80\"; Proto=HTTP",
            "2001:db8::1",
            Some("http"),
            None,
        ),
        (
            "for=1.1.1.1, for=203.0.113.7;host=a, for=10.0.0.2;host=b",
            CLIENT,
            None,
            Some("a"),
        ),
        (
            "for=_hidden;proto=https;host=\"a:1\"",
            "10.0.0.1",
            Some("https"),
            Some("a:1"),
        ),
        // A quote that a client has left open hides nothing.
        (
            "for=\"1.1.1.1, for=203.0.113.7;host=a",
            CLIENT,
            None,
            Some("a"),
        ),
        ("proto=https", "10.0.0.1", Some("https"), None),
        (";;=,", "10.0.0.1", None, None),
    ] {
        let expected = (Some(client), scheme, host);
        check(
            &proxies,
            Some("10.0.0.1"),
            &[("forwarded", value)],
            expected,
        );
    }
}

#[test]
fn networks_are_compared_by_prefix() {
    for (network, address, expected) in [
        ("0.0.0.0/0", "1.2.3.4", true),
        ("0.0.0.0/0", "::1", false),
        ("10.0.0.0/9", "10.127.0.1", true),
        ("10.0.0.0/9", "10.128.0.1", false),
        ("192.0.2.1", "192.0.2.1", true),
        ("192.0.2.1/32", "192.0.2.0", false),
        ("::/0", "2001:db8::1", true),
        ("2001:db8::/33", "2001:db8:7fff::", true),
        ("2001:db8::/33", "2001:db8:8000::", false),
        ("::1", "::1", true),
    ] {
        let network = IpNetwork::parse(network).expect(network);
        assert_eq!(
            network.contains(ip(address)),
            expected,
            "{network:?} {address}"
        );
    }
    for bad in [
        "",
        "a",
        "10.0.0.0/33",
        "::/129",
        "10.0.0.0/",
        "10.0.0.0/+8",
        "10.0.0/8",
        "/8",
    ] {
        let error = TrustedProxies::new([bad]).expect_err(bad).to_string();
        assert!(error.starts_with("invalid trusted proxy"), "{error}");
    }
}

#[track_caller]
fn check(
    proxies: &TrustedProxies,
    peer: Option<&str>,
    headers: &[(&str, &str)],
    (client, scheme, host): (Option<&str>, Option<&str>, Option<&str>),
) {
    let mut request = ::http::Request::builder();
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let (parts, ()) = request.body(()).expect("a valid request").into_parts();
    let expected = ForwardedRequest {
        client: client.map(ip),
        scheme: scheme.and_then(parse_scheme),
        host,
    };
    assert_eq!(
        proxies.resolve(peer.map(ip), &parts),
        expected,
        "{headers:?}"
    );
}

fn proxies() -> TrustedProxies {
    TrustedProxies::new(["10.0.0.0/8", "::1"]).expect("valid networks")
}

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}
