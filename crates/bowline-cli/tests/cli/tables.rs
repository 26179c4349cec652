//! Text of servers in tables and paragraphs: wrapped once, between words, to the width of the
//! terminal; and of any length.

use std::fs;

use crate::place::{Place, peer};
use crate::run::text;

// proves: F-CL-01
#[test]
fn texts_of_70000_characters_are_printed() {
    let place = Place::new("tables_huge");
    let peer = peer("huge.sh");
    let peer = peer.each_ref().map(String::as_str);
    let output = place.run(&[&["resources"], &peer[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains(&"x".repeat(70_000)));

    let long = "x".repeat(70_000);
    let config = format!(
        r#"{{"mcpServers": {{"a": {{"command": "{long}"}}, "b": {{"command": "y", "args": ["{long}"]}}, "{long}": {{"command": "z"}}}}}}"#
    );
    fs::write(place.folder.join(".mcp.json"), config).unwrap();
    let output = place.run(&["servers"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout).matches(&long).count(), 2);
}

#[test]
fn texts_are_wrapped_between_words_and_once() {
    let place = Place::new("tables_wordy");
    let peer = peer("wordy.sh");
    let peer = peer.each_ref().map(String::as_str);
    place.check("tools_wordy", &[&["tools"], &peer[..]].concat());
    place.check(
        "tools_wordy_one",
        &[&["tools", "search"], &peer[..]].concat(),
    );
    place.check("resources_wordy", &[&["resources"], &peer[..]].concat());
}
