//! The output of `bowline prompts` and `bowline prompt`.

use std::fs;

use serde_json::Value;

use crate::place::{Place, check_hostile};
use crate::run::{check, text};

#[test]
fn prompts_are_listed_with_their_arguments() {
    let place = Place::new("prompts");
    place.check("prompts", &["prompts", "demo"]);
    place.check("prompts_one", &["prompts", "demo", "greet"]);
    place.check("prompts_without_arguments", &["prompts", "demo", "look"]);
}

// proves: F-CL-03
#[test]
fn programs_get_them_as_the_protocol_has_them() {
    let place = Place::new("prompts_json");
    let all = place.run(&["prompts", "demo", "--json"]);
    let all: Value = serde_json::from_slice(&all.stdout).unwrap();
    let one = place.run(&["prompts", "demo", "greet", "--json"]);
    let one: Value = serde_json::from_slice(&one.stdout).unwrap();
    assert_eq!(one["arguments"][0]["name"], "name");
    assert!(all["prompts"].as_array().unwrap().contains(&one));
}

#[test]
fn a_prompt_is_filled_in() {
    let place = Place::new("prompt");
    place.check("prompt", &["prompt", "demo", "greet", "name=Ann"]);
    place.check("prompt_conversation", &["prompt", "demo", "look"]);
    assert_eq!(place.files(), ["image-1.png"]);
    let object = r#"{"name": "Ann", "style": "nautical"}"#;
    let old = ["--revision", "2025-06-18", "--json"];
    let args = [&["prompt", "demo", "greet", object], &old[..]].concat();
    place.check("prompt_json", &args);
    fs::write(place.folder.join("name"), "Bea").unwrap();
    place.check("prompt_file", &["prompt", "demo", "greet", "name=@name"]);
}

#[test]
fn texts_alone_go_where_they_are_wanted() {
    let place = Place::new("prompt_output");
    let greet = ["prompt", "demo", "greet", "name=\u{1b}[2J", "-o"];
    let poured = place.run(&[&greet[..], &["-"]].concat());
    let expected = "Write a friendly greeting for \u{1b}[2J.";
    assert_eq!(text(&poured.stdout), expected);
    place.run(&[&greet[..], &["greeting"]].concat());
    let saved = fs::read_to_string(place.folder.join("greeting")).unwrap();
    assert_eq!(saved, expected);
    place.check("prompt_folder", &["prompt", "demo", "look", "-o", "new/"]);
}

#[test]
fn wrong_words_are_answered_with_right_ones() {
    let place = Place::new("prompt_wrong");
    place.check("prompts_typo", &["prompts", "demo", "gret"]);
    place.check("prompt_typo", &["prompt", "demo", "gret", "--json"]);
    place.check("prompt_none", &["prompt", "demo"]);
    place.check("prompt_missing", &["prompt", "demo", "greet"]);
    let key = ["prompt", "demo", "greet", "name=x", "stile=y"];
    place.check("prompt_wrong_key", &key);
    place.check("prompt_no_text", &["prompt", "demo", "greet", "name:=3"]);
    let note = ["prompt", "demo", "summarize", "name=none"];
    place.check("prompt_refused", &note);
}

// proves: F-CL-01
#[test]
fn hostile_words_are_escaped() {
    let place = Place::new("prompts_hostile");
    let names = ["prompts_hostile", "prompts_hostile_json"];
    check_hostile(&place, names, &["prompts"]);
    let names = ["prompt_hostile", "prompt_hostile_json"];
    check_hostile(&place, names, &["prompt", "say"]);
}

#[test]
fn usage() {
    check("prompts_help", &["prompts", "--help"], b"");
    check("prompt_help", &["prompt", "--help"], b"");
}
