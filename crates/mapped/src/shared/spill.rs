//! The spill area: memory for the redo records of one transaction that is too large for the ring.
//!
//! Its frame in the ring is small and says only how many bytes there are. Publishing is the same store of the
//! tail, so a death leaves the transaction whole or absent. The next session overwrites or frees a dead
//! session's copy here. Every reader of the ring up to the frame reads the records here. So the memory is
//! freed when the ring may be used again behind the frame: when the records are in the base pages, durable,
//! and no session pins them. Until then the next large transaction waits, as for room in the ring.
//!
//! Invariants: `spill_bytes` and `spill_end` change under the commit lock only; the memory is used again only
//! if `reclaimed` is at `spill_end`, or no frame that was published ends there.
//!
//! Source: ours; the LIBXAC thesis keeps a transaction's written pages in its own memory.

use super::region::Region;
use super::ring::{frame_bytes, tidy};
use crate::error::SegmentError;
use crate::planted::{self, Step};
use rustix::mm::Advice;
use sardonyx_base::named_lock::Got;
use sardonyx_storage::page::PAGE_SIZE;
use std::sync::atomic::Ordering;

/// A transaction's records that take more than this part of the ring are spilled: so there is always room
/// for one while another is being logged.
pub const RING_PART: u64 = 4;

/// Bytes that are copied before the memory that they came from is given back.
const PIECE_BYTES: usize = 16 << 20;

/// True if so many bytes of records are too large for the ring.
#[inline]
pub fn spills(region: &Region, records: usize) -> bool {
    frame_bytes(records) > region.ring_bytes() / RING_PART
}

/// Bytes of records in the spill area that are not durable yet, and so are to be logged beside those in the
/// ring.
#[inline]
pub fn pending_bytes(region: &Region) -> u64 {
    let control = region.control();
    let bytes = control.spill_bytes.load(Ordering::SeqCst);
    if bytes == 0 {
        return 0;
    }
    let end = control.spill_end.load(Ordering::SeqCst);
    let durable = control.durable.load(Ordering::SeqCst);
    match durable < end && end <= control.tail.load(Ordering::SeqCst) {
        true => bytes,
        false => 0,
    }
}

/// Bytes kept in the spill area by a session whose snapshot, or immune position, is here.
pub fn kept_bytes(region: &Region, snapshot: u64) -> u64 {
    let control = region.control();
    match snapshot < control.spill_end.load(Ordering::SeqCst) {
        true => control.spill_bytes.load(Ordering::SeqCst),
        false => 0,
    }
}

/// True if the spill area's content is not needed; frees its memory then. The caller holds the commit lock.
pub fn is_free(region: &Region) -> bool {
    let control = region.control();
    let bytes = control.spill_bytes.load(Ordering::SeqCst);
    if bytes == 0 {
        return true;
    }
    let end = control.spill_end.load(Ordering::SeqCst);
    let published = end <= control.tail.load(Ordering::SeqCst);
    if published && control.reclaimed.load(Ordering::SeqCst) < end {
        return false;
    }
    region.free_spill(bytes);
    planted::step(Step::SpillFreed);
    control.spill_end.store(0, Ordering::SeqCst);
    control.spill_bytes.store(0, Ordering::SeqCst);
    true
}

/// Frees the memory as soon as it is not needed, unless a transaction is committing, which does it then. To
/// be called by a thread that may hold the commit lock, when something ends that may have kept it.
#[inline]
pub fn try_tidy(region: &Region) {
    if region.control().spill_bytes.load(Ordering::Relaxed) > 0 {
        tidy_now(region);
    }
}

#[cold]
fn tidy_now(region: &Region) {
    let control = region.control();
    let Some(got) = region.try_lock(&control.commit) else {
        return;
    };
    tidy(region);
    if got == Got::FromTheDead {
        region.bury_the_dead();
    }
    control.commit.unlock();
}

/// Gives the spill area memory for so many bytes of records. The caller holds the commit lock and has found
/// it [free](is_free).
///
/// # Errors
/// [`SegmentError::SharedMemoryFull`]; it is as before.
pub fn allocate(region: &Region, records: usize) -> Result<(), SegmentError> {
    let control = region.control();
    // No frame ends there before one is published.
    control.spill_end.store(u64::MAX, Ordering::SeqCst);
    control.spill_bytes.store(records as u64, Ordering::SeqCst);
    planted::step(Step::SpillNoted);
    let allocated = region.allocate_spill(records as u64);
    if allocated.is_err() {
        is_free(region);
    }
    allocated
}

/// Moves records to the spill area. Their memory is given back as they are copied, so that they are not
/// twice in memory. The caller holds the commit lock and has [allocated](allocate) the area.
pub fn take(region: &Region, records: &mut Vec<u8>) {
    let all = std::mem::take(records);
    let mut at = 0;
    while at < all.len() {
        let length = PIECE_BYTES.min(all.len() - at);
        // SAFETY: within the spill area, which has no other user: no published frame is in it, and only the
        // holder of the commit lock writes to it.
        unsafe {
            let place = region.spill(at as u64, length);
            std::ptr::copy_nonoverlapping(all.as_ptr().add(at), place, length);
        }
        planted::step(Step::SpillHalfCopied);
        let from = all.as_ptr().addr() + at;
        let skipped = from.next_multiple_of(PAGE_SIZE) - from;
        if length > skipped {
            let whole = (length - skipped) & !(PAGE_SIZE - 1);
            // SAFETY: whole pages of an allocation that is this function's own and whose bytes are not read
            // again. If the kernel refuses, they stay until it is freed.
            let _ = unsafe {
                let start = all.as_ptr().add(at + skipped).cast_mut();
                rustix::mm::madvise(start.cast(), whole, Advice::LinuxDontNeed)
            };
        }
        at += length;
    }
}
