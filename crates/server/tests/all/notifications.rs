//! `LISTEN` and `NOTIFY` over sockets: when clients receive notifications, from which session, and what happens to
//! clients that do not read.

use crate::common::{Running, Socket, extended, postgres_alone, query, sync};
use sardonyx_base::channels::WAITING_BYTES_MAX;
use sardonyx_server::Options;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

/// A client with its session's number.
fn begin(running: &Running) -> (Socket, u32) {
    let mut socket = running.socket();
    let (number, _) = socket.begin_with(&[]);
    (socket, number)
}

/// Sends a query, and returns the kinds of the answers.
fn ask(socket: &mut Socket, text: &str) -> String {
    socket.send(&query(text));
    socket.until(b'Z')
}

/// The next message, which is a notification: its sender, channel and payload.
fn notification(socket: &mut Socket) -> (u32, String, String) {
    let (kind, body) = socket.message().expect("a message");
    assert_eq!(kind as char, 'A', "{:?}", String::from_utf8_lossy(&body));
    let sender = u32::from_be_bytes(body[..4].try_into().unwrap());
    let mut texts = body[4..].split(|byte| *byte == 0);
    let mut text = || String::from_utf8(texts.next().unwrap().to_vec()).unwrap();
    (sender, text(), text())
}

#[test]
fn an_idle_client_is_told_unasked_and_by_the_number_of_the_sender() {
    let running = Running::start(postgres_alone());
    let ((mut one, _), (mut two, sender)) = (begin(&running), begin(&running));
    assert_eq!(ask(&mut one, "listen a"), "CZ");
    for number in 0..3 {
        let text = format!("notify a, 'n{number}'");
        assert_eq!(ask(&mut two, &text), "CZ");
        let told = (sender, "a".to_string(), format!("n{number}"));
        assert_eq!(notification(&mut one), told);
    }
    two.send(&query("select pg_backend_pid()"));
    assert_eq!(two.message().unwrap().0, b'T');
    let (_, row) = two.message().unwrap();
    assert!(row.ends_with(sender.to_string().as_bytes()));
    two.until(b'Z');
    assert_eq!(ask(&mut two, "begin; notify a, 'undone'; rollback"), "CCCZ");
    assert_eq!(ask(&mut two, "notify a"), "CZ");
    assert_eq!(notification(&mut one), (sender, "a".into(), "".into()));
    // A listener that has disconnected does not count.
    drop(one);
    assert_eq!(ask(&mut two, "notify a"), "CZ");
}

#[test]
fn a_client_in_a_transaction_is_told_at_its_end() {
    let running = Running::start(postgres_alone());
    let ((mut one, own), (mut two, sender)) = (begin(&running), begin(&running));
    assert_eq!(ask(&mut one, "listen a"), "CZ");
    assert_eq!(ask(&mut one, "begin"), "CZ");
    assert_eq!(ask(&mut two, "notify a, 'theirs'"), "CZ");
    assert_eq!(ask(&mut one, "notify a, 'own'"), "CZ");
    assert_eq!(ask(&mut one, "select 1"), "TDCZ");
    one.send(&query("commit"));
    assert_eq!(one.message().unwrap().0, b'C');
    assert_eq!(notification(&mut one).0, sender);
    assert_eq!(notification(&mut one), (own, "a".into(), "own".into()));
    assert_eq!(one.until(b'Z'), "Z");
    // Also of one that fails.
    assert_eq!(ask(&mut one, "begin; select 1 / 0"), "CEZ");
    assert_eq!(ask(&mut two, "notify a, 'theirs'"), "CZ");
    assert_eq!(ask(&mut one, "notify a, 'refused'"), "EZ");
    assert_eq!(ask(&mut one, "rollback"), "CAZ");
    assert_eq!(ask(&mut one, "notify a, 'at once'"), "CAZ");
}

#[test]
fn notifications_stand_behind_the_answers_of_a_flight() {
    let running = Running::start(postgres_alone());
    let (mut one, _) = begin(&running);
    let mut flight = Vec::new();
    for text in ["listen a", "notify a, 'x'", "notify a, 'y'"] {
        flight.extend(extended(text));
        flight.extend(sync());
    }
    one.send(&flight);
    let kinds: Vec<String> = (0..3).map(|_| one.until(b'Z')).collect();
    assert_eq!(kinds, ["12nCZ", "12nCZ", "12nCAAZ"]);
    // Without a Sync between them they are one transaction.
    let mut flight = extended("notify a, 'same'");
    flight.extend(extended("notify a, 'same'"));
    flight.extend(extended("notify a, 'other'"));
    flight.extend(sync());
    one.send(&flight);
    assert_eq!(one.until(b'Z'), "12nC12nC12nCAAZ");
}

/// Notifications of more than a third of the bytes that may wait for a session.
const MANY: &str =
    "select pg_notify('a', repeat('y', 7000) || i) from generate_series(1, 1000) s(i)";

#[test]
fn a_client_that_stays_in_a_transaction_is_ended_when_too_much_waits() {
    let running = Running::start(postgres_alone());
    let ((mut one, _), (mut two, _)) = (begin(&running), begin(&running));
    let (mut three, _) = begin(&running);
    assert_eq!(ask(&mut one, "listen a"), "CZ");
    assert_eq!(ask(&mut one, "begin"), "CZ");
    assert_eq!(ask(&mut three, "listen a"), "CZ");
    let mut told = 0;
    while told * 7000 <= WAITING_BYTES_MAX {
        ask(&mut two, MANY);
        // A client that reads receives all.
        for _ in 0..1000 {
            notification(&mut three);
        }
        told += 1000;
    }
    let (kind, body) = one.message().unwrap();
    let text = String::from_utf8_lossy(&body);
    assert!(
        kind == b'E' && text.contains("FATAL") && text.contains("54000"),
        "{text}"
    );
    assert_eq!(one.rest(), []);
    assert_eq!(ask(&mut two, "notify a"), "CZ");
    notification(&mut three);
}

#[test]
fn a_client_that_does_not_read_stops_nobody_else() {
    let running = Running::start(postgres_alone());
    let ((mut one, _), (mut two, _)) = (begin(&running), begin(&running));
    assert_eq!(ask(&mut one, "listen a"), "CZ");
    // More than fits into the server's and both sockets' buffers.
    for _ in 0..6 {
        ask(&mut two, MANY);
    }
    two.send(&query("select pg_notification_queue_usage()"));
    assert_eq!(two.message().unwrap().0, b'T');
    let (_, row) = two.message().unwrap();
    assert_eq!(&row[6..], b"0");
}

#[test]
fn a_procedure_that_a_redis_client_calls_neither_notifies_nor_listens() {
    let running = Running::start(Options {
        redis: vec!["127.0.0.1:0".parse().unwrap()],
        ..postgres_alone()
    });
    let (mut one, _) = begin(&running);
    assert_eq!(ask(&mut one, "create table t (id int primary key)"), "CZ");
    assert_eq!(ask(&mut one, "listen a"), "CZ");
    for (name, signal) in [
        ("calls", "select pg_notify('a', 'x')"),
        ("notifies", "notify a, 'x'"),
        ("listens", "listen b"),
        ("unlistens", "unlisten *"),
    ] {
        let made = format!(
            "create procedure {name}() language sql as $$ insert into t values (1); {signal} $$"
        );
        assert_eq!(ask(&mut one, &made), "CZ");
        let mut redis = TcpStream::connect(running.address_of(1)).unwrap();
        redis
            .write_all(format!("FCALL {name} 0\r\n").as_bytes())
            .unwrap();
        let mut reply = String::new();
        BufReader::new(redis).read_line(&mut reply).unwrap();
        let refused = "is of a session: there is none here";
        assert!(reply.starts_with("-ERR "), "{reply}");
        assert!(reply.contains(refused), "{reply}");
        assert!(reply.contains("SQLSTATE 0A000"), "{reply}");
    }
    // All of it is undone and nothing was posted: the first notification is from this session.
    let (mut two, _) = begin(&running);
    assert_eq!(ask(&mut two, "notify a, 'from here'"), "CZ");
    let (_, channel, payload) = notification(&mut one);
    assert_eq!((&*channel, &*payload), ("a", "from here"));
    assert_eq!(ask(&mut one, "select id from t"), "TCZ");
}
