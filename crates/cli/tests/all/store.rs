//! `sardonyx store`, and a benchmark whose log is in a store, as their users run them.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn sardonyx(arguments: &[&str]) -> Output {
    Command::new(crate::PROGRAM)
        .args(arguments)
        .output()
        .unwrap()
}

fn run(code: i32, arguments: &[&str]) -> String {
    let (printed, said) = crate::common::ended(code, arguments, &sardonyx(arguments));
    printed + &said
}

fn json(arguments: &[&str]) -> Value {
    let output = sardonyx(&[arguments, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A bank whose log is in a store of this directory, too; returns its place and its transactions.
fn bank(machine: &Path, durable_at: &str) -> (String, u64) {
    let store = machine.join("store");
    let store = format!("file:{}", store.display());
    let directory = machine.join("bank.sdx");
    let report = json(&[
        "debit-credit",
        "--accounts",
        "2000",
        "--transactions",
        "3000",
        "--batch",
        "100",
        "--log-bytes",
        "32MiB",
        "--keep",
        "--directory",
        directory.to_str().unwrap(),
        "--store",
        &store,
        "--durable-at",
        durable_at,
        "--put-time",
        "1ms",
    ]);
    assert_eq!(report["settings"]["durable_at"], durable_at);
    let run = &report["runs"][0];
    assert_eq!(run["proof"]["holds"], true, "{run}");
    let runs = std::fs::read_dir(machine.join("store")).unwrap();
    let names: Vec<_> = runs.map(|run| run.unwrap().file_name()).collect();
    let [name] = &names[..] else {
        panic!("{names:?}")
    };
    let place = format!("{store}/{}", name.to_str().unwrap());
    (place, run["committed"].as_u64().unwrap())
}

#[test]
fn a_bank_in_a_store_is_looked_at_copied_and_trimmed() {
    let machine = tempfile::tempdir().unwrap();
    let (place, committed) = bank(machine.path(), "both");
    let path = |name: &str| machine.path().join(name).to_str().unwrap().to_string();
    let status = json(&["store", "status", &place]);
    let entries = status["last_entry"].as_u64().unwrap();
    assert_eq!(status["entries"], entries);
    assert_eq!(status["host"], Value::Null);
    let verified = json(&["store", "verify", &place]);
    assert_eq!(verified["entries"], entries);
    let transactions = verified["transactions"].as_u64().unwrap();
    assert!(
        transactions > committed,
        "with those that loaded the tables"
    );

    // The bank's directory opens only with its store.
    let said = run(2, &["checkpoint", &path("bank.sdx")]);
    assert!(said.contains("with that store"), "{said}");
    run(0, &["verify", &path("bank.sdx")]);
    run(0, &["checkpoint", &path("bank.sdx"), "--store", &place]);
    let status = json(&["store", "status", &place]);
    let entries = status["last_entry"].as_u64().unwrap();

    // As it is, and as it was.
    let whole = json(&["store", "clone", &place, &path("whole.sdx")]);
    assert_eq!(whole["transactions"], transactions);
    let half = (entries / 2).to_string();
    let then = json(&[
        "store",
        "clone",
        &place,
        &path("then.sdx"),
        "--at-entry",
        &half,
    ]);
    assert!(then["transactions"].as_u64().unwrap() < transactions);
    let time = then["time"].as_str().unwrap();
    let again = json(&["store", "clone", &place, &path("again.sdx"), "--at", time]);
    // Entries of the same microsecond would be in it, too.
    assert!(again["entry"].as_u64() >= then["entry"].as_u64());
    let said = run(2, &["store", "clone", &place, &path("whole.sdx")]);
    assert!(said.contains("absent or empty"), "{said}");
    for copy in ["whole.sdx", "then.sdx", "again.sdx"] {
        run(0, &["verify", &path(copy)]);
        run(0, &["checkpoint", &path(copy)]);
    }

    // With a base, the log's beginning can be deleted.
    let said = run(2, &["store", "trim", &place]);
    assert!(said.contains("name the bases to keep"), "{said}");
    let trimmed = json(&["store", "trim", &place, "--keep-bases", "1"]);
    assert_eq!(trimmed["from_entry"], Value::Null, "there is no base yet");
    let follow = [
        "store",
        "follow",
        &place,
        &path("follower.sdx"),
        "--once",
        "--base-every",
        "0",
    ];
    let followed = run(0, &follow);
    assert!(followed.contains("bases put into the store"), "{followed}");
    let trimmed = json(&["store", "trim", &place, "--keep-bases", "1"]);
    assert!(trimmed["entries_deleted"].as_u64().unwrap() > 0);
    let behind = run(
        2,
        &[
            "store",
            "clone",
            &place,
            &path("old.sdx"),
            "--at-entry",
            &half,
        ],
    );
    assert!(
        behind.contains("the oldest moment that it keeps"),
        "{behind}"
    );
    let based = json(&["store", "clone", &place, &path("based.sdx")]);
    assert_eq!(based["transactions"], transactions);
    assert_eq!(based["base_entry"], entries);
    run(0, &["verify", &path("based.sdx")]);
    run(0, &["store", "verify", &place]);
}

#[test]
fn damage_in_a_store_is_found_and_named() {
    let machine = tempfile::tempdir().unwrap();
    let (place, _) = bank(machine.path(), "local");
    let entry = Path::new(place.strip_prefix("file:").unwrap()).join("entry");
    let mut entries: Vec<_> = std::fs::read_dir(&entry)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    let second = &entries[1];
    let mut bytes = std::fs::read(second).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(second, &bytes).unwrap();
    let said = run(1, &["store", "verify", &place]);
    assert!(said.contains("entry 2 of the log is damaged"), "{said}");
    let copy = machine.path().join("copy.sdx");
    let said = run(1, &["store", "clone", &place, copy.to_str().unwrap()]);
    assert!(said.contains("entry 2 of the log is damaged"), "{said}");
    std::fs::remove_file(second).unwrap();
    let said = run(1, &["store", "verify", &place]);
    assert!(said.contains("entry 2 of the log is missing"), "{said}");
    let copy = machine.path().join("another.sdx");
    let said = run(1, &["store", "clone", &place, copy.to_str().unwrap()]);
    assert!(said.contains("entry 2 of the log is missing"), "{said}");
}

#[test]
fn wrong_places_and_hand_overs_are_refused_with_a_sentence() {
    let machine = tempfile::tempdir().unwrap();
    let (place, _) = bank(machine.path(), "both");
    for verb in ["promote", "drain"] {
        let mut arguments = vec!["store", verb, &place];
        if verb == "promote" {
            arguments.extend(["--to", "host-2"]);
        }
        let said = run(4, &arguments);
        assert!(said.contains("no host has served"), "{said}");
    }
    let said = run(2, &["store", "status", "ftp://somewhere"]);
    assert!(said.contains("places are"), "{said}");
    let nothing = format!("file:{}", machine.path().join("nothing").display());
    let said = run(2, &["store", "status", &nothing]);
    assert!(said.contains("has no database"), "{said}");
    assert!(
        !machine.path().join("nothing").exists(),
        "looking makes nothing"
    );
    run(2, &["store", "clone", &place, "x.sdx", "--at", "yesterday"]);
}
