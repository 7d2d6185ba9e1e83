//! `pg_cancel_backend` and `pg_terminate_backend` over sockets: the answers of sessions that others end, idle, in a
//! transaction and in a statement.

use crate::common::{Running, Socket, extended, postgres_alone, query, sync};
use postgres::Client;
use sardonyx_server::Server;
use std::time::Duration;

/// A client with its session's number, by its cancel key.
fn begin(running: &Running) -> (Socket, u32) {
    let mut socket = running.socket();
    let (number, _) = socket.begin_with(&[("application_name", "waits")]);
    (socket, number)
}

fn call(client: &mut Client, function: &str, number: u32) -> bool {
    let text = format!("SELECT {function}({number})");
    client.query_one(&text, &[]).unwrap().get(0)
}

/// The severity and the code of an error.
fn severity_and_code(body: &[u8]) -> (String, String) {
    let fields = body.split(|byte| *byte == 0);
    let fields = fields.map(|field| String::from_utf8_lossy(field).into_owned());
    let field = |letter: char| {
        let mut fields = fields.clone();
        let found = fields.find(|field| field.starts_with(letter));
        found
            .map(|field| field[1..].to_string())
            .unwrap_or_default()
    };
    (field('S'), field('C'))
}

/// The rest of the connection is one error: the end of the session.
fn is_ended(socket: &mut Socket) {
    let rest = socket.rest();
    let told: Vec<_> = rest
        .iter()
        .map(|(kind, body)| (*kind as char, severity_and_code(body)))
        .collect();
    assert_eq!(told, [('E', ("FATAL".to_string(), "57P01".to_string()))]);
}

/// Waits until a session is in a statement that sleeps.
fn until_it_sleeps(client: &mut Client, number: u32) {
    until_it_waits(client, number, "active PgSleep");
}

#[test]
fn a_session_that_is_ended_is_told_and_its_transaction_is_over() {
    let running = Running::start(postgres_alone());
    let mut client = running.client();
    client
        .batch_execute("CREATE TABLE t (id int PRIMARY KEY)")
        .unwrap();
    // An idle one.
    let (mut socket, number) = begin(&running);
    assert!(call(&mut client, "pg_terminate_backend", number));
    is_ended(&mut socket);
    // In a transaction, which the table shows.
    let (mut socket, number) = begin(&running);
    socket.send(&query("BEGIN; INSERT INTO t VALUES (1)"));
    socket.until(b'Z');
    let seen = "SELECT state, application_name, client_addr::text, backend_start <= xact_start FROM pg_stat_activity WHERE pid = $1";
    let row = client.query_one(seen, &[&(number as i32)]).unwrap();
    let texts: [String; 3] = [0, 1, 2].map(|at| row.get(at));
    assert_eq!(texts, ["idle in transaction", "waits", "127.0.0.1/32"]);
    assert!(row.get::<_, bool>(3));
    assert!(call(&mut client, "pg_terminate_backend", number));
    is_ended(&mut socket);
    assert_eq!(
        client
            .query_one("SELECT count(*) FROM t", &[])
            .unwrap()
            .get::<_, i64>(0),
        0
    );
    // In a statement, and in a copy.
    let (mut socket, number) = begin(&running);
    socket.send(&query("SELECT pg_sleep(1000)"));
    until_it_sleeps(&mut client, number);
    assert!(call(&mut client, "pg_terminate_backend", number));
    is_ended(&mut socket);
    let (mut socket, number) = begin(&running);
    socket.send(&query("COPY t FROM STDIN"));
    socket.until(b'G');
    assert!(call(&mut client, "pg_terminate_backend", number));
    is_ended(&mut socket);
    // The end is awaited.
    let (mut socket, number) = begin(&running);
    let text = format!("SELECT pg_terminate_backend({number}, 60000)");
    assert!(client.query_one(&text, &[]).unwrap().get::<_, bool>(0));
    is_ended(&mut socket);
    // Its own one. A driver may report the end of the connection in the place of the error, so the socket is read.
    let (mut socket, _) = begin(&running);
    socket.send(&query("SELECT pg_terminate_backend(pg_backend_pid())"));
    is_ended(&mut socket);
}

#[test]
fn a_statement_that_is_cancelled_fails_and_its_session_goes_on() {
    let running = Running::start(postgres_alone());
    let mut client = running.client();
    let (mut socket, number) = begin(&running);
    // A session that does nothing has nothing to cancel.
    assert!(call(&mut client, "pg_cancel_backend", number));
    socket.send(&query("SELECT 1"));
    assert_eq!(socket.until(b'Z'), "TDCZ");
    socket.send(&query("SELECT pg_sleep(1000)"));
    until_it_sleeps(&mut client, number);
    assert!(call(&mut client, "pg_cancel_backend", number));
    let (kind, body) = socket.message().unwrap();
    assert_eq!(
        (kind, severity_and_code(&body)),
        (b'E', ("ERROR".into(), "57014".into()))
    );
    socket.until(b'Z');
    assert!(!call(&mut client, "pg_cancel_backend", 4_000_000));
    socket.send(&query("SELECT 1"));
    assert_eq!(socket.until(b'Z'), "TDCZ");
}

/// Waits until a session is seen to wait for something.
fn until_it_waits(client: &mut Client, number: u32, event: &str) {
    let text =
        format!("SELECT state || ' ' || wait_event FROM pg_stat_activity WHERE pid = {number}");
    for _ in 0..2000 {
        let rows = client.query(&text, &[]).unwrap();
        let seen = rows.first().and_then(|row| row.get::<_, Option<String>>(0));
        if seen.as_deref() == Some(event) {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("no session waits so: {event}");
}

/// A table with a row, and statements that a client sends at once behind one that sleeps.
fn pipelined() -> Vec<u8> {
    let mut sent = query("SELECT pg_sleep(1000)");
    sent.extend(query("TRUNCATE kept"));
    sent.extend(query("CREATE TABLE made (a int)"));
    sent.extend(query("INSERT INTO kept VALUES (2)"));
    for text in ["DROP TABLE kept", "SELECT 1"] {
        sent.extend(extended(text));
        sent.extend(sync());
    }
    sent
}

/// The rows of the table, and the tables that were made.
fn is_kept(client: &mut Client) {
    let text = "SELECT (SELECT count(*) FROM kept), (SELECT count(*) FROM pg_class WHERE relname = 'made')";
    let row = client.query_one(text, &[]).unwrap();
    assert_eq!([row.get::<_, i64>(0), row.get::<_, i64>(1)], [1, 0]);
}

#[test]
fn nothing_that_a_client_has_sent_runs_behind_the_end_of_its_session() {
    let running = Running::start(postgres_alone());
    let mut client = running.client();
    client
        .batch_execute("CREATE TABLE kept (id int PRIMARY KEY); INSERT INTO kept VALUES (1)")
        .unwrap();
    let (mut socket, number) = begin(&running);
    socket.send(&pipelined());
    until_it_sleeps(&mut client, number);
    assert!(call(&mut client, "pg_terminate_backend", number));
    is_ended(&mut socket);
    is_kept(&mut client);
}

#[test]
fn nothing_that_a_client_has_sent_runs_behind_the_end_of_the_server() {
    let mut options = postgres_alone();
    options.limits.drain = Duration::from_secs(2);
    let mut running = Running::start(options);
    let mut client = running.client();
    client
        .batch_execute("CREATE TABLE kept (id int PRIMARY KEY); INSERT INTO kept VALUES (1)")
        .unwrap();
    let (mut socket, number) = begin(&running);
    socket.send(&pipelined());
    until_it_sleeps(&mut client, number);
    drop(client);
    running.server.take().unwrap().stop();
    is_ended(&mut socket);
    running.server = Some(Server::start(running.database.clone(), postgres_alone()).unwrap());
    is_kept(&mut running.client());
}

#[test]
fn a_session_whose_client_does_not_read_is_seen_and_ended() {
    let running = Running::start(postgres_alone());
    let mut client = running.client();
    let (mut socket, number) = begin(&running);
    socket.send(&query(
        "SELECT repeat('x', 1000000) FROM generate_series(1, 40)",
    ));
    until_it_waits(&mut client, number, "active ClientWrite");
    // The end is awaited for less than the time for which a client may read nothing.
    let text = format!("SELECT pg_terminate_backend({number}, 20000)");
    assert!(client.query_one(&text, &[]).unwrap().get::<_, bool>(0));
}
