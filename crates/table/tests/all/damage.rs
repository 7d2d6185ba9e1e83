//! Damaged pages, byte by byte. The log and the backup are checksummed, so this should not reach the
//! tables. If it does, opening is a typed error, or the tables are consistent in themselves: scans, lookups and counts
//! agree, and transactions and redo work on them. There is never a panic and never an endless loop.

use crate::support::{
    Account, Event, Large, Order, STORE_BYTES, Sample, Small, World, in_detail, store_of,
};
use proptest::prelude::*;
use sardonyx_base::random::stride;
use sardonyx_rows::TableError;
use sardonyx_storage::catalogue::{CATALOGUE_PAGES, Catalogue, CatalogueError, Write};
use sardonyx_storage::page::PAGE_SIZE;
use sardonyx_storage::store::PageStore;
use sardonyx_table::TableSpace;
use std::sync::LazyLock;

/// The pages of a small database: all tables, some with free places, some with several extents; and
/// an area.
static PAGES: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let (mut world, tables) = World::new();
    world.commit(|tx| {
        tx.declare_journal::<Event>().expect("declare");
        for key in 0..600 {
            tx.insert(tables.small, &Small::sample(key, key))
                .expect("insert");
        }
        for key in 0..70 {
            tx.insert(tables.accounts, &Account::sample(key, key))
                .expect("insert");
        }
        for key in 0..200 {
            tx.insert(tables.orders, &Order::sample(key, key))
                .expect("insert");
        }
        for key in 0..20 {
            tx.insert(tables.large, &Large::sample(key, key))
                .expect("insert");
        }
        for key in (0..70).step_by(3) {
            tx.delete(tables.accounts, Account::sample_key(key))
                .expect("delete");
        }
    });
    let mut store = world.space.into_store();
    let mut catalogue = Catalogue::read(&mut store).expect("a sound catalogue");
    let (area, mut writes) = catalogue.declare_area("area").expect("declare");
    writes.extend(catalogue.extend(area, 5).expect("room").1);
    store.grow_to(catalogue.pages).expect("grow");
    for Write { address, bytes } in writes {
        store.bytes_mut()[address.0 as usize..][..bytes.len()].copy_from_slice(&bytes);
    }
    store.bytes().to_vec()
});

/// Opens them, and uses all that can be opened in every way. Returns the error.
fn open_and_use(store: PageStore, workers: usize) -> Option<TableError> {
    let mut world = World::with_memory(STORE_BYTES);
    world.space = match TableSpace::open(store, workers) {
        Ok((space, _)) => space,
        Err(error) => return Some(error),
    };
    world.set_redone(world.space.pages().to_vec());
    use_table::<Small>(&mut world);
    use_table::<Account>(&mut world);
    use_table::<Order>(&mut world);
    use_table::<Large>(&mut world);
    let records = world.reopen(workers).records;
    let counts: u64 = [
        count::<Small>(&world),
        count::<Account>(&world),
        count::<Order>(&world),
        count::<Large>(&world),
    ]
    .iter()
    .sum();
    assert!(counts <= records);
    None
}

fn count<R: Sample>(world: &World) -> u64 {
    let table = world.space.table::<R>().ok().flatten();
    table.map_or(0, |table| world.space.view().count(table).expect("read"))
}

fn use_table<R: Sample>(world: &mut World) {
    let mut tx = world.space.begin(&mut world.log);
    let table = match in_detail(tx.declare_table::<R>()) {
        Ok(table) => table,
        Err(TableError::Catalogue(
            CatalogueError::LayoutDiffers { .. } | CatalogueError::Limit { .. },
        )) => return,
        Err(other) => panic!("{other:?}"),
    };
    tx.commit();
    world.redo();
    let view = world.space.view();
    let records: Vec<R> = view
        .scan(table)
        .expect("read")
        .map(|record| record.expect("a record"))
        .copied()
        .collect();
    assert_eq!(
        records.len() as u64,
        view.count(table).expect("read"),
        "{}",
        R::NAME
    );
    for record in &records {
        assert!(view.get(table, key_of(record)).expect("read") == Some(record));
    }
    world.commit(|tx| {
        for record in records.iter().step_by(2) {
            let changed = tx.update(table, key_of(record), |r| *r.value_mut() ^= 1);
            assert_eq!(changed.expect("update"), Some(()));
        }
        for record in records.iter().step_by(5) {
            assert!(tx.delete(table, key_of(record)).expect("delete"));
        }
        for key in 0..700 {
            match in_detail(tx.insert(table, &R::sample(key, 3))) {
                Ok(_) | Err(TableError::DuplicateKey { .. }) => {}
                Err(other) => panic!("{other:?}"),
            }
        }
    });
    let view = world.space.view();
    assert_eq!(
        view.scan(table).expect("read").count() as u64,
        view.count(table).expect("read")
    );
}

/// The key's bytes in the record, damaged or not.
fn key_of<R: Sample>(record: &R) -> R::Key {
    use sardonyx_base::resident::Resident;
    let bytes = &record.as_bytes()[R::KEY_OFFSET..][..size_of::<R::Key>()];
    R::Key::read_from_bytes(bytes).expect("a key's bytes")
}

fn damaged(damages: &[(usize, u8)], workers: usize) -> Option<TableError> {
    let mut store = store_of(&PAGES);
    for &(at, flip) in damages {
        store.bytes_mut()[at] ^= flip;
    }
    open_and_use(store, workers)
}

const CATALOGUE_BYTES: usize = CATALOGUE_PAGES as usize * PAGE_SIZE;

/// The offset of a byte in use: in the root, the definitions, the extents.
fn in_catalogue() -> impl Strategy<Value = usize> {
    prop_oneof![
        0usize..40,
        PAGE_SIZE..PAGE_SIZE + 6 * 128,
        9 * PAGE_SIZE..9 * PAGE_SIZE + 8 * 32,
        0..CATALOGUE_BYTES,
    ]
}

/// A byte of the tables' pages, bitmaps and table words more often.
fn in_tables() -> impl Strategy<Value = usize> {
    let pages = CATALOGUE_PAGES as usize..PAGES.len() / PAGE_SIZE;
    prop_oneof![
        (pages.clone(), 0..PAGE_SIZE).prop_map(|(page, at)| page * PAGE_SIZE + at),
        (pages, PAGE_SIZE - 80..PAGE_SIZE).prop_map(|(page, at)| page * PAGE_SIZE + at),
    ]
}

#[test]
fn undamaged_pages_are_opened_and_used() {
    assert!(damaged(&[], 1).is_none() && damaged(&[], 3).is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sardonyx_base::random::cases(32)))]

    #[test]
    fn a_damaged_catalogue_is_an_error_or_consistent(at in in_catalogue(), flip in 1u8..) {
        damaged(&[(at, flip)], 2);
    }

    #[test]
    fn damaged_records_are_an_error_or_consistent(at in in_tables(), flip in 1u8..) {
        damaged(&[(at, flip)], 2);
    }

    #[test]
    fn much_damage_is_an_error_or_consistent(
        damages in prop::collection::vec((prop_oneof![in_catalogue(), in_tables()], 1u8..), 1..20),
        workers in 1usize..4,
    ) {
        damaged(&damages, workers);
    }

    #[test]
    fn lost_pages_are_an_error_or_consistent(
        lost in prop::collection::vec(any::<prop::sample::Index>(), 1..4),
        byte in prop_oneof![Just(0u8), Just(0xff), any::<u8>()],
    ) {
        let mut store = store_of(&PAGES);
        for page in lost {
            let page = page.index(PAGES.len() / PAGE_SIZE);
            store.bytes_mut()[page * PAGE_SIZE..][..PAGE_SIZE].fill(byte);
        }
        open_and_use(store, 2);
    }

    #[test]
    fn pages_cut_off_anywhere_are_an_error_or_consistent(pages in 0usize..200) {
        let end = (pages * PAGE_SIZE).min(PAGES.len());
        open_and_use(store_of(&PAGES[..end]), 2);
    }
}

/// Every byte of the catalogue in use, some or each of its bits: the counts of the root and the extents are checked, so
/// damage there is never silent.
#[test]
fn every_bit_of_the_root_and_the_extents_is_checked() {
    let root = (0..20).chain(24..32);
    let extents = (0..6).flat_map(|n| {
        let at = 9 * PAGE_SIZE + n * 32;
        at..at + 24
    });
    let bits = root
        .chain(extents)
        .flat_map(|at| (0..8).map(move |bit| (at, bit)));
    for (at, bit) in bits.step_by(stride(5)) {
        let error = damaged(&[(at, 1 << bit)], 1);
        let typed = matches!(
            error,
            Some(
                TableError::Catalogue(CatalogueError::Damaged { .. })
                    | TableError::DamagedTable { .. }
            )
        );
        assert!(typed, "byte {at}, bit {bit}: {error:?}");
    }
}

#[test]
fn a_lost_root_is_not_taken_for_an_empty_database() {
    let mut store = store_of(&PAGES);
    store.bytes_mut()[..PAGE_SIZE].fill(0);
    let error = open_and_use(store, 1);
    assert!(
        matches!(
            error,
            Some(TableError::Catalogue(CatalogueError::Damaged {
                page: 0,
                ..
            }))
        ),
        "{error:?}"
    );
    // Nothing at all is one.
    assert!(open_and_use(store_of(&[0; 10 * PAGE_SIZE]), 1).is_none());
}
