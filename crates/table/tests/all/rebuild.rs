//! Opening tables again from their pages. With any number of threads the same records are there, and deleted places
//! are used again. Pages that cannot be right are errors that name the place.

use crate::support;
use crate::support::{Account, Large, Sample, Small, World, hash, store_of};
use sardonyx_rows::{Table, TableError};
use sardonyx_storage::catalogue::CATALOGUE_PAGES;
use sardonyx_storage::page::PAGE_SIZE;
use sardonyx_table::TableSpace;

/// Inserts records with these keys, and the table's handle.
fn filled<R: Sample>(keys: impl Iterator<Item = u32>) -> (World, Table<R>) {
    let mut world = World::with_memory(support::STORE_BYTES);
    let table = world.commit(|tx| {
        let table = tx.declare_table::<R>().expect("declare");
        for key in keys {
            tx.insert(table, &R::sample(key, key)).expect("insert");
        }
        table
    });
    (world, table)
}

fn open(pages: &[u8], workers: usize) -> Result<TableSpace, TableError> {
    TableSpace::open_with(store_of(pages), workers, hash()).map(|(space, _)| space)
}

#[test]
fn many_records_are_found_again_with_any_number_of_threads() {
    const KEYS: u32 = 37_500;
    let (mut world, small) = filled::<Small>(0..KEYS);
    world.commit(|tx| {
        for key in (0..KEYS).step_by(3) {
            assert!(tx.delete(small, key).expect("delete"));
        }
    });
    for workers in [1, 2, 3, 4, 7] {
        let report = world.reopen(workers);
        assert_eq!(report.records, u64::from(KEYS / 3 * 2), "{workers} threads");
        // The deleted places, and the rest of the last page, of 503 places.
        let unused = KEYS.next_multiple_of(503) - KEYS;
        assert_eq!(report.free, u64::from(KEYS / 3 + unused));
        let view = world.space.view();
        for key in 0..KEYS {
            let expected = (key % 3 != 0).then_some(key);
            let found = view
                .get(small, key)
                .expect("read")
                .map(|record| record.value);
            assert_eq!(found, expected, "{key} with {workers} threads");
        }
    }
    // The place with the lowest address, which key 0 had, is used first.
    let mut tx = world.space.begin(&mut world.log);
    tx.insert(
        small,
        &Small {
            key: KEYS,
            value: 5,
        },
    )
    .expect("insert");
    assert_eq!(
        tx.scan(small)
            .expect("read")
            .map(|record| record.expect("a record"))
            .next()
            .map(|record| record.key),
        Some(KEYS)
    );
    tx.abort();
    // The index goes on from the size that it was built in.
    let bytes = world.space.bytes();
    world.commit(|tx| {
        for key in (0..KEYS).step_by(3) {
            tx.insert(small, &Small { key, value: 1 }).expect("insert");
        }
    });
    assert_eq!(world.space.bytes(), bytes, "freed places are used again");
    world.commit(|tx| {
        for key in KEYS..2 * KEYS {
            tx.insert(small, &Small { key, value: 1 }).expect("insert");
        }
    });
    let view = world.space.view();
    assert!((0..2 * KEYS).all(|key| view.get(small, key).expect("read").is_some()));
    assert_eq!(view.scan(small).expect("read").count(), 2 * KEYS as usize);
}

/// Keys of accounts whose hashes start with two zero bits: one shard of four would get them all.
fn skewed_keys(count: usize) -> Vec<u32> {
    let starts_with_zeroes =
        |key: &u32| hash().of(&Account::sample_key(*key).to_le_bytes()) >> 62 == 0;
    (0..).filter(starts_with_zeroes).take(count).collect()
}

#[test]
fn hashes_that_are_not_evenly_spread_are_indexed_all_the_same() {
    // All places of one of two shards, and more than there are in one of four.
    let keys = skewed_keys(45_010);
    for count in [32_768, 45_000] {
        let (present, missing) = keys.split_at(count);
        let (mut world, accounts) = filled::<Account>(present.iter().copied());
        for workers in [1, 3] {
            assert_eq!(world.reopen(workers).records, count as u64);
            let view = world.space.view();
            for &key in present {
                let found = view.get(accounts, Account::sample_key(key)).expect("read");
                assert_eq!(found.map(|account| account.value), Some(key));
            }
            for &key in &missing[..10] {
                assert!(
                    view.get(accounts, Account::sample_key(key))
                        .expect("read")
                        .is_none()
                );
            }
        }
    }
}

/// Gives the record at `to` the key of the one at `from`; places in accounts' pages.
fn copy_key(pages: &mut [u8], from: usize, to: usize) {
    let first = CATALOGUE_PAGES as usize * PAGE_SIZE;
    let place = |n: usize| first + n / 31 * PAGE_SIZE + n % 31 * size_of::<Account>() + 8;
    let key = pages[place(from)..][..8].to_vec();
    pages[place(to)..][..8].copy_from_slice(&key);
}

#[test]
fn two_records_with_one_key_are_an_error_that_names_the_second() {
    let evenly: Vec<_> = (0..45_000).collect();
    for keys in [evenly, skewed_keys(45_000)] {
        let (world, _) = filled::<Account>(keys.into_iter());
        for (from, to) in [(0, 44_999), (44_999, 0), (31, 30)] {
            let mut pages = world.space.pages().to_vec();
            copy_key(&mut pages, from, to);
            for workers in [1, 2] {
                match open(&pages, workers) {
                    Err(TableError::DamagedTable {
                        table,
                        page,
                        offset,
                        reason,
                    }) => {
                        let second = from.max(to);
                        assert_eq!(table, "accounts");
                        assert_eq!(page as usize, CATALOGUE_PAGES as usize + second / 31);
                        assert_eq!(offset, second % 31 * size_of::<Account>());
                        assert_eq!(reason, "a second record with the same key");
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
    }
}

#[test]
fn a_lost_page_between_used_ones_is_an_error_not_the_end_of_the_table() {
    let (world, _) = filled::<Large>(0..20);
    let mut pages = world.space.pages().to_vec();
    let lost = CATALOGUE_PAGES as usize + 5;
    pages[lost * PAGE_SIZE..][..PAGE_SIZE].fill(0);
    match open(&pages, 1) {
        Err(TableError::DamagedTable { page, offset, .. }) => {
            assert_eq!((page as usize, offset), (lost + 1, PAGE_SIZE - 8));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn pages_of_another_table_or_of_none_are_errors() {
    let (world, _) = filled::<Small>(0..600);
    let first = CATALOGUE_PAGES as usize;
    let word = PAGE_SIZE - 8;
    // Page `first + 1` is the last one in use, `first + 3` has not been reached.
    for (page, offset, byte) in [
        (first, word, 2),
        (first, word + 7, 1),
        (first + 1, word, 9),
        (first + 1, word, 0),
        (first + 2, word - 2, 1),
        (first + 3, word, 1),
        (first + 3, word - 1, 1),
    ] {
        let mut pages = world.space.pages().to_vec();
        pages[page * PAGE_SIZE + offset] = byte;
        match open(&pages, 2) {
            Err(TableError::DamagedTable {
                table, page: at, ..
            }) => {
                assert_eq!(table, "small");
                assert!((page..=page + 1).contains(&(at as usize)), "{at}");
            }
            other => panic!("page {page}, offset {offset}: {other:?}"),
        }
    }
}
