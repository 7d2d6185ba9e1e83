//! The command and databases whose log and backup are on disks of their own: every verb finds them.

use crate::common::{command, json, run};
use crate::hosting::PATIENCE;
use crate::serving::Serving;
use serde_json::Value;
use std::path::Path;
use std::time::Instant;

fn debit_credit(directory: &Path, more: &[&str]) -> Value {
    let path = |name: &str| directory.join(name).display().to_string();
    let mut arguments: Vec<String> = ["debit-credit", "--accounts", "2000"]
        .map(String::from)
        .into();
    arguments.extend(
        [
            "--transactions",
            "3000",
            "--batch",
            "100",
            "--log-bytes",
            "32MiB",
        ]
        .map(String::from),
    );
    arguments.extend(["--directory".into(), path("bank.sdx")]);
    arguments.extend(["--log-directory".into(), path("fast")]);
    for disk in ["disk1", "disk2"] {
        arguments.extend(["--stripe-directory".into(), path(disk)]);
    }
    arguments.extend(more.iter().map(|word| word.to_string()));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    json(&arguments)
}

#[test]
fn every_verb_finds_the_parts_and_a_moved_one_is_named_and_told() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let bank = path("bank.sdx");
    debit_credit(directory.path(), &["--keep"]);
    for verb in [
        ["verify", &bank].as_slice(),
        &["inspect", &bank],
        &["inspect", &bank, "log"],
        &["inspect", &bank, "backup"],
        &["inspect", &bank, "catalogue"],
        &["recover", &bank, "--dry-run"],
        &["recover", &bank],
        &["history", &bank, "--account", "1"],
        &["checkpoint", &bank],
    ] {
        run(0, verb);
    }
    let (manifest, _) = run(0, &["inspect", &bank, "manifest"]);
    assert!(
        manifest.contains(&format!("{}: log", path("fast"))),
        "{manifest}"
    );
    assert!(manifest.contains("backup 2 of 2"), "{manifest}");
    std::fs::rename(path("fast"), path("faster")).unwrap();
    let (found, _) = run(1, &["verify", &bank]);
    assert!(found.contains(&path("fast")), "{found}");
    let (_, said) = run(1, &["recover", &bank, "--dry-run"]);
    assert!(said.contains("has the log of this database"), "{said}");
    run(0, &["recover", &bank, "--log-directory", &path("faster")]);
    run(0, &["verify", &bank]);
    let (_, said) = run(
        2,
        &[
            "debit-credit",
            "--directory",
            &path("new"),
            "--log-directory",
            &path("faster"),
        ],
    );
    assert!(said.contains(&path("faster")), "{said}");
}

#[test]
fn a_benchmark_removes_what_it_made_on_other_disks() {
    let directory = tempfile::tempdir().unwrap();
    let report = debit_credit(directory.path(), &["--configuration", "a"]);
    assert_eq!(report["runs"][0]["proof"]["holds"], true);
    let left = std::fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(left, 0);
    let elsewhere = directory.path().join("fast").display().to_string();
    let verb = [
        "debit-credit",
        "--configuration",
        "c",
        "--log-directory",
        &elsewhere,
    ];
    let (_, said) = run(2, &verb);
    assert!(said.contains("directories elsewhere"), "{said}");
}

#[test]
fn a_new_database_has_as_many_stripes_as_directories() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (new, one, other) = (path("new.sdx"), path("one"), path("other"));
    let stripes = ["--stripe-directory", &one, "--stripe-directory", &other];
    let create = [
        "sql",
        &new,
        "--create",
        "-c",
        "create table t (id int primary key)",
    ];
    run(0, &[&create[..], &stripes[..]].concat());
    let (manifest, _) = run(0, &["inspect", &new, "manifest"]);
    assert!(manifest.contains("backup 2 of 2"), "{manifest}");
    run(0, &["sql", &new, "-c", "insert into t values (1)"]);
    run(0, &["verify", &new]);
}

#[test]
fn a_server_and_a_host_open_a_database_of_two_stripes_and_small_segments() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (bank, one, other) = (path("bank.sdx"), path("one"), path("other"));
    let options = sardonyx::Options::new()
        .segment_bytes(8 << 20)
        .group_limits(sardonyx::disk::GroupLimits::for_segments(8 << 20))
        .log_bytes_max(64 << 20)
        .stripe_directories([&one, &other]);
    options.open_tables(&bank).unwrap().close().unwrap();
    let stripes = ["--stripe-directory", &one, "--stripe-directory", &other];
    let place = format!("file:{}", path("store"));
    let of_store = ["--store", &place, "--lease", "10s"];
    let served = |arguments: &[&str], text: &str| {
        let serving = Serving::start_at(Path::new(&bank), arguments);
        let url = format!("postgres://{}/bank", serving.postgres);
        let sql = ["sql", &url, "--format", "csv", "-c", text];
        let until = Instant::now() + PATIENCE;
        // A host begins to serve a moment later.
        let printed = loop {
            let ran = command(&sql).output().unwrap();
            if ran.status.success() {
                break ran.stdout;
            }
            assert!(Instant::now() < until, "{ran:?}");
        };
        serving.end();
        crate::common::text(&printed)
    };
    let count = "SELECT count(*) FROM t";
    served(&stripes, "CREATE TABLE t (a int PRIMARY KEY)");
    served(&[], "INSERT INTO t VALUES (1)");
    served(&of_store, "INSERT INTO t VALUES (2)");
    let with_both = [&of_store[..], &stripes[..]].concat();
    assert_eq!(served(&with_both, count), "count\n2\n");
    run(0, &["verify", &bank]);
}
