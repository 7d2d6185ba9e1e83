//! Processes that are killed, and their acknowledgements, witnessed from outside. A worker writes each count into a
//! pipe when its transaction has returned, and the process that reads that kills the worker.
//!
//! Another process is this test binary again, with a test of its own.

use rustix::process::{Pid, Signal, kill_process};
use sardonyx_base::random::Random;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A process, which is killed when a test that fails goes.
pub struct Witnessed {
    child: Child,
    said: BufReader<ChildStdout>,
    /// It ends when this goes, if it listens.
    _told: Option<ChildStdin>,
}

impl Drop for Witnessed {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Witnessed {
    /// Starts a test, by its whole path, with these variables.
    pub fn start(test: &str, told: &[(&str, &OsStr)]) -> Witnessed {
        let name = test.split_once("::").unwrap().1;
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([name, "--exact", "--nocapture", "--quiet"]);
        command.envs(told.iter().copied());
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        Witnessed {
            said: BufReader::new(child.stdout.take().unwrap()),
            _told: child.stdin.take(),
            child,
        }
    }

    /// The next line that it says; `None`: it has ended.
    pub fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let bytes = self.said.read_line(&mut line).unwrap();
        (bytes > 0).then(|| line.trim().into())
    }

    /// Hears what a worker says until it has counted so many more; whether it goes on.
    pub fn hear(&mut self, more: u64, witnessed: &mut u64) -> bool {
        let mut heard = 0;
        while heard < more {
            let Some(line) = self.line() else {
                return false;
            };
            if let Some(count) = line.strip_prefix("count ") {
                let count: u64 = count.parse().unwrap();
                assert_eq!(count, *witnessed + 1, "a transaction is missing");
                *witnessed = count;
                heard += 1;
            } else if let Some(count) = line.strip_prefix("begins ") {
                let count: u64 = count.parse().unwrap();
                let expected = *witnessed..=*witnessed + 1;
                assert!(expected.contains(&count), "{count} after {witnessed}");
                *witnessed = count;
            }
        }
        true
    }

    /// Kills a worker a moment later, wherever it is then. Its earlier reports count.
    pub fn kill_soon(mut self, random: &mut Random, witnessed: &mut u64) {
        for _ in 0..random.below(400) {
            std::hint::spin_loop();
        }
        self.kill();
        self.hear(u64::MAX, witnessed);
        let status = self.child.wait().unwrap();
        assert!(status.success() || status.code().is_none(), "{status}");
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
    }

    /// Hears a worker to its end.
    pub fn hear_out(mut self, witnessed: &mut u64) {
        self.hear(u64::MAX, witnessed);
        assert!(self.child.wait().unwrap().success());
    }
}

/// The output for witnessed reports: not that of the test harness.
pub fn said() -> File {
    File::create("/proc/self/fd/1").unwrap()
}

/// Works, and says so: `count` is what is there, `transfer` one transaction more.
pub fn work(
    out: &mut File,
    worker: u64,
    count: u64,
    transactions: u64,
    mut transfer: impl FnMut(&mut Random) -> u64,
) {
    writeln!(out, "begins {count}").unwrap();
    let mut random = Random::stream(count, worker);
    for _ in 0..transactions {
        let count = transfer(&mut random);
        writeln!(out, "count {count}").unwrap();
    }
}
