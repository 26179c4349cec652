use proptest::prelude::*;

use super::*;

fn surroundings() -> Surroundings {
    let variables = [
        ("HOME", "/home/me"),
        ("A", "1"),
        ("EMPTY", ""),
        ("_b2", "${A}"),
    ];
    Surroundings {
        folder: "/elsewhere".into(),
        variables: variables
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
    }
}

fn completed(text: &str, dialect: Dialect) -> Result<String, Incomplete> {
    let filled = complete(
        text,
        dialect,
        Path::new("/srv/project"),
        &surroundings(),
        &Cell::new(MAX_FILLED),
    );
    filled.map(|filled| filled.text)
}

#[test]
fn what_secret_variables_stand_for_is_known_and_not_shown() {
    let mut surroundings = surroundings();
    let mut set =
        |name: &str, value: &str| surroundings.variables.insert(name.into(), value.into());
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
        let filled = complete(
            text,
            Dialect::Dollar,
            project,
            &surroundings,
            &Cell::new(99),
        )
        .unwrap();
        assert_eq!(filled.shown, shown);
        assert_eq!(filled.secrets, secrets);
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
        // What a variable says is not looked at again.
        ("${_b2}", "${A}"),
        ("${workspaceFolder}/x", "/srv/project/x"),
        ("${workspaceFolderBasename}", "project"),
        ("${userHome}${/}${pathSeparator}", "/home/me//"),
        ("$A $ {A}", "$A $ {A}"),
        ("{env:A}", "{env:A}"),
        ("{env:A", "{env:A"),
    ] {
        assert_eq!(
            completed(text, Dialect::Dollar).as_deref(),
            Ok(expected),
            "{text}"
        );
    }
    for (text, expected) in [("Bearer {env:A}", "Bearer 1"), ("${env:A}{env:A}", "11")] {
        assert_eq!(completed(text, Dialect::Opencode).as_deref(), Ok(expected));
    }
}

#[test]
fn what_is_not_closed_is_told_without_what_follows() {
    for (text, dialect, opening) in [
        ("${A", Dialect::Dollar, "${"),
        ("x${A}${secret", Dialect::Dollar, "${"),
        ("${", Dialect::Dollar, "${"),
        ("{env:A", Dialect::Opencode, "{env:"),
        ("{env:A}{file:secret", Dialect::Opencode, "{file:"),
        ("${env:A", Dialect::Opencode, "${"),
    ] {
        let incomplete = completed(text, dialect).unwrap_err();
        let message = format!("there is no }} after {opening}");
        assert_eq!(incomplete.message, message, "{text}");
        assert!(!incomplete.hint.contains("secret"));
    }
}

#[test]
fn what_is_missing_is_named_with_what_to_do() {
    for (text, message, hint) in [
        (
            "${NONE}",
            "the variable NONE is not set",
            "set it (export NONE=…), or give a default: ${NONE:-…}",
        ),
        (
            "${env:NONE}",
            "the variable NONE is not set",
            "set it (export NONE=…), or give a default: ${NONE:-…}",
        ),
        (
            "${input:api-key}",
            "${input:api-key} is asked for by VS Code, and bowline doesn't ask",
            "put the value into the environment and write ${env:API_KEY} here",
        ),
        (
            "${input:1}",
            "${input:1} is asked for by VS Code, and bowline doesn't ask",
            "put the value into the environment and write ${env:VALUE} here",
        ),
        (
            "${command:x}",
            "${command:x} is nothing that bowline knows",
            "write the value itself, or ${VAR} for one from the environment",
        ),
        (
            "${NONE:-${A}}",
            "${…} is nothing that bowline knows",
            "write the value itself, or ${VAR} for one from the environment",
        ),
    ] {
        let (message, hint) = (message.to_owned(), hint.to_owned());
        assert_eq!(
            completed(text, Dialect::Dollar),
            Err(Incomplete { message, hint })
        );
    }
    let file = completed("{file:~/key}", Dialect::Opencode).unwrap_err();
    assert_eq!(file.message, "{file:~/key} is nothing that bowline knows");
}

#[test]
fn a_home_that_is_not_known_is_not_invented() {
    let nowhere = Surroundings::default();
    let error = complete(
        "${userHome}",
        Dialect::Dollar,
        Path::new("/"),
        &nowhere,
        &Cell::new(99),
    );
    assert_eq!(error.unwrap_err().message, "the variable HOME is not set");
}

#[cfg(unix)]
#[test]
fn a_variable_that_is_no_text_is_refused() {
    use std::os::unix::ffi::OsStringExt;
    let mut surroundings = surroundings();
    let value = std::ffi::OsString::from_vec(vec![0xff]);
    surroundings.variables.insert("RAW".into(), value);
    let error = complete(
        "${RAW}",
        Dialect::Dollar,
        Path::new("/"),
        &surroundings,
        &Cell::new(99),
    );
    assert_eq!(error.unwrap_err().message, "the variable RAW is not UTF-8");
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
    fn pieces_are_the_text(text in "[${}a-c:-]{0,30}") {
        for dialect in [Dialect::Dollar, Dialect::Opencode] {
            let whole: String = pieces(&text, dialect)
                .into_iter()
                .map(|piece| match piece {
                    Piece::Plain(plain) => plain,
                    Piece::Reference { whole, .. } => whole,
                })
                .collect();
            prop_assert_eq!(&whole, &text);
            let _ = completed(&text, dialect);
        }
    }
}

// proves: F-CL-01
#[test]
fn what_is_filled_in_has_room_for_one_server() {
    let room = Cell::new(12);
    let filled = |text: &str| {
        let folder = Path::new("/");
        complete(text, Dialect::Dollar, folder, &surroundings(), &room)
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
