//! Databases of an older version, which had the tables of keys in `public`, and tables of one's own with these names.

use crate::common::text::answers;
use crate::common::{encode, send};
use sardonyx::disk::{Faults, SimulatedDisk};
use sardonyx::rows::ReadRows;
use sardonyx::schema::{Schema, SchemaBuilder, Type, Value};
use sardonyx::{Error, Options, Shape, Tables};
use sardonyx_resp::{KEY_TABLES, Keyspace, Session, SessionOptions};
use std::sync::Arc;

/// Keys of each type, in two databases.
const WRITES: [&str; 10] = [
    "SET text value",
    "SET short x EX 1000000",
    "HSET hash a 1 b 2",
    "SADD set m n",
    "ZADD sorted 1 m 2.5 n",
    "RPUSH list x y z",
    "XADD stream 1-1 f v",
    "XGROUP CREATE stream group 0",
    "XREADGROUP GROUP group one STREAMS stream >",
    "SELECT 3",
];

const READS: [(&str, &str); 9] = [
    ("GET text", "\"value\""),
    ("EXISTS short", ":1"),
    ("HGETALL hash", "[\"a\" \"1\" \"b\" \"2\"]"),
    ("SCARD set", ":2"),
    ("ZSCORE sorted n", "\"2.5\""),
    ("LRANGE list 0 -1", "[\"x\" \"y\" \"z\"]"),
    ("XLEN stream", ":1"),
    (
        "XPENDING stream group",
        "[:1 \"1-1\" \"1-1\" [[\"one\" \"1\"]]]",
    ),
    ("DBSIZE", ":7"),
];

fn ask(session: &mut Session, text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    answers(&send(session, &encode(&words)).0).remove(0)
}

fn session(tables: &Arc<Tables>) -> Session {
    let keyspace = Keyspace::open(tables.clone()).expect("the keyspace");
    Session::new(keyspace, SessionOptions::default())
}

/// A database without keys.
fn empty() -> Arc<Tables> {
    let disk = SimulatedDisk::new(1, Faults::default());
    let options = Options::new()
        .shape(Shape::Threadless)
        .memory_bytes_max(256 << 20);
    Arc::new(options.open_tables_on(Arc::new(disk)).expect("a database"))
}

fn write_keys(tables: &Arc<Tables>) {
    let mut one = session(tables);
    for text in WRITES {
        let answer = ask(&mut one, text);
        assert!(!answer.starts_with('-'), "{text}: {answer}");
    }
    assert_eq!(ask(&mut one, "SET third value"), "+OK");
}

fn check_keys(tables: &Arc<Tables>) {
    let mut one = session(tables);
    for (text, answer) in READS {
        assert_eq!(ask(&mut one, text), answer, "{text}");
    }
    assert_eq!(ask(&mut one, "SELECT 3"), "+OK");
    assert_eq!(ask(&mut one, "GET third"), "\"value\"");
}

fn older(name: &str) -> &str {
    name.strip_prefix("pg_redis.").expect("the schema")
}

fn has(tables: &Tables, name: &str) -> bool {
    let named = tables.read(|view| Ok(view.definitions().named(name).is_some()));
    named.expect("read")
}

/// Gives all tables of keys the names of an older version.
fn make_older(tables: &Tables) {
    let made = tables.run(|tx| {
        for name in KEY_TABLES {
            if tx.definitions().named(name).is_some() {
                tx.rename_table(name, older(name))?;
            }
        }
        Ok(())
    });
    made.expect("renamed");
}

#[test]
fn keys_of_each_type_are_found_where_an_older_version_had_them() {
    let tables = empty();
    write_keys(&tables);
    make_older(&tables);
    assert!(has(&tables, "kv") && !has(&tables, "pg_redis.kv"));
    check_keys(&tables);
    assert!(KEY_TABLES.iter().all(|name| !has(&tables, older(name))));
}

/// A table as a program may have it under the name of `kv`, with ids of the keyspace's type.
fn own(kind: Type) -> SchemaBuilder {
    Schema::new().column("id", kind).primary_key(["id"])
}

#[test]
fn tables_of_ones_own_with_names_of_keys_stay() {
    for kind in [Type::I64, Type::U64] {
        let tables = empty();
        let names = ["kv", "kv_hash", "kv_db3", "kv_library"];
        for table in names {
            tables.create_table(table, own(kind)).expect("created");
        }
        Keyspace::give_names(&tables).expect("nothing to do");
        assert!(!has(&tables, "pg_redis.kv"), "{kind:?}");
        write_keys(&tables);
        check_keys(&tables);
        for table in names {
            let columns = |name: &str| {
                let read = tables.read(|view| Ok(view.rows(name)?.schema().columns.len()));
                read.expect("read")
            };
            assert_eq!(columns(table), 1, "{table}");
            assert!(columns(&format!("pg_redis.{table}")) > 1, "{table}");
        }
    }
}

/// A table that lacks columns of `kv`, has one of another type, or another key.
fn almost(change: usize) -> SchemaBuilder {
    let kind = if change == 1 { Type::Text } else { Type::Bytes };
    let key = if change == 2 { "id" } else { "key" };
    let schema = Schema::new()
        .column("key", kind)
        .column("id", Type::U64)
        .column("kind", Type::Text)
        .column("value", Type::Bytes)
        .column("length", Type::U64)
        .column("first", Type::I64);
    let schema = match change {
        0 => schema,
        _ => schema.column("expires", Type::Timestamp).nullable(),
    };
    schema.primary_key([key])
}

#[test]
fn a_table_that_is_almost_like_that_of_keys_stays() {
    for change in 0..3 {
        let tables = empty();
        tables.create_table("kv", almost(change)).expect("created");
        write_keys(&tables);
        check_keys(&tables);
        assert!(has(&tables, "kv"), "{change}");
        assert!(has(&tables, "pg_redis.kv"), "{change}");
    }
}

#[test]
fn a_table_of_ones_own_beside_older_keys_stays() {
    let tables = empty();
    write_keys(&tables);
    make_older(&tables);
    // The older version had no libraries, and the program a table of the name.
    tables.drop_table("kv_library").expect("dropped");
    tables
        .create_table("kv_library", own(Type::U64))
        .expect("created");
    check_keys(&tables);
    assert!(has(&tables, "kv_library") && !has(&tables, "kv_hash"));
}

/// Makes the tables of keys beside those of an older version, as the older version does it in a newer database: with
/// a key or without.
fn make_both(tables: &Arc<Tables>, (in_older, in_newer): (bool, bool)) {
    let write = |is_wanted: bool| match is_wanted {
        true => write_keys(tables),
        false => drop(session(tables)),
    };
    write(in_older);
    make_older(tables);
    // The keyspace would rename them.
    let aside = |from: &str, to: &str| {
        let moved = tables.run(|tx| {
            for name in KEY_TABLES {
                let (from, to) = (
                    older(name).replace("kv", from),
                    older(name).replace("kv", to),
                );
                if tx.definitions().named(&from).is_some() {
                    tx.rename_table(&from, &to)?;
                }
            }
            Ok(())
        });
        moved.expect("renamed");
    };
    aside("kv", "aside");
    write(in_newer);
    aside("aside", "kv");
}

#[test]
fn of_tables_under_both_names_those_without_rows_go() {
    for (in_older, in_newer) in [(false, false), (false, true), (true, false)] {
        let tables = empty();
        make_both(&tables, (in_older, in_newer));
        assert!(has(&tables, "kv") && has(&tables, "pg_redis.kv"));
        match in_older || in_newer {
            true => check_keys(&tables),
            false => assert_eq!(ask(&mut session(&tables), "DBSIZE"), ":0"),
        }
        assert!(KEY_TABLES.iter().all(|name| !has(&tables, older(name))));
    }
}

#[test]
fn keys_under_both_names_are_refused_until_those_of_one_are_dropped() {
    for is_older_dropped in [true, false] {
        let tables = empty();
        make_both(&tables, (true, true));
        let refused = Keyspace::open(tables.clone()).expect_err("both");
        let told = refused.to_string();
        assert!(matches!(refused, Error::Refused(_)), "{told}");
        assert!(
            told.contains("\"kv\"") && told.contains("\"pg_redis.kv\""),
            "{told}"
        );
        assert!(Keyspace::give_names(&tables).is_err());
        assert!(has(&tables, "kv_hash") && has(&tables, "pg_redis.kv_hash"));
        for name in KEY_TABLES {
            let name = if is_older_dropped { older(name) } else { name };
            if has(&tables, name) {
                tables.drop_table(name).expect("dropped");
            }
        }
        check_keys(&tables);
    }
}

#[test]
fn keys_do_not_lose_the_elements_of_a_table_that_was_changed() {
    let tables = empty();
    write_keys(&tables);
    make_older(&tables);
    let changed = tables.run(|tx| tx.rename_column("kv_hash", "value", "other"));
    changed.expect("renamed");
    let refused = Keyspace::open(tables.clone()).expect_err("another table");
    assert!(refused.to_string().contains("\"kv_hash\""), "{refused}");
    assert!(has(&tables, "kv") && !has(&tables, "pg_redis.kv"));
    let restored = tables.run(|tx| tx.rename_column("kv_hash", "other", "value"));
    restored.expect("renamed");
    check_keys(&tables);
}

#[test]
fn a_column_behind_the_others_is_no_obstacle_to_the_names() {
    let tables = empty();
    write_keys(&tables);
    make_older(&tables);
    let added = tables.run(|tx| tx.add_column("kv_set", "note", Type::Text, true, Value::Null));
    added.expect("added");
    let refused = Keyspace::open(tables.clone()).expect_err("an addition");
    assert!(refused.to_string().contains("pg_redis.kv_set"), "{refused}");
    assert!(has(&tables, "pg_redis.kv") && !has(&tables, "kv"));
}
