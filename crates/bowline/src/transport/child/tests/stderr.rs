//! What children write on stderr, and floods on stdout.

use std::sync::{Arc, Mutex};

use tokio::io::AsyncReadExt as _;

use super::*;

/// Our memory in KiB.
pub(super) fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("it is there");
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.expect("a number").parse().expect("a number")
}

// proves: F-CP-01
#[tokio::test]
async fn a_flood_on_stderr_is_drained_and_its_end_kept() {
    let before = resident();
    let script = "head -c 1073741824 /dev/zero >&2; echo the end >&2; exit 9";
    let mut stream = opened(shell(script).stderr(StderrTo::Nowhere)).await;
    let (end, _) = transport_end(&mut stream).await;
    assert_eq!(end.status.and_then(|status| status.code()), Some(9));
    assert_eq!(end.stderr.len(), 64 * 1024);
    assert!(end.stderr.ends_with("\0the end\n"));
    assert!(end.reason.len() < 2200, "{}", end.reason.len());
    // Other tests run meanwhile.
    assert!(resident() < before + 64 * 1024);
}

// proves: F-CP-02
#[tokio::test]
async fn control_characters_on_stderr_are_escaped() {
    let script = r"printf '\033[31mred\377 without a line break' >&2; exit 1";
    let mut stream = opened(shell(script)).await;
    let (end, _) = transport_end(&mut stream).await;
    assert_eq!(end.stderr, "\u{1b}[31mred\u{fffd} without a line break");
    assert!(
        end.reason
            .ends_with("\\u{1b}[31mred\u{fffd} without a line break")
    );
}

#[tokio::test]
async fn the_stderr_and_state_of_a_running_child_can_be_read() {
    let (sender, mut received) = tokio::sync::mpsc::channel(1);
    let callback = move |_: &str| {
        let _ = sender.try_send(());
    };
    let child = shell(r"printf 'visit\033\nx:y\n' >&2; kill -STOP $$; echo; read line");
    let child = child.stderr(StderrTo::Callback(Arc::new(callback)));
    let processes = child.processes();
    assert_eq!(processes.stderr_tail(), None);
    assert!(!processes.is_stopped());
    let (sender, started) = tokio::sync::oneshot::channel();
    let sender = Mutex::new(Some(sender));
    let child = child.on_start(move |pid| {
        if let Some(sender) = sender.lock().unwrap().take() {
            let _ = sender.send(pid);
        }
    });
    let mut stream = opened(child).await;
    received.recv().await.expect("it speaks");
    assert_eq!(
        processes.stderr_tail().as_deref(),
        Some("visit\\u{1b}\nx:y")
    );
    let pid = i32::try_from(started.await.expect("it is started")).unwrap();
    let pid = Pid::from_raw(pid).unwrap();
    // There is no event when it has stopped itself.
    let begun = Instant::now();
    while !processes.is_stopped() {
        assert!(begun.elapsed() < Duration::from_secs(30), "it runs on");
        tokio::task::yield_now().await;
    }
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
    let mut byte = [0];
    stream.reader.read_exact(&mut byte).await.unwrap();
    assert!(!processes.is_stopped());
}

#[tokio::test]
async fn lines_go_to_a_function() {
    let collected = Arc::new(Mutex::new(Vec::new()));
    let received = Arc::clone(&collected);
    let callback = move |line: &str| {
        received.lock().unwrap().push(line.to_owned());
        assert_ne!(line, "b", "contained");
    };
    let child = shell(r"printf 'a\nb\r\nc' >&2");
    let child = child.stderr(StderrTo::Callback(Arc::new(callback)));
    let mut stream = opened(child).await;
    let (end, _) = transport_end(&mut stream).await;
    assert_eq!(end.stderr, "a\nb\r\nc");
    let collected = collected.lock().unwrap_or_else(|error| error.into_inner());
    assert_eq!(*collected, ["a", "b", "c"]);
}

#[tokio::test]
async fn words_are_appended_to_a_file() {
    let path = std::env::temp_dir().join(format!("bowline-stderr-{}", std::process::id()));
    fs::write(&path, "before\n").unwrap();
    for _ in 0..2 {
        let child = shell("echo words >&2; exit 4").stderr(StderrTo::File(path.clone()));
        let mut stream = opened(child).await;
        let (end, _) = transport_end(&mut stream).await;
        assert_eq!(end.stderr, "words\n");
    }
    until("all is written", LONG, || {
        fs::read_to_string(&path).unwrap() == "before\nwords\nwords\n"
    });
    fs::remove_file(&path).unwrap();
}

#[tokio::test]
async fn a_stderr_that_another_process_holds_is_not_waited_for() {
    let script = "setsid sh -c 'sleep 1000' >/dev/null & echo $! words >&2; exit 6";
    let mut stream = opened(shell(script)).await;
    let (end, took) = transport_end(&mut stream).await;
    assert_eq!(end.status.and_then(|status| status.code()), Some(6));
    assert!(end.stderr.ends_with("words\n"));
    assert!(took < Duration::from_secs(1), "{took:?}");
    let holder = end.stderr.split(' ').next().unwrap();
    let holder = Pid::from_raw(holder.parse().unwrap()).unwrap();
    let _ = rustix::process::kill_process_group(holder, rustix::process::Signal::KILL);
}
