//! Bounds of the memory that a client may have the server keep or gather, and of the changes of a flight: watched keys,
//! commands that wait for `EXEC`, answers, deletions.

use crate::common::text::answers;
use crate::common::{World, encode, now, send};
use bytes::BytesMut;
use sardonyx_base::memory::Budget;
use sardonyx_resp::{Session, SessionOptions};
use std::sync::Arc;

fn ask(session: &mut Session, words: &[impl AsRef<[u8]>]) -> String {
    answers(&send(session, &encode(words)).0).remove(0)
}

/// `count` words behind others.
fn words(before: &[&str], count: usize, word: impl Fn(usize) -> String) -> Vec<String> {
    let before = before.iter().map(ToString::to_string);
    before.chain((0..count).map(word)).collect()
}

#[test]
fn so_many_keys_are_watched_and_no_more() {
    let world = World::new(1);
    let (mut session, mut other) = (world.session(), world.session());
    let many = |count| words(&["WATCH"], count, |key| format!("k{key}"));
    let refused = "-ERR more than 10000 keys are watched";
    assert_eq!(ask(&mut session, &many(10_001)), refused);
    // None of them is.
    let change = |other: &mut Session, key: &str| ask(other, &["INCR", key]);
    assert_eq!(change(&mut other, "k0"), ":1");
    let exec = |session: &mut Session| {
        ask(session, &["MULTI"]);
        ask(session, &["SET", "done", "1"]);
        ask(session, &["EXEC"])
    };
    assert_eq!(exec(&mut session), "[+OK]");
    // A key that is named twice counts once, in one command and in several; the first state seen counts.
    assert_eq!(
        ask(&mut session, &words(&["WATCH"], 20_000, |_| "k1".into())),
        "+OK"
    );
    assert_eq!(ask(&mut session, &many(10_000)), "+OK");
    assert_eq!(change(&mut other, "k1"), ":1");
    assert_eq!(ask(&mut session, &["WATCH", "k1"]), "+OK");
    assert_eq!(ask(&mut session, &["WATCH", "one more"]), refused);
    assert_eq!(exec(&mut session), "nil");
    assert_eq!(ask(&mut session, &["WATCH", "one more"]), "+OK");
}

#[test]
fn commands_that_wait_keep_nothing_of_what_they_were_received_into() {
    let world = World::new(1);
    let mut session = world.session();
    let mut input = BytesMut::with_capacity(16 << 10);
    let received = input.capacity();
    let mut output = BytesMut::new();
    for sent in [encode(&["MULTI"]), encode(&["SET", "a", "b"])] {
        input.extend_from_slice(&sent);
        let flight = session.take(&mut input).expect("commands");
        now(session.run(flight, &mut output));
    }
    assert_eq!(answers(&output), ["+OK", "+QUEUED"]);
    // No other owner has the buffer.
    assert!(input.try_reclaim(received), "the buffer is kept");
    assert_eq!(ask(&mut session, &["EXEC"]), "[+OK]");
}

#[test]
fn parts_count_among_what_waits() {
    let world = World::new(1);
    let mut session = world.session_with(SessionOptions {
        transaction_bytes_max: 10_000,
        ..SessionOptions::default()
    });
    assert_eq!(ask(&mut session, &["MULTI"]), "+OK");
    // 1,000 empty parts: 6 bytes each as they are sent, and the place of each.
    let empty = words(&["MGET"], 1_000, |_| String::new());
    let refused = "-ERR more than 10000 bytes between MULTI and EXEC";
    assert_eq!(ask(&mut session, &empty), refused);
}

#[test]
fn answers_have_a_bound_and_what_wrote_before_is_undone() {
    let world = World::new(1);
    let mut session = world.session_with(SessionOptions {
        answer_bytes_max: 10_000,
        ..SessionOptions::default()
    });
    let ask = |session: &mut Session, text: &str| {
        let words: Vec<&str> = text.split(' ').collect();
        self::ask(session, &words)
    };
    let large = "x".repeat(1000);
    for name in ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"] {
        ask(&mut session, &format!("SET s{name} {large}"));
        ask(&mut session, &format!("HSET h {name} {large}"));
        ask(&mut session, &format!("RPUSH l {name}{large}"));
        ask(&mut session, &format!("SADD s {name}{large}"));
        ask(&mut session, &format!("ZADD z 1 {name}{large}"));
    }
    let refused =
        "ERR more than 10000 bytes would be gathered for the answer: ask for less at once";
    for command in [
        "HRANDFIELD h -100 WITHVALUES",
        "HRANDFIELD h 12 WITHVALUES",
        "SRANDMEMBER s -100",
        "ZRANDMEMBER z -100",
        "MGET sa sa sa sa sa sa sa sa sa sa",
        "HMGET h a a a a a a a a a a",
        "HGETALL h",
        "HVALS h",
        "HSCAN h 0",
        "LRANGE l 0 -1",
        "LPOP l 12",
        "RPOP l 12",
        "SMEMBERS s",
        "SSCAN s 0",
        "SUNION s",
        "SINTER s",
        "SDIFF s",
        "SPOP s 12",
        "ZRANGE z 0 -1",
        "ZRANGEBYSCORE z 0 2",
        "ZRANGEBYLEX z - +",
        "ZUNION 2 z z",
        "ZPOPMIN z 12",
    ] {
        assert_eq!(
            ask(&mut session, command),
            format!("-{refused}"),
            "{command}"
        );
    }
    // Nothing of it was done.
    for (command, count) in [("LLEN l", 12), ("SCARD s", 12), ("ZCARD z", 12)] {
        assert_eq!(ask(&mut session, command), format!(":{count}"));
    }
    // Smaller answers are given: each by itself, and as often as there is room.
    assert!(ask(&mut session, "HRANDFIELD h -9 WITHVALUES").starts_with('['));
    assert!(ask(&mut session, "HRANDFIELD h -100").starts_with('['));
    assert!(ask(&mut session, "LRANGE l 0 8").starts_with('['));
    assert!(ask(&mut session, "MGET sa sa sa sa sa sa sa sa sa").starts_with('['));
    // The answers of an EXEC are one answer.
    ask(&mut session, "MULTI");
    ask(&mut session, "SET new 1");
    for _ in 0..10 {
        ask(&mut session, "GET sa");
    }
    assert_eq!(
        ask(&mut session, "EXEC"),
        format!("-EXECABORT Transaction discarded: {refused} (in 'get')")
    );
    assert_eq!(ask(&mut session, "EXISTS new"), ":0");
}

#[test]
fn commands_that_wait_count_among_the_memory_of_all() {
    let world = World::new(1);
    let memory = Arc::new(Budget::default());
    let options = || SessionOptions {
        memory: memory.clone(),
        ..SessionOptions::default()
    };
    let (mut one, mut other) = (world.session_with(options()), world.session_with(options()));
    memory.set_bytes_max(1 << 20);
    let large = "x".repeat(400 << 10);
    for session in [&mut one, &mut other] {
        assert_eq!(ask(session, &["MULTI"]), "+OK");
    }
    assert_eq!(ask(&mut one, &["SET", "a", &large]), "+QUEUED");
    assert_eq!(ask(&mut one, &["SET", "b", &large]), "+QUEUED");
    let refused =
        "-OOM answers and rows of all clients take as much memory as they may, 1048576 bytes";
    assert_eq!(ask(&mut other, &["SET", "c", &large]), refused);
    let aborted = "-EXECABORT Transaction discarded because of previous errors.";
    assert_eq!(ask(&mut other, &["EXEC"]), aborted);
    assert_eq!(ask(&mut one, &["EXEC"]), "[+OK +OK]");
    // A large answer that there is no memory for is refused; the memory taken is given back.
    memory.set_bytes_max(512 << 10);
    let refused =
        "-OOM answers and rows of all clients take as much memory as they may, 524288 bytes";
    assert_eq!(ask(&mut one, &["GET", "a"]), refused);
    assert_eq!(ask(&mut one, &["STRLEN", "a"]), ":409600");
    memory.set_bytes_max(4 << 20);
    assert!(ask(&mut other, &["GET", "a"]).len() > large.len());
    for session in [&mut one, &mut other] {
        assert_eq!(ask(session, &["DISCARD"]), "-ERR DISCARD without MULTI");
    }
    assert_eq!(memory.taken(), 0);
}

#[test]
fn what_sort_gets_takes_room_and_no_memory_before() {
    let world = World::new(1);
    let mut session = world.session_with(SessionOptions {
        answer_bytes_max: 1 << 20,
        ..SessionOptions::default()
    });
    let members = words(&["SADD", "s"], 10_000, |number| number.to_string());
    for part in members[2..].chunks(5_000) {
        let part = [&["SADD".to_string(), "s".to_string()], part].concat();
        assert_eq!(ask(&mut session, &part), ":5000");
    }
    // The product of both would be 12 GB of places alone.
    for get in ["#", "none_*", "none"] {
        let gets = words(&["SORT", "s"], 50_000, |_| get.to_string());
        let gets: Vec<String> = (gets.into_iter().enumerate())
            .flat_map(|(at, word)| match at {
                0..2 => vec![word],
                _ => vec!["GET".to_string(), word],
            })
            .collect();
        let refused = ask(&mut session, &gets);
        assert!(refused.contains("ask for less at once"), "{refused}");
    }
    let few = ["SORT", "s", "LIMIT", "0", "2", "GET", "#", "GET", "none_*"];
    assert_eq!(ask(&mut session, &few), r#"["0" nil "1" nil]"#);
}

#[test]
fn merged_hyperloglogs_and_found_places_take_room() {
    let world = World::new(1);
    let mut session = world.session_with(SessionOptions {
        answer_bytes_max: 100_000,
        ..SessionOptions::default()
    });
    let refused =
        "-ERR more than 100000 bytes would be gathered for the answer: ask for less at once";
    ask(&mut session, &["PFADD", "h", "a", "b"]);
    for (command, count) in [("PFCOUNT", 9), ("PFMERGE", 10)] {
        let keys = words(&[command], count, |_| "h".to_string());
        assert_eq!(ask(&mut session, &keys), refused, "{command}");
    }
    let keys = words(&["PFCOUNT"], 8, |_| "h".to_string());
    assert_eq!(ask(&mut session, &keys), ":2");
    for number in 0..1000 {
        let longitude = format!("{}", f64::from(number) / 10.0);
        ask(&mut session, &["GEOADD", "g", &longitude, "10", &longitude]);
    }
    let search = |more: &[&'static str]| {
        let all = ["GEOSEARCH", "g", "FROMLONLAT", "50", "10", "BYBOX"];
        let size = ["30000", "10000", "km"];
        [&all[..], &size, more].concat()
    };
    assert!(ask(&mut session, &search(&[])).starts_with('['));
    let with = search(&["WITHCOORD", "WITHDIST", "WITHHASH"]);
    assert_eq!(ask(&mut session, &with), refused);
    // Places that are passed take nothing.
    let near = ["GEOSEARCH", "g", "FROMLONLAT", "50", "10", "BYBOX"];
    let near = [&near[..], &["12", "12", "km", "WITHCOORD"]].concat();
    assert!(ask(&mut session, &near).starts_with(r#"[["50" ["#));
}

#[test]
fn answers_of_the_connection_count_among_the_memory_of_all() {
    let world = World::new(1);
    let memory = Arc::new(Budget::default());
    let mut session = world.session_with(SessionOptions {
        memory: memory.clone(),
        answer_bytes_max: 300_000,
        ..SessionOptions::default()
    });
    let large = "x".repeat(100 << 10);
    let echoes = |session: &mut Session, count: usize| {
        let sent = encode(&["ECHO", &large]).repeat(count);
        answers(&send(session, &sent).0)
    };
    let all = echoes(&mut session, 4);
    let are_refused: Vec<_> = all.iter().map(|answer| answer.starts_with('-')).collect();
    assert_eq!(are_refused, [false, false, true, true]);
    assert!(all[3].contains("more than 300000 bytes"), "{}", all[3]);
    ask(&mut session, &["MULTI"]);
    ask(&mut session, &["SET", "a", "1"]);
    for _ in 0..2000 {
        assert_eq!(ask(&mut session, &["CLIENT", "INFO"]), "+QUEUED");
    }
    let refused = ask(&mut session, &["EXEC"]);
    // They are answered when it has run: those for which there is no room are errors in their places.
    assert!(refused.starts_with("[+OK \"id="), "{refused}");
    assert!(refused.len() < 500_000 && refused.contains("-ERR more than 300000 bytes"));
    assert_eq!(ask(&mut session, &["EXISTS", "a"]), ":1");
    // The memory of sent answers is given back.
    session.sent();
    assert_eq!(memory.taken(), 0);
    memory.set_bytes_max(300 << 10);
    let all = echoes(&mut session, 2);
    assert!(all[0].starts_with('"') && all[1].starts_with("-OOM"));
}

#[test]
fn an_exec_without_memory_for_its_answer_leaves_the_session_in_its_database() {
    let world = World::new(1);
    let memory = Arc::new(Budget::default());
    let mut session = world.session_with(SessionOptions {
        memory: memory.clone(),
        ..SessionOptions::default()
    });
    ask(&mut session, &["SET", "here", "1"]);
    for undone in [true, false] {
        ask(&mut session, &["MULTI"]);
        ask(&mut session, &["SELECT", "1"]);
        // Whose answers take no room while they are gathered.
        for _ in 0..5_000 {
            ask(&mut session, &["EXISTS", "nosuch"]);
        }
        if undone {
            memory.set_bytes_max(1);
        }
        let answer = ask(&mut session, &["EXEC"]);
        assert_eq!(answer.starts_with("-OOM"), undone, "{}", answer.len());
        memory.set_bytes_max(usize::MAX);
        let is_there = if undone { ":1" } else { ":0" };
        assert_eq!(ask(&mut session, &["EXISTS", "here"]), is_there);
    }
}

#[test]
fn a_flight_that_deletes_many_elements_lets_others_go_between_its_parts() {
    let world = World::new(1);
    let (mut session, mut other) = (world.session(), world.session());
    let keys = 600;
    for key in 0..keys {
        let add = words(&["SADD", &format!("s{key}")], 60, |member| {
            format!("m{member}")
        });
        assert_eq!(ask(&mut session, &add), ":60");
    }
    // `(received, parts)`: how many keys another client sees after each part.
    let mut parts = |sent: Vec<Vec<String>>| {
        let mut input = BytesMut::new();
        sent.iter()
            .for_each(|words| input.extend_from_slice(&encode(words)));
        let (mut all, mut seen) = (Vec::new(), Vec::new());
        loop {
            let flight = session.take(&mut input).expect("commands");
            if flight.is_empty() {
                break (all, seen);
            }
            let mut output = BytesMut::new();
            now(session.run(flight, &mut output));
            session.sent();
            all.extend(answers(&output));
            seen.push(ask(&mut other, &["DBSIZE"]));
        }
    };
    let delete = |key: usize| vec!["DEL".to_string(), format!("s{key}")];
    let (all, seen) = parts((0..keys).map(delete).collect());
    assert_eq!(all, vec![":1"; keys]);
    assert!(seen.len() > 2, "{seen:?}");
    assert_eq!(seen.last().map(String::as_str), Some(":0"));
    let set = |key: usize| vec!["SET".to_string(), format!("k{key}"), "text".into()];
    let (all, seen) = parts((0..1024).map(set).collect());
    assert_eq!(
        (all, seen),
        (vec!["+OK".to_string(); 1024], vec![":1024".to_string()])
    );
}
