//! Segments: opening, closing, statistics.

use crate::boundary::{call, check_place, store, text};
use crate::handle::{Kind, Pool, issue, shared};
use crate::options::{
    SDX_MECHANISM_ASYNCHRONOUS, SDX_MECHANISM_EXPLICIT, SDX_MECHANISM_SIGNAL, options, sdx_options,
};
use crate::status::{Failure, sdx_status};
use sardonyx_base::sync::futex::Mutex;
use sardonyx_mapped::{MechanismKind, Options, Segment, SegmentError};
use std::collections::VecDeque;
use std::ffi::c_char;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// An open segment. Any number of threads may use it.
pub struct sdx_segment {
    _private: [u8; 0],
}

/// The state of a segment; sessions hold it, too.
#[derive(Clone)]
pub(crate) struct SegmentState {
    pub segment: Segment,
    pub totals: Arc<Totals>,
}

/// The counts of a handle's sessions.
#[derive(Default)]
pub(crate) struct Totals {
    pub commits: AtomicU64,
    pub conflicts: AtomicU64,
    pub aborts: AtomicU64,
    pub sessions: AtomicU64,
}

impl Kind for sdx_segment {
    type State = SegmentState;
    const MARK: u32 = u32::from_le_bytes(*b"sdxG");
    const NAME: &'static str = "segment";

    fn pool() -> &'static Pool<SegmentState> {
        static POOL: Pool<SegmentState> = Mutex::new(VecDeque::new());
        &POOL
    }
}

/// The properties of a segment, and the counts of this handle's sessions.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sdx_statistics {
    /// `sizeof(sdx_statistics)`, set by the program: so many bytes are filled in.
    pub size: usize,
    /// Bytes of the segment.
    pub length: u64,
    /// The mechanism in use: one of `SDX_MECHANISM_...`, never `SDX_MECHANISM_BEST`.
    pub mechanism: u32,
    /// 1 if it is a database in a directory, 0 if it is removed with its last user.
    pub durable: u32,
    /// Transactions committed.
    pub commits: u64,
    /// Transactions that ended with `SDX_CONFLICT`.
    pub conflicts: u64,
    /// Transactions ended by `sdx_abort`, or by another error.
    pub aborts: u64,
    /// Sessions opened, also those closed since.
    pub sessions: u64,
    /// Process that keeps the most old versions by a snapshot or a running transaction; 0 if none
    /// does.
    pub slowest_reader: u32,
    /// Zero.
    pub reserved: u32,
    /// The time for which it has done so, in milliseconds.
    pub slowest_reader_milliseconds: u64,
}

/// A page with conflicts of transactions, and their number.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sdx_page_conflicts {
    /// The page's number: its offset in the segment divided by 4096.
    pub page: u64,
    /// The number of conflicts.
    pub conflicts: u64,
}

/// Opens the database in a directory as a segment, or makes one. Several processes can have it open
/// at once. What is committed there survives crashes.
///
/// `options` may be null.
///
/// # Safety
/// The pointers are as the header's introduction says; so everywhere.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_open(
    directory: *const c_char,
    options: *const sdx_options,
    segment: *mut *mut sdx_segment,
) -> sdx_status {
    // SAFETY: the header's promise.
    let open = |options: &Options| unsafe {
        let directory = text("the directory", directory)?;
        options.open(directory).map_err(Failure::from)
    };
    // SAFETY: the header's promise.
    unsafe { open_as(options, segment, open) }
}

/// Opens a segment without a log, shared by all processes that open this name, or makes one. The last process
/// that has it open removes it. The name is one of a file: it has no `/`.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_open_volatile(
    name: *const c_char,
    options: *const sdx_options,
    segment: *mut *mut sdx_segment,
) -> sdx_status {
    // SAFETY: the header's promise.
    let open = |options: &Options| unsafe {
        let name = text("the name", name)?;
        if name.is_empty() || name.contains('/') || name == "." || name == ".." {
            return Err(Failure::argument(format!("{name:?} is not a file name")));
        }
        options.open_volatile(name).map_err(Failure::from)
    };
    // SAFETY: the header's promise.
    unsafe { open_as(options, segment, open) }
}

/// Makes a segment without a log that only this process has.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_open_private(
    options: *const sdx_options,
    segment: *mut *mut sdx_segment,
) -> sdx_status {
    let open = |options: &Options| options.open_private().map_err(Failure::from);
    // SAFETY: the header's promise.
    unsafe { open_as(options, segment, open) }
}

unsafe fn open_as(
    given: *const sdx_options,
    place: *mut *mut sdx_segment,
    open: impl FnOnce(&Options) -> Result<Segment, Failure>,
) -> sdx_status {
    call(|| {
        check_place("the segment", place)?;
        // SAFETY: the header's promise.
        let segment = open(&unsafe { options(given)? })?;
        let totals = Arc::default();
        let handle = issue(SegmentState { segment, totals });
        // SAFETY: the header's promise.
        unsafe { store("the segment", place, handle) }
    })
}

/// Closes a segment. Its sessions, snapshots and tickets stay valid; the segment ends with the last of them.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_close(segment: *mut sdx_segment) -> sdx_status {
    call(|| {
        // SAFETY: the header's promise.
        let used = unsafe { shared(segment)? };
        drop(used.close::<sdx_segment>());
        Ok(())
    })
}

/// Bytes of the segment that a transaction which begins now can use.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_segment_length(
    segment: *mut sdx_segment,
    length: *mut u64,
) -> sdx_status {
    call(|| {
        // SAFETY: the header's promise.
        unsafe { store("the length", length, state(segment)?.segment.length()) }
    })
}

/// Takes a checkpoint with everything committed so far, so that the next opening has less to redo.
/// Checkpoints are also taken as the log grows. No effect without a log.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_checkpoint(segment: *mut sdx_segment) -> sdx_status {
    // SAFETY: the header's promise.
    call(|| Ok(unsafe { state(segment)? }.segment.checkpoint()?))
}

/// Fills in the properties of the segment and the counts of this handle's sessions. The program sets
/// `statistics->size`.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_segment_statistics(
    segment: *mut sdx_segment,
    statistics: *mut sdx_statistics,
) -> sdx_status {
    call(|| {
        check_place("the statistics", statistics)?;
        // SAFETY: the header's promise.
        let state = unsafe { state(segment)? };
        // SAFETY: the structure starts with its size.
        let size = unsafe { (&raw const (*statistics).size).read() };
        if size < size_of::<sdx_statistics>() {
            let message = format!("the statistics' `size` is {size}: set it to sizeof");
            return Err(Failure::argument(message));
        }
        let mut found = state.statistics();
        found.size = size;
        // SAFETY: the size says that so many bytes are valid.
        unsafe { statistics.write(found) };
        Ok(())
    })
}

/// The pages on which this process' transactions conflicted with others since it opened the segment, the page
/// with the most conflicts first. Fills in at most `capacity` pages and stores their number in `count`. (Some
/// thousand pages are counted; others are not in the list.) Transactions conflict by page: place data that
/// different threads or processes change on different pages.
///
/// # Safety
/// As for `sdx_open`; `pages` has room for `capacity`, and may be null if that is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_conflicts(
    segment: *mut sdx_segment,
    pages: *mut sdx_page_conflicts,
    capacity: usize,
    count: *mut usize,
) -> sdx_status {
    call(|| {
        check_place("the count", count)?;
        if capacity > 0 {
            check_place("the pages", pages)?;
        }
        // SAFETY: the header's promise.
        let found = unsafe { state(segment)? }.segment.conflicts().pages;
        for (n, one) in found.iter().take(capacity).enumerate() {
            let one = sdx_page_conflicts {
                page: one.page,
                conflicts: one.conflicts,
            };
            // SAFETY: aligned and not null, and `n` is below the capacity.
            unsafe { pages.add(n).write(one) };
        }
        // SAFETY: the header's promise.
        unsafe { store("the count", count, found.len()) }
    })
}

impl SegmentState {
    fn statistics(&self) -> sdx_statistics {
        let count = |total: &AtomicU64| total.load(Ordering::Relaxed);
        let slowest = self.segment.slowest_reader();
        sdx_statistics {
            size: 0,
            length: self.segment.length(),
            mechanism: match self.segment.mechanism() {
                MechanismKind::Signal => SDX_MECHANISM_SIGNAL,
                MechanismKind::Explicit => SDX_MECHANISM_EXPLICIT,
                _ => SDX_MECHANISM_ASYNCHRONOUS,
            },
            durable: u32::from(self.segment.is_durable()),
            commits: count(&self.totals.commits),
            conflicts: count(&self.totals.conflicts),
            aborts: count(&self.totals.aborts),
            sessions: count(&self.totals.sessions),
            slowest_reader: slowest.as_ref().map_or(0, |reader| reader.process),
            reserved: 0,
            slowest_reader_milliseconds: slowest.map_or(0, |reader| reader.milliseconds),
        }
    }

    /// Counts the outcome of a transaction.
    pub fn count(&self, ended: Result<(), &SegmentError>) {
        let total = match ended {
            Ok(()) => &self.totals.commits,
            Err(SegmentError::Conflict { .. }) => &self.totals.conflicts,
            Err(_) => &self.totals.aborts,
        };
        total.fetch_add(1, Ordering::Relaxed);
    }
}

/// The segment behind a handle.
///
/// # Safety
/// As for [`crate::handle::shared`].
pub(crate) unsafe fn state(segment: *const sdx_segment) -> Result<SegmentState, Failure> {
    // SAFETY: the caller's promise.
    Ok(unsafe { shared(segment)? }.clone())
}
