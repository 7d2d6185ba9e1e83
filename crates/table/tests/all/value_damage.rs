//! Damage of every byte of pages with values, and of the rows that refer to them: opening reports it, or it is
//! harmless, or one value differs, the damaged one. Never a panic, never another row's text.

use crate::support::{World, hash, in_detail, store_of};
use sardonyx_rows::TableError;
use sardonyx_rows::schema::{Column, IndexDefinition, KeyPart, NullBit, Schema, Type, Value};
use sardonyx_storage::catalogue::CATALOGUE_PAGES;
use sardonyx_storage::page::PAGE_SIZE;
use sardonyx_storage::store::PageStore;
use sardonyx_table::{TableSpace, View};

fn schema() -> Schema {
    let column = |name: &str, kind, offset, null| Column {
        name: name.to_string(),
        kind,
        default: Value::Null,
        offset,
        null,
        dropped: false,
        since_shape: 0,
    };
    let null = NullBit { byte: 40, bit: 0 };
    let mut schema = Schema::default();
    schema.columns = vec![
        column("id", Type::U64, 0, None),
        column("text", Type::Text, 8, None),
        column("bytes", Type::Bytes, 24, Some(null)),
    ];
    schema.row_bytes = 48;
    let key = vec![KeyPart {
        column: 0,
        descending: false,
    }];
    schema.primary = IndexDefinition {
        name: "primary".to_string(),
        unique: true,
        key,
        ..IndexDefinition::default()
    };
    schema
}

/// Texts inside the row, in one cell, in two, in a chain; free cells and pages.
const LENGTHS: [usize; 8] = [0, 5, 12, 13, 300, 2500, 4080, 13_000];

fn text(row: usize) -> String {
    let char = |n: usize| char::from(b'a' + ((n / 3 + row) % 26) as u8);
    (0..LENGTHS[row % LENGTHS.len()]).map(char).collect()
}

fn pages() -> Vec<u8> {
    let mut world = World::with_memory(1 << 30);
    world.commit(|tx| {
        tx.create_table("texts", schema()).expect("create");
        let mut rows = tx.rows("texts").expect("texts");
        for row in 0..2 * LENGTHS.len() {
            let bytes = text(row + 3).into_bytes();
            rows.insert(&[
                ("id", row.into_value()),
                ("text", text(row).into()),
                ("bytes", bytes.into()),
            ])
            .expect("insert");
        }
        for row in [3usize, 7, 14] {
            rows.delete(&[row.into_value()]).expect("delete");
        }
    });
    world.space.into_store().bytes().to_vec()
}

trait IntoValue {
    fn into_value(self) -> Value;
}

impl IntoValue for usize {
    fn into_value(self) -> Value {
        Value::from(self as u64)
    }
}

/// The pages of the table, which is number 0: their last word has that plus one.
fn own_pages(pages: &[u8]) -> Vec<usize> {
    let pages = pages.chunks(PAGE_SIZE).enumerate();
    let is_own = |page: &[u8]| page[PAGE_SIZE - 8..PAGE_SIZE - 6] == [1, 0];
    let own = pages.skip(CATALOGUE_PAGES as usize);
    own.filter(|(_, page)| is_own(page))
        .map(|(number, _)| number * PAGE_SIZE)
        .collect()
}

fn rows_page(pages: &[u8]) -> usize {
    let kind = |page: &usize| pages[page + PAGE_SIZE - 6] == 0;
    own_pages(pages)
        .into_iter()
        .find(kind)
        .expect("there is one")
}

/// Every row's values, or the error of the first that cannot be read.
fn read(view: &View<'_>) -> Result<Vec<Vec<Value>>, TableError> {
    let rows = in_detail(view.rows("texts"))?;
    let mut all = Vec::new();
    for row in rows.scan() {
        let row = in_detail(row)?;
        all.push(in_detail(row.to_values())?);
    }
    Ok(all)
}

/// The values in which two databases differ; `None` if they have other rows.
fn different<'a>(
    before: &'a [Vec<Value>],
    after: &'a [Vec<Value>],
) -> Option<Vec<(&'a Value, &'a Value)>> {
    let values = before.iter().flatten().zip(after.iter().flatten());
    let different = values.filter(|(before, after)| before != after).collect();
    (before.len() == after.len()).then_some(different)
}

/// The number of bytes of a text or of bytes that differ; all if their lengths do.
fn bytes_that_differ(before: &Value, after: &Value) -> usize {
    let bytes = |value: &Value| match value {
        Value::Text(text) => text.clone().into_bytes(),
        Value::Bytes(bytes) => bytes.clone(),
        _ => Vec::new(),
    };
    let (before, after) = (bytes(before), bytes(after));
    match before.len() == after.len() {
        true => before.iter().zip(&after).filter(|(a, b)| a != b).count(),
        false => before.len().max(after.len()),
    }
}

/// Opens damaged pages, reads and changes the rows. Returns the values read.
fn open_and_use(store: PageStore) -> Result<Vec<Vec<Value>>, TableError> {
    let mut world = World::with_memory(1 << 30);
    world.space = TableSpace::open_with(store, 1, hash())?.0;
    world.set_redone(world.space.pages().to_vec());
    let found = read(&world.space.view())?;
    world.commit(|tx| {
        let Ok(mut rows) = tx.rows("texts") else {
            return;
        };
        for row in &found {
            let longer = [("text", "x".repeat(700).into()), ("bytes", Value::Null)];
            assert!(rows.update(&row[..1], &longer).expect("update"));
        }
        for row in found.iter().step_by(2) {
            assert!(rows.delete(&row[..1]).expect("delete"));
        }
    });
    world.reopen(1);
    read(&world.space.view()).expect("what it wrote itself");
    Ok(found)
}

/// Counts of outcomes: damage was found, one value changed silently, or nothing changed.
#[derive(Debug, Default)]
struct Outcomes {
    found: usize,
    silent: usize,
    harmless: usize,
}

/// Damages each of these bytes. `may_differ` returns true where one value may become another: in the rows themselves,
/// and in cells. As with numbers, only the checksums of the log and of the backup notice that.
fn damage_each(
    pages: &[u8],
    bytes: impl Iterator<Item = usize>,
    is_cell: impl Fn(usize) -> bool,
    may_differ: impl Fn(usize) -> bool,
) -> Outcomes {
    let sound = open_and_use(store_of(pages)).expect("sound");
    let mut outcomes = Outcomes::default();
    for at in bytes {
        let flip = 1u8 << (at % 8);
        let mut store = store_of(pages);
        store.bytes_mut()[at] ^= flip;
        match open_and_use(store) {
            Err(TableError::DamagedTable { .. } | TableError::Schema { .. }) => {
                outcomes.found += 1;
            }
            Err(other) => panic!("byte {at}: {other:?}"),
            Ok(read) if read == sound => outcomes.harmless += 1,
            Ok(read) => {
                // It is one value, and in a cell one byte of it.
                let differ = different(&sound, &read);
                let Some([(before, after)]) = differ.as_deref() else {
                    panic!("byte {at}: {differ:?}");
                };
                assert!(may_differ(at), "byte {at}: {before:?}, {after:?}");
                assert!(
                    !is_cell(at) || bytes_that_differ(before, after) == 1,
                    "byte {at}"
                );
                outcomes.silent += 1;
            }
        }
    }
    outcomes
}

#[test]
fn every_damaged_byte_of_values_and_references_is_found_or_harmless() {
    let pages = pages();
    let sound = open_and_use(store_of(&pages)).expect("sound");
    assert_eq!(sound.len(), 2 * LENGTHS.len() - 3);
    let rows = rows_page(&pages);
    let interesting = |at: &usize| {
        let in_page = at % PAGE_SIZE;
        // All rows, all trailers and bitmaps, the beginnings of cells, some of the rest.
        let is_row = (rows..rows + 2 * LENGTHS.len() * 48).contains(at);
        is_row || in_page >= PAGE_SIZE - 24 || in_page % 199 < 5
    };
    let own = own_pages(&pages);
    let bytes = own.iter().flat_map(|page| *page..page + PAGE_SIZE);
    let is_cell = |at| !(rows..rows + PAGE_SIZE).contains(&at);
    let outcomes = damage_each(&pages, bytes.filter(interesting), is_cell, |_| true);
    assert!(
        outcomes.found > 500 && outcomes.harmless > 100 && outcomes.silent > 100,
        "{outcomes:?}"
    );
}

/// The same table after its columns changed: pages of four shapes, one of them renewed, values in added columns.
fn pages_of_shapes() -> Vec<u8> {
    let mut world = World::with_memory(1 << 30);
    let text = |row: usize| Value::from(text(row).as_str());
    world.commit(|tx| {
        tx.create_table("texts", schema()).expect("create");
        let mut rows = tx.rows("texts").expect("texts");
        // Each has a cell, so that none is lost in silence.
        for row in 0..6usize {
            let bytes = Value::Bytes(vec![row as u8; 40 * row + 40]);
            let id = ("id", row.into_value());
            rows.insert(&[id, ("text", text(row)), ("bytes", bytes)])
                .expect("insert");
        }
    });
    world.commit(|tx| {
        tx.add_column(
            "texts",
            "more",
            Type::Text,
            true,
            "a default of some length".into(),
        )
        .expect("added");
        tx.add_column("texts", "small", Type::I16, false, 5.into())
            .expect("added");
        let mut rows = tx.rows("texts").expect("texts");
        for row in [1usize, 4] {
            let change = [("more", text(row + 2)), ("small", 7.into())];
            rows.update(&[row.into_value()], &change).expect("update");
        }
        rows.delete(&[2.into()]).expect("delete");
        rows.insert(&[("id", 20.into()), ("text", text(3))])
            .expect("insert");
    });
    world.commit(|tx| {
        tx.add_column("texts", "last", Type::Uuid, true, Value::Null)
            .expect("added");
        let mut rows = tx.rows("texts").expect("texts");
        let change = [("last", Value::Uuid([9; 16]))];
        rows.update(&[20.into()], &change).expect("update");
        rows.insert(&[("id", 21.into()), ("text", text(4))])
            .expect("insert");
    });
    world.space.into_store().bytes().to_vec()
}

#[test]
fn every_damaged_byte_of_later_shapes_and_of_schemas_is_found_or_harmless() {
    let pages = pages_of_shapes();
    let sound = open_and_use(store_of(&pages)).expect("sound");
    assert_eq!(sound.len(), 7);
    let own = own_pages(&pages);
    let is_rows = |page: &usize| pages[page + PAGE_SIZE - 6] == 0;
    let shapes: Vec<u8> = own
        .iter()
        .filter(|page| is_rows(page))
        .map(|page| pages[page + PAGE_SIZE - 5])
        .collect();
    assert_eq!(shapes, [0, 2, 3], "{shapes:?}");
    // All rows, all trailers, some of the rest.
    let row_bytes = 6 * 48;
    let of_rows = own.iter().filter(|page| is_rows(page));
    let of_rows = of_rows.flat_map(|page| *page..page + row_bytes);
    let trailers = own
        .iter()
        .flat_map(|page| page + PAGE_SIZE - 24..page + PAGE_SIZE);
    let of_cells = own.iter().filter(|page| !is_rows(page));
    let of_cells = of_cells.flat_map(|page| (*page..page + PAGE_SIZE).step_by(97));
    let is_cell = |at: usize| !is_rows(&(at / PAGE_SIZE * PAGE_SIZE));
    let bytes = of_rows.chain(trailers).chain(of_cells);
    let outcomes = damage_each(&pages, bytes, is_cell, |_| true);
    assert!(
        outcomes.found > 200 && outcomes.harmless > 100 && outcomes.silent > 50,
        "{outcomes:?}"
    );
    // The pieces of the schema, which is the only one, and the rest of their page.
    let is_of_schemas = |page: &usize| pages[page + PAGE_SIZE - 8..page + PAGE_SIZE - 6] == [2, 0];
    let schemas: Vec<usize> = (CATALOGUE_PAGES as usize * PAGE_SIZE..pages.len())
        .step_by(PAGE_SIZE)
        .filter(is_of_schemas)
        .collect();
    assert_eq!(schemas.len(), 1);
    let page = schemas[0];
    let rest = (page + 496..page + PAGE_SIZE - 24).step_by(61);
    let trailer = page + PAGE_SIZE - 24..page + PAGE_SIZE;
    let bytes = (page..page + 300).chain(rest).chain(trailer);
    let outcomes = damage_each(&pages, bytes, |_| false, |_| false);
    assert!(outcomes.found > 220, "{outcomes:?}");
}

#[test]
fn a_cell_of_two_rows_is_damage_and_so_is_one_of_none() {
    let pages = pages();
    let first = rows_page(&pages);
    // Rows 4 and 12 have equal texts, each in a cell of its own.
    let reference = |row: usize| first + row * 48 + 8;
    let mut store = store_of(&pages);
    let copy = pages[reference(4)..][..16].to_vec();
    store.bytes_mut()[reference(12)..][..16].copy_from_slice(&copy);
    let error = open_and_use(store).expect_err("damage");
    assert!(error.to_string().contains("another value's"), "{error}");
    let mut store = store_of(&pages);
    store.bytes_mut()[reference(12)..][..16].fill(0);
    let error = open_and_use(store).expect_err("damage");
    assert!(error.to_string().contains("belongs to no row"), "{error}");
}
