//! Streams, beyond the transcripts and the model: clients that wait, later deletions, and databases of earlier
//! versions.

use crate::common::text::answers;
use crate::common::{START, World, encode, send};
use bytes::BytesMut;
use sardonyx::Tables;
use sardonyx::disk::Faults;
use sardonyx::low_level::Committed;
use sardonyx_resp::{Keyspace, Session, SessionOptions};
use std::sync::Arc;

fn raw(session: &mut Session, text: &str) -> BytesMut {
    let words: Vec<&str> = text.split(' ').collect();
    send(session, &encode(&words)).0
}

fn ask(session: &mut Session, text: &str) -> String {
    let mut answers = answers(&raw(session, text));
    answers.pop().unwrap_or_default()
}

/// The messages that a session receives without asking, those of its timeout included.
fn told(session: &mut Session) -> Vec<String> {
    let mut output = BytesMut::new();
    session.tell(&mut output);
    session.time_out(&mut output);
    answers(&output)
}

/// The number of rows of each table of streams.
fn rows(world: &World) -> [u64; 4] {
    let tables = world.keyspace.tables().expect("of its own");
    let names = [
        "pg_redis.kv_stream",
        "pg_redis.kv_group",
        "pg_redis.kv_consumer",
        "pg_redis.kv_pending",
    ];
    names.map(|name| tables.read(|view| view.rows(name)?.count()).expect("read"))
}

fn sweep(world: &World, most: usize) -> usize {
    world.keyspace.sweep(START, most).expect("swept")
}

#[test]
fn what_was_delivered_to_a_client_that_waited_is_pending_after_a_crash() {
    let world = World::new(1);
    let (mut one, mut other) = (world.session(), world.session());
    ask(&mut other, "XGROUP CREATE s g $ MKSTREAM");
    assert_eq!(
        ask(&mut one, "XREADGROUP GROUP g c BLOCK 0 STREAMS s >"),
        ""
    );
    assert_eq!(ask(&mut other, "XADD s 1-1 f v"), "\"1-1\"");
    assert_eq!(told(&mut one), ["[[\"s\" [[\"1-1\" [\"f\" \"v\"]]]]]"]);
    drop((one, other));
    let world = world.restart(Faults::default());
    let mut session = world.session();
    let pending = ask(&mut session, "XPENDING s g");
    assert_eq!(pending, "[:1 \"1-1\" \"1-1\" [[\"c\" \"1\"]]]");
    // Its last id is known without its entries.
    ask(&mut session, "XTRIM s MAXLEN 0");
    assert!(ask(&mut session, "XADD s 1-1 f v").starts_with("-ERR The ID specified"));
}

#[test]
fn a_client_waits_only_if_it_says_so_and_as_long_as_it_says() {
    let world = World::new(1);
    let (mut one, mut other) = (world.session(), world.session());
    // A place of a command before is none of this one's.
    ask(&mut other, "RPUSH l x");
    assert_eq!(ask(&mut one, "BLPOP l 0"), "[\"l\" \"x\"]");
    assert_eq!(ask(&mut one, "XREAD STREAMS s 0"), "nil");
    assert!(!one.waits_for_elements());
    assert_eq!(ask(&mut one, "XREAD BLOCK 500 STREAMS s $"), "");
    assert_eq!(one.wait_limit().map(|left| left.as_millis()), Some(500));
    assert!(ask(&mut other, "INFO clients").contains("blocked_clients:1"));
    world.advance(500);
    assert_eq!(told(&mut one), ["nil"]);
    // It has read the earlier entry before it waits again.
    assert_eq!(ask(&mut other, "XADD s 1-1 f v"), "\"1-1\"");
    assert_eq!(ask(&mut one, "XREAD BLOCK 0 STREAMS s $"), "");
    let id = one.id();
    assert_eq!(ask(&mut other, &format!("CLIENT UNBLOCK {id} ERROR")), ":1");
    assert_eq!(
        told(&mut one),
        ["-UNBLOCKED client unblocked via CLIENT UNBLOCK"]
    );
    let refused = ask(&mut other, "XREADGROUP GROUP g c BLOCK 0 STREAMS none >");
    assert!(
        refused.starts_with("-NOGROUP") && !other.waits_for_elements(),
        "{refused}"
    );
    // An entry that is deleted in the transaction that adds it ends no wait.
    assert_eq!(ask(&mut one, "XREAD BLOCK 0 STREAMS s $"), "");
    for text in ["MULTI", "XADD s 2-1 f v", "XDEL s 2-1"] {
        ask(&mut other, text);
    }
    assert_eq!(ask(&mut other, "EXEC"), "[\"2-1\" :1]");
    assert!(told(&mut one).is_empty());
    ask(&mut other, "XADD s 3-1 f v");
    assert_eq!(told(&mut one), ["[[\"s\" [[\"3-1\" [\"f\" \"v\"]]]]]"]);
}

#[test]
fn with_the_third_version_what_is_read_is_a_map() {
    let world = World::new(1);
    let mut session = world.session();
    raw(&mut session, "HELLO 3");
    raw(&mut session, "XADD s 1-1 f v");
    assert_eq!(
        raw(&mut session, "XREAD STREAMS s 0"),
        "%1\r\n$1\r\ns\r\n*1\r\n*2\r\n$3\r\n1-1\r\n*2\r\n$1\r\nf\r\n$1\r\nv\r\n"
    );
    assert_eq!(raw(&mut session, "XREAD STREAMS s $"), "_\r\n");
    raw(&mut session, "XGROUP CREATE s g 0");
    let groups = raw(&mut session, "XINFO GROUPS s");
    assert!(groups.starts_with(b"*1\r\n%6\r\n"), "{groups:?}");
}

#[test]
fn a_reader_of_a_group_is_told_that_the_streams_time_has_come() {
    let world = World::new(1);
    let (mut one, mut two, mut other) = (world.session(), world.session(), world.session());
    ask(&mut other, "XGROUP CREATE s g $ MKSTREAM");
    ask(&mut other, "PEXPIRE s 1000");
    ask(&mut one, "XREADGROUP GROUP g c BLOCK 0 STREAMS s >");
    ask(&mut two, "XREAD BLOCK 0 STREAMS s $");
    assert_eq!(sweep(&world, 10), 0);
    assert!(told(&mut one).is_empty());
    world.keyspace.sweep(START + 1000, 10).expect("swept");
    assert_eq!(
        told(&mut one),
        ["-UNBLOCKED the stream key no longer exists"]
    );
    assert!(told(&mut two).is_empty() && two.waits_for_elements());
    ask(&mut other, "XADD s 1-1 f v");
    assert_eq!(told(&mut two), ["[[\"s\" [[\"1-1\" [\"f\" \"v\"]]]]]"]);
}

/// A stream of many entries, all of which are pending.
fn fill(session: &mut Session, key: &str, entries: u64) {
    for number in 1..=entries {
        ask(session, &format!("XADD {key} {number}-1 f v"));
    }
    ask(session, &format!("XGROUP CREATE {key} g 0"));
    ask(session, &format!("XREADGROUP GROUP g c STREAMS {key} >"));
}

#[test]
fn a_large_group_and_a_large_stream_go_a_part_at_a_time_and_their_ids_are_not_used_again() {
    let world = World::new(1);
    let mut session = world.session();
    fill(&mut session, "s", 150);
    assert_eq!(rows(&world), [150, 1, 1, 150]);
    assert_eq!(ask(&mut session, "XGROUP DESTROY s g"), ":1");
    // The name is free.
    assert_eq!(ask(&mut session, "XGROUP CREATE s g 149"), "+OK");
    assert_eq!(ask(&mut session, "XPENDING s g"), "[:0 nil nil nil]");
    assert_eq!(rows(&world)[3], 150 - 64);
    drop(session);
    let world = world.restart(Faults::default());
    let mut session = world.session();
    // A new group has a number that no row has.
    assert_eq!(ask(&mut session, "XGROUP CREATE s h 0"), "+OK");
    assert_eq!(ask(&mut session, "XPENDING s h"), "[:0 nil nil nil]");
    while sweep(&world, 20) == 20 {}
    assert_eq!(rows(&world), [150, 2, 0, 0]);
    ask(&mut session, "XREADGROUP GROUP h c STREAMS s >");
    assert_eq!(ask(&mut session, "COPY s t"), ":1");
    assert_eq!(rows(&world), [300, 4, 2, 300]);
    assert_eq!(ask(&mut session, "DEL s"), ":1");
    // It is another one, of which nothing is deleted later.
    fill(&mut session, "s", 3);
    while sweep(&world, 20) == 20 {}
    assert_eq!(rows(&world), [153, 3, 2, 153]);
    assert_eq!(ask(&mut session, "XLEN t"), ":150");
    assert!(ask(&mut session, "XPENDING t h").starts_with("[:150 "));
    // Few entries, but much that is pending.
    assert_eq!(ask(&mut session, "XTRIM t MAXLEN 1"), ":149");
    assert_eq!(ask(&mut session, "UNLINK t s"), ":2");
    while sweep(&world, 20) == 20 {}
    assert_eq!(rows(&world), [0; 4]);
}

#[test]
fn what_is_too_large_is_refused_and_changes_nothing() {
    let world = World::new(1);
    let options = SessionOptions {
        answer_bytes_max: 20_000,
        ..SessionOptions::default()
    };
    let (mut small, mut session) = (world.session_with(options), world.session());
    let half = "x".repeat(8 << 20);
    let refused = ask(&mut session, &format!("XADD s 1-1 {half} {half}"));
    assert_eq!(refused, "-ERR Elements are too large to be stored");
    assert_eq!(ask(&mut session, "EXISTS s"), ":0");
    let long = "n".repeat(4001);
    let name = ask(&mut session, &format!("XGROUP CREATE s {long} 0 MKSTREAM"));
    assert!(name.contains("at most 4000 bytes"), "{name}");
    assert_eq!(ask(&mut session, "EXISTS s"), ":0");
    fill(&mut session, "s", 100);
    ask(&mut session, "XGROUP SETID s g 0");
    for text in [
        "XRANGE s - +",
        "XREAD STREAMS s 0",
        "XREADGROUP GROUP g d STREAMS s >",
        "XREADGROUP GROUP g c STREAMS s 0",
        "XAUTOCLAIM s g d 0 0",
        "XPENDING s g - + 100",
        "XINFO STREAM s FULL COUNT 0",
    ] {
        let refused = ask(&mut small, text);
        assert!(
            refused.contains("ask for less at once"),
            "{text}: {refused}"
        );
    }
    let pending = ask(&mut session, "XPENDING s g");
    assert!(pending.ends_with("[[\"c\" \"100\"]]]"), "{pending}");
    // The ids of entries that are deleted take room, too.
    let options = SessionOptions {
        answer_bytes_max: 1000,
        ..SessionOptions::default()
    };
    let mut smaller = world.session_with(options);
    ask(&mut session, "XTRIM s MAXLEN 0");
    let refused = ask(&mut smaller, "XAUTOCLAIM s g d 0 0");
    assert!(refused.contains("ask for less at once"), "{refused}");
    assert_eq!(ask(&mut session, "XPENDING s g"), pending);
}

#[cfg(feature = "lua")]
#[test]
fn scripts_read_streams_and_do_not_wait() {
    let world = World::new(1);
    let mut session = world.session();
    let mut eval = |script: &str| {
        let sent = encode(&["EVAL", script, "0"]);
        answers(&send(&mut session, &sent).0).remove(0)
    };
    let added = eval("return redis.call('xadd', 's', '1-1', 'f', 'v')");
    assert_eq!(added, "\"1-1\"");
    let read = "[[\"s\" [[\"1-1\" [\"f\" \"v\"]]]]]";
    assert_eq!(
        eval("return redis.call('xread', 'streams', 's', '0')"),
        read
    );
    let map = "redis.setresp(3) return redis.call('xread', 'streams', 's', '0').map.s[1][2][2]";
    assert_eq!(eval(map), "\"v\"");
    let refused = eval("return redis.pcall('XREAD', 'block', '0', 'streams', 's', '0').err");
    assert_eq!(
        refused,
        "\"ERR XREAD command is not allowed with BLOCK option from scripts\""
    );
}

#[test]
fn a_database_from_before_there_were_streams_is_read_and_opened_as_it_is() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("x.sdx");
    let tables = Arc::new(Tables::open(&path).expect("it opens"));
    let wait = |session: &mut Session, text: &str| {
        let words: Vec<&str> = text.split(' ').collect();
        let (mut input, mut output) = (encode(&words)[..].into(), BytesMut::new());
        let flight = session.take(&mut input).expect("a command");
        sardonyx_base::parking::wait(session.run(flight, &mut output));
        answers(&output).remove(0)
    };
    let keyspace = Keyspace::open(tables.clone()).expect("it opens");
    let mut session = Session::new(keyspace, SessionOptions::default());
    assert_eq!(wait(&mut session, "RPUSH l x"), ":1");
    drop(session);
    for name in [
        "pg_redis.kv_stream",
        "pg_redis.kv_group",
        "pg_redis.kv_consumer",
        "pg_redis.kv_pending",
    ] {
        tables.drop_table(name).expect("it is there");
    }
    let follower = Arc::new(Tables::follow(&path).expect("it is followed"));
    let patience = std::time::Duration::from_secs(120);
    let position = tables.position().expect("a position");
    follower.wait_for(position, patience).expect("it follows");
    let takes = follower.clone();
    let followed = Keyspace::follow(Arc::new(move || {
        let snapshot = takes.snapshot().map_err(|error| error.to_string())?;
        Ok(Committed {
            snapshot,
            group: 0,
            version: 0,
        })
    }));
    let mut reader = Session::new(followed, SessionOptions::default());
    assert_eq!(wait(&mut reader, "LRANGE l 0 -1"), "[\"x\"]");
    assert_eq!(wait(&mut reader, "XREAD STREAMS s 0"), "nil");
    let refused = wait(&mut reader, "XREAD BLOCK 0 STREAMS s 0");
    assert!(refused.contains("that has the database open"), "{refused}");
    follower.close();
    let keyspace = Keyspace::open(tables).expect("it opens");
    let mut session = Session::new(keyspace, SessionOptions::default());
    assert_eq!(wait(&mut session, "XADD s 1-1 f v"), "\"1-1\"");
    assert_eq!(wait(&mut session, "LRANGE l 0 -1"), "[\"x\"]");
}
