//! Schemas: as bytes and back, stored with their tables, undone with their transactions, refused when they are
//! damaged or impossible.

mod support;

use proptest::prelude::*;
use sardonyx_table::schema::{
    Column, ForeignKey, IndexDefinition, IndexKind, KeyPart, NullBit, OnDelete, Schema,
    SchemaError, Type, Value,
};
use sardonyx_table::{Record, TableError, record};
use support::{STORE_BYTES, Small, World, in_detail, store_of};

fn column(name: &str, kind: Type, offset: usize) -> Column {
    Column {
        name: name.to_string(),
        kind,
        default: Value::Null,
        offset,
        null: None,
        dropped: false,
        since_shape: 0,
    }
}

fn index(name: &str, columns: &[usize]) -> IndexDefinition {
    let key = columns.iter().map(|&column| KeyPart {
        column,
        descending: false,
    });
    IndexDefinition {
        name: name.to_string(),
        kind: IndexKind::Hash,
        unique: true,
        key: key.collect(),
    }
}

/// A schema of as many columns of 8 bytes.
fn wide(columns: usize, mark: i64) -> Schema {
    let mut schema = Schema::default();
    for number in 0..columns {
        let name = format!("column {number} with a name of {mark}");
        schema.columns.push(column(&name, Type::I64, number * 8));
        schema.columns[number].default = Value::from(mark);
    }
    schema.row_bytes = columns * 8;
    schema.primary = index("primary", &[0]);
    schema
}

#[test]
fn a_schema_is_stored_with_its_table_and_read_again() {
    let mut world = World::with_memory(STORE_BYTES);
    let schemas = [wide(2, 1), wide(500, -1)];
    for (name, schema) in ["narrow", "wide"].iter().zip(&schemas) {
        world.commit(|tx| tx.create_table(name, schema.clone()).expect("created"));
    }
    for _ in 0..2 {
        for (name, schema) in ["narrow", "wide"].iter().zip(&schemas) {
            let number = world.commit(|tx| tx.create_table(name, schema.clone()).expect("there"));
            assert_eq!(
                world.space.schema(number).expect("a table").as_ref(),
                schema
            );
        }
        world.reopen(1);
    }
    let refused = world.commit(|tx| in_detail(tx.create_table("narrow", wide(3, 1))));
    assert!(
        matches!(refused, Err(TableError::SchemaDiffers { .. })),
        "{refused:?}"
    );
}

#[test]
fn an_undone_transaction_leaves_no_schema_and_the_old_one() {
    let mut world = World::with_memory(STORE_BYTES);
    let mut tx = world.space.begin(&mut world.log);
    tx.create_table("gone", wide(40, 1)).expect("created");
    tx.abort();
    assert!(world.space.definitions().is_empty());
    world.redo();
    world.commit(|tx| tx.create_table("there", wide(4, 4)).expect("created"));
    let mut tx = world.space.begin(&mut world.log);
    tx.create_table("another", wide(400, 1)).expect("created");
    tx.abort();
    world.redo();
    assert_eq!(world.space.definitions().len(), 2);
    world.reopen(2);
    assert_eq!(**world.space.schema(0).expect("a table"), wide(4, 4));
}

#[test]
fn the_engines_names_are_refused() {
    #[derive(
        Clone,
        Copy,
        zerocopy::FromBytes,
        zerocopy::IntoBytes,
        zerocopy::Immutable,
        zerocopy::KnownLayout,
    )]
    #[repr(C)]
    struct Mine {
        key: u64,
    }
    record!(Mine { table: "sardonyx.schemas", key: key: u64 });
    let mut world = World::with_memory(STORE_BYTES);
    let refused = world.commit(|tx| in_detail(tx.declare_table::<Mine>()));
    assert!(
        matches!(refused, Err(TableError::ReservedName { .. })),
        "{refused:?}"
    );
    let refused = world.space.table::<Mine>();
    assert!(
        matches!(refused, Err(TableError::ReservedName { .. })),
        "{refused:?}"
    );
    let refused = world.commit(|tx| in_detail(tx.create_table("sardonyx.x", wide(2, 0))));
    assert!(
        matches!(refused, Err(TableError::ReservedName { .. })),
        "{refused:?}"
    );
    assert!(world.space.definitions().is_empty());
}

#[test]
fn a_table_without_a_stored_schema_has_one_of_its_key() {
    let mut world = World::with_memory(STORE_BYTES);
    let table = world.commit(|tx| tx.declare_table::<Small>().expect("declared"));
    let schema = world.space.schema(table.number()).expect("a table");
    let names: Vec<_> = schema.live_columns().map(|(_, c)| &*c.name).collect();
    assert_eq!(names, ["key", "after"]);
    assert_eq!(schema.plain_key(), Some(Small::KEY_OFFSET..4));
    schema.check().expect("one that a table can have");
    assert!(world.space.schema(7).is_none());
}

/// Every byte of the pages of schemas is flipped: opening finds it, or the schemas are as before.
#[test]
fn a_damaged_schema_is_found_when_the_database_is_opened() {
    let mut world = World::with_memory(STORE_BYTES);
    world.commit(|tx| tx.create_table("there", wide(12, 4)).expect("created"));
    let pages = world.space.pages().to_vec();
    let first = pages.len() - 16 * 4096;
    let (mut found, mut harmless) = (0, 0);
    for at in first..first + 4096 {
        let mut pages = pages.clone();
        pages[at] ^= 1 << (at % 8);
        let opened = sardonyx_table::TableSpace::open_with(store_of(&pages), 1, support::hash());
        match opened {
            Err(_) => found += 1,
            Ok((space, _)) => {
                assert_eq!(
                    **space.schema(0).expect("a table"),
                    wide(12, 4),
                    "byte {at}"
                );
                harmless += 1;
            }
        }
    }
    // What is not part of a piece, and what is behind the last one's end, says nothing.
    assert!(found > 600 && harmless > 600, "{found} {harmless}");
}

#[test]
fn what_no_table_can_have_is_refused_with_what_is_wrong() {
    type Change = fn(&mut Schema);
    let cases: [(Change, &str); 14] = [
        (
            |s| s.columns[1].name = s.columns[0].name.clone(),
            "two columns",
        ),
        (|s| s.columns[1].name = String::new(), "1 to 63 bytes"),
        (|s| s.columns[1].name = "a\nb".into(), "control"),
        (
            |s| s.columns[1].default = Value::from("text"),
            "no value of type i64",
        ),
        (|s| s.columns[1].offset = 4, "aligned"),
        (|s| s.columns[1].offset = 0, "overlaps"),
        (|s| s.columns[1].offset = 80, "within the row"),
        (
            |s| s.columns[1].kind = Type::Decimal { scale: 39 },
            "38 digits",
        ),
        (|s| s.primary.key.clear(), "no primary key"),
        (|s| s.primary.key[0].column = 9, "number 9"),
        (
            |s| s.columns[0].null = Some(NullBit { byte: 8, bit: 0 }),
            "nullable",
        ),
        (|s| s.indexes = vec![index("primary", &[1])], "two indexes"),
        (|s| s.indexes = vec![index("i", &[1, 1])], "twice"),
        (|s| s.row_bytes = 4088, "limit is 4080"),
    ];
    for (change, said) in cases {
        let mut schema = wide(2, 1);
        if said == "nullable" {
            // Its bit needs a byte of its own.
            schema.columns[1].offset = 16;
            schema.row_bytes = 24;
        }
        change(&mut schema);
        let error = schema.check().expect_err(said).to_string();
        assert!(error.contains(said), "{said}: {error}");
        let mut world = World::with_memory(STORE_BYTES);
        let refused = world.commit(|tx| in_detail(tx.create_table("t", schema)));
        assert!(
            matches!(refused, Err(TableError::Schema { .. })),
            "{refused:?}"
        );
        assert!(world.space.definitions().is_empty());
    }
}

fn any_type() -> impl Strategy<Value = Type> {
    prop_oneof![
        Just(Type::Bool),
        Just(Type::I8),
        Just(Type::I128),
        Just(Type::U16),
        Just(Type::U32),
        Just(Type::U128),
        Just(Type::F64),
        (0..=38_u8).prop_map(|scale| Type::Decimal { scale }),
        Just(Type::Text),
        Just(Type::Bytes),
        Just(Type::Timestamp),
        Just(Type::Uuid),
        (1..40_u32, any::<u64>()).prop_map(|(bytes, fingerprint)| Type::Plain {
            bytes,
            align: 1,
            fingerprint
        }),
    ]
}

fn default_of(kind: Type, seed: i64) -> Value {
    match kind {
        _ if seed % 3 == 0 => Value::Null,
        Type::Bool => Value::Bool(seed > 0),
        Type::I8 | Type::U16 | Type::U32 | Type::I128 => Value::Int(i128::from(seed & 0x7f)),
        Type::U128 => Value::U128(u128::MAX - seed as u128),
        Type::F64 => Value::Float(seed as f64 / 3.0),
        Type::Decimal { scale } => Value::Decimal(seed.into(), scale),
        Type::Text => Value::Text(format!("{seed} ü")),
        Type::Bytes => Value::Bytes(seed.to_le_bytes().to_vec()),
        Type::Timestamp => Value::Timestamp(seed),
        Type::Uuid => Value::Uuid([seed as u8; 16]),
        Type::Plain { bytes, .. } => Value::Bytes(vec![seed as u8; bytes as usize]),
        _ => Value::Null,
    }
}

prop_compose! {
    fn any_schema()(
        types in proptest::collection::vec((any_type(), any::<i64>(), any::<bool>()), 1..30),
        shapes in 0..3_usize,
        flags in any::<u64>(),
    ) -> Schema {
        let mut schema = Schema::default();
        // A key, and the null bits.
        schema.columns.push(column("id", Type::U64, 0));
        let mut offset = 16;
        for (number, (kind, seed, nullable)) in types.into_iter().enumerate() {
            offset = usize::next_multiple_of(offset, kind.align());
            let mut column = column(&format!("c{number}"), kind, offset);
            offset += kind.bytes();
            column.default = default_of(kind, seed);
            let null = NullBit { byte: 8 + number as u32 / 8, bit: number as u8 % 8 };
            column.null = nullable.then_some(null);
            column.dropped = number > 3 && seed % 7 == 0;
            schema.columns.push(column);
        }
        schema.row_bytes = offset.next_multiple_of(8);
        schema.earlier_shapes = vec![schema.row_bytes; shapes];
        schema.columns[1].since_shape = shapes as u8;
        schema.primary = index("primary", &[0]);
        if flags & 1 != 0 {
            let mut by = index("by", &[1, 0]);
            by.kind = IndexKind::Ordered;
            by.unique = flags & 2 != 0;
            by.key[0].descending = flags & 4 != 0;
            schema.indexes.push(by);
        }
        if flags & 8 != 0 {
            schema.foreign_keys.push(ForeignKey {
                name: "to".to_string(),
                columns: vec![1],
                table: (flags >> 8) as u16,
                referenced: vec![3],
                on_delete: if flags & 16 != 0 { OnDelete::Cascade } else { OnDelete::Restrict },
            });
            schema.checks.push(("c".to_string(), format!("id > {flags}")));
        }
        schema
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_schema_is_read_as_it_was_written_and_no_part_of_it_is(schema in any_schema(), at in any::<usize>(), bit in 0..8_u8) {
        schema.check().expect("one that a table can have");
        let bytes = schema.encode();
        prop_assert_eq!(&Schema::decode(&bytes).expect("decoded"), &schema);
        let cut = at % bytes.len();
        prop_assert!(Schema::decode(&bytes[..cut]).is_err());
        let mut flipped = bytes.clone();
        flipped[cut] ^= 1 << bit;
        prop_assert!(Schema::decode(&flipped).is_err());
        // With a right checksum it is read, whatever it says, without a panic.
        let checksum = crc32c::crc32c(&flipped[12..]);
        flipped[8..12].copy_from_slice(&checksum.to_le_bytes());
        if let Ok(other) = Schema::decode(&flipped) {
            other.check().expect("what is read can be had");
        }
        let mut later = bytes;
        later[0] = 2;
        let version = SchemaError::Version { version: 2, known: 1 };
        prop_assert_eq!(Schema::decode(&later), Err(version));
    }
}
