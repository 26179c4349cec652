use proptest::prelude::*;

use super::*;

fn shown(line: &[&str]) -> String {
    arguments(line.iter().copied(), Dialect::Dollar).join(" ")
}

#[test]
fn arguments_that_look_secret_are_hidden() {
    for (line, expected) in [
        (&["--api-key", "abc"][..], "--api-key [redacted]"),
        (&["--api-key=abc"], "--api-key=[redacted]"),
        (&["--apiKey", "abc", "x"], "--apiKey [redacted] x"),
        (&["--authtoken", "abc"], "--authtoken [redacted]"),
        (&["--oauthtoken=abc"], "--oauthtoken=[redacted]"),
        (&["--accesskey", "abc", "x"], "--accesskey [redacted] x"),
        (&["DBPASSWORD=abc"], "DBPASSWORD=[redacted]"),
        (&["clientsecret:abc"], "clientsecret:[redacted]"),
        (&["--token", "--verbose"], "--token --verbose"),
        (&["--token", "${TOKEN}"], "--token ${TOKEN}"),
        (&["--token=${TOKEN:-abc}"], "--token=${TOKEN:-[redacted]}"),
        (&["-e", "DEBUG=1", "image"], "-e DEBUG=[redacted] image"),
        (&["-e", "DEBUG", "image"], "-e DEBUG image"),
        (&["--env=DEBUG=1"], "--env=DEBUG=[redacted]"),
        (
            &["--header", "Authorization: Bearer abc"],
            "--header Authorization: [redacted]",
        ),
        (&["-H", "X:${A} b"], "-H X:${A}[redacted]"),
        (
            &["GITHUB_TOKEN=abc", "node"],
            "GITHUB_TOKEN=[redacted] node",
        ),
        (&["password:abc"], "password:[redacted]"),
        (&["ghp_0123456789abcdef"], "[redacted]"),
        (
            &["--config", "{\"k\":\"sk-proj-123456\"}"],
            "--config {\"k\":\"[redacted]\"}",
        ),
        (&["x=eyJhbGciOiJIUzI1NiJ9.e30.x"], "x=[redacted]"),
        (&["0123456789abcdef0123456789abcdef"], "[redacted]"),
        (&["1b4e28ba-2fa1-11d2-883f-0016d3cca427"], "[redacted]"),
        (&["-----BEGIN PRIVATE KEY-----\nx"], "[redacted]"),
        (
            &["postgres://me:pw@host/db"],
            "postgres://[redacted]@host/db",
        ),
        (
            &["--db=postgres://me:pw@host/db"],
            "--db=postgres://[redacted]@host/db",
        ),
        (
            &["DB=postgres://me:pw@host/db"],
            "DB=postgres://[redacted]@host/db",
        ),
        (&["ü://me:pw@host/db"], "ü://[redacted]@host/db"),
    ] {
        assert_eq!(shown(line), expected);
    }
}

#[test]
fn secrets_are_found_wherever_their_names_are() {
    for (line, expected) in [
        // The parameters of a connection.
        (
            &["host=db user=me password=hunter2"][..],
            "host=db user=me password=[redacted]",
        ),
        (
            &["Server=db;User Id=sa;Password=hunter2;"],
            "Server=db;User Id=sa;Password=[redacted]",
        ),
        (
            &["jdbc:sqlserver://db:1433;user=sa;password=hunter2"],
            "jdbc:sqlserver://db:1433;user=sa;password=[redacted]",
        ),
        (&["a=1&token=hunter2", "x"], "a=1&token=[redacted] x"),
        (
            &["--dsn=host=db password='hunter two'"],
            "--dsn=host=db password=[redacted]",
        ),
        (&["DB_PASSWORD=x://hunter2"], "DB_PASSWORD=[redacted]"),
        // JSON, also in a script.
        (
            &[r#"{"user":"me","password":"hunter2"}"#],
            r#"{"user":"me","password":[redacted]"#,
        ),
        (
            &[r#"{"user": "me", "password" : "hunter 2", "a": 1}"#],
            r#"{"user": "me", "password" : [redacted]"#,
        ),
        (
            &["-c", r#"echo {\"password\":\"hunter2\"}"#],
            r#"-c echo {\"password\":[redacted]"#,
        ),
        // Options in a script, or in one argument by mistake.
        (
            &["-c", "exec mcp-server --password hunter2"],
            "-c exec mcp-server --password [redacted]",
        ),
        (
            &["-c", "exec mcp-server --password 'hunter2' --port 3"],
            "-c exec mcp-server --password '[redacted]",
        ),
        (
            &["-c", "TOKEN=hunter2 exec mcp-server"],
            "-c TOKEN=[redacted]",
        ),
        (
            &["-c", "curl -H 'Authorization: Bearer hunter2' x"],
            "-c curl -H 'Authorization: [redacted]",
        ),
        (&["-c", "curl -u me:hunter2 x"], "-c curl -u me:[redacted]"),
        (
            &["-c", "x --env=A='hunter2' --user='me:hunter2' y"],
            "-c x --env=A=[redacted]",
        ),
        (
            &["-c", "x --user='me:hunter2' y"],
            "-c x --user='me:[redacted]",
        ),
        (
            &["-c", "x --password='hunter2' y"],
            "-c x --password=[redacted]",
        ),
        (
            &["-c", "x --dsn=password='hunter2' y"],
            "-c x --dsn=password=[redacted]",
        ),
        (
            &["-c", "x --user=me:'hunter2' y"],
            "-c x --user=me:[redacted]",
        ),
        (
            &["-c", "x --user=me --env=A --token hunter2"],
            "-c x --user=me --env=A --token [redacted]",
        ),
        (&["--token hunter2"], "--token [redacted]"),
        (
            &["mcp-server --token hunter2"],
            "mcp-server --token [redacted]",
        ),
        (&["--password=hunter 2"], "--password=[redacted]"),
        (&["--password:hunter2"], "--password:[redacted]"),
        // A secret may begin as options do.
        (&["--token", "-hunter2"], "--token [redacted]"),
        (&["--token", "--port", "3"], "--token --port 3"),
        // Who signs in.
        (&["-u", "admin:hunter2"], "-u admin:[redacted]"),
        (&["-uadmin:hunter2"], "-uadmin:[redacted]"),
        (&["--user", "admin:hunter2"], "--user admin:[redacted]"),
        (&["--user=admin:hunter2"], "--user=admin:[redacted]"),
        (&["-HX-Api: hunter2"], "-HX-Api: [redacted]"),
        (&["Cookie: a=1; b=2"], "Cookie: [redacted]"),
        (
            &["${BASE_URL}/sse?api_key=hunter2"],
            "${BASE_URL}/sse?api_key=[redacted]",
        ),
    ] {
        assert_eq!(shown(line), expected);
    }
}

#[test]
fn variables_are_secret_by_name_or_look_unless_they_say_where_things_are() {
    for (name, value, is_secret) in [
        ("GITHUB_TOKEN", "abc", true),
        ("DBPASSWORD", "abc", true),
        ("X", "ghp_0123456789abcdef", true),
        ("DATABASE", "postgres", false),
        ("PWD", "/home/me/x", false),
        ("OLDPWD", "/home/me/0123456789abcdef0123456789abcdef", false),
        ("PATH", "/store/0123456789abcdef0123456789abcdef/bin", false),
        ("pwd", "hunter2", true),
    ] {
        assert_eq!(is_secret_variable(name, value), is_secret, "{name}");
    }
}

#[test]
fn arguments_that_do_not_are_shown() {
    for line in [
        &["-y", "@modelcontextprotocol/server-everything@2025.8.4"][..],
        &[
            "run",
            "-i",
            "--rm",
            "mcp/filesystem:latest",
            "/home/me/some-folder/with/a-long-path",
        ],
        &[
            "--keyboard",
            "qwerty",
            "--monkey=1",
            "--turkey",
            "yes",
            "--max-tokens-per-call",
        ],
        &["mcp-remote", "https://example.com/mcp"],
        &["--directory", "C:\\x", "--port", "3000", "a=b", "", "-"],
        &["sk-", "secret_santa", "hf_x"],
        &[
            "-u",
            "1000:1000",
            "--user",
            "me",
            "--user=0:0",
            "-unbuffered",
        ],
        &["-c", "cd /x && exec mcp-server --port 3 'a b' \"$@\""],
        &[
            "--filter=a?b",
            "host=db port=5432",
            r#"{"a": [1, {"b": "c"}]}"#,
        ],
        &["https://key-server.example.com:8080/x"],
    ] {
        assert_eq!(shown(line), line.join(" "));
    }
}

#[test]
fn urls_keep_their_secrets() {
    for (text, expected) in [
        ("https://example.com/mcp", "https://example.com/mcp"),
        (
            "https://me:pw@example.com",
            "https://[redacted]@example.com",
        ),
        (
            "https://me@a@example.com/x",
            "https://[redacted]@example.com/x",
        ),
        (
            "https://x.y/z?key=abc&d=${D}&e&f=",
            "https://x.y/z?key=[redacted]&d=${D}&[redacted]&f=",
        ),
        ("https://x.y/z#abc", "https://x.y/z#[redacted]"),
        ("https://x.y?a=b#c", "https://x.y?a=[redacted]#[redacted]"),
        (
            "https://x.y/s/0a1b2c3d4e5f60718293/mcp",
            "https://x.y/s/[redacted]/mcp",
        ),
        ("https://x.y/a@b", "https://x.y/a@b"),
        ("nonsense", "nonsense"),
        (
            "${BASE_URL}/sse?api_key=hunter2",
            "${BASE_URL}/sse?api_key=[redacted]",
        ),
        ("${BASE_URL}#hunter2", "${BASE_URL}#[redacted]"),
        (
            "https://x.y;password=hunter2/z;token=hunter2",
            "https://x.y;password=[redacted]/z;token=[redacted]",
        ),
    ] {
        assert_eq!(url(text, Dialect::Dollar), expected);
    }
}

#[test]
fn values_are_hidden_whatever_they_are() {
    assert_eq!(value("1", Dialect::Dollar), "[redacted]");
    assert_eq!(value("Bearer ${A}", Dialect::Dollar), "[redacted]${A}");
    assert_eq!(
        value("Bearer {env:A}", Dialect::Opencode),
        "[redacted]{env:A}"
    );
}

proptest! {
    #[test]
    fn no_secret_comes_through(secret in "[A-Za-z0-9]{24,40}", name in "[a-z]{1,8}") {
        prop_assume!(secret.contains(|c: char| c.is_ascii_digit()));
        prop_assume!(secret.contains(|c: char| c.is_ascii_alphabetic()));
        for line in [
            vec![secret.clone()],
            vec![format!("--{name}={secret}")],
            vec![format!("--{name}"), secret.clone()],
            vec![format!("--{name}-token"), secret.clone()],
            vec![format!("{name}={secret}")],
            vec![format!("{name}: {secret}")],
            vec![format!("--{name}=https://{name}.com/{secret}")],
            vec![format!("https://{secret}@{name}.com/?{name}={secret}#{secret}")],
            vec!["-e".to_owned(), format!("{name}={secret}")],
        ] {
            let shown = arguments(line.iter().map(String::as_str), Dialect::Dollar).join(" ");
            prop_assert!(!shown.contains(&secret), "{}", shown);
        }
    }

    #[test]
    fn nothing_makes_it_panic(line in prop::collection::vec("[-=:/@?#&;,\"' ${}a-cuHkeyü]{0,20}", 0..4)) {
        let line = line.iter().map(String::as_str);
        prop_assert_eq!(arguments(line.clone(), Dialect::Opencode).len(), line.len());
    }
}
