//! The disk accesses of a flight: none for reading, one group for all of its commands that write; and functions, whose
//! errors undo them.

use crate::common::text::answers;
use crate::common::{World, encode, send};
use sardonyx::schema::{Schema, Type, Value};
use sardonyx::{Error, Transaction};
use sardonyx_resp::{
    Authenticate, Authenticated, Continue, Failure, Permission, Reply, SessionOptions,
};
use std::sync::Arc;

#[test]
fn reading_costs_no_sync_and_a_pipeline_one_group() {
    let world = World::new(1);
    let mut session = world.session();
    let writes = |value: &str| -> Vec<Vec<u8>> {
        (0..10)
            .map(|n| encode(&["SET", &format!("k{n}"), value]))
            .collect()
    };
    send(&mut session, &writes("first").concat());
    let before = world.disk.steps();
    let sent = [
        encode(&["GET", "k1"]),
        encode(&["KEYS", "*"]),
        encode(&["EXISTS", "none"]),
    ];
    send(&mut session, &sent.concat());
    send(&mut session, &encode(&["SET", "k1", "other", "NX"]));
    send(&mut session, &encode(&["SET", "k1", "first"]));
    assert_eq!(world.disk.steps(), before, "nothing was written");

    let committed = || world.keyspace.tables().expect("of its own").statistics();
    let (start, groups) = (world.disk.steps(), committed().log.groups);
    send(&mut session, &writes("second").concat());
    let together = world.disk.steps() - start;
    assert_eq!(committed().log.groups - groups, 1);
    let start = world.disk.steps();
    writes("third")
        .iter()
        .for_each(|write| drop(send(&mut session, write)));
    assert!(world.disk.steps() - start >= 5 * together);
}

#[test]
fn a_function_is_a_transaction_on_any_tables() {
    let world = World::new(1);
    let schema = Schema::new()
        .column("id", Type::U64)
        .column("text", Type::Text)
        .primary_key(["id"]);
    world
        .keyspace
        .tables()
        .expect("of its own")
        .create_table("notes", schema)
        .expect("created");
    world
        .keyspace
        .register_function("note", |tx, keys, arguments| {
            let text = String::from_utf8_lossy(arguments.first().copied().unwrap_or_default());
            tx.rows("notes")?
                .insert(&[("id", 1_u64.into()), ("text", (&*text).into())])?;
            match keys.is_empty() {
                true => Ok(Reply::Ok),
                false => Err(Failure::Function("it has no keys".to_string())),
            }
        });
    world
        .keyspace
        .register_reading_function("notes", |tx, _, _| {
            Ok(Reply::Int(tx.rows("notes")?.count()? as i64))
        });
    let mut session = world.session();
    let mut ask = |words: &[&str]| answers(&send(&mut session, &encode(words)).0).remove(0);
    assert_eq!(
        ask(&["FCALL", "note", "1", "k", "text"]),
        "-ERR it has no keys"
    );
    assert_eq!(ask(&["FCALL_RO", "notes", "0"]), ":0", "it was undone");
    assert_eq!(ask(&["FCALL", "note", "0", "text"]), "+OK");
    assert_eq!(ask(&["FCALL_RO", "notes", "0"]), ":1");
    assert_eq!(
        ask(&["FCALL_RO", "note", "0"]),
        "-ERR Can not execute a script with write flag using *_ro command."
    );
    assert_eq!(ask(&["FCALL", "none", "0"]), "-ERR Function not found");
    assert_eq!(
        ask(&["FCALL", "note", "x"]),
        "-ERR Bad number of keys provided"
    );
    assert_eq!(
        ask(&["FCALL", "note", "5", "k"]),
        "-ERR Number of keys can't be greater than number of args"
    );
    // Within EXEC an error of the engine undoes all.
    for words in [
        &["MULTI"][..],
        &["SET", "a", "1"],
        &["FCALL", "note", "0", "again"],
    ] {
        ask(words);
    }
    let answer = ask(&["EXEC"]);
    assert!(
        answer.starts_with("-EXECABORT Transaction discarded: "),
        "{answer}"
    );
    assert_eq!(ask(&["EXISTS", "a"]), ":0");
}

#[test]
fn whatever_error_a_function_returns_undoes_what_it_wrote() {
    let world = World::new(1);
    let schema = Schema::new().column("id", Type::U64).primary_key(["id"]);
    let tables = world.keyspace.tables().expect("of its own");
    tables.create_table("marks", schema).expect("created");
    world
        .keyspace
        .register_function("mark", |tx, _, arguments| {
            tx.rows("marks")?.insert(&[("id", 1_u64.into())])?;
            Err(match arguments.first().copied().unwrap_or_default() {
                b"integer" => Failure::NotInteger,
                b"told" => Failure::Told("LIMIT not today"),
                b"type" => Failure::WrongType,
                _ => Failure::Said("ERR said".to_string()),
            })
        });
    let mut session = world.session();
    let mut ask = |words: &[&str]| answers(&send(&mut session, &encode(words)).0).remove(0);
    let listed = ask(&["FUNCTION", "LIST"]);
    assert!(listed.contains("\"library_name\" \"mark\""), "{listed}");
    for (what, text) in [
        ("integer", "ERR value is not an integer or out of range"),
        ("told", "LIMIT not today"),
        (
            "type",
            "WRONGTYPE Operation against a key holding the wrong kind of value",
        ),
        ("said", "ERR said"),
    ] {
        // A single error is reported unchanged.
        assert_eq!(ask(&["FCALL", "mark", "0", what]), format!("-{text}"));
        ask(&["MULTI"]);
        ask(&["SET", "a", "1"]);
        ask(&["FCALL", "mark", "0", what]);
        assert_eq!(
            ask(&["EXEC"]),
            format!("-EXECABORT Transaction discarded: {text} (in 'fcall')")
        );
        assert_eq!(ask(&["EXISTS", "a"]), ":0");
        let rows = tables.read(|view| view.rows("marks")?.count());
        assert_eq!(rows.expect("read"), 0, "{what}");
    }
}

/// Two users.
struct Users;

impl Authenticate for Users {
    fn authenticate<'a>(&'a self, user: &'a [u8], password: &'a [u8]) -> Authenticated<'a> {
        let permission = match (user, password) {
            (b"default", b"open") => Some(Permission::Write),
            (b"guest", b"look") => Some(Permission::Read),
            _ => None,
        };
        Box::pin(async move { permission })
    }
}

#[test]
fn who_has_not_said_who_it_is_is_refused_and_a_reader_does_not_write() {
    let world = World::new(1);
    let options = SessionOptions {
        authentication: Some(Arc::new(Users)),
        ..SessionOptions::default()
    };
    let mut session = world.session_with(options);
    let mut ask = |words: &[&str]| answers(&send(&mut session, &encode(words)).0).remove(0);
    for words in [&["GET", "a"][..], &["PING"], &["INFO"], &["COMMAND"]] {
        assert_eq!(ask(words), "-NOAUTH Authentication required.");
    }
    assert!(ask(&["HELLO", "3"]).starts_with("-NOAUTH HELLO must be called"));
    let wrong = "-WRONGPASS invalid username-password pair or user is disabled.";
    assert_eq!(ask(&["AUTH", "shut"]), wrong);
    assert_eq!(ask(&["AUTH", "guest", "look"]), "+OK");
    assert_eq!(ask(&["GET", "a"]), "nil");
    assert_eq!(
        ask(&["SET", "a", "1"]),
        "-NOPERM User has no permissions to run the 'set' command"
    );
    for name in ["save", "bgsave"] {
        assert_eq!(
            ask(&[name]),
            format!("-NOPERM User has no permissions to run the '{name}' command")
        );
    }
    // It would end another client's wait.
    let unblock = "-NOPERM User has no permissions to run the 'client|unblock' command";
    assert_eq!(ask(&["CLIENT", "UNBLOCK", "1"]), unblock);
    assert!(ask(&["CLIENT", "ID"]).starts_with(':'));
    // Clients ask for settings when they begin.
    assert!(!ask(&["CONFIG", "GET", "maxmemory"]).starts_with('-'));
    assert_eq!(ask(&["AUTH", "open"]), "+OK");
    assert_eq!(ask(&["SAVE"]), "+OK");
    assert_eq!(ask(&["SET", "a", "1"]), "+OK");
    assert_eq!(ask(&["RESET"]), "+RESET");
    assert_eq!(ask(&["GET", "a"]), "-NOAUTH Authentication required.");
}

#[test]
fn who_has_not_said_who_it_is_may_say_little() {
    let world = World::new(1);
    let session = || {
        world.session_with(SessionOptions {
            authentication: Some(Arc::new(Users)),
            unknown_bytes_max: 100,
            ..SessionOptions::default()
        })
    };
    let long = "x".repeat(200);
    let refused = "-ERR Protocol error: unauthenticated command of more than 100 bytes";
    let inline = format!("ECHO {long}");
    for sent in [
        encode(&["ECHO", &long]),
        // Not all of it is there.
        encode(&["ECHO", &long])[..20].to_vec(),
        inline.clone().into_bytes(),
    ] {
        let (answer, goes_on) = send(&mut session(), &sent);
        let expected = match sent.starts_with(b"ECHO") {
            true => "-ERR Protocol error: too big inline request",
            false => refused,
        };
        assert_eq!(answers(&answer), [expected]);
        assert_eq!(goes_on, Continue::Close);
    }
    // The answers to the earlier commands are before the error.
    let both = [encode(&["PING"]), encode(&["ECHO", &long])].concat();
    let said = answers(&send(&mut session(), &both).0);
    assert_eq!(said, ["-NOAUTH Authentication required.", refused]);
    // The commands behind a password, in the same flight, are of an authenticated client.
    for hello in [
        &["AUTH", "open"][..],
        &["HELLO", "2", "AUTH", "default", "open"],
    ] {
        let sent = [encode(hello), encode(&["SET", "a", &long])].concat();
        let said = answers(&send(&mut session(), &sent).0);
        assert_eq!(said[1..], ["+OK"]);
    }
    // The commands behind a wrong password are of a client that is not authenticated.
    let sent = [encode(&["AUTH", "shut"]), encode(&["SET", "a", &long])].concat();
    let said = answers(&send(&mut session(), &sent).0);
    assert_eq!(said[1..], [refused]);
}

#[test]
fn large_values_that_are_deleted_go_a_part_at_a_time() {
    let world = World::new(1);
    let mut session = world.session();
    let members: Vec<String> = (0..1000).map(|n| n.to_string()).collect();
    let mut add = vec!["SADD".to_string(), "s".to_string()];
    add.extend(members);
    let mut ask = |words: &[String]| answers(&send(&mut session, &encode(words)).0).remove(0);
    let words = |text: &str| text.split(' ').map(str::to_string).collect::<Vec<_>>();
    assert_eq!(ask(&add), ":1000");
    let scan = ask(&words("SSCAN s 0 COUNT 100"));
    assert!(scan.starts_with("[\"1\" ["), "{scan}");
    assert!(ask(&words("SSCAN s 99")).starts_with("-ERR the cursor is none of this value"));
    assert_eq!(ask(&words("DEL s")), ":1");
    assert_eq!(ask(&words("SADD s new")), ":1");
    // A small value is returned whole, for any cursor.
    assert_eq!(ask(&words("SSCAN s 1")), "[\"0\" [\"new\"]]");
    let rows = || {
        let tables = world.keyspace.tables().expect("of its own");
        tables
            .read(|view| view.rows("pg_redis.kv_set")?.count())
            .expect("read")
    };
    assert_eq!(rows(), 1001);
    assert_eq!(
        world
            .keyspace
            .sweep(crate::common::START, 300)
            .expect("swept"),
        300
    );
    assert_eq!(rows(), 701);
    while world
        .keyspace
        .sweep(crate::common::START, 300)
        .expect("swept")
        == 300
    {}
    assert_eq!(rows(), 1);
    assert_eq!(ask(&words("SMEMBERS s")), "[\"new\"]");
}

#[test]
fn what_the_sweep_meets_goes_whoever_left_it_there() {
    let world = World::new(1);
    let mut session = world.session();
    let mut ask = |words: &[&str]| answers(&send(&mut session, &encode(words)).0).remove(0);
    let at = |millis: i64| Value::Timestamp((crate::common::START + millis) * 1000);
    // Rows of deleted keys, and of one that has another time: more than a sweep takes, before the one that is due.
    let tables = world.keyspace.tables().expect("of its own");
    let left = |tx: &mut Transaction<'_>| -> Result<(), Error> {
        let mut rows = tx.rows("pg_redis.kv_expiry")?;
        for (time, key) in [(1, "gone"), (2, "never"), (3, "later"), (4, "at all")] {
            rows.insert(&[("expires", at(time)), ("key", key.as_bytes().into())])?;
        }
        Ok(())
    };
    tables.run(left).expect("left");
    let due = (crate::common::START + 10).to_string();
    let later = (crate::common::START + 20).to_string();
    assert_eq!(ask(&["SET", "due", "1", "PXAT", &due]), "+OK");
    assert_eq!(ask(&["SET", "later", "1", "PXAT", &later]), "+OK");
    let sweep = |millis| {
        let swept = world.keyspace.sweep(crate::common::START + millis, 2);
        swept.expect("swept")
    };
    assert_eq!((sweep(10), sweep(10), sweep(10), sweep(10)), (2, 2, 1, 0));
    // The key whose time has not come has its row still.
    assert_eq!(
        (ask(&["EXISTS", "later"]), ask(&["DBSIZE"])),
        (":1".into(), ":1".into())
    );
    assert_eq!((sweep(20), sweep(20)), (1, 0));
    assert_eq!(ask(&["DBSIZE"]), ":0");
}
