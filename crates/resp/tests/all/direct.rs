//! Flights that run where they were parsed, by the session's public calls: no answer is given before it is durable, large ones
//! are given in parts, and rows are read alike in both ways.

use crate::common::text::answers;
use crate::common::{World, encode, now, send};
use bytes::BytesMut;
use sardonyx::schema::{Type, Value};
use sardonyx_resp::{Continue, Session, SessionOptions};

fn sent(flight: &[&str]) -> Vec<u8> {
    let words = |text: &&str| encode(&text.split(' ').collect::<Vec<_>>());
    flight.iter().flat_map(words).collect()
}

#[test]
fn the_rest_of_a_flight_with_large_answers_waits_until_they_are_sent() {
    let world = World::new(1);
    let mut session = world.session_with(SessionOptions {
        flight_answer_bytes_max: 1000,
        ..SessionOptions::default()
    });
    send(&mut session, &encode(&["SET", "a", &"x".repeat(900)]));
    let mut input = BytesMut::from(&sent(&["GET a", "GET a", "INCR n", "GET n"])[..]);
    let mut given = || {
        let flight = session.take(&mut input).expect("commands");
        let mut output = BytesMut::new();
        now(session.run(flight, &mut output));
        session.sent();
        answers(&output)
    };
    assert_eq!(given().len(), 2, "two answers fill it");
    assert_eq!(given(), [":1", "\"1\""]);
    assert!(given().is_empty());
}

#[test]
fn i1_no_answer_is_given_before_it_is_durable() {
    let world = World::new(1);
    let mut session = world.session();
    send(&mut session, &sent(&["SET a 1", "GET a"]));
    world.disk.crash();
    let (output, end) = send(&mut session, &sent(&["SET a 2", "GET a", "SADD s x"]));
    let given = answers(&output);
    assert!(
        given.len() == 3 && given.iter().all(|text| text.starts_with("-ERR")),
        "{given:?}"
    );
    assert_eq!(end, Continue::Close);
    assert_eq!(session.take_errors(), 3);
}

/// Keys, members and values of all lengths that are stored differently: in a row, in a cell, in several cells.
const LENGTHS: [usize; 9] = [1, 12, 13, 16, 17, 24, 25, 600, 3900];

/// Sets what is not there, and reads all of it.
fn read_all(session: &mut Session, beginning: &str) {
    let mut ask = |words: &[&str]| answers(&send(session, &encode(words)).0).remove(0);
    for length in LENGTHS {
        let name = &beginning.repeat(length)[..length];
        let value = &"v".repeat(length * 3);
        ask(&["SET", name, value]);
        assert_eq!(ask(&["GET", name]), format!("\"{value}\""), "{length}");
        assert_eq!(
            ask(&["INCR", name]),
            "-ERR value is not an integer or out of range"
        );
        assert_eq!(
            ask(&["SADD", name, "x"]).split(' ').next(),
            Some("-WRONGTYPE")
        );
        ask(&["SADD", &format!("set {beginning}"), name]);
        ask(&["HSET", &format!("hash {beginning}"), name, value]);
        ask(&["ZADD", &format!("zset {beginning}"), "1", name]);
    }
    for length in LENGTHS {
        let name = &beginning.repeat(length)[..length];
        let value = &"v".repeat(length * 3);
        assert_eq!(ask(&["GET", name]), format!("\"{value}\""), "{length}");
        assert_eq!(ask(&["SADD", &format!("set {beginning}"), name]), ":0");
        assert_eq!(
            ask(&["HSET", &format!("hash {beginning}"), name, value]),
            ":0"
        );
        assert_eq!(
            ask(&["ZADD", &format!("zset {beginning}"), "1", name]),
            ":0"
        );
        // The same length, and all but the end.
        let other = &format!("{}~", &name[1..]);
        assert_eq!(ask(&["GET", other]), "nil");
        assert_eq!(ask(&["SADD", &format!("set {beginning}"), other]), ":1");
        assert_eq!(ask(&["SREM", &format!("set {beginning}"), other]), ":1");
        // At the place of its hint there is no row now.
        assert_eq!(ask(&["SADD", &format!("set {beginning}"), other]), ":1");
        assert_eq!(ask(&["SREM", &format!("set {beginning}"), other]), ":1");
    }
    assert_eq!(ask(&["SET", "time", "1", "PX", "50"]), "+OK");
    assert_eq!(ask(&["INCR", "time"]), ":2");
    assert_eq!(ask(&["PTTL", "time"]), ":50");
}

#[test]
fn rows_of_keys_and_elements_are_read_alike_before_and_after_their_tables_get_a_column() {
    let world = World::new(1);
    let mut session = world.session();
    read_all(&mut session, "ab");
    world.advance(100);
    assert_eq!(
        answers(&send(&mut session, &sent(&["GET time", "INCR time"])).0),
        ["nil", ":1"]
    );
    let tables = world.keyspace.tables().expect("of its own");
    for table in ["kv", "kv_set", "kv_hash", "kv_zset"] {
        let added = tables.run(|tx| {
            tx.add_column(
                &format!("pg_redis.{table}"),
                "note",
                Type::U64,
                true,
                Value::Null,
            )
        });
        added.expect("a column");
    }
    // Rows of both shapes.
    read_all(&mut session, "ab");
    read_all(&mut session, "cd");
    send(&mut session, &sent(&["FLUSHALL"]));
    read_all(&mut session, "ab");
}
