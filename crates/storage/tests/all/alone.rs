//! Tests that must be the only one of their process: because of forks, limits, signals or a count of threads. The test
//! programs of several crates have this file.

use std::process::Command;

/// The name of the test that a child process runs.
const ALONE: &str = "SARDONYX_TEST_ALONE";

/// Runs a test's body in a process in which no other test runs: this program, started again with the test's name.
///
/// The body is a closure of the test itself: the name of its type has the test's path.
pub fn alone<F: FnOnce()>(body: F) {
    let test = path_of(&body);
    if std::env::var(ALONE).is_ok_and(|name| name == test) {
        return body();
    }
    let child = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", &test, "--include-ignored", "--nocapture"])
        .env(ALONE, &test)
        .output()
        .expect("the program starts");
    let output = String::from_utf8_lossy(&child.stdout);
    let errors = String::from_utf8_lossy(&child.stderr);
    print!("{output}");
    eprint!("{errors}");
    assert!(
        child.status.success() && output.contains("1 passed"),
        "{test} in its own process: {}",
        child.status
    );
}

/// A test's name as this program's arguments have it: of the test's function, or of a closure in it.
pub fn path_of<F>(_: &F) -> String {
    let path = std::any::type_name::<F>().trim_end_matches("::{{closure}}");
    let (_, test) = path.split_once("::").expect("a path with the crate's name");
    test.to_owned()
}
