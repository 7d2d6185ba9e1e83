//! Cursors: rows of a table one by one, in the order of an index or in no order.

use crate::boundary::{call, text};
use crate::handle::{Kind, Pool, alone};
use crate::statement::Plan;
use crate::status::Failure;
use crate::status::sdx_status::{self, SDX_END};
use sardonyx::low_level::IndexEntries;
use sardonyx::rows::{Index, IndexRange, ReadRow, Rows, WriteRows};
use sardonyx::schema::Value;
use sardonyx::{Error, Snapshot};
use sardonyx_base::sync::futex::Mutex;
use std::collections::VecDeque;
use std::ffi::{c_char, c_void};
use std::ops::Bound;
use std::sync::Arc;

/// Without the rows whose key is that of `from`.
pub const SDX_RANGE_FROM_EXCLUDED: u32 = 1;
/// Without the rows whose key is that of `to`.
pub const SDX_RANGE_TO_EXCLUDED: u32 = 2;
/// The last row first.
pub const SDX_RANGE_REVERSE: u32 = 4;
/// The rows whose key begins with that of `from`; its last column, a text or bytes, is a prefix. `to` is
/// null.
pub const SDX_RANGE_STARTS_WITH: u32 = 8;

/// The range of a cursor. If all bytes except `size` are zero, it is all rows.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sdx_range {
    /// `sizeof(sdx_range)`.
    pub size: usize,
    /// The ordered index, in whose order the rows come; `primary` is that of an ordered primary key. Null: all
    /// rows, in no particular order.
    pub index: *const c_char,
    /// A structure of the statement's layout with the first key; null for no bound.
    pub from: *const c_void,
    /// A structure with the last key; null for no bound.
    pub to: *const c_void,
    /// The number of the index's columns that count in `from`, from the first on. Keys that begin with these
    /// are the bound.
    pub from_columns: u32,
    /// The same of `to`.
    pub to_columns: u32,
    /// `SDX_RANGE_...`, or 0.
    pub flags: u32,
    /// Zero.
    pub reserved: u32,
    /// The most rows; 0 for no limit.
    pub limit: u64,
}

/// The rows of a range. One thread at a time uses it.
pub struct sdx_cursor {
    _private: [u8; 0],
}

type Source = Box<dyn Iterator<Item = Result<Vec<Value>, Error>> + Send>;

pub(crate) struct CursorState {
    plan: Arc<Plan>,
    /// Dropped before the snapshot, from which it may borrow.
    source: Source,
    /// The values that the texts of the last filled structure point to.
    held: Vec<Value>,
    _snapshot: Option<Arc<Snapshot>>,
}

impl Kind for sdx_cursor {
    type State = CursorState;
    const MARK: u32 = u32::from_le_bytes(*b"sdxR");
    const NAME: &'static str = "cursor";

    fn pool() -> &'static Pool<CursorState> {
        static POOL: Pool<CursorState> = Mutex::new(VecDeque::new());
        &POOL
    }
}

/// A range, decoded.
pub(crate) struct Wanted {
    index: Option<String>,
    from: Bound<Vec<Value>>,
    to: Bound<Vec<Value>>,
    starts_with: bool,
    reverse: bool,
    limit: usize,
}

impl Wanted {
    /// # Safety
    /// Null, or a range with structures of the statement's layout.
    pub unsafe fn read(plan: &Plan, range: *const sdx_range) -> Result<Wanted, Failure> {
        let mut wanted = Wanted {
            index: None,
            from: Bound::Unbounded,
            to: Bound::Unbounded,
            starts_with: false,
            reverse: false,
            limit: usize::MAX,
        };
        if range.is_null() {
            return Ok(wanted);
        }
        if !range.is_aligned() {
            return Err(Failure::argument("the range is not aligned"));
        }
        // SAFETY: every version of the structure starts with its size.
        let size = unsafe { (&raw const (*range).size).read() };
        if size != size_of::<sdx_range>() {
            let message = format!("the range's `size` is {size}: set it to sizeof(sdx_range)");
            return Err(Failure::argument(message));
        }
        // SAFETY: it has so many bytes, by the caller's promise.
        let range = unsafe { range.read() };
        let known = SDX_RANGE_FROM_EXCLUDED
            | SDX_RANGE_TO_EXCLUDED
            | SDX_RANGE_REVERSE
            | SDX_RANGE_STARTS_WITH;
        if range.flags & !known != 0 || range.reserved != 0 {
            let message = format!("a range has no flags {:#x}", range.flags);
            return Err(Failure::argument(message));
        }
        let has = |flag| range.flags & flag != 0;
        (wanted.reverse, wanted.starts_with) = (has(SDX_RANGE_REVERSE), has(SDX_RANGE_STARTS_WITH));
        if range.limit != 0 {
            wanted.limit = usize::try_from(range.limit).unwrap_or(usize::MAX);
        }
        if range.index.is_null() {
            if !range.from.is_null() || !range.to.is_null() || range.flags != 0 {
                let message = "a range with bounds or flags needs an index";
                return Err(Failure::argument(message));
            }
            return Ok(wanted);
        }
        // SAFETY: the header's promise.
        let index = unsafe { text("the index's name", range.index)? };
        wanted.index = Some(index.to_string());
        if wanted.starts_with && (range.from.is_null() || !range.to.is_null()) {
            let message = "SDX_RANGE_STARTS_WITH needs `from`, and no `to`";
            return Err(Failure::argument(message));
        }
        let bound = |row: *const c_void, columns: u32, excluded| {
            if row.is_null() {
                return Ok(Bound::Unbounded);
            }
            // SAFETY: the caller's promise.
            let key = unsafe { plan.read_of_index(index, columns as usize, row)? };
            Ok::<_, Failure>(match excluded {
                true => Bound::Excluded(key),
                false => Bound::Included(key),
            })
        };
        wanted.from = bound(range.from, range.from_columns, has(SDX_RANGE_FROM_EXCLUDED))?;
        wanted.to = bound(range.to, range.to_columns, has(SDX_RANGE_TO_EXCLUDED))?;
        Ok(wanted)
    }

    /// The index, if one was named.
    pub fn index(&self) -> Option<&str> {
        self.index.as_deref()
    }

    /// The rows of an index.
    pub fn walk<E: IndexEntries>(&self, index: &Index<E>) -> Result<IndexRange<E>, Error> {
        match (&self.from, self.starts_with) {
            (Bound::Included(key) | Bound::Excluded(key), true) => index.starts_with(key),
            _ => index.range((self.from.clone(), self.to.clone())),
        }
    }

    /// The values of rows in ascending order, or in descending order if the flags say so.
    pub fn values<'a, W: ReadRow + 'a>(
        &self,
        plan: Arc<Plan>,
        rows: impl DoubleEndedIterator<Item = Result<W, Error>> + Send + 'a,
    ) -> Box<dyn Iterator<Item = Result<Vec<Value>, Error>> + Send + 'a> {
        let values = move |row: Result<W, Error>| plan.values(&row?);
        match self.reverse {
            true => Box::new(rows.rev().take(self.limit).map(values)),
            false => Box::new(rows.take(self.limit).map(values)),
        }
    }

    /// The values of all rows in no particular order, up to the limit.
    pub fn scan<'a, W: ReadRow + 'a>(
        &self,
        plan: Arc<Plan>,
        rows: impl Iterator<Item = Result<W, Error>> + 'a,
    ) -> impl Iterator<Item = Result<Vec<Value>, Error>> + 'a {
        rows.take(self.limit).map(move |row| plan.values(&row?))
    }

    /// All values of the range of a table in a transaction.
    pub fn collect<S: WriteRows>(
        &self,
        plan: &Arc<Plan>,
        rows: &Rows<S>,
    ) -> Result<Vec<Vec<Value>>, Error> {
        let values = |row: Result<S::Row<'_>, Error>| plan.values(&row?);
        match self.index() {
            Some(name) => {
                let range = self.walk(&rows.index(name)?)?;
                match self.reverse {
                    true => range.rev().take(self.limit).map(values).collect(),
                    false => range.take(self.limit).map(values).collect(),
                }
            }
            None => rows.scan().take(self.limit).map(values).collect(),
        }
    }
}

impl CursorState {
    /// A cursor on rows that were read already.
    pub fn of_rows(plan: Arc<Plan>, rows: Vec<Vec<Value>>) -> Self {
        CursorState {
            plan,
            source: Box::new(rows.into_iter().map(Ok)),
            held: Vec::new(),
            _snapshot: None,
        }
    }

    /// A cursor on rows of a snapshot, which are read one by one.
    pub fn of_snapshot(
        plan: Arc<Plan>,
        snapshot: &Arc<Snapshot>,
        wanted: &Wanted,
    ) -> Result<Self, Error> {
        let kept = Arc::clone(snapshot);
        // SAFETY: the borrower is dropped before the snapshot: the state has the counted reference as a later
        // field, and gives neither away.
        let borrowed: &'static Snapshot = unsafe { &*Arc::as_ptr(&kept) };
        let rows = borrowed.rows(&plan.table)?;
        plan.check(rows.schema())?;
        let source: Source = match wanted.index() {
            Some(name) => wanted.values(plan.clone(), wanted.walk(&rows.index(name)?)?),
            None => Box::new(wanted.scan(plan.clone(), rows.scan())),
        };
        Ok(CursorState {
            plan,
            source,
            held: Vec::new(),
            _snapshot: Some(kept),
        })
    }
}

/// Fills the fields of a structure of the statement's layout with the next row. `SDX_END` if there is none.
/// Texts are valid until the next call, or until the cursor is closed.
///
/// # Safety
/// As for `sdx_insert`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_next(cursor: *mut sdx_cursor, row: *mut c_void) -> sdx_status {
    call(|| {
        // SAFETY: the header's promise.
        let mut used = unsafe { alone(cursor)? };
        let next = used.source.next().transpose()?;
        let end = || Failure::new(SDX_END, "there are no more rows");
        used.held = next.ok_or_else(end)?;
        // SAFETY: the header's promise.
        unsafe { used.plan.write(&used.held, row) }
    })
}

/// Closes a cursor, at its end or before.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_cursor_close(cursor: *mut sdx_cursor) -> sdx_status {
    call(|| {
        // SAFETY: the header's promise.
        let used = unsafe { alone(cursor)? };
        drop(used.close::<sdx_cursor>());
        Ok(())
    })
}
