use super::*;
use crate::scratch::Scratch;

const SERVERS: &str = r#"{"mcpServers": {
    "filesystem": {"command": "npx", "args": ["-y"], "env": {"A": "${HOME}"}, "timeout": 2000},
    "off": {"command": "x", "disabled": true},
    "far": {"url": "https://example.com/mcp"},
    "incomplete": {"command": "${NO_SUCH}"}
}}"#;

/// What becomes of `wanted` in a project with `SERVERS`, and the warnings.
fn find(wanted: ServerChoice, files: &[(&str, &str)]) -> (anyhow::Result<Target>, String) {
    let scratch = Scratch::new();
    scratch.write(".git/HEAD", "");
    scratch.write("mcp.json", SERVERS);
    for (file, text) in files {
        scratch.write(file, text);
    }
    let environment = Environment {
        folder: scratch.path().to_owned(),
        variables: [("HOME".into(), "/no/such/home".into())].into(),
    };
    let (mut printer, page) = Printer::captured();
    let mut target = wanted.find(&[], &environment, &mut printer);
    if let Ok(target) = &mut target
        && target.launch.folder.as_deref() == Some(scratch.path())
    {
        target.launch.folder = Some("/project".into());
    }
    (target, page.text())
}

fn error(wanted: ServerChoice, files: &[(&str, &str)]) -> (String, String, ExitStatus) {
    let error = find(wanted, files).0.unwrap_err();
    let hint = Failure::hint_of(&error).unwrap().to_owned();
    (format!("{error:#}"), hint, Failure::status_of(&error))
}

#[test]
fn a_command_after_the_dashes_is_the_server_and_all_words_remain() {
    let words = ["add".to_owned(), "a=1".to_owned()];
    let command = ["npx".into(), "-y".into()];
    let (wanted, rest) = ServerChoice::parse(&words, &command).unwrap();
    assert_eq!(rest, words);
    let (target, talk) = find(wanted, &[]);
    let launch = Launch {
        program: "npx".into(),
        args: vec!["-y".into()],
        inherits_env: true,
        ..Launch::default()
    };
    let expected = Target {
        name: "npx".to_owned(),
        launch,
        timeout: None,
    };
    assert_eq!((target.unwrap(), talk.as_str()), (expected, ""));
}

#[test]
fn without_a_command_the_first_word_names_the_server() {
    let words = ["demo".to_owned(), "add".to_owned()];
    let (wanted, rest) = ServerChoice::parse(&words, &[]).unwrap();
    assert_eq!((wanted, rest), (ServerChoice::Demo, &words[1..]));
    let none = ServerChoice::parse(&[], &[]).unwrap_err();
    assert_eq!(none.to_string(), "no server given");
    assert_eq!(Failure::status_of(&none), ExitStatus::Usage);
}

#[test]
fn the_demo_is_this_program() {
    let target = find(ServerChoice::Demo, &[]).0.unwrap();
    assert_eq!(target.launch.program, env::current_exe().unwrap());
    assert_eq!(target.launch.args, ["serve", "demo"]);
}

#[test]
fn a_name_is_looked_up_and_filled_in() {
    let (target, talk) = find(ServerChoice::named("filesystem"), &[]);
    let launch = Launch {
        program: "npx".into(),
        args: vec!["-y".into()],
        env: vec![("A".into(), "/no/such/home".into())],
        inherits_env: false,
        folder: Some("/project".into()),
        secrets: Vec::new(),
    };
    let expected = Target {
        name: "filesystem".to_owned(),
        launch,
        timeout: Some(Duration::from_secs(2)),
    };
    assert_eq!((target.unwrap(), talk.as_str()), (expected, ""));
}

#[test]
fn a_disabled_server_is_used_when_it_is_named() {
    let (target, talk) = find(ServerChoice::named("off"), &[]);
    assert_eq!(target.unwrap().launch.program, "x");
    assert_eq!(
        talk,
        "`off` is disabled in mcp.json; using it because it was named explicitly\n"
    );
}

#[test]
fn a_wrong_name_is_answered_with_the_nearest_right_one() {
    for (name, hint) in [
        ("fielsystem", "did you mean `filesystem`?"),
        ("dmeo", "did you mean `demo`?"),
        (
            "zzz",
            "`bowline servers` lists the configured servers; a command goes after --",
        ),
    ] {
        let expected = (
            format!("no server named `{name}`"),
            hint.to_owned(),
            ExitStatus::Usage,
        );
        assert_eq!(error(ServerChoice::named(name), &[]), expected);
    }
}

#[test]
fn a_broken_file_is_a_warning_unless_it_may_have_the_server() {
    let broken = [(".mcp.json", "{")];
    let (target, talk) = find(ServerChoice::named("filesystem"), &broken);
    assert!(target.is_ok());
    assert_eq!(
        talk,
        "warning: .mcp.json:1:2: expected a name in double quotes, found the end of the file\n\
         hint: fix the syntax; comments and trailing commas are allowed\n"
    );
    let (message, _, status) = error(ServerChoice::named("other"), &broken);
    assert_eq!(
        message,
        "no server named `other`: .mcp.json:1:2: expected a name in double quotes, found the end of the file"
    );
    assert_eq!(status, ExitStatus::Failed);
    // A slip is no reason to look there.
    let (target, talk) = find(ServerChoice::named("fielsystem"), &broken);
    let error = target.unwrap_err();
    assert_eq!(Failure::status_of(&error), ExitStatus::Usage);
    assert_eq!(error.to_string(), "no server named `fielsystem`");
    assert_eq!(Failure::hint_of(&error), Some("did you mean `filesystem`?"));
    assert!(talk.starts_with("warning: .mcp.json:1:2: "), "{talk}");
}

#[test]
fn a_missing_field_of_a_server_is_named() {
    let (message, hint, status) = error(ServerChoice::named("incomplete"), &[]);
    assert_eq!(
        message,
        "mcp.json:5:31: server `incomplete`: command: environment variable NO_SUCH is not set"
    );
    assert_eq!(
        hint,
        "set it (export NO_SUCH=…), or add a default: ${NO_SUCH:-…}"
    );
    assert_eq!(status, ExitStatus::Failed);
}

#[test]
fn urls_are_recognised_and_refused() {
    for url in ["http://x", "HTTPS://x/y", "ws://x", "wss://x"] {
        assert_eq!(ServerChoice::named(url), ServerChoice::Url(url.to_owned()));
        let (message, _, status) = error(ServerChoice::named(url), &[]);
        assert_eq!(message, "servers with a URL are not supported yet");
        assert_eq!(status, ExitStatus::Unreachable);
    }
    let (message, _, status) = error(ServerChoice::named("far"), &[]);
    assert_eq!(status, ExitStatus::Unreachable);
    assert_eq!(
        message,
        "cannot reach `far`: servers with a URL are not supported yet"
    );
}
