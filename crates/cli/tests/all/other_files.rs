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

#[test]
fn a_verb_that_looks_at_a_store_makes_nothing_where_there_is_none() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("notes.txt"), "mine").unwrap();
    let before = files(directory.path());
    let store = format!("file:{}", directory.path().display());
    let copy = directory.path().join("copy").display().to_string();
    for verb in [
        &["store", "status", &store][..],
        &["store", "verify", &store],
        &["store", "clone", &store, &copy],
        &["store", "follow", &store, &copy, "--once"],
    ] {
        let (_, said) = run(2, verb);
        let found = "has no database: there is no log in this directory";
        assert!(said.contains(found), "{verb:?}: {said}");
        assert_eq!(files(directory.path()), before, "{verb:?}");
    }
}

#[test]
fn a_file_in_the_place_of_a_directory_is_wrong_usage_for_every_verb() {
    let directory = tempfile::tempdir().unwrap();
    let (file, path) = (
        directory.path().join("file"),
        directory.path().join("x.sdx"),
    );
    std::fs::write(&file, "mine").unwrap();
    Tables::open(&path).unwrap().close().unwrap();
    let (file, path) = (file.to_str().unwrap(), path.to_str().unwrap());
    for verb in [
        &["serve", file][..],
        &["sql", file, "--create", "-c", "select 1"],
        &["sql", file, "-c", "select 1"],
        &["verify", file],
        &["backup", path, file],
        &["leftovers", "--shared-memory", file],
        &["cluster", "status", "--directory", file],
        &["cluster", "up", "--directory", file],
        &["cluster", "down", "--directory", file],
    ] {
        let (_, said) = run(2, verb);
        let is_named = said.contains(file) && said.contains("directory");
        assert!(is_named && !said.contains("os error"), "{verb:?}: {said}");
    }
    assert_eq!(std::fs::read(file).unwrap(), b"mine");
}

#[test]
fn nodes_are_made_in_a_directory_of_their_own() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap();
    std::fs::write(directory.path().join("notes.txt"), "mine").unwrap();
    let before = files(directory.path());
    let (_, said) = run(2, &["cluster", "up", "--directory", path]);
    assert!(said.contains("other files (notes.txt)"), "{said}");
    assert_eq!(files(directory.path()), before);
    // A damaged setting is not replaced: nodes may run with it.
    std::fs::write(directory.path().join("cluster.json"), "{ nodes").unwrap();
    let before = files(directory.path());
    for verb in ["up", "status", "down"] {
        let (_, said) = run(1, &["cluster", verb, "--directory", path]);
        assert!(said.contains("cluster.json is damaged"), "{said}");
    }
    let (_, said) = run(1, &["cluster", "up", "--nodes", "3", "--directory", path]);
    assert!(said.contains("cluster.json is damaged"), "{said}");
    assert_eq!(files(directory.path()), before);
}

#[test]
fn wrong_names_of_files_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.sdx");
    Tables::open(&path).unwrap().close().unwrap();
    let path = path.to_str().unwrap();
    run(
        0,
        &["sql", path, "-c", "create table t (id int primary key)"],
    );
    let absent = directory.path().join("absent/t.csv").display().to_string();
    let (_, said) = run(4, &["export", path, "t", &absent]);
    assert!(said.contains(&absent), "{said}");
    let there = directory.path().join("there.csv").display().to_string();
    std::fs::write(&there, "id\n1\n").unwrap();
    for (code, verb) in [
        (2, &["export", path, "t", &there][..]),
        (2, &["export", path, "t", "-"]),
        (2, &["import", path, "t", "rows.unknown"]),
        (4, &["import", path, "t", &absent]),
    ] {
        let (_, said) = run(code, verb);
        let is_named = said.contains("--format") || said.contains(verb[3]);
        assert!(is_named, "{verb:?}: {said}");
    }
}
