use proptest::prelude::*;

use super::*;

fn environment() -> Environment {
    let variables = [
        ("HOME", "/home/me"),
        ("A", "1"),
        ("EMPTY", ""),
        ("_b2", "${A}"),
    ];
    Environment {
        folder: "/elsewhere".into(),
        variables: variables
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
    }
}

fn resolved(text: &str, dialect: Dialect) -> Result<String, ResolveError> {
    let text = resolve(
        text,
        dialect,
        Path::new("/srv/project"),
        &environment(),
        &Cell::new(MAX_RESOLVED),
    );
    text.map(|text| text.text)
}

#[test]
fn values_of_secret_variables_are_collected_and_redacted() {
    let mut environment = environment();
    let mut set = |name: &str, value: &str| environment.variables.insert(name.into(), value.into());
    set("API_TOKEN", "hunter2");
    set("X", "ghp_0123456789abcdef");
    for (text, shown, secrets) in [
        ("a${A}", "a1", &[][..]),
        ("a${API_TOKEN}/b", "a${API_TOKEN}/b", &["hunter2"]),
        ("${env:X}", "${env:X}", &["ghp_0123456789abcdef"]),
        ("${MY_KEY:-hunter3}", "${MY_KEY:-[redacted]}", &["hunter3"]),
        ("${HOME}${workspaceFolder}", "/home/me/srv/project", &[]),
    ] {
        let project = Path::new("/srv/project");
        let room = Cell::new(99);
        let text = resolve(text, Dialect::Dollar, project, &environment, &room).unwrap();
        assert_eq!(text.redacted, shown);
        assert_eq!(text.secrets, secrets);
    }
}

#[test]
fn references_are_replaced() {
    for (text, expected) in [
        ("plain", "plain"),
        ("", ""),
        ("${A}", "1"),
        ("x${A}y${env:A}z", "x1y1z"),
        ("${NONE:-d}${env:NONE:-}", "d"),
        ("${EMPTY:-d}|${EMPTY}|", "d||"),
        ("${A:-d}", "1"),
        ("${NONE:-a:-b}", "a:-b"),
        // The value of a variable is not resolved again.
        ("${_b2}", "${A}"),
        ("${workspaceFolder}/x", "/srv/project/x"),
        ("${workspaceFolderBasename}", "project"),
        ("${userHome}${/}${pathSeparator}", "/home/me//"),
        ("$A $ {A}", "$A $ {A}"),
        ("{env:A}", "{env:A}"),
        ("{env:A", "{env:A"),
    ] {
        assert_eq!(
            resolved(text, Dialect::Dollar).as_deref(),
            Ok(expected),
            "{text}"
        );
    }
    for (text, expected) in [("Bearer {env:A}", "Bearer 1"), ("${env:A}{env:A}", "11")] {
        assert_eq!(resolved(text, Dialect::Opencode).as_deref(), Ok(expected));
    }
}

#[test]
fn unclosed_references_are_reported_without_their_text() {
    for (text, dialect, opening) in [
        ("${A", Dialect::Dollar, "${"),
        ("x${A}${secret", Dialect::Dollar, "${"),
        ("${", Dialect::Dollar, "${"),
        ("{env:A", Dialect::Opencode, "{env:"),
        ("{env:A}{file:secret", Dialect::Opencode, "{file:"),
        ("${env:A", Dialect::Opencode, "${"),
    ] {
        let error = resolved(text, dialect).unwrap_err();
        let message = format!("missing }} after {opening}");
        assert_eq!(error.message, message, "{text}");
        assert!(!error.hint.contains("secret"));
    }
}

#[test]
fn unresolved_references_have_a_hint() {
    for (text, message, hint) in [
        (
            "${NONE}",
            "environment variable NONE is not set",
            "set it (export NONE=…), or add a default: ${NONE:-…}",
        ),
        (
            "${env:NONE}",
            "environment variable NONE is not set",
            "set it (export NONE=…), or add a default: ${NONE:-…}",
        ),
        (
            "${input:api-key}",
            "unsupported reference ${input:api-key}: VS Code requests its value from the user",
            "set an environment variable and write ${env:API_KEY} here",
        ),
        (
            "${input:1}",
            "unsupported reference ${input:1}: VS Code requests its value from the user",
            "set an environment variable and write ${env:VALUE} here",
        ),
        (
            "${command:x}",
            "unknown reference ${command:x}",
            "write the value itself, or ${VAR} for an environment variable",
        ),
        (
            "${NONE:-${A}}",
            "unknown reference ${…}",
            "write the value itself, or ${VAR} for an environment variable",
        ),
    ] {
        let (message, hint) = (message.to_owned(), hint.to_owned());
        assert_eq!(
            resolved(text, Dialect::Dollar),
            Err(ResolveError { message, hint })
        );
    }
    let file = resolved("{file:~/key}", Dialect::Opencode).unwrap_err();
    assert_eq!(file.message, "unknown reference {file:~/key}");
}

#[test]
fn an_unknown_home_is_an_error() {
    let nowhere = Environment::default();
    let room = Cell::new(99);
    let error = resolve(
        "${userHome}",
        Dialect::Dollar,
        Path::new("/"),
        &nowhere,
        &room,
    );
    assert_eq!(
        error.unwrap_err().message,
        "environment variable HOME is not set"
    );
}

#[cfg(unix)]
#[test]
fn a_variable_that_is_not_utf8_is_an_error() {
    use std::os::unix::ffi::OsStringExt;
    let mut environment = environment();
    let value = std::ffi::OsString::from_vec(vec![0xff]);
    environment.variables.insert("RAW".into(), value);
    let room = Cell::new(99);
    let error = resolve(
        "${RAW}",
        Dialect::Dollar,
        Path::new("/"),
        &environment,
        &room,
    );
    assert_eq!(
        error.unwrap_err().message,
        "environment variable RAW is not valid UTF-8"
    );
}

#[test]
fn values_are_hidden_and_references_shown() {
    for (text, expected) in [
        ("s3cret", "#"),
        ("Bearer ${TOKEN}", "#${TOKEN}"),
        ("${TOKEN:-s3cret}", "${TOKEN:-#}"),
        ("${A}s3cret${B}", "${A}#${B}"),
        ("s3cret${", "#"),
        ("${s3cret!}", "#"),
        ("", ""),
    ] {
        assert_eq!(hide_plain(text, Dialect::Dollar, "#"), expected);
    }
}

proptest! {
    #[test]
    fn pieces_join_to_the_text(text in "[${}a-c:-]{0,30}") {
        for dialect in [Dialect::Dollar, Dialect::Opencode] {
            let whole: String = pieces(&text, dialect)
                .into_iter()
                .map(|piece| match piece {
                    Piece::Plain(plain) => plain,
                    Piece::Reference { whole, .. } => whole,
                })
                .collect();
            prop_assert_eq!(&whole, &text);
            let _ = resolved(&text, dialect);
        }
    }
}

// proves: F-CL-01
#[test]
fn the_variables_of_one_server_have_a_size_limit() {
    let room = Cell::new(12);
    let filled = |text: &str| {
        let folder = Path::new("/");
        resolve(text, Dialect::Dollar, folder, &environment(), &room)
    };
    // 8 bytes; what stands for itself doesn't count.
    assert_eq!(filled("a text ${HOME}").unwrap().text, "a text /home/me");
    assert_eq!(filled("${A}${A}${X:-y}").unwrap().text, "11y");
    assert_eq!(filled("${A}").unwrap().text, "1");
    let error = filled("x${A}").unwrap_err();
    assert!(error.message.ends_with("more than 1 MiB"), "{error:?}");
    assert_eq!(filled("x${EMPTY}").unwrap().text, "x");
}

#[test]
fn openings_are_found_in_one_walk() {
    let text = "{${env:A} {file:x} {env:B} $ ${";
    let found = |dialect| {
        let pieces = pieces(text, dialect);
        let references = pieces.iter().filter_map(|piece| match piece {
            Piece::Reference { whole, .. } => Some((*whole).to_owned()),
            Piece::Plain(_) => None,
        });
        references.collect::<Vec<_>>()
    };
    assert_eq!(found(Dialect::Dollar), ["${env:A}"]);
    assert_eq!(
        found(Dialect::Opencode),
        ["${env:A}", "{file:x}", "{env:B}"]
    );
}
