//! The source of a checkpoint's blocks: DB', or the live pages, which a [`Freezer`] reads through snapshots.
//!
//! DB' is a second copy of all pages. So it takes as much memory as they do, and a thread to apply the log to it. With
//! snapshots, there is no second copy. Each block has a snapshot of its own, which is taken when the block is due:
//! - A block of at most [`AT_ONCE_BYTES_MAX`] is copied into the slot's buffer while the pen is held, in about a tenth of a
//!   millisecond. With a page snapshot, changes during the copying would take several times as long: each first one of a
//!   page copies that page into fresh memory.
//! - A larger block is copied from a page snapshot, which is dropped right after. So the pen is held for microseconds, and
//!   few pages change meanwhile.
//!
//! A snapshot of all blocks at once would live as long as the checkpoint. It would keep a copy of each page that
//! changes in that time.
//!
//! Invariants:
//! - A snapshot is taken between transactions, and a commit group ends with it. So a block's content is exactly that
//!   behind the group, as a block of DB' is, and recovery cannot tell them apart (I3).
//! - **I2**: a block is written only when that group is durable. Until then its content is in memory alone.
//!
//! A checkpoint needs the pen for a moment, for each block. So it cannot go on while a transaction runs. A thread that
//! waits for room in the log between transactions lends its pages ([`Freezer::lend`]), since it has the pen meanwhile. A
//! transaction that needs room while it runs is refused (`FreesLog::frees_inside`), and the checkpoint that makes some is
//! taken when it has ended.

use super::{CheckpointError, StripeLayout};
use crate::disk::AlignedBuffer;
use crate::log::{LogError, LogPosition};
use crate::page::{Address, PAGE_SIZE, holds_anything};
use crate::store::{PageRead, PageSnapshot, SnapshotEnded, StoreError};
use sardonyx_base::sync::Mutex;
use sardonyx_base::waiting::let_others_run;
use std::fmt::Debug;
use std::sync::{Arc, OnceLock, Weak};

/// The source of checkpoints in an open database.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Checkpoints {
    /// A second copy of the pages in memory (DB'), kept by applying the log to it. Checkpoints never delay a
    /// transaction, since they do not need the pen.
    #[default]
    FromCopy,
    /// Snapshots of the pages, without the second copy: about half of the memory. For tables only.
    FromSnapshots,
}

/// Bytes of a block that is copied while the pen is held.
const AT_ONCE_BYTES_MAX: u32 = 1 << 20;

/// So many snapshots of a block may be ended before it is copied under the pen, where nothing ends one, and which needs no
/// memory.
const ENDED_MAX: u32 = 3;

/// Pages that are read between two looks at other threads.
const BETWEEN_YIELDS: usize = 64;

/// Pages as they were behind a commit group.
#[derive(Clone, Debug)]
pub struct FrozenPages {
    /// Snapshot of the whole store.
    pub pages: Arc<PageSnapshot>,
    /// The place behind the group: everything before it is in the pages, and nothing else.
    pub position: LogPosition,
}

/// The result of an attempt to freeze the pages.
#[derive(Debug)]
pub enum Freezing {
    /// The pen was not to be had, although the caller has waited for it for a moment.
    Busy,
    /// There is no buffer for the next group; or the database is being closed.
    Later,
    /// The live pages were enough.
    Done,
    /// A snapshot to write from.
    Frozen(FrozenPages),
    /// The live pages were not enough, and there is no memory for a snapshot of them.
    Refused(StoreError),
}

/// The holder of the live pages: implemented by each way of running transactions whose checkpoints can be made from
/// snapshots.
pub trait FreezesPages: Send + Sync + Debug {
    /// Takes the pen if it can be had soon, and ends a commit group. While it has the pen, it calls `live` with all bytes
    /// of all pages and the place behind the group. If that returns false, it freezes the pages.
    ///
    /// # Errors
    /// The error that closed the log.
    fn freeze(
        &self,
        live: &mut dyn FnMut(&[u8], LogPosition) -> bool,
    ) -> Result<Freezing, CheckpointError>;

    /// Checks that groups still become durable.
    ///
    /// # Errors
    /// The error that closed the log.
    fn check(&self) -> Result<(), LogError>;
}

/// The access of the checkpoints to the live pages.
#[derive(Debug, Default)]
pub(super) struct Freezer {
    by: OnceLock<Weak<dyn FreezesPages>>,
    /// Pages of a thread that has the pen and waits for room.
    lent: Mutex<Option<FrozenPages>>,
}

impl Freezer {
    /// Sets the holder of the pages.
    pub fn set(&self, by: Weak<dyn FreezesPages>) {
        // There is one for a log.
        let _ = self.by.set(by);
    }

    /// The pages are as they are here until `None` is lent.
    pub fn lend(&self, frozen: Option<FrozenPages>) {
        *self.lent.lock() = frozen;
    }

    /// Shows the live pages, or freezes them, if that can be soon: see [`FreezesPages::freeze`].
    pub fn freeze(
        &self,
        live: &mut dyn FnMut(&[u8], LogPosition) -> bool,
    ) -> Result<Freezing, CheckpointError> {
        let lent = self.lent.lock().clone();
        if let Some(frozen) = lent {
            return Ok(Freezing::Frozen(frozen));
        }
        self.holder()?
            .map_or(Ok(Freezing::Later), |by| by.freeze(live))
    }

    /// Checks that a frozen block's group still becomes durable.
    pub fn check(&self) -> Result<(), CheckpointError> {
        match self.holder()? {
            Some(by) => Ok(by.check()?),
            None => Ok(()),
        }
    }

    /// `None` if it was dropped: the database is being closed.
    fn holder(&self) -> Result<Option<Arc<dyn FreezesPages>>, CheckpointError> {
        let by = self.by.get().ok_or(CheckpointError::NoPages)?;
        Ok(by.upgrade())
    }
}

/// The blocks of a stripe that are read from snapshots.
#[derive(Debug)]
pub(super) struct SnapshotBlocks {
    layout: StripeLayout,
    /// Pages of the whole database, as of the last snapshot.
    pages: u64,
    /// The position of the block in the buffer, which is to be written next.
    ready: Option<LogPosition>,
    /// Snapshots of the block that were ended.
    ended: u32,
}

impl SnapshotBlocks {
    /// The blocks of a database of so many pages.
    pub fn new(layout: StripeLayout, pages: u64) -> Self {
        SnapshotBlocks {
            layout,
            pages,
            ready: None,
            ended: 0,
        }
    }

    pub fn ready(&self) -> Option<LogPosition> {
        self.ready
    }

    /// The block that was ready is written, or given up.
    pub fn take_ready(&mut self) {
        self.ready = None;
    }

    /// Notes the length of the database.
    pub fn see(&mut self, pages: u64) {
        self.pages = pages;
    }

    /// The number of the stripe's blocks, a partly used one included.
    pub fn blocks(&self) -> u64 {
        let layout = &self.layout;
        let all = self.bytes_of_all().div_ceil(u64::from(layout.block_bytes));
        let others = all.saturating_sub(u64::from(layout.stripe));
        others.div_ceil(u64::from(layout.stripes))
    }

    pub fn stored_bytes(&self) -> u64 {
        let Some(last) = self.blocks().checked_sub(1) else {
            return 0;
        };
        let (start, end) = self.range(last);
        last * u64::from(self.layout.block_bytes) + (end - start)
    }

    fn bytes_of_all(&self) -> u64 {
        self.pages * PAGE_SIZE as u64
    }

    /// The bytes of the database that a block has.
    fn range(&self, block: u64) -> (u64, u64) {
        let block_bytes = u64::from(self.layout.block_bytes);
        let all = self.bytes_of_all();
        let start = self.layout.store_block(block).saturating_mul(block_bytes);
        (start.min(all), start.saturating_add(block_bytes).min(all))
    }

    /// True if the block is to be copied while the pen is held.
    pub fn copies_under_pen(&self) -> bool {
        self.layout.block_bytes <= AT_ONCE_BYTES_MAX || self.ended >= ENDED_MAX
    }

    /// There is no memory for a snapshot: the block is copied while the pen is held.
    pub fn copy_under_pen(&mut self) {
        self.ended = ENDED_MAX;
    }

    /// As [`SnapshotBlocks::read`], from the live pages, while the pen is held.
    pub fn read_live(
        &mut self,
        block: u64,
        last: bool,
        (pages, position): (&[u8], LogPosition),
        buffer: &mut AlignedBuffer,
    ) {
        self.see((pages.len() / PAGE_SIZE) as u64);
        let (start, end) = self.range(block);
        let bytes = &pages[start as usize..end as usize];
        let used = match last {
            true => bytes.len(),
            false => used_bytes(bytes),
        };
        buffer.extend_from_slice(&bytes[..used]);
        (self.ended, self.ready) = (0, Some(position));
    }

    /// Copies a block behind the bytes of the buffer: up to the last page that holds anything, or, if it is the `last`,
    /// to its end. It is ready then. Returns false if the snapshot was ended.
    pub fn read(
        &mut self,
        block: u64,
        last: bool,
        frozen: &FrozenPages,
        buffer: &mut AlignedBuffer,
    ) -> bool {
        self.see(frozen.pages.pages());
        let (start, end) = self.range(block);
        let before = buffer.len();
        match copy(&frozen.pages, start, end, buffer) {
            Ok(()) => {}
            Err(SnapshotEnded) => {
                self.ended = self.ended.saturating_add(1);
                return false;
            }
        }
        if !last {
            let used = used_bytes(&buffer[before..]);
            buffer.truncate(before + used);
        }
        (self.ended, self.ready) = (0, Some(frozen.position));
        true
    }
}

/// The bytes up to the last page that holds anything.
pub(super) fn used_bytes(bytes: &[u8]) -> usize {
    let last = bytes.chunks(PAGE_SIZE).rposition(holds_anything);
    last.map_or(0, |last| (last + 1) * PAGE_SIZE)
}

/// Copies bytes of whole pages behind those of the buffer.
fn copy(
    pages: &PageSnapshot,
    start: u64,
    end: u64,
    buffer: &mut AlignedBuffer,
) -> Result<(), SnapshotEnded> {
    let into = buffer.append((end - start) as usize);
    let places = (start..end).step_by(PAGE_SIZE);
    for (n, (at, page)) in places.zip(into.chunks_mut(PAGE_SIZE)).enumerate() {
        if n % BETWEEN_YIELDS == BETWEEN_YIELDS - 1 {
            let_others_run();
        }
        pages.read_into(Address(at), page)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::shadow::Shadow;
    use crate::store::PageStore;
    use proptest::prelude::*;

    proptest! {
        /// Both sources cut a database into the same blocks with the same bytes.
        #[test]
        fn blocks_are_those_of_the_copy(
            pages in 0..40u64, stripes in 1..4u32, block_pages in 1..5u32, touched in proptest::collection::vec(0..40u64, 0..12),
        ) {
            let mut store = PageStore::reserve(1 << 20).unwrap();
            store.grow_to(pages).unwrap();
            for page in touched.into_iter().filter(|page| *page < pages) {
                store.write(Address(page * PAGE_SIZE as u64 + 8 * (page % 512)), &[7]);
            }
            for stripe in 0..stripes {
                let block_bytes = block_pages * PAGE_SIZE as u32;
                let layout = StripeLayout { identity: 1, stripe, stripes, block_bytes, compaction: 0 };
                let mut copy = Shadow::reserve(layout, 1 << 20).unwrap();
                copy.copy_from(&store, 1).unwrap();
                let mut blocks = SnapshotBlocks::new(layout, pages);
                prop_assert_eq!(blocks.blocks(), copy.blocks());
                prop_assert_eq!(blocks.stored_bytes(), copy.stored_bytes());
                let frozen = FrozenPages { pages: store.snapshot().unwrap(), position: LogPosition::START };
                for block in 0..copy.blocks() {
                    for last in [false, true] {
                        let mut buffer = AlignedBuffer::with_capacity(block_bytes as usize);
                        prop_assert!(blocks.read(block, last, &frozen, &mut buffer));
                        let of_copy = if last { copy.block(block) } else { copy.used_part(block) };
                        prop_assert_eq!(&buffer[..], of_copy);
                        buffer.clear();
                        blocks.read_live(block, last, (store.bytes(), LogPosition::START), &mut buffer);
                        prop_assert_eq!(&buffer[..], of_copy);
                    }
                }
            }
        }
    }

    #[test]
    fn a_block_whose_snapshot_is_ended_is_not_ready_and_is_copied_under_the_pen_at_last() {
        let mut store = PageStore::reserve(1 << 20).unwrap();
        store.set_snapshot_bytes_max(PAGE_SIZE as u64);
        store.grow_to(8).unwrap();
        let layout = StripeLayout {
            identity: 1,
            stripe: 0,
            stripes: 1,
            block_bytes: AT_ONCE_BYTES_MAX + PAGE_SIZE as u32,
            compaction: 0,
        };
        let mut blocks = SnapshotBlocks::new(layout, 8);
        let mut buffer = AlignedBuffer::with_capacity(8 * PAGE_SIZE);
        let freeze = |store: &mut PageStore| FrozenPages {
            pages: store.snapshot().unwrap(),
            position: LogPosition::START,
        };
        for attempt in 0..ENDED_MAX {
            assert!(!blocks.copies_under_pen(), "{attempt}");
            let frozen = freeze(&mut store);
            for page in 0..8 {
                store.write(Address(page * PAGE_SIZE as u64), &[1 + attempt as u8]);
            }
            buffer.clear();
            assert!(!blocks.read(0, true, &frozen, &mut buffer));
            assert_eq!(blocks.ready(), None);
        }
        assert!(blocks.copies_under_pen());
        let frozen = freeze(&mut store);
        buffer.clear();
        assert!(blocks.read(0, true, &frozen, &mut buffer));
        assert!(blocks.ready().is_some() && !blocks.copies_under_pen());
    }
}
