//! PostgreSQL's protocol over sockets: a real client, and messages written byte by byte.

use crate::common::{Running, Socket, extended, message, postgres_alone, query, sync};
use postgres::error::SqlState;
use sardonyx_server::scram::Verifier;
use sardonyx_server::{Limits, Right, TlsFiles, User};
use std::collections::BTreeMap;
use std::io::Read;
use std::time::Duration;

#[test]
fn a_client_creates_changes_and_reads() {
    let running = Running::start(postgres_alone());
    let mut client = running.client();
    client
        .batch_execute("CREATE TABLE t (id bigint PRIMARY KEY, name text, price numeric(10, 2))")
        .unwrap();
    let insert = client
        .prepare("INSERT INTO t (id, name) VALUES ($1, $2)")
        .unwrap();
    for id in 0..20i64 {
        assert_eq!(
            client.execute(&insert, &[&id, &format!("n{id}")]).unwrap(),
            1
        );
    }
    let row = client
        .query_one("SELECT name FROM t WHERE id = $1", &[&7i64])
        .unwrap();
    assert_eq!(row.get::<_, String>(0), "n7");
    let rows = client
        .query("SELECT id FROM t WHERE id >= 15 ORDER BY id DESC", &[])
        .unwrap();
    let ids: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(ids, [19, 18, 17, 16, 15]);
    let error = client.execute(&insert, &[&3i64, &"again"]).unwrap_err();
    assert_eq!(error.code(), Some(&SqlState::UNIQUE_VIOLATION), "{error}");
    let error = client.batch_execute("SELECT 1 FROM nowhere").unwrap_err();
    assert_eq!(error.code(), Some(&SqlState::UNDEFINED_TABLE), "{error}");
    let error = client.batch_execute("SELEC 1").unwrap_err();
    assert_eq!(error.code(), Some(&SqlState::SYNTAX_ERROR), "{error}");
}

#[test]
fn a_transaction_is_undone_or_there_as_a_whole() {
    let running = Running::start(postgres_alone());
    let (mut one, mut other) = (running.client(), running.client());
    one.batch_execute("CREATE TABLE t (id int PRIMARY KEY, n int)")
        .unwrap();
    let mut transaction = one.transaction().unwrap();
    transaction
        .execute("INSERT INTO t VALUES (1, 1)", &[])
        .unwrap();
    let count = |client: &mut postgres::Client| -> i64 {
        client
            .query_one("SELECT count(*) FROM t", &[])
            .unwrap()
            .get(0)
    };
    assert_eq!(count(&mut other), 0);
    transaction.rollback().unwrap();
    assert_eq!(count(&mut one), 0);
    let mut transaction = one.transaction().unwrap();
    transaction
        .execute("INSERT INTO t VALUES (1, 1), (2, 2)", &[])
        .unwrap();
    transaction.commit().unwrap();
    assert_eq!(count(&mut other), 2);
    // Each of two reads the other's change: one must retry.
    let mut first = one.transaction().unwrap();
    let mut second = other.transaction().unwrap();
    first
        .query_one("SELECT n FROM t WHERE id = 1", &[])
        .unwrap();
    second
        .query_one("SELECT n FROM t WHERE id = 2", &[])
        .unwrap();
    first
        .execute("UPDATE t SET n = 10 WHERE id = 2", &[])
        .unwrap();
    second
        .execute("UPDATE t SET n = 20 WHERE id = 1", &[])
        .unwrap();
    first.commit().unwrap();
    let error = second.commit().unwrap_err();
    assert_eq!(
        error.code(),
        Some(&SqlState::T_R_SERIALIZATION_FAILURE),
        "{error}"
    );
}

#[test]
fn what_arrives_together_is_answered_in_order() {
    let running = Running::start(postgres_alone());
    let mut socket = running.socket();
    socket.begin();
    // A table and its rows before one Sync: the later statements are understood when the earlier ones have run.
    let mut bytes = extended("CREATE TABLE t (id int PRIMARY KEY)");
    bytes.extend(extended("INSERT INTO t VALUES (1), (2)"));
    bytes.extend(extended("SELECT id FROM t WHERE id = 2"));
    bytes.extend(sync());
    // An error skips the rest up to its Sync, and undoes the earlier statements.
    bytes.extend(extended("INSERT INTO t VALUES (3)"));
    bytes.extend(extended("SELECT * FROM nowhere"));
    bytes.extend(extended("INSERT INTO t VALUES (4)"));
    bytes.extend(sync());
    bytes.extend(extended("SELECT id FROM t"));
    bytes.extend(sync());
    socket.send(&bytes);
    assert_eq!(socket.until(b'Z'), "12nC12nC12TDCZ");
    let second = socket.until(b'Z');
    assert!(second.ends_with("EZ") && !second.contains('D'), "{second}");
    assert_eq!(socket.until(b'Z'), "12TDDCZ");
    // The bytes may be cut anywhere.
    for cut in [1, 3, 7, 50, 200] {
        let mut bytes = extended("SELECT id FROM t WHERE id = 1");
        bytes.extend(sync());
        for piece in bytes.chunks(cut) {
            socket.send(piece);
        }
        assert_eq!(socket.until(b'Z'), "12TDCZ", "{cut}");
    }
    socket.send(&query(
        "INSERT INTO t VALUES (5); SELECT id FROM t WHERE id = 5; ",
    ));
    assert_eq!(socket.until(b'Z'), "CTDCZ");
    socket.send(&query("INSERT INTO t VALUES (6); INSERT INTO t VALUES (6)"));
    let kinds = socket.until(b'Z');
    assert!(kinds.ends_with("EZ"), "{kinds}");
    socket.send(&query(" ; "));
    assert_eq!(socket.until(b'Z'), "IZ");
    socket.send(&query("SELECT count(*) FROM t"));
    assert_eq!(socket.until(b'Z'), "TDCZ");
}

/// The messages of a driver for one statement with many sets of values: only one Sync, at the end.
#[test]
fn what_has_one_end_is_run_together_however_many_statements_it_has() {
    let running = Running::start(postgres_alone());
    let mut client = running.client();
    client
        .batch_execute("create table many (id int primary key)")
        .expect("created");
    let mut socket = running.socket();
    socket.begin();
    let mut flight = message(b'P', b"put\0insert into many values ($1)\0\0\0");
    const ROWS: u32 = 12_000;
    for id in 0..ROWS {
        // The unnamed portal: of this statement, with one value, as text.
        let text = id.to_string();
        let mut bind = b"\0put\0\0\0\0\x01".to_vec();
        bind.extend((text.len() as u32).to_be_bytes());
        bind.extend(text.as_bytes());
        bind.extend(b"\0\0");
        flight.extend(message(b'B', &bind));
        flight.extend(message(b'E', b"\0\0\0\0\0"));
    }
    flight.extend(sync());
    let sender = socket.0.try_clone().expect("another end");
    let sent = std::thread::spawn(move || Socket(sender).send(&flight));
    let kinds = socket.until(b'Z');
    sent.join().expect("it is sent");
    assert_eq!(
        kinds.matches('C').count(),
        ROWS as usize,
        "{}",
        &kinds[..20]
    );
    assert!(!kinds.contains('E'));
    let count = |client: &mut postgres::Client| -> i64 {
        let row = client.query_one("select count(*) from many", &[]);
        row.expect("read").get(0)
    };
    assert_eq!(count(&mut client), i64::from(ROWS));
    // And it is undone together.
    client.batch_execute("delete from many").expect("deleted");
    let mut flight = Vec::new();
    for id in 0..5_000 {
        flight.extend(extended(&format!("insert into many values ({id})")));
    }
    flight.extend(extended("insert into many values (0)"));
    flight.extend(sync());
    let sender = socket.0.try_clone().expect("another end");
    let sent = std::thread::spawn(move || Socket(sender).send(&flight));
    let kinds = socket.until(b'Z');
    sent.join().expect("it is sent");
    assert_eq!(kinds.matches('E').count(), 1);
    assert_eq!(count(&mut client), 0);
}

#[test]
fn rows_are_given_in_portions() {
    let running = Running::start(postgres_alone());
    let mut socket = running.socket();
    socket.begin();
    socket.send(&query(
        "CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1), (2), (3), (4), (5)",
    ));
    socket.until(b'Z');
    let mut bytes = query("BEGIN");
    bytes.extend(message(b'P', b"\0SELECT id FROM t\0\0\0"));
    bytes.extend(message(b'B', b"p\0\0\0\0\0\0\0\0"));
    let two = message(b'E', b"p\0\0\0\0\x02");
    for _ in 0..3 {
        bytes.extend(two.clone());
    }
    bytes.extend(sync());
    bytes.extend(query("COMMIT"));
    bytes.extend(two);
    bytes.extend(sync());
    socket.send(&bytes);
    assert_eq!(socket.until(b'Z'), "CZ");
    assert_eq!(socket.until(b'Z'), "12DDsDDsDCZ");
    assert_eq!(socket.until(b'Z'), "CZ");
    // The portal ended with the transaction.
    assert_eq!(socket.until(b'Z'), "EZ");
}

#[test]
fn an_answer_that_is_cancelled_ends_and_the_session_goes_on() {
    let running = Running::start(postgres_alone());
    let mut client = running.client();
    client
        .batch_execute("CREATE TABLE t (id int PRIMARY KEY, x text)")
        .unwrap();
    let filled =
        "INSERT INTO t SELECT n, repeat('x', 1000) FROM generate_series(0, 39999) AS g (n)";
    client.batch_execute(filled).unwrap();
    let mut socket = running.socket();
    let (number, secret) = socket.begin_with(&[]);
    // More than sockets hold: the server waits in the middle of the result.
    socket.send(&query("SELECT id, x FROM t"));
    assert_eq!(socket.until(b'T'), "T");
    let mut other = running.socket();
    let mut cancel = 80_877_102u32.to_be_bytes().to_vec();
    cancel.extend([number, secret].map(u32::to_be_bytes).concat());
    other.send(&(cancel.len() as u32 + 4).to_be_bytes());
    other.send(&cancel);
    // It was processed when the connection has ended.
    assert!(other.message().is_none());
    let kinds = socket.until(b'Z');
    assert!(
        kinds.ends_with("EZ") && kinds.len() < 40_000,
        "{}",
        kinds.len()
    );
    socket.send(&query("SELECT id FROM t WHERE id = 7"));
    assert_eq!(socket.until(b'Z'), "TDCZ");
}

/// A read that never ends delays no other client, and ends when its client cancels it.
#[test]
fn a_long_read_delays_nobody_and_is_cancelled() {
    let running = Running::start(postgres_alone());
    let mut client = running.client();
    let text = "create table t (id int primary key); insert into t select i from generate_series(1, 3000) as s (i)";
    client.batch_execute(text).expect("created");
    // More reads than threads that serve connections.
    let endless = "select count(*) from t a, t b, t c, t d where a.id + b.id + c.id + d.id < 0";
    let mut tokens = Vec::new();
    let mut reads = Vec::new();
    for _ in 0..6 {
        let mut reader = running.client();
        tokens.push(reader.cancel_token());
        reads.push(std::thread::spawn(move || {
            let error = reader.query(endless, &[]).expect_err("it comes to no end");
            assert_eq!(error.code(), Some(&SqlState::QUERY_CANCELED), "{error}");
            reader
        }));
    }
    for id in 1..=20 {
        let mut other = running.client();
        let changed = other.execute("update t set id = id where id = $1", &[&id]);
        assert_eq!(changed.expect("it is not held up"), 1);
    }
    // A request that arrives before its read has begun has no effect, so it is repeated until the read ends.
    for (token, read) in tokens.iter().zip(reads) {
        while !read.is_finished() {
            token.cancel_query(postgres::NoTls).expect("it is sent");
        }
        let mut reader = read.join().expect("it was ended");
        // The last request may come late.
        let row = loop {
            match reader.query_one("select 1", &[]) {
                Ok(row) => break row,
                Err(error) => assert_eq!(error.code(), Some(&SqlState::QUERY_CANCELED)),
            }
        };
        assert_eq!(row.get::<_, i32>(0), 1);
    }
}

#[test]
fn what_is_no_message_ends_the_connection_and_nothing_else() {
    let running = Running::start(postgres_alone());
    let mut good = running.client();
    let hostile: [&[u8]; 8] = [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\0\0\0\x04",
        b"\0\0\0\x08\0\x02\0\0",
        b"\xff\xff\xff\xff",
        b"\0\0\0\x09\0\x03\0\0x",
        b"\0\0\0\x0a\0\x03\0\0\0\0",
        b"\0\0\0\x08\x04\xd2\x16\x30Z",
        b"",
    ];
    for bytes in hostile {
        let mut socket = running.socket();
        socket.send(bytes);
        socket.0.shutdown(std::net::Shutdown::Write).unwrap();
        let mut all = Vec::new();
        let _ = socket.0.read_to_end(&mut all);
    }
    for bytes in [&b"?\0\0\0\x04"[..], b"Q\0\0\0\x03", b"Q\x7f\xff\xff\xff"] {
        let mut socket = running.socket();
        socket.begin();
        socket.send(bytes);
        let told = socket.rest();
        assert!(
            told.last().is_some_and(|(kind, _)| *kind == b'E'),
            "{bytes:?}"
        );
    }
    // The end of these messages is known: a fault in one is an error, and the connection continues.
    for bytes in [
        &b"B\0\0\0\x10\0\0\0\0\0\x01\x7f\xff\xff\xff\0\0"[..],
        b"Q\0\0\0\x06\xff\0",
    ] {
        let mut socket = running.socket();
        socket.begin();
        socket.send(bytes);
        socket.send(&sync());
        assert!(socket.until(b'Z').starts_with('E'), "{bytes:?}");
        socket.send(&query("SELECT 1"));
        assert!(socket.until(b'C').ends_with("TDC"), "{bytes:?}");
    }
    good.batch_execute("SELECT 1").unwrap();
}

fn user(password: &str) -> User {
    User {
        verifier: Verifier::of_password(password).unwrap(),
        tables: Right::Own,
        table: BTreeMap::new(),
        keys: Right::Own,
    }
}

#[test]
fn who_does_not_know_the_password_is_not_let_in() {
    let mut options = postgres_alone();
    options.users.insert("ada".into(), user("pencil"));
    let running = Running::start(options);
    let mut client = running.try_client("ada", "pencil").unwrap();
    client.batch_execute("SELECT 1").unwrap();
    for (name, password) in [("ada", "pencils"), ("eve", "pencil")] {
        let error = running.try_client(name, password).err().unwrap();
        assert_eq!(error.code(), Some(&SqlState::INVALID_PASSWORD), "{error}");
    }
    // Until the password request is answered, no statement runs.
    let mut socket = running.socket();
    socket.start(&[]);
    socket.send(&query("SELECT 1"));
    let told: Vec<u8> = socket.rest().iter().map(|(kind, _)| *kind).collect();
    assert_eq!(told, b"RE");
}

#[test]
fn a_user_does_what_the_user_may() {
    let mut options = postgres_alone();
    for (name, tables) in [
        ("ada", Right::Own),
        ("shop", Right::Write),
        ("eve", Right::Read),
        ("bob", Right::None),
    ] {
        let user = User {
            tables,
            ..user(name)
        };
        options.users.insert(name.into(), user);
    }
    let sue = User {
        tables: Right::None,
        table: BTreeMap::from([("t".into(), Right::Write)]),
        ..user("sue")
    };
    options.users.insert("sue".into(), sue);
    let running = Running::start(options);
    let mut ada = running.try_client("ada", "ada").unwrap();
    ada.batch_execute("CREATE TABLE t (id int PRIMARY KEY)")
        .unwrap();
    ada.batch_execute("CREATE PROCEDURE p() LANGUAGE SQL AS $$ INSERT INTO t VALUES (7) $$")
        .unwrap();
    let attempts = [
        ("SELECT * FROM t", "shop eve sue"),
        ("EXPLAIN SELECT * FROM t", "shop eve sue"),
        (
            "INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING",
            "shop sue",
        ),
        ("EXPLAIN ANALYZE DELETE FROM t", "shop sue"),
        ("CALL p()", "shop"),
        ("PREPARE x AS DELETE FROM t; EXECUTE x", "shop sue"),
        ("DROP TABLE t", ""),
        ("CREATE TABLE u (id int PRIMARY KEY)", ""),
        ("TRUNCATE t", ""),
        ("BEGIN; ROLLBACK; SHOW server_version", "shop eve bob sue"),
    ];
    for (statement, allowed) in attempts {
        for name in ["shop", "eve", "bob", "sue"] {
            let mut client = running.try_client(name, name).unwrap();
            let outcome = client.simple_query(statement).map(drop);
            match allowed.contains(name) {
                true => outcome.unwrap(),
                false => {
                    let error = outcome.unwrap_err();
                    let code = error.code();
                    assert_eq!(
                        code,
                        Some(&SqlState::INSUFFICIENT_PRIVILEGE),
                        "{name}: {statement}"
                    );
                }
            }
        }
    }
}

#[test]
fn tls_is_offered_where_there_is_a_certificate() {
    let directory = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_string()]).unwrap();
    let (certificate, key) = (
        directory.path().join("cert.pem"),
        directory.path().join("key.pem"),
    );
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let mut options = postgres_alone();
    options.tls = Some(TlsFiles { certificate, key });
    let running = Running::start(options);
    let mut socket = running.socket();
    socket.send(b"\0\0\0\x08\x04\xd2\x16\x2f");
    let mut answer = [0];
    socket.0.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"S");
    // Unencrypted bytes after the request are not taken for encrypted ones.
    let mut socket = running.socket();
    socket.send(b"\0\0\0\x08\x04\xd2\x16\x2f\0\0\0\x08\0\x03\0\0");
    assert!(socket.message().is_none());
    let plain = Running::start(postgres_alone());
    let mut socket = plain.socket();
    socket.send(b"\0\0\0\x08\x04\xd2\x16\x2f");
    socket.0.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"N");
    socket.begin();
}

#[test]
fn a_server_that_stops_tells_its_clients_and_keeps_what_it_acknowledged() {
    let mut running = Running::start(postgres_alone());
    let mut client = running.client();
    client
        .batch_execute("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)")
        .unwrap();
    let mut idle = running.socket();
    idle.begin();
    running.server.take().unwrap().stop();
    let told = idle.rest();
    let (kind, body) = told.last().unwrap();
    assert_eq!(*kind, b'E');
    assert!(body.windows(5).any(|window| window == b"57P01"));
    let error = client.batch_execute("SELECT 1").unwrap_err();
    assert!(
        error.is_closed() || error.code() == Some(&SqlState::ADMIN_SHUTDOWN),
        "{error}"
    );
    running.tables.close().unwrap();
    let path = running.directory.path().join("bank.sdx");
    let tables = crate::common::small().open_tables(path).unwrap();
    assert_eq!(tables.read(|view| view.rows("t")?.count()).unwrap(), 1);
}

#[test]
fn no_more_connections_than_are_allowed() {
    let mut options = postgres_alone();
    options.limits = Limits {
        connections_max: 2,
        ..Limits::default()
    };
    let running = Running::start(options);
    let (_one, mut other) = (running.client(), running.client());
    assert!(running.try_client("ada", "").is_err());
    other.batch_execute("SELECT 1").unwrap();
}

#[test]
fn who_says_nothing_is_sent_away() {
    let mut options = postgres_alone();
    options.limits.greeting = Duration::from_millis(50);
    let running = Running::start(options);
    let mut socket = running.socket();
    assert!(socket.message().is_none());
}
