use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::*;

/// A folder that is removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("bowline-skills-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) -> &Self {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn load(&self) -> Result<SkillSet, String> {
        SkillSet::load(&self.0)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const INVOICES: &str = "---\nname: invoices\ndescription: Reads invoices\n---\nRead them.\n";

fn json_of(value: &impl bowline_types::Wire) -> Value {
    let text = value.to_json(bowline_types::Revision::LATEST).unwrap();
    serde_json::from_str(text.as_str()).unwrap()
}

#[test]
fn a_skill_has_its_files_with_digest_and_size() {
    let folder = Folder::new("files");
    folder
        .write("invoices/SKILL.md", INVOICES)
        .write("invoices/scripts/a b.py", "print(1)\n")
        .write("invoices/.git/config", "secret")
        .write("not a skill/README.md", "# None");
    let set = folder.load().unwrap();
    let skill = json_of(&**set.skills.iter().next().unwrap());
    assert_eq!(skill["uri"], "skill://invoices/SKILL.md");
    assert_eq!(
        skill["resources"],
        json!([
            {
                "uri": "skill://invoices/SKILL.md",
                "digest": "sha256:2cf9fe28b821b36413dba573a77c5153609880ad36e86ea58fb96e27e7a170f8",
                "size": INVOICES.len(),
            },
            {
                "uri": "skill://invoices/scripts/a%20b.py",
                "digest": "sha256:cc42155088fca5730758db72b2a5bca33112a941dfaa2d43098ec422ce4ea213",
                "size": 9,
            },
        ])
    );
    let entries = set.directories["skill://invoices"].iter();
    let entries: Vec<_> = entries.map(|entry| entry.mime_type.as_deref()).collect();
    assert_eq!(entries, [Some(MARKDOWN), Some("inode/directory")]);
    assert_eq!(set.skills.iter().count(), 1);
}

// SE-102.
// proves: SE-102
#[cfg(unix)]
#[test]
fn no_uri_and_no_link_leaves_the_folder() {
    use std::os::unix::fs::symlink;
    let outside = Folder::new("outside");
    outside
        .write("secret", "secret")
        .write("skill/SKILL.md", INVOICES);
    let folder = Folder::new("links");
    folder.write("invoices/SKILL.md", INVOICES);
    let link = |to: &Path, at: &str| symlink(to, folder.0.join(at)).unwrap();
    link(&outside.0.join("secret"), "invoices/secret");
    link(&outside.0, "invoices/outside");
    link(&outside.0.join("skill"), "skill");
    link(Path::new("SKILL.md"), "invoices/inside");
    let set = folder.load().unwrap();
    assert_eq!(set.files.len(), 1);
    for uri in [
        "skill://invoices/secret",
        "skill://invoices/inside",
        "skill://invoices/outside/secret",
        "skill://skill/SKILL.md",
        "skill://invoices/../invoices/SKILL.md",
        "skill://invoices/%2e%2e/invoices/SKILL.md",
        "skill:///etc/passwd",
        "file:///etc/passwd",
    ] {
        assert!(set.contents(uri).is_none(), "{uri}");
    }
    assert!(set.contents("skill://invoices/SKILL.md").is_some());
}

#[test]
fn an_invalid_skill_is_an_error_that_names_it() {
    let cases = [
        ("a", "", "a: SKILL.md: no front matter"),
        ("a", "---\nname: a\n", "no closing line"),
        ("a", "---\nname: a\n---\n", "description"),
        (
            "a",
            "---\nname: b\ndescription: x\n---\n",
            "the name of its folder",
        ),
        ("A", "---\nname: A\ndescription: x\n---\n", "a-z"),
        ("a--b", "---\nname: a--b\ndescription: x\n---\n", "a-z"),
    ];
    for (at, (name, text, expected)) in cases.into_iter().enumerate() {
        let folder = Folder::new(&format!("invalid{at}"));
        folder.write(&format!("{name}/SKILL.md"), text);
        let error = folder.load().unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    let error = SkillSet::load(Path::new("/nowhere")).unwrap_err();
    assert!(error.contains("/nowhere"), "{error}");
}

#[test]
fn a_skill_has_no_more_files_than_may_be() {
    for (count, is_loaded) in [(255, true), (256, false)] {
        let folder = Folder::new(&format!("many{count}"));
        folder.write("invoices/SKILL.md", INVOICES);
        for number in 0..count {
            folder.write(&format!("invoices/{number}.txt"), "");
        }
        assert_eq!(folder.load().is_ok(), is_loaded, "{count}");
    }
}

#[test]
fn front_matter_is_read_as_yaml() {
    let check = |yaml: &str, expected: Value| {
        let parsed = front_matter::parse(&format!("---\n{yaml}\n---\n"));
        let parsed: Value = serde_json::from_str(parsed.expect(yaml).as_str()).unwrap();
        assert_eq!(parsed, expected, "{yaml}");
    };
    check("", json!({}));
    check("a: b c # d", json!({"a": "b c"}));
    check("a: b\n  c", json!({"a": "b c"}));
    check(r#"a: "b: \"c\" # d""#, json!({"a": "b: \"c\" # d"}));
    check("a: 'it''s'", json!({"a": "it's"}));
    check(
        "a: true\nb: 1\nc: 1.5\nd: ~\ne:",
        json!({"a": true, "b": 1, "c": 1.5, "d": null, "e": null}),
    );
    check(
        "a: 2026-01-02\nb: 1.2.3\nc: 12:30",
        json!({"a": "2026-01-02", "b": "1.2.3", "c": "12:30"}),
    );
    check(
        "a: [b, c d, 1]\nb: []",
        json!({"a": ["b", "c d", 1], "b": []}),
    );
    check(
        "a:\n  - b\n  - 'c'\nd:\n- e",
        json!({"a": ["b", "c"], "d": ["e"]}),
    );
    check(
        "a:\n  b:\n    c: d\n  e: f",
        json!({"a": {"b": {"c": "d"}, "e": "f"}}),
    );
    check("a: |\n  b\n  c\nd: e", json!({"a": "b\nc\n", "d": "e"}));
    check("a: >-\n  b\n  c\n\n  d", json!({"a": "b c\nd"}));
    check("# a\n\na: http://b/c#d", json!({"a": "http://b/c#d"}));
}

#[test]
fn front_matter_that_is_not_supported_is_refused_with_its_line() {
    for yaml in [
        "a: &b c",
        "a: *b",
        "a: {b: c}",
        "a: b: c",
        "a: 'b",
        "a: \"b",
        "a: [b",
        "a: 0x1f",
        "a: 01",
        "a: .inf",
        "a: b\na: c",
        "- a",
        "a",
        "\ta: b",
        "a: |",
        "a: @b",
        "  a: b",
        "a: !b c",
        "a:\n  b: c\n d: e",
        "a: |+\n  b",
    ] {
        let error = front_matter::parse(&format!("---\n{yaml}\n---\n")).expect_err(yaml);
        assert!(error.starts_with("line "), "{yaml}: {error}");
    }
    let deep: String = (0..9)
        .map(|depth| format!("{}a:\n", "  ".repeat(depth)))
        .collect();
    front_matter::parse(&format!("---\n{deep}\n---\n")).expect_err("nested too deeply");
}
