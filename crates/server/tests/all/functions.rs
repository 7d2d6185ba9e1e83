//! `FCALL` of SQL's procedures: created over PostgreSQL's protocol and called over Redis', both over sockets.

use crate::common::Running;
use sardonyx_resp::{Keyspace, Reply};
use sardonyx_server::metrics::Protocol;
use sardonyx_server::scram::Verifier;
use sardonyx_server::{Endpoint, Options, Right, User};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

fn both() -> Options {
    Options {
        postgres: vec!["127.0.0.1:0".parse().unwrap()],
        redis: vec!["127.0.0.1:0".parse().unwrap()],
        http: Vec::new(),
        ..Options::default()
    }
}

/// A Redis client that returns answers as they are sent, in one line without line ends.
struct Client(BufReader<TcpStream>);

impl Client {
    fn of(running: &Running) -> Client {
        let addresses = running.server.as_ref().unwrap().addresses();
        let redis = addresses.iter().find(|(of, _)| *of == Protocol::Redis);
        let address: SocketAddr = match redis.unwrap().1 {
            Endpoint::Tcp(address) => address,
            ref other => panic!("{other} is no address of TCP"),
        };
        let stream = TcpStream::connect(address).unwrap();
        let limit = Some(Duration::from_secs(60));
        stream.set_read_timeout(limit).unwrap();
        Client(BufReader::new(stream))
    }

    fn ask(&mut self, words: &[&str]) -> String {
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        self.ask_bytes(&words)
    }

    fn ask_bytes(&mut self, words: &[&[u8]]) -> String {
        let mut sent = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            sent.extend(format!("${}\r\n", word.len()).into_bytes());
            sent.extend_from_slice(word);
            sent.extend(b"\r\n");
        }
        self.0.get_mut().write_all(&sent).unwrap();
        self.answer()
    }

    fn answer(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        let line = line.trim_end();
        let (kind, rest) = line.split_at(1);
        let mut many = |count: usize| -> String {
            let items: Vec<String> = (0..count).map(|_| self.answer()).collect();
            format!("{kind}[{}]", items.join(" "))
        };
        match kind {
            "$" if rest != "-1" => {
                let mut bytes = vec![0; rest.parse::<usize>().unwrap() + 2];
                self.0.read_exact(&mut bytes).unwrap();
                bytes.truncate(bytes.len() - 2);
                format!("'{}'", bytes.escape_ascii())
            }
            "*" | "~" if rest != "-1" => many(rest.parse().unwrap()),
            "%" => many(2 * rest.parse::<usize>().unwrap()),
            _ => line.to_string(),
        }
    }
}

const BANK: [&str; 2] = [
    "
    create table accounts (id int primary key, balance bigint not null check (balance >= 0), name text);
    create table history (id serial primary key, account int, delta bigint);
    insert into accounts values (1, 100, 'Ada'), (2, 0, null);
",
    "create procedure debit_credit(account int, amount bigint) language sql as $$
        insert into history (account, delta) values (account, amount);
        update accounts set balance = balance + amount where id = account;
        select balance from accounts where id = account
    $$",
];

fn execute(sql: &mut postgres::Client, texts: &[&str]) {
    texts
        .iter()
        .for_each(|text| sql.batch_execute(text).unwrap());
}

fn bank(options: Options) -> Running {
    let running = Running::start(options);
    execute(&mut running.client(), &BANK);
    running
}

#[test]
fn a_procedure_is_a_function_with_texts_as_parameters() {
    let running = bank(both());
    let (mut sql, mut redis) = (running.client(), Client::of(&running));
    // Keys and arguments are its parameters, wherever one ends and the other begins.
    assert_eq!(redis.ask(&["FCALL", "debit_credit", "1", "1", "5"]), ":105");
    assert_eq!(
        redis.ask(&["FCALL", "debit_credit", "0", "1", " -6"]),
        ":99"
    );
    assert_eq!(redis.ask(&["FCALL", "debit_credit", "2", "2", "7"]), ":7");
    let told = sql.query_one("select sum(delta)::bigint, count(*) from history", &[]);
    let told = told.unwrap();
    assert_eq!((told.get(0), told.get(1)), (6_i64, 3_i64));
    // A procedure that reads keys, too: it is in the keys' transactions.
    redis.ask(&["SET", "greeting", "hello"]);
    sql.batch_execute(
        "create procedure read_key(k bytea) language sql as
         $$ select value from pg_redis.kv where key = k $$",
    )
    .unwrap();
    assert_eq!(
        redis.ask(&["FCALL_RO", "read_key", "1", "\\x6772656574696e67"]),
        "'hello'"
    );
}

#[test]
fn what_the_last_statement_gives_is_the_answer() {
    let running = bank(both());
    let (mut sql, mut redis) = (running.client(), Client::of(&running));
    let cases = [
        ("select 1 where false", "$-1", "_"),
        ("select null::int", "$-1", "_"),
        ("select 9000000000000", ":9000000000000", ":9000000000000"),
        ("select 'a text'", "'a text'", "'a text'"),
        ("select true", ":1", "#t"),
        ("select 1.25::float8", "'1.25'", ",1.25"),
        ("select 0.1::real", "'0.1'", ",0.1"),
        ("select 12.50::numeric", "'12.50'", "'12.50'"),
        ("select '\\x00ff'::bytea", "'\\x00\\xff'", "'\\x00\\xff'"),
        ("select date '2026-02-03'", "'2026-02-03'", "'2026-02-03'"),
        (
            "select timestamp '2026-02-03 04:05:06.5'",
            "'2026-02-03 04:05:06.5'",
            "'2026-02-03 04:05:06.5'",
        ),
        ("select 1, null", "*[*[:1 $-1]]", "*[*[:1 _]]"),
        (
            "select id, name from accounts order by id",
            "*[*[:1 'Ada'] *[:2 $-1]]",
            "*[*[:1 'Ada'] *[:2 _]]",
        ),
        (
            "select id from accounts order by id",
            "*[*[:1] *[:2]]",
            "*[*[:1] *[:2]]",
        ),
        ("update accounts set balance = balance", ":2", ":2"),
        (
            "update accounts set balance = 3 where id = 2 returning balance",
            ":3",
            ":3",
        ),
        ("select current_user", "'default'", "'default'"),
        ("select 'int4'::regtype", "'integer'", "'integer'"),
        ("select 'accounts'::regclass", "'accounts'", "'accounts'"),
        ("", "+OK", "+OK"),
    ];
    let mut new = Client::of(&running);
    assert!(new.ask(&["HELLO", "3"]).starts_with("%["));
    for (body, old_answer, new_answer) in cases {
        let text = format!("create or replace procedure p() language sql as $body$ {body} $body$");
        sql.batch_execute(&text).unwrap();
        assert_eq!(redis.ask(&["FCALL", "p", "0"]), old_answer, "{body}");
        assert_eq!(new.ask(&["FCALL", "p", "0"]), new_answer, "{body}");
    }
}

#[test]
fn an_error_is_told_with_its_code_and_undoes_all() {
    let running = bank(both());
    let (mut sql, mut redis) = (running.client(), Client::of(&running));
    assert_eq!(
        redis.ask(&["FCALL", "debit_credit", "1", "one", "5"]),
        "-ERR invalid input syntax for type integer: \"one\" (SQLSTATE 22P02)"
    );
    assert!(
        redis
            .ask(&["FCALL", "debit_credit", "1", "99999999999", "5"])
            .ends_with("(SQLSTATE 22003)")
    );
    assert_eq!(
        redis.ask(&["FCALL", "debit_credit", "1", "1"]),
        "-ERR the procedure has 2 parameters, and 1 arguments are given (SQLSTATE 42883)"
    );
    assert!(
        redis
            .ask_bytes(&[b"FCALL", b"debit_credit", b"1", b"\xff", b"1"])
            .ends_with("(SQLSTATE 22021)")
    );
    assert_eq!(
        redis.ask(&["FCALL", "nosuch", "x"]),
        "-ERR Function not found"
    );
    assert_eq!(
        redis.ask(&["FCALL", "debit_credit", "x"]),
        "-ERR Bad number of keys provided"
    );
    assert_eq!(
        redis.ask(&["FCALL", "nosuch", "0"]),
        "-ERR Function not found"
    );
    // Its second statement fails: the first is undone.
    let refused = redis.ask(&["FCALL", "debit_credit", "1", "1", "-101"]);
    assert!(refused.ends_with("(SQLSTATE 23514)"), "{refused}");
    let mut count = || -> i64 {
        let row = sql.query_one("select count(*) from history", &[]).unwrap();
        row.get(0)
    };
    assert_eq!(count(), 0);
    // In a transaction, with the earlier changes of commands and procedures.
    redis.ask(&["MULTI"]);
    redis.ask(&["SET", "a", "1"]);
    redis.ask(&["FCALL", "debit_credit", "1", "1", "1"]);
    redis.ask(&["FCALL", "debit_credit", "1", "1", "-500"]);
    let refused = redis.ask(&["EXEC"]);
    assert!(
        refused.starts_with("-EXECABORT Transaction discarded: ERR "),
        "{refused}"
    );
    assert!(refused.contains("SQLSTATE 23514"), "{refused}");
    assert_eq!(redis.ask(&["EXISTS", "a"]), ":0");
    assert_eq!(count(), 0);
    // One that succeeds, next to an unknown function, as in Redis.
    redis.ask(&["MULTI"]);
    redis.ask(&["SET", "a", "1"]);
    redis.ask(&["FCALL", "debit_credit", "1", "1", "1"]);
    redis.ask(&["FCALL", "nosuch", "0"]);
    redis.ask(&["FCALL", "debit_credit", "1", "1", "2"]);
    assert_eq!(
        redis.ask(&["EXEC"]),
        "*[+OK :101 -ERR Function not found :103]"
    );
    assert_eq!(count(), 2);
}

#[test]
fn only_what_changes_nothing_is_called_to_read() {
    let running = bank(both());
    let (mut sql, mut redis) = (running.client(), Client::of(&running));
    execute(
        &mut sql,
        &[
            "create procedure balance_of(account int) language sql as
             $$ select balance from accounts where id = account $$",
            "create procedure draws() language sql as $$ select nextval('history_id_seq') $$",
        ],
    );
    assert_eq!(redis.ask(&["FCALL_RO", "balance_of", "1", "1"]), ":100");
    for writes in ["debit_credit", "draws"] {
        assert_eq!(
            redis.ask(&["FCALL_RO", writes, "0"]),
            "-ERR Can not execute a script with write flag using *_ro command."
        );
    }
    assert_eq!(redis.ask(&["FCALL", "draws", "0"]), ":1");
}

#[test]
fn it_is_the_procedure_that_is_there_now() {
    let running = bank(both());
    let (mut sql, mut redis) = (running.client(), Client::of(&running));
    let mut create = |body: &str| {
        let text = format!("create or replace procedure p(x int) language sql as $$ {body} $$");
        sql.batch_execute(&text).unwrap();
    };
    create("select x + 1");
    assert_eq!(redis.ask(&["FCALL", "p", "0", "1"]), ":2");
    create("select x + 2");
    assert_eq!(redis.ask(&["FCALL", "p", "0", "1"]), ":3");
    let listed = redis.ask(&["FUNCTION", "LIST"]);
    let one = |name: &str| {
        format!(
            "*['library_name' '{name}' 'engine' 'SQL' 'functions' *[*['name' '{name}' 'description' $-1 'flags' *[]]]]"
        )
    };
    assert_eq!(listed, format!("*[{} {}]", one("debit_credit"), one("p")));
    // A table that it reads is replaced by another one.
    create("select balance from accounts where id = x");
    assert_eq!(redis.ask(&["FCALL", "p", "0", "1"]), ":100");
    sql.batch_execute(
        "alter table accounts rename to customers; create table accounts (id int, balance int)",
    )
    .unwrap();
    assert_eq!(redis.ask(&["FCALL", "p", "0", "1"]), "$-1");
    // After the rollback the procedure still exists.
    sql.batch_execute("begin; drop procedure p; rollback")
        .unwrap();
    assert_eq!(redis.ask(&["FCALL", "p", "0", "1"]), "$-1");
    sql.batch_execute("drop procedure p").unwrap();
    assert_eq!(
        redis.ask(&["FCALL", "p", "0", "1"]),
        "-ERR Function not found"
    );
}

#[test]
fn who_may_not_call_may_not_call_by_either_protocol() {
    let mut options = both();
    for (name, tables, keys) in [
        ("ada", Right::Own, Right::Write),
        ("eve", Right::Read, Right::Write),
        ("bob", Right::Write, Right::Read),
    ] {
        let user = User {
            verifier: Verifier::of_password(name).unwrap(),
            tables,
            table: BTreeMap::new(),
            keys,
        };
        options.users.insert(name.into(), user);
    }
    let running = Running::start(options);
    let mut sql = running.try_client("ada", "ada").unwrap();
    execute(&mut sql, &BANK);
    sql.batch_execute("create procedure who() language sql as $$ select current_user $$")
        .unwrap();
    let as_user = |name: &str| {
        let mut client = Client::of(&running);
        assert_eq!(client.ask(&["AUTH", name, name]), "+OK");
        client
    };
    assert_eq!(as_user("ada").ask(&["FCALL", "who", "0"]), "'ada'");
    assert_eq!(
        as_user("eve").ask(&["FCALL", "who", "0"]),
        "-NOPERM permission denied: the user \"eve\" may not call procedures (SQLSTATE 42501)"
    );
    let mut eve = running.try_client("eve", "eve").unwrap();
    let refused = eve.batch_execute("call who()").unwrap_err();
    assert_eq!(refused.code().unwrap().code(), "42501");
    // With the right to read keys only.
    let mut bob = as_user("bob");
    assert!(bob.ask(&["FCALL", "who", "0"]).starts_with("-NOPERM"));
    assert_eq!(bob.ask(&["FCALL_RO", "who", "0"]), "'bob'");
    // A queued call runs with the rights of the user who queued it.
    let mut client = as_user("ada");
    client.ask(&["MULTI"]);
    client.ask(&["FCALL", "who", "0"]);
    client.ask(&["AUTH", "bob", "bob"]);
    assert_eq!(client.ask(&["EXEC"]), "*['ada' +OK]");
    assert_eq!(client.ask(&["FCALL_RO", "who", "0"]), "'bob'");
}

#[test]
fn a_number_of_a_sequence_does_not_come_again_after_an_exec_that_was_undone() {
    let running = bank(both());
    let mut redis = Client::of(&running);
    redis.ask(&["MULTI"]);
    redis.ask(&["FCALL", "debit_credit", "1", "1", "1"]);
    redis.ask(&["FCALL", "debit_credit", "1", "1", "-500"]);
    assert!(redis.ask(&["EXEC"]).starts_with("-EXECABORT"));
    assert_eq!(redis.ask(&["FCALL", "debit_credit", "1", "1", "1"]), ":101");
    let running = again(running);
    let mut redis = Client::of(&running);
    for balance in 102..106 {
        assert_eq!(
            redis.ask(&["FCALL", "debit_credit", "1", "1", "1"]),
            format!(":{balance}")
        );
    }
}

/// Stops the server, and starts it again on the same directory.
fn again(mut running: Running) -> Running {
    running.server.take().unwrap().stop();
    running.tables.close().unwrap();
    let directory = std::mem::replace(&mut running.directory, tempfile::tempdir().unwrap());
    drop(running);
    Running::start_in(directory, both())
}

#[test]
fn functions_of_the_program_go_before_procedures() {
    let running = bank(both());
    // The server's keyspace, opened again.
    let keyspace = Keyspace::open(running.tables.clone()).unwrap();
    keyspace.register_function("debit_credit", |_, keys, arguments| {
        Ok(Reply::Int((keys.len() * 10 + arguments.len()) as i64))
    });
    drop(keyspace);
    let mut redis = Client::of(&running);
    assert_eq!(
        redis.ask(&["FCALL", "debit_credit", "1", "k", "a", "b"]),
        ":12"
    );
    assert_eq!(redis.ask(&["FUNCTION", "LIST"]).matches("SQL").count(), 0);
}
