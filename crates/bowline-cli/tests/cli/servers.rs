//! The output of `bowline servers`, with homes and projects of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::thread;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::Value;

use crate::run::{check, command, compare, text, transcript};

/// A project and a home, empty at first.
struct World {
    folder: PathBuf,
}

impl World {
    fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        // What a run before this one left.
        let _ = fs::remove_dir_all(&folder);
        let world = Self { folder };
        world.write("project/.git/HEAD", "");
        world.write("home/.keep", "");
        world
    }

    fn write(&self, file: &str, content: &str) -> &Self {
        let path = self.folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    fn run(&self, args: &[&str]) -> Output {
        command(args)
            .current_dir(self.folder.join("project"))
            .env_clear()
            .env("HOME", self.folder.join("home"))
            .env("GITHUB_TOKEN", "from-the-environment")
            .output()
            .unwrap()
    }

    fn check(&self, name: &str, args: &[&str]) {
        let found = transcript(args, &self.run(args));
        // The folder is not the same everywhere.
        compare(
            name,
            &found.replace(self.folder.to_str().unwrap(), "[world]"),
        );
    }
}

const PROJECT: &str = r#"// The servers of this project.
{
  "mcpServers": {
    "github": {
      "command": "npx",
      "args": ["-y", "@example/github", "--api-key", "s3cret-one"],
      "env": {"GITHUB_TOKEN": "${GITHUB_TOKEN}", "OTHER": "s3cret-two"},
      "timeout": 5000,
    },
    "remote": {
      "type": "http",
      "url": "https://me:s3cret-three@example.com/mcp?key=s3cret-four",
      "headers": {"Authorization": "Bearer s3cret-five"}
    },
    "unset": {"command": "x", "env": {"A": "${NO_SUCH_VARIABLE}"}},
    "wrong": {"command": "x", "args": "y"}, /* all on one line */
  },
}
"#;

const VSCODE: &str = r#"{
  "inputs": [{"id": "api-key", "type": "promptString"}],
  "servers": {
    "asks": {"type": "stdio", "command": "x", "env": {"KEY": "${input:api-key}"}},
    "github": {"type": "sse", "url": "https://example.com/sse"}
  }
}"#;

const ZED: &str =
    r#"{"context_servers": {"zed": {"command": {"path": "zed server", "args": ["it's"]}}}}"#;

const OPENCODE: &str = r#"{"mcp": {
  "open": {"type": "local", "command": ["bun", "x"], "environment": {"A": "{env:HOME}"}, "enabled": false},
  "demo": {"type": "local", "command": ["x"]}
}}"#;

/// Servers of every shape, some of them not usable.
fn many(name: &str) -> World {
    let world = World::new(name);
    world
        .write("project/.mcp.json", PROJECT)
        .write("project/.vscode/mcp.json", VSCODE)
        .write("home/.config/zed/settings.json", ZED)
        .write("home/.config/opencode/opencode.json", OPENCODE);
    world
}

#[test]
fn all_servers_are_listed_with_their_files() {
    let world = many("servers_list");
    world.check("servers", &["servers"]);
    world.check("servers_json", &["servers", "--json"]);
}

#[test]
fn one_server_is_shown_in_full() {
    let world = many("servers_one");
    world.check("servers_command", &["servers", "github"]);
    world.check("servers_command_json", &["servers", "github", "--json"]);
    world.check("servers_url", &["servers", "remote"]);
    world.check("servers_disabled", &["servers", "open"]);
    world.check("servers_demo", &["servers", "demo"]);
}

#[test]
fn an_unusable_server_has_a_reason() {
    let world = many("servers_problems");
    world.check("servers_unset", &["servers", "unset"]);
    world.check("servers_unset_json", &["servers", "unset", "--json"]);
    world.check("servers_wrong", &["servers", "wrong"]);
    world.check("servers_input", &["servers", "asks"]);
}

#[test]
fn a_wrong_name_is_answered_with_the_nearest_one() {
    let world = many("servers_names");
    world.check("servers_typo", &["servers", "gihtub"]);
    world.check("servers_typo_json", &["servers", "gihtub", "--json"]);
    world.check("servers_nothing_like_it", &["servers", "zzzzzz"]);
}

#[test]
fn no_secret_is_shown_by_any_of_them() {
    let world = many("servers_secrets");
    for name in [
        "", "github", "remote", "unset", "wrong", "asks", "zed", "open", "unknown",
    ] {
        for format in [&[][..], &["--json"]] {
            let names = [name];
            let name = if name.is_empty() { &[][..] } else { &names };
            let output = world.run(&[&["servers"], name, format].concat());
            for text in [text(&output.stdout), text(&output.stderr)] {
                assert!(!text.contains("s3cret"), "{text}");
                assert!(!text.contains("from-the-environment"), "{text}");
            }
        }
    }
}

#[test]
fn a_broken_file_is_a_warning_unless_it_was_named_or_may_have_the_server() {
    let world = World::new("servers_broken");
    world
        .write(
            "project/.mcp.json",
            "{\n  \"mcpServers\": {\n    \"a\": {\"command\" \"x\"}\n",
        )
        .write(
            "project/mcp.json",
            r#"{"mcpServers": {"b": {"command": "x"}}}"#,
        );
    world.check("servers_broken", &["servers"]);
    world.check("servers_broken_json", &["servers", "--json"]);
    world.check("servers_beside_broken", &["servers", "b"]);
    world.check("servers_in_broken", &["servers", "a"]);
    world.check(
        "servers_broken_named",
        &["servers", "--config", ".mcp.json"],
    );
}

#[test]
fn files_that_are_named_are_the_only_ones() {
    let world = many("servers_named");
    world.write(
        "other.json",
        r#"{"mcpServers": {"other": {"command": "x", "cwd": "/"}}}"#,
    );
    world.check("servers_named", &["servers", "--config", "../other.json"]);
    world.check(
        "servers_named_two",
        &[
            "servers",
            "--config",
            "../other.json",
            "--config",
            ".vscode/mcp.json",
        ],
    );
    world.check(
        "servers_named_missing",
        &["servers", "--config", "nowhere.json"],
    );
    world.check(
        "servers_named_directory",
        &["servers", "--config", ".vscode"],
    );
    // Commands that connect to a server report the same, whether or not they look into the file.
    let missing = ["--config", "nowhere.json"];
    world.check(
        "tools_config_missing",
        &[&["tools", "zz"], &missing[..]].concat(),
    );
    world.check(
        "tools_config_demo",
        &[&["tools", "demo"], &missing[..]].concat(),
    );
    let command = [&["ping"], &missing[..], &["--", "true"]].concat();
    world.check("ping_config_command", &command);
    world.write("none.json", "{}");
    world.check(
        "servers_named_without",
        &["servers", "--config", "../none.json"],
    );
}

#[test]
fn a_pipe_is_waited_for_only_when_it_was_named() {
    let world = World::new("servers_pipe");
    let pipe = world.folder.join("project/.mcp.json");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
    // The pipe has no writer.
    world.check("servers_pipe", &["servers"]);
    let text = r#"{"mcpServers": {"a": {"command": "x"}}}"#;
    let writer = thread::spawn(move || fs::write(pipe, text));
    world.check("servers_pipe_named", &["servers", "--config", ".mcp.json"]);
    writer.join().unwrap().unwrap();
}

#[test]
fn nothing_is_found_where_there_is_nothing() {
    let world = World::new("servers_empty");
    world.check("servers_empty", &["servers"]);
    world.check("servers_empty_json", &["servers", "--json"]);
}

#[test]
fn a_project_does_not_answer_for_a_server_of_the_user() {
    let world = World::new("servers_rivals");
    let server = |script: &str| {
        let script = script.replace("BOWLINE", env!("CARGO_BIN_EXE_bowline"));
        let entry = serde_json::json!({"command": "sh", "args": ["-c", script]});
        serde_json::json!({"mcpServers": {"github": entry}}).to_string()
    };
    let theirs = server("touch started; exec BOWLINE serve demo");
    let own = server("exec BOWLINE serve demo");
    world
        .write("project/.mcp.json", &theirs)
        .write("home/.cursor/mcp.json", &own);
    let call = ["call", "github", "add", "a=1", "b=2"];
    world.check("servers_rivals", &call);
    let json = [&call[..], &["--json"]].concat();
    world.check("servers_rivals_json", &json);
    let named = |files: &[&str]| {
        let files = files.iter().flat_map(|file| ["--config", file]);
        let output = world.run(&call.into_iter().chain(files).collect::<Vec<_>>());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    };
    named(&["../home/.cursor/mcp.json", ".mcp.json"]);
    let started = world.folder.join("project/started");
    assert!(!started.exists(), "the project's was started");
    named(&[".mcp.json", "../home/.cursor/mcp.json"]);
    assert!(started.exists(), "the first that was named didn't win");
    // One that is the same is none to choose from.
    world.write("project/.mcp.json", &own);
    named(&[]);
}

// proves: F-CL-01
#[test]
fn hostile_names_are_escaped() {
    let world = World::new("servers_hostile");
    let hostile = "{\"mcpServers\": {\"\\u001b[2J\\u202e\": {\"command\": \"\\u001b]52;c;aGk=\\u0007\", \"env\": {\"\\n\": \"x\"}}}}";
    world.write("project/.mcp.json", hostile);
    world.check("servers_hostile", &["servers"]);
    world.check("servers_hostile_json", &["servers", "--json"]);
}

#[test]
fn usage() {
    check("servers_help", &["servers", "--help"], b"");
    check("servers_unknown_option", &["servers", "--jsno"], b"");
}

#[test]
fn the_help_documents_every_member_of_the_json() {
    let help = command(&["servers", "--help"]).output().unwrap().stdout;
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let documented: Vec<_> = text(&help).split(|c| !is_part(c)).collect();
    let world = many("servers_members");
    world.write(
        "project/mcp.json",
        r#"{"mcpServers": {"full": {"command": "x", "cwd": "/", "envFile": "y"}}}"#,
    );
    world.write("project/opencode.json", "{");
    let mut found = 0;
    for args in [&["servers", "--json"][..], &["servers", "github", "--json"]] {
        let output = world.run(args);
        let value: Value = serde_json::from_slice(&output.stdout).unwrap();
        let mut waiting = vec![value];
        while let Some(value) = waiting.pop() {
            match value {
                Value::Array(values) => waiting.extend(values),
                Value::Object(members) => {
                    for (name, value) in members {
                        assert!(
                            documented.contains(&name.as_str()),
                            "{name} is not documented"
                        );
                        found += 1;
                        if name != "env" && name != "headers" {
                            waiting.push(value);
                        }
                    }
                }
                _ => {}
            }
        }
    }
    assert!(found > 50, "{found}");
}

#[test]
fn unsupported_servers_are_reported_before_missing_variables() {
    let world = World::new("servers_order");
    world.write(
        "project/.mcp.json",
        r#"{"mcpServers": {"remote": {
            "url": "https://example.com/${NO_SUCH_PATH}",
            "headers": {"Authorization": "Bearer ${NO_SUCH_TOKEN}"}
        }}}"#,
    );
    world.check("ping_url_unset", &["ping", "remote"]);
    // Nothing else is known to be wrong with it.
    world.check("servers_url_unset", &["servers", "remote"]);
}

// proves: F-CL-01
#[test]
fn the_size_of_substituted_variables_is_bounded() {
    let world = World::new("servers_bound");
    let server = |name: &str, count: usize| {
        let references = "${GITHUB_TOKEN}".repeat(count);
        format!(r#""{name}": {{"command": "x", "args": ["{references}"]}}"#)
    };
    // 20 bytes each.
    let text = [server("fits", 52_428), server("grows", 52_429)].join(",");
    let split = vec![r#""${GITHUB_TOKEN}""#; 52_429].join(",");
    let split = format!(r#""split": {{"command": "x", "args": [{split}]}}"#);
    let config = format!(r#"{{"mcpServers": {{{text},{split}}}}}"#);
    world.write("project/.mcp.json", &config);
    let output = world.run(&["servers", "fits", "--json"]);
    assert!(output.status.success(), "{}", text_of(&output));
    for (name, field) in [("grows", "args[0]"), ("split", "args[52428]")] {
        let output = world.run(&["servers", name, "--json"]);
        assert_eq!(output.status.code(), Some(1));
        let text = text_of(&output);
        let where_and_what = format!("server `{name}`: {field}: ");
        assert!(text.contains(&where_and_what), "{text}");
        assert!(text.contains("more than 1 MiB"), "{text}");
    }
}

fn text_of(output: &Output) -> &str {
    text(&output.stderr)
}
