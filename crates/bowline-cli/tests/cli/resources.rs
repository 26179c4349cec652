//! The output of `bowline resources` and `bowline read`.

use std::fs;

use serde_json::Value;

use crate::run::{check, text};
use crate::test_folder::{TestFolder, check_hostile, peer};

#[test]
fn resources_and_templates_are_listed() {
    let test = TestFolder::new("resources");
    test.check("resources", &["resources", "demo"]);
}

// proves: F-CL-03
#[test]
fn programs_get_them_as_the_protocol_has_them() {
    let test = TestFolder::new("resources_json");
    let output = test.run(&["resources", "demo", "--json"]);
    assert_eq!(text(&output.stderr), "");
    let lists: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(lists["resources"][0]["uri"], "demo://readme");
    let template = &lists["resourceTemplates"][0]["uriTemplate"];
    assert_eq!(*template, "note:///{name}");
}

#[test]
fn a_server_may_not_know_templates() {
    let test = TestFolder::new("resources_plain");
    let peer = peer("plain.sh");
    let peer = peer.each_ref().map(String::as_str);
    test.check("resources_plain", &[&["resources"], &peer[..]].concat());
    test.check("info_plain", &[&["info"], &peer[..]].concat());
    test.check("read_refused", &[&["read", "x:a"], &peer[..]].concat());
}

// proves: F-CL-01, F-CL-03
#[test]
fn an_error_of_a_server_is_printed_once_with_its_data() {
    let test = TestFolder::new("wrong");
    let peer = peer("wrong.sh");
    let peer = peer.each_ref().map(String::as_str);
    for (name, args) in [
        ("read_data", &["read", "x:a"][..]),
        ("read_data_json", &["read", "x:a", "--json"]),
        // The nearest name is a hint, and takes nothing away.
        ("read_data_typo_json", &["read", "x:b", "--json"]),
        ("tools_invalid", &["tools"]),
        ("prompts_lost", &["prompts"]),
    ] {
        test.check(name, &[args, &peer].concat());
    }
}

#[test]
fn texts_are_printed_and_blobs_saved() {
    let test = TestFolder::new("read");
    test.check("read_text", &["read", "demo", "demo://readme"]);
    test.check("read_blob", &["read", "demo", "demo://knot.png"]);
    test.check(
        "read_template",
        &["read", "demo", "demo://books/ashley/knots"],
    );
    assert_eq!(test.files(), ["resource-1.png"]);
    let old = ["--revision", "2025-06-18", "--json"];
    let args = [&["read", "demo", "demo://readme"], &old[..]].concat();
    test.check("read_json", &args);
}

#[test]
fn exact_bytes_go_where_they_are_wanted() {
    let test = TestFolder::new("read_output");
    let readme = test.run(&["read", "demo", "demo://readme"]).stdout;
    let args = ["read", "demo", "demo://readme", "-o", "readme.md"];
    test.check("read_output", &args);
    let saved = fs::read(test.folder.join("readme.md")).unwrap();
    assert_eq!(saved, readme);
    let poured = test.run(&["read", "demo", "demo://knot.png", "-o", "-"]);
    assert!(poured.stdout.starts_with(b"\x89PNG"));
    assert_eq!(text(&poured.stderr), "");
    assert_eq!(test.files(), ["readme.md"]);
}

#[test]
fn a_wrong_uri_is_answered_with_the_nearest_one() {
    let test = TestFolder::new("read_wrong");
    test.check("read_typo", &["read", "demo", "demo://readem"]);
    test.check(
        "read_typo_json",
        &["read", "demo", "demo://readem", "--json"],
    );
    test.check("read_nothing_like_it", &["read", "demo", "zzzzzz:"]);
    test.check("read_broken", &["read", "demo", "demo://broken"]);
    test.check("read_nothing", &["read", "demo"]);
    test.check("read_two", &["read", "demo", "demo://readme", "x"]);
    test.check("resources_two", &["resources", "demo", "x"]);
}

// proves: F-CL-01
#[test]
fn hostile_contents_are_escaped_and_broken_ones_refused() {
    let test = TestFolder::new("resources_hostile");
    let names = ["resources_hostile", "resources_hostile_json"];
    check_hostile(&test, names, &["resources"]);
    check_hostile(
        &test,
        ["read_hostile", "read_hostile_json"],
        &["read", "x:"],
    );
    assert!(test.files().is_empty());
}

// proves: F-CL-02
#[test]
fn a_reader_that_leaves_is_no_error() {
    let test = TestFolder::new("resources_closed");
    for args in [
        &["resources", "demo"][..],
        &["read", "demo", "demo://readme"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = test.command(args).stdout(writer).output().unwrap();
        assert_eq!(text(&output.stderr), "");
        assert_eq!(output.status.code(), Some(0));
    }
}

#[test]
fn usage() {
    check("resources_help", &["resources", "--help"], b"");
    check("read_help", &["read", "--help"], b"");
}
