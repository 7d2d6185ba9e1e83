//! The contents of pages: the catalogue with its tables, and the undo entries of operations.

use sardonyx_base::crc32c;
use std::sync::{Arc, LazyLock};

use sardonyx_rows::schema::{
    Column, ForeignKey, IndexDefinition, IndexKind, KeyPart, NullBit, OnDelete, Schema, Type, Value,
};
use sardonyx_storage::checkpoint::Checkpoints;
use sardonyx_storage::disk::Disk;
use sardonyx_storage::manifest::Manifest;
use sardonyx_storage::page::PAGE_SIZE;
use sardonyx_storage::recovery::{RecoveryOptions, recover};
use sardonyx_storage::store::PageStore;
use sardonyx_table::TableSpace;

use crate::{Target, seeds};

pub(super) const CATALOGUE: Target = Target {
    name: "catalogue",
    what: "the catalogue, and the pages of its tables",
    seeds: || {
        // The pages with contents; the rest follows from them.
        let pages = PAGES.chunks(PAGE_SIZE);
        let sparse = pages
            .enumerate()
            .filter(|(_, page)| page.iter().any(|&byte| byte != 0))
            .flat_map(|(number, page)| [&(number as u64).to_le_bytes(), page].concat())
            .collect();
        vec![sparse]
    },
    run: catalogue,
    runs: 2_000,
};

pub(super) const UNDO: Target = Target {
    name: "undo",
    what: "the undo entries, names and head of the undo area",
    seeds: || {
        let mut entries = sardonyx_multilevel::fuzzing::undo_entries();
        entries.extend(seeds::OPERATIONS.iter().map(|(_, bytes)| {
            let magic = bytes.windows(8).position(|word| word == b"SdxUndo1");
            let start = magic.unwrap_or(0);
            bytes[start..bytes.len().min(start + PAGE_SIZE)].to_vec()
        }));
        entries
    },
    run: sardonyx_multilevel::fuzzing::decode_undo,
    runs: 20_000,
};

pub(super) const SCHEMA: Target = Target {
    name: "schema",
    what: "the stored schema of a table, also with a right length and checksum",
    seeds: || vec![schema_with_everything().encode()],
    run: |input| {
        let decode = |bytes: &[u8]| {
            if let Ok(schema) = Schema::decode(bytes) {
                assert_eq!(schema.encode(), bytes, "what is read is what is written");
            }
        };
        decode(input);
        let mut sealed = input.to_vec();
        if let Some((head, body)) = sealed.split_at_mut_checked(12) {
            head[4..8].copy_from_slice(&(body.len() as u32).to_le_bytes());
            head[8..12].copy_from_slice(&crc32c::crc32c(body).to_le_bytes());
            decode(&sealed);
        }
    },
    runs: 20_000,
};

/// A schema in which each part of the format occurs.
fn schema_with_everything() -> Schema {
    let key = |column| KeyPart {
        column,
        descending: column == 1,
    };
    let mut schema = Schema::default();
    let mut offset = 16;
    for (number, (kind, default)) in [
        (Type::U64, Value::Int(7)),
        (Type::Text, Value::Text("open".to_string())),
        (Type::Decimal { scale: 2 }, Value::Decimal(-5, 2)),
        (Type::Uuid, Value::Uuid([3; 16])),
    ]
    .into_iter()
    .enumerate()
    {
        let nullable = NullBit { byte: 0, bit: 1 };
        schema.columns.push(Column {
            name: format!("column_{number}"),
            kind,
            default,
            offset,
            null: (number == 1).then_some(nullable),
            dropped: false,
            since_shape: u8::from(number == 3),
        });
        offset += 16;
    }
    let plain = Type::Plain {
        bytes: 8,
        align: 4,
        fingerprint: 9,
    };
    schema.columns.push(Column {
        name: "gone".to_string(),
        kind: plain,
        default: Value::Bytes(vec![1; 8]),
        offset: 8,
        null: None,
        dropped: true,
        since_shape: 0,
    });
    schema.row_bytes = 80;
    schema.earlier_shapes = vec![64];
    schema.primary = IndexDefinition {
        name: "primary".to_string(),
        kind: IndexKind::Ordered,
        unique: true,
        deferrable: false,
        nulls_equal: false,
        key: vec![key(0)],
    };
    schema.indexes = vec![IndexDefinition {
        name: "by text".to_string(),
        kind: IndexKind::Hash,
        unique: false,
        deferrable: false,
        nulls_equal: false,
        key: vec![key(1), key(2)],
    }];
    schema.foreign_keys = vec![ForeignKey {
        name: "owner".to_string(),
        columns: vec![0],
        table: 3,
        referenced: vec![2],
        on_delete: OnDelete::Cascade,
        unchecked: Default::default(),
    }];
    schema.checks = vec![("positive".to_string(), "column_0 > 0".to_string())];
    schema.check().expect("a schema that a table can have");
    schema
}

/// The pages of the database of tables, as recovery makes them.
static PAGES: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let disk: Arc<dyn Disk> = Arc::new(seeds::disk(&seeds::TABLES));
    let manifest = Manifest::read(&*disk).expect("a manifest");
    let options = RecoveryOptions {
        memory_max_bytes: seeds::MEMORY_BYTES,
        checkpoints: Checkpoints::FromCopy,
        workers: 1,
        dry_run: true,
        beside_writer: false,
        sparse: false,
        known_end: None,
    };
    let recovered = recover(&disk, &manifest, options).expect("recovered");
    recovered.store.bytes().to_vec()
});

/// Opens the tables in the pages, and reads one.
fn catalogue(input: &[u8]) {
    let pages = PAGES.len() / PAGE_SIZE;
    let mut store = PageStore::reserve(seeds::MEMORY_BYTES).expect("address space");
    store.grow_to(pages as u64).expect("memory");
    for piece in input.chunks(8 + PAGE_SIZE) {
        let Some((number, page)) = piece.split_first_chunk() else {
            continue;
        };
        let place = (u64::from_le_bytes(*number) as usize % pages) * PAGE_SIZE;
        store.bytes_mut()[place..place + page.len()].copy_from_slice(page);
    }
    let Ok((space, _)) = TableSpace::open(store, 1) else {
        return;
    };
    for definition in space.definitions() {
        _ = definition.describe();
    }
    if let Ok(Some(table)) = space.table::<seeds::Item>() {
        let view = space.view();
        let scanned = view.scan(table).expect("the handle fits").count();
        assert_eq!(Some(scanned as u64), view.count(table).ok());
    }
}
