//! `sardonyx changes`: of a database that is not open, of one that a server has open, and of hosts of a store.

use crate::common::{command, run};
use crate::hosting::{Cluster, PATIENCE, kill};
use crate::serving::Serving;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn lines(arguments: &[&str]) -> Vec<Value> {
    let (printed, _) = run(0, arguments);
    let lines = printed.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn sql(serving: &Serving, statement: &str) {
    let url = format!("postgres://{}/bank", serving.postgres);
    run(0, &["sql", &url, "-c", statement]);
}

/// The changes of accounts: the kind, the id, and the balance before and after.
fn shown(line: &Value) -> String {
    let row = |name: &str| match &line[name] {
        Value::Null => "none".to_string(),
        row => format!("{}:{}", row["id"], row["balance"]),
    };
    let change = line["change"].as_str().unwrap();
    format!("{change} {} {}", row("before"), row("after"))
}

#[test]
fn changes_are_printed_beside_a_server_after_it_and_along_with_it() {
    let machine = tempfile::tempdir().unwrap();
    let bank = machine.path().join("bank.sdx");
    let make = "create table accounts (id int primary key, balance bigint); create table other (id int primary key)";
    run(0, &["sql", text(&bank), "--create", "-c", make]);
    let (_, said) = run(4, &["changes", text(&bank), "--keep", "nothing"]);
    assert!(said.contains("nothing"), "{said}");
    for table in ["accounts", "other"] {
        let kept = lines(&["changes", text(&bank), "--keep", table]);
        assert_eq!(
            (&kept[0]["kept"], &kept[0]["was_kept"]),
            (&true.into(), &false.into())
        );
    }
    assert!(lines(&["changes", text(&bank)]).is_empty());

    let serving = Serving::start_at(&bank, &[]);
    let follow = [
        "changes",
        text(&bank),
        "--table",
        "accounts",
        "--follow",
        "--until-input-ends",
    ];
    let mut following = command(&follow)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut followed = BufReader::new(following.stdout.take().unwrap()).lines();
    sql(
        &serving,
        "insert into accounts values (1, 100), (2, 0); insert into other values (7)",
    );
    sql(
        &serving,
        "update accounts set balance = balance - 30 where id = 1",
    );
    sql(&serving, "begin; delete from accounts; rollback");
    sql(&serving, "delete from accounts where id = 2");
    let expected = [
        "insert none 1:100",
        "insert none 2:0",
        "update 1:100 1:70",
        "delete 2:0 none",
    ];
    // The last change is printed, too, though no later one is committed.
    let told: Vec<Value> = (0..expected.len())
        .map(|_| serde_json::from_str(&followed.next().unwrap().unwrap()).unwrap())
        .collect();
    assert_eq!(told.iter().map(shown).collect::<Vec<_>>(), expected);
    let beside = lines(&["changes", text(&bank), "--table", "accounts"]);
    assert_eq!(beside, told);
    assert_eq!(lines(&["changes", text(&bank)]).len(), expected.len() + 1);
    assert_eq!(told[0]["transaction"], told[1]["transaction"]);

    // The server ends, and another starts.
    serving.end();
    let from = told[1]["next"].as_str().unwrap();
    let rest = lines(&[
        "changes",
        text(&bank),
        "--table",
        "accounts",
        "--from",
        from,
    ]);
    assert_eq!(rest, told[2..]);
    let serving = Serving::start_at(&bank, &[]);
    sql(
        &serving,
        "alter table accounts add column owner text default 'Ada'",
    );
    sql(&serving, "update accounts set balance = 71");
    let next: Value = serde_json::from_str(&followed.next().unwrap().unwrap()).unwrap();
    assert_eq!(shown(&next), "update 1:70 1:71");
    assert_eq!(next["after"]["owner"], "Ada");
    drop(following.stdin.take());
    assert!(following.wait().unwrap().success());
    sql(&serving, "insert into other values (8)");
    serving.end();
    // After the change of the other table there is none.
    let from = next["next"].as_str().unwrap();
    let quiet = [
        "changes",
        text(&bank),
        "--table",
        "accounts",
        "--from",
        from,
    ];
    assert!(lines(&quiet).is_empty());
    let moved = lines(&[&quiet[..], &["--positions"]].concat());
    assert_eq!((moved.len(), moved[0].as_object().unwrap().len()), (1, 1));
    let to = moved[0]["next"].as_str().unwrap();
    assert_eq!(lines(&["changes", text(&bank), "--from", from]).len(), 1);
    assert!(lines(&["changes", text(&bank), "--from", to]).is_empty());
    let (_, said) = run(2, &["changes", text(&bank), "--from", "yesterday"]);
    assert!(said.contains("group:row"), "{said}");
    run(0, &["verify", text(&bank)]);
}

/// The numbers of the inserted rows of these lines, with their positions.
fn inserted(lines: &[Value]) -> Vec<(i64, String)> {
    let number = |line: &Value| line["after"]["id"].as_i64().unwrap();
    let position = |line: &Value| line["position"].as_str().unwrap().to_string();
    let lines = lines.iter();
    lines.map(|line| (number(line), position(line))).collect()
}

/// The changes in a directory of a host, once that has so many.
fn changes_of_host(directory: &Path, from: &str, count: usize) -> Vec<Value> {
    let until = Instant::now() + PATIENCE;
    loop {
        let read = command(&["changes", text(directory), "--from", from]).output();
        let read = read.unwrap();
        let printed = crate::common::text(&read.stdout);
        if read.status.success() && printed.lines().count() >= count {
            let lines = printed.lines().map(serde_json::from_str);
            return lines.collect::<Result<_, _>>().unwrap();
        }
        assert!(Instant::now() < until, "{read:?}");
    }
}

#[test]
fn i12_changes_are_read_on_each_host_and_continued_on_another_one() {
    let cluster = Cluster::new();
    let [one, two] = ["host-1", "host-2"].map(|host| cluster.directory_of(host));
    let place = cluster.place();
    let make = "create table t (id bigint primary key)";
    let create = ["sql", text(&one), "--create", "--store", &place, "-c", make];
    run(0, &create);
    run(
        0,
        &["changes", text(&one), "--keep", "t", "--store", &place],
    );
    let a = cluster.start("host-1");
    cluster.insert(&[&a], 0..5);
    // Each was acknowledged, so the store has it.
    let read = lines(&["changes", text(&one)]);
    let numbers = |changes: &[(i64, String)]| -> Vec<i64> {
        changes.iter().map(|(number, _)| *number).collect()
    };
    assert_eq!(numbers(&inserted(&read)), (0..5).collect::<Vec<_>>());
    let b = cluster.start("host-2");
    let next = read[1]["next"].as_str().unwrap();
    assert_eq!(changes_of_host(&two, next, 3), read[2..]);
    let follow = ["changes", text(&two), "--follow", "--until-input-ends"];
    let follow = [&follow[..], &["--from", next]].concat();
    let mut following = command(&follow)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let followed = BufReader::new(following.stdout.take().unwrap()).lines();

    kill(a);
    cluster.insert(&[&b], 5..8);
    let all = lines(&["changes", text(&two)]);
    assert_eq!(numbers(&inserted(&all)), (0..8).collect::<Vec<_>>());
    assert_eq!(all[..5], read);
    // One reader was there all the time.
    let told = followed
        .take(6)
        .map(|line| serde_json::from_str(&line.unwrap()));
    assert_eq!(told.collect::<Result<Vec<Value>, _>>().unwrap(), all[2..]);
    drop(following.stdin.take());
    assert!(following.wait().unwrap().success());
    // The host that was killed follows, and has the same.
    let a = cluster.start("host-1");
    let next = read[4]["next"].as_str().unwrap();
    assert_eq!(changes_of_host(&one, next, 3), all[5..]);
    a.end();
    b.end();
}
