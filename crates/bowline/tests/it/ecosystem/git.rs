//! `mcp-server-git`: a repository, without a handshake.

use std::fs;
use std::process::Command;

use bowline::ErrorKind;
use bowline::types::Revision;
use serde_json::json;

use crate::ecosystem::server_kills::survives;
use crate::ecosystem::support::{Connected, Folder, Server, config};

/// A repository with one commit, whatever the settings of the user.
fn repository() -> Folder {
    let folder = Folder::new();
    let git = |args: &[&str]| {
        let status = Command::new("git")
            .arg("-C")
            .arg(folder.path())
            .args(args)
            .status();
        assert!(status.expect("git runs").success(), "git {args:?}");
    };
    git(&["init", "--quiet", "--initial-branch=main"]);
    git(&["config", "user.name", "Ada"]);
    git(&["config", "user.email", "ada@example.com"]);
    git(&["config", "commit.gpgsign", "false"]);
    fs::write(folder.join("knots.txt"), "bowline\n").expect("written");
    git(&["add", "."]);
    git(&["commit", "--quiet", "--message=The first knot"]);
    folder
}

async fn connect(folder: &Folder) -> Connected {
    let server = Server::python_2("mcp-server-git").args(["--repository"]);
    server.args([folder.path()]).connect(config()).await
}

#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn the_server_reads_and_writes_a_repository() {
    let folder = repository();
    let server = connect(&folder).await;
    assert_eq!(server.client.revision(), Some(Revision::V2026_07_28));
    let info = server.client.server_info().expect("it says who it is");
    assert_eq!(info.name, "mcp-git");
    let tools = server.tool_names().await;
    assert!(tools.contains(&"git_diff_unstaged".to_owned()), "{tools:?}");
    let repo = json!({"repo_path": folder.path()});
    let status = server.text("git_status", &repo).await;
    assert!(status.contains("nothing to commit"), "{status}");
    let log = server.text("git_log", &repo).await;
    assert!(
        log.contains("The first knot") && log.contains("Ada"),
        "{log}"
    );

    fs::write(folder.join("knots.txt"), "bowline\nclove hitch\n").expect("written");
    let diff = server.text("git_diff_unstaged", &repo).await;
    assert!(diff.contains("+clove hitch"), "{diff}");
    let files = json!({"repo_path": folder.path(), "files": ["knots.txt"]});
    server.text("git_add", files).await;
    let diff = server.text("git_diff_staged", &repo).await;
    assert!(diff.contains("+clove hitch"), "{diff}");
    let commit = json!({"repo_path": folder.path(), "message": "A second – 結び目"});
    let commit = server.text("git_commit", commit).await;
    assert!(commit.contains("committed successfully"), "{commit}");
    let show = json!({"repo_path": folder.path(), "revision": "HEAD"});
    let show = server.text("git_show", show).await;
    assert!(show.contains("A second – 結び目"), "{show}");
    let branch = json!({"repo_path": folder.path(), "branch_name": "rope"});
    server.text("git_create_branch", &branch).await;
    server.text("git_checkout", &branch).await;
    let status = server.text("git_status", &repo).await;
    assert!(status.contains("On branch rope"), "{status}");
    server.stop().await;
}

#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn errors_of_the_server_are_results_of_tools() {
    let folder = repository();
    let server = connect(&folder).await;
    let tools = server.client.tools();
    let elsewhere = tools.call("git_status", json!({"repo_path": "/"})).await;
    let error = elsewhere
        .expect("an answer")
        .into_result()
        .expect_err("it may not");
    assert_eq!(error.kind(), ErrorKind::Tool);
    assert!(error.to_string().contains("outside"), "{error}");
    let missing = tools.call("git_status", json!({})).await;
    let error = missing
        .expect("an answer")
        .into_result()
        .expect_err("no path");
    assert!(error.to_string().contains("repo_path"), "{error}");
    server.stop().await;
}

// proves: TP-2
#[tokio::test]
#[ignore = "needs servers of others: scripts/servers"]
async fn a_killed_server_is_replaced() {
    let folder = repository();
    let server = connect(&folder).await;
    survives(&server.client, &server.mark, |client| {
        client
            .tools()
            .call("git_log", json!({"repo_path": folder.path()}))
    })
    .await;
    server.stop().await;
}
