//! `import` of a Redis' file: its keys are there, a damaged file stores nothing, bad keys are reported, and options of rows
//! are refused.

use crate::rows::{sardonyx, text};
use std::fs;
use std::path::Path;

/// A file that a Redis 7.0.15 saved (`crates/resp/tests/rdb/make.py`).
const FILE: &[u8] = include_bytes!("../../../resp/tests/rdb/redis-7.0.rdb");

/// Imports a file; returns the exit code and all messages.
#[track_caller]
fn import(at: &Path, more: &[&str]) -> (i32, String) {
    let output = sardonyx(at, &[&["import", "keys.sdx"], more].concat());
    let code = output.status.code().expect("no signal");
    (code, text(&output))
}

/// The first line of the rows of a query.
#[track_caller]
fn query(at: &Path, statement: &str) -> String {
    let output = sardonyx(at, &["sql", "keys.sdx", "--format", "csv", "-c", statement]);
    assert!(output.status.success(), "{statement}: {}", text(&output));
    let printed = String::from_utf8(output.stdout).expect("UTF-8");
    printed.lines().nth(1).unwrap_or_default().to_string()
}

#[test]
fn the_keys_of_a_file_are_imported_once() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    fs::write(at.join("dump.rdb"), FILE).expect("written");
    let (code, told) = import(at, &["dump.rdb"]);
    assert!(
        code == 2 && told.contains("no database to open"),
        "{code} {told}"
    );
    // The library needs Lua: without it, it is a bad item.
    let (code, told) = import(at, &["dump.rdb", "--create", "--on-error", "skip"]);
    assert!(
        code == 0 || told.contains("a library of functions"),
        "{told}"
    );
    let keys = query(at, "select count(*) from pg_redis.kv");
    assert!(told.contains("keys and"), "{told}");
    assert_ne!(keys, "0");
    assert_eq!(
        query(
            at,
            "select value from pg_redis.kv where key = '\\x74657874'"
        ),
        "\\x68656c6c6f"
    );
    assert_eq!(
        query(
            at,
            "select value from pg_redis.kv_db5 where key = '\\x74657874'"
        ),
        "\\x66697665"
    );
    // A second time every key and, with Lua, the library before them is there.
    let (code, told) = import(at, &["dump.rdb"]);
    assert_eq!(code, 4, "{told}");
    assert!(
        told.contains("dump.rdb, ") && told.contains("at byte") && told.contains("already"),
        "{told}"
    );
    let (code, told) = import(at, &["dump.rdb", "--on-error", "skip"]);
    assert_eq!(code, 1, "{told}");
    assert!(told.contains("0 keys and 0 libraries stored"), "{told}");
    assert_eq!(query(at, "select count(*) from pg_redis.kv"), keys);
}

#[test]
fn a_damaged_file_stores_no_key_and_names_the_place() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    let last = FILE.len() - 1;
    let mut other = FILE.to_vec();
    other[last - 8] ^= 1;
    for (file, told) in [
        (&FILE[..last - 20], "the file ends too early, at byte"),
        (&other[..], "at byte"),
        (b"id,name\n1,a\n".as_slice(), "no RDB file"),
    ] {
        fs::write(at.join("dump.rdb"), file).expect("written");
        let (code, said) = import(at, &["dump.rdb", "--create", "--on-error", "skip"]);
        assert_eq!(code, 4, "{said}");
        assert!(said.contains("dump.rdb") && said.contains(told), "{said}");
        assert!(!at.join("keys.sdx").exists(), "{told}");
    }
}

#[test]
fn options_of_rows_and_wrong_arguments_are_refused_by_name() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    fs::write(at.join("dump.rdb"), FILE).expect("written");
    fs::write(at.join("t.csv"), "id\n1\n").expect("written");
    for (words, told) in [
        (
            &["dump.rdb", "--create", "--batch", "7"][..],
            "--batch is for rows",
        ),
        (
            &["dump.rdb", "--create", "--key", "id"],
            "--key is for rows",
        ),
        (&["dump.rdb", "--delimiter", ";"], "--delimiter is for rows"),
        (&["t", "dump.rdb", "--create"], "leave the table out"),
        (&["t", "t.csv", "--format", "rdb"], "leave the table out"),
        (&["t.csv", "--create"], "a table and a file are expected"),
        (&["t", "t.csv", "--format", "none"], ", or rdb"),
    ] {
        let (code, said) = import(at, words);
        assert_eq!(code, 2, "{words:?}: {said}");
        assert!(said.contains(told), "{words:?}: {said}");
    }
    assert!(!at.join("keys.sdx").exists());
}
