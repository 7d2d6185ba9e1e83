//! A few kills of `torture-multilevel`, as a test.

use std::process::Command;

#[test]
fn what_is_acknowledged_survives_kills_and_what_is_unfinished_does_not() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut torture = Command::new(env!("CARGO_BIN_EXE_xtask"));
    torture.args(["torture-multilevel", "--kills", "6", "--seed", "3"]);
    torture.args(["--acknowledgements", "150", "--workers", "3", "--directory"]);
    torture.arg(directory.path().join("torture.sdx"));
    let output = torture.output().expect("it starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
}
