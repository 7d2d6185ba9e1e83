//! Building the ordered indexes of a whole table at once, on several threads: at opening, and when one is created.
//!
//! Each thread takes parts of the table, makes an entry of each row for each index, and sorts its own entries; then
//! sorted runs are merged in pairs, and the tree is made of the whole. Entries with one prefix are compared by their rows'
//! keys, so rows of few different prefixes take longer.

use crate::build::turns;
use crate::index_store::IndexStore;
use crate::ordered::{Entry, build};
use crate::secondary::{RowKeys, Secondary, What};
use crate::table::{TableState, page_bytes};
use sardonyx_base::waiting;
use sardonyx_rows::TableError;
use sardonyx_rows::key::{BadKey, KeyBytes, prefix};
use sardonyx_storage::log::LogError;
use sardonyx_storage::page::{Address, PageId};
use std::cmp::Ordering;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A thread costs more than sorting so many entries.
const ENTRIES_PER_MERGE_MIN: usize = 1 << 14;

/// The reason why an index cannot be built of a table's rows.
pub(crate) enum Unfit {
    /// Two rows have the key, and the index is unique; one of them.
    Duplicate(Address),
    /// A key is too long: so many bytes.
    Key(usize),
    /// No memory, or a value could not be read.
    Table(TableError),
}

impl<E: Into<TableError>> From<E> for Unfit {
    fn from(error: E) -> Self {
        Unfit::Table(error.into())
    }
}

/// Builds an index of all rows of a table.
pub(crate) fn build_secondary(
    store: &mut IndexStore,
    rows: &[u8],
    state: &TableState,
    what: What,
    workers: usize,
) -> Result<Secondary, Unfit> {
    let entries = sorted_entries(rows, state, &what, workers)?;
    if what.definition.tells_apart() {
        check_unique(rows, &what, &entries)?;
    }
    let mut index = Secondary::new(what);
    let keys = RowKeys {
        shape: &index.what.shape,
        rows,
    };
    index.tree = build(store, &keys, &entries)?;
    Ok(index)
}

/// The entries of all rows, in order.
fn sorted_entries(
    rows: &[u8],
    state: &TableState,
    what: &What,
    workers: usize,
) -> Result<Vec<Entry>, Unfit> {
    let turns = turns(state);
    let workers = workers.clamp(1, turns.len().max(1));
    let next_turn = AtomicUsize::new(0);
    let work = || {
        let mut entries = Vec::new();
        while let Some(turn) = turns.get(next_turn.fetch_add(1, Relaxed)) {
            if let Some(reason) = waiting::interruption() {
                // The others find no more to do.
                next_turn.store(turns.len(), Relaxed);
                return Err(LogError::Interrupted(reason).into());
            }
            for page in turn.clone().map(PageId) {
                let content = page_bytes(rows, page);
                if state.has_rows(content) {
                    let layout = state.layout_of(content);
                    for slot in layout.occupied(content) {
                        entries.push(entry(rows, what, layout.record(page, slot))?);
                    }
                }
            }
        }
        entries.sort_unstable_by(|one, other| compare(rows, what, *one, *other));
        Ok::<_, Unfit>(entries)
    };
    let mut runs = std::thread::scope(|scope| {
        // This thread is one of the workers.
        let others: Vec<_> = (1..workers)
            .map(|_| sardonyx_base::signals::spawn_scoped(scope, work))
            .collect();
        let mut runs = vec![work()?];
        for other in others {
            runs.push(other.join().expect("making entries does not panic")?);
        }
        Ok::<_, Unfit>(runs)
    })?;
    while runs.len() > 1 {
        let mut merged = Vec::with_capacity(runs.len().div_ceil(2));
        let mut runs_left = runs.into_iter();
        while let Some(one) = runs_left.next() {
            merged.push(match runs_left.next() {
                Some(other) => merge(rows, what, &one, &other),
                None => one,
            });
        }
        runs = merged;
    }
    Ok(runs.pop().unwrap_or_default())
}

fn entry(rows: &[u8], what: &What, row: Address) -> Result<Entry, Unfit> {
    let mut key = KeyBytes::default();
    what.shape.of_row(rows, row, &mut key)?;
    if let Err(BadKey::TooLong { bytes }) = what.shape.check_length(&key) {
        return Err(Unfit::Key(bytes));
    }
    Ok(Entry {
        prefix: prefix(&key),
        address: row,
    })
}

#[inline]
fn compare(rows: &[u8], what: &What, one: Entry, other: Entry) -> Ordering {
    (one.prefix.cmp(&other.prefix)).then_with(|| {
        if what.shape.is_exact() {
            return one.address.cmp(&other.address);
        }
        let mut key = KeyBytes::default();
        match what.shape.of_row(rows, other.address, &mut key) {
            Ok(_) => {
                let order = what.shape.compare(rows, one.address, &key);
                (order.unwrap_or(Ordering::Equal)).then(one.address.cmp(&other.address))
            }
            // Both were read before.
            Err(_) => one.address.cmp(&other.address),
        }
    })
}

/// Both runs in one, by two threads: one from the front, one from the back.
fn merge(rows: &[u8], what: &What, one: &[Entry], other: &[Entry]) -> Vec<Entry> {
    let none = Entry {
        prefix: 0,
        address: Address(0),
    };
    let mut merged = vec![none; one.len() + other.len()];
    let half = merged.len() / 2;
    let (low, high) = merged.split_at_mut(half);
    let before = |one: Entry, other: Entry| compare(rows, what, one, other) == Ordering::Less;
    let from_front = || {
        let (mut left, mut right) = (0, 0);
        for place in low {
            let takes_left = match (one.get(left), other.get(right)) {
                (Some(&l), Some(&r)) => !before(r, l),
                (there, _) => there.is_some(),
            };
            *place = if takes_left { one[left] } else { other[right] };
            left += usize::from(takes_left);
            right += usize::from(!takes_left);
        }
    };
    let mut from_back = || {
        let (mut left, mut right) = (one.len(), other.len());
        for place in high.iter_mut().rev() {
            let takes_right = match (left.checked_sub(1), right.checked_sub(1)) {
                (Some(l), Some(r)) => !before(other[r], one[l]),
                (_, there) => there.is_some(),
            };
            left -= usize::from(!takes_right);
            right -= usize::from(takes_right);
            *place = if takes_right { other[right] } else { one[left] };
        }
    };
    if half < ENTRIES_PER_MERGE_MIN {
        from_front();
        from_back();
    } else {
        std::thread::scope(|scope| {
            sardonyx_base::signals::spawn_scoped(scope, from_back);
            from_front();
        });
    }
    merged
}

/// No two entries have one key, but for keys with nulls.
fn check_unique(rows: &[u8], what: &What, entries: &[Entry]) -> Result<(), Unfit> {
    for pair in entries.windows(2) {
        if pair[0].prefix != pair[1].prefix {
            continue;
        }
        let mut key = KeyBytes::default();
        let has_null = what.shape.of_row(rows, pair[1].address, &mut key)?;
        if !has_null && what.shape.compare(rows, pair[0].address, &key)? == Ordering::Equal {
            return Err(Unfit::Duplicate(pair[1].address));
        }
    }
    Ok(())
}
