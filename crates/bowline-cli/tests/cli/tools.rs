//! The output of `bowline tools`.

use serde_json::Value;

use crate::run::{check, text};
use crate::test_folder::{TestFolder, check_hostile, peer};

#[test]
fn tools_are_listed_with_their_signatures() {
    TestFolder::new("tools_list").check("tools", &["tools", "demo"]);
}

#[test]
fn one_tool_is_shown_with_its_schemas() {
    let test = TestFolder::new("tools_one");
    test.check("tools_one", &["tools", "demo", "count_words"]);
    test.check(
        "tools_one_json",
        &["tools", "demo", "count_words", "--json"],
    );
}

// proves: F-CL-03
#[test]
fn programs_get_all_of_them_as_the_protocol_has_them() {
    let test = TestFolder::new("tools_json");
    let all = test.run(&["tools", "demo", "--json"]);
    assert_eq!(text(&all.stderr), "");
    let all: Value = serde_json::from_slice(&all.stdout).unwrap();
    let tools = all["tools"].as_array().unwrap();
    assert!(tools.len() > 25);
    let one = test.run(&["tools", "demo", "add", "--json"]);
    let one: Value = serde_json::from_slice(&one.stdout).unwrap();
    assert_eq!(one["inputSchema"]["type"], "object");
    assert!(tools.contains(&one));
}

#[test]
fn a_wrong_name_is_answered_with_the_nearest_one() {
    let test = TestFolder::new("tools_names");
    test.check("tools_typo", &["tools", "demo", "coutn_words"]);
    test.check(
        "tools_typo_json",
        &["tools", "demo", "coutn_words", "--json"],
    );
    test.check("tools_nothing_like_it", &["tools", "demo", "zzzzzzzz"]);
    test.check("tools_unknown_server", &["tools", "dmeo"]);
    test.check("tools_no_server", &["tools"]);
    test.check("tools_two", &["tools", "demo", "add", "echo"]);
}

#[test]
fn every_revision_is_spoken() {
    let test = TestFolder::new("tools_revisions");
    for revision in bowline_types::Revision::ALL {
        let args = ["tools", "demo", "add", "--revision", revision.as_str()];
        let output = test.run(&args);
        let stdout = text(&output.stdout);
        assert!(
            stdout.starts_with("add(a: number, b: number)\n"),
            "{stdout}"
        );
    }
}

#[test]
fn a_server_without_tools_is_an_error() {
    let script = concat!(
        r#"read -r line; id=${line#*\"id\":}; id=${id%%,*}; "#,
        r#"printf '%s\n' '{"jsonrpc":"2.0","id":'"$id"',"result":{"protocolVersion":"2025-06-18","#,
        r#""capabilities":{},"serverInfo":{"name":"bare","version":"1"}}}'; cat > /dev/null"#
    );
    let test = TestFolder::new("tools_without");
    let args = [
        "tools",
        "--revision",
        "2025-06-18",
        "--",
        "sh",
        "-c",
        script,
    ];
    let output = test.run(&args);
    test.compare("tools_without", &["tools", "(bare server)"], &output);
}

// proves: F-CL-05
#[test]
fn a_list_without_end_is_given_up() {
    let test = TestFolder::new("tools_endless");
    let peer = peer("endless.sh");
    let peer = peer.each_ref().map(String::as_str);
    test.check("tools_endless", &[&["tools"], &peer[..]].concat());
    let args = [&["call", "t1", "--json"], &peer[..]].concat();
    test.check("call_endless", &args);
}

#[test]
fn colours_are_for_terminals_and_for_those_who_ask() {
    let test = TestFolder::new("tools_colours");
    let is_coloured = |args: &[&str], variable: &str| {
        let mut command = test.command(args);
        let output = command.env(variable, "1").output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        text(&output.stdout).contains('\u{1b}')
    };
    for args in [&["tools", "demo"][..], &["tools", "demo", "add"]] {
        assert!(!is_coloured(args, "OTHER"));
        let asked = [args, &["--color", "always"]].concat();
        assert!(is_coloured(&asked, "NO_COLOR"));
        let json = [&asked[..], &["--json"]].concat();
        assert!(!is_coloured(&json, "OTHER"));
    }
}

// proves: F-CL-02
#[test]
fn a_reader_that_leaves_is_no_error() {
    let test = TestFolder::new("tools_closed");
    for args in [&["tools", "demo"][..], &["tools", "demo", "--json"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = test.command(args).stdout(writer).output().unwrap();
        assert_eq!(text(&output.stderr), "");
        assert_eq!(output.status.code(), Some(0));
    }
}

// proves: F-CL-01
#[test]
fn hostile_names_are_escaped() {
    let test = TestFolder::new("tools_hostile");
    check_hostile(&test, ["tools_hostile", "tools_hostile_json"], &["tools"]);
}

// proves: FT-5
#[test]
fn roots_are_declared_to_a_server_that_is_only_listed() {
    let test = TestFolder::new("tools_roots");
    std::fs::create_dir(test.folder.join("here")).unwrap();
    let peer = peer("rooted.sh");
    let peer = peer.each_ref().map(String::as_str);
    let args = [&["tools", "--root", "here"], &peer[..]].concat();
    test.check("tools_roots", &args);
    test.check("tools_no_roots", &[&["tools"], &peer[..]].concat());
}

#[test]
fn usage() {
    check("tools_help", &["tools", "--help"], b"");
}
