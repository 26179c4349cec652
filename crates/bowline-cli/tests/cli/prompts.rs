//! The output of `bowline prompts` and `bowline prompt`.

use std::fs;

use serde_json::Value;

use crate::run::{check, text};
use crate::test_folder::{TestFolder, check_hostile};

#[test]
fn prompts_are_listed_with_their_arguments() {
    let test = TestFolder::new("prompts");
    test.check("prompts", &["prompts", "demo"]);
    test.check("prompts_one", &["prompts", "demo", "greet"]);
    test.check("prompts_without_arguments", &["prompts", "demo", "look"]);
}

// proves: F-CL-03
#[test]
fn programs_get_them_as_the_protocol_has_them() {
    let test = TestFolder::new("prompts_json");
    let all = test.run(&["prompts", "demo", "--json"]);
    let all: Value = serde_json::from_slice(&all.stdout).unwrap();
    let one = test.run(&["prompts", "demo", "greet", "--json"]);
    let one: Value = serde_json::from_slice(&one.stdout).unwrap();
    assert_eq!(one["arguments"][0]["name"], "name");
    assert!(all["prompts"].as_array().unwrap().contains(&one));
}

#[test]
fn a_prompt_is_filled_in() {
    let test = TestFolder::new("prompt");
    test.check("prompt", &["prompt", "demo", "greet", "name=Ann"]);
    test.check("prompt_conversation", &["prompt", "demo", "look"]);
    assert_eq!(test.files(), ["image-1.png"]);
    let object = r#"{"name": "Ann", "style": "nautical"}"#;
    let old = ["--revision", "2025-06-18", "--json"];
    let args = [&["prompt", "demo", "greet", object], &old[..]].concat();
    test.check("prompt_json", &args);
    fs::write(test.folder.join("name"), "Bea").unwrap();
    test.check("prompt_file", &["prompt", "demo", "greet", "name=@name"]);
}

#[test]
fn texts_alone_go_where_they_are_wanted() {
    let test = TestFolder::new("prompt_output");
    let greet = ["prompt", "demo", "greet", "name=\u{1b}[2J", "-o"];
    let poured = test.run(&[&greet[..], &["-"]].concat());
    let expected = "Write a friendly greeting for \u{1b}[2J.";
    assert_eq!(text(&poured.stdout), expected);
    test.run(&[&greet[..], &["greeting"]].concat());
    let saved = fs::read_to_string(test.folder.join("greeting")).unwrap();
    assert_eq!(saved, expected);
    test.check("prompt_folder", &["prompt", "demo", "look", "-o", "new/"]);
}

#[test]
fn wrong_words_are_answered_with_right_ones() {
    let test = TestFolder::new("prompt_wrong");
    test.check("prompts_typo", &["prompts", "demo", "gret"]);
    test.check("prompt_typo", &["prompt", "demo", "gret", "--json"]);
    test.check("prompt_none", &["prompt", "demo"]);
    test.check("prompt_missing", &["prompt", "demo", "greet"]);
    let key = ["prompt", "demo", "greet", "name=x", "stile=y"];
    test.check("prompt_wrong_key", &key);
    test.check("prompt_no_text", &["prompt", "demo", "greet", "name:=3"]);
    let note = ["prompt", "demo", "summarize", "name=none"];
    test.check("prompt_refused", &note);
}

// proves: F-CL-01
#[test]
fn hostile_words_are_escaped() {
    let test = TestFolder::new("prompts_hostile");
    let names = ["prompts_hostile", "prompts_hostile_json"];
    check_hostile(&test, names, &["prompts"]);
    let names = ["prompt_hostile", "prompt_hostile_json"];
    check_hostile(&test, names, &["prompt", "say"]);
}

#[test]
fn usage() {
    check("prompts_help", &["prompts", "--help"], b"");
    check("prompt_help", &["prompt", "--help"], b"");
}
