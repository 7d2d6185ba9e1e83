//! Tests that need a process of their own: its limits, the number of its mappings, its forks or its
//! handlers would be others', too.

use std::process::Command;

/// Says to a process which test it is to run.
const ALONE: &str = "SARDONYX_TEST_ALONE";

/// Runs a test's body in a process of its own: this program again, with that test only. The body is to be a
/// closure in the test's function, whose type has the test's name.
pub fn alone<F: FnOnce()>(body: F) {
    let closure = std::any::type_name::<F>();
    let test = closure.trim_end_matches("::{{closure}}");
    let (_, test) = test.split_once("::").expect("a closure in a test");
    if std::env::var(ALONE).is_ok_and(|name| name == test) {
        return body();
    }
    let output = Command::new(std::env::current_exe().expect("a path"))
        .args([test, "--exact", "--include-ignored", "--nocapture"])
        .env(ALONE, test)
        .output()
        .expect("a process");
    let [said, complained] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    println!("{said}");
    let passed = output.status.success() && said.contains("1 passed");
    assert!(passed, "{test} alone: {}\n{complained}", output.status);
}
