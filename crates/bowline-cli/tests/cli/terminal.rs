//! A user at a terminal: the real binary on a real pseudoterminal.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
#[cfg(target_os = "linux")]
use rustix::termios::{LocalModes, tcgetattr};

/// `bowline` with a terminal as stdin and stderr, and the scripted user.
pub(crate) struct TerminalSession {
    child: Child,
    keyboard: File,
    screen: Receiver<Vec<u8>>,
    seen: Vec<u8>,
    /// The length of the output that was matched so far.
    passed: usize,
}

impl TerminalSession {
    pub(crate) fn start(mut command: Command) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let name = Path::new(name.to_str().unwrap()).to_owned();
        let terminal = File::options().read(true).write(true).open(name).unwrap();
        command
            .stdin(terminal.try_clone().unwrap())
            .stderr(terminal)
            .stdout(Stdio::piped());
        let child = command.spawn().unwrap();
        // With it goes our end of the terminal, so that the last one hangs up.
        drop(command);
        let keyboard = File::from(master);
        let mut screen = keyboard.try_clone().unwrap();
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            let mut chunk = [0; 1024];
            // An error means that the other end is closed.
            while let Ok(count @ 1..) = screen.read(&mut chunk) {
                if sender.send(chunk[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            keyboard,
            screen: receiver,
            seen: Vec::new(),
            passed: 0,
        }
    }

    /// Waits until `text` is to be seen, after what was waited for before.
    pub(crate) fn wait_for(&mut self, text: &str) {
        loop {
            let rest = &self.seen[self.passed..];
            let mut places = rest.windows(text.len());
            if let Some(place) = places.position(|window| window == text.as_bytes()) {
                self.passed += place + text.len();
                return;
            }
            let seen = || String::from_utf8_lossy(&self.seen).into_owned();
            match self.screen.recv_timeout(Duration::from_secs(60)) {
                Ok(chunk) => self.seen.extend(chunk),
                Err(_) => panic!("{text} never came: {}", seen()),
            }
        }
    }

    /// Types, without a look at the screen.
    pub(crate) fn hit(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for a prompt, and types a line.
    pub(crate) fn answer(&mut self, prompt: &str, line: &str) {
        self.wait_for(prompt);
        self.hit(&format!("{line}\n"));
    }

    /// Returns the modes of the terminal: echo, canonical mode, signals.
    #[cfg(target_os = "linux")]
    pub(crate) fn modes(&self) -> LocalModes {
        tcgetattr(&self.keyboard).unwrap().local_modes
    }

    /// Presses Ctrl-C, as the program sees it.
    pub(crate) fn interrupt(&self) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
    }

    /// All that was to be seen, what came on stdout, and the exit code.
    pub(crate) fn finish(mut self) -> (String, String, Option<i32>) {
        let mut stdout = String::new();
        let mut pipe = self.child.stdout.take().unwrap();
        pipe.read_to_string(&mut stdout).unwrap();
        let status = self.child.wait().unwrap();
        while let Ok(chunk) = self.screen.recv_timeout(Duration::from_secs(60)) {
            self.seen.extend(chunk);
        }
        let seen = String::from_utf8(self.seen).unwrap().replace("\r\n", "\n");
        (seen, stdout, status.code())
    }
}
