//! Schemas: as bytes and back, stored with their tables, undone with their transactions, refused when they are
//! damaged or impossible.

use crate::support;
use crate::support::{STORE_BYTES, Small, World, in_detail, store_of};
use proptest::prelude::*;
use sardonyx_base::crc32c;
use sardonyx_base::random::stride;
use sardonyx_base::resident::Resident;
use sardonyx_rows::schema::{
    Column, ForeignKey, IndexDefinition, IndexKind, KeyPart, NullBit, OnDelete, Schema,
    SchemaError, Type, Unchecked, Value,
};
use sardonyx_rows::{Plain as _, TableError, record};

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
        deferrable: false,
        nulls_equal: false,
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
    #[derive(Clone, Copy, Resident)]
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

/// Bytes of the pages of schemas are flipped: opening finds it, or the schemas are as before.
#[test]
fn a_damaged_schema_is_found_when_the_database_is_opened() {
    let mut world = World::with_memory(STORE_BYTES);
    world.commit(|tx| tx.create_table("there", wide(12, 4)).expect("created"));
    let pages = world.space.pages().to_vec();
    let first = pages.len() - 16 * 4096;
    let (mut found, mut harmless) = (0, 0);
    for at in (first..first + 4096).step_by(stride(5)) {
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
    // Bytes outside a piece, and behind the last one's end, have no meaning.
    assert!(found > 120 && harmless > 120, "{found} {harmless}");
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

#[test]
fn a_builder_places_columns_and_resolves_names() {
    let schema = Schema::new()
        .column("flag", Type::Bool)
        .nullable()
        .column("id", Type::U32)
        .column("amount", Type::Decimal { scale: 2 })
        .column("part", Type::U32)
        .column("name", Type::Text)
        .nullable()
        .default_value("none")
        .column("ratio", Type::F64)
        .default_value(2)
        .column("day desc", Type::Date)
        .primary_key(["part", "id"])
        .index("by_name", ["name desc", "day desc", "id asc"])
        .ordered()
        .index("by_day", ["day desc"])
        .unique()
        .check("positive", "ratio > 0")
        .build()
        .expect("a schema");
    assert_eq!(schema.plain_key(), Some(0..8));
    let places: Vec<_> = schema.columns.iter().map(|c| c.offset).collect();
    assert_eq!(places, [52, 4, 8, 0, 24, 40, 48]);
    assert_eq!(schema.row_bytes, 56);
    let null = |byte, bit| Some(NullBit { byte, bit });
    assert_eq!(
        (schema.columns[0].null, schema.columns[4].null),
        (null(53, 0), null(53, 1))
    );
    assert_eq!(schema.columns[5].default, Value::Float(2.0));
    let by_name = &schema.indexes[0];
    let key: Vec<_> = by_name
        .key
        .iter()
        .map(|p| (p.column, p.descending))
        .collect();
    assert_eq!(key, [(4, true), (6, false), (1, false)]);
    assert_eq!((by_name.kind, by_name.unique), (IndexKind::Ordered, false));
    assert!(schema.indexes[1].unique && schema.primary.unique);
    // Only the schema has an ordered or scattered primary key.
    let key = |columns: &'static [&str]| {
        Schema::new()
            .column("a", Type::U32)
            .column("b", Type::U64)
            .column("c", Type::Text)
            .primary_key(columns.iter().copied())
    };
    assert_eq!(
        key(&["b", "a"]).build().expect("built").plain_key(),
        Some(0..12)
    );
    assert_eq!(key(&["a", "b"]).build().expect("built").plain_key(), None);
    assert_eq!(key(&["c"]).build().expect("built").plain_key(), None);
    assert_eq!(
        key(&["b"]).ordered().build().expect("built").plain_key(),
        None
    );
}

#[test]
fn what_a_builder_is_told_wrongly_is_said() {
    let columns = || {
        Schema::new()
            .column("id", Type::U64)
            .column("name", Type::Text)
    };
    let long = |count: usize| {
        let all = (0..count).fold(Schema::new(), |b, n| b.column(&format!("c{n}"), Type::Text));
        all.nullable().primary_key(["c0"])
    };
    for (builder, said) in [
        (columns(), "no primary key"),
        (
            columns().primary_key(["key"]),
            "no column \"key\", which index \"primary\" names; the columns are id, name",
        ),
        (
            columns().column("id", Type::I8).primary_key(["id"]),
            "two columns named \"id\"",
        ),
        (
            columns().default_value(7).primary_key(["id"]),
            "no value of type text",
        ),
        (
            columns().nullable().primary_key(["name"]),
            "cannot be nullable",
        ),
        (
            columns().primary_key(["id"]).index("i", ["id", "id desc"]),
            "twice",
        ),
        (columns().primary_key(["id"]).index("i", []), "limit is 16"),
        (
            columns().ordered().primary_key(["id"]),
            "follow a primary key",
        ),
        (Schema::new().nullable(), "before any column"),
        (long(255), "limit is 4080"),
        (long(513), "number of columns is 513"),
        (
            columns()
                .primary_key(["id"])
                .foreign_key("o", ["id"], "nowhere", ["id"]),
            "does not exist",
        ),
        (columns().primary_key(["id"]).check("c", "idd > 0"), "idd"),
    ] {
        let mut world = World::with_memory(STORE_BYTES);
        let error = world
            .commit(|tx| tx.create_table("t", builder))
            .expect_err(said);
        assert!(error.to_string().contains(said), "{said}: {error}");
        assert!(world.space.definitions().is_empty(), "{said}");
        assert!(world.redone.iter().all(|&byte| byte == 0), "{said}");
    }
    assert!(long(254).build().is_ok());
}

#[test]
fn a_reference_is_to_a_unique_key_of_the_same_types() {
    let mut world = World::with_memory(STORE_BYTES);
    let people = Schema::new()
        .column("id", Type::U64)
        .column("name", Type::Text)
        .column("boss", Type::U64)
        .nullable()
        .primary_key(["id"])
        .foreign_key("boss", ["boss"], "people", ["id"]);
    let number = world.commit(|tx| tx.create_table("people", people.clone()).expect("created"));
    let schema = world.space.schema(number).expect("a table").clone();
    assert_eq!(
        (
            schema.foreign_keys[0].table,
            &schema.foreign_keys[0].columns
        ),
        (number, &vec![2])
    );
    assert_eq!(
        world.commit(|tx| tx.create_table("people", people).expect("there")),
        number
    );
    let order = |column: &'static str, to: &'static str| {
        Schema::new()
            .column("id", Type::U64)
            .column("name", Type::Text)
            .primary_key(["id"])
            .foreign_key("owner", [column], "people", [to])
            .cascade()
    };
    for (column, to, said) in [
        ("name", "id", "give both one type"),
        ("name", "name", "unique index"),
    ] {
        let refused = world.commit(|tx| tx.create_table("orders", order(column, to)));
        let text = refused.expect_err(said).to_string();
        assert!(text.contains(said), "{text}");
    }
    let number = world.commit(|tx| {
        tx.create_table("orders", order("id", "id"))
            .expect("created")
    });
    world.reopen(1);
    let schema = world.space.schema(number).expect("a table");
    assert_eq!(schema.foreign_keys[0].on_delete, OnDelete::Cascade);
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
                unchecked: Unchecked { rows: flags & 32 != 0, referenced: flags & 64 != 0 },
            });
            schema.checks.push(("c".to_string(), format!("id > {flags}")));
        }
        schema
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sardonyx_base::random::cases(100)))]

    #[test]
    fn what_is_built_can_be_had(types in proptest::collection::vec((any_type(), any::<bool>()), 1..40)) {
        let mut builder = Schema::new().column("id", Type::U32).primary_key(["id"]);
        for (number, (kind, nullable)) in types.iter().enumerate() {
            builder = builder.column(&format!("c{number}"), *kind);
            builder = if *nullable { builder.nullable() } else { builder };
        }
        let schema = builder.build().expect("built");
        schema.check().expect("checked");
        let values: usize = schema.columns.iter().map(|c| c.kind.bytes()).sum();
        // The loss to alignment: at most the need of the last column and the row's end.
        prop_assert!(schema.row_bytes <= values + types.len().div_ceil(8) + 16);
    }

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
        // With a right checksum any content is read without a panic.
        let checksum = crc32c::crc32c(&flipped[12..]);
        flipped[8..12].copy_from_slice(&checksum.to_le_bytes());
        if let Ok(other) = Schema::decode(&flipped) {
            other.check().expect("what is read can be had");
        }
        let mut later = bytes;
        later[0] = 12;
        let version = SchemaError::Version { version: 12, known: 11 };
        prop_assert_eq!(Schema::decode(&later), Err(version));
    }
}
