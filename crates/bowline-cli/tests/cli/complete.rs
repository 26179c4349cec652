//! The output of `bowline complete`.

use crate::run::check;
use crate::test_folder::{TestFolder, check_hostile, peer};

#[test]
fn arguments_of_prompts_and_variables_of_templates_are_completed() {
    let test = TestFolder::new("complete");
    test.check("complete", &["complete", "demo", "greet", "style=f"]);
    let args = ["complete", "demo", "prompt:greet", "style=f", "--json"];
    test.check("complete_json", &args);
    let template = "demo://books/{author}/{title}";
    test.check(
        "complete_template",
        &["complete", "demo", template, "author="],
    );
    let known = [
        "complete",
        "demo",
        "template:book",
        "title=",
        "author=conrad",
    ];
    test.check("complete_known", &known);
    test.check(
        "complete_nothing",
        &["complete", "demo", "greet", "style=z"],
    );
}

#[test]
fn wrong_words_are_answered_with_right_ones() {
    let test = TestFolder::new("complete_wrong");
    test.check("complete_typo", &["complete", "demo", "gret", "style=f"]);
    let args = ["complete", "demo", "greet", "stile=f", "--json"];
    test.check("complete_wrong_key", &args);
    let args = ["complete", "demo", "template:book", "page=1"];
    test.check("complete_wrong_variable", &args);
    test.check("complete_no_reference", &["complete", "demo"]);
    test.check("complete_no_argument", &["complete", "demo", "greet"]);
    test.check("complete_no_pair", &["complete", "demo", "greet", "style"]);
}

#[test]
fn a_server_without_completion_is_an_error() {
    let test = TestFolder::new("complete_plain");
    let peer = peer("plain.sh");
    let peer = peer.each_ref().map(String::as_str);
    let args = [&["complete", "say", "x="], &peer[..]].concat();
    test.check("complete_plain", &args);
}

// proves: F-CL-01
#[test]
fn hostile_values_are_escaped() {
    let test = TestFolder::new("complete_hostile");
    let names = ["complete_hostile", "complete_hostile_json"];
    check_hostile(&test, names, &["complete", "prompt:say", "x="]);
}

#[test]
fn usage() {
    check("complete_help", &["complete", "--help"], b"");
}
