//! The ring of redo records: the newest commits, in commit order. It is the version store of all views, the input of
//! the log, and the source from which base pages are brought up to date.
//!
//! A transaction is one frame: a head with its owner, then its records in the form of the log. If they are
//! too large for the ring, the number of their bytes in the [spill area](super::spill) follows instead.
//! Frames are written behind the tail and published by storing the tail.

use super::control::IDLE;
use super::region::{HOT_BYTES, Region};
use super::spill;
use crate::error::SegmentError;
use crate::planted::{self, Step};
use sardonyx_storage::log::record::{Body, Records};
use sardonyx_storage::page::{Address, PAGE_SIZE};
use std::ops::Range;
use std::sync::atomic::{Ordering, fence};

/// Bytes of a frame's head: how many bytes follow it, the writer's slot and generation, and whether the
/// records are in the spill area.
pub const FRAME_HEAD_BYTES: usize = 16;

/// The bytes behind the head of a frame whose records are in the spill area: their number.
const SPILLED_BYTES: usize = 8;

/// One committed transaction in the ring.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// The start of the next frame.
    pub end: u64,
    /// The slot of the session that committed it, and the slot's generation.
    pub writer: (u32, u32),
    /// Its redo records.
    pub records: &'a [u8],
    /// True if they are in the spill area.
    pub is_spilled: bool,
}

/// A place in a frame's redo records, for [`records_at`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// In the ring: where it starts, or, if the records are in the spill area, where the frame's rest starts.
    pub at: u64,
    /// In the spill area: how many words of 8 bytes are before it, plus one. Else 0.
    pub spilled: u32,
}

impl Frame<'_> {
    /// The place of the record that starts so many bytes behind the first record.
    pub fn place(&self, offset: usize) -> Place {
        match self.is_spilled {
            false => Place {
                at: self.end - self.records.len() as u64 + offset as u64,
                spilled: 0,
            },
            true => Place {
                at: self.end - SPILLED_BYTES as u64,
                spilled: (offset / 8) as u32 + 1,
            },
        }
    }
}

/// Records of a published frame.
///
/// # Safety
/// The caller's session pins the ring from the frame on as long as they are used. The ring has so many bytes
/// of records there.
pub unsafe fn records_at(region: &Region, place: Place, bytes: usize) -> &[u8] {
    let start = match place.spilled {
        0 => region.ring(place.at, bytes),
        words => region.spill(u64::from(words - 1) * 8, bytes),
    };
    // SAFETY: mapped, published and pinned, as the caller says.
    unsafe { std::slice::from_raw_parts(start, bytes) }
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
    pub page: u64,
    /// The place in the page.
    pub offset: usize,
    /// The bytes there now.
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
            Body::Journal { .. } | Body::Version { .. } => None,
        },
        // Only sessions write here; their records can be read.
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
                Body::Journal { .. } | Body::Version { .. } => None,
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
    /// The ring is not used again from `from` on as long as a frame of this iterator is used. The caller's
    /// session has pinned it, or the caller holds the commit lock; and `to` was published.
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
        // SAFETY: a frame starts here and is published, so its head and as many bytes as that says exist and
        // do not change. The iterator's maker promised that they stay.
        let (head, records) = unsafe {
            let head = self
                .region
                .ring(self.at, FRAME_HEAD_BYTES)
                .cast::<[u32; 4]>()
                .read();
            let bytes = head[0] as usize;
            let start = self.region.ring(self.at, FRAME_HEAD_BYTES + bytes);
            let rest = std::slice::from_raw_parts(start.add(FRAME_HEAD_BYTES), bytes);
            (head, rest)
        };
        self.at += (FRAME_HEAD_BYTES + records.len()) as u64;
        let is_spilled = head[3] != 0;
        let records = match is_spilled {
            false => records,
            true => self.spilled(records),
        };
        planted::look(records.len());
        Some(Frame {
            end: self.at,
            writer: (head[1], head[2]),
            records,
            is_spilled,
        })
    }
}

impl<'a> Frames<'a> {
    /// The records of a frame in which this is said of them.
    #[cold]
    fn spilled(&self, said: &[u8]) -> &'a [u8] {
        let said = said.first_chunk().expect("a spilled frame's rest");
        let bytes = u64::from_ne_bytes(*said) as usize;
        // SAFETY: the spill area is kept for as long as the frame is; the iterator's maker promised that.
        unsafe { std::slice::from_raw_parts(self.region.spill(0, bytes), bytes) }
    }
}

/// Bytes that a transaction with so many bytes of records takes in the ring.
pub fn room_bytes(region: &Region, records: usize) -> u64 {
    match spill::spills(region, records) {
        false => frame_bytes(records),
        true => frame_bytes(SPILLED_BYTES),
    }
}

/// Bytes of a frame with so many bytes of records in it.
pub fn frame_bytes(records: usize) -> u64 {
    (FRAME_HEAD_BYTES + records) as u64
}

/// Writes a frame behind the tail and publishes it. The caller holds the commit lock and has made
/// sure that there is room.
pub fn publish(region: &Region, writer: (u32, u32), records: &[u8]) -> u64 {
    debug_assert!(records.len().is_multiple_of(8));
    publish_frame(region, writer, records, records, false)
}

/// As [`publish`], of so many bytes of records that are in the spill area.
pub fn publish_spilled(region: &Region, writer: (u32, u32), bytes: usize) -> u64 {
    let control = region.control();
    let end = control.tail.load(Ordering::Relaxed) + frame_bytes(SPILLED_BYTES);
    // If this thread dies before the tail is stored, the tail is before this, or goes beyond it by another
    // frame. Then the area is in use until that frame is not needed any more.
    control.spill_end.store(end, Ordering::SeqCst);
    // SAFETY: the caller holds the commit lock and has put them there.
    let records = unsafe { std::slice::from_raw_parts(region.spill(0, bytes), bytes) };
    let said = (bytes as u64).to_ne_bytes();
    publish_frame(region, writer, &said, records, true)
}

fn publish_frame(
    region: &Region,
    writer: (u32, u32),
    rest: &[u8],
    records: &[u8],
    is_spilled: bool,
) -> u64 {
    let control = region.control();
    let at = control.tail.load(Ordering::Relaxed);
    let end = at + frame_bytes(rest.len());
    let place = region.ring(at, FRAME_HEAD_BYTES + rest.len());
    let head = [rest.len() as u32, writer.0, writer.1, u32::from(is_spilled)];
    // SAFETY: the place is within the ring, and not in use. It lies behind the tail, where only the holder of
    // the commit lock writes, and before `reclaimed` plus the ring's length.
    unsafe {
        place.cast::<[u32; 4]>().write(head);
        std::ptr::copy_nonoverlapping(rest.as_ptr(), place.add(FRAME_HEAD_BYTES), rest.len());
    }
    planted::step(Step::FrameWritten);
    // Before the tail: a session that sees a record finds the page's number high enough to look for it. If this thread
    // dies in between, some numbers are too high, and a session looks in vain.
    for change in changes(records) {
        region.sequence(change.page).store(end, Ordering::Relaxed);
        planted::step(Step::SequencesHalfStored);
    }
    planted::step(Step::BeforeTail);
    control.tail.store(end, Ordering::SeqCst);
    planted::step(Step::AfterTail);
    end
}

/// The byte at an address as of the tail. The caller holds the commit lock.
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

/// Any process folds smaller transactions' records.
const LARGE_BYTES: usize = 1024;

/// So many bytes of records may be left to others to be folded.
const LEFT_TO_OTHERS_BYTES: u64 = 64 << 10;

/// After the end of an old reader, much is to fold. Each commit folds at least this, and
const FOLD_BYTES: u64 = 256 << 10;

/// this many times its published bytes, so that less is left each time and no commit does all (I13).
const FOLD_TIMES: u64 = 2;

/// The bytes of the ring that a commit folds that has published so many.
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
        // The spill area is needed by all.
        let large = frame.records.len() >= LARGE_BYTES && !frame.is_spilled;
        let enough = to - from >= bytes;
        if enough || others && large && limit - to <= LEFT_TO_OTHERS_BYTES {
            break;
        }
        to = frame.end;
        for change in changes(frame.records) {
            let base = region.base(change.page);
            debug_assert!(change.offset + change.bytes.len() <= PAGE_SIZE);
            // SAFETY: the range is in a base page, which exists since its session could write it. No other
            // thread writes base pages: the commit lock is held. A concurrent reader of this one has a
            // snapshot that contains the record, or none. With one, its session copies the page and applies
            // the record itself.
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

/// Makes the ring's unneeded part free for use. The caller holds the commit lock.
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
    spill::is_free(region);
}

/// Frees the spill area's memory as soon as it is not needed. The caller holds the commit lock.
#[inline]
pub fn tidy(region: &Region) {
    if region.control().spill_bytes.load(Ordering::Relaxed) > 0 {
        fold(region, None, fold_bytes(0));
        reclaim(region);
    }
}

/// The stream comes back to the hot ring when so little of it is needed.
const LITTLE_BYTES: u64 = 64 << 10;

/// True if a transaction with so many bytes of records has room; changes the ring if that makes some. The
/// caller holds the commit lock.
pub fn has_room(region: &Region, records: usize) -> Result<bool, SegmentError> {
    if !spill::spills(region, records) {
        return has_room_for(region, frame_bytes(records));
    }
    tidy(region);
    if !spill::is_free(region) || !has_room_for(region, frame_bytes(SPILLED_BYTES))? {
        return Ok(false);
    }
    spill::allocate(region, records)?;
    Ok(true)
}

/// True if a frame of so many bytes has room in the ring.
fn has_room_for(region: &Region, need: u64) -> Result<bool, SegmentError> {
    let control = region.control();
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
    // Only as much as is needed: the next one does its part.
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
