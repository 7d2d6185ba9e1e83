//! Redis' protocol over sockets: commands in pieces and together, passwords, the end of the server.

use crate::common::Running;
use sardonyx_server::scram::Verifier;
use sardonyx_server::{Options, Right, User};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

fn redis_alone() -> Options {
    Options {
        postgres: Vec::new(),
        redis: vec!["127.0.0.1:0".parse().unwrap()],
        http: Vec::new(),
        ..Options::default()
    }
}

struct Client(BufReader<TcpStream>);

impl Client {
    fn of(running: &Running) -> Client {
        Client(BufReader::new(running.socket().0))
    }

    fn send(&mut self, text: &str) {
        self.0.get_mut().write_all(text.as_bytes()).unwrap();
    }

    /// The next line of an answer.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().to_string()
    }

    fn ask(&mut self, command: &str) -> String {
        self.send(&format!("{command}\r\n"));
        self.line()
    }
}

#[test]
fn commands_are_answered_in_order_however_they_arrive() {
    let mut running = Running::start(redis_alone());
    let mut client = Client::of(&running);
    assert_eq!(client.ask("SET a 1"), "+OK");
    client.send("INCR a\r\nINCR a\r\n*2\r\n$3\r\nGET\r\n");
    assert_eq!((client.line(), client.line()), (":2".into(), ":3".into()));
    client.send("$1\r\na\r\n");
    assert_eq!((client.line(), client.line()), ("$1".into(), "3".into()));
    assert_eq!(
        client.ask("LPUSH a x"),
        "-WRONGTYPE Operation against a key holding the wrong kind of value"
    );
    client.send("*1\r\n$99999999999\r\n");
    assert!(client.line().starts_with("-ERR Protocol error"));
    let mut rest = Vec::new();
    client.0.read_to_end(&mut rest).unwrap();
    let mut idle = Client::of(&running);
    assert_eq!(idle.ask("PING"), "+PONG");
    running.server.take().unwrap().stop();
    assert_eq!(idle.line(), "-ERR the server is stopped");
    running.tables.close().unwrap();
    // It is there again.
    let directory = std::mem::replace(&mut running.directory, tempfile::tempdir().unwrap());
    drop(running);
    let running = Running::start_in(directory, redis_alone());
    assert_eq!(Client::of(&running).ask("INCR a"), ":4");
}

#[test]
fn a_password_is_asked_for_and_rights_hold() {
    let mut options = redis_alone();
    for (name, right) in [
        ("ada", Right::Write),
        ("eve", Right::Read),
        ("bob", Right::None),
    ] {
        let user = User {
            verifier: Verifier::of_password(name).unwrap(),
            tables: Right::Own,
            table: BTreeMap::new(),
            keys: right,
        };
        options.users.insert(name.into(), user);
    }
    let running = Running::start(options);
    let mut client = Client::of(&running);
    assert_eq!(client.ask("SET a 1"), "-NOAUTH Authentication required.");
    for wrong in ["AUTH ada eve", "AUTH bob x", "AUTH ada", "AUTH nobody x"] {
        assert!(client.ask(wrong).starts_with("-WRONGPASS"), "{wrong}");
    }
    assert_eq!(client.ask("AUTH ada ada"), "+OK");
    assert_eq!(client.ask("SET a 1"), "+OK");
    let mut reader = Client::of(&running);
    assert_eq!(reader.ask("AUTH eve eve"), "+OK");
    assert_eq!(reader.ask("EXISTS a"), ":1");
    assert!(reader.ask("SET a 2").starts_with("-NOPERM"));
    // A user without rights on keys is authenticated, but may not use keys.
    let mut other = Client::of(&running);
    assert_eq!(other.ask("AUTH bob bob"), "+OK");
    assert_eq!(other.ask("PING"), "+PONG");
    for refused in [
        "GET a",
        "SET a 2",
        "EXISTS a",
        "DBSIZE",
        "SCAN 0",
        "KEYS *",
        "WATCH a",
        "INFO",
        "FLUSHALL",
        "CONFIG GET maxmemory",
        "FCALL f 0",
        "FUNCTION LIST",
        "SAVE",
        "CLIENT UNBLOCK 1",
    ] {
        let answer = other.ask(refused);
        assert!(answer.starts_with("-NOPERM"), "{refused}: {answer}");
    }
    assert_eq!(other.ask("MULTI"), "+OK");
    assert!(other.ask("GET a").starts_with("-NOPERM"));
    assert!(other.ask("EXEC").starts_with("-EXECABORT"));
}

#[test]
fn a_client_that_listens_is_told_unasked_and_its_rights_hold() {
    let mut options = redis_alone();
    for (name, right) in [
        ("ada", Right::Write),
        ("eve", Right::Read),
        ("bob", Right::None),
    ] {
        let user = User {
            verifier: Verifier::of_password(name).unwrap(),
            tables: Right::Own,
            table: BTreeMap::new(),
            keys: right,
        };
        options.users.insert(name.into(), user);
    }
    let running = Running::start(options);
    let mut listener = Client::of(&running);
    assert_eq!(listener.ask("AUTH eve eve"), "+OK");
    assert_eq!(listener.ask("SUBSCRIBE news"), "*3");
    let lines = |client: &mut Client, count| (0..count).map(|_| client.line()).collect::<Vec<_>>();
    assert_eq!(
        lines(&mut listener, 5),
        ["$9", "subscribe", "$4", "news", ":1"]
    );
    let mut sender = Client::of(&running);
    assert_eq!(sender.ask("AUTH ada ada"), "+OK");
    for number in 0..3 {
        assert_eq!(sender.ask(&format!("PUBLISH news n{number}")), ":1");
        let told = lines(&mut listener, 7);
        assert_eq!(told[..5], ["*3", "$7", "message", "$4", "news"]);
        assert_eq!(told[6], format!("n{number}"));
    }
    let mut other = Client::of(&running);
    assert_eq!(other.ask("AUTH bob bob"), "+OK");
    for refused in [
        "PUBLISH news x",
        "SUBSCRIBE news",
        "PUNSUBSCRIBE",
        "PUBSUB NUMPAT",
    ] {
        let answer = other.ask(refused);
        assert!(answer.starts_with("-NOPERM"), "{refused}: {answer}");
    }
}

#[test]
fn a_client_that_waits_is_answered_when_it_is_served_or_its_time_is_over() {
    let running = Running::start(redis_alone());
    let (mut one, mut other) = (Client::of(&running), Client::of(&running));
    assert_eq!(one.ask("BLPOP a 0.01"), "*-1");
    // Commands behind a waiting command are answered behind it.
    one.send("BLPOP a 0\r\nPING\r\nBLPOP b 0.01\r\n");
    // It waits already, or finds the element.
    assert_eq!(other.ask("RPUSH a x"), ":1");
    let lines: Vec<_> = (0..7).map(|_| one.line()).collect();
    assert_eq!(lines, ["*2", "$1", "a", "$1", "x", "+PONG", "*-1"]);
    assert_eq!(other.ask("LLEN a"), ":0");
}

#[test]
fn a_client_that_does_not_take_its_messages_is_ended_and_stops_nobody_else() {
    let running = Running::start(redis_alone());
    let (mut slow, mut quick) = (Client::of(&running), Client::of(&running));
    for client in [&mut slow, &mut quick] {
        assert_eq!(client.ask("SUBSCRIBE a"), "*3");
        (0..5).for_each(|_| drop(client.line()));
    }
    let mut sender = Client::of(&running);
    let payload = "x".repeat(60_000);
    // More than waits in the server and in both sockets.
    let mut listeners = String::from(":2");
    let mut sent = 0;
    while listeners == ":2" {
        listeners = sender.ask(&format!("PUBLISH a {payload}"));
        sent += 1;
        for _ in 0..7 {
            quick.line();
        }
    }
    assert_eq!(listeners, ":1");
    assert!(sent * payload.len() > sardonyx_base::channels::WAITING_BYTES_MAX);
    drop(slow);
}

#[test]
fn who_does_not_say_who_it_is_is_sent_away() {
    let mut options = redis_alone();
    options.limits.greeting = std::time::Duration::from_secs(2);
    let user = User {
        verifier: Verifier::of_password("ada").unwrap(),
        tables: Right::Own,
        table: BTreeMap::new(),
        keys: Right::Write,
    };
    options.users.insert("ada".into(), user);
    let running = Running::start(options);
    let mut known = Client::of(&running);
    assert_eq!(known.ask("AUTH ada ada"), "+OK");
    // One sends nothing; the other goes on to send commands that are refused.
    let (mut silent, mut busy) = (Client::of(&running), Client::of(&running));
    let mut said = 0;
    while let Ok(()) = busy.0.get_mut().write_all(b"GET a\r\n") {
        let mut line = String::new();
        if busy.0.read_line(&mut line).unwrap_or(0) == 0 {
            break;
        }
        assert!(line.starts_with("-NOAUTH"), "{line}");
        said += 1;
    }
    assert!(said > 0);
    assert_eq!(silent.line(), "");
    // A client that is authenticated has no greeting limit, until RESET undoes that.
    assert_eq!(known.ask("SET a 1"), "+OK");
    assert_eq!(known.ask("RESET"), "+RESET");
    assert_eq!(known.line(), "");
}

#[test]
fn errors_and_slow_commands_are_counted_without_what_was_sent() {
    let mut options = redis_alone();
    options.limits.slow_statement = std::time::Duration::ZERO;
    let running = Running::start(options);
    let mut client = Client::of(&running);
    assert_eq!(client.ask("SET secret 1"), "+OK");
    client.send("nonsense x\r\nINCR secret x\r\nGET secret\r\n");
    assert!(client.line().starts_with("-ERR unknown command"));
    assert!(client.line().starts_with("-ERR wrong number"));
    assert_eq!((client.line(), client.line()), ("$1".into(), "1".into()));
    let metrics = running.server.as_ref().unwrap().metrics();
    // An answered error is counted; the answer to the next command comes behind that.
    assert_eq!(client.ask("PING"), "+PONG");
    assert_eq!(metrics.errors().last(), Some(&("other", 2)));
    let (slow, _) = metrics.slow_statements();
    let mut texts: Vec<&str> = slow.iter().map(|slow| slow.text.as_str()).collect();
    texts.sort_unstable();
    texts.retain(|text| *text != "PING");
    // The lines may have come in one piece or in several.
    assert!(texts.contains(&"SET"), "{texts:?}");
    assert!(
        texts.iter().any(|text| text.starts_with("UNKNOWN")),
        "{texts:?}"
    );
    assert!(
        !texts.iter().any(|text| text.contains("secret")),
        "{texts:?}"
    );
}
