//! `sardonyx sql` as a user calls it: a directory without a server, and a server, give the same answers.

use crate::common::{json, run};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

const TABLE: &str = "create table accounts (id int primary key, owner varchar(20) not null,\n\
    balance numeric(12,2) default 0, open boolean); create index by_owner on accounts (owner);";

const ROWS: &str = "copy accounts from stdin with (format csv);\n\
    1,ada,10.50,t\n\
    2,\"bob; or\",,f\n\
    \\.\n\
    begin; update accounts set balance = 99 where id = 1; rollback;\n\
    select count(*) from accounts";

/// All kinds of statements, which leave no objects.
const DEEDS: &str = "create table t (a int primary key); create sequence q; -- a comment\n\
    create unique index i on t (a); insert into t values (1), (2);\n\
    -- behind a comment\n/* or two */ insert into t values (3);\n\
    prepare p (int) as insert into t values ($1); execute p (4); deallocate p;\n\
    start transaction; savepoint s; delete from t where a = 4; rollback to s; release s; end;\n\
    set extra_float_digits = 1; begin; abort; alter table t add column b int; drop index i;\n\
    update t set b = 1; truncate t; drop table t; drop sequence q; discard all";

/// Rows whose numbers are numbers.
const OBJECTS: &str = "create table o (a int primary key, b boolean); insert into o values (3, true) returning a, b;\n\
    -- behind a comment\nselect a from o; (select 1 as n);\n\
    update o set a = 4 returning a; with x as (select 5 as n) select n from x; delete from o returning a;\n\
    drop table o";

/// Runs statements from standard input; returns the exit code, the output and the messages.
fn piped(arguments: &[&str], text: &str) -> (Option<i32>, String, String) {
    let mut command = Command::new(crate::PROGRAM);
    let command = command.arg("sql").args(arguments);
    let piped = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = piped.spawn().expect("it runs");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(text.as_bytes()).expect("it reads");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

/// A server of a directory, ended in order.
struct Served {
    child: Child,
    url: String,
}

impl Served {
    fn start(directory: &str) -> Served {
        let mut command = Command::new(crate::PROGRAM);
        command.args(["--json", "serve", directory, "--until-input-ends"]);
        command.args([
            "--postgres",
            "127.0.0.1:0",
            "--redis",
            "off",
            "--http",
            "off",
        ]);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = piped.spawn().expect("it runs");
        let mut line = String::new();
        let output = child.stdout.as_mut().expect("a pipe");
        BufReader::new(output)
            .read_line(&mut line)
            .expect("it says where");
        let said: Value = serde_json::from_str(&line).expect("JSON");
        let at = said["postgres"][0].as_str().expect("an address");
        Served {
            child,
            url: format!("postgres://ada@{at}/bank"),
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().expect("it ends");
    }
}

/// The statements of all targets, and their answers.
fn conversation(target: &str) -> Vec<String> {
    let mut said = Vec::new();
    for text in [
        "select * from accounts order by id",
        "\\d\n\\d accounts\n\\d nothing",
        "select id, owner as \"a\nb\" from accounts where id = 1; select\n  nonsense\nfrom accounts; select 1",
        "\\csv\nselect id, balance from accounts order by id;\n\\json\nselect 1 as n, 'x' as t, null as z, true as b",
        "copy accounts to stdout; create table accounts (a int)",
        DEEDS,
        "copy accounts (id)  to\n  stdout;\n/* first */ copy (select 1) to stdout",
        // An error in a transaction is reported as it is, once.
        "begin;\nselect nothing from accounts",
        "copy accounts (id, owner) from stdin (format csv);\n7,x\n8,y\n\\.\n\n\\csv\nselect 1;\n\nselect\n  nonsense",
    ] {
        let (code, printed, complained) = piped(&[target], text);
        said.push(format!("{code:?}\n{printed}\n{complained}"));
    }
    let (code, printed, complained) = piped(&[target, "--json"], OBJECTS);
    said.push(format!("{code:?}\n{printed}\n{complained}"));
    said
}

#[test]
fn a_directory_and_a_server_of_it_say_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bank.sdx");
    let path = path.to_str().unwrap();

    // It is created only with the option.
    let (code, _, complained) = piped(&[path], TABLE);
    assert_eq!(code, Some(2), "{complained}");
    let (code, printed, complained) = piped(&[path, "--create"], TABLE);
    assert_eq!(
        (code, printed.as_str()),
        (Some(0), "CREATE TABLE\nCREATE INDEX\n"),
        "{complained}"
    );
    let (code, printed, complained) = piped(&[path], ROWS);
    assert_eq!(code, Some(0), "{complained}");
    let expected = "COPY 2\nBEGIN\nUPDATE 1\nROLLBACK\n count\n-------\n     2\n(1 row)\n\n";
    assert_eq!(printed, expected);

    let here = conversation(path);
    let rows = " id | owner   | balance | open\n\
                ----+---------+---------+------\n\
                \x20 1 | ada     |   10.50 | t\n\
                \x20 2 | bob; or |         | f\n\
                (2 rows)\n";
    assert!(here[0].contains(rows), "{}", here[0]);
    assert!(here[1].starts_with("Some(2)"), "{}", here[1]);
    assert!(here[1].contains("by_owner") && here[1].contains("not null"));
    assert!(here[1].contains("there is no table \"nothing\""));
    assert!(here[2].starts_with("Some(4)"), "{}", here[2]);
    // The third line of the input: a name contains a line end.
    assert!(here[2].contains("line 3:   nonsense\n          ^"));
    let forms = "id,balance\n1,10.50\n2,\n{\"n\":1,\"t\":\"x\",\"z\":null,\"b\":true}\n";
    assert!(here[3].contains(forms), "{}", here[3]);
    assert!(here[4].contains("1\tada\t10.50\tt\n") && here[4].contains("42P07"));

    let deeds = "CREATE TABLE\nCREATE SEQUENCE\nCREATE INDEX\nINSERT 0 2\nINSERT 0 1\nPREPARE\nINSERT 0 1\nDEALLOCATE\n\
                 START TRANSACTION\nSAVEPOINT\nDELETE 1\nROLLBACK\nRELEASE\nCOMMIT\nSET\nBEGIN\nROLLBACK\nALTER TABLE\n\
                 DROP INDEX\nUPDATE 4\nTRUNCATE TABLE\nDROP TABLE\nDROP SEQUENCE\nDISCARD ALL\n";
    assert_eq!(here[5], format!("Some(0)\n{deeds}\n"));
    assert_eq!(here[6], "Some(0)\n1\n2\n1\n\n");
    assert!(
        here[7].contains("42703") && here[7].contains("line 2: "),
        "{}",
        here[7]
    );
    // The line of the input, with the copied data included.
    assert!(here[8].contains("line 10:   nonsense"), "{}", here[8]);
    let objects = "{\"a\":3,\"b\":true}\n{\"a\":3}\n{\"n\":1}\n{\"a\":4}\n{\"n\":5}\n{\"a\":4}\n";
    assert_eq!(here[9], format!("Some(0)\n{objects}\n"));

    let undo = piped(&[path], "delete from accounts where id > 6");
    assert_eq!(undo.0, Some(0), "{}", undo.2);
    let server = Served::start(path);
    assert_eq!(conversation(&server.url), here);
}

/// A table with all that its description shows, beside one that it refers to and a view.
const DESCRIBED: &str = "create table owners (id int primary key);\n\
    create table \"It's\" (id int primary key, \"of\" int references owners on delete cascade,\n\
    sum numeric(12,2) default 0 constraint sound check (sum >= 0), name varchar(20),\n\
    twice int generated always as (id * 2) stored, n int generated always as identity);\n\
    create view names as select name from \"It's\"; create index by_name on \"It's\" (name) where sum > 1";

#[test]
fn a_description_shows_conditions_and_references_of_both_ends() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bank.sdx");
    let path = path.to_str().unwrap();
    run(0, &["sql", path, "--create", "-c", DESCRIBED]);
    let described = |name: &str| run(0, &["sql", path, "-q", "-c", &format!("\\d {name}")]).0;
    let expected = " column | type                  | nullable | default\n\
                    --------+-----------------------+----------+-------------------------------------\n\
                    \x20id     | integer               | not null |\n\
                    \x20of     | integer               |          |\n\
                    \x20sum    | numeric(12,2)         |          | 0.00\n\
                    \x20name   | character varying(20) |          |\n\
                    \x20twice  | integer               |          | generated always as (id * 2) stored\n\
                    \x20n      | integer               | not null | generated always as identity\n";
    let table = described("\"It's\"");
    assert!(table.starts_with(expected), "{table}");
    let constraints = " constraint   | definition\n\
                       --------------+----------------------------------------------------------\n\
                       \x20sound        | CHECK ((sum >= 0))\n\
                       \x20It's_of_fkey | FOREIGN KEY (of) REFERENCES owners(id) ON DELETE CASCADE\n";
    assert!(table.ends_with(constraints), "{table}");
    assert!(
        table.contains("by_name") && table.contains("WHERE"),
        "{table}"
    );
    let owners = described("owners");
    let referenced = " referenced by | constraint   | definition\n\
                      ---------------+--------------+----------------------------------------------------------\n\
                      \x20\"It's\"        | It's_of_fkey | FOREIGN KEY (of) REFERENCES owners(id) ON DELETE CASCADE\n";
    assert!(owners.ends_with(referenced), "{owners}");
    // A view has columns alone: lists without rows are left out.
    let view = described("names");
    assert_eq!(view.matches("--+--").count(), 3, "{view}");
    // A sequence and an index are no tables.
    for name in ["\"It's_n_seq\"", "by_name", "names_"] {
        let refused = run(2, &["sql", path, "-c", &format!("\\d {name}")]).1;
        assert!(refused.contains("there is no table"), "{refused}");
    }
}

#[test]
fn one_row_is_an_object_and_an_error_ends_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bank.sdx");
    let path = path.to_str().unwrap();
    let create = ["sql", path, "--create", "--json", "-c", TABLE];
    assert_eq!(run(0, &create).0, "");
    let commands = [
        "sql",
        path,
        "--json",
        "-c",
        "insert into accounts values (1, 'ada')",
        "-c",
        "select owner, balance from accounts",
        "-c",
        "select 1 / 0",
        "-c",
        "delete from accounts",
    ];
    let (printed, complained) = run(4, &commands);
    assert_eq!(printed, "{\"owner\":\"ada\",\"balance\":0.00}\n");
    let told: Value = serde_json::from_str(&complained).unwrap();
    assert!(told["error"].as_str().unwrap().contains("22012"), "{told}");
    let one = json(&["sql", path, "-c", "select count(*) as n from accounts"]);
    assert_eq!(one["n"], 1);
    let quiet = run(0, &["sql", path, "-qc", "begin; select 1 as n; commit"]);
    assert_eq!(quiet.0, " n\n---\n 1\n");
}
