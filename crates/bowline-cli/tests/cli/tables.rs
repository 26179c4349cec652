//! Text of servers in tables and paragraphs: wrapped once, between words, to the width of the
//! terminal; and of any length.

use std::fs;

use crate::run::text;
use crate::test_folder::{TestFolder, peer};

// proves: F-CL-01
#[test]
fn texts_of_70000_characters_are_printed() {
    let test = TestFolder::new("tables_huge");
    let peer = peer("huge.sh");
    let peer = peer.each_ref().map(String::as_str);
    let output = test.run(&[&["resources"], &peer[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains(&"x".repeat(70_000)));

    let long = "x".repeat(70_000);
    let config = format!(
        r#"{{"mcpServers": {{"a": {{"command": "{long}"}}, "b": {{"command": "y", "args": ["{long}"]}}, "{long}": {{"command": "z"}}}}}}"#
    );
    fs::write(test.folder.join(".mcp.json"), config).unwrap();
    let output = test.run(&["servers"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout).matches(&long).count(), 2);
}

#[test]
fn texts_are_wrapped_between_words_and_once() {
    let test = TestFolder::new("tables_wordy");
    let peer = peer("wordy.sh");
    let peer = peer.each_ref().map(String::as_str);
    test.check("tools_wordy", &[&["tools"], &peer[..]].concat());
    test.check(
        "tools_wordy_one",
        &[&["tools", "search"], &peer[..]].concat(),
    );
    test.check("resources_wordy", &[&["resources"], &peer[..]].concat());
}
