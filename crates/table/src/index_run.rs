//! Rows of a snapshot in the order of an index that is being built: read and sorted by a thread that does not have the
//! stage. The keys are kept beside the entries until they are sorted, so that no row is read twice for it.

use crate::ordered::Entry;
use crate::rows::SnapshotScan;
use crate::secondary::Secondary;
use crate::snapshot::SpaceSnapshot;
use crate::table::used_runs;
use crate::transaction::{IndexBeside, IndexChanges};
use sardonyx_rows::key::{KeyBytes, prefix};
use sardonyx_rows::layout::{PageKind, PageLayout, PageUse};
use sardonyx_rows::{AnyRow, ScanPlace, TableError};
use sardonyx_storage::page::{Address, PAGE_SIZE, PageId};
use sardonyx_storage::store::PageRead;
use std::cmp::Ordering;

/// Rows with their keys: the bytes of a row's key that its entry lacks are among the bytes of all.
#[derive(Clone, Copy, Debug)]
struct Keyed {
    entry: Entry,
    start: usize,
    len: u32,
    has_null: bool,
}

/// Bytes of a key that an entry has.
const ENTRY_KEY_BYTES: usize = size_of::<u64>();

/// Some rows of a snapshot, in the order of an index.
#[derive(Debug)]
pub struct IndexRun {
    pub(crate) entries: Vec<Entry>,
    pub(crate) is_first: bool,
}

impl IndexRun {
    /// Rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True for the first run of an index: its rows are put in behind one another.
    #[inline]
    pub fn is_first(&self) -> bool {
        self.is_first
    }

    /// True if it has no rows.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl SpaceSnapshot {
    /// True if all rows of a table are as new as these columns. A table with rows that are older than one of them has those
    /// rewritten when it gets an index or a reference of the columns.
    ///
    /// # Errors
    /// There is no such table, or the snapshot was ended.
    #[doc(hidden)]
    #[inline]
    pub fn all_have(&self, table: u16, columns: &[usize]) -> Result<bool, TableError> {
        let state = self.frozen(table)?.state;
        let columns = columns.iter();
        let since = columns.filter_map(|column| state.schema.columns.get(*column));
        let since = since.map(|column| column.since_shape).max();
        let since = since.unwrap_or_default();
        if since == 0 {
            return Ok(true);
        }
        let mut buffer = Vec::new();
        for page in used_runs(&state.extents, state.fresh)
            .into_iter()
            .flatten()
            .map(PageId)
        {
            let word = self.rows.word(PageLayout::table_word(page))?;
            if let Some(PageKind::Rows { shape }) = PageUse::of_word(word).map(|of| of.kind)
                && shape < since
            {
                let content = self.rows.read(page.address(), PAGE_SIZE, &mut buffer)?;
                if state.layout_of(content).occupied_from(content, 0).is_some() {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// The rows of a table from a place on, in the order of an index, until they and their keys take about `bytes_max`
    /// bytes. The place becomes that behind them. After each row `each` receives the bytes that are taken for it,
    /// including memory that is allocated ahead. None if there are no more rows.
    ///
    /// # Errors
    /// The error that `each` returns; [`TableError::DuplicateValue`] if the index is unique and two of these rows have
    /// one key; [`TableError::KeyTooLong`]; an error if the snapshot was ended.
    #[doc(hidden)]
    pub fn index_run<E: From<TableError>>(
        &self,
        beside: &IndexBeside,
        place: &mut ScanPlace,
        bytes_max: usize,
        mut each: impl FnMut(usize) -> Result<(), E>,
    ) -> Result<Option<IndexRun>, E> {
        let is_first = *place == ScanPlace::default();
        let (index, table) = (beside.index(), self.frozen(beside.table())?);
        let mut scan = SnapshotScan::<AnyRow>::new(table, *place)?;
        let (mut rows, mut keys) = (Vec::new(), Vec::new());
        let (mut bytes, mut counted) = (0, 0);
        while bytes < bytes_max {
            let Some(at) = scan.next_address() else {
                break;
            };
            let row = self.keyed(index, at.map_err(TableError::from)?, table.name, &mut keys)?;
            bytes += size_of::<Keyed>() + row.len as usize;
            rows.push(row);
            // The entries are allocated before the rows are freed.
            let there = rows.capacity() * size_of::<Keyed>() + rows.len() * size_of::<Entry>();
            let there = there + keys.capacity();
            each(there - counted)?;
            counted = there;
        }
        *place = scan.place();
        if rows.is_empty() {
            return Ok(None);
        }
        let rest = |row: &Keyed| &keys[row.start..][..row.len as usize];
        let by_key = |one: &Keyed, other: &Keyed| {
            let prefixes = one.entry.prefix.cmp(&other.entry.prefix);
            prefixes.then_with(|| rest(one).cmp(rest(other)))
        };
        let by_address = |one: &Keyed, other: &Keyed| one.entry.address.cmp(&other.entry.address);
        rows.sort_unstable_by(|one, other| by_key(one, other).then_with(|| by_address(one, other)));
        if index.what.definition.tells_apart() {
            let are_one = |pair: &&[Keyed]| {
                !pair[0].has_null && by_key(&pair[0], &pair[1]) == Ordering::Equal
            };
            if let Some(pair) = rows.windows(2).find(are_one) {
                let at = pair[1].entry.address;
                return Err(index.duplicate(table.name, &*self.rows, at).into());
            }
        }
        Ok(Some(IndexRun {
            entries: rows.iter().map(|row| row.entry).collect(),
            is_first,
        }))
    }

    #[inline]
    fn keyed(
        &self,
        index: &Secondary,
        at: Address,
        table: &str,
        keys: &mut Vec<u8>,
    ) -> Result<Keyed, TableError> {
        let mut key = KeyBytes::default();
        let shape = &index.what.shape;
        let has_null = shape.of_row(&*self.rows, at, &mut key)?;
        if let Err(bad) = shape.check_length(&key) {
            return Err(index.bad_key(bad, table, None));
        }
        let rest = key.get(ENTRY_KEY_BYTES..).unwrap_or_default();
        let start = keys.len();
        keys.extend_from_slice(rest);
        Ok(Keyed {
            entry: Entry {
                prefix: prefix(&key),
                address: at,
            },
            start,
            len: rest.len() as u32,
            has_null,
        })
    }
}

impl IndexBeside {
    /// The rows whose keys differ from a snapshot: those that it had, and those that a later one has. `each` receives
    /// the bytes that a change takes.
    ///
    /// # Errors
    /// The error that `each` returns; [`TableError::Conflict`] if they are more than `most`, or all rows were replaced
    /// at once; an error if a snapshot was ended.
    pub fn changes<E: From<TableError>>(
        &self,
        before: &SpaceSnapshot,
        after: &SpaceSnapshot,
        most: usize,
        mut each: impl FnMut(usize) -> Result<(), E>,
    ) -> Result<IndexChanges, E> {
        let mut changes = self.no_changes(most);
        before.rows_changed_until(self.table(), after, |was, is| {
            let was = was.map(|row| (&*before.rows, row.address()));
            let noted = changes.note(was, is.map(|row| (&*after.rows, row.address())))?;
            each(noted * size_of::<Address>())
        })?;
        Ok(changes.done())
    }
}
