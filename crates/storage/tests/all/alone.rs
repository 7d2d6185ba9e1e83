//! Tests that must be the only one of their process: because of forks, limits, signals or a count of threads. The test
//! programs of several crates have this file.

use sardonyx_base::victims::{path_of, test_program};

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
    let child = test_program(&body)
        .expect("this program")
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
