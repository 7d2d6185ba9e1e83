//! Checks that the references of a table's rows and the cells of its value pages fit each other: every occupied cell
//! belongs to exactly one reference. This is checked at opening. A cell with two owners, or a free one with an owner,
//! would later be another row's text.

use crate::build::turns;
use crate::places::Damage;
use crate::table::{TableState, page_bytes, shape_of};
use sardonyx_rows::layout::{PageKind, PageLayout, PageUse};
use sardonyx_rows::schema::{Column, VALUE_BYTES_MAX};
use sardonyx_rows::values::{CLASSES, INLINE_BYTES_MAX, NEXT_BYTES, Reference, layout_of};
use sardonyx_storage::page::{Address, PageId};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Words of the largest bitmap of cells.
const BITMAP_WORDS: usize = layout_of(0).records.div_ceil(64);

/// A thread costs more than looking at the rows of fewer pages than these.
const PAGES_PER_WORKER_MIN: usize = 128;

/// Checks all references of all rows of a table, and all cells, on up to `workers` threads. Of several faults the one
/// at the lowest address is returned; of two owners of one cell it may be either.
pub(crate) fn check_values(
    bytes: &[u8],
    number: u16,
    state: &TableState,
    workers: usize,
) -> Result<(), Damage> {
    let columns: Vec<_> = state.schema.variable_columns().collect();
    if columns.is_empty() && !state.values.is_used() {
        return Ok(());
    }
    if columns.is_empty() {
        // Perhaps the kind of a page of rows was damaged, so that its rows would be lost.
        let mut pages = state.used_runs().into_iter().flatten().map(PageId);
        let page = pages.find(|page| !PageLayout::has_rows(page_bytes(bytes, *page)));
        let at = page.map_or(Address(0), PageLayout::table_word);
        let reason = "a page of values, in a table without columns for them";
        return Err(Damage { at, reason });
    }
    let owned = Owned::new(bytes, number, state);
    let (turns, next) = (turns(state), AtomicUsize::new(0));
    let work = || -> Result<(), Damage> {
        let mut first = Ok(());
        while let Some(turn) = turns.get(next.fetch_add(1, Ordering::Relaxed)) {
            for page in turn.clone().map(PageId) {
                let checked = owned.add_page(state, page, &columns);
                first = lower(first, checked);
            }
        }
        first
    };
    let useful = owned.bits.len() / PAGES_PER_WORKER_MIN;
    let found = std::thread::scope(|scope| {
        // This thread is one of the workers.
        let others: Vec<_> = (1..workers.min(useful))
            .map(|_| sardonyx_base::signals::spawn_scoped(scope, work))
            .collect();
        let others = others
            .into_iter()
            .map(|other| other.join().expect("checking does not panic"));
        others.fold(work(), lower)
    });
    found.and_then(|()| owned.check_all())
}

/// The damage at the lower address, if there is one.
fn lower(left: Result<(), Damage>, right: Result<(), Damage>) -> Result<(), Damage> {
    match (left, right) {
        (Err(left), Err(right)) if right.at < left.at => Err(right),
        (Ok(()), right) => right,
        (left, _) => left,
    }
}

/// The cells that have an owner.
struct Owned<'a> {
    bytes: &'a [u8],
    table: u16,
    /// The used pages, in the order of their numbers: the first, the one behind the last, and where the
    /// first one's bits are.
    runs: Vec<(u64, u64, usize)>,
    /// Words in which the threads set bits; they share nothing else.
    bits: Vec<[AtomicU64; BITMAP_WORDS]>,
}

impl<'a> Owned<'a> {
    fn new(bytes: &'a [u8], table: u16, state: &TableState) -> Self {
        let mut used = state.used_runs();
        used.retain(|run| !run.is_empty());
        used.sort_unstable_by_key(|run| run.start);
        let (mut pages, mut runs) = (0, Vec::with_capacity(used.len()));
        for run in used {
            runs.push((run.start, run.end, pages));
            pages += (run.end - run.start) as usize;
        }
        Owned {
            bytes,
            table,
            runs,
            bits: (0..pages).map(|_| Default::default()).collect(),
        }
    }

    /// The place of a page's bits, if it is a used one of the table.
    fn place(&self, page: PageId) -> Option<usize> {
        let behind = self.runs.partition_point(|(start, ..)| *start <= page.0);
        let (start, end, first) = *self.runs.get(behind.checked_sub(1)?)?;
        (page.0 < end).then(|| first + (page.0 - start) as usize)
    }

    /// The layout of a page of cells.
    fn layout(&self, page: PageId) -> Option<PageLayout> {
        match PageUse::of(page_bytes(self.bytes, page))? {
            PageUse {
                table,
                kind: PageKind::Values { class },
                ..
            } if table == self.table && usize::from(class) < CLASSES => Some(layout_of(class)),
            _ => None,
        }
    }

    /// Goes through the references of a page's rows.
    fn add_page(
        &self,
        state: &TableState,
        page: PageId,
        columns: &[&Column],
    ) -> Result<(), Damage> {
        let content = page_bytes(self.bytes, page);
        if !state.has_rows(content) {
            return Ok(());
        }
        let shape = shape_of(content);
        let layout = state.layout_of(content);
        for slot in layout.occupied(content) {
            let row = layout.record(page, slot);
            for column in columns.iter().filter(|column| column.since_shape <= shape) {
                self.add(Address(row.0 + column.offset as u64))?;
            }
        }
        Ok(())
    }

    /// Goes through a reference's cells.
    fn add(&self, at: Address) -> Result<(), Damage> {
        let damage = |reason| Err(Damage { at, reason });
        let reference = Reference::at(self.bytes, at.0 as usize);
        let mut left = reference.len();
        let Some(mut cell) = reference.cell() else {
            let rest = &reference.0[4 + reference.start().len()..];
            debug_assert!(left <= INLINE_BYTES_MAX);
            return match rest.iter().all(|byte| *byte == 0) {
                true => Ok(()),
                false => damage("there is something behind a short value"),
            };
        };
        if left > VALUE_BYTES_MAX {
            return damage("a value is longer than values may be");
        }
        let mut is_first = true;
        loop {
            let Some(layout) = self.take(cell) else {
                return damage(
                    "a value's cell does not exist, is free, or is another value's, too",
                );
            };
            let content = &self.bytes[cell.0 as usize..][..layout.stride];
            let is_last = left <= layout.stride;
            let payload = if is_last {
                content
            } else {
                &content[NEXT_BYTES..]
            };
            if is_first && !payload.starts_with(reference.start()) {
                return damage("a value does not start as in its reference");
            }
            if is_last {
                return Ok(());
            }
            is_first = false;
            left -= payload.len();
            let next = content[..NEXT_BYTES].try_into().expect("8 bytes");
            cell = Address(u64::from_le_bytes(next));
        }
    }

    /// Notes an owner; `None` if it is not an occupied cell, or has an owner.
    fn take(&self, cell: Address) -> Option<PageLayout> {
        let (page, offset) = (cell.page(), cell.offset_in_page());
        let place = self.place(page)?;
        let layout = self.layout(page)?;
        let slot = offset / layout.stride;
        let is_cell = offset.is_multiple_of(layout.stride) && slot < layout.records;
        if !is_cell || !layout.is_occupied(page_bytes(self.bytes, page), slot) {
            return None;
        }
        let bit = 1 << (slot % 64);
        let before = self.bits[place][slot / 64].fetch_or(bit, Ordering::Relaxed);
        let is_new = before & bit == 0;
        is_new.then_some(layout)
    }

    /// Checks that all occupied cells have owners.
    fn check_all(&self) -> Result<(), Damage> {
        for (start, end, first) in &self.runs {
            for (page, bits) in (*start..*end).map(PageId).zip(&self.bits[*first..]) {
                let Some(layout) = self.layout(page) else {
                    continue;
                };
                let mut occupied = layout.occupied(page_bytes(self.bytes, page));
                let alone = occupied
                    .find(|slot| bits[slot / 64].load(Ordering::Relaxed) >> (slot % 64) & 1 == 0);
                if let Some(slot) = alone {
                    return Err(Damage {
                        at: layout.record(page, slot),
                        reason: "a cell of values belongs to no row",
                    });
                }
            }
        }
        Ok(())
    }
}
