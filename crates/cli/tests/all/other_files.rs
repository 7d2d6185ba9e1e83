//! A database is made in a new or an empty directory only: a mistyped path must not become an empty database among the
//! user's files.

use crate::common::run;
use sardonyx::{Error, Tables};
use std::collections::BTreeMap;
use std::path::Path;

/// The names of a directory's files, and their bytes.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(directory).unwrap();
    let read = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        (name, std::fs::read(entry.path()).unwrap())
    };
    entries.map(read).collect()
}

#[test]
fn no_database_is_made_among_other_files() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("bank.toml"), "x = 1\n").unwrap();
    std::fs::write(directory.path().join(".hidden"), "").unwrap();
    let before = files(directory.path());
    let path = directory.path().to_str().unwrap();
    let (_, said) = run(2, &["serve", path]);
    assert!(said.contains("has no database, and other files"), "{said}");
    assert!(said.contains(path), "{said}");
    assert_eq!(files(directory.path()), before);
    let error = Tables::open(directory.path()).unwrap_err();
    assert!(matches!(error, Error::Refused(_)), "{error}");
    assert_eq!(files(directory.path()), before);
}

#[test]
fn what_a_creation_left_and_files_that_came_later_are_no_hindrance() {
    let directory = tempfile::tempdir().unwrap();
    // An interrupted creation.
    std::fs::write(directory.path().join("LOCK"), "").unwrap();
    std::fs::write(directory.path().join("MANIFEST.new"), "half").unwrap();
    Tables::open(directory.path()).unwrap().close().unwrap();
    std::fs::write(directory.path().join("notes.txt"), "").unwrap();
    Tables::open(directory.path()).unwrap().close().unwrap();
}

#[test]
fn no_database_is_made_among_other_directories_by_any_verb() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    std::fs::create_dir(at.join("photos")).unwrap();
    let rows = tempfile::NamedTempFile::with_suffix(".csv").unwrap();
    std::fs::write(rows.path(), "id\n1\n").unwrap();
    let (path, rows) = (at.to_str().unwrap(), rows.path().to_str().unwrap());
    for verb in [
        &["serve", path][..],
        &["sql", path, "--create", "-c", "select 1"],
        &["import", path, "t", rows, "--create"],
    ] {
        let (_, said) = run(2, verb);
        let found = "has no database, and other files (photos/)";
        assert!(said.contains(found), "{verb:?}: {said}");
    }
    let error = Tables::open(at).unwrap_err();
    assert!(matches!(error, Error::Refused(_)), "{error}");
    let names = std::fs::read_dir(at).unwrap();
    assert_eq!(names.count(), 1, "nothing was made");
    // A file system's own directory at its root, and an interrupted creation's.
    std::fs::rename(at.join("photos"), at.join("lost+found")).unwrap();
    std::fs::create_dir(at.join("log")).unwrap();
    Tables::open(at).unwrap().close().unwrap();
}
