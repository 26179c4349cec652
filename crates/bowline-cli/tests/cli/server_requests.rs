//! Requests of servers: elicitation, sampling and roots.

use rustix::process::{Pid, Signal, kill_process};

use crate::run::{compare, text};
use crate::terminal::TerminalSession;
use crate::test_folder::TestFolder;

const OLD: [&str; 2] = ["--revision", "2025-11-25"];

/// Starts `bowline call demo` at a terminal. With `--json`, so that nothing else is drawn.
fn at_terminal(test: &TestFolder, args: &[&str]) -> TerminalSession {
    TerminalSession::start(test.command(&[&["call", "demo"], args, &["--json"]].concat()))
}

/// Compares what was to be seen, and what the tool answered.
fn compare_screen(name: &str, session: TerminalSession) {
    let (seen, stdout, code) = session.finish();
    let answer: serde_json::Value = serde_json::from_str(&stdout).unwrap_or_default();
    let answer = answer["content"][0]["text"].as_str().unwrap_or_default();
    let code = code.unwrap();
    let found = format!("exit code {code}\n---- answer\n{answer}\n---- screen\n{seen}");
    compare(name, &found);
}

// proves: FT-8
#[test]
fn a_person_fills_in_forms() {
    let test = TestFolder::new("asking_forms");
    for era in [&[][..], &OLD] {
        let mut name = at_terminal(&test, &[&["ask_name"], era].concat());
        name.answer("name> ", "");
        name.answer("name> ", "!help");
        name.answer("name> ", "Ada");
        compare_screen("asking_name", name);

        let mut survey = at_terminal(&test, &[&["ask_survey"], era].concat());
        survey.answer("age> ", "old");
        survey.answer("age> ", "1.5");
        survey.answer("age> ", "36");
        survey.answer("weight> ", "");
        survey.answer("sails> ", "yes");
        survey.answer("knot> ", "3");
        survey.answer("knot> ", "1");
        survey.answer("(e)dit> ", "y");
        survey.answer("why> ", "it holds");
        compare_screen("asking_survey", survey);
    }
}

// proves: FT-8
#[test]
fn a_person_may_say_no_or_nothing() {
    let test = TestFolder::new("asking_no");
    for (line, expected) in [
        ("!decline\n", "No name: decline."),
        ("!cancel\n", "No name: cancel."),
        ("\u{4}", "No name: cancel."),
    ] {
        let mut session = at_terminal(&test, &["ask_name"]);
        session.wait_for("name> ");
        session.hit(line);
        let (_, stdout, code) = session.finish();
        assert!(stdout.contains(expected), "{stdout}");
        assert_eq!(code, Some(0));
    }
}

// proves: FT-8
#[test]
fn a_url_is_shown_with_its_host() {
    let test = TestFolder::new("asking_page");
    for era in [&[][..], &OLD] {
        let mut page = at_terminal(&test, &[&["ask_url"], era].concat());
        page.answer("(n)o> ", "what");
        page.answer("(n)o> ", "y");
        compare_screen("asking_page", page);
    }
}

// proves: FT-4
#[test]
fn a_person_plays_the_model() {
    let test = TestFolder::new("asking_model");
    for era in [&[][..], &OLD] {
        let mut model = at_terminal(&test, &[&["ask_model", "question=Why?"], era].concat());
        model.answer("model> ", "Because");
        model.answer("model> ", "it holds.");
        model.answer("model> ", "");
        compare_screen("asking_model", model);

        let mut none = at_terminal(&test, &[&["ask_model", "question=Why?"], era].concat());
        none.answer("model> ", "!decline");
        let (_, stdout, code) = none.finish();
        // Before 2026-07-28 the tool hears of it, since then the call ends.
        let is_told = code == Some(1) || stdout.contains("rejected");
        assert!(is_told, "{stdout} {code:?}");
    }
}

#[test]
fn options_answer_before_the_person_does() {
    let test = TestFolder::new("asking_both");
    let args = [
        "ask_survey",
        "--answer",
        "age=x",
        "--answer",
        "knot=bowline",
    ];
    let mut unfit = at_terminal(&test, &args);
    unfit.answer("age> ", "36");
    unfit.answer("weight> ", "!cancel");
    compare_screen("asking_unfit", unfit);

    let args = [
        "ask_survey",
        "--answer",
        "age=36",
        "--answer",
        "knot=bowline",
    ];
    let mut rest = at_terminal(&test, &[&args[..], &["--answer", "why=so"]].concat());
    rest.answer("weight> ", "");
    rest.answer("sails> ", "n");
    rest.answer("(e)dit> ", "y");
    compare_screen("asking_rest", rest);
}

#[test]
fn input_before_a_prompt_is_discarded() {
    let test = TestFolder::new("asking_early");
    let mut session = at_terminal(&test, &["ask_name"]);
    session.hit("!decline\n");
    session.answer("name> ", "Ada");
    let (_, stdout, _) = session.finish();
    assert!(stdout.contains("Hello, Ada!"), "{stdout}");
}

#[test]
fn ctrl_c_ends_the_question_with_the_call() {
    let test = TestFolder::new("asking_interrupt");
    let mut session = at_terminal(&test, &["ask_name"]);
    session.wait_for("name> ");
    session.interrupt();
    let (seen, stdout, code) = session.finish();
    assert_eq!((stdout.as_str(), code), ("", Some(1)));
    assert!(
        seen.contains("interrupted: the call was cancelled"),
        "{seen}"
    );
}

#[test]
fn a_server_that_dies_takes_its_question_with_it() {
    let test = TestFolder::new("asking_dying");
    let script = r#"echo $$ > pid; exec "$0" serve demo"#;
    let server = ["--", "sh", "-c", script, env!("CARGO_BIN_EXE_bowline")];
    let args = [&["call", "ask_name", "--json"], &OLD[..], &server].concat();
    let mut session = TerminalSession::start(test.command(&args));
    session.wait_for("name> ");
    let pid = std::fs::read_to_string(test.folder.join("pid")).unwrap();
    let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    let (seen, stdout, code) = session.finish();
    assert_eq!((stdout.as_str(), code), ("", Some(4)), "{seen}");
    assert!(seen.contains("SIGKILL"), "{seen}");
}

#[test]
fn no_bar_is_drawn_into_a_question() {
    let test = TestFolder::new("asking_bar");
    let mut session = TerminalSession::start(test.command(&["call", "demo", "ask_name"]));
    session.answer("name> ", "");
    session.answer("name> ", "Ada");
    let (seen, stdout, _) = session.finish();
    let (_, question) = seen.split_once("demo asks you").unwrap();
    let (question, _) = question.split_once("name> Ada").unwrap();
    assert!(!question.contains('\u{1b}'), "{question:?}");
    assert_eq!(stdout, "Hello, Ada!\n");
}

// proves: FT-4, FT-5, FT-8
#[test]
fn options_answer_where_there_is_no_terminal() {
    let test = TestFolder::new("asking_options");
    let sample = ["ask_model", "question=Why?", "--sample", "Because"];
    for (args, expected) in [
        (&["ask_name", "--answer", "name=Ada"][..], "Hello, Ada!\n"),
        (&["ask_name", "--decline"], "No name: decline.\n"),
        (&["ask_url", "--decline"], "The user's answer: decline\n"),
        (&["ask_url", "--accept-urls"], "The user's answer: accept\n"),
        (&sample, "bowline --sample: Because\n"),
        (
            &[
                "ask_survey",
                "--accept-defaults",
                "--answer",
                "knot=bowline",
            ],
            "Survey 1: bowline, because: no reason\n",
        ),
    ] {
        for era in [&[][..], &OLD] {
            let output = test.run(&[&["call", "demo"], args, era].concat());
            assert_eq!(text(&output.stdout), expected, "{}", text(&output.stderr));
        }
    }
    std::fs::create_dir(test.folder.join("a b")).unwrap();
    test.check(
        "asking_roots",
        &["call", "demo", "list_roots", "--root", "a b"],
    );
}

#[test]
fn requests_without_an_answer_are_cancelled_with_a_warning() {
    let test = TestFolder::new("asking_open");
    let survey = |answer| ["call", "demo", "ask_survey", "--answer", answer];
    test.check("asking_survey_unfit", &survey("age=old"));
    test.check("asking_survey_open", &survey("knot=bowline"));
    let misspelt = ["call", "demo", "ask_name", "--answer", "nmae=Ada"];
    test.check("asking_misspelt", &misspelt);
    test.check(
        "asking_misspelt_json",
        &[&misspelt[..], &["--json"]].concat(),
    );
    let defaults = ["call", "demo", "ask_name", "--accept-defaults"];
    test.check("asking_no_default", &defaults);
    test.check(
        "asking_pages",
        &["call", "demo", "ask_url", "--accept-urls"],
    );
    let refused = ["call", "demo", "ask_model", "question=Why?", "--decline"];
    test.check("asking_refused", &refused);
}

// proves: FT-8
#[test]
fn a_call_that_requires_url_elicitation_is_sent_again() {
    let test = TestFolder::new("asking_needed");
    let mut peer = crate::test_folder::peer("pages.sh");
    peer[1] = "2025-11-25".to_owned();
    let peer: Vec<_> = peer.iter().map(String::as_str).collect();
    for (name, args) in [
        ("asking_needed", &["files", "--accept-urls"][..]),
        ("asking_needed_again", &["never", "--accept-urls"]),
        ("asking_needed_declined", &["files", "--decline"]),
        ("asking_needed_no_terminal", &["files"]),
    ] {
        let args = [&["call"], args, &peer].concat();
        test.check(name, &args);
    }
}

#[test]
fn without_a_terminal_requests_are_cancelled_and_the_option_is_named() {
    let test = TestFolder::new("asking_no_terminal");
    for (name, args) in [
        ("asking_no_terminal", &["ask_name"][..]),
        ("asking_no_terminal_page", &["ask_url"]),
        ("asking_no_terminal_model", &["ask_model", "question=Why?"]),
    ] {
        test.check(name, &[&["call", "demo"], args].concat());
    }
    let old = [&["call", "demo", "ask_name"], &OLD[..]].concat();
    test.check("asking_no_terminal_old", &old);
}

#[test]
fn answers_that_make_no_sense_are_refused_before_anything_is_started() {
    let test = TestFolder::new("asking_wrong");
    let call = |args: [&'static str; 2]| [&["call", "demo", "ask_name"], &args[..]].concat();
    test.check("asking_no_pair", &call(["--answer", "name"]));
    test.check("asking_stdin", &call(["--answer", "name=@-"]));
    test.check("asking_no_root", &call(["--root", "/no/such/folder"]));
    let both = [&call(["--answer", "name=Ada"])[..], &["--decline"]].concat();
    test.check("asking_contradiction", &both);
}
