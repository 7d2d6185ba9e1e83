//! Events of keys, as a client that listens hears them.

use crate::common::text::answers;
use crate::common::{World, encode, send};
use bytes::BytesMut;
use sardonyx_base::channels::{Event, Over};
use sardonyx_resp::{Session, SessionOptions};
use std::task::{Context, Poll, Waker};

fn ask(session: &mut Session, text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let (output, _) = send(session, &encode(&words));
    match output.is_empty() {
        true => String::new(),
        false => answers(&output).remove(0),
    }
}

/// The events that a listener receives, each with its key.
fn heard(session: &mut Session) -> Vec<String> {
    let mut output = BytesMut::new();
    session.tell(&mut output);
    let messages = answers(&output).into_iter();
    let messages = messages.map(|message| {
        let mut words = message.trim_matches(['[', ']']).split(' ').rev();
        let payload = words
            .next()
            .unwrap_or_default()
            .trim_matches('"')
            .to_string();
        let channel = words.next().unwrap_or_default().trim_matches('"');
        let (_, event) = channel.split_once(':').unwrap_or_default();
        format!("{event} {payload}")
    });
    messages.collect()
}

fn listener(world: &World, setting: &str, pattern: &str) -> Session {
    let mut session = world.session();
    assert_eq!(
        ask(
            &mut session,
            &format!("CONFIG SET notify-keyspace-events {setting}")
        ),
        "+OK"
    );
    ask(&mut session, &format!("PSUBSCRIBE {pattern}"));
    session
}

/// Commands, and the events that each is to have.
const EVENTS: &[(&str, &str)] = &[
    ("SET a 1", "new a, set a"),
    ("SET a 1 EX 100", "set a, expire a"),
    ("SETNX a 1", ""),
    ("SETNX b 1", "new b, set b"),
    ("SETEX b 10 x", "set b, expire b"),
    ("MSET a 1 c 2", "set a, new c, set c"),
    ("MSETNX a 1 d 2", ""),
    ("GETSET a 2", "set a"),
    ("GETDEL a", "del a"),
    ("GETEX b", ""),
    ("GETEX b EX 100", "expire b"),
    ("GETEX b PERSIST", "persist b"),
    ("GETEX b PERSIST", ""),
    ("GETEX b PXAT 1", "del b"),
    ("APPEND c x", "append c"),
    ("SETRANGE c 0 y", "setrange c"),
    ("SETRANGE none 0 \"\"", "new none, setrange none"),
    ("SETBIT c 0 1", "setbit c"),
    ("BITFIELD c SET u8 0 1", "setbit c"),
    ("BITOP NOT d c", "new d, set d"),
    ("BITOP AND d nosuch", "del d"),
    ("INCR n", "new n, incrby n"),
    ("DECRBY n 2", "incrby n"),
    ("INCRBYFLOAT n 1.5", "incrbyfloat n"),
    ("DEL n nosuch", "del n"),
    ("EXPIRE c 100", "expire c"),
    ("PERSIST c", "persist c"),
    ("PERSIST c", ""),
    ("RENAME c e", "new e, rename_from c, rename_to e"),
    ("COPY e c", "new c, copy_to c"),
    ("EXPIRE e -1", "del e"),
    ("UNLINK c none", "del c, del none"),
    ("HSET h f 1 g 2", "new h, hset h"),
    ("HSETNX h f 1", ""),
    ("HINCRBY h f 1", "hincrby h"),
    ("HINCRBYFLOAT h f 1", "hincrbyfloat h"),
    ("HDEL h nosuch", ""),
    ("HDEL h f g", "hdel h, del h"),
    ("RPUSH l a b c", "new l, rpush l"),
    ("LPUSHX l z", "lpush l"),
    ("LPUSHX nosuch z", ""),
    ("LSET l 0 y", "lset l"),
    ("LINSERT l BEFORE a x", "linsert l"),
    ("LREM l 0 nosuch", ""),
    ("LREM l 0 x", "lrem l"),
    ("LTRIM l 0 2", "ltrim l"),
    ("LPOP l", "lpop l"),
    ("LMOVE l m LEFT RIGHT", "new m, rpush m, lpop l"),
    ("RPOPLPUSH l m", "lpush m, rpop l, del l"),
    ("LMPOP 1 m LEFT COUNT 2", "lpop m, del m"),
    ("RPUSH l a", "new l, rpush l"),
    ("LTRIM l 5 6", "ltrim l, del l"),
    ("SADD s a b c", "new s, sadd s"),
    ("SADD s a", ""),
    ("SMOVE s t a", "srem s, new t, sadd t"),
    ("SREM s nosuch", ""),
    ("SINTERSTORE u s t", ""),
    ("SUNIONSTORE u s t", "new u, sunionstore u"),
    ("SDIFFSTORE u nosuch", "del u"),
    ("SREM s b c", "srem s, del s"),
    ("SPOP t", "spop t, del t"),
    ("ZADD z 1 a 2 b 3 c", "new z, zadd z"),
    ("ZADD z 1 a", ""),
    ("ZADD z INCR 1 a", "zincr z"),
    ("ZINCRBY z 1 a", "zincr z"),
    ("ZRANGESTORE y z 0 -1", "new y, zrangestore y"),
    ("ZUNIONSTORE y 1 z", "zunionstore y"),
    ("ZINTERSTORE y 2 z nosuch", "del y"),
    ("ZREM z nosuch", ""),
    ("ZREMRANGEBYRANK z 0 0", "zremrangebyrank z"),
    ("ZPOPMAX z", "zpopmax z"),
    ("ZPOPMIN z", "zpopmin z, del z"),
    ("GET nosuch", "keymiss nosuch"),
    ("HGET nosuch f", "keymiss nosuch"),
    ("PFADD p a", "new p, pfadd p"),
    ("PFADD p a", ""),
    ("PFMERGE q p", "new q, pfadd q"),
    ("GEOADD g 1 1 a 2 2 b", "new g, zadd g"),
    ("GEOADD g 1 1 a", ""),
    (
        "GEOSEARCHSTORE to g FROMLONLAT 1 1 BYRADIUS 1 km",
        "new to, geosearchstore to",
    ),
    ("GEORADIUS g 1 1 1 km STORE to", "georadiusstore to"),
    ("GEOSEARCHSTORE to g FROMLONLAT 9 9 BYRADIUS 1 km", "del to"),
    ("SORT g BY nosort STORE to", "new to, sortstore to"),
    ("SORT nosuch STORE to", "del to"),
    ("SET z 1", "new z, set z"),
    ("SADD w 1", "new w, sadd w"),
    ("SET w 1", "set w"),
    ("FLUSHDB", ""),
];

#[test]
fn each_command_has_its_events() {
    let world = World::new(1);
    let mut listener = listener(&world, "EAnm", "__keyevent@0__:*");
    let mut one = world.session();
    for (command, wanted) in EVENTS {
        ask(&mut one, command);
        assert_eq!(heard(&mut listener).join(", "), *wanted, "{command}");
    }
}

#[test]
fn serving_a_client_misses_no_key_and_what_is_undone_has_no_event() {
    let world = World::new(1);
    let mut listener = listener(&world, "EAm", "__keyevent@0__:*");
    let small = SessionOptions {
        answer_bytes_max: 10_000,
        ..SessionOptions::default()
    };
    let (mut one, mut other) = (world.session_with(small), world.session());
    for text in ["SET x 1", "XADD s 1-1 f v"] {
        ask(&mut other, text);
    }
    for score in 0..20 {
        let member = "x".repeat(1000);
        ask(&mut other, &format!("ZADD big {score} {score}{member}"));
    }
    assert_eq!(ask(&mut one, "XREAD BLOCK 0 STREAMS s $"), "");
    heard(&mut listener);
    for text in ["MULTI", "DEL s", "GET x", "EXEC"] {
        ask(&mut other, text);
    }
    assert_eq!(heard(&mut listener), ["del s"]);
    ask(&mut other, &format!("CLIENT UNBLOCK {}", one.id()));
    one.tell(&mut BytesMut::new());
    assert_eq!(ask(&mut one, "BZMPOP 0 1 a MIN COUNT 100"), "");
    ask(&mut other, "RENAME big a");
    assert_eq!(heard(&mut listener), ["rename_from big", "rename_to a"]);
    let mut output = BytesMut::new();
    one.tell(&mut output);
    assert!(answers(&output)[0].contains("ask for less at once"));
}

#[test]
fn events_are_of_their_classes_databases_and_forms() {
    let world = World::new(2);
    let mut listener = listener(&world, "Kl", "__key*");
    let mut one = world.session();
    ask(&mut one, "SELECT 5");
    for text in ["SET a 1", "RPUSH l x y", "LPOP l", "DEL l"] {
        ask(&mut one, text);
    }
    let mut output = BytesMut::new();
    listener.tell(&mut output);
    let of = |event: &str| format!(r#"["pmessage" "__key*" "__keyspace@5__:l" "{event}"]"#);
    assert_eq!(answers(&output), [of("rpush"), of("lpop")]);
    let mut three = world.session();
    ask(&mut three, "CONFIG SET notify-keyspace-events KEg");
    ask(&mut one, "MOVE a 0");
    let mut output = BytesMut::new();
    listener.tell(&mut output);
    let shown = answers(&output).join("\n");
    for wanted in [
        r#""__keyspace@5__:a" "move_from""#,
        r#""__keyevent@5__:move_from" "a""#,
        r#""__keyspace@0__:a" "move_to""#,
        r#""__keyevent@0__:move_to" "a""#,
    ] {
        assert!(shown.contains(wanted), "{wanted} in {shown}");
    }
    ask(&mut three, "CONFIG SET notify-keyspace-events KA");
    ask(&mut three, "CONFIG SET notify-keyspace-events A");
    ask(&mut one, "SET a 1");
    assert_eq!(heard(&mut listener), [""; 0]);
}

#[test]
fn an_event_is_a_part_of_its_transaction() {
    let world = World::new(3);
    world.keyspace.register_function(
        "fails",
        |_, _, _| Err(String::from("it was to fail").into()),
    );
    let mut listener = listener(&world, "EA", "__keyevent@0__:*");
    let mut one = world.session();
    for text in ["MULTI", "SET a 1", "FCALL fails 0", "EXEC"] {
        ask(&mut one, text);
    }
    assert_eq!(heard(&mut listener), [""; 0]);
    for text in ["MULTI", "SET a 1", "LPUSH a x", "INCR a"] {
        ask(&mut one, text);
    }
    assert_eq!(heard(&mut listener), [""; 0]);
    ask(&mut one, "EXEC");
    assert_eq!(heard(&mut listener), ["set a", "incrby a"]);
    // For a client that waits, too.
    let mut waits = world.session();
    ask(&mut waits, "BLPOP l 0");
    ask(&mut one, "RPUSH l x");
    assert_eq!(heard(&mut listener), ["rpush l", "lpop l", "del l"]);
    // An expiry is reported when the key is deleted: by a command that meets it, and by the sweep.
    ask(&mut one, "SET short 1 PX 10");
    ask(&mut one, "SET other 1 PX 10");
    heard(&mut listener);
    world.advance(10);
    ask(&mut one, "SETNX short 2");
    assert_eq!(heard(&mut listener), ["expired short", "set short"]);
    let now = crate::common::START + 10;
    assert_eq!(world.keyspace.sweep(now, 10).expect("swept"), 1);
    // The event is sent when that is durable, which the next command waits for.
    ask(&mut one, "SET last 1");
    assert_eq!(heard(&mut listener), ["expired other", "set last"]);
}

#[test]
fn an_event_fails_no_command_however_many_listen() {
    let world = World::new(4);
    let mut one = world.session();
    ask(&mut one, "CONFIG SET notify-keyspace-events KA");
    ask(&mut one, "RPUSH l x y");
    // The copies of one event take more than the messages of a transaction may.
    let rest = "x".repeat(3_900);
    let mut greedy = [world.session(), world.session()];
    for (client, session) in greedy.iter_mut().enumerate() {
        for first in (0..8_500).step_by(500) {
            let patterns = first..first + 500;
            let patterns = patterns.map(|number| format!("[_{client}{number}{rest}]_key*"));
            let words = std::iter::once("PSUBSCRIBE".to_string()).chain(patterns);
            send(session, &encode(&words.collect::<Vec<_>>()));
        }
    }
    for command in ["MULTI", "COPY l to", "LPOP l"] {
        ask(&mut one, command);
    }
    assert_eq!(ask(&mut one, "EXEC"), "[:1 \"x\"]");
    assert_eq!(ask(&mut one, "LRANGE to 0 -1"), "[\"x\" \"y\"]");
    // Sessions that did not read so much are ended.
    let context = Context::from_waker(Waker::noop());
    for session in &greedy {
        let over = Poll::Ready(Event::Over(Over::Behind));
        assert_eq!(session.poll_messages(&context), over);
    }
    assert_eq!(ask(&mut one, "LPOP l"), "\"y\"");
}

#[test]
fn what_a_refused_command_of_an_exec_has_deleted_is_told() {
    let world = World::new(5);
    let mut listener = listener(&world, "EA", "__keyevent@0__:*");
    let mut one = world.session();
    ask(&mut one, "RPUSH short x");
    ask(&mut one, "PEXPIRE short 10");
    heard(&mut listener);
    world.advance(10);
    for command in ["MULTI", "LSET short 0 y"] {
        ask(&mut one, command);
    }
    assert_eq!(ask(&mut one, "EXEC"), "[-ERR no such key]");
    assert_eq!(heard(&mut listener), ["expired short"]);
}
