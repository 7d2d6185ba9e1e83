//! The command and its environment: files that it may only read, a program that has the database open, devices, signals
//! that end it, and programs that read its JSON.

use crate::common::{command, ended, run};
use serde_json::Value;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A small database of debit-credit.
fn bank(directory: &Path) -> PathBuf {
    let path = directory.join("bank.sdx");
    let place = path.to_str().unwrap();
    run(
        0,
        &[
            "debit-credit",
            "--keep",
            "--accounts",
            "1000",
            "--transactions",
            "500",
            "--batch",
            "50",
            "--log-bytes",
            "32MiB",
            "--directory",
            place,
        ],
    );
    path
}

/// The bank, open in this process.
fn opened(bank: &Path) -> sardonyx::Tables {
    let options = sardonyx::Options::new()
        .log_bytes_max(32 << 20)
        .segment_bytes(8 << 20)
        .group_limits(sardonyx::disk::GroupLimits::for_segments(8 << 20));
    options.open_tables(bank).unwrap()
}

/// The read-only verbs.
const READERS: [&[&str]; 9] = [
    &["verify"],
    &["recover", "--dry-run"],
    &["inspect"],
    &["history", "--account", "1"],
    &["inspect", "manifest"],
    &["inspect", "log"],
    &["inspect", "backup"],
    &["inspect", "journal"],
    &["inspect", "catalogue"],
];

/// A verb's arguments, the database's path after the verb.
fn with_path<'a>(verb: &[&'a str], path: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&verb[..1], &[path], &verb[1..], more].concat()
}

/// All files below a directory, with their bytes.
fn files(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push((path.clone(), std::fs::read(&path).unwrap())),
        }
    }
    found.sort();
    found
}

/// Removes the write permission of all files and directories. (For root it makes no difference; the disk's own test
/// checks that no file is opened for writing.)
fn protect(directory: &Path, protected: bool) {
    let mode = |file, directory| if protected { file } else { directory };
    std::fs::set_permissions(directory, Permissions::from_mode(mode(0o555, 0o755))).unwrap();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => protect(&path, protected),
            false => {
                std::fs::set_permissions(&path, Permissions::from_mode(mode(0o444, 0o644)))
                    .unwrap();
            }
        }
    }
}

#[test]
fn what_changes_nothing_needs_no_right_to_and_makes_no_lock() {
    let directory = tempfile::tempdir().unwrap();
    let path = bank(directory.path());
    // As of a copy that was made without it.
    std::fs::remove_file(path.join("LOCK")).unwrap();
    let before = files(&path);
    protect(&path, true);
    for verb in READERS {
        let (_, said) = run(0, &with_path(verb, path.to_str().unwrap(), &[]));
        assert_eq!(said, "", "{verb:?}");
    }
    protect(&path, false);
    assert!(files(&path) == before, "nothing was changed or made");
}

#[test]
fn a_database_that_is_open_is_read_beside_its_program_and_that_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let path = bank(directory.path());
    let place = path.to_str().unwrap();
    let rows = |said: &mut String| {
        let (printed, notes) = run(0, &["history", place, "--account", "1"]);
        *said = notes;
        printed
    };
    let mut said = String::new();
    let alone = rows(&mut said);
    assert_eq!(said, "");
    let database = opened(&path);
    assert_eq!(rows(&mut said), alone);
    for verb in READERS {
        let (_, said) = run(0, &with_path(verb, place, &[]));
        let told = format!("open in process {}", std::process::id());
        // The manifest is replaced whole and needs no lock.
        assert_eq!(
            said.contains(&told),
            !verb.ends_with(&["manifest"]),
            "{verb:?}: {said}"
        );
    }
    let (report, notes) = run(0, &["verify", place, "--json"]);
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(
        (&report["sound"], &report["beside_writer"]),
        (&true.into(), &true.into())
    );
    let note: Value = serde_json::from_str(&notes).unwrap();
    assert!(
        note["note"]
            .as_str()
            .unwrap()
            .contains("it is read meanwhile"),
        "{notes}"
    );
    // A program that wants the lock is refused, with the holder's name; one that waits, after its time.
    for more in [&["--json"][..], &["--json", "--wait", "1ms"]] {
        let arguments = with_path(&["recover"], place, more);
        let (printed, said) = run(3, &arguments);
        let told: Value = serde_json::from_str(&said).unwrap();
        let error = told["error"].as_str().unwrap();
        assert!(
            error.contains(&format!("process {}", std::process::id())),
            "{error}"
        );
        assert!(
            error.contains("open already") && error.contains("--wait"),
            "{error}"
        );
        assert_eq!((&told["exit_code"], printed.as_str()), (&3.into(), ""));
    }
    run(3, &["verify", place, "--wait", "1ms"]);
    let waiting = command(&["verify", place, "--wait", "600s", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    database.close().unwrap();
    let output = waiting.wait_with_output().unwrap();
    let (report, _) = ended(0, &["verify", "--wait"], &output);
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(
        (&report["sound"], &report["beside_writer"]),
        (&true.into(), &false.into())
    );
}

#[test]
fn damage_is_found_beside_a_program_too() {
    use std::os::unix::fs::FileExt;
    let directory = tempfile::tempdir().unwrap();
    let path = bank(directory.path());
    let database = opened(&path);
    let log = std::fs::File::options()
        .write(true)
        .open(path.join("log/0000000000000000.log"));
    log.unwrap().write_all_at(&[0xee; 16], 4096).unwrap();
    let (_, said) = run(1, &["inspect", path.to_str().unwrap(), "--json"]);
    assert!(said.contains("note"), "{said}");
    drop(database);
}

#[test]
fn errors_are_json_where_json_is_asked_for() {
    for (code, arguments) in [
        (2, &["verify", "/nonexistent/bank.sdx", "--json"][..]),
        (2, &["--json", "verify"]),
        (2, &["nonsense", "--json"]),
        (
            2,
            &[
                "debit-credit",
                "--json",
                "--accounts",
                "3",
                "--branches",
                "4",
            ],
        ),
    ] {
        let (printed, said) = run(code, arguments);
        assert_eq!(printed, "", "{arguments:?}");
        assert_eq!(said.lines().count(), 1, "{arguments:?}: {said}");
        let told: Value = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{said}"));
        assert!(
            !told["error"].as_str().unwrap().is_empty(),
            "{arguments:?}: {said}"
        );
        assert_eq!(told["exit_code"], code, "{arguments:?}");
    }
    assert!(
        run(0, &["verify", "--help", "--json"])
            .0
            .contains("Exit code 1")
    );
}

#[test]
fn a_file_in_a_directorys_place_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("notes.txt");
    std::fs::write(&file, "mine").unwrap();
    let file = file.to_str().unwrap();
    let (_, said) = run(2, &["verify", file]);
    assert!(said.contains("is not a directory"), "{said}");
}

#[test]
fn a_store_that_cannot_be_kept_leaves_no_directory() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let place = format!("file:{}", path.display());
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let empty = directory.path().join("empty");
    std::fs::write(&empty, "\n").unwrap();
    let free = "127.0.0.1:0";
    for (code, arguments, says) in [
        (4, vec!["--listen", "256.0.0.1:1"], "256.0.0.1:1"),
        (4, vec!["--listen", &taken], "cannot listen"),
        (
            2,
            vec!["--listen", free, "--token-file", empty.to_str().unwrap()],
            "a token has 1",
        ),
        (
            2,
            vec!["--listen", free, "--token-file", "/nonexistent"],
            "/nonexistent",
        ),
        (
            2,
            vec!["--listen", free, "--tls", "/nonexistent"],
            "TLS needs the CA's certificate",
        ),
    ] {
        let arguments = [&["store", "serve", &place], &arguments[..]].concat();
        let (_, said) = run(code, &arguments);
        assert!(said.contains(says), "{said}");
        assert!(!path.exists(), "{arguments:?}");
    }
}

/// Starts debit-credit, waits until its database exists, sends it a signal, and returns the remaining files.
fn interrupted(signal: i32, more: &[&str]) -> Vec<PathBuf> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bank.sdx");
    let mut child = command(&["debit-credit", "--accounts", "20000", "--seconds", "600"])
        .args([
            "--log-bytes",
            "32MiB",
            "--directory",
            path.to_str().unwrap(),
        ])
        .args(more)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    while !path.join("MANIFEST").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(2));
    }
    let mut kill = Command::new("kill");
    kill.arg(format!("-{signal}")).arg(child.id().to_string());
    assert!(kill.status().unwrap().success());
    let status = child.wait().unwrap();
    assert_eq!(status.signal(), Some(signal), "{status}");
    let left = std::fs::read_dir(directory.path()).unwrap();
    left.map(|entry| entry.unwrap().path()).collect()
}

/// Returns true if this process, and so its children, ignores a signal.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.unwrap_or(0) & 1 << (signal - 1) != 0
}

#[test]
fn a_signal_that_ends_an_experiment_leaves_no_directory() {
    let [hang_up, interrupt, terminate] = [1, 2, 15];
    for signal in [hang_up, interrupt, terminate] {
        if is_ignored(signal) {
            // Under nohup: a program that ignores a signal from its beginning continues.
            continue;
        }
        let left = interrupted(signal, &[]);
        assert!(left.is_empty(), "{signal}: {left:?}");
    }
    // The other host's processes and directories are removed, too; so are the directories of other experiments.
    let left = interrupted(terminate, &["--configuration", "c"]);
    assert!(left.is_empty(), "{left:?}");
}
