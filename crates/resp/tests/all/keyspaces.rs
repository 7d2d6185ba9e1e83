//! A keyspace that a program opens several times: at once, and one after the other.

use crate::common::text::answers;
use crate::common::{World, encode, send};
use sardonyx::Tables;
use sardonyx::schema::{IndexKind, Schema, SchemaBuilder, Type, Value};
use sardonyx_resp::{Keyspace, Reply, Session, SessionOptions};
use std::sync::Arc;

fn ask(session: &mut Session, words: &[&str]) -> String {
    answers(&send(session, &encode(words)).0).remove(0)
}

fn session(keyspace: &Arc<Keyspace>) -> Session {
    Session::new(keyspace.clone(), SessionOptions::default())
}

#[test]
fn what_is_open_at_once_is_the_same() {
    let world = World::new(1);
    let other = Keyspace::open(world.keyspace.tables().expect("of its own").clone())
        .expect("opens once more");
    let (mut here, mut there) = (session(&world.keyspace), session(&other));
    assert_ne!(here.id(), there.id());
    // Each new key has a number of its own, in whichever keyspace it is created.
    for n in 0..10 {
        let name = format!("h{n}");
        let session = if n % 2 == 0 { &mut here } else { &mut there };
        assert_eq!(ask(session, &["HSET", &name, "f", &name]), ":1");
    }
    for n in 0..10 {
        let name = format!("h{n}");
        let length = name.len();
        assert_eq!(
            ask(&mut here, &["HSTRLEN", &name, "f"]),
            format!(":{length}")
        );
        assert_eq!(ask(&mut there, &["HLEN", &name]), ":1");
    }
    // Functions are those of both.
    other.register_function("two", |_, _, _| Ok(Reply::Int(2)));
    assert_eq!(ask(&mut here, &["FCALL", "two", "0"]), ":2");
    drop((there, other));
    assert_eq!(ask(&mut here, &["FCALL", "two", "0"]), ":2");
}

#[test]
fn where_an_element_stood_is_only_a_hint() {
    let world = World::new(3);
    let mut one = session(&world.keyspace);
    let mut ask = |words: &[&str]| ask(&mut one, words);
    // The second finds it where the first did.
    ask(&["HSET", "h", "kept", "0", "field", "1"]);
    for _ in 0..2 {
        assert_eq!(ask(&["HGET", "h", "field"]), "\"1\"");
    }
    ask(&["HDEL", "h", "field"]);
    assert_eq!(ask(&["HGET", "h", "field"]), "nil");
    // Another element takes its place in the table, of the same key and of another one.
    ask(&["HSET", "h", "other", "2"]);
    assert_eq!(ask(&["HGET", "h", "field"]), "nil");
    ask(&["HDEL", "h", "other"]);
    ask(&["HSET", "g", "field", "3"]);
    assert_eq!(ask(&["HEXISTS", "h", "field"]), ":0");
    ask(&["HSET", "h", "field", "4"]);
    for _ in 0..2 {
        assert_eq!(ask(&["HGET", "h", "field"]), "\"4\"");
        assert_eq!(ask(&["HGET", "g", "field"]), "\"3\"");
    }
}

#[test]
fn a_row_of_another_program_where_a_list_grows_is_replaced() {
    let world = World::new(5);
    let mut one = session(&world.keyspace);
    let mut ask = |words: &[&str]| ask(&mut one, words);
    assert_eq!(ask(&["RPUSH", "list", "a", "b"]), ":2");
    // The program puts rows of the list's id before its first position and behind its last.
    let tables = world.keyspace.tables().expect("of its own");
    let put = tables.run(|tx| {
        let keys = tx.rows("pg_redis.kv")?;
        let key = keys.get(&[Value::Bytes(b"list".to_vec())])?;
        let id = key.expect("the key").get("id")?.to_value();
        for position in [-1, 2] {
            let row = [
                id.clone(),
                Value::Int(position),
                "no element".as_bytes().into(),
            ];
            tx.rows("pg_redis.kv_list")?.insert_values(&row)?;
        }
        Ok(())
    });
    put.expect("rows");
    assert_eq!(ask(&["LPUSH", "list", "before"]), ":3");
    assert_eq!(ask(&["RPUSH", "list", "behind", "last"]), ":5");
    let elements = r#"["before" "a" "b" "behind" "last"]"#;
    assert_eq!(ask(&["LRANGE", "list", "0", "-1"]), elements);
}

#[test]
fn a_key_is_found_in_whichever_place_of_the_table_it_is() {
    let world = World::new(4);
    let mut one = session(&world.keyspace);
    let mut ask = |words: &[&str]| ask(&mut one, words);
    ask(&["SET", "key", "1"]);
    for _ in 0..2 {
        assert_eq!(ask(&["GET", "key"]), "\"1\"");
    }
    ask(&["DEL", "key"]);
    assert_eq!(ask(&["GET", "key"]), "nil");
    // Another key takes its place in the table.
    ask(&["SET", "other", "2"]);
    assert_eq!(ask(&["GET", "key"]), "nil");
    ask(&["SET", "key", "3"]);
    for _ in 0..2 {
        assert_eq!(ask(&["GET", "key"]), "\"3\"");
        assert_eq!(ask(&["GET", "other"]), "\"2\"");
    }
}

#[test]
fn what_is_opened_again_begins_anew_with_the_keys_that_are_there() {
    let World { keyspace, .. } = World::new(2);
    let tables = keyspace.tables().expect("of its own").clone();
    keyspace.register_function("one", |_, _, _| Ok(Reply::Int(1)));
    let mut first = session(&keyspace);
    drop(keyspace);
    // A session has it open.
    let mut second = session(&Keyspace::open(tables.clone()).expect("opens"));
    assert_eq!(ask(&mut first, &["HSET", "h", "f", "1"]), ":1");
    assert_eq!(ask(&mut second, &["FCALL", "one", "0"]), ":1");
    drop((first, second));
    let mut third = session(&Keyspace::open(tables).expect("opens again"));
    assert_eq!(
        ask(&mut third, &["FCALL", "one", "0"]),
        "-ERR Function not found"
    );
    // A new key takes no number that a key has.
    assert_eq!(ask(&mut third, &["HSET", "other", "f", "2"]), ":1");
    assert_eq!(ask(&mut third, &["HGETALL", "h"]), "[\"f\" \"1\"]");
}

#[test]
fn a_row_of_an_unknown_kind_breaks_only_its_key() {
    let world = World::new(5);
    let mut one = session(&world.keyspace);
    let mut ask = |words: &[&str]| ask(&mut one, words);
    ask(&["SET", "good", "1"]);
    ask(&["HSET", "bad", "f", "1"]);
    ask(&["SET", "worse", "1"]);
    let spoil = |key: &str| {
        let key = Value::Bytes(key.as_bytes().to_vec());
        let spoiled = world.keyspace.tables().expect("of its own").run(|tx| {
            let change = ("kind", Value::Text("nonsense".into()));
            tx.rows("pg_redis.kv")?.update(&[key], &[change])
        });
        assert!(spoiled.expect("a row that other programs can write"));
    };
    spoil("bad");
    spoil("worse");
    let wrong = "-WRONGTYPE Operation against a key holding the wrong kind of value";
    for (words, answer) in [
        (&["GET", "bad"][..], wrong),
        (&["HGETALL", "bad"], wrong),
        (&["INCR", "worse"], wrong),
        (&["LPUSH", "worse", "x"], wrong),
        (&["COPY", "bad", "other"], wrong),
        (&["TYPE", "bad"], "+unknown"),
        (&["OBJECT", "ENCODING", "bad"], "\"unknown\""),
        (&["MGET", "good", "bad"], "[\"1\" nil]"),
        (&["EXISTS", "good", "bad"], ":2"),
        (&["KEYS", "*"], "[\"bad\" \"good\" \"worse\"]"),
        (&["SCAN", "0"], "[\"0\" [\"good\" \"bad\" \"worse\"]]"),
        (&["SCAN", "0", "TYPE", "hash"], "[\"0\" []]"),
        (&["WATCH", "bad"], "+OK"),
        (&["UNWATCH"], "+OK"),
        (&["EXPIRE", "bad", "100"], ":1"),
        (&["PERSIST", "bad"], ":1"),
        (&["RENAME", "bad", "moved"], "+OK"),
        (&["DEL", "moved", "good"], ":2"),
        (&["RANDOMKEY"], "\"worse\""),
        (&["SET", "worse", "2"], "+OK"),
        (&["INCR", "worse"], ":3"),
        (&["DBSIZE"], ":1"),
    ] {
        assert_eq!(ask(words), answer, "{words:?}");
    }
    // Its elements are deleted with it.
    let left = world
        .keyspace
        .tables()
        .expect("of its own")
        .run(|tx| tx.rows("pg_redis.kv_hash")?.count());
    assert_eq!(left.expect("it is read"), 0);
}

/// A table of keys as versions made it in which keys were ordered.
pub fn ordered_keys() -> SchemaBuilder {
    Schema::new()
        .column("key", Type::Bytes)
        .column("id", Type::U64)
        .column("kind", Type::Text)
        .column("value", Type::Bytes)
        .column("length", Type::U64)
        .column("first", Type::I64)
        .column("expires", Type::Timestamp)
        .nullable()
        .primary_key(["key"])
        .ordered()
        .index("by_id", ["id"])
        .ordered()
        .unique()
}

fn kind_of_keys(tables: &Tables, table: &str) -> IndexKind {
    let read = tables.read(|view| Ok(view.rows(table)?.schema().primary.kind));
    read.expect("a table")
}

#[test]
fn keys_of_an_older_version_are_hashed_when_it_is_opened_and_stay_so() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("older.sdx");
    let key = |number: usize| format!("a key with a beginning like all others {number}");
    {
        let tables = Tables::open(&path).expect("a database");
        for table in ["kv", "kv_db3"] {
            tables.create_table(table, ordered_keys()).expect("created");
            let filled = tables.run(|tx| {
                let mut rows = tx.rows(table)?;
                (0..500).try_for_each(|number: usize| {
                    rows.insert(&[
                        ("key", Value::Bytes(key(number).into_bytes())),
                        ("id", Value::Int(number as i128 + 1)),
                        ("kind", Value::Text("string".into())),
                        ("value", Value::Bytes(number.to_string().into_bytes())),
                        ("length", Value::Int(0)),
                        ("first", Value::Int(0)),
                    ])
                })
            });
            filled.expect("filled");
        }
    }
    for opening in 0..2 {
        let tables = Arc::new(Tables::open(&path).expect("the database"));
        let keyspace = Keyspace::open(tables.clone()).expect("the keyspace");
        let mut one = session(&keyspace);
        for database in ["0", "3"] {
            assert_eq!(ask(&mut one, &["SELECT", database]), "+OK");
            for number in 0..500 {
                let found = ask(&mut one, &["GET", &key(number)]);
                assert_eq!(found, format!("\"{number}\""));
            }
            assert_eq!(ask(&mut one, &["GET", &key(500)]), "nil");
            assert_eq!(ask(&mut one, &["DBSIZE"]), ":500");
        }
        assert_eq!(ask(&mut one, &["SET", &key(7), "7"]), "+OK", "{opening}");
        for table in ["pg_redis.kv", "pg_redis.kv_db3"] {
            assert_eq!(kind_of_keys(&tables, table), IndexKind::Hash);
        }
    }
    // A table that is not a table of keys is not turned into one.
    let other = directory.path().join("other.sdx");
    let tables = Arc::new(Tables::open(&other).expect("a database"));
    let schema = ordered_keys().index("by_kind", ["kind"]);
    tables.create_table("pg_redis.kv", schema).expect("created");
    let refused = Keyspace::open(tables.clone()).expect_err("another table");
    assert!(refused.to_string().contains("by_kind"), "{refused}");
    assert_eq!(
        kind_of_keys(&tables, "pg_redis.kv"),
        IndexKind::Ordered,
        "it stays as it is"
    );
}
