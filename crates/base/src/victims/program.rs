//! A victim that is a test of the program that starts it.

use std::io;
use std::process::Command;

/// A test's name as its program's arguments have it: of the test's function, or of a closure in it.
pub fn path_of<F>(_: &F) -> String {
    let path = std::any::type_name::<F>().trim_end_matches("::{{closure}}");
    let (_, test) = path.split_once("::").unwrap_or_default();
    test.to_owned()
}

/// This program again, to run one test, also an ignored one. The test does nothing unless a variable of its environment
/// gives it a role.
///
/// # Errors
/// The program does not know its own file.
pub fn test_program<F>(test: &F) -> io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--exact", &path_of(test)]);
    command.args(["--include-ignored", "--nocapture", "--quiet"]);
    Ok(command)
}
