//! The output of `bowline complete`.

use crate::place::{Place, check_hostile, peer};
use crate::run::check;

#[test]
fn arguments_of_prompts_and_variables_of_templates_are_completed() {
    let place = Place::new("complete");
    place.check("complete", &["complete", "demo", "greet", "style=f"]);
    let args = ["complete", "demo", "prompt:greet", "style=f", "--json"];
    place.check("complete_json", &args);
    let template = "demo://books/{author}/{title}";
    place.check(
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
    place.check("complete_known", &known);
    place.check(
        "complete_nothing",
        &["complete", "demo", "greet", "style=z"],
    );
}

#[test]
fn wrong_words_are_answered_with_right_ones() {
    let place = Place::new("complete_wrong");
    place.check("complete_typo", &["complete", "demo", "gret", "style=f"]);
    let args = ["complete", "demo", "greet", "stile=f", "--json"];
    place.check("complete_wrong_key", &args);
    let args = ["complete", "demo", "template:book", "page=1"];
    place.check("complete_wrong_variable", &args);
    place.check("complete_no_reference", &["complete", "demo"]);
    place.check("complete_no_argument", &["complete", "demo", "greet"]);
    place.check("complete_no_pair", &["complete", "demo", "greet", "style"]);
}

#[test]
fn a_server_without_completion_is_an_error() {
    let place = Place::new("complete_plain");
    let peer = peer("plain.sh");
    let peer = peer.each_ref().map(String::as_str);
    let args = [&["complete", "say", "x="], &peer[..]].concat();
    place.check("complete_plain", &args);
}

// proves: F-CL-01
#[test]
fn hostile_values_are_escaped() {
    let place = Place::new("complete_hostile");
    let names = ["complete_hostile", "complete_hostile_json"];
    check_hostile(&place, names, &["complete", "prompt:say", "x="]);
}

#[test]
fn usage() {
    check("complete_help", &["complete", "--help"], b"");
}
