//! Values that leave by `DUMP` and come by `RESTORE`: every kind comes back as it was, and a refused payload changes
//! nothing.

use crate::common::text::answers;
use crate::common::{World, encode, send};
use redis_protocol::resp2::types::BytesFrame;
use sardonyx::disk::Faults;
use sardonyx_resp::{Session, SessionOptions, rdb};

fn ask(session: &mut Session, parts: &[&[u8]]) -> String {
    answers(&send(session, &encode(parts)).0).remove(0)
}

fn say(session: &mut Session, line: &str) -> String {
    let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
    ask(session, &words)
}

/// The bytes of an answer that is a text.
fn bulk(session: &mut Session, line: &str) -> Option<Vec<u8>> {
    let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
    let (answer, _) = send(session, &encode(&words));
    let decoded = redis_protocol::resp2::decode::decode_bytes(&answer.freeze());
    match decoded.expect("an answer").expect("a whole one").0 {
        BytesFrame::BulkString(bytes) => Some(bytes.to_vec()),
        _ => None,
    }
}

/// For each kind, a key, the command that makes it, and the command that shows it.
const KINDS: [(&str, &[&str], &str); 6] = [
    ("s", &["SET s hello"], "GET s"),
    ("l", &["RPUSH l a b 3", "LPUSH l z"], "LRANGE l 0 -1"),
    ("t", &["SADD t a b 1"], "SMEMBERS t"),
    (
        "z",
        &["ZADD z 1.5 a -inf b 2 c"],
        "ZRANGE z 0 -1 WITHSCORES",
    ),
    ("h", &["HSET h f 1 g two"], "HGETALL h"),
    (
        "x",
        &[
            "XADD x 1-1 a 1",
            "XADD x 1-2 a 2 b 3",
            "XADD x 7-0 c 4",
            "XDEL x 1-2",
            "XGROUP CREATE x g 0",
            "XREADGROUP GROUP g ann COUNT 1 STREAMS x >",
            "XGROUP CREATE x other $",
        ],
        "XINFO STREAM x FULL",
    ),
];

#[test]
fn each_kind_comes_back_as_it_was_and_is_durable() {
    let mut world = World::new(1);
    for (key, makes, shows) in KINDS {
        let mut session = world.session();
        for line in makes {
            let answer = say(&mut session, line);
            assert!(!answer.starts_with('-'), "{line}: {answer}");
        }
        let before = say(&mut session, shows);
        let payload = bulk(&mut session, &format!("DUMP {key}")).expect("a payload");
        assert_eq!(say(&mut session, &format!("DEL {key}")), ":1");
        let restored = ask(&mut session, &[b"RESTORE", key.as_bytes(), b"0", &payload]);
        assert_eq!(restored, "+OK", "{key}");
        assert_eq!(say(&mut session, shows), before);
        world = world.restart(Faults::default());
        let mut session = world.session();
        assert_eq!(say(&mut session, shows), before, "{key} after a failure");
        assert_eq!(bulk(&mut session, &format!("DUMP {key}")), Some(payload));
    }
    let mut session = world.session();
    // The list and the stream go on as they were.
    assert_eq!(say(&mut session, "LPOP l"), "\"z\"");
    assert_eq!(say(&mut session, "XACK x g 1-1"), ":1");
    assert_eq!(
        say(&mut session, "XADD x 6-0 a b"),
        "-ERR The ID specified in XADD is equal or smaller than the target stream top item"
    );
}

#[test]
fn a_key_that_is_there_and_times_are_as_in_redis() {
    let world = World::new(1);
    let mut session = world.session();
    let payload = rdb::encode(&rdb::Value::String(b"new".to_vec()));
    let mut restore = |words: &[&[u8]]| {
        let parts = [&[&b"RESTORE"[..], b"k"], words].concat();
        let answer = ask(&mut session, &parts);
        (
            answer,
            say(&mut session, "GET k"),
            say(&mut session, "PTTL k"),
        )
    };
    let is = |answer: &str, value: &str, time: &str| {
        (answer.to_string(), value.to_string(), time.to_string())
    };
    assert_eq!(restore(&[b"0", &payload]), is("+OK", "\"new\"", ":-1"));
    assert_eq!(
        restore(&[b"0", &payload]).0,
        "-BUSYKEY Target key name already exists."
    );
    assert_eq!(
        restore(&[b"2569", &payload, b"REPLACE"]),
        is("+OK", "\"new\"", ":2569")
    );
    assert_eq!(
        restore(&[b"1700000003000", &payload, b"absttl", b"replace"]),
        is("+OK", "\"new\"", ":3000")
    );
    assert_eq!(
        restore(&[b"-1", &payload, b"REPLACE"]).0,
        "-ERR Invalid TTL value, must be >= 0"
    );
    assert_eq!(
        restore(&[b"0", &payload, b"REPLACE", b"FREQ", b"256"]).0,
        "-ERR Invalid FREQ value, must be >= 0 and <= 255"
    );
    assert_eq!(restore(&[b"0", &payload, b"NOT"]).0, "-ERR syntax error");
    // Its time is over: it goes.
    assert_eq!(
        restore(&[b"1", &payload, b"ABSTTL", b"REPLACE"]),
        is("+OK", "nil", ":-2")
    );
    assert_eq!(say(&mut session, "DUMP none"), "nil");
    let migrate = say(&mut session, "MIGRATE h 1 k 0 5");
    assert!(
        migrate.starts_with("-ERR MIGRATE is not supported"),
        "{migrate}"
    );
}

#[test]
fn what_is_no_value_or_does_not_fit_changes_nothing() {
    let world = World::new(1);
    let mut session = world.session();
    say(&mut session, "SET k old");
    let long = vec![b'a'; sardonyx_resp::KEY_BYTES_MAX + 1];
    let members = vec![b"short".to_vec(), long];
    let payload = rdb::encode(&rdb::Value::String(b"new".to_vec()));
    let mut damaged = payload.clone();
    damaged[2] ^= 1;
    // A hash with a field without a value, under a right checksum.
    let mut odd = b"\x10\x0a\x0a\0\0\0\x01\0\x81a\x02\xff\x0a\0".to_vec();
    odd.extend(rdb::checksum(0, &odd).to_le_bytes());
    for (payload, wanted) in [
        (damaged, "-ERR DUMP payload version or checksum are wrong"),
        (
            b"short".to_vec(),
            "-ERR DUMP payload version or checksum are wrong",
        ),
        (odd, "-ERR Bad data format"),
        (
            rdb::encode(&rdb::Value::Set(members)),
            "-ERR a key, field or member has at most 4000 bytes",
        ),
    ] {
        let answer = ask(
            &mut session,
            &[b"RESTORE", b"k", b"0", &payload, b"REPLACE"],
        );
        assert!(answer.starts_with(wanted), "{answer}");
        assert_eq!(say(&mut session, "GET k"), "\"old\"");
        assert_eq!(say(&mut session, "DBSIZE"), ":1");
    }
}

/// A list of so many numbers, in two bytes each, as Redis packs them.
fn packed_list(count: usize) -> Vec<u8> {
    let mut payload = b"\x12\x01\x02\x80".to_vec();
    payload.extend((count as u32 * 2 + 7).to_be_bytes());
    payload.extend([0, 0, 0, 0, 0xff, 0xff]);
    payload.extend([1, 1].repeat(count));
    payload.extend(b"\xff\x0a\x00");
    payload.extend(rdb::checksum(0, &payload).to_le_bytes());
    payload
}

#[test]
fn the_payloads_of_an_exec_have_one_bound() {
    let world = World::new(1);
    let mut session = world.session_with(SessionOptions {
        answer_bytes_max: 2_000_000,
        ..SessionOptions::default()
    });
    let payload = packed_list(10_000);
    let parts = |key: &'static str| [&b"RESTORE"[..], key.as_bytes(), b"0"];
    let mut exec = |keys: &[&'static str]| {
        assert_eq!(say(&mut session, "MULTI"), "+OK");
        for key in keys {
            let line = [&parts(key)[..], &[&payload[..]]].concat();
            assert_eq!(ask(&mut session, &line), "+QUEUED");
        }
        let answer = say(&mut session, "EXEC");
        (answer, say(&mut session, "DBSIZE"))
    };
    let (answer, there) = exec(&["a", "b", "c"]);
    assert!(answer.contains("more than 2000000 bytes"), "{answer}");
    assert_eq!(there, ":0");
    assert_eq!(exec(&["a"]), ("[+OK]".to_string(), ":1".to_string()));
    assert_eq!(say(&mut session, "LLEN a"), ":10000");
}

#[cfg(feature = "lua")]
#[test]
fn elements_of_payloads_are_steps_of_a_script() {
    let world = World::new(1);
    let mut session = world.session();
    let payload = packed_list(10_000);
    // Of 20,000,000 steps, 200,000 are of the payload's elements.
    let mut run = |count: &str| {
        let script =
            format!("for i = 1, {count} do end return redis.call('RESTORE', KEYS[1], 0, ARGV[1])");
        let answer = ask(
            &mut session,
            &[b"EVAL", script.as_bytes(), b"1", b"k", &payload],
        );
        (answer, say(&mut session, "EXISTS k"))
    };
    let (answer, there) = run("19900000");
    assert!(
        answer.starts_with("-ERR the script has taken more than"),
        "{answer}"
    );
    assert_eq!(there, ":0");
    assert_eq!(run("19700000"), ("+OK".to_string(), ":1".to_string()));
}
