//! A served database whose past is deleted from its store. A killed host is restarted, and bases are made meanwhile. A
//! reader that asks for deleted log, or meets a missing entry, gets an error with the entry and a remedy.

use crate::common::{command, ended, json, run};
use crate::machine::Machine;
use crate::serving::Serving;
use sardonyx::hosts::RemoteLog;
use sardonyx_remote::{RemoteOptions, open};
use sardonyx_storage::engine::stored_manifest;
use sardonyx_storage::remote_log::known_hosts::{KnownHost, note_host};
use sardonyx_storage::remote_log::shell::now;
use sardonyx_storage::remote_log::store::{Register, Swapped};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// The bound on a wait for an expected event.
const PATIENCE: Duration = Duration::from_secs(120);

impl Machine {
    fn serve(&self, arguments: &[&str]) -> Serving {
        let store = self.store();
        serve(&self.path("bank.sdx"), &store, arguments)
    }

    /// Follows the log to its end, makes a base and keeps only that, whatever the host that serves needs.
    fn keep_one_base(&self) {
        let (store, copy) = (self.store(), self.text("copy.sdx"));
        let follow = ["store", "follow", &store, &copy, "--once"];
        let make = ["--base-every", "0"];
        let keep = ["--keep-bases", "1", "--keep-for-hosts", "0"];
        run(0, &[&follow[..], &make, &keep].concat());
    }

    fn entry(&self, number: u64) -> PathBuf {
        self.path("store")
            .join("entry")
            .join(format!("{number:020}"))
    }
}

/// A host, once it serves. Its lease is long: a busy machine does not end its term.
fn serve(directory: &Path, store: &str, arguments: &[&str]) -> Serving {
    let arguments = [&["--store", store, "--lease", "10s"], arguments].concat();
    let serving = Serving::start_at(directory, &arguments);
    let url = url(&serving);
    let until = Instant::now() + PATIENCE;
    let asked = || command(&["sql", &url, "-c", "SELECT 1"]).output().unwrap();
    while !asked().status.success() {
        assert!(Instant::now() < until, "it does not serve");
    }
    serving
}

fn url(serving: &Serving) -> String {
    format!("postgres://{}/bank", serving.postgres)
}

/// The result of a statement, by the server.
fn sql(serving: &Serving, text: &str) -> String {
    run(0, &["sql", &url(serving), "--format", "csv", "-c", text]).0
}

/// The rows of table `t`, one a line.
fn rows(serving: &Serving) -> Vec<String> {
    let printed = sql(serving, "SELECT a FROM t ORDER BY a");
    printed.lines().skip(1).map(String::from).collect()
}

fn kill(mut serving: Serving) {
    serving.process.kill().unwrap();
    serving.process.wait().unwrap();
}

#[test]
fn a_served_database_that_is_killed_after_a_trim_is_served_again() {
    let machine = Machine::new();
    let serving = machine.serve(&[]);
    sql(&serving, "CREATE TABLE t (a int PRIMARY KEY)");
    for row in 1..4 {
        sql(&serving, &format!("INSERT INTO t VALUES ({row})"));
        machine.keep_one_base();
    }
    sql(&serving, "INSERT INTO t VALUES (4)");
    kill(serving);
    // Twice, since the first time it is compared from a base on.
    for last in 5..7 {
        let serving = machine.serve(&[]);
        assert_eq!(rows(&serving).len(), last - 1);
        sql(&serving, &format!("INSERT INTO t VALUES ({last})"));
        machine.keep_one_base();
        kill(serving);
    }
    let serving = machine.serve(&[]);
    assert_eq!(rows(&serving), ["1", "2", "3", "4", "5", "6"]);
    serving.end();
    run(0, &["store", "verify", &machine.store()]);
}

#[test]
fn a_server_makes_bases_and_keeps_the_newest() {
    let machine = Machine::new();
    let refused = run(2, &["serve", &machine.text("x.sdx"), "--keep-bases", "2"]);
    assert!(refused.1.contains("--base-every"), "{}", refused.1);
    let refused = run(
        2,
        &["serve", &machine.text("x.sdx"), "--keep-for-hosts", "1h"],
    );
    assert!(refused.1.contains("--keep-bases"), "{}", refused.1);
    let serving = machine.serve(&[
        "--base-every",
        "0",
        "--keep-bases",
        "1",
        "--log-level",
        "info",
    ]);
    sql(&serving, "CREATE TABLE t (a int PRIMARY KEY)");
    sql(&serving, "INSERT INTO t VALUES (1)");
    let last = json(&["store", "status", &machine.store()])["last_entry"].clone();
    // It has all of that, or another one follows.
    loop {
        let line = serving.log.recv_timeout(Duration::from_secs(120)).unwrap();
        assert!(!line.contains("no base can be made"), "{line}");
        let status = json(&["store", "status", &machine.store()]);
        let bases = status["bases"].as_array().unwrap();
        let newest = bases.last().map(|base| base["next_entry"].as_u64());
        if newest.flatten() > last.as_u64() && status["first_entry"].as_u64() == newest.flatten() {
            assert_eq!(bases.len(), 1, "{status}");
            break;
        }
    }
    kill(serving);
    let copy = json(&["store", "clone", &machine.store(), &machine.text("new.sdx")]);
    assert!(copy["base_entry"].as_u64() >= last.as_u64(), "{copy}");
    let (printed, _) = run(0, &["rows", &machine.text("new.sdx"), "t"]);
    assert!(printed.contains('1'), "{printed}");
    let serving = machine.serve(&[]);
    assert_eq!(rows(&serving), ["1"]);
    serving.end();
}

#[test]
fn what_is_no_longer_kept_or_is_missing_is_named_with_what_can_be_done() {
    let machine = Machine::new();
    let serving = machine.serve(&[]);
    let store = machine.store();
    sql(&serving, "CREATE TABLE t (a int PRIMARY KEY)");
    sql(&serving, "INSERT INTO t VALUES (1)");
    machine.keep_one_base();
    let status = json(&["store", "status", &store]);
    let base = &status["bases"][0];
    let time = base["time"].as_str().unwrap();
    for until in [
        ["--at-entry", "1"],
        ["--at", "2020-01-01"],
        ["--at-group", "1"],
    ] {
        let clone = ["store", "clone", &store, &machine.text("old.sdx")];
        let (_, said) = run(2, &[&clone[..], &until].concat());
        let oldest = format!("the oldest moment that it keeps is {time}, after entry");
        assert!(said.contains(&oldest), "{said}");
        let (_, said) = run(
            2,
            &[&["restore", &store, &machine.text("back.sdx")], &until[..]].concat(),
        );
        assert!(said.contains(&oldest), "{said}");
    }
    // The entries before the base are deleted, and none has come.
    assert_eq!(status["entries"], 0);
    assert_eq!(
        status["last_entry"].as_u64().unwrap() + 1,
        base["next_entry"].as_u64().unwrap()
    );
    // The named command takes the same directory.
    let clone = [
        "store",
        "clone",
        &store,
        &machine.text("old.sdx"),
        "--at",
        time,
    ];
    run(0, &clone);
    run(
        0,
        &["restore", &store, &machine.text("back.sdx"), "--at", time],
    );

    // An entry is lost.
    for row in 2..6 {
        sql(&serving, &format!("INSERT INTO t VALUES ({row})"));
    }
    let next = base["next_entry"].as_u64().unwrap();
    let lost = machine.entry(next + 1);
    let bytes = std::fs::read(&lost).unwrap();
    std::fs::remove_file(&lost).unwrap();
    let missing = format!("entry {} of the log is missing", next + 1);
    let follow = [
        "store",
        "follow",
        &store,
        &machine.text("copy.sdx"),
        "--once",
    ];
    for _ in 0..2 {
        let (_, said) = run(1, &follow);
        assert!(said.contains(&missing), "{said}");
    }
    let before = next.to_string();
    let clone = |until: &[&str], name: &str| -> Vec<String> {
        let arguments = [&["store", "clone", &store], until].concat();
        let mut arguments: Vec<String> = arguments.into_iter().map(String::from).collect();
        arguments.push(machine.text(name));
        arguments
    };
    let (_, said) = run(1, &clone(&[], "whole.sdx"));
    assert!(said.contains(&format!("--at-entry {before}")), "{said}");
    // An attempt leaves nothing but the lock, for which another process may wait.
    let left = std::fs::read_dir(machine.path("whole.sdx")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["LOCK"]);
    run(0, &clone(&["--at-entry", &before], "whole.sdx"));
    // The host's own directory has all of it.
    kill(serving);
    let bank = machine.text("bank.sdx");
    let (_, said) = run(1, &["checkpoint", &bank, "--store", &store]);
    assert!(
        said.contains(&missing) && said.contains("sardonyx backup"),
        "{said}"
    );
    run(0, &["changes", &bank]);
    run(0, &["backup", &bank, &machine.text("backup.sdx")]);
    let elsewhere = format!("file:{}", machine.text("elsewhere"));
    let serving = serve(&machine.path("backup.sdx"), &elsewhere, &[]);
    assert_eq!(rows(&serving).len(), 5);
    serving.end();

    // After it is restored, all continue.
    write(&lost, &bytes);
    run(0, &follow);
    let serving = machine.serve(&[]);
    assert_eq!(rows(&serving).len(), 5);
    serving.end();
}

fn write(file: &Path, bytes: &[u8]) {
    std::fs::write(file, bytes).unwrap();
}

#[test]
fn a_follower_that_makes_bases_goes_on_while_the_reports_of_hosts_are_damaged() {
    let machine = Machine::new();
    let (store, bank, copy) = (
        machine.store(),
        machine.text("bank.sdx"),
        machine.text("copy.sdx"),
    );
    let text = "create table t (a int primary key)";
    run(
        0,
        &["sql", &bank, "--create", "-c", text, "--store", &store],
    );
    let log = open(&store, &RemoteOptions::default()).unwrap();
    let damaged = log.swap_register(Register::Hosts, None, b"damaged");
    assert_eq!(damaged.unwrap(), Swapped::Ok);
    let follow = [
        "store",
        "follow",
        &store,
        &copy,
        "--base-every",
        "0",
        "--keep-bases",
        "1",
        "--until-input-ends",
    ];
    let mut child = command(&follow)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let bases = || {
        json(&["store", "status", &store])["bases"]
            .as_array()
            .unwrap()
            .len()
    };
    let until = Instant::now() + PATIENCE;
    while bases() == 0 {
        assert!(Instant::now() < until, "no base is made");
    }
    // It is asked again and again, and ends in order.
    std::thread::sleep(Duration::from_secs(1));
    drop(child.stdin.take());
    let (_, said) = ended(0, &follow, &child.wait_with_output().unwrap());
    let names = |said: &str| said.contains(&store) && said.contains("the register `hosts`");
    let told = said.lines().filter(|line| line.starts_with("sardonyx: "));
    assert!(names(&said) && told.count() == 1, "{said}");
    let trim = ["store", "trim", &store, "--keep-bases", "1"];
    let (_, said) = run(1, &trim);
    assert!(
        names(&said) && !said.contains("cannot be in a store"),
        "{said}"
    );
    // The next report begins it anew, and other hosts may still need log.
    let identity = stored_manifest(&RemoteLog::new(log.clone()))
        .unwrap()
        .unwrap()
        .identity;
    let host = KnownHost {
        name: "one".into(),
        next_entry: 1_000_000,
        seen: now(),
    };
    note_host(&*log, identity, &host).unwrap();
    assert_eq!(json(&trim)["entries_deleted"], 0);
    let all = [&trim[..], &["--keep-for-hosts", "0"]].concat();
    assert!(json(&all)["entries_deleted"].as_u64() > Some(0));
}
