//! What a child starts with.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;

use tokio::io::AsyncReadExt as _;

use super::*;

async fn refused(mut child: ChildProcess) -> OpenError {
    child.open().await.expect_err("it can't start")
}

async fn output(child: ChildProcess) -> String {
    let mut stream = opened(child).await;
    let mut output = String::new();
    let read = stream.reader.read_to_string(&mut output).await;
    read.expect("text");
    output
}

// proves: F-CP-13
#[tokio::test]
async fn the_error_names_what_is_wrong_with_a_command() {
    let folder = std::env::temp_dir().join(format!("bowline-refused-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let script = folder.join("script");
    let mut file = fs::File::create(&script).unwrap();
    writeln!(file, "#!/no/such/interpreter").unwrap();
    drop(file);
    let command = ChildProcess::new(&script);
    let cases = [
        (ChildProcess::new("no-such-command"), "in PATH"),
        (ChildProcess::new("/no/such/command"), "no such file"),
        (command.clone(), "it is not executable"),
        (ChildProcess::new(&folder), "a folder"),
        (shell("").current_dir("/no/such/folder"), "/no/such/folder"),
        (shell("").current_dir(&script), "is a file"),
        (shell("").args(["x".repeat(4 << 20)]), "too large"),
        (shell("").args(["a\0b"]), "a NUL byte"),
        (
            shell("").stderr(StderrTo::File("/no/such/file".into())),
            "/no/such/file",
        ),
    ];
    for (child, words) in cases {
        let error = refused(child).await;
        assert!(
            error.is_permanent && error.reason.contains(words),
            "{error:?}"
        );
    }
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let error = refused(command).await;
    assert!(error.reason.contains("interpreter"), "{error:?}");
    fs::remove_dir_all(&folder).unwrap();
}

// proves: F-CP-17
#[tokio::test]
async fn a_child_sees_no_variables_but_those_that_it_needs() {
    // Cargo sets it for tests.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let env = output(ChildProcess::new("env").env("GIVEN", "yes")).await;
    assert!(env.contains("GIVEN=yes") && env.contains("PATH="), "{env}");
    assert!(!env.contains("CARGO"), "{env}");
    let env = output(ChildProcess::new("env").inherit_env()).await;
    assert!(env.contains("CARGO_MANIFEST_DIR="), "{env}");
}

#[tokio::test]
async fn each_start_is_reported_with_the_process_id() {
    let started = Arc::new(std::sync::Mutex::new(Vec::new()));
    let sink = Arc::clone(&started);
    let mut child = shell("echo $$; read _").on_start(move |id| {
        sink.lock().unwrap().push(i32::try_from(id).unwrap());
    });
    let mut printed = Vec::new();
    for _ in 0..2 {
        let mut stream = child.open().await.expect("it starts");
        printed.push(number(&mut stream).await);
    }
    assert_eq!(*started.lock().unwrap(), printed);
    let careless = shell("echo $$; read _").on_start(|_| panic!("contained"));
    number(&mut opened(careless).await).await;
}

// proves: F-CP-18
#[tokio::test]
async fn children_started_at_once_share_nothing() {
    let script = "echo $$; ls /proc/$$/fd; echo; cat; echo over";
    let starting = (0..50).map(|_| tokio::spawn(opened(shell(script))));
    let starting: Vec<_> = starting.collect();
    let mut streams = Vec::new();
    for stream in starting {
        streams.push(stream.await.unwrap());
    }
    let inherited = inherited();
    for stream in &mut streams {
        number(stream).await;
        let mut descriptors = Vec::new();
        loop {
            match line(stream).await {
                descriptor if descriptor.is_empty() => break,
                descriptor => descriptors.push(descriptor),
            }
        }
        descriptors.retain(|descriptor| !inherited.contains(descriptor));
        assert_eq!(descriptors, ["0", "1", "2"]);
    }
    // The stdin of each is closed by us alone.
    for mut stream in streams {
        stream.writer = Box::new(tokio::io::sink());
        assert_eq!(line(&mut stream).await, "over");
    }
}

/// Returns what the parent of this test gave to it and everything that it starts.
fn inherited() -> Vec<String> {
    let is_inherited = |path: &std::path::Path| {
        let info = fs::read_to_string(path).ok()?;
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
        let flags = u32::from_str_radix(flags.trim(), 8).ok()?;
        Some(flags & 0o2_000_000 == 0)
    };
    let all = fs::read_dir("/proc/self/fdinfo").expect("it is there");
    let all = all.filter_map(|entry| Some(entry.ok()?.path()));
    let inherited = all.filter(|path| is_inherited(path) == Some(true));
    let names = inherited.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()));
    names
        .filter(|name| name.len() > 1 || name.as_str() > "2")
        .collect()
}

// proves: F-CP-20
#[tokio::test]
async fn a_child_outlives_the_thread_that_started_it() {
    let mut stream = opened(shell("echo $$; while read line; do echo $line; done")).await;
    let pid = number(&mut stream).await;
    // Threads that start children are gone as soon as they have.
    let name = |task: &fs::DirEntry| fs::read_to_string(task.path().join("comm"));
    until("the thread is gone", LONG, || {
        let tasks = fs::read_dir("/proc/self/task").unwrap();
        let mut names = tasks.filter_map(|task| name(&task.ok()?).ok());
        !names.any(|name| name.trim() == "bowline-spawn")
    });
    tokio::io::AsyncWriteExt::write_all(&mut stream.writer, b"still there\n")
        .await
        .unwrap();
    assert_eq!(line(&mut stream).await, "still there");
    assert!(process(pid).is_some());
}

#[tokio::test]
async fn a_child_without_a_watchdog_leads_its_group() {
    let mut stream = opened(shell("echo $$; read _").watchdog(false)).await;
    let pid = number(&mut stream).await;
    assert_eq!((group_of(pid), members(pid)), (pid, vec![pid]));
    drop(stream);
    until_gone(pid, LONG);
}

#[tokio::test]
async fn nothing_is_left_of_a_command_that_could_not_start() {
    let ours = || {
        let children = fs::read_to_string("/proc/thread-self/children");
        children.unwrap_or_default().split_whitespace().count()
    };
    assert_eq!(ours(), 0);
    let mut command = Command::new("/no/such/command");
    let group = ProcessGroup::spawn(&mut command, Some(SHELL), Duration::ZERO);
    group.expect_err("it doesn't exist");
    assert_eq!(ours(), 0);
}

#[tokio::test]
async fn a_child_is_ended_where_the_kernel_and_the_shell_do_not_help() {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "trap '' TERM; while :; do sleep 1000; done"]);
    let mut group = ProcessGroup::spawn(&mut command, Some("/no/such/shell"), LONG).unwrap();
    let pid = group.pid().as_raw_pid();
    assert_eq!(group_of(pid), pid);
    group.handle = None;
    let reaped = Reaper::running().unwrap();
    let counted = ProcessCount::new().count();
    let reaped = reaped.watch(group, Duration::from_millis(10), counted);
    let mut exit = reaped.exit();
    drop(reaped);
    let ended = exit.wait_for(|exit| *exit != reaper::Exit::Running);
    let ended = tokio::time::timeout(LONG, ended).await;
    assert!(matches!(
        *ended.unwrap().unwrap(),
        reaper::Exit::Ended(Some(_))
    ));
    until_gone(pid, LONG);
}

/// What a start costs, with and without a watchdog.
#[tokio::test]
#[ignore = "a measurement"]
#[expect(
    clippy::print_stderr,
    reason = "the measurement is printed for the user of the test"
)]
async fn what_a_start_costs() {
    for has_watchdog in [false, true, false, true] {
        let mut times = Vec::new();
        for _ in 0..200 {
            let mut child = ChildProcess::new("/bin/true").watchdog(has_watchdog);
            let start = Instant::now();
            let stream = child.open().await.unwrap();
            times.push(start.elapsed());
            drop(stream);
        }
        times.sort();
        eprintln!(
            "watchdog {has_watchdog}: median {:?}, p90 {:?}",
            times[100], times[180]
        );
    }
}
