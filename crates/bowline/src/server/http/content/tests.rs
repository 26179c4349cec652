use super::*;

// proves: F-HT-11, F-HT-03
#[test]
fn only_json_is_a_body() {
    for (values, expected) in [
        (&["application/json"][..], 200),
        (&["Application/JSON"], 200),
        (&["application/json; charset=utf-8"], 200),
        (&["application/json;charset=\"UTF-8\""], 200),
        (&["application/json ; x=1;charset=utf8"], 200),
        (&["application/json; x=\";charset=latin1\""], 200),
        (&["application/json;"], 200),
        (&["application/json; charset=iso-8859-1"], 415),
        (&["application/json; charset=utf-8; charset=utf-16"], 415),
        (&["application/json; charset="], 415),
        (&["application/jsonp"], 415),
        (&["application/json, text/plain"], 415),
        (&["text/plain"], 415),
        (&["text/plain;charset=UTF-8"], 415),
        (&["text/json"], 415),
        (&["application/x-www-form-urlencoded"], 415),
        (&["multipart/form-data; boundary=x"], 415),
        (&[""], 415),
        (&[], 415),
        (&["application/json", "application/json"], 400),
    ] {
        let outcome = check_content(&parts(&[(CONTENT_TYPE, values)]));
        assert_eq!(status(outcome), expected, "{values:?}");
    }
}

// proves: F-HT-06
#[test]
fn bodies_are_not_decompressed() {
    for (values, expected) in [
        (&["identity"][..], 200),
        (&["Identity, identity"], 200),
        (&["gzip"], 415),
        (&["identity, br"], 415),
        (&["identity", "gzip"], 415),
        (&[""], 415),
    ] {
        let parts = parts(&[
            (CONTENT_TYPE, &["application/json"]),
            (CONTENT_ENCODING, values),
        ]);
        let outcome = check_content(&parts);
        assert_eq!(status(outcome), expected, "{values:?}");
    }
}

// proves: F-HT-19, HS-6
#[test]
fn two_lengths_are_refused_and_the_connection_closed() {
    let parts = parts(&[
        (CONTENT_TYPE, &["application/json"]),
        (CONTENT_LENGTH, &["5"]),
        (TRANSFER_ENCODING, &["chunked"]),
    ]);
    let refusal = check_framing(&parts).expect_err("two lengths");
    let response = refusal.into_response();
    assert_eq!(response.status(), 400);
    assert_eq!(response.headers()["connection"], "close");
}

#[test]
fn a_client_accepts_what_it_is_answered_with() {
    for (values, post, get) in [
        (&[][..], 200, 200),
        (&["application/json, text/event-stream"], 200, 200),
        (&["text/event-stream,application/json"], 200, 200),
        (&["application/json", "text/event-stream"], 200, 200),
        (
            &["Application/Json;q=0.5, TEXT/event-stream; q=1"],
            200,
            200,
        ),
        (&["*/*"], 200, 200),
        (&["text/html, */*;q=0.8"], 200, 200),
        (&["application/*, text/*"], 200, 200),
        (&["application/*"], 200, 406),
        (&["application/json"], 406, 406),
        (&["text/event-stream"], 406, 200),
        (&["text/*"], 406, 200),
        (&["text/html"], 406, 406),
        (&[""], 406, 406),
        (&["*/*;q=0"], 406, 406),
        (&["*/*, text/event-stream;q=0"], 406, 406),
        (&["*/*, application/json;q=0.000"], 406, 200),
        (&["*/*;q=0, application/json, text/event-stream"], 200, 200),
        (&["application/*, text/event-stream;q=0"], 406, 406),
        (&["x/y;a=\",*/*,\""], 406, 406),
    ] {
        let parts = parts(&[(ACCEPT, values)]);
        assert_eq!(status(check_post_accept(&parts)), post, "POST {values:?}");
        assert_eq!(status(check_get_accept(&parts)), get, "GET {values:?}");
    }
}

#[test]
fn plain_requests_cost_no_allocation() {
    let parts = parts(&[
        (CONTENT_TYPE, &["application/json; charset=utf-8"]),
        (ACCEPT, &["text/event-stream, application/json"]),
    ]);
    let cost = allocation_counter::measure(|| {
        assert!(check_content(&parts).is_ok() && check_post_accept(&parts).is_ok());
    });
    assert_eq!(cost.count_total, 0);
}

fn status(outcome: Result<(), HttpRefusal>) -> u16 {
    outcome.map_or_else(|refusal| refusal.status().as_u16(), |()| 200)
}

fn parts(headers: &[(::http::HeaderName, &[&str])]) -> Parts {
    let mut request = ::http::Request::builder();
    for (name, values) in headers {
        for value in *values {
            request = request.header(name, *value);
        }
    }
    request.body(()).expect("a valid request").into_parts().0
}
