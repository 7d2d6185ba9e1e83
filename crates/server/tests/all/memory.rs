//! Clients that ask for much and do not read it: their memory together has a bound, and other clients continue.

use crate::common::Running;
use sardonyx_server::{Limits, Options};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

const VALUE_BYTES: usize = 1 << 20;

fn options(memory_max: u64) -> Options {
    let here = || vec!["127.0.0.1:0".parse().unwrap()];
    let limits = Limits {
        memory_max: Some(memory_max),
        ..Limits::default()
    };
    Options {
        postgres: here(),
        redis: here(),
        http: Vec::new(),
        limits,
        ..Options::default()
    }
}

/// A server that gathers at most 32 MiB for its clients. Its process may take more than these tests do, however many
/// run in it.
fn start() -> Running {
    let running = Running::start(options(u64::MAX));
    running.database.memory().set_bytes_max(32 << 20);
    running
}

fn redis(running: &Running) -> TcpStream {
    let stream = TcpStream::connect(running.address_of(1)).unwrap();
    let limit = Duration::from_secs(60);
    stream.set_read_timeout(Some(limit)).unwrap();
    stream
}

/// Sends commands, and reads so many bytes of answers.
fn ask(stream: &mut TcpStream, commands: &[u8], bytes: usize) -> Vec<u8> {
    stream.write_all(commands).unwrap();
    let mut answer = vec![0; bytes];
    stream.read_exact(&mut answer).unwrap();
    answer
}

fn set_large(running: &Running) -> Vec<u8> {
    let value = vec![b'x'; VALUE_BYTES];
    let mut command = format!("*3\r\n$3\r\nSET\r\n$5\r\nlarge\r\n${VALUE_BYTES}\r\n").into_bytes();
    command.extend_from_slice(&value);
    command.extend_from_slice(b"\r\n");
    assert_eq!(ask(&mut redis(running), &command, 5), b"+OK\r\n");
    let mut answer = format!("${VALUE_BYTES}\r\n").into_bytes();
    answer.extend_from_slice(&value);
    answer.extend_from_slice(b"\r\n");
    answer
}

#[test]
fn answers_that_are_not_read_have_a_bound_and_others_go_on() {
    let running = start();
    let answer = set_large(&running);
    let budget = running.database.memory().clone();
    // The answers to one client exceed the limit: they come in parts, whole and in order.
    let mut reader = redis(&running);
    let commands = b"GET large\r\nPING\r\n".repeat(100);
    let expected = [&answer[..], b"+PONG\r\n"].concat();
    reader.write_all(&commands).unwrap();
    for number in 0..100 {
        let mut part = vec![0; expected.len()];
        reader.read_exact(&mut part).unwrap();
        assert!(part == expected, "answer {number}");
    }
    // The same, ended by the client itself.
    let quits = [&b"GET large\r\n".repeat(40)[..], b"QUIT\r\n"].concat();
    reader.write_all(&quits).unwrap();
    let mut rest = Vec::new();
    reader.read_to_end(&mut rest).unwrap();
    assert_eq!(rest.len(), 40 * answer.len() + 5);
    // Many clients ask, and do not read.
    let rude: Vec<_> = (0..40)
        .map(|_| {
            let mut stream = redis(&running);
            stream.write_all(&b"GET large\r\n".repeat(200)).unwrap();
            stream
        })
        .collect();
    while budget.taken() < 24 << 20 {
        std::thread::yield_now();
    }
    let mut other = redis(&running);
    for _ in 0..100 {
        assert_eq!(ask(&mut other, b"SET small 1\r\n", 5), b"+OK\r\n");
        assert_eq!(ask(&mut other, b"GET small\r\n", 7), b"$1\r\n1\r\n");
        assert!(budget.taken() <= 32 << 20);
    }
    drop(rude);
    while budget.taken() > 0 {
        std::thread::yield_now();
    }
    assert!(ask(&mut other, b"GET large\r\n", answer.len()) == answer);
}

#[test]
fn rows_that_do_not_fit_are_refused_and_counted_no_longer_than_they_are_there() {
    let running = start();
    let mut client = running.client();
    let text = "create table t (id int primary key, v text)";
    client.batch_execute(text).unwrap();
    let insert = "insert into t select i, repeat('x', 1000) from generate_series($1::int, $1 + 999) as s (i)";
    for first in (0..60_000).step_by(1000) {
        client.execute(insert, &[&first]).unwrap();
    }
    let sorted = "select v from t order by v, id";
    let refused = client.query(sorted, &[]).unwrap_err();
    assert_eq!(refused.code().unwrap().code(), "53200", "{refused}");
    // Rows that are read in portions fit, however many they are.
    let rows = client.query("select v from t", &[]).unwrap();
    assert_eq!(rows.len(), 60_000);
    let few = "select v from t where id < 100 order by v, id";
    assert_eq!(client.query(few, &[]).unwrap().len(), 100);
    drop(client);
    while running.database.memory().taken() > 0 {
        std::thread::yield_now();
    }
}

#[test]
fn a_process_short_of_memory_reads_and_deletes_and_stores_nothing() {
    let mut running = start();
    let text = "create table t (id int primary key); insert into t values (1), (2)";
    running.client().batch_execute(text).unwrap();
    assert_eq!(ask(&mut redis(&running), b"SET one 1\r\n", 5), b"+OK\r\n");
    running.server.take().unwrap().stop();
    running.tables.close().unwrap();
    let running = Running::start_in(running.directory, options(1));
    // The server checks at some later moment.
    while running.database.memory().check().is_ok() {
        std::thread::yield_now();
    }
    let (mut client, mut keys) = (running.client(), redis(&running));
    for text in [
        "insert into t values (3)",
        "update t set id = 5 where id = 1",
        "create table u (id int)",
        "create index on t (id)",
    ] {
        let refused = client.batch_execute(text).unwrap_err();
        assert_eq!(refused.code().unwrap().code(), "53200", "{text}: {refused}");
    }
    let refused = "-OOM the process takes nearly as much memory as it may\r\n";
    for command in [&b"SET two 2\r\n"[..], b"MULTI\r\nSET two 2\r\nEXEC\r\n"] {
        let before = if command[0] == b'M' {
            "+OK\r\n+QUEUED\r\n"
        } else {
            ""
        };
        let said = ask(&mut keys, command, before.len() + refused.len());
        assert_eq!(
            String::from_utf8(said).unwrap(),
            format!("{before}{refused}")
        );
    }
    client.batch_execute("delete from t where id = 1").unwrap();
    assert_eq!(client.query("select id from t", &[]).unwrap().len(), 1);
    assert_eq!(ask(&mut keys, b"GET one\r\n", 7), b"$1\r\n1\r\n");
    assert_eq!(ask(&mut keys, b"DEL one\r\n", 4), b":1\r\n");
    client.batch_execute("drop table t").unwrap();
}
