//! The work of an open transaction does not grow with its earlier changes: counted in its own rows that it reads.

mod planted_faults;
mod ranges;
mod references;
mod unnoted;
mod updates;

use super::changed::{Key, looked_at};
use super::compare::compared;
use super::reads::RangeRead;
use super::{OpenRows, OpenTransactions};
use crate::changed_rows::walked;
use crate::space::TableSpace;
use sardonyx_base::error::Error;
use sardonyx_base::memory::{Budget, Share};
use sardonyx_base::process::Process;
use sardonyx_base::random::Random;
use sardonyx_rows::constraints::ConstrainedRows;
use sardonyx_rows::key::Span;
use sardonyx_rows::schema::{Schema, Type, Value, ValueRef};
use sardonyx_rows::{ReadRow, ReadRows, WriteRows};
use sardonyx_storage::log::seal::GroupBuilder;
use sardonyx_storage::store::PageStore;
use std::ops::Range;
use std::sync::Arc;

/// A transaction on items with a unique and another index, and on parts that refer to items and are deleted with them.
fn begun(rows: i64) -> (TableSpace, OpenRows, [u16; 2]) {
    let store = PageStore::reserve(64 << 20).expect("address space");
    let (mut space, _) = TableSpace::open(store, 1).expect("opened");
    let mut log = GroupBuilder::with_capacity(1 << 16);
    let mut tx = space.begin(&mut log);
    let schema = Schema::new()
        .column("id", Type::I64)
        .column("code", Type::I64)
        .column("kind", Type::I64)
        .primary_key(["id"])
        .ordered()
        .index("by_code", ["code"])
        .ordered()
        .unique()
        .index("by_kind", ["kind"])
        .ordered();
    let items = tx.create_table("items", schema).expect("created");
    for id in 0..rows {
        tx.rows("items")
            .expect("a table")
            .insert(&item(id))
            .expect("inserted");
    }
    let schema = Schema::new()
        .column("id", Type::I64)
        .column("item", Type::I64)
        .primary_key(["id"])
        .index("by_item", ["item"])
        .ordered()
        .foreign_key("of_item", ["item"], "items", ["id"]);
    let parts = tx.create_table("parts", schema).expect("created");
    tx.commit();
    let open = OpenRows::begin(space.snapshot().expect("a snapshot"));
    (space, open, [items, parts])
}

fn item(id: i64) -> [(&'static str, Value); 3] {
    [
        ("id", Value::from(id)),
        ("code", Value::from(-id)),
        ("kind", Value::from(id)),
    ]
}

/// The number of own rows that are looked at meanwhile.
fn looks(work: impl FnOnce()) -> usize {
    let before = looked_at::ROWS.get();
    work();
    looked_at::ROWS.get() - before
}

#[test]
fn a_row_costs_as_much_behind_many_as_behind_few() {
    let (_space, mut open, [items, parts]) = begun(0);
    let mut of_each = Vec::new();
    for id in 0..1000 {
        of_each.push(looks(|| {
            let mut rows = open.rows("items").expect("a table");
            rows.insert(&item(id)).expect("inserted");
            let mut rows = open.rows("parts").expect("a table");
            let part = [("id", Value::from(id)), ("item", Value::from(id))];
            rows.insert(&part).expect("inserted");
            let mut rows = open.rows("items").expect("a table");
            rows.update(&[Value::from(id)], &[("code", Value::from(id + 5000))])
                .expect("updated");
            let code = rows.index("by_code").expect("an index");
            assert!(code.get_by((id + 5000,)).expect("read").is_some());
            let key = open.row_with(items, &[1], &[ValueRef::Int(i128::from(id + 5000))]);
            assert!(key.expect("read").is_some());
            let last = open.last_by_key(items).expect("read");
            assert!(last.is_some());
            let found = open.rows_with(parts, &[1], &[ValueRef::Int(i128::from(id))]);
            assert_eq!(found.expect("read").map(|found| found.len()), Some(1));
        }));
    }
    assert_eq!(of_each.first(), of_each.last());
    assert!(of_each.iter().all(|looks| *looks < 20), "{of_each:?}");
}

#[test]
fn a_walk_over_changed_rows_looks_at_each_once() {
    let (_space, mut open, [items, _]) = begun(1000);
    for id in (0..1000).filter(|id| id % 3 > 0) {
        let mut rows = open.rows("items").expect("a table");
        match id % 3 {
            1 => drop(rows.delete(&[Value::from(id)])),
            _ => drop(rows.update(&[Value::from(id)], &[("kind", Value::from(0))])),
        }
    }
    for id in 1000..1500 {
        let mut rows = open.rows("items").expect("a table");
        rows.insert(&item(id)).expect("inserted");
    }
    let (mut place, mut found) = (None, 0);
    let walked = looks(|| {
        while let Some(behind) = open.row_behind(items, place.clone()).expect("read") {
            place = Some(behind);
            found += 1;
        }
    });
    assert_eq!(found, 334 + 333 + 500);
    // The next one is looked at before it is known which comes first.
    assert!(walked <= 2 * found, "{walked} looks");
}

#[test]
fn notes_of_ranges_and_entries_of_indexes_count() {
    let (_space, mut open, [items, _]) = begun(1);
    let text = |length: usize| vec![7; length];
    let bytes = |open: &OpenRows, work: &dyn Fn(&OpenRows)| {
        let before = open.bytes.get();
        work(open);
        open.bytes.get() - before
    };
    let span = |length| Span {
        from: Some((text(length), false)),
        to: Some((text(length), true)),
    };
    let note = |length| {
        bytes(&open, &|open: &OpenRows| {
            open.take_bytes_of_range("by_code", &span(length))
                .expect("taken");
        })
    };
    assert_eq!(note(4000) - note(0), 8000);
    assert!(note(0) >= 2 * size_of::<RangeRead>());
    // At the bound nothing is noted that was not taken.
    let max = open.bytes.get();
    open.bytes_max = max;
    assert!(
        open.row_index(items, "by_code")
            .expect("an index")
            .all()
            .is_err()
    );
    assert!(open.reads.borrow().ranges().is_empty());
    open.bytes_max = 1 << 20;
    // Three keys of a row, one in each index and its own.
    let before = open.bytes.get();
    let mut rows = open.rows("items").expect("a table");
    rows.insert(&item(5)).expect("inserted");
    let keys: usize = (open.tables.get(items).expect("a table"))
        .changed
        .as_ref()
        .map_or(0, |changed| {
            let all = (0..2).map(|index| changed.between(Some(index), &Span::default()));
            all.flatten()
                .map(|(entry, _)| entry.len() + super::ENTRY_BYTES)
                .sum()
        });
    assert!(keys > 2 * super::ENTRY_BYTES + 16);
    assert!(open.bytes.get() - before > keys + super::OVERHEAD_BYTES);
}

/// Inserts items until one finds no room. Returns how many there are, and why.
fn fill(open: &mut OpenRows) -> (u64, Error) {
    for id in 0.. {
        let mut rows = open.rows("items").expect("a table");
        if let Err(error) = rows.insert(&item(id)) {
            return (u64::try_from(id).expect("a number"), error);
        }
    }
    unreachable!("there is a bound")
}

#[test]
fn bytes_are_of_a_budget_that_others_share() {
    let (mut space, ..) = begun(0);
    let budget = Arc::new(Budget::default());
    budget.set_bytes_max(1 << 20);
    let mut begin =
        || OpenRows::begin(space.snapshot().expect("a snapshot")).counted_in(budget.clone());
    // One alone has a quarter at most.
    let mut all: Vec<_> = (0..3).map(|_| begin()).collect();
    for open in &mut all {
        let (count, error) = fill(open);
        assert!(matches!(error, Error::Limit(_)), "{error}");
        assert!((250 << 10..=256 << 10).contains(&open.bytes()));
        // The one that found no room has done nothing.
        assert_eq!(
            open.rows("items")
                .expect("a table")
                .count()
                .expect("counted"),
            count
        );
    }
    let mut last = begin();
    let mut others = Share::of(budget.clone());
    others.cover(1).expect("room");
    let (count, error) = fill(&mut last);
    assert!(matches!(error, Error::Full(_)), "{error}");
    assert!(budget.taken() > 3 << 18);
    assert_eq!(
        last.rows("items")
            .expect("a table")
            .count()
            .expect("counted"),
        count
    );
    drop((all, last, others));
    assert_eq!(budget.taken(), 0);
}

#[test]
fn a_share_of_a_budget_is_as_large_as_what_is_kept() {
    let (_space, open, _) = begun(1);
    let budget = Arc::new(Budget::default());
    let mut open = open.counted_in(budget.clone());
    insert_until(&mut open, 65 << 10);
    let is_close = || (65 << 10..192 << 10).contains(&budget.taken());
    assert!(is_close());
    for is_undone in [false, true] {
        let mark = open.savepoint();
        for kind in 1..5000 {
            let mut rows = open.rows("items").expect("a table");
            let changed = rows.update(&[Value::from(0)], &[("kind", Value::from(kind))]);
            assert!(changed.expect("updated"));
        }
        assert!(budget.taken() > 500 << 10);
        match is_undone {
            true => open.rollback_to(mark).expect("undone"),
            false => open.release(mark).expect("released"),
        }
        assert!(is_close());
    }
}

#[test]
fn the_end_takes_no_bytes() {
    let (mut space, mut open, [items, _]) = begun(600);
    let found: Result<Vec<_>, _> = open.places(items).collect();
    for at in found.expect("read") {
        ConstrainedRows::delete_alone(&mut open, items, at).expect("deleted");
    }
    open.bytes_max = open.bytes();
    assert!(!open.has_only_new(items).expect("looked up"));
    let mut log = GroupBuilder::with_capacity(1 << 16);
    let tx = space.begin(&mut log);
    open.compared(&tx, &[]).expect("nothing has changed");
    assert_eq!(open.bytes(), open.bytes_max);
}

#[test]
fn a_released_mark_gives_back_what_undoing_needed() {
    let (_space, mut open, _) = begun(1);
    let change = |open: &mut OpenRows, kind: i64| {
        let mut rows = open.rows("items").expect("a table");
        rows.update(&[Value::from(0)], &[("kind", Value::from(kind))])
            .expect("updated");
    };
    change(&mut open, 1);
    let once = open.bytes.get();
    let (first, second) = (open.savepoint(), open.savepoint());
    for kind in 2..100 {
        change(&mut open, kind);
    }
    assert!(open.bytes.get() > 20 * once);
    open.release(first).expect("released");
    assert_eq!(open.bytes.get(), once);
    assert!(open.release(second).is_err());
    assert!(open.rollback_to(first).is_err());
    assert!(open.has_changes());
    // Undone to a mark that stays, nothing is kept but the mark.
    let mark = open.savepoint();
    change(&mut open, 3);
    open.rollback_to(mark).expect("undone");
    assert_eq!(open.bytes.get(), once);
}

/// A transaction among the open ones of a database, whose bytes have this bound.
fn begun_among(space: &mut TableSpace, all: &Arc<OpenTransactions>) -> OpenRows {
    OpenRows::begin(space.snapshot().expect("a snapshot")).begun_among(all)
}

fn insert_until(open: &mut OpenRows, bytes: usize) {
    let first = 100 + open.bytes.get() as i64;
    for id in first.. {
        let mut rows = open.rows("items").expect("a table");
        rows.insert(&item(id)).expect("inserted");
        if open.bytes.get() >= bytes {
            return;
        }
    }
}

#[test]
fn one_row_takes_little_and_what_is_undone_is_given_back() {
    let (mut space, ..) = begun(1);
    let all = OpenTransactions::new(Process::current(), [1000, 1 << 20, usize::MAX]);
    // Small ones end no other.
    let mut small: Vec<_> = (0..200).map(|_| begun_among(&mut space, &all)).collect();
    for open in &mut small {
        insert_until(open, 1);
    }
    assert!(small.iter().all(|open| open.check().is_ok()));
    drop(small);
    let mut large = begun_among(&mut space, &all);
    let mark = large.savepoint();
    insert_until(&mut large, 200 << 10);
    large.rollback_to(mark).expect("undone");
    let mut others: Vec<_> = (0..4).map(|_| begun_among(&mut space, &all)).collect();
    for open in &mut others {
        insert_until(open, 200 << 10);
    }
    assert!(large.check().is_ok());
    assert!(others.iter().all(|open| open.check().is_ok()));
}

#[test]
fn ended_ones_that_are_held_count_until_they_are_dropped() {
    let (mut space, ..) = begun(1);
    let limit = 1 << 20;
    let all = OpenTransactions::new(Process::current(), [3, limit, usize::MAX]);
    let full = |open: &mut OpenRows| {
        (100..).find_map(|id| {
            let mut rows = open.rows("items").expect("a table");
            rows.insert(&item(id)).err()
        })
    };
    // Displaced by later ones, they are ended, too.
    let mut held = Vec::new();
    let told = loop {
        let mut open = begun_among(&mut space, &all);
        let told = full(&mut open).expect("it is bounded").to_string();
        held.push(open);
        if told.contains("not dropped") || held.len() > 100 {
            break told;
        }
    };
    assert!(told.contains("not dropped"), "{told}");
    let kept: usize = held.iter().map(|open| open.bytes.get()).sum();
    assert!(kept <= 2 * limit, "{kept} bytes");
    held.drain(..3);
    let mut open = begun_among(&mut space, &all);
    let told = full(&mut open).expect("it is bounded").to_string();
    assert!(told.contains("limit is"), "{told}");
    drop((held, open));
    let mut open = begun_among(&mut space, &all);
    insert_until(&mut open, limit / 5);
}

#[test]
fn a_forgotten_mark_is_not_a_later_one() {
    let (_space, mut open, _) = begun(0);
    let insert = |open: &mut OpenRows, id: i64| {
        let mut rows = open.rows("items").expect("a table");
        rows.insert(&item(id)).expect("inserted");
    };
    let released = open.savepoint();
    open.release(released).expect("released");
    insert(&mut open, 1);
    let later = open.savepoint();
    insert(&mut open, 2);
    assert!(open.rollback_to(released).is_err());
    assert!(open.release(released).is_err());
    let behind = open.savepoint();
    open.rollback_to(later).expect("undone");
    insert(&mut open, 3);
    let last = open.savepoint();
    insert(&mut open, 4);
    assert!(open.rollback_to(behind).is_err());
    assert_eq!(
        open.rows("items")
            .expect("a table")
            .count()
            .expect("counted"),
        3
    );
    open.rollback_to(last).expect("undone");
    assert_eq!(
        open.rows("items")
            .expect("a table")
            .count()
            .expect("counted"),
        2
    );
}

#[test]
fn of_many_small_ranges_those_of_changed_rows_are_compared() {
    for (reads, compares_all) in [(100, true), (700, false)] {
        let (mut space, open, [items, parts]) = begun(1000);
        for id in 0..reads {
            let code = ValueRef::Int(-i128::from(id));
            assert!(open.row_with(items, &[1], &[code]).expect("read").is_some());
            let none = open.rows_with(parts, &[1], &[ValueRef::Int(id.into())]);
            assert_eq!(none.expect("read").map(|found| found.len()), Some(0));
        }
        let mut log = GroupBuilder::with_capacity(1 << 16);
        let mut tx = space.begin(&mut log);
        for id in 990..993 {
            let mut rows = tx.rows("items").expect("a table");
            let changed = rows.update(&[Value::from(id)], &[("kind", Value::from(0))]);
            assert!(changed.expect("updated"));
        }
        let before = compared::RANGES.get();
        open.compared(&tx, &[]).expect("nothing that was read");
        let compared = compared::RANGES.get() - before;
        let all = 2 * usize::try_from(reads).expect("few");
        assert_eq!(compared, if compares_all { all } else { 0 });
    }
}

/// Has a transaction change the kinds of items, and compares then, without a conflict. Returns how many ranges are compared,
/// and how many rows are looked at to find them.
fn compared_behind(
    space: &mut TableSpace,
    open: &OpenRows,
    changed: impl Iterator<Item = i64>,
) -> (usize, usize) {
    let mut log = GroupBuilder::with_capacity(1 << 16);
    let mut tx = space.begin(&mut log);
    for id in changed {
        let mut rows = tx.rows("items").expect("a table");
        let changed = rows.update(&[Value::from(id)], &[("kind", Value::from(-1))]);
        assert!(changed.expect("updated"));
    }
    let before = compared::RANGES.get();
    compared::KEYS.set(0);
    walked::ROWS.set(0);
    open.compared(&tx, &[]).expect("nothing that was read");
    (compared::RANGES.get() - before, walked::ROWS.get())
}

#[test]
fn many_changed_rows_are_not_looked_at_for_few_reads() {
    for (changed, compared) in [(4000..4010, 0), (700..4000, 600)] {
        let (mut space, open, [items, _]) = begun(4010);
        for id in 0..600_i64 {
            let code = [ValueRef::Int(-i128::from(id))];
            assert!(open.row_with(items, &[1], &code).expect("read").is_some());
        }
        let (ranges, rows) = compared_behind(&mut space, &open, changed);
        assert_eq!(ranges, compared);
        // The places of one page more.
        assert!((1..2 * 600 + 200).contains(&rows), "{rows}");
    }
    // Keys as parts of an index.
    let (mut space, open, [items, _]) = begun(4000);
    for id in 5000..5600_i64 {
        let id = [ValueRef::Int(id.into())];
        assert!(open.row_with(items, &[0], &id).expect("read").is_none());
    }
    let (_, rows) = compared_behind(&mut space, &open, 0..4000);
    assert!((1..600 + 200).contains(&rows), "{rows}");
}

#[test]
fn keys_of_changed_rows_are_kept_in_lists_of_a_bound() {
    let (mut space, open, [items, _]) = begun(7000);
    let index = open.row_index(items, "by_kind").expect("an index");
    let read = |kinds: Range<i64>, most: usize| {
        let range = index.range((kinds.start,)..(kinds.end,)).expect("a range");
        let rows: Result<Vec<_>, _> = range.take(most).collect();
        rows.expect("read").len()
    };
    assert_eq!(read(0..4000, usize::MAX), 4000);
    // In the first list, and in the last one, are rows behind the one that was read.
    assert_eq!(read(4005..4020, 1), 1);
    assert_eq!(read(6980..6999, 1), 1);
    assert_eq!(read(7000..8000, 1), 0);
    let changed = (4010..6970).chain([6990]);
    let (ranges, _) = compared_behind(&mut space, &open, changed.clone());
    assert_eq!(ranges, 0);
    assert_eq!(compared::KEYS.get(), 1000);
    // Many parts are not looked for in several lists.
    for kind in 0..600 {
        assert_eq!(read(kind..kind + 1, 1), 1);
    }
    let (ranges, rows) = compared_behind(&mut space, &open, changed);
    assert_eq!(ranges, 604);
    assert!((1..500 + 200).contains(&rows), "{rows}");
}

#[test]
fn own_rows_between_two_places_are_those_that_a_walk_finds() {
    let mut random = Random::new(7);
    let mut byte = |random: &mut Random| [0, 1, 127, 254, 255][random.below(5) as usize];
    let key = |random: &mut Random, byte: &mut dyn FnMut(&mut Random) -> u8| {
        (0..random.below(4))
            .map(|_| byte(random))
            .collect::<Vec<u8>>()
    };
    let keys: std::collections::BTreeSet<Vec<u8>> =
        (0..200).map(|_| key(&mut random, &mut byte)).collect();
    for _ in 0..2000 {
        let mut place = || match random.below(4) {
            0 => None,
            _ => Some((key(&mut random, &mut byte), random.below(2) == 0)),
        };
        let span = Span {
            from: place(),
            to: place(),
        };
        let is_behind = |place: &(Vec<u8>, bool), key: &[u8]| match place {
            (bytes, true) => key[..key.len().min(bytes.len())] > **bytes,
            (bytes, false) => *key >= **bytes,
        };
        let is_between = |key: &&Vec<u8>| {
            span.from.as_ref().is_none_or(|place| is_behind(place, key))
                && !span.to.as_ref().is_some_and(|place| is_behind(place, key))
        };
        let walked: Vec<_> = keys.iter().filter(is_between).collect();
        let found: Vec<_> = match span.keys() {
            None => Vec::new(),
            Some((from, None)) => keys.range(from..).collect(),
            Some((from, Some(to))) => keys.range(from..to).collect(),
        };
        assert_eq!(found, walked, "{span:?}");
        let sorted: Vec<Key> = keys.iter().map(|key| key.as_slice().into()).collect();
        let part: Vec<_> = sorted[span.part_of(&sorted, |key| key)].iter().collect();
        assert!(
            part.iter()
                .map(|key| &***key)
                .eq(walked.iter().map(|key| &key[..])),
            "{span:?}"
        );
    }
}

#[test]
fn changes_that_were_compared_are_made_although_the_snapshot_is_ended() {
    let (mut space, open, [items, _]) = begun(3000);
    drop(open);
    space.set_snapshot_bytes_max(8 * 4096);
    let mut open = OpenRows::begin(space.snapshot().expect("a snapshot"));
    let change = |open: &mut OpenRows, id: i64, change: (&str, i64)| {
        let mut rows = open.rows("items").expect("a table");
        let changed = rows.update(&[Value::from(id)], &[(change.0, Value::from(change.1))]);
        assert!(changed.expect("updated"));
    };
    change(&mut open, 1, ("kind", -7));
    change(&mut open, 2, ("code", 7000));
    let mut log = GroupBuilder::with_capacity(1 << 20);
    let mut tx = space.begin(&mut log);
    let changes = open.compared(&tx, &[]).expect("nothing has changed");
    for id in 3..3000 {
        let mut rows = tx.rows("items").expect("a table");
        let changed = rows.update(&[Value::from(id)], &[("kind", Value::from(0))]);
        assert!(changed.expect("updated"));
    }
    assert!(open.snapshot().is_ended());
    changes.make(&mut tx).expect("they need no snapshot");
    tx.commit();
    let now = OpenRows::begin(space.snapshot().expect("a snapshot"));
    let column = |id: i64, column| {
        let row = now.get_row(items, &[Value::from(id)]).expect("read");
        row.expect("there")
            .value_at(column)
            .expect("read")
            .to_value()
    };
    assert_eq!(
        (column(1, 2), column(2, 1)),
        (Value::from(-7), Value::from(7000))
    );
    // One that is compared only now has the reason.
    let mut log = GroupBuilder::with_capacity(1 << 16);
    let tx = space.begin(&mut log);
    let refused = open.compared(&tx, &[]).expect_err("its snapshot is ended");
    assert!(
        refused.to_string().contains("snapshot_bytes_max"),
        "{refused}"
    );
}
