//! Databases: keys of one are not keys of another, through all changes of their tables.

use crate::common::text::answers;
use crate::common::{World, encode, send};
use bytes::BytesMut;
use sardonyx::disk::Faults;
use sardonyx_resp::Session;

fn ask(session: &mut Session, text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    answers(&send(session, &encode(&words)).0).remove(0)
}

/// The answers to commands that arrive together.
fn together(session: &mut Session, texts: &[&str]) -> Vec<String> {
    let words = texts.iter().map(|text| text.split(' ').collect::<Vec<_>>());
    let sent: Vec<u8> = words.flat_map(|words| encode(&words)).collect();
    answers(&send(session, &sent).0)
}

fn told(session: &mut Session) -> Vec<String> {
    let mut output = BytesMut::new();
    session.tell(&mut output);
    answers(&output)
}

fn rows(world: &World, table: &str) -> u64 {
    let tables = world.keyspace.tables().expect("of its own");
    let count = tables.run(|tx| tx.rows(table)?.count());
    count.expect("a table")
}

#[test]
fn databases_outlive_the_program_as_they_were_exchanged() {
    let mut world = World::new(1);
    let mut one = world.session();
    ask(&mut one, "SET where 0");
    ask(&mut one, "SELECT 5");
    for text in ["SET where 5", "HSET h f 1", "EXPIRE h 100", "SWAPDB 5 0"] {
        ask(&mut one, text);
    }
    drop(one);
    world = world.restart(Faults::default());
    let mut one = world.session();
    assert_eq!(ask(&mut one, "MGET where h"), "[\"5\" nil]");
    // A new key takes no number that a key of any database has.
    ask(&mut one, "SELECT 3");
    ask(&mut one, "HSET other g 2");
    ask(&mut one, "SELECT 0");
    assert_eq!(ask(&mut one, "HGETALL h"), "[\"f\" \"1\"]");
    ask(&mut one, "SELECT 5");
    assert_eq!(ask(&mut one, "GET where"), "\"0\"");
    // Expired keys are swept in each database.
    ask(&mut one, "SET short x PX 50");
    world.advance(100_001);
    let now = 1_700_000_000_000 + 100_001;
    assert_eq!(world.keyspace.sweep(now, 100).expect("swept"), 2);
    assert_eq!(ask(&mut one, "DBSIZE"), ":1");
    ask(&mut one, "SELECT 0");
    assert_eq!(ask(&mut one, "DBSIZE"), ":1");
    assert_eq!(rows(&world, "pg_redis.kv_hash"), 1);
}

#[test]
fn what_is_undone_leaves_no_table_and_exchanges_none() {
    let world = World::new(2);
    world.keyspace.register_function(
        "fails",
        |_, _, _| Err(String::from("it was to fail").into()),
    );
    let mut one = world.session();
    ask(&mut one, "SET where 0");
    let texts = [
        "MULTI",
        "SELECT 2",
        "SET where 2",
        "SWAPDB 0 2",
        "FCALL fails 0",
        "EXEC",
        "GET where",
    ];
    let answers = together(&mut one, &texts);
    assert!(answers[5].starts_with("-EXECABORT"), "{answers:?}");
    // It is where it was, and so are the keys.
    assert_eq!(answers[6], "\"0\"");
    ask(&mut one, "SELECT 2");
    assert_eq!(ask(&mut one, "DBSIZE"), ":0");
    ask(&mut one, "SET where 2");
    ask(&mut one, "SELECT 0");
    assert_eq!(ask(&mut one, "GET where"), "\"0\"");
    assert_eq!(ask(&mut one, "DBSIZE"), ":1");
}

#[test]
fn commands_of_a_flight_run_where_the_ones_before_them_went() {
    let world = World::new(3);
    let mut one = world.session();
    let texts = [
        "SET k 0", "SELECT 1", "SET k 1", "MULTI", "SELECT 2", "EXEC", "SET k 2", "GET k",
    ];
    assert_eq!(together(&mut one, &texts)[7], "\"2\"");
    let texts = [
        "SELECT 0", "GET k", "SELECT 1", "GET k", "SELECT 2", "GET k",
    ];
    let got = together(&mut one, &texts);
    assert_eq!((&*got[1], &*got[3], &*got[5]), ("\"0\"", "\"1\"", "\"2\""));
    // The commands behind an EXEC that does nothing run in the database in which it began.
    let mut other = world.session();
    ask(&mut one, "WATCH k");
    ask(&mut other, "SELECT 2");
    ask(&mut other, "SET k changed");
    let texts = [
        "MULTI", "SELECT 0", "EXEC", "MULTI", "SELECT 7", "EXEC", "GET k",
    ];
    let got = together(&mut one, &texts);
    assert_eq!((&*got[2], &*got[6]), ("nil", "nil"));
    let info = ask(&mut one, "CLIENT INFO");
    assert!(info.contains(" db=7 "), "{info}");
    let texts = ["SELECT 2", "WATCH k", "GET k"];
    together(&mut one, &texts);
    ask(&mut other, "SET k again");
    let texts = ["MULTI", "SELECT 0", "EXEC", "GET k"];
    assert_eq!(together(&mut one, &texts)[3], "\"again\"");
}

#[test]
fn who_waits_is_served_of_its_own_database() {
    let world = World::new(4);
    let (mut one, mut other) = (world.session(), world.session());
    ask(&mut one, "SELECT 1");
    let waits = |session: &mut Session, text: &str| {
        let words: Vec<&str> = text.split(' ').collect();
        assert!(send(session, &encode(&words)).0.is_empty());
    };
    waits(&mut one, "BLPOP l 0");
    ask(&mut other, "RPUSH l zero");
    assert_eq!(told(&mut one), [""; 0]);
    ask(&mut other, "SELECT 1");
    ask(&mut other, "RPUSH l one");
    assert_eq!(told(&mut one), ["[\"l\" \"one\"]"]);
    // A list that is moved, and a database that comes.
    waits(&mut one, "BLPOP l 0");
    ask(&mut other, "SELECT 0");
    assert_eq!(ask(&mut other, "MOVE l 1"), ":1");
    assert_eq!(told(&mut one), ["[\"l\" \"zero\"]"]);
    waits(&mut one, "BLMOVE l m LEFT LEFT 0");
    ask(&mut other, "RPUSH l swapped");
    ask(&mut other, "SWAPDB 0 1");
    assert_eq!(told(&mut one), ["\"swapped\""]);
    assert_eq!(ask(&mut one, "LRANGE m 0 -1"), "[\"swapped\"]");
    assert_eq!(ask(&mut other, "EXISTS m l"), ":0");
}

#[test]
fn keys_of_one_are_deleted_with_their_elements() {
    let world = World::new(5);
    let mut one = world.session();
    ask(&mut one, "HSET kept f 1");
    ask(&mut one, "SELECT 1");
    for text in [
        "HSET h f 1 g 2",
        "SADD s a b",
        "ZADD z 1 m",
        "RPUSH l x y",
        "SET str 1 EX 9",
    ] {
        ask(&mut one, text);
    }
    assert_eq!(ask(&mut one, "FLUSHDB"), "+OK");
    assert_eq!(ask(&mut one, "DBSIZE"), ":0");
    while world.keyspace.sweep(0, 2).expect("swept") == 2 {}
    for table in [
        "pg_redis.kv_set",
        "pg_redis.kv_zset",
        "pg_redis.kv_list",
        "pg_redis.kv_removed",
        "pg_redis.kv_db1",
        "pg_redis.kv_db1_expiry",
    ] {
        assert_eq!(rows(&world, table), 0, "{table}");
    }
    ask(&mut one, "SELECT 0");
    assert_eq!(ask(&mut one, "HGETALL kept"), "[\"f\" \"1\"]");
    ask(&mut one, "FLUSHDB");
    assert_eq!(rows(&world, "pg_redis.kv_hash"), 0);
}

#[cfg(feature = "lua")]
#[test]
fn where_a_script_goes_it_goes_alone() {
    let world = World::new(6);
    let mut one = world.session();
    let script =
        "redis.call('SELECT', 3); redis.call('SET', KEYS[1], 'three'); return redis.call('DBSIZE')";
    let words = ["EVAL", script, "1", "k"];
    assert_eq!(answers(&send(&mut one, &encode(&words)).0), [":1"]);
    assert_eq!(ask(&mut one, "DBSIZE"), ":0");
    let words = ["EVAL", "return redis.pcall('SELECT', 16)", "0"];
    let refused = answers(&send(&mut one, &encode(&words)).0).remove(0);
    assert!(refused.contains("DB index is out of range"), "{refused}");
    ask(&mut one, "SELECT 3");
    assert_eq!(ask(&mut one, "GET k"), "\"three\"");
}

/// A flight asks for the memory of all its keys before its first command runs: by then the tables are others.
#[test]
fn keys_of_one_flight_are_found_where_the_commands_before_have_put_them() {
    let world = World::new(7);
    let mut one = world.session();
    for text in [
        "MSET a 1 b 2",
        "SELECT 4",
        "MSET a 3 c 4",
        "SADD s x",
        "SELECT 0",
    ] {
        ask(&mut one, text);
    }
    let texts = [
        "SADD s x y",
        "SADD s y",
        "SWAPDB 0 4",
        "MGET a b c",
        "MSET b 5 a 6 b 7",
        "SADD s x",
        "SADD s y",
        "RENAME a d",
        "MSETNX a 8 e 9",
        "MSETNX e 10 f 11",
        "FLUSHDB",
        "MSETNX a 12 e 13 a 14",
        "SADD s x",
        "MGET a d e",
        "DEL a s a nothing",
        "DBSIZE",
        "SELECT 4",
        "MGET a b c",
        "SCARD s",
        "DBSIZE",
    ];
    let expected = [
        ":2",
        ":0",
        "+OK",
        "[\"3\" nil \"4\"]",
        "+OK",
        ":0",
        ":1",
        "+OK",
        ":1",
        ":0",
        "+OK",
        ":1",
        ":1",
        "[\"14\" nil \"13\"]",
        ":2",
        ":1",
        "+OK",
        "[\"1\" \"2\" nil]",
        ":2",
        ":3",
    ];
    assert_eq!(together(&mut one, &texts), expected);
}
