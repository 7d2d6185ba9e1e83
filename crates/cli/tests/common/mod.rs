//! The command as its users run it: a real process, its output, its exit code.

use serde_json::Value;
use std::process::Command;

/// Runs the command, which must end with `code`; returns what it printed and what it complained.
pub fn run(code: i32, arguments: &[&str]) -> (String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_sardonyx"))
        .args(arguments)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (printed, said) = (text(output.stdout), text(output.stderr));
    assert_eq!(
        output.status.code(),
        Some(code),
        "{arguments:?}\n{printed}\n{said}"
    );
    (printed, said)
}

/// Runs the command with `--json`; what it printed.
pub fn json(arguments: &[&str]) -> Value {
    let arguments = [arguments, &["--json"]].concat();
    serde_json::from_str(&run(0, &arguments).0).unwrap()
}
