//! Statements that take long: other clients' progress meanwhile, and the ways to end them.

use crate::common::{Running, Socket};
use sardonyx_server::{Limits, Options};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// A change that never ends.
const ENDLESS: &str =
    "update t set v = 1 where id = (select count(*) from t a, t b, t c, t d, t e)";
/// A read that never ends.
const ENDLESS_READ: &str = "select count(*) from generate_series(1, 9000000000000000000)";

fn all() -> Options {
    let here = || vec!["127.0.0.1:0".parse().unwrap()];
    Options {
        postgres: here(),
        redis: here(),
        http: here(),
        ..Options::default()
    }
}

fn start(options: Options) -> Running {
    let running = Running::start(options);
    let text = "set statement_timeout = 0; create table t (id int primary key, v bigint default 0);
        insert into t select i from generate_series(1, 1000) as s (i)";
    running.client().batch_execute(text).unwrap();
    running
}

/// Reports each call of the procedure `begun`.
fn begins(running: &Running) -> Receiver<()> {
    let (begun, begins) = channel();
    running.database.register_procedure("begun", move |_, _| {
        let _ = begun.send(());
        Ok(Vec::new())
    });
    begins
}

type Ended = JoinHandle<Option<String>>;

/// A client whose change has the serial stage, and the thread that gets the code of its error.
fn long(running: &Running) -> (postgres::CancelToken, Ended) {
    let begins = begins(running);
    let mut client = running.client();
    let token = client.cancel_token();
    let thread = std::thread::spawn(move || {
        let ended = client.batch_execute(&format!("call begun(); {ENDLESS}"));
        let error = ended.expect_err("it comes to no end");
        error.code().map(|code| code.code().to_string())
    });
    begins.recv().unwrap();
    (token, thread)
}

/// The answer to a request, up to the end of the connection, or to so many bytes.
fn said(to: SocketAddr, request: &str, bytes: usize) -> String {
    let mut stream = TcpStream::connect(to).unwrap();
    let limit = Duration::from_secs(60);
    stream.set_read_timeout(Some(limit)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = vec![0; bytes];
    stream.read_exact(&mut answer).unwrap();
    String::from_utf8(answer).unwrap()
}

#[test]
fn a_long_change_leaves_everything_else_alone_and_is_cancelled() {
    let running = start(all());
    let (redis, http) = (running.address_of(1), running.address_of(2));
    assert_eq!(said(redis, "SET there value\r\n", 5), "+OK\r\n");
    let mut open = running.client();
    let (token, long) = long(&running);
    // More clients than threads wait for their turn.
    let wait = |id| {
        let mut client = running.client();
        let change = format!("update t set v = v + 1 where id = {}", id % 3);
        std::thread::spawn(move || client.batch_execute(&change))
    };
    let mut waiting: Vec<_> = (0..100).map(wait).collect();
    let mut stored = TcpStream::connect(redis).unwrap();
    stored.write_all(b"SET key value\r\n").unwrap();
    for path in ["livez", "readyz", "metrics"] {
        let request = format!("GET /{path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert_eq!(said(http, &request, 15), "HTTP/1.1 200 OK", "{path}");
    }
    assert_eq!(said(redis, "PING\r\n", 7), "+PONG\r\n");
    let reads = "GET there\r\nHGETALL none\r\nWATCH there\r\nMULTI\r\nSTRLEN there\r\nEXEC\r\n";
    let answers = "$5\r\nvalue\r\n*0\r\n+OK\r\n+OK\r\n+QUEUED\r\n*1\r\n:5\r\n";
    assert_eq!(said(redis, reads, answers.len()), answers);
    for client in [&mut open, &mut running.client()] {
        for text in [
            "select count(*) from t where v = 0",
            "select id::bigint * 500 from t where id = 2",
        ] {
            let row = client.query_one(text, &[]).unwrap();
            assert_eq!(row.get::<_, i64>(0), 1000, "{text}");
        }
        let text = "set statement_timeout = 20; update t set v = 3";
        let late = client.batch_execute(text).unwrap_err();
        assert_eq!(late.code().unwrap().code(), "57014");
        // The next statement takes long on a busy machine.
        client.batch_execute("reset statement_timeout").unwrap();
    }
    // Others wait at the gate; readers do not.
    waiting.extend((100..200).map(wait));
    assert_eq!(said(redis, reads, answers.len()), answers);
    let row = open.query_one("select count(*) from t where v = 0", &[]);
    assert_eq!(row.unwrap().get::<_, i64>(0), 1000);
    token.cancel_query(postgres::NoTls).unwrap();
    assert_eq!(long.join().unwrap().as_deref(), Some("57014"));
    // The waiting clients continue.
    for client in waiting {
        client.join().unwrap().unwrap();
    }
    let mut answer = [0; 5];
    stored.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"+OK\r\n");
    let row = running
        .client()
        .query_one("select sum(v)::bigint from t", &[]);
    assert_eq!(row.unwrap().get::<_, i64>(0), 133);
}

/// Sends a simple query and does not wait for its answer.
fn ask(running: &Running, text: &str) -> Socket {
    let mut socket = running.socket();
    socket.begin();
    let mut body = text.as_bytes().to_vec();
    body.push(0);
    socket.send(b"Q");
    socket.send(&(body.len() as u32 + 4).to_be_bytes());
    socket.send(&body);
    socket
}

#[test]
fn a_statement_ends_with_the_connection_of_its_client() {
    let running = start(all());
    let begins = begins(&running);
    let change = ask(&running, &format!("call begun(); {ENDLESS}"));
    begins.recv().unwrap();
    let mut other = running.client();
    let waits = std::thread::spawn(move || other.batch_execute("update t set v = 7 where id = 7"));
    drop(change);
    waits.join().unwrap().unwrap();
    // More reads than there are threads for them.
    let reads: Vec<_> = (0..100).map(|_| ask(&running, ENDLESS_READ)).collect();
    drop(reads);
    let row = running
        .client()
        .query_one("select count(*) from t a, t b", &[]);
    assert_eq!(row.unwrap().get::<_, i64>(0), 1_000_000);
}

#[test]
fn functions_of_redis_clients_have_a_time_limit() {
    let mut options = all();
    options.limits.statement = Some(Duration::from_millis(50));
    let running = start(options);
    // The limit applies to sessions of SQL, too, which can lift it.
    let mut client = running.client();
    let late = client.batch_execute(ENDLESS_READ).unwrap_err();
    assert_eq!(late.code().unwrap().code(), "57014");
    let text = format!("create procedure endless() language sql as $$ {ENDLESS} $$");
    client.batch_execute("set statement_timeout = 0").unwrap();
    client.batch_execute(&text).unwrap();
    let text = "-ERR canceling statement due to statement timeout (SQLSTATE 57014)\r\n";
    let answer = said(running.address_of(1), "FCALL endless 0\r\n", text.len());
    assert_eq!(answer, text);
}

#[test]
fn others_read_beside_a_long_function_of_a_redis_client() {
    let running = start(all());
    let redis = running.address_of(1);
    let mut client = running.client();
    for text in [
        "create table begun (id int)",
        "create procedure top() language sql as $$ select max(id), count(*) from t $$",
        &format!(
            "create procedure endless() language sql as $$ insert into begun values (1); {ENDLESS} $$"
        ),
    ] {
        client.batch_execute(text).unwrap();
    }
    assert_eq!(said(redis, "SET there value\r\n", 5), "+OK\r\n");
    let mut long = TcpStream::connect(redis).unwrap();
    // It is a part of a transaction, too.
    long.write_all(b"MULTI\r\nSET there other\r\nFCALL endless 0\r\nEXEC\r\n")
        .unwrap();
    while !running.tables.has_long() {
        std::thread::yield_now();
    }
    let answers = "$5\r\nvalue\r\n*1\r\n*2\r\n:1000\r\n:1000\r\n";
    let reads = "GET there\r\nFCALL_RO top 0\r\n";
    assert_eq!(said(redis, reads, answers.len()), answers);
    let writes = "-ERR Can not execute a script with write flag using *_ro command.\r\n";
    assert_eq!(said(redis, "FCALL_RO endless 0\r\n", writes.len()), writes);
    let answer = "-ERR Function not found\r\n";
    assert_eq!(said(redis, "FCALL_RO absent 0\r\n", answer.len()), answer);
    let listed = said(redis, "FUNCTION LIST\r\n", 4);
    assert_eq!(listed, "*2\r\n");
    let row = client.query_one("select count(*) from begun", &[]).unwrap();
    assert_eq!(row.get::<_, i64>(0), 0);
    // Its client disconnects, and its transaction is undone.
    drop(long);
    client
        .batch_execute("update t set v = 2 where id = 2")
        .unwrap();
    assert_eq!(said(redis, "GET there\r\n", 11), "$5\r\nvalue\r\n");
}

#[test]
fn the_servers_end_ends_statements() {
    let limits = Limits {
        drain: Duration::from_millis(200),
        ..Limits::default()
    };
    let mut running = start(Options { limits, ..all() });
    let (_, long) = long(&running);
    let read = ask(&running, ENDLESS_READ);
    running.server.take().unwrap().stop();
    // The client received the error, or its connection was cut off after the statement.
    let code = long.join().unwrap();
    assert!(matches!(code.as_deref(), Some("57P01") | None), "{code:?}");
    // The serial stage is free again.
    running.tables.close().unwrap();
    drop(read);
}
