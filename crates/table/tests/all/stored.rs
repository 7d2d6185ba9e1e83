//! Stored indexes: they are read for the tables of which they were stored, and for no others. That reading them gives
//! what building them gives is checked by all tests that reopen their world, which do so every other time.

use crate::support::{STORE_BYTES, World, closed, hash, store_of};
use sardonyx_rows::ReadRow;
use sardonyx_rows::schema::{IndexDefinition, IndexKind, KeyPart, Schema, Type, Value};
use sardonyx_storage::disk::{Access, Create, Disk, Faults, SimulatedDisk};
use sardonyx_storage::stored::{INDEXES_FILE, Stored, store};
use sardonyx_table::{KeyHash, StoredIndexes, TableSpace};

const TABLE: &str = "people";

/// A world of a table with a hashed key, a plain index and one of a long key.
fn world() -> World {
    let mut world = World::with_memory(STORE_BYTES);
    let schema = Schema::new()
        .column("id", Type::U64)
        .column("group", Type::I64)
        .column("name", Type::Text)
        .primary_key(["id"])
        .index("by_group", ["group"])
        .ordered()
        .index("by_name", ["name"])
        .ordered()
        .unique();
    world.commit(|tx| tx.create_table(TABLE, schema).expect("created"));
    insert(&mut world, 0..400);
    world
}

fn insert(world: &mut World, ids: std::ops::Range<u64>) {
    world.commit(|tx| {
        let mut rows = tx.rows(TABLE).expect("a table");
        for id in ids {
            rows.insert(&[
                ("id", Value::from(id)),
                ("group", Value::from((id % 7) as i64)),
                ("name", Value::from(format!("a person of number {id:05}"))),
            ])
            .expect("inserted");
        }
    });
}

/// All rows are found by each index, and no others.
fn check(space: &TableSpace, count: u64) {
    let view = space.view();
    let rows = sardonyx_rows::Rows::named(view, TABLE).expect("a table");
    assert_eq!(rows.count().expect("counted"), count);
    for id in 0..count + 3 {
        let found = rows.get(&[Value::from(id)]).expect("readable");
        assert_eq!(found.is_some(), id < count, "{id}");
    }
    for name in ["by_group", "by_name"] {
        let index = rows.index(name).expect("an index");
        let range = index.all().expect("readable");
        let mut ids: Vec<u64> = range
            .map(|row| {
                let row = row.expect("readable");
                match row.value_at(0).expect("a value").to_value() {
                    Value::Int(id) => id as u64,
                    other => panic!("{other:?}"),
                }
            })
            .collect();
        ids.sort_unstable();
        assert!(ids.into_iter().eq(0..count), "{name}");
    }
}

fn take(disk: &SimulatedDisk) -> Option<StoredIndexes> {
    StoredIndexes::take(disk, closed(), STORE_BYTES, None, 2)
}

/// The tables of these pages, and whether their indexes were read.
fn opened(pages: &[u8], stored: Option<StoredIndexes>) -> (TableSpace, bool) {
    let opened = TableSpace::open_stored(store_of(pages), 2, KeyHash::from_seed(1), stored);
    let (space, report) = opened.expect("sound pages");
    (space, report.stored)
}

#[test]
fn stored_indexes_are_read_once_with_their_hash_and_only_if_they_are_large() {
    let mut world = world();
    let disk = SimulatedDisk::new(1, Faults::default());
    // These are small.
    world.space.store_indexes(&disk, closed());
    assert!(take(&disk).is_none());
    world.space.set_stored_bytes_min(0);
    world.space.store_indexes(&disk, closed());
    let other = StoredIndexes::take(&disk, closed(), STORE_BYTES, Some(KeyHash::from_seed(8)), 1);
    assert!(other.is_none(), "a run with this seed has this hash");
    world.space.store_indexes(&disk, closed());
    let stored = StoredIndexes::take(&disk, closed(), STORE_BYTES, Some(hash()), 1);
    let (space, is_stored) = opened(world.space.pages(), stored);
    assert!(is_stored);
    check(&space, 400);
    assert!(take(&disk).is_none(), "the state moves on");
}

#[test]
fn indexes_of_other_rows_or_other_tables_are_not_taken() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let mut world = world();
    world.space.set_stored_bytes_min(0);
    for change in 0..3 {
        world.space.store_indexes(&disk, closed());
        let stored = take(&disk);
        assert!(stored.is_some());
        let number = world.commit(|tx| tx.rows(TABLE).expect("a table").number());
        match change {
            0 => insert(&mut world, 400..401),
            1 => world.commit(|tx| {
                let schema = Schema::new().column("id", Type::U64).primary_key(["id"]);
                tx.create_table("another", schema).expect("created");
            }),
            _ => world.commit(|tx| {
                tx.drop_index(number, "by_group").expect("dropped");
                let (column, descending) = (1, true);
                let by_group = IndexDefinition {
                    name: "by_group".to_string(),
                    kind: IndexKind::Ordered,
                    unique: false,
                    key: vec![KeyPart { column, descending }],
                    deferrable: false,
                    nulls_equal: false,
                };
                tx.create_index(number, by_group).expect("created");
            }),
        }
        let (space, is_stored) = opened(world.space.pages(), stored);
        assert!(!is_stored, "change {change}");
        check(&space, 401);
    }
}

#[test]
fn a_description_of_any_words_is_refused_or_read_and_never_a_panic() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let mut world = world();
    world.space.set_stored_bytes_min(0);
    world.space.store_indexes(&disk, closed());
    let stored = Stored::open(&disk, closed()).expect("there");
    let description = stored.description().to_vec();
    let mut pages = vec![0; stored.page_bytes() as usize];
    assert!(stored.read(&mut pages, 1));
    let mut refused = 0;
    for word in 0..description.len() / 8 {
        for with in [0, 1, 1 << 20, u64::MAX, u64::MAX / 8] {
            let mut damaged = description.clone();
            damaged[word * 8..][..8].copy_from_slice(&with.to_le_bytes());
            store(&disk, closed(), &damaged, &pages).expect("stored");
            refused += u64::from(take(&disk).is_none());
        }
        store(&disk, closed(), &description[..word * 8], &pages).expect("stored");
        assert!(take(&disk).is_none(), "cut at word {word}");
    }
    assert!(refused > 100, "{refused}");
    store(&disk, closed(), &description, &pages).expect("stored");
    assert!(take(&disk).is_some());
    // Of another program, perhaps.
    let file = disk.open(INDEXES_FILE, Access::Buffered, Create::IfAbsent);
    file.expect("made")
        .write_at(0, &[7; 5000])
        .expect("written");
    assert!(take(&disk).is_none());
}
