//! Rows that are found, read, inserted and changed by the places of their columns: as in the general way where the places are those of
//! all rows, and not at all elsewhere.

use crate::support::{STORE_BYTES, World};
use sardonyx_rows::row::LongValues;
use sardonyx_rows::schema::{Schema, Type, Value, ValueRef};
use sardonyx_rows::values::{REFERENCE_BYTES, Reference};
use sardonyx_rows::{ReadRow, ReadRows};
use sardonyx_storage::page::Address;
use sardonyx_table::Transaction;
use std::sync::Arc;

const TABLE: &str = "named";
// The numbers of its columns.
const NAME: usize = 0;
const COUNT: usize = 1;
const VALUE: usize = 2;

/// A table with its schema, and with the places of its columns.
struct Named {
    table: u16,
    schema: Arc<Schema>,
}

impl Named {
    fn of(tx: &mut Transaction<'_>) -> Named {
        let table = tx.rows(TABLE).expect("a table").number();
        let schema = Arc::clone(tx.row_schema(table).expect("of rows"));
        Named { table, schema }
    }

    fn place(&self, column: usize) -> usize {
        self.schema.columns[column].offset
    }

    fn with_schema(&self) -> (u16, &Arc<Schema>) {
        (self.table, &self.schema)
    }
}

/// Names in the row and in a cell. Their values have other lengths, and the longest is in several cells.
fn names() -> Vec<Vec<u8>> {
    let lengths = [1, 12, 13, 40, 600, 3900];
    lengths
        .map(|length| vec![b'a' + (length % 26) as u8; length])
        .to_vec()
}

fn value(number: usize) -> Vec<u8> {
    vec![b'v'; [0, 20_000, 12, 13, 700, 5][number]]
}

fn world() -> (World, Named) {
    let mut world = World::with_memory(STORE_BYTES);
    let named = world.commit(|tx| {
        let columns = Schema::new()
            .column("name", Type::Bytes)
            .column("count", Type::U64)
            .column("value", Type::Bytes);
        tx.create_table(TABLE, columns.primary_key(["name"]))
            .expect("created");
        let other = Schema::new().column("id", Type::U64).primary_key(["id"]);
        tx.create_table("other", other).expect("created");
        let inserted = tx
            .rows("other")
            .expect("a table")
            .insert(&[("id", 1.into())]);
        inserted.expect("inserted");
        for (number, name) in names().into_iter().enumerate() {
            let row = [
                Value::Bytes(name),
                (number as u64).into(),
                Value::Bytes(value(number)),
            ];
            let inserted = tx.rows(TABLE).expect("a table").insert_values(&row);
            inserted.expect("inserted");
        }
        Named::of(tx)
    });
    (world, named)
}

fn address(tx: &mut Transaction<'_>, table: &str, key: Value) -> Option<Address> {
    let rows = tx.rows(table).expect("a table");
    let row = rows.get(&[key]).expect("readable");
    row.map(|row| row.address())
}

#[test]
fn rows_are_found_and_read_by_the_places_of_their_columns() {
    let (mut world, named) = world();
    let hashes: Vec<_> = names()
        .iter()
        .map(|name| world.space.hash_of(named.table, &name[..]).expect("hashed"))
        .collect();
    world.commit(|tx| {
        for (number, name) in names().iter().enumerate() {
            let at = address(tx, TABLE, Value::Bytes(name.clone())).expect("there");
            let key = (&name[..], named.place(NAME));
            let by_hash = tx.fixed_by_hash(named.with_schema(), hashes[number], key);
            let by_hash = by_hash.expect("known").expect("there");
            assert_eq!(by_hash.address(), at);
            let row = tx.fixed_at(named.with_schema(), at);
            let row = row.expect("known").expect("there");
            assert_eq!(
                (row.address(), row.word(named.place(COUNT))),
                (at, number as u64)
            );
            let value = value(number);
            let read = row.bytes(named.place(VALUE));
            assert_eq!(read, (value.len() < 3000).then_some(&value[..]));
            let is_it = row.is(named.place(VALUE), &value);
            assert_eq!(is_it, (value.len() < 3000).then_some(true));
            assert_eq!(row.is(named.place(VALUE), b"other length"), Some(false));
        }
    });
}

#[test]
fn no_row_is_found_where_there_is_none() {
    let (mut world, named) = world();
    let name = &names()[2];
    let hash = world.space.hash_of(named.table, &name[..]).expect("hashed");
    world.commit(|tx| {
        let by_hash = |tx: &Transaction<'_>, key: &[u8]| {
            let found = tx.fixed_by_hash(named.with_schema(), hash, (key, named.place(NAME)));
            found.expect("known").map(|row| row.address())
        };
        let by_address = |tx: &Transaction<'_>, at: Address| {
            let found = tx.fixed_at(named.with_schema(), at).expect("known");
            found.map(|row| row.address())
        };
        let at = by_hash(tx, name).expect("there");
        // Of the same hash and the same length, or a part of it.
        assert_eq!(by_hash(tx, &[&name[1..], b"~"].concat()), None);
        assert_eq!(by_hash(tx, &name[1..]), None);
        let other = address(tx, "other", 1.into()).expect("there");
        let outside = Address(u64::MAX / 2 / 4096 * 4096 + 64);
        for none in [Address(at.0 + 8), other, outside] {
            assert_eq!(by_address(tx, none), None, "{none:?}");
        }
        assert_eq!(by_address(tx, at), Some(at));
        let deleted = tx
            .rows(TABLE)
            .expect("a table")
            .delete(&[Value::Bytes(name.clone())]);
        assert!(deleted.expect("deleted"));
        assert_eq!((by_hash(tx, name), by_address(tx, at)), (None, None));
    });
}

/// Inserts a row by the places of its columns, with a hash of its name.
fn insert(tx: &mut Transaction<'_>, named: &Named, hash: u64, name: &[u8], count: u64) -> bool {
    let mut row = vec![0; named.schema.row_bytes];
    let mut long = LongValues::default();
    for (column, bytes) in [(NAME, name), (VALUE, &[b'w'; 500][..])] {
        let place = named.place(column);
        match Reference::inline(bytes) {
            Some(inline) => row[place..][..REFERENCE_BYTES].copy_from_slice(&inline.0),
            None => assert!(long.push(place, bytes)),
        }
    }
    row[named.place(COUNT)..][..8].copy_from_slice(&count.to_le_bytes());
    let inserted = tx.insert_fixed(named.with_schema(), hash, (&mut row[..], &long));
    inserted.is_some_and(|inserted| inserted.is_ok())
}

#[test]
fn rows_are_inserted_by_the_places_of_their_columns_and_logged() {
    let (mut world, named) = world();
    let new: [&[u8]; 2] = [b"new", &[b'n'; 300]];
    let hashes = new.map(|name| world.space.hash_of(named.table, name).expect("hashed"));
    // The log's records alone make the same pages: the world compares them.
    world.commit(|tx| {
        for (name, hash) in new.iter().zip(hashes) {
            assert!(insert(tx, &named, hash, name, 7));
        }
    });
    world.commit(|tx| {
        let rows = tx.rows(TABLE).expect("a table");
        for name in new {
            let row = rows.get(&[Value::Bytes(name.to_vec())]).expect("readable");
            let row = row.expect("there");
            let columns = [NAME, COUNT, VALUE].map(|column| row.value_at(column));
            let columns = columns.map(|value| value.expect("a column").to_value());
            let expected = [
                Value::Bytes(name.to_vec()),
                7u64.into(),
                Value::Bytes(vec![b'w'; 500]),
            ];
            assert_eq!(columns, expected);
        }
        assert!(
            tx.add_column(TABLE, "note", Type::U64, true, Value::Null)
                .is_ok()
        );
        assert!(
            !insert(tx, &named, hashes[0], b"other", 7),
            "of another shape"
        );
    });
}

#[cfg(debug_assertions)]
#[test]
#[should_panic(expected = "no row has the key")]
fn a_second_row_with_a_key_is_an_error_of_the_program() {
    let (mut world, named) = world();
    let name = &names()[3];
    let hash = world.space.hash_of(named.table, &name[..]).expect("hashed");
    world.commit(|tx| insert(tx, &named, hash, name, 1));
}

#[test]
fn columns_are_set_by_their_places_and_logged() {
    let (mut world, named) = world();
    let name = || Value::Bytes(names().swap_remove(2));
    let count = |tx: &mut Transaction<'_>| {
        let rows = tx.rows(TABLE).expect("a table");
        let row = rows.get(&[name()]).expect("readable").expect("there");
        let count = row.value_at(COUNT).expect("a column");
        match count {
            ValueRef::Int(count) => count,
            _ => -1,
        }
    };
    let set = |tx: &mut Transaction<'_>, number: u64| {
        let at = address(tx, TABLE, name()).expect("there");
        let set = tx.set_fixed(
            named.with_schema(),
            (at, named.place(COUNT)),
            &number.to_le_bytes(),
        );
        set.expect("by its place").expect("set");
    };
    // The log's records alone make the same pages: the world compares them.
    world.commit(|tx| set(tx, 77));
    assert_eq!(world.commit(|tx| count(tx)), 77);
    let mut undone = world.space.begin(&mut world.log);
    set(&mut undone, 78);
    undone.abort();
    assert_eq!(world.commit(|tx| count(tx)), 77);
}

#[test]
fn nothing_is_known_by_the_places_of_another_schema_or_of_rows_of_two_shapes() {
    let (mut world, named) = world();
    let name = &names()[2];
    let hash = world.space.hash_of(named.table, &name[..]).expect("hashed");
    let is_known = |tx: &mut Transaction<'_>, named: &Named| {
        let at = address(tx, TABLE, Value::Bytes(name.clone())).expect("there");
        let key = (&name[..], named.place(NAME));
        let place = (at, named.place(COUNT));
        [
            tx.fixed_by_hash(named.with_schema(), hash, key).is_some(),
            tx.fixed_at(named.with_schema(), at).is_some(),
            tx.set_fixed(named.with_schema(), place, &[9; 8]).is_some(),
        ]
    };
    let same = Named {
        table: named.table,
        schema: Arc::new((*named.schema).clone()),
    };
    world.commit(|tx| {
        assert_eq!(
            is_known(tx, &same),
            [false; 3],
            "it is equal, but not the table's"
        );
        assert_eq!(is_known(tx, &named), [true; 3]);
        let no_table = Named {
            table: u16::MAX,
            schema: Arc::clone(&named.schema),
        };
        assert_eq!(is_known(tx, &no_table), [false; 3]);
        let added = tx.add_column(TABLE, "note", Type::U64, true, Value::Null);
        added.expect("a column");
        assert_eq!(is_known(tx, &named), [false; 3]);
        let newer = Named::of(tx);
        assert!(!Arc::ptr_eq(&newer.schema, &named.schema));
        assert_eq!(
            is_known(tx, &newer),
            [false; 3],
            "old rows are of another shape"
        );
    });
}
