//! Ranges of many rows cost as much at the end as others have changed, and the places of changed rows decide as a walk over the
//! ranges does.

use super::{begun, item};
use crate::changed_rows::walked;
use crate::open::OpenRows;
use crate::open::compare::compared;
use crate::space::TableSpace;
use crate::transaction::Transaction;
use sardonyx_base::error::Error;
use sardonyx_base::random::Random;
use sardonyx_rows::schema::Value;
use sardonyx_rows::{ReadRows, TableError};
use sardonyx_storage::log::seal::GroupBuilder;
use std::ops::Range;

/// Reads rows of kinds, up to so many from an end. Returns how many there are.
fn read(open: &OpenRows, items: u16, kinds: Range<i64>, most: usize, from_back: bool) -> usize {
    let index = open.row_index(items, "by_kind").expect("an index");
    let range = index.range((kinds.start,)..(kinds.end,)).expect("a range");
    let count = |row: Result<_, Error>| drop(row.expect("read"));
    match from_back {
        true => range.rev().take(most).map(count).count(),
        false => range.take(most).map(count).count(),
    }
}

fn set_kind(tx: &mut Transaction<'_>, id: i64, kind: i64) {
    let mut rows = tx.rows("items").expect("a table");
    let changed = rows.update(&[Value::from(id)], &[("kind", Value::from(kind))]);
    changed.expect("updated");
}

fn delete(tx: &mut Transaction<'_>, id: i64) {
    let mut rows = tx.rows("items").expect("a table");
    rows.delete(&[Value::from(id)]).expect("deleted");
}

fn insert(tx: &mut Transaction<'_>, row: &[(&'static str, Value); 3]) {
    let mut rows = tx.rows("items").expect("a table");
    rows.insert(row).expect("inserted");
}

/// Compares behind changes. Returns the result, how many ranges were walked, and how many rows were looked at.
fn behind(
    space: &mut TableSpace,
    open: &OpenRows,
    change: impl FnOnce(&mut Transaction<'_>),
) -> (Result<(), Error>, usize, usize) {
    let mut log = GroupBuilder::with_capacity(1 << 20);
    let mut tx = space.begin(&mut log);
    change(&mut tx);
    let before = compared::RANGES.get();
    walked::ROWS.set(0);
    let ended = open.compared(&tx, &[]).map(drop);
    (ended, compared::RANGES.get() - before, walked::ROWS.get())
}

#[test]
fn i15_a_long_range_is_not_walked_for_one_changed_row() {
    // All of them, or nearly all from either end.
    for (most, from_back) in [(usize::MAX, false), (3900, false), (3900, true)] {
        for (id, conflicts) in [(2000, true), (4990, false)] {
            let (mut space, open, [items, _]) = begun(5000);
            assert_eq!(read(&open, items, 0..4000, most, from_back), most.min(4000));
            let change = |tx: &mut Transaction<'_>| set_kind(tx, id, 4995);
            let (ended, ranges, rows) = behind(&mut space, &open, change);
            assert_eq!(ended.is_err_and(|error| error.is_conflict()), conflicts);
            assert_eq!(ranges, 0);
            assert!((1..400).contains(&rows), "{rows}");
        }
        // A row behind the part that was read.
        if most < 4000 {
            let (mut space, open, [items, _]) = begun(5000);
            read(&open, items, 0..4000, most, from_back);
            let id = if from_back { 50 } else { 3950 };
            let (ended, ranges, _) = behind(&mut space, &open, |tx| delete(tx, id));
            ended.expect("nothing that was read");
            assert_eq!(ranges, 0);
        }
    }
}

#[test]
fn a_row_that_comes_back_is_no_difference() {
    let (mut space, open, [items, _]) = begun(3000);
    read(&open, items, 0..3000, usize::MAX, false);
    let index = open.row_index(items, "by_kind").expect("an index");
    assert_eq!(index.count_range((0,)..(3000,)).expect("counted"), 3000);
    let (ended, ranges, _) = behind(&mut space, &open, |tx| {
        for id in [7, 8, 2000] {
            delete(tx, id);
        }
        // Each gets the place of another one.
        for id in [2000, 7, 8] {
            insert(tx, &item(id));
        }
        set_kind(tx, 9, -1);
        set_kind(tx, 9, 9);
    });
    ended.expect("all rows are as they were");
    assert_eq!(ranges, 0);
}

#[test]
fn counts_of_long_ranges_are_compared_by_changed_rows() {
    for (change, conflicts) in [(40, false), (1500, true)] {
        let (mut space, open, [items, _]) = begun(20_000);
        let index = open.row_index(items, "by_kind").expect("an index");
        for from in 50..60 {
            let count = index.count_range((from,)..(20_000,)).expect("counted");
            assert_eq!(count, 20_000 - u64::try_from(from).expect("positive"));
        }
        let (ended, ranges, _) = behind(&mut space, &open, |tx| {
            // One goes, and another one comes.
            set_kind(tx, 1000, 60);
            delete(tx, 2000);
            let mut row = item(2000);
            row[2].1 = Value::from(3000);
            insert(tx, &row);
            delete(tx, change);
        });
        assert_eq!(ended.is_err_and(|error| error.is_conflict()), conflicts);
        assert_eq!(ranges, 0);
    }
}

#[test]
fn i15_more_rows_than_a_commit_may_compare_are_a_conflict() {
    let (mut space, open, [items, _]) = begun(17_000);
    assert_eq!(read(&open, items, 0..8500, usize::MAX, false), 8500);
    let (ended, ranges, _) = behind(&mut space, &open, |tx| {
        for id in 8600..16_900 {
            set_kind(tx, id, 16_999);
        }
    });
    assert!(ended.is_err_and(|error| error.is_conflict()));
    assert_eq!(ranges, 0);
    // Keys.
    let (mut space, open, [items, _]) = begun(17_000);
    for id in 0..8500_i64 {
        assert!(open.get_row(items, &[id.into()]).expect("read").is_some());
    }
    let (ended, _, rows) = behind(&mut space, &open, |tx| {
        for id in 8600..16_900 {
            set_kind(tx, id, 16_999);
        }
    });
    assert!(ended.is_err_and(|error| error.is_conflict()));
    assert!(rows < 8500, "{rows}");
}

#[test]
fn places_of_changed_rows_decide_as_a_walk_does() {
    let mut found = [0, 0];
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let mut below = |most: u64| i64::try_from(random.below(most)).expect("small");
        let (mut space, open, [items, _]) = begun(700);
        drop(open);
        let mut log = GroupBuilder::with_capacity(1 << 20);
        let mut tx = space.begin(&mut log);
        for id in 0..700 {
            // Several rows of one kind.
            set_kind(&mut tx, id, id / 5);
        }
        tx.commit();
        let open = OpenRows::begin(space.snapshot().expect("a snapshot"));
        let (mut rows, mut ranges) = (0, 0);
        while rows <= 600 {
            let from = below(130);
            let kinds = from..from + 1 + below(10) * below(10);
            let index = open.row_index(items, "by_kind").expect("an index");
            ranges += 1;
            rows += match below(5) {
                0 => read(&open, items, kinds, usize::MAX, below(2) == 0),
                1 | 2 => read(&open, items, kinds, below(20) as usize, false),
                3 => read(&open, items, kinds, below(20) as usize, true),
                _ => {
                    let counted = index.count_range((kinds.start,)..(kinds.end,));
                    counted.expect("counted") as usize / 32
                }
            };
        }
        let mut log = GroupBuilder::with_capacity(1 << 20);
        let mut tx = space.begin(&mut log);
        for change in 0..below(3) {
            match below(4) {
                0 => delete(&mut tx, 700 * below(2) + below(700)),
                1 => insert(&mut tx, &item(1000 + change)),
                2 => {
                    let mut row = item(2000 + change);
                    row[2].1 = Value::from(below(140));
                    insert(&mut tx, &row);
                }
                _ => set_kind(&mut tx, below(700), below(140)),
            }
        }
        let before = compared::RANGES.get();
        let told = open.compared(&tx, &[]).is_ok();
        assert_eq!(compared::RANGES.get(), before, "{seed}: {ranges} ranges");
        let walk: Result<(), TableError> = open.walk_ranges(&tx);
        assert_eq!(told, walk.is_ok(), "{seed}");
        found[usize::from(told)] += 1;
    }
    assert!(found.iter().all(|count| *count > 3), "{found:?}");
}
