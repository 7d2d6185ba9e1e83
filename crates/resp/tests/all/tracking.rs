//! Keys that clients cache: no cached value is older than the last message, whatever command changed its key; and the
//! options of `CLIENT TRACKING`.

use crate::common::{World, encode, send};
use bytes::BytesMut;
use sardonyx_base::memory::Budget;
use sardonyx_base::random::Random;
use sardonyx_resp::{Authenticate, Authenticated, Permission, Session, SessionOptions};
use std::collections::BTreeMap;
use std::sync::Arc;

fn ask(session: &mut Session, words: &str) -> String {
    let words: Vec<&str> = words.split(' ').collect();
    let (output, _) = send(session, &encode(&words));
    String::from_utf8_lossy(&output).into_owned()
}

fn told(session: &mut Session) -> String {
    let mut output = BytesMut::new();
    session.tell(&mut output);
    String::from_utf8_lossy(&output).into_owned()
}

/// A session of the third version of the protocol that tracks.
fn tracking(world: &World, options: &str) -> Session {
    let mut session = world.session();
    assert!(ask(&mut session, "HELLO 3").starts_with('%'));
    let line = format!("CLIENT TRACKING ON {options}");
    assert_eq!(ask(&mut session, line.trim_end()), "+OK\r\n", "{options}");
    session
}

/// The message that keys have changed.
fn changed(keys: &[&str]) -> String {
    let keys: String = keys
        .iter()
        .map(|key| format!("${}\r\n{key}\r\n", key.len()))
        .collect();
    let count = keys.matches('$').count();
    format!(">2\r\n$10\r\ninvalidate\r\n*{count}\r\n{keys}")
}

const ALL: &str = ">2\r\n$10\r\ninvalidate\r\n_\r\n";

#[test]
fn a_key_that_was_read_is_told_once() {
    let world = World::new(1);
    let (mut one, mut other) = (tracking(&world, ""), world.session());
    ask(&mut other, "SET k 1");
    assert_eq!(told(&mut one), "");
    ask(&mut one, "GET k");
    ask(&mut other, "SET k 2");
    ask(&mut other, "SET k 3");
    assert_eq!(told(&mut one), changed(&["k"]));
    // Behind the answer, which may be older.
    ask(&mut one, "MGET k none");
    ask(&mut other, "SET none 1");
    let answer = ask(&mut one, "GET k");
    assert_eq!(answer, format!("$1\r\n3\r\n{}", changed(&["none"])));
    // An undone transaction changes nothing.
    for words in ["MULTI", "SET k 4", "FCALL nosuch 0"] {
        ask(&mut other, words);
    }
    let undone = ask(&mut other, "EXEC");
    assert!(undone.contains("-ERR"), "{undone}");
    // Without such a function only its own command fails, and the others take effect.
    assert_eq!(told(&mut one), changed(&["k"]));
    // In a transaction keys are read when it runs.
    for words in ["MULTI", "GET k"] {
        ask(&mut one, words);
    }
    ask(&mut other, "SET k 5");
    assert_eq!(told(&mut one), "");
    ask(&mut one, "EXEC");
    ask(&mut other, "DEL k");
    assert_eq!(told(&mut one), changed(&["k"]));
    ask(&mut one, "GET k");
    ask(&mut one, "CLIENT TRACKING OFF");
    ask(&mut other, "SET k 6");
    assert_eq!(told(&mut one), "");
}

#[test]
fn whole_databases_and_scripts_are_told() {
    let world = World::new(1);
    let (mut one, mut other) = (tracking(&world, ""), world.session());
    for words in ["FLUSHALL", "FLUSHDB", "SWAPDB 0 1"] {
        ask(&mut other, "SET k 1");
        ask(&mut one, "GET k");
        ask(&mut other, words);
        assert_eq!(told(&mut one), ALL, "{words}");
    }
    if !cfg!(feature = "lua") {
        return;
    }
    let mut script = |text: &str| {
        let line = encode(&["EVAL", text, "1", "declared"]);
        send(&mut one, &line);
        ask(&mut other, "SET declared 1");
        told(&mut one)
    };
    // Only a script that reads has read its keys.
    assert_eq!(script("redis.call('set', 'x', 1)"), "");
    assert_eq!(
        script("return redis.call('get', 'x')"),
        changed(&["declared"])
    );
}

/// A flight whose script reads nothing, and whose next command reads the script's key.
#[test]
#[cfg(feature = "lua")]
fn a_key_of_a_script_that_a_command_behind_it_reads_is_tracked() {
    let world = World::new(1);
    let (mut one, mut other) = (tracking(&world, ""), world.session());
    let lines = [
        encode(&["EVAL", "return 1", "2", "k", "unread"]),
        encode(&["GET", "k"]),
    ];
    let (output, _) = send(&mut one, &lines.concat());
    assert_eq!(&output[..], b":1\r\n_\r\n");
    ask(&mut other, "MSET k 1 unread 1");
    assert_eq!(told(&mut one), changed(&["k"]));
}

#[test]
fn a_key_that_is_read_again_while_its_message_waits_is_told() {
    let world = World::new(1);
    let (mut one, mut other) = (tracking(&world, ""), world.session());
    ask(&mut one, "MGET a b");
    ask(&mut other, "MSET a 1 b 1 a 2");
    let both = [changed(&["a"]), changed(&["b"])].concat();
    // The messages are behind the answer, each key once.
    assert_eq!(ask(&mut one, "GET a"), format!("$1\r\n2\r\n{both}"));
    assert_eq!(told(&mut one), "");
    ask(&mut one, "GET a");
    ask(&mut other, "MSET a 3 b 3");
    assert_eq!(told(&mut one), changed(&["a"]));
    // A client that stops to track leaves nothing behind.
    ask(&mut one, "MGET a b c");
    ask(&mut one, "CLIENT TRACKING OFF");
    assert!(ask(&mut other, "INFO").contains("tracking_total_keys:0\r\n"));
    ask(&mut one, "CLIENT TRACKING ON");
    ask(&mut one, "MGET a b c");
    drop(one);
    assert!(ask(&mut other, "INFO").contains("tracking_total_keys:0\r\n"));
}

/// A flight that reads a key after its own change, which is not reported to it.
#[test]
fn a_key_that_is_read_behind_an_own_change_is_tracked() {
    let world = World::new(1);
    let (mut one, mut other) = (tracking(&world, "NOLOOP"), world.session());
    let lines = [
        encode(&["GET", "k"]),
        encode(&["SET", "k", "1"]),
        encode(&["GET", "k"]),
    ];
    let (output, _) = send(&mut one, &lines.concat());
    assert_eq!(&output[..], b"_\r\n+OK\r\n$1\r\n1\r\n");
    ask(&mut other, "SET k 2");
    assert_eq!(told(&mut one), changed(&["k"]));
}

#[test]
fn prefixes_are_told_together_and_own_changes_left_out() {
    let world = World::new(1);
    let mut one = tracking(&world, "BCAST PREFIX a: PREFIX b: NOLOOP");
    let mut other = world.session();
    ask(&mut other, "MSET a:1 1 a:2 2 c:1 3 b:1 4");
    let both = format!("{}{}", changed(&["a:1", "a:2"]), changed(&["b:1"]));
    assert_eq!(told(&mut one), both);
    ask(&mut one, "SET a:1 5");
    assert_eq!(told(&mut one), "");
    // A key is sent once, however many commands of a flight have changed it, in between those of another prefix.
    let flight = [
        "INCR a:2",
        "INCR b:1",
        "INCR a:2",
        "DEL b:1",
        "MSET a:2 1 a:1 1",
        "INCR a:2",
    ];
    let flight = flight.map(|words| encode(&words.split(' ').collect::<Vec<_>>()));
    send(&mut other, &flight.concat());
    assert_eq!(told(&mut one), both);
    for (options, error) in [
        (
            "BCAST PREFIX a",
            "Prefix 'a' overlaps with an existing prefix 'a:'",
        ),
        (
            "BCAST PREFIX x PREFIX xy",
            "overlaps with another provided prefix 'xy'",
        ),
        ("", "You can't switch BCAST mode on/off"),
        (
            "BCAST OPTIN",
            "OPTIN and OPTOUT are not compatible with BCAST",
        ),
        ("PREFIX x", "PREFIX option requires BCAST mode"),
        ("BCAST NOSUCH", "syntax error"),
        ("BCAST REDIRECT 999", "does not exist"),
        ("BCAST REDIRECT 0", "does not exist"),
    ] {
        let line = format!("CLIENT TRACKING ON {options}");
        let answer = ask(&mut one, line.trim_end());
        assert!(
            answer.starts_with("-ERR") && answer.contains(error),
            "{options}: {answer}"
        );
    }
    let facts = ask(&mut one, "CLIENT TRACKINGINFO");
    for fact in ["on", "bcast", "noloop", "a:", "b:"] {
        assert!(
            facts.contains(&format!("\r\n{fact}\r\n")),
            "{fact}: {facts}"
        );
    }
    // A new connection tracks nothing.
    ask(&mut one, "RESET");
    assert_eq!(ask(&mut one, "CLIENT GETREDIR"), ":-1\r\n");
    ask(&mut other, "SET a:1 6");
    assert_eq!(told(&mut one), "");
    assert!(ask(&mut other, "INFO").contains("tracking_clients:0\r\n"));
}

#[test]
fn a_client_chooses_commands() {
    let world = World::new(1);
    let mut other = world.session();
    let mut read = |session: &mut Session, choice: &str| {
        let answer = ask(session, choice);
        assert_eq!(answer, "+OK\r\n", "{choice}");
        ask(session, "GET k");
        ask(&mut other, "SET k 1");
        told(session)
    };
    let mut one = tracking(&world, "OPTIN");
    assert_eq!(read(&mut one, "CLIENT TRACKING ON OPTIN"), "");
    assert_eq!(read(&mut one, "CLIENT CACHING YES"), changed(&["k"]));
    assert_eq!(read(&mut one, "CLIENT TRACKING ON OPTIN"), "");
    let wrong = ask(&mut one, "CLIENT CACHING NO");
    assert!(
        wrong.contains("only valid when tracking is enabled in OPTOUT mode"),
        "{wrong}"
    );
    let mut one = tracking(&world, "OPTOUT");
    assert_eq!(read(&mut one, "CLIENT TRACKING ON OPTOUT"), changed(&["k"]));
    assert_eq!(read(&mut one, "CLIENT CACHING NO"), "");
    let facts = |session: &mut Session| ask(session, "CLIENT TRACKINGINFO");
    ask(&mut one, "CLIENT CACHING NO");
    assert!(facts(&mut one).contains("caching-no"));
    ask(&mut one, "PING");
    assert!(!facts(&mut one).contains("caching-no"));
}

#[test]
fn messages_are_redirected_to_a_client_until_it_is_gone() {
    let world = World::new(1);
    let mut target = world.session();
    ask(&mut target, "SUBSCRIBE __redis__:invalidate");
    let mut other = world.session();
    let mut one = tracking(&world, &format!("REDIRECT {}", target.id()));
    let message = "*3\r\n$7\r\nmessage\r\n$20\r\n__redis__:invalidate\r\n";
    for (words, keys) in [("SET k 1", "*1\r\n$1\r\nk\r\n"), ("FLUSHALL", "$-1\r\n")] {
        ask(&mut one, "GET k");
        ask(&mut other, words);
        assert_eq!(told(&mut one), "");
        assert_eq!(told(&mut target), format!("{message}{keys}"), "{words}");
    }
    assert_eq!(
        ask(&mut one, "CLIENT GETREDIR"),
        format!(":{}\r\n", target.id())
    );
    let listed = ask(&mut other, "CLIENT LIST");
    assert!(
        listed.contains(&format!("redir={}", target.id())),
        "{listed}"
    );
    // A client of the third version needs no channel.
    let mut newer = world.session();
    ask(&mut newer, "HELLO 3");
    ask(
        &mut one,
        &format!("CLIENT TRACKING ON REDIRECT {}", newer.id()),
    );
    ask(&mut one, "GET k");
    ask(&mut other, "SET k 2");
    assert_eq!(told(&mut one), "");
    assert_eq!(told(&mut newer), changed(&["k"]));
    ask(&mut one, "GET k");
    drop(newer);
    ask(&mut other, "SET k 3");
    assert!(told(&mut one).contains("tracking-redir-broken"));
    assert!(ask(&mut one, "CLIENT TRACKINGINFO").contains("broken_redirect"));
}

#[test]
fn keys_beyond_the_bound_are_given_up_with_a_message() {
    let world = World::new(1);
    let (mut one, mut other) = (tracking(&world, ""), world.session());
    ask(&mut one, "MGET a b c d");
    assert!(ask(&mut other, "INFO").contains("tracking_total_keys:4\r\n"));
    ask(&mut other, "CONFIG SET tracking-table-max-keys 2");
    assert_eq!(
        told(&mut one),
        format!("{}{}", changed(&["a"]), changed(&["b"]))
    );
    ask(&mut other, "MSET a 1 b 1 c 1 d 1");
    assert_eq!(
        told(&mut one),
        format!("{}{}", changed(&["c"]), changed(&["d"]))
    );
    assert!(ask(&mut other, "INFO").contains("tracking_total_keys:0\r\n"));
}

/// A key of one letter counts for 514 bytes.
#[test]
fn keys_of_all_clients_have_a_bound_in_bytes_and_the_largest_client_makes_room() {
    let world = World::new(1);
    let (mut one, mut other) = (tracking(&world, ""), tracking(&world, ""));
    ask(&mut other, "CONFIG SET tracking-table-max-bytes 5kb");
    let answer = ask(&mut one, "MGET a b c d e f g h i");
    assert_eq!(answer, format!("*9\r\n{}", "_\r\n".repeat(9)));
    // Its own oldest keys make room.
    let given_up = [changed(&["a"]), changed(&["b"])].concat();
    assert_eq!(
        ask(&mut one, "MGET j k"),
        format!("*2\r\n_\r\n_\r\n{given_up}")
    );
    // The key of a client beside it finds none, and the larger client is asked.
    assert_eq!(
        ask(&mut other, "GET x"),
        format!("_\r\n{}", changed(&["x"]))
    );
    let given_up: String = ["c", "d", "e", "f", "g", "h", "i", "j", "k"]
        .map(|key| changed(&[key]))
        .concat();
    assert_eq!(told(&mut one), given_up);
    assert_eq!(told(&mut one), "");
    assert_eq!(ask(&mut other, "GET x"), "_\r\n");
    ask(&mut one, "MSET a 1 x 1 k 1");
    assert_eq!(told(&mut other), changed(&["x"]));
    assert_eq!(told(&mut one), "");
    // Keys that were given up take no memory, nor do those of a client that leaves.
    assert_eq!(ask(&mut one, "MGET a b c d e f g h i"), {
        let values = ["$1\r\n1\r\n", &"_\r\n".repeat(8)].concat();
        format!("*9\r\n{values}")
    });
    drop(one);
    assert_eq!(ask(&mut other, "MGET a b"), "*2\r\n$1\r\n1\r\n_\r\n");
    let lowered = ask(&mut other, "CONFIG SET tracking-table-max-bytes 600");
    assert_eq!(lowered, format!("+OK\r\n{}", changed(&["a"])));
}

#[test]
fn tracked_keys_are_of_the_memory_of_all_sessions() {
    let world = World::new(1);
    let memory = Arc::new(Budget::default());
    memory.set_bytes_max(300 << 10);
    let mut one = world.session_with(SessionOptions {
        memory: memory.clone(),
        ..SessionOptions::default()
    });
    ask(&mut one, "HELLO 3");
    ask(&mut one, "CLIENT TRACKING ON");
    let keys: Vec<String> = (1000..1800).map(|number| number.to_string()).collect();
    let line = |keys: &[String]| format!("MGET {}", keys.join(" "));
    ask(&mut one, &line(&keys[..100]));
    assert_eq!(memory.taken(), 0);
    // 256 KiB are 507 keys.
    let answer = ask(&mut one, &line(&keys));
    assert_eq!(answer.matches("invalidate").count(), 293);
    assert!(answer.contains(&changed(&["1292"])) && !answer.contains("1293"));
    assert_eq!(memory.taken(), 256 << 10);
    ask(&mut one, "CLIENT TRACKING OFF");
    assert_eq!(memory.taken(), 0);
}

/// The user `none` may use no keys, the user `all` may.
struct Users;

impl Authenticate for Users {
    fn authenticate<'a>(&'a self, user: &'a [u8], _: &'a [u8]) -> Authenticated<'a> {
        Box::pin(std::future::ready(Some(match user {
            b"none" => Permission::Nothing,
            _ => Permission::Write,
        })))
    }
}

#[test]
fn a_user_without_keys_learns_no_names_of_them() {
    let world = World::new(1);
    let mut one = world.session_with(SessionOptions {
        authentication: Some(Arc::new(Users)),
        ..SessionOptions::default()
    });
    assert_eq!(ask(&mut one, "AUTH none x"), "+OK\r\n");
    let answer = ask(&mut one, "CLIENT TRACKING ON BCAST");
    assert!(answer.starts_with("-NOPERM"), "{answer}");
    // Nor what the user before has begun to track.
    ask(&mut one, "AUTH all x");
    ask(&mut one, "HELLO 3");
    assert_eq!(ask(&mut one, "CLIENT TRACKING ON BCAST"), "+OK\r\n");
    ask(&mut one, "AUTH none x");
    ask(&mut world.session(), "SET k 1");
    assert_eq!(told(&mut one), "");
}

/// Commands that change keys: `@` is a key.
const CHANGES: &str = "SET @ 1|SET @ 2 KEEPTTL|SET @ 3 GET|SETNX @ 1|SETEX @ 100 v|PSETEX @ 100000 w|GETSET @ 5|GETDEL @|\
    GETEX @ EX 50|GETEX @ PERSIST|APPEND @ z|SETRANGE @ 2 xx|INCR @|DECRBY @ 3|INCRBYFLOAT @ 1.5|MSET @ 7 @ 8|MSETNX @ 7|\
    SETBIT @ 9 1|BITOP NOT @ @|BITFIELD @ SET u8 0 200|BITFIELD @ INCRBY u8 0 3|PFADD @ a b|PFMERGE @ @|\
    LPUSH @ a b|RPUSH @ c|LPUSHX @ x|RPUSHX @ y|LPOP @|RPOP @ 2|LSET @ 0 q|LINSERT @ BEFORE a n|LREM @ 0 a|LTRIM @ 0 1|\
    LMOVE @ @ LEFT RIGHT|RPOPLPUSH @ @|LMPOP 1 @ LEFT|SADD @ a b c|SREM @ a|SPOP @|SPOP @ 2|\
    SMOVE @ @ b|SINTERSTORE @ @ @|SUNIONSTORE @ @ @|SDIFFSTORE @ @ @|HSET @ f 1 g 2|HSETNX @ f 2|HINCRBY @ f 3|\
    HINCRBYFLOAT @ f 0.5|HDEL @ f|HMSET @ h 1|ZADD @ 1 a 2 b|ZADD @ XX CH 5 a|ZINCRBY @ 2 a|ZREM @ a|ZPOPMIN @|ZPOPMAX @ 2|\
    ZMPOP 1 @ MIN|ZREMRANGEBYSCORE @ 0 3|ZREMRANGEBYRANK @ 0 0|ZREMRANGEBYLEX @ - +|ZUNIONSTORE @ 1 @|ZINTERSTORE @ 2 @ @|\
    ZDIFFSTORE @ 2 @ @|ZRANGESTORE @ @ 0 -1|GEOADD @ 1 2 m|GEOSEARCHSTORE @ @ FROMMEMBER m BYRADIUS 10 km|XADD @ * f v|\
    XADD @ MAXLEN 1 * f v|XTRIM @ MAXLEN 1|XDEL @ 1-1|XSETID @ 9999999999999-0|XGROUP CREATE @ g 0 MKSTREAM|\
    XGROUP DESTROY @ g|XGROUP SETID @ g $|XGROUP CREATECONSUMER @ g c|XGROUP DELCONSUMER @ g c|SORT @ BY nosort STORE @|\
    EXPIRE @ 100|PEXPIREAT @ 1900000000000|EXPIRE @ -1|PERSIST @|DEL @|UNLINK @|RENAME @ @|RENAMENX @ @|COPY @ @ REPLACE|\
    MOVE @ 1|COPY @ @ DB 1|FLUSHDB|SWAPDB 0 1";

#[test]
fn no_cached_value_is_older_than_the_messages() {
    const KEYS: [&str; 4] = ["k1", "k2", "k3", "k4"];
    let lines: Vec<&str> = CHANGES.split('|').collect();
    let (mut hits, mut effective) = (0, BTreeMap::new());
    for seed in 0..3 {
        let world = World::new(seed);
        let mut random = Random::new(seed);
        let mut below = |bound: usize| (random.next() % bound as u64) as usize;
        let (mut one, mut other) = (tracking(&world, ""), world.session());
        let mut look = world.session();
        ask(&mut look, "HELLO 3");
        let state = |session: &mut Session, key: &str| {
            let value = ask(session, &format!("DUMP {key}"));
            (value, ask(session, &format!("PEXPIRETIME {key}")))
        };
        let mut cached = BTreeMap::new();
        let mut first = 0;
        let mut before: Vec<_> = KEYS.iter().map(|key| state(&mut look, key)).collect();
        for step in 0..4000 {
            // For a while they are of a few neighbours, which change values of one kind.
            if step % 60 == 0 {
                first = below(lines.len());
            }
            let line = lines[(first + below(24)) % lines.len()];
            let mut words: Vec<&str> = line.split(' ').collect();
            for word in &mut words {
                if *word == "@" {
                    *word = KEYS[below(KEYS.len())];
                }
            }
            ask(&mut other, &words.join(" "));
            let messages = told(&mut one);
            let after: Vec<_> = KEYS.iter().map(|key| state(&mut look, key)).collect();
            if before != after {
                *effective.entry(line).or_insert(0) += 1;
            }
            for (key, now) in KEYS.iter().zip(&after) {
                let is_told =
                    messages.contains(ALL) || messages.contains(&format!("\r\n{key}\r\n"));
                if is_told {
                    cached.remove(key);
                }
                if let Some(cached) = cached.get(key) {
                    assert_eq!(
                        cached, now,
                        "seed {seed}: {words:?} changed {key}: {messages}"
                    );
                    hits += 1;
                }
            }
            let key = KEYS[below(KEYS.len())];
            cached.insert(key, state(&mut one, key));
            before = after;
        }
    }
    assert!(hits > 5000, "{hits}");
    // Nearly every one of the commands has changed something.
    let idle: Vec<_> = lines
        .iter()
        .filter(|line| !effective.contains_key(**line))
        .collect();
    assert!(idle.len() < 14, "{idle:?}");
}
