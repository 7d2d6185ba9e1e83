//! `sardonyx changes`: of a database that is not open, and of one that a server has open.

use crate::common::{command, run};
use crate::serving::Serving;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

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
