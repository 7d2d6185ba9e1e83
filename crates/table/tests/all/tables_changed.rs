//! Tables dropped, declared again, emptied at once and renamed, in transactions that commit or not. Compared are their
//! content and that made by the redo records alone. Pages are used again.

use crate::support;
use crate::support::{Account, Large, Sample, Small, World, hash, store_of};
use proptest::prelude::*;
use sardonyx_base::error::Error;
use sardonyx_rows::{Record, Table};
use sardonyx_storage::catalogue::{CATALOGUE_PAGES, Catalogue, Kind};
use sardonyx_table::{TableSpace, Transaction};
use std::collections::BTreeMap;

/// A change of a table.
#[derive(Clone, Debug)]
enum Change {
    Declare,
    Insert {
        keys: std::ops::Range<u32>,
        value: u32,
    },
    Delete {
        keys: std::ops::Range<u32>,
    },
    Truncate,
    Drop,
    Rename,
}

#[derive(Clone, Debug)]
struct Step {
    /// 0 to 2.
    table: usize,
    change: Change,
}

/// The expected table: its rows, if it exists, and its name.
#[derive(Clone, Default, Debug, PartialEq)]
struct Rows {
    there: bool,
    renamed: bool,
    values: BTreeMap<u32, u32>,
}

type Model = [Rows; 3];

fn change() -> impl Strategy<Value = Change> {
    let keys = (0..300_u32, 1..200_u32).prop_map(|(from, count)| from..from + count);
    prop_oneof![
        3 => Just(Change::Declare),
        6 => (keys.clone(), 1..9_u32).prop_map(|(keys, value)| Change::Insert { keys, value }),
        2 => keys.prop_map(|keys| Change::Delete { keys }),
        2 => Just(Change::Truncate),
        1 => Just(Change::Drop),
        1 => Just(Change::Rename),
    ]
}

fn transactions() -> impl Strategy<Value = Vec<(Vec<Step>, bool)>> {
    let step = (0..3_usize, change()).prop_map(|(table, change)| Step { table, change });
    let transaction = (prop::collection::vec(step, 1..7), prop::bool::weighted(0.7));
    prop::collection::vec(transaction, 1..16)
}

fn handle<R: Record>(tx: &mut Transaction<'_>) -> Table<R> {
    tx.declare_table().expect("declare")
}

fn apply<R: Sample>(tx: &mut Transaction<'_>, change: &Change, rows: &mut Rows) {
    let other = format!("other {}", R::NAME);
    let name = if rows.renamed {
        other.as_str()
    } else {
        R::NAME
    };
    match change {
        Change::Drop | Change::Truncate | Change::Rename if !rows.there => {
            assert!(matches!(tx.drop_table(R::NAME), Err(Error::Refused(_))));
            assert!(matches!(tx.truncate(R::NAME), Err(Error::Refused(_))));
        }
        Change::Declare if !rows.renamed => {
            handle::<R>(tx);
            rows.there = true;
        }
        Change::Insert { keys, value } if rows.there && !rows.renamed => {
            let table = handle::<R>(tx);
            for key in keys.clone() {
                let record = R::sample(key, *value);
                match rows.values.insert(key, *value) {
                    Some(_) => drop(tx.put(table, &record).expect("put")),
                    None => tx.insert(table, &record).expect("insert"),
                }
            }
        }
        Change::Delete { keys } if rows.there && !rows.renamed => {
            let table = handle::<R>(tx);
            for key in keys.clone() {
                let was = rows.values.remove(&key).is_some();
                assert_eq!(tx.delete(table, R::sample_key(key)).expect("delete"), was);
            }
        }
        Change::Truncate => {
            tx.truncate(name).expect("truncate");
            rows.values.clear();
        }
        Change::Drop => {
            tx.drop_table(name).expect("drop");
            *rows = Rows::default();
        }
        Change::Rename => {
            let to = if rows.renamed {
                R::NAME
            } else {
                other.as_str()
            };
            tx.rename_table(name, to).expect("rename");
            rows.renamed = !rows.renamed;
        }
        _ => {}
    }
}

fn apply_step(tx: &mut Transaction<'_>, step: &Step, model: &mut Model) {
    match step.table {
        0 => apply::<Small>(tx, &step.change, &mut model[0]),
        1 => apply::<Account>(tx, &step.change, &mut model[1]),
        _ => apply::<Large>(tx, &step.change, &mut model[2]),
    }
}

fn check_table<R: Sample>(space: &TableSpace, rows: &Rows) {
    let table = space.table::<R>().expect("its layout");
    assert_eq!(table.is_some(), rows.there && !rows.renamed, "{}", R::NAME);
    let names = || {
        space
            .definitions()
            .iter()
            .filter(|d| d.kind != Kind::Dropped)
    };
    let other = format!("other {}", R::NAME);
    assert_eq!(names().any(|d| d.name == other), rows.there && rows.renamed);
    let Some(table) = table else {
        return;
    };
    let view = space.view();
    assert_eq!(
        view.count(table).expect("read"),
        rows.values.len() as u64,
        "{}",
        R::NAME
    );
    let scanned: BTreeMap<u32, R> = view
        .scan(table)
        .expect("read")
        .map(|record| record.expect("a record"))
        .map(|r| (r.number(), *r))
        .collect();
    assert_eq!(scanned.len(), rows.values.len());
    for (key, value) in &rows.values {
        assert_eq!(scanned.get(key), Some(&R::sample(*key, *value)));
        assert_eq!(
            view.get(table, R::sample_key(*key)).expect("read"),
            Some(&R::sample(*key, *value))
        );
    }
}

fn check(space: &TableSpace, model: &Model) {
    check_table::<Small>(space, &model[0]);
    check_table::<Account>(space, &model[1]);
    check_table::<Large>(space, &model[2]);
}

/// Opens the pages made by the log alone: the state after a crash right now.
fn after_a_crash(world: &World) -> TableSpace {
    let (space, _) = TableSpace::open_with(store_of(&world.redone), 1, hash()).expect("open");
    space
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sardonyx_base::random::cases(24)))]

    #[test]
    fn changed_tables_agree_with_maps_after_every_crash(transactions in transactions()) {
        let mut world = World::with_memory(support::STORE_BYTES);
        let mut model = Model::default();
        for (steps, commits) in transactions {
            let mut inside = model.clone();
            let mut tx = world.space.begin(&mut world.log);
            for step in &steps {
                apply_step(&mut tx, step, &mut inside);
            }
            if commits {
                tx.commit();
                model = inside;
            } else {
                tx.abort();
                prop_assert!(world.log.payload().is_empty());
            }
            world.redo();
            check(&world.space, &model);
            check(&after_a_crash(&world), &model);
        }
        world.reopen(2);
        check(&world.space, &model);
    }
}

fn insert<R: Sample>(tx: &mut Transaction<'_>, keys: std::ops::Range<u32>) {
    let table = handle::<R>(tx);
    for key in keys {
        tx.insert(table, &R::sample(key, 1)).expect("insert");
    }
}

#[test]
fn pages_of_emptied_and_dropped_tables_are_used_again() {
    let mut world = World::with_memory(support::STORE_BYTES);
    world.commit(|tx| insert::<Large>(tx, 0..500));
    let pages = world.space.catalogue().pages;
    let bytes_of_indexes = world.space.index_bytes();
    for round in 0..20 {
        world.commit(|tx| tx.truncate(Large::TABLE).expect("truncate"));
        assert_eq!(
            world.space.catalogue().free_pages(),
            pages - CATALOGUE_PAGES
        );
        world.commit(|tx| insert::<Large>(tx, 0..500));
        assert_eq!(world.space.catalogue().pages, pages, "round {round}");
    }
    for round in 0..20 {
        world.commit(|tx| {
            tx.drop_table(Large::TABLE).expect("drop");
            insert::<Account>(tx, 0..1000);
        });
        world.commit(|tx| {
            tx.drop_table(Account::TABLE).expect("drop");
            insert::<Large>(tx, 0..500);
        });
        assert_eq!(world.space.catalogue().pages, pages, "round {round}");
        assert!(
            world.space.definitions().len() <= 4,
            "numbers are used again"
        );
    }
    assert!(world.space.index_bytes() <= 2 * bytes_of_indexes);
    world.reopen(1);
}

#[test]
fn a_table_is_emptied_in_few_bytes_of_log() {
    let mut world = World::with_memory(support::STORE_BYTES);
    for part in 0..20 {
        world.commit(|tx| insert::<Large>(tx, part * 200..(part + 1) * 200));
    }
    let mut tx = world.space.begin(&mut world.log);
    tx.truncate(Large::TABLE).expect("truncate");
    tx.commit();
    assert!(
        world.log.payload().len() < 2000,
        "{}",
        world.log.payload().len()
    );
    world.redo();
}

#[test]
fn what_cannot_be_changed_is_said() {
    let mut world = World::with_memory(support::STORE_BYTES);
    world.commit(|tx| {
        insert::<Small>(tx, 0..10);
        insert::<Account>(tx, 0..10);
    });
    let old = world.space.table::<Small>().expect("there").expect("there");
    world.commit(|tx| {
        for name in ["nothing", "sardonyx.schemas", ""] {
            assert!(
                matches!(tx.drop_table(name), Err(Error::Refused(_))),
                "{name}"
            );
            assert!(
                matches!(tx.truncate(name), Err(Error::Refused(_))),
                "{name}"
            );
        }
        assert!(matches!(
            tx.rename_table(Small::TABLE, Account::TABLE),
            Err(Error::Refused(_))
        ));
        assert!(matches!(
            tx.rename_table(Small::TABLE, "sardonyx.x"),
            Err(Error::Refused(_))
        ));
        assert!(matches!(
            tx.rename_table(Small::TABLE, &"n".repeat(105)),
            Err(Error::Limit(_))
        ));
        // The number is another table's now: the handle does not fit.
        let row = tx.find(old, 3).expect("there");
        tx.drop_table(Small::TABLE).expect("drop");
        assert!(matches!(
            tx.insert(old, &Small::sample(77, 1)),
            Err(Error::Refused(_))
        ));
        insert::<Large>(tx, 0..10);
        assert_eq!(handle::<Large>(tx).number(), old.number());
        assert!(tx.get(old, 3).is_err() && tx.record(row).is_err());
        assert!(matches!(
            tx.insert(old, &Small::sample(77, 1)),
            Err(Error::Refused(_))
        ));
    });
}

/// Each byte of the catalogue's entries and of the words of pages that are used again: a change of it is found, or
/// changes nothing that can be seen.
#[test]
fn damage_of_entries_and_words_is_found_or_harmless() {
    let mut world = World::with_memory(support::STORE_BYTES);
    world.commit(|tx| {
        insert::<Small>(tx, 0..10);
        insert::<Large>(tx, 0..40);
    });
    world.commit(|tx| {
        tx.drop_table(Large::TABLE).expect("drop");
        insert::<Account>(tx, 0..100);
    });
    let catalogue: &Catalogue = world.space.catalogue();
    assert!(catalogue.free_pages() > 0, "there is something free");
    let mut places: Vec<usize> = (0..32).collect();
    // A definition's name, sizes and key identify a table: a change of them makes another one. Its life does not.
    for definition in 0..4 {
        let life = 4096 + definition * 128 + 64;
        places.extend(life..life + 8);
    }
    places.extend(9 * 4096..9 * 4096 + 6 * 32);
    for (_, extent) in catalogue.extents() {
        let pages = extent.first_page.0..extent.end();
        places.extend(
            pages.flat_map(|page| (0..8).map(move |byte| (page as usize + 1) * 4096 - 8 + byte)),
        );
    }
    let model: Model = {
        let rows = |keys: std::ops::Range<u32>| Rows {
            there: true,
            renamed: false,
            values: keys.map(|key| (key, 1)).collect(),
        };
        [rows(0..10), rows(0..100), Rows::default()]
    };
    let (mut found, mut harmless) = (0, 0);
    for place in places {
        let mut pages = world.redone.clone();
        if place >= pages.len() {
            continue;
        }
        for flip in [1, 0x80, 0xff] {
            pages[place] ^= flip;
            match TableSpace::open_with(store_of(&pages), 1, hash()) {
                Err(_) => found += 1,
                Ok((space, _)) => {
                    check(&space, &model);
                    harmless += 1;
                }
            }
            pages[place] ^= flip;
        }
    }
    assert!(
        found > 1000 && harmless > 0,
        "{found} found, {harmless} harmless"
    );
}
