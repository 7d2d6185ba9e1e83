//! The ring of redo records: what was committed last, in commit order. It is the version store of all
//! views, the input of the log, and the source from which base pages are brought up to date.
//!
//! A transaction is one frame: a head that says whose it is, then its records as they stand in the
//! log. Frames are written behind the tail and published by storing the tail.

use super::control::IDLE;
use super::region::{HOT_BYTES, Region};
use crate::error::SegmentError;
use crate::planted::{self, Step};
use sardonyx_storage::log::record::{Body, Records};
use sardonyx_storage::page::{Address, PAGE_SIZE};
use std::ops::Range;
use std::sync::atomic::{Ordering, fence};

/// Bytes of a frame's head.
pub const FRAME_HEAD_BYTES: usize = 16;

/// One committed transaction in the ring.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Where the next frame starts.
    pub end: u64,
    /// The slot of the session that committed it, and the slot's generation.
    pub writer: (u32, u32),
    /// Its redo records.
    pub records: &'a [u8],
}

/// Iterates over the frames between two positions.
#[derive(Debug)]
pub struct Frames<'a> {
    region: &'a Region,
    at: u64,
    to: u64,
}

/// A byte range that a committed transaction changed.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// The page.
    pub page: u64,
    /// Where in the page.
    pub offset: usize,
    /// What stands there now.
    pub bytes: &'a [u8],
}

/// The changes in a frame's records.
pub fn changes(records: &[u8]) -> impl Iterator<Item = Change<'_>> {
    Records::new(records).filter_map(|record| match record {
        Ok(record) => match record.body {
            Body::Write { address, bytes } => Some(Change {
                page: address.page().0,
                offset: address.offset_in_page(),
                bytes,
            }),
            Body::Journal { .. } => None,
        },
        // Only sessions write here; what they wrote can be read.
        Err(error) => unreachable!("a record in the ring: {error}"),
    })
}

/// Consecutive records on one page, at most `bytes_max` of them unless one is longer: the page, and
/// where in a frame's records they are.
pub fn runs(records: &[u8], bytes_max: usize) -> impl Iterator<Item = (u64, Range<usize>)> {
    let mut rest = Records::new(records);
    let mut next = move || {
        let start = rest.offset();
        let page = match rest.next()? {
            Ok(record) => match record.body {
                Body::Write { address, .. } => Some(address.page().0),
                Body::Journal { .. } => None,
            },
            Err(error) => unreachable!("a record in the ring: {error}"),
        };
        Some((page, start..rest.offset()))
    };
    let mut ahead = next();
    std::iter::from_fn(move || {
        loop {
            let (page, mut run) = ahead.take()?;
            loop {
                ahead = next();
                match &ahead {
                    Some((same, more)) if *same == page && more.end - run.start <= bytes_max => {
                        run.end = more.end;
                    }
                    _ => break,
                }
            }
            if let Some(page) = page {
                return Some((page, run));
            }
        }
    })
}

impl<'a> Frames<'a> {
    /// The frames from `from` to `to`, both the bounds of frames.
    ///
    /// # Safety
    /// The ring is not used again from `from` on as long as a frame of this iterator is used: the
    /// caller's session has pinned it, or the caller holds the commit lock; and `to` was published.
    pub unsafe fn new(region: &'a Region, from: u64, to: u64) -> Self {
        debug_assert!(from <= to && to - from <= region.ring_bytes() + HOT_BYTES);
        Frames {
            region,
            at: from,
            to,
        }
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Frame<'a>;

    #[inline]
    fn next(&mut self) -> Option<Frame<'a>> {
        if self.at >= self.to {
            return None;
        }
        // SAFETY: a frame starts here and is published, so its head and as many bytes as that says
        // are there and do not change; whoever made the iterator promised that they stay.
        let (head, records) = unsafe {
            let head = self
                .region
                .ring(self.at, FRAME_HEAD_BYTES)
                .cast::<[u32; 4]>()
                .read();
            let bytes = head[0] as usize;
            let start = self.region.ring(self.at, FRAME_HEAD_BYTES + bytes);
            (
                head,
                std::slice::from_raw_parts(start.add(FRAME_HEAD_BYTES), bytes),
            )
        };
        self.at += (FRAME_HEAD_BYTES + records.len()) as u64;
        planted::look(records.len());
        Some(Frame {
            end: self.at,
            writer: (head[1], head[2]),
            records,
        })
    }
}

/// Bytes that a transaction with so many bytes of records takes in the ring.
pub fn frame_bytes(records: usize) -> u64 {
    (FRAME_HEAD_BYTES + records) as u64
}

/// Writes a frame behind the tail and publishes it. The caller holds the commit lock and has made
/// sure that there is room.
pub fn publish(region: &Region, writer: (u32, u32), records: &[u8]) -> u64 {
    debug_assert!(records.len().is_multiple_of(8));
    let control = region.control();
    let at = control.tail.load(Ordering::Relaxed);
    let end = at + frame_bytes(records.len());
    let place = region.ring(at, FRAME_HEAD_BYTES + records.len());
    let head = [records.len() as u32, writer.0, writer.1, 0];
    // SAFETY: the place is within the ring, and not in use: it lies behind the tail, where only the
    // holder of the commit lock writes, and before `reclaimed` plus the ring's length.
    unsafe {
        place.cast::<[u32; 4]>().write(head);
        std::ptr::copy_nonoverlapping(records.as_ptr(), place.add(FRAME_HEAD_BYTES), records.len());
    }
    planted::step(Step::FrameWritten);
    // Before the tail: who sees a record finds the page's number high enough to look for it. If this
    // thread dies in between, some numbers are too high, and someone looks in vain.
    for change in changes(records) {
        region.sequence(change.page).store(end, Ordering::Relaxed);
        planted::step(Step::SequencesHalfStored);
    }
    planted::step(Step::BeforeTail);
    control.tail.store(end, Ordering::SeqCst);
    planted::step(Step::AfterTail);
    end
}

/// What stands at an address as of the tail. The caller holds the commit lock.
pub fn committed_byte(region: &Region, address: Address) -> u8 {
    let (page, offset) = (address.page().0, address.offset_in_page());
    // SAFETY: within a base page that exists, as the caller's view has it; base pages change only
    // under the commit lock, which is held.
    let mut byte = unsafe { region.base(page).add(offset).read() };
    let control = region.control();
    let folded = control.folded.load(Ordering::SeqCst);
    if region.sequence(page).load(Ordering::SeqCst) > folded {
        let tail = control.tail.load(Ordering::SeqCst);
        // SAFETY: the commit lock is held, and the ring is kept from `folded` on.
        for frame in unsafe { Frames::new(region, folded, tail) } {
            for change in changes(frame.records).filter(|change| change.page == page) {
                let at = offset.checked_sub(change.offset);
                byte = at
                    .and_then(|at| change.bytes.get(at))
                    .copied()
                    .unwrap_or(byte);
            }
        }
    }
    byte
}

/// Smaller transactions' records are folded by whoever comes.
const LARGE_BYTES: usize = 1024;

/// So many bytes of records may be left to others to be folded.
const LEFT_TO_OTHERS_BYTES: u64 = 64 << 10;

/// After an old reader has gone there is much to fold. Each commit folds at least this, and
const FOLD_BYTES: u64 = 256 << 10;

/// this many times what it has published, so that less is left each time and nobody does all (I13).
const FOLD_TIMES: u64 = 2;

/// How many bytes of the ring a commit folds that has published so many.
pub fn fold_bytes(published: u64) -> u64 {
    FOLD_BYTES.max(FOLD_TIMES * published)
}

/// Brings base pages up to date, as far as no running transaction sees an older state, by about so
/// many bytes of the ring. The caller holds the commit lock. A death in the middle does no harm:
/// records are after-images, and the next one begins at the same place again (I3, I9). Returns whether
/// anything was folded.
///
/// With a session's name, others' large transactions are left to be folded by them, since they have them in
/// their processor's cache; unless much is left.
pub fn fold(region: &Region, own: Option<(u32, u32)>, bytes: u64) -> bool {
    let control = region.control();
    let from = control.folded.load(Ordering::Relaxed);
    let mut to = control.tail.load(Ordering::Relaxed);
    if from == to {
        return false;
    }
    // Announced first, then the slots are looked at: a session registers first, then looks at the
    // announcement. One of the two sees the other.
    control.fold_limit.fetch_max(to, Ordering::SeqCst);
    planted::step(Step::FoldAnnounced);
    fence(Ordering::SeqCst);
    let used = control.slots_used.load(Ordering::SeqCst) as usize;
    for slot in &control.slots[..used] {
        let snapshot = slot.snapshot.load(Ordering::SeqCst);
        if snapshot != IDLE {
            to = to.min(snapshot.max(slot.immune.load(Ordering::SeqCst)));
        }
    }
    if to <= from {
        return false;
    }
    // SAFETY: the commit lock is held, and the ring is used again only up to `folded` at most.
    let frames = unsafe { Frames::new(region, from, to) };
    let limit = to;
    to = from;
    for frame in frames {
        let others = own.is_some_and(|own| own != frame.writer);
        let large = frame.records.len() >= LARGE_BYTES;
        let enough = to - from >= bytes;
        if enough || others && large && limit - to <= LEFT_TO_OTHERS_BYTES {
            break;
        }
        to = frame.end;
        for change in changes(frame.records) {
            let base = region.base(change.page);
            debug_assert!(change.offset + change.bytes.len() <= PAGE_SIZE);
            // SAFETY: the range is in a base page, which exists since its session could write it.
            // Nobody else writes base pages: the commit lock is held. Who reads this one at the same
            // time either has a snapshot that contains the record, and then its session copies the
            // page and applies the record itself; or has none.
            unsafe {
                let to = base.add(change.offset);
                std::ptr::copy_nonoverlapping(change.bytes.as_ptr(), to, change.bytes.len());
            }
            planted::step(Step::FoldHalfDone);
        }
    }
    planted::step(Step::BeforeFolded);
    control.folded.store(to, Ordering::SeqCst);
    planted::step(Step::AfterFolded);
    to > from
}

/// Makes the ring's part that nobody needs any more free for use. The caller holds the commit lock.
pub fn reclaim(region: &Region) {
    let control = region.control();
    let mut to = control.folded.load(Ordering::SeqCst);
    if control.durable_segment.load(Ordering::Relaxed) != 0 {
        to = to.min(control.durable.load(Ordering::SeqCst));
    }
    control.reclaim_limit.fetch_max(to, Ordering::SeqCst);
    planted::step(Step::ReclaimAnnounced);
    fence(Ordering::SeqCst);
    let used = control.slots_used.load(Ordering::SeqCst) as usize;
    for slot in &control.slots[..used] {
        if slot.snapshot.load(Ordering::SeqCst) != IDLE {
            to = to.min(slot.pin.load(Ordering::SeqCst));
        }
    }
    control.reclaimed.fetch_max(to, Ordering::SeqCst);
    planted::step(Step::Reclaimed);
}

/// The stream comes back to the hot ring when so little of it is needed.
const LITTLE_BYTES: u64 = 64 << 10;

/// Whether a transaction with so many bytes of records has room; changes the ring if that makes some. The
/// caller holds the commit lock.
pub fn has_room(region: &Region, records: usize) -> Result<bool, SegmentError> {
    let control = region.control();
    let need = frame_bytes(records);
    let tail = control.tail.load(Ordering::Relaxed);
    let (start, deep) = region.lap();
    let fits = |bytes: u64| {
        let reclaimed = control.reclaimed.load(Ordering::Relaxed);
        tail - reclaimed.max(start) + need <= bytes
    };
    if !deep && fits(HOT_BYTES) {
        return Ok(true);
    }
    let mut folded = fold(region, None, fold_bytes(need));
    reclaim(region);
    // Only as much as is needed: whoever comes next does his part.
    let bytes = if deep { region.ring_bytes() } else { HOT_BYTES };
    while folded && !fits(bytes) {
        folded = fold(region, None, fold_bytes(need));
        reclaim(region);
    }
    let reclaimed = control.reclaimed.load(Ordering::Relaxed);
    // Nothing of the stretch before the newest is needed.
    let other_is_free = reclaimed >= start;
    if deep && other_is_free && tail - reclaimed + need <= LITTLE_BYTES {
        region.change_ring(tail, false);
        return Ok(true);
    }
    if !deep && fits(HOT_BYTES) {
        return Ok(true);
    }
    if !deep && other_is_free && need <= region.ring_bytes() {
        region.allocate_ring(tail, need)?;
        region.change_ring(tail, true);
        return Ok(true);
    }
    if deep && fits(region.ring_bytes()) {
        region.allocate_ring(tail, need)?;
        return Ok(true);
    }
    Ok(false)
}
