//! Files of `--output`: an existing one is replaced as a whole or not at all.

use std::fs::{self, File, Permissions};
use std::io::Read as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Output};
use std::thread;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::run::text;
use crate::test_folder::TestFolder;

/// Runs `bowline` in a shell, after `before`.
fn in_shell(test: &TestFolder, before: &str, args: &str) -> Output {
    shell(test, before, args).output().unwrap()
}

fn shell(test: &TestFolder, before: &str, args: &str) -> Command {
    let mut command = Command::new("sh");
    let script = format!("{before}; exec \"$0\" {args}");
    command
        .args(["-c", &script, env!("CARGO_BIN_EXE_bowline")])
        .current_dir(&test.folder)
        .env("HOME", &test.folder);
    command
}

#[test]
fn a_file_that_cannot_be_written_to_its_end_is_left_as_it_was() {
    let test = TestFolder::new("saving_limit");
    let file = test.folder.join("out");
    fs::write(&file, "before").unwrap();
    for (output, files) in [("out", &["out"][..]), ("new", &["out"])] {
        let args = format!("call demo large bytes=1000000 --output {output}");
        let ended = in_shell(&test, "ulimit -f 1", &args);
        let stderr = text(&ended.stderr);
        assert_eq!(ended.status.code(), Some(1), "{ended:?}");
        assert!(
            stderr.contains(&format!("cannot write {output}: ")),
            "{stderr}"
        );
        assert!(stderr.contains("File too large"), "{stderr}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "before");
        assert_eq!(test.files(), files);
    }
    // So with those that bowline names.
    let ended = in_shell(&test, "ulimit -f 0", "call demo image");
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    assert_eq!(test.files(), ["out"]);
}

#[test]
fn a_file_keeps_its_permissions_and_a_link_its_target() {
    let test = TestFolder::new("saving_kept");
    let target = test.folder.join("target");
    fs::write(&target, "before").unwrap();
    fs::set_permissions(&target, Permissions::from_mode(0o640)).unwrap();
    symlink("target", test.folder.join("link")).unwrap();
    symlink("none", test.folder.join("dangling")).unwrap();
    for link in ["link", "dangling"] {
        let output = test.run(&["call", "demo", "large", "bytes=5", "--output", link]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let metadata = test.folder.join(link).symlink_metadata().unwrap();
        assert!(metadata.is_symlink());
    }
    assert_eq!(fs::read(&target).unwrap().len(), 5);
    assert_eq!(fs::read(test.folder.join("none")).unwrap().len(), 5);
    let mode = target.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    assert_eq!(test.files(), ["dangling", "link", "none", "target"]);
}

#[test]
fn files_that_are_not_regular_are_written_directly() {
    let test = TestFolder::new("saving_direct");
    let pipe = test.folder.join("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
    let reader = thread::spawn(move || {
        let mut read = Vec::new();
        File::open(pipe).unwrap().read_to_end(&mut read).unwrap();
        read.len()
    });
    let output = test.run(&["call", "demo", "large", "bytes=5", "-o", "pipe"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(reader.join().unwrap(), 5);
    // To a pipe, and to a file that the shell has opened.
    let args = "call demo large bytes=5 -o /dev/stdout";
    let output = in_shell(&test, ":", args);
    assert_eq!(output.stdout.len(), 5, "{}", text(&output.stderr));
    let output = in_shell(&test, ":", &format!("{args} > redirected"));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let redirected = test.folder.join("redirected");
    assert_eq!(fs::read(redirected).unwrap().len(), 5);
    assert_eq!(test.files(), ["pipe", "redirected"]);
}

#[test]
fn a_directory_that_cannot_be_written_is_refused_before_the_call() {
    let test = TestFolder::new("saving_read_only");
    // Of another user than root, whom no permission stops.
    let inner = std::env::temp_dir().join(format!("bowline-read-only-{}", std::process::id()));
    let _ = fs::remove_dir_all(&inner);
    fs::create_dir_all(&inner).unwrap();
    let program = inner.join("bowline");
    fs::copy(env!("CARGO_BIN_EXE_bowline"), &program).unwrap();
    let folder = inner.join("read-only");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("out"), "before").unwrap();
    fs::set_permissions(folder.join("out"), Permissions::from_mode(0o666)).unwrap();
    fs::set_permissions(&folder, Permissions::from_mode(0o555)).unwrap();
    fs::set_permissions(&inner, Permissions::from_mode(0o755)).unwrap();
    for name in ["out", "new"] {
        let mut command = Command::new(&program);
        command
            .args(["call", "demo", "increment", "--output", name])
            .current_dir(&folder)
            .env("HOME", &test.folder);
        if rustix::process::geteuid().is_root() {
            command.uid(65_534);
        }
        let output = command.output().unwrap();
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(
            stderr.contains(&format!("cannot write {name}: ")),
            "{stderr}"
        );
        assert!(stderr.contains("--output - "), "{stderr}");
    }
    assert_eq!(fs::read(folder.join("out")).unwrap(), b"before");
    fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
    fs::remove_dir_all(&inner).unwrap();
}

#[test]
fn several_files_need_a_directory() {
    let test = TestFolder::new("saving_several");
    test.check(
        "call_output_several",
        &["call", "demo", "mixed", "-o", "new"],
    );
    test.check(
        "call_output_several_json",
        &["call", "demo", "mixed", "--json", "-o", "new"],
    );
    assert_eq!(test.files(), [""; 0]);
    fs::create_dir(test.folder.join("new")).unwrap();
    let output = test.run(&["call", "demo", "mixed", "-o", "new"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(fs::read_dir(test.folder.join("new")).unwrap().count(), 2);
}
