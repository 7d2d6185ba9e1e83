//! COPY over sockets: rows in and out, and copies that do not end.

use crate::common::{Running, message, postgres_alone, query};
use postgres::error::SqlState;
use std::io::{Read, Write};

#[test]
fn data_is_copied_in_and_out() {
    let running = Running::start(postgres_alone());
    let mut client = running.client();
    client
        .batch_execute("CREATE TABLE t (id int PRIMARY KEY, name text)")
        .unwrap();
    let mut writer = client.copy_in("COPY t FROM STDIN").unwrap();
    for id in 0..1000 {
        writeln!(writer, "{id}\tname {id}").unwrap();
    }
    assert_eq!(writer.finish().unwrap(), 1000);
    let mut text = String::new();
    let mut reader = client.copy_out("COPY t TO STDOUT").unwrap();
    reader.read_to_string(&mut text).unwrap();
    drop(reader);
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!((lines.len(), lines[0]), (1000, "0\tname 0"));
    // A copy that is given up and one with an invalid row leave no rows.
    let mut writer = client.copy_in("COPY t FROM STDIN").unwrap();
    writer.write_all(b"5000\tx\n").unwrap();
    drop(writer);
    let mut writer = client.copy_in("COPY t FROM STDIN").unwrap();
    writer.write_all(b"6000\tx\nno number\tx\n").unwrap();
    let error = writer.finish().unwrap_err();
    assert_eq!(
        error.code(),
        Some(&SqlState::INVALID_TEXT_REPRESENTATION),
        "{error}"
    );
    let count: i64 = client
        .query_one("SELECT count(*) FROM t", &[])
        .unwrap()
        .get(0);
    assert_eq!(count, 1000);
}

#[test]
fn a_copy_whose_connection_ends_keeps_nothing_and_is_counted() {
    let running = Running::start(postgres_alone());
    let mut client = running.client();
    client.batch_execute("CREATE TABLE t (id int)").unwrap();
    let counted = || {
        let errors = running.server.as_ref().unwrap().metrics().errors();
        errors
            .into_iter()
            .find(|(class, _)| *class == "08")
            .unwrap()
            .1
    };
    let begun = |transaction: &str| {
        let mut socket = running.socket();
        socket.begin();
        socket.send(&query(&format!("{transaction} INSERT INTO t VALUES (7)")));
        socket.until(b'Z');
        socket.send(&query("COPY t FROM STDIN"));
        socket.until(b'G');
        socket.send(&message(b'd', b"1\n"));
        socket
    };
    let mut socket = begun("BEGIN;");
    socket.send(&message(b'X', b""));
    let rest = socket.rest();
    assert_eq!(rest.len(), 2, "{rest:?}");
    for (kind, body) in rest {
        assert_eq!(kind, b'E');
        assert!(String::from_utf8_lossy(&body).contains("\0C08P01\0"));
    }
    assert_eq!(counted(), 1);
    // The server sends no answer to a client that closes, even within a message.
    for half in [&b""[..], b"d", b"d\0\0\0\x10x"] {
        let before = counted();
        let mut socket = begun("BEGIN;");
        socket.send(half);
        socket.0.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(socket.rest(), []);
        assert_eq!(counted(), before + 1);
    }
    // A client that closes with unread bytes resets the connection.
    let before = counted();
    let mut socket = running.socket();
    socket.begin();
    socket.send(&[query("SELECT 1"), query("COPY t FROM STDIN")].concat());
    socket.0.read_exact(&mut [0; 1]).unwrap();
    drop(socket);
    while counted() == before {
        std::thread::yield_now();
    }
    let count = client.query_one("SELECT count(*) FROM t", &[]).unwrap();
    assert_eq!(count.get::<_, i64>(0), 0);
}
