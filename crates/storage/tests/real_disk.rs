//! What only the real disk can show: its directory, and a lock that dies with its holder.

use sardonyx_storage::disk::{Access, Create, Disk, RealDisk};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

const LOCK_DIRECTORY: &str = "SARDONYX_TEST_LOCK_DIRECTORY";

/// Not a test of its own: the other process of [`a_lock_dies_with_its_holder`].
#[test]
#[ignore = "run by a_lock_dies_with_its_holder in a process of its own"]
fn hold_the_lock_until_killed() {
    let Ok(directory) = std::env::var(LOCK_DIRECTORY) else {
        return;
    };
    let disk = RealDisk::open(directory).unwrap();
    let _held = disk.lock("LOCK").unwrap().expect("it is free");
    println!("\nlocked");
    // Nothing is ever written to this end: it returns only if the parent dies.
    let _ = std::io::stdin().read_line(&mut String::new());
}

#[test]
fn a_lock_dies_with_its_holder() {
    let directory = tempfile::tempdir().unwrap();
    let disk = RealDisk::open(directory.path()).unwrap();
    let mut holder = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "hold_the_lock_until_killed",
            "--ignored",
            "--nocapture",
        ])
        .env(LOCK_DIRECTORY, directory.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(holder.stdout.take().unwrap()).lines();
    assert!(
        lines.any(|line| line.unwrap() == "locked"),
        "the holder did not get the lock"
    );
    let while_held = disk.lock("LOCK").unwrap();
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert!(while_held.is_none());
    assert!(disk.lock("LOCK").unwrap().is_some());
}

#[test]
fn the_root_is_created_and_found_again() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("a/b/bank.sdx");
    let disk = RealDisk::open(&root).unwrap();
    disk.open("MANIFEST", Access::Buffered, Create::New)
        .unwrap();
    assert_eq!(disk.display_name(""), root.display().to_string());
    assert_eq!(
        disk.display_name("MANIFEST"),
        root.join("MANIFEST").display().to_string()
    );
    assert_eq!(
        RealDisk::open(&root).unwrap().list("").unwrap(),
        ["MANIFEST"]
    );
    let error = RealDisk::open(root.join("MANIFEST")).unwrap_err();
    assert!(error.to_string().contains("MANIFEST"), "{error}");
    let error = RealDisk::open(root.join("MANIFEST/deeper")).unwrap_err();
    assert!(error.to_string().contains("MANIFEST"), "{error}");
}
