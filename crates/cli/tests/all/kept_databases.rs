//! A kept database of version 5 of the files and version 3 of the schemas, with rows of SQL and of Redis: every later
//! version of the command reads it.

use crate::common::{json, run, text};
use crate::kept::unpack;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;

/// As it was created: by `sardonyx sql`, a server with Redis commands, and `sardonyx compact`.
fn kept(directory: &Path) -> String {
    let path = directory.join("kept.sdx");
    unpack(
        include_bytes!("../../../sardonyx/tests/all/data/version-5"),
        &path,
    );
    path.to_str().unwrap().to_string()
}

fn rows(path: &str, statement: &str) -> Vec<Value> {
    let (printed, _) = run(0, &["sql", path, "--json", "-c", statement]);
    let lines = printed.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().unwrap()
}

#[test]
fn rows_views_sequences_and_constraints_of_a_kept_database_are_as_they_were() {
    let directory = tempfile::tempdir().unwrap();
    let path = &kept(directory.path());
    assert_eq!(json(&["verify", path])["sound"], true);
    let found = rows(path, "select * from accounts order by id");
    let ada = json!({
        "id": 7, "owner": "ada", "balance": 10.50, "opened": "2026-11-20 10:00:00+00", "tags": "{a,\"b c\"}",
        "more": "{\"x\": [1, null]}", "kind of": "00000000-0000-0000-0000-000000000001",
    });
    let bob = json!({
        "id": 8, "owner": "bob", "balance": 0.00, "opened": null, "tags": null, "more": null, "kind of": null,
    });
    assert_eq!(found, [ada, bob]);
    let found = rows(path, "select * from lines order by account, number");
    assert_eq!(
        found[0],
        json!({ "account": 7, "number": 1, "day": "2026-11-21", "amount": 1.5, "mark": "\\x0aff" })
    );
    assert_eq!(
        found[1],
        json!({ "account": 7, "number": 2, "day": null, "amount": null, "mark": null })
    );
    assert_eq!(
        found[2],
        json!({ "account": 8, "number": 1, "day": "1999-12-31", "amount": -0.25, "mark": "\\x" })
    );
    assert_eq!(
        rows(path, "select * from rich"),
        [json!({ "id": 7, "owner": "ada" })]
    );
    // The schema has its effect: the sequence continues, conditions and references hold.
    let added = rows(
        path,
        "insert into accounts (owner) values ('cyd') returning id > 8 as later, balance",
    );
    assert_eq!(added, [json!({ "later": true, "balance": 0.00 })]);
    for (wrong, code) in [
        ("insert into accounts (owner) values ('')", "23514"),
        ("insert into lines values (99, 1)", "23503"),
        (
            "insert into accounts (owner, \"kind of\") values ('x', '00000000-0000-0000-0000-000000000001')",
            "23505",
        ),
        ("insert into accounts (owner) values (null)", "23502"),
    ] {
        let (_, said) = run(4, &["sql", path, "-c", wrong]);
        assert!(said.contains(code), "{wrong}: {said}");
    }
    rows(path, "delete from accounts where id = 7");
    assert_eq!(
        rows(path, "select count(*) as n from lines"),
        [json!({ "n": 1 })]
    );
    assert_eq!(json(&["verify", path])["sound"], true);
}

#[test]
fn redis_keys_of_a_kept_database_are_as_they_were() {
    let directory = tempfile::tempdir().unwrap();
    let path = kept(directory.path());
    let mut command = crate::common::command(&[
        "--json",
        "serve",
        &path,
        "--postgres",
        "off",
        "--http",
        "off",
    ]);
    command.args(["--redis", "127.0.0.1:0", "--until-input-ends"]);
    let mut server = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    let said: Value = serde_json::from_str(&line).unwrap();
    let mut client = TcpStream::connect(said["redis"][0].as_str().unwrap()).unwrap();
    for (asked, expected) in [
        ("GET text", "$5\r\nhello\r\n"),
        ("INCR number", ":43\r\n"),
        ("HGET hash b", "$3\r\ntwo\r\n"),
        (
            "LRANGE list 0 -1",
            "*3\r\n$1\r\nx\r\n$1\r\ny\r\n$1\r\nz\r\n",
        ),
        ("SISMEMBER set three", ":1\r\n"),
        ("SCARD set", ":3\r\n"),
        ("ZSCORE sorted one", "$3\r\n1.5\r\n"),
        ("ZRANGE sorted 0 0", "*1\r\n$3\r\ntwo\r\n"),
        ("TYPE sorted", "+zset\r\n"),
        ("PERSIST gone", ":1\r\n"),
        ("GET gone", "$4\r\nsoon\r\n"),
        ("GET nothing", "$-1\r\n"),
    ] {
        client.write_all(format!("{asked}\r\n").as_bytes()).unwrap();
        let mut answer = vec![0; expected.len()];
        client.read_exact(&mut answer).unwrap();
        assert_eq!(text(&answer), expected, "{asked}");
    }
    drop(server.stdin.take());
    assert!(server.wait().unwrap().success());
}
