//! The keys of a database that another program has open: its commits are read, and nothing is changed.

use crate::common::text::answers;
use crate::common::{SetClock, World, encode, send};
use crate::keyspaces::ordered_keys;
use sardonyx::low_level::Committed;
use sardonyx::rows::ReadRows;
use sardonyx::schema::Value;
use sardonyx::{Follower, Options, Tables};
use sardonyx_resp::{KEY_TABLES, Keyspace, Session, SessionOptions};
use std::sync::Arc;

/// A database as another program sees it, which looks at each call of `look` alone.
struct Sight {
    follower: Arc<Follower>,
    keyspace: Arc<Keyspace>,
    clock: SetClock,
}

impl Sight {
    fn of(world: &World) -> Sight {
        let options = Options::new().memory_bytes_max(256 << 20);
        let follower = options.follow_by_hand(Arc::new(world.disk.clone()));
        let follower = Arc::new(follower.expect("it is followed"));
        Sight {
            keyspace: followed(&follower),
            follower,
            clock: world.clock.clone(),
        }
    }

    fn look(&self) {
        while self.follower.step().expect("it follows") {}
    }

    fn session(&self) -> Session {
        let options = SessionOptions {
            clock: Arc::new(self.clock.clone()),
            seed: Some(7),
            ..SessionOptions::default()
        };
        Session::new(self.keyspace.clone(), options)
    }
}

/// The keys that a follower reads.
fn followed(follower: &Arc<Follower>) -> Arc<Keyspace> {
    let takes = follower.clone();
    Keyspace::follow(Arc::new(move || {
        let snapshot = takes.snapshot().map_err(|error| error.to_string())?;
        Ok(Committed {
            snapshot,
            group: 0,
            version: 0,
        })
    }))
}

/// A database, another program's sight of it, and a session of each.
fn there_and_here(seed: u64) -> (World, Sight, [Session; 2]) {
    let world = World::new(seed);
    let sight = Sight::of(&world);
    let sessions = [world.session(), sight.session()];
    (world, sight, sessions)
}

fn ask(session: &mut Session, text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    answers(&send(session, &encode(&words)).0).remove(0)
}

#[test]
fn what_another_program_has_committed_is_read_as_there() {
    let (world, sight, [mut there, mut here]) = there_and_here(1);
    for text in [
        "SET k one",
        "SET short x PX 1000",
        "HSET h a 1 b 2",
        "RPUSH l x y z",
        "SADD s m n",
        "ZADD z 1 m 2.5 n",
    ] {
        ask(&mut there, text);
    }
    assert_eq!(ask(&mut here, "GET k"), ask(&mut there, "GET none"));
    sight.look();
    let reads = [
        "GET k",
        "GET short",
        "TTL short",
        "HGETALL h",
        "HGET h b",
        "LRANGE l 0 -1",
        "SMEMBERS s",
        "ZRANGE z 0 -1 WITHSCORES",
        "TYPE z",
        "EXISTS k h l none",
        "DBSIZE",
        "KEYS *",
        "SCAN 0",
        "HSCAN h 0",
        "STRLEN k",
        "OBJECT ENCODING k",
    ];
    for text in reads {
        assert_eq!(ask(&mut here, text), ask(&mut there, text), "{text}");
    }
    // A key whose time has come is absent, although nothing deletes it here.
    world.advance(2000);
    assert_eq!(ask(&mut here, "EXISTS short"), ":0");
    // Several that read are of one state.
    ask(&mut there, "SET k two");
    assert_eq!(ask(&mut here, "MULTI"), "+OK");
    assert_eq!(ask(&mut here, "GET k"), "+QUEUED");
    sight.look();
    assert!(ask(&mut here, "EXEC").contains("two"));
    assert_eq!(ask(&mut here, "WATCH k"), "+OK");
    ask(&mut there, "SET k three");
    sight.look();
    ask(&mut here, "MULTI");
    ask(&mut here, "GET k");
    assert_eq!(ask(&mut here, "EXEC"), "nil");
    assert!(ask(&mut here, "INFO replication").contains("role:slave"));
}

#[test]
fn i16_what_would_change_something_is_refused_as_by_a_replica() {
    let (_world, sight, [mut there, mut here]) = there_and_here(2);
    ask(&mut there, "SET k one");
    sight.look();
    for text in [
        "SET k two",
        "DEL k",
        "INCR n",
        "HSET h a 1",
        "RPUSH l x",
        "SADD s m",
        "ZADD z 1 m",
        "EXPIRE k 1",
        "RENAME k l",
        "FLUSHALL",
        "GETDEL k",
        "FCALL f 0",
        "SAVE",
        "BGSAVE",
    ] {
        assert!(ask(&mut here, text).starts_with("-READONLY "), "{text}");
    }
    for text in ["PUBLISH a x", "SUBSCRIBE a", "PUBSUB CHANNELS"] {
        let answer = ask(&mut here, text);
        assert!(
            answer.starts_with("-ERR messages are sent and heard"),
            "{answer}"
        );
    }
    ask(&mut here, "MULTI");
    assert!(ask(&mut here, "SET k two").starts_with("-READONLY "));
    assert!(ask(&mut here, "EXEC").starts_with("-EXECABORT "));
    assert!(ask(&mut here, "GET k").contains("one"));
    assert_eq!(sight.keyspace.sweep(i64::MAX, 10).unwrap(), 0);
    assert!(sight.keyspace.tables().is_none());
}

#[test]
fn a_database_without_keys_says_so_until_another_program_makes_their_tables() {
    let directory = tempfile::tempdir().unwrap();
    let tables = Arc::new(Tables::open(directory.path().join("x.sdx")).unwrap());
    let follower = Tables::follow(directory.path().join("x.sdx")).unwrap();
    let follower = Arc::new(follower);
    let mut here = Session::new(followed(&follower), SessionOptions::default());
    assert!(ask(&mut here, "GET k").contains("has no keys"));
    assert_eq!(ask(&mut here, "PING"), "+PONG");
    let own = Keyspace::open(tables.clone()).unwrap();
    let mut there = Session::new(own, SessionOptions::default());
    let sent = send_and_wait(&mut there, "SET k one");
    assert_eq!(sent, "+OK");
    let patience = std::time::Duration::from_secs(120);
    follower
        .wait_for(tables.position().unwrap(), patience)
        .unwrap();
    assert!(ask(&mut here, "GET k").contains("one"));
    follower.close();
    assert!(ask(&mut here, "GET k").starts_with("-MASTERDOWN "));
}

/// As [`ask`], of a database with threads.
fn send_and_wait(session: &mut Session, text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let (mut input, mut output) = (encode(&words)[..].into(), bytes::BytesMut::new());
    let flight = session.take(&mut input).unwrap();
    sardonyx_base::parking::wait(session.run(flight, &mut output));
    answers(&output).remove(0)
}

#[test]
fn keys_under_the_names_of_an_older_version_are_served_unless_there_are_others() {
    let (world, sight, [mut there, mut here]) = there_and_here(6);
    ask(&mut there, "SET k one");
    ask(&mut there, "HSET h a 1");
    let tables = world.keyspace.tables().expect("of its own");
    let renamed = tables.run(|tx| {
        for name in KEY_TABLES {
            if let Some(older) = name.strip_prefix("pg_redis.")
                && tx.definitions().named(name).is_some()
            {
                tx.rename_table(name, older)?;
            }
        }
        Ok(())
    });
    renamed.expect("renamed");
    sight.look();
    assert_eq!(ask(&mut here, "GET k"), "\"one\"");
    assert_eq!(ask(&mut here, "HGET h a"), "\"1\"");
    // Tables without keys hide none.
    let newer = tables.create_table("pg_redis.kv", ordered_keys());
    newer.expect("created");
    sight.look();
    assert_eq!(ask(&mut here, "GET k"), "\"one\"");
    let filled = tables.run(|tx| {
        tx.rows("pg_redis.kv")?.insert(&[
            ("key", Value::Bytes(b"k".to_vec())),
            ("id", Value::Int(1)),
            ("kind", Value::Text("string".into())),
            ("value", Value::Bytes(b"two".to_vec())),
            ("length", Value::Int(0)),
            ("first", Value::Int(0)),
        ])
    });
    filled.expect("filled");
    sight.look();
    let told = ask(&mut here, "GET k");
    assert!(
        told.starts_with("-ERR") && told.contains("\"kv\"") && told.contains("\"pg_redis.kv\""),
        "{told}"
    );
}
