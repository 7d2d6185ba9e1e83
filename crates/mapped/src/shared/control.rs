//! The common knowledge of all processes on a segment: positions in the ring of redo records, and a slot
//! for each session.
//!
//! The ring's positions only grow, and each is one word, so that every change of state is one store:
//!
//! ```text
//! reclaimed ≤ min(folded, durable) ≤ … ≤ tail
//! ```
//!
//! - `tail`: where the next transaction's records go. **Storing it is the commit point**: everything
//!   before it has happened, and nothing behind it has, whichever process dies at whichever time (I8, I9).
//! - `folded`: the records before it are in the base pages.
//! - `durable`: the records before it are on stable storage.
//! - `fold_limit`, `reclaim_limit`: announced before the slots are looked at, as in Dekker's
//!   algorithm: a session that registers later sees them and registers anew.

use sardonyx_base::named_lock::NamedLock;
use sardonyx_base::sync::{CacheLine, ChangesWord};
use sardonyx_storage::log::LogState;
use sardonyx_storage::page::PAGE_SIZE;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// The beginning of the marks of all layouts.
pub const MAGIC_OF_ALL: &[u8] = b"SdxShm";

/// Marks a shared memory of this layout.
pub const MAGIC: u64 = u64::from_le_bytes(*b"SdxShm06");

/// Sessions at once, of all processes.
pub const SLOTS: usize = 1024;

/// Processes at once.
pub const PROCESSES: usize = 256;

/// [`Slot::snapshot`] of a session in which no transaction runs.
pub const IDLE: u64 = u64::MAX;

/// The head of the shared memory. All zero bytes are a valid value.
#[repr(C, align(4096))]
pub struct Control {
    /// [`MAGIC`]; stored last, when everything else is there.
    pub magic: AtomicU64,
    /// Bytes of this structure.
    pub layout: AtomicU64,
    /// Bytes of the deep ring, a power of two.
    pub ring_bytes: AtomicU64,
    /// Pages for which there is address space.
    pub pages_max: AtomicU64,
    /// Nonzero if the segment has a log below.
    pub durable_segment: AtomicU32,
    /// Slots that were ever used.
    pub slots_used: AtomicU32,
    /// Held while a transaction is validated and published, and while records are folded.
    pub commit: CacheLine<NamedLock>,
    /// Held by the writer of the log.
    pub writer: CacheLine<NamedLock>,
    /// Held while the segment grows, and while slots are given out.
    pub growth: CacheLine<NamedLock>,
    // The holder of the commit lock writes these together, and a beginning transaction reads them together: in one
    // cache line, which starts here since the fields before are aligned.
    /// The place of the next transaction's records.
    pub tail: AtomicU64,
    /// The start of the stream's newest stretch, times two, plus one if it is in the deep ring.
    pub lap: AtomicU64,
    /// The parts of the deep ring with memory, a bit for each.
    pub ring_allocated: AtomicU64,
    /// The records before it are in the base pages.
    pub folded: AtomicU64,
    /// The place up to which the records are being folded.
    pub fold_limit: AtomicU64,
    /// The ring is being used again up to here.
    pub reclaim_limit: AtomicU64,
    /// The ring may be used again up to here.
    pub reclaimed: AtomicU64,
    /// Bytes of the spill area that have memory; 0 if no transaction's records are there.
    pub spill_bytes: AtomicU64,
    /// The end of the frame whose records are in the spill area: it has happened if the tail is not before
    /// that.
    pub spill_end: CacheLine<AtomicU64>,
    /// The records before it are on stable storage.
    pub durable: CacheLine<AtomicU64>,
    /// Counts the attempts to write a group: a thread that waits for one waits for it to change.
    pub groups: CacheLine<ChangesWord>,
    /// Nonzero if a thread may wait for that.
    pub waited: AtomicU64,
    /// The time of the last group's write, in nanoseconds.
    pub write_nanoseconds: AtomicU64,
    /// The groups that do not wait for writers, and their number when it was last decided.
    pub hurried: [AtomicU64; 2],
    /// The slots whose transactions were in the last group, a bit for each.
    pub last_writers: [AtomicU64; SLOTS / 64],
    /// The processes' knowledge of the log.
    pub log: CacheLine<LogState>,
    /// Counted up when a session is to copy the pages for which it keeps versions: the version keepers wait for it.
    pub alarm: CacheLine<AtomicU32>,
    /// Pages that the segment has.
    pub pages: CacheLine<AtomicU64>,
    /// The segment's pages according to a record of the ring, or to its state at opening; the most possible without a
    /// log. Stored after the tail, so it may be too small if a process died, and then a length is logged twice; never
    /// too large.
    pub logged_pages: AtomicU64,
    pub processes: [Process; PROCESSES],
    /// The sessions.
    pub slots: [Slot; SLOTS],
}

/// A process on the segment. It lives as long as it holds the file lock on its place.
#[repr(C, align(64))]
pub struct Process {
    /// Its process id; 0 if the place is free.
    pub pid: AtomicU32,
    /// Counted up whenever a process takes the place: with it, the name of that process in locks.
    pub life: AtomicU32,
    /// The time at which the process began, as the system counts it; with the id it names one process. 0 if unknown.
    pub start: AtomicU64,
}

/// A session: one view, used by one thread at a time.
#[repr(C, align(128))]
pub struct Slot {
    /// Place in [`Control::processes`] plus one; 0 if the slot is free.
    pub process: AtomicU32,
    /// Counted up whenever the slot is given out.
    pub generation: AtomicU32,
    /// Up to where the running transaction sees the ring; [`IDLE`] if none runs.
    pub snapshot: AtomicU64,
    /// From where the session may still read the ring.
    pub pin: AtomicU64,
    /// When the transaction began, in milliseconds of the system's monotonic clock.
    pub began: AtomicU64,
    /// Records up to here may be folded although the snapshot is older: the pages that they change were copied into
    /// the session's own view.
    pub immune: AtomicU64,
    /// A writer has no room: all that is to be folded up to here should be copied.
    pub copy_until: AtomicU64,
    /// Nonzero for a session on a snapshot that is kept for reading only.
    pub read_only: AtomicU32,
    /// Set when the transaction can no longer commit.
    pub doomed: AtomicU32,
}

/// Bytes of [`Control`], in whole pages.
pub const CONTROL_BYTES: usize = size_of::<Control>();

const _: () = assert!(CONTROL_BYTES.is_multiple_of(PAGE_SIZE));

/// The mark of everything that must be the same in all processes.
pub fn layout_mark() -> u64 {
    (CONTROL_BYTES as u64) << 16 | size_of::<LogState>() as u64
}

const _: () = assert!(
    std::mem::offset_of!(Control, tail) % 64 == 0
        && std::mem::offset_of!(Control, spill_bytes) / 64
            == std::mem::offset_of!(Control, tail) / 64
);
