//! The program as its users run it: a real process, its output, its exit code. The tests of both programs use this
//! file; `PROGRAM` names the program.

use crate::PROGRAM;
use serde_json::Value;
use std::ffi::OsStr;
use std::fmt::Debug;
use std::process::{Command, Output};

/// The program with these arguments.
pub fn command(arguments: &[impl AsRef<OsStr>]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(arguments);
    command
}

/// Output as text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Runs the program, which must end with `code`; returns its output and its messages.
pub fn run(code: i32, arguments: &[impl AsRef<OsStr> + Debug]) -> (String, String) {
    ended(code, arguments, &command(arguments).output().unwrap())
}

/// Output and messages of a run that must have ended with `code`.
pub fn ended(code: i32, arguments: &[impl Debug], output: &Output) -> (String, String) {
    let (printed, said) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(
        output.status.code(),
        Some(code),
        "{arguments:?}\n{printed}\n{said}"
    );
    assert!(!said.contains("panicked"), "{arguments:?}: {said}");
    (printed, said)
}

/// Runs the program with `--json`; its output.
pub fn json(arguments: &[&str]) -> Value {
    let arguments = [arguments, &["--json"]].concat();
    serde_json::from_str(&run(0, &arguments).0).unwrap()
}
