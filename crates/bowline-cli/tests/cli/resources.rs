//! The output of `bowline resources` and `bowline read`.

use std::fs;

use serde_json::Value;

use crate::place::{Place, check_hostile, peer};
use crate::run::{check, text};

#[test]
fn resources_and_templates_are_listed() {
    let place = Place::new("resources");
    place.check("resources", &["resources", "demo"]);
}

// proves: F-CL-03
#[test]
fn programs_get_them_as_the_protocol_has_them() {
    let place = Place::new("resources_json");
    let output = place.run(&["resources", "demo", "--json"]);
    assert_eq!(text(&output.stderr), "");
    let lists: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(lists["resources"][0]["uri"], "demo://readme");
    let template = &lists["resourceTemplates"][0]["uriTemplate"];
    assert_eq!(*template, "note:///{name}");
}

#[test]
fn a_server_may_not_know_templates() {
    let place = Place::new("resources_plain");
    let peer = peer("plain.sh");
    let peer = peer.each_ref().map(String::as_str);
    place.check("resources_plain", &[&["resources"], &peer[..]].concat());
    place.check("info_plain", &[&["info"], &peer[..]].concat());
    place.check("read_refused", &[&["read", "x:a"], &peer[..]].concat());
}

// proves: F-CL-01, F-CL-03
#[test]
fn an_error_of_a_server_is_printed_once_with_its_data() {
    let place = Place::new("wrong");
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
        place.check(name, &[args, &peer].concat());
    }
}

#[test]
fn texts_are_printed_and_blobs_saved() {
    let place = Place::new("read");
    place.check("read_text", &["read", "demo", "demo://readme"]);
    place.check("read_blob", &["read", "demo", "demo://knot.png"]);
    place.check(
        "read_template",
        &["read", "demo", "demo://books/ashley/knots"],
    );
    assert_eq!(place.files(), ["resource-1.png"]);
    let old = ["--revision", "2025-06-18", "--json"];
    let args = [&["read", "demo", "demo://readme"], &old[..]].concat();
    place.check("read_json", &args);
}

#[test]
fn exact_bytes_go_where_they_are_wanted() {
    let place = Place::new("read_output");
    let readme = place.run(&["read", "demo", "demo://readme"]).stdout;
    let args = ["read", "demo", "demo://readme", "-o", "readme.md"];
    place.check("read_output", &args);
    let saved = fs::read(place.folder.join("readme.md")).unwrap();
    assert_eq!(saved, readme);
    let poured = place.run(&["read", "demo", "demo://knot.png", "-o", "-"]);
    assert!(poured.stdout.starts_with(b"\x89PNG"));
    assert_eq!(text(&poured.stderr), "");
    assert_eq!(place.files(), ["readme.md"]);
}

#[test]
fn a_wrong_uri_is_answered_with_the_nearest_one() {
    let place = Place::new("read_wrong");
    place.check("read_typo", &["read", "demo", "demo://readem"]);
    place.check(
        "read_typo_json",
        &["read", "demo", "demo://readem", "--json"],
    );
    place.check("read_nothing_like_it", &["read", "demo", "zzzzzz:"]);
    place.check("read_broken", &["read", "demo", "demo://broken"]);
    place.check("read_nothing", &["read", "demo"]);
    place.check("read_two", &["read", "demo", "demo://readme", "x"]);
    place.check("resources_two", &["resources", "demo", "x"]);
}

// proves: F-CL-01
#[test]
fn hostile_contents_are_escaped_and_broken_ones_refused() {
    let place = Place::new("resources_hostile");
    let names = ["resources_hostile", "resources_hostile_json"];
    check_hostile(&place, names, &["resources"]);
    check_hostile(
        &place,
        ["read_hostile", "read_hostile_json"],
        &["read", "x:"],
    );
    assert!(place.files().is_empty());
}

// proves: F-CL-02
#[test]
fn a_reader_that_leaves_is_no_error() {
    let place = Place::new("resources_closed");
    for args in [
        &["resources", "demo"][..],
        &["read", "demo", "demo://readme"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = place.command(args).stdout(writer).output().unwrap();
        assert_eq!(text(&output.stderr), "");
        assert_eq!(output.status.code(), Some(0));
    }
}

#[test]
fn usage() {
    check("resources_help", &["resources", "--help"], b"");
    check("read_help", &["read", "--help"], b"");
}
