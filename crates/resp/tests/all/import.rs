//! Keys of a Redis' file, imported: each kind and encoding that a Redis 7.0.15 saved, values in parts, refused items, and
//! imports that a crash ends.

use crate::common::text::answers;
use crate::common::{START, World, encode, send};
use sardonyx::disk::Faults;
use sardonyx_resp::import::{ImportError, Imported, Importer};
use sardonyx_resp::rdb::file::{Item, KeyItem, RdbFile};
use sardonyx_resp::rdb::{GroupValue, StreamValue, Value};
use sardonyx_resp::{KEY_BYTES_MAX, Session};
use std::sync::Arc;

fn say(session: &mut Session, line: &str) -> String {
    let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
    answers(&send(session, &encode(&words)).0).remove(0)
}

fn item(name: &str, value: Value) -> Item {
    Item::Key(KeyItem {
        at: 9,
        database: 0,
        name: name.into(),
        expires: None,
        value: Ok(value),
    })
}

/// Stores items; returns the numbers, and the refused ones.
fn import(world: &World, items: impl IntoIterator<Item = Item>) -> (Imported, Vec<String>) {
    import_at(START, world, items)
}

fn import_at(
    now: i64,
    world: &World,
    items: impl IntoIterator<Item = Item>,
) -> (Imported, Vec<String>) {
    let mut refused = Vec::new();
    let mut note = |item: &sardonyx_resp::import::RefusedItem| {
        refused.push(item.to_string());
        true
    };
    let keyspace = Arc::clone(&world.keyspace);
    let mut importer = Importer::new(keyspace, now, &mut note).expect("own tables");
    for item in items {
        importer.add(item).expect("stored");
    }
    let imported = importer.finish().expect("stored");
    drop(importer);
    (imported, refused)
}

fn texts(count: usize) -> Vec<Vec<u8>> {
    (0..count)
        .map(|number| format!("{number:06}").into_bytes())
        .collect()
}

#[test]
fn values_of_many_elements_are_stored_in_parts() {
    const MANY: usize = 20_000;
    let world = World::new(1);
    let names = texts(MANY);
    let entries = |names: &[Vec<u8>]| {
        let numbered = names.iter().zip(1..);
        let entry = |(name, id): (&Vec<u8>, u64)| ((id, 0), vec![b"f".to_vec(), name.clone()]);
        numbered.map(entry).collect()
    };
    let group = GroupValue {
        name: b"g".to_vec(),
        last: (7, 0),
        ..GroupValue::default()
    };
    let stream = StreamValue {
        entries: entries(&names),
        last: (MANY as u64 + 5, 0),
        deleted: (3, 1),
        added: MANY as u64 + 9,
        groups: vec![group],
    };
    let scored = |name: &Vec<u8>| (name.clone(), name.len() as f64);
    let items = [
        item("l", Value::List(names.clone())),
        item("s", Value::Set(names.clone())),
        item("z", Value::SortedSet(names.iter().map(scored).collect())),
        item(
            "h",
            Value::Hash(names.iter().cloned().zip(names.clone()).collect()),
        ),
        item("x", Value::Stream(stream)),
        item("small", Value::String(b"1".to_vec())),
    ];
    let (imported, refused) = import(&world, items);
    assert_eq!((imported.keys, refused), (6, Vec::new()));
    let mut session = world.session();
    for (line, answer) in [
        ("LLEN l", format!(":{MANY}")),
        ("LINDEX l -1", "\"019999\"".to_string()),
        ("SCARD s", format!(":{MANY}")),
        ("SISMEMBER s 008192", ":1".to_string()),
        ("ZCARD z", format!(":{MANY}")),
        ("ZRANK z 019999", format!(":{}", MANY - 1)),
        ("HLEN h", format!(":{MANY}")),
        ("HGET h 019999", "\"019999\"".to_string()),
        ("XLEN x", format!(":{MANY}")),
        (
            "XADD x 20004-0 f v",
            "-ERR The ID specified in XADD is equal or smaller than the target stream top item"
                .to_string(),
        ),
        ("XADD x 20006-0 f v", "\"20006-0\"".to_string()),
        ("RPUSH l last", format!(":{}", MANY + 1)),
        ("DBSIZE", ":6".to_string()),
    ] {
        assert_eq!(say(&mut session, line), answer, "{line}");
    }
    let groups = say(&mut session, "XINFO GROUPS x");
    assert!(groups.contains("\"7-0\""), "{groups}");
}

#[test]
fn an_item_that_cannot_be_stored_is_refused_and_leaves_nothing() {
    let world = World::new(1);
    say(&mut world.session(), "SET there old");
    let long = vec![b'm'; KEY_BYTES_MAX + 1];
    let mut members = texts(20_000);
    members.push(long.clone());
    let of = |database, name: &[u8], expires| {
        Item::Key(KeyItem {
            at: 9,
            database,
            name: name.to_vec(),
            expires,
            value: Ok(Value::String(b"v".to_vec())),
        })
    };
    let items = || {
        vec![
            of(0, b"good", None),
            of(0, b"there", None),
            of(16, b"far", None),
            of(0, &long, None),
            item("set", Value::Set(members.clone())),
            item("hash", Value::Hash(vec![(long.clone(), b"v".to_vec())])),
            of(0, b"gone", Some(START)),
            of(3, b"third", Some(START + 5)),
        ]
    };
    let (imported, refused) = import(&world, items());
    let wanted = Imported {
        keys: 2,
        expired: 1,
        libraries: 0,
        refused: 5,
    };
    assert_eq!(imported, wanted);
    assert_eq!(
        refused[0],
        "key \"there\" of database 0, at byte 9: the key exists already"
    );
    assert_eq!(
        refused[1],
        "key \"far\" of database 16, at byte 9: DB index is out of range"
    );
    assert!(
        refused[2].contains("...\" of database 0, at byte 9: a key, field or member has at most")
    );
    let mut session = world.session();
    assert_eq!(say(&mut session, "GET there"), "\"old\"");
    assert_eq!(say(&mut session, "DBSIZE"), ":2");
    assert_eq!(say(&mut session, "EXISTS set hash gone"), ":0");
    assert_eq!(say(&mut session, "SELECT 3"), "+OK");
    assert_eq!(say(&mut session, "PTTL third"), ":5");

    // If it ends the import, its transaction is undone.
    let keyspace = Arc::clone(&world.keyspace);
    let mut importer = Importer::new(keyspace, START, |_: &_| false).expect("own tables");
    importer.add(of(0, b"before", None)).expect("it waits");
    importer.add(of(0, b"there", None)).expect("it waits");
    match importer.finish() {
        Err(ImportError::Refused(refused)) => assert!(refused.name.contains("there")),
        other => panic!("{other:?}"),
    }
    assert_eq!(say(&mut world.session(), "EXISTS before"), ":0");
}

#[test]
fn i1_a_finished_import_is_durable_when_the_tables_are_closed() {
    let world = World::new(1);
    let names = texts(30_000);
    import(
        &world,
        names
            .iter()
            .map(|name| item(&String::from_utf8_lossy(name), Value::String(b"v".to_vec()))),
    );
    world
        .keyspace
        .tables()
        .expect("own tables")
        .close()
        .expect("closed");
    let world = world.restart(Faults::default());
    assert_eq!(say(&mut world.session(), "DBSIZE"), ":30000");
}

#[test]
fn an_import_that_a_crash_ends_is_finished_by_another() {
    const MANY: usize = 20_000;
    let names = texts(MANY);
    let items = || {
        let keys = names.iter().map(|name| {
            item(
                &String::from_utf8_lossy(name),
                Value::String(name.repeat(20)),
            )
        });
        keys.collect::<Vec<_>>()
    };
    for seed in 0..4 {
        let world = World::new(seed);
        import(&world, items());
        // Nothing waited for the disk.
        let world = world.restart(Faults::default());
        let there = say(&mut world.session(), "DBSIZE");
        let (imported, refused) = import(&world, items());
        assert_eq!(format!(":{}", refused.len()), there, "seed {seed}");
        assert_eq!(imported.keys + imported.refused, MANY as u64);
        let mut session = world.session();
        assert_eq!(say(&mut session, "DBSIZE"), format!(":{MANY}"));
        for name in names.iter().step_by(997) {
            let name = String::from_utf8_lossy(name);
            let value = say(&mut session, &format!("GET {name}"));
            assert_eq!(value, format!("\"{}\"", name.repeat(20)), "seed {seed}");
        }
    }
}

/// The file of a Redis 7.0.15, and that Redis' answers to commands (`tests/rdb/make.py`).
#[cfg(feature = "lua")]
const FILE: &[u8] = include_bytes!("../rdb/redis-7.0.rdb");
#[cfg(feature = "lua")]
const ANSWERS: &str = include_str!("../rdb/redis-7.0.txt");

#[cfg(feature = "lua")]
#[test]
fn the_file_of_a_redis_has_the_same_answers_here() {
    /// When one of its keys has expired, and others have not.
    const NOW: i64 = 2_000_000_000_000;
    let world = World::new(1);
    let mut file = RdbFile::new(FILE).expect("a file");
    let mut items = Vec::new();
    while let Some(item) = file.next_item().expect("a right file") {
        items.push(item);
    }
    let (imported, refused) = import_at(NOW, &world, items);
    assert_eq!(refused, Vec::<String>::new());
    assert_eq!((imported.expired, imported.libraries), (1, 1));
    let mut session = world.session();
    let lines: Vec<&str> = ANSWERS.lines().collect();
    for pair in lines.chunks(2) {
        let [command, wanted] = pair else {
            panic!("{pair:?}");
        };
        let command = command.strip_prefix("> ").expect("a command");
        assert_eq!(say(&mut session, command), *wanted, "{command}");
    }
    assert!(lines.len() > 80);
}
