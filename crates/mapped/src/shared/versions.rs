//! Old versions: the sessions that keep them, and the actions when there is no more room.

use super::control::IDLE;
use super::region::Region;
use super::spill;
use sardonyx_base::sync::word::{self, Sleepers};
use std::sync::atomic::Ordering;

/// The system's monotonic clock, coarsely: milliseconds. The same in all processes.
pub fn now_milliseconds() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the structure is valid; the clock exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &raw mut time) };
    time.tv_sec as u64 * 1000 + time.tv_nsec as u64 / 1_000_000
}

/// A reader whose snapshot keeps versions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SlowReader {
    /// The number by which the operating system knows it.
    pub process: u32,
    /// Its session's slot.
    pub slot: usize,
    /// The time that its transaction has been running, in milliseconds.
    pub milliseconds: u64,
    /// Bytes of redo records that are kept for it.
    pub bytes: u64,
}

/// The session that keeps most, if one does.
pub fn slowest(region: &Region, but: usize) -> Option<SlowReader> {
    let control = region.control();
    let used = control.slots_used.load(Ordering::SeqCst) as usize;
    let slots = control.slots[..used].iter().enumerate();
    let kept = |slot: &super::control::Slot| {
        let snapshot = slot.snapshot.load(Ordering::SeqCst);
        let pin = slot.pin.load(Ordering::SeqCst);
        (snapshot != IDLE).then(|| pin.min(snapshot).max(slot.immune.load(Ordering::SeqCst)))
    };
    let (slot, from) = slots
        .filter(|(n, _)| *n != but)
        .filter_map(|(n, slot)| Some((n, kept(slot)?)))
        .min_by_key(|(_, from)| *from)?;
    let began = control.slots[slot].began.load(Ordering::Relaxed);
    Some(SlowReader {
        process: region.process_of(slot),
        slot,
        milliseconds: now_milliseconds().saturating_sub(began),
        bytes: control.tail.load(Ordering::SeqCst).saturating_sub(from)
            + spill::kept_bytes(region, from),
    })
}

/// A snapshot that is to be read only is asked to let go when it keeps this part of the ring,
const READERS_PART: u64 = 8;

/// and a transaction that may write, which cannot commit any more then, when it keeps this one.
const WRITERS_PART: u64 = 2;

/// Asks the sessions that have kept versions for long to release them, before the ring is full. So no
/// writer has to wait until their pages are copied, and all is folded (I13). Called by a writer that has
/// just published so many bytes; costs nothing as long as little is kept. Returns whether one was asked.
pub fn ask_the_old(region: &Region, but: usize, published: u64) -> bool {
    let control = region.control();
    let tail = control.tail.load(Ordering::Relaxed);
    let folded = control.folded.load(Ordering::Relaxed);
    let kept = tail - folded;
    let (early, late) = (
        region.ring_bytes() / READERS_PART,
        region.ring_bytes() / WRITERS_PART,
    );
    // Not by every commit: when another part of that size is full, or when a large transaction is there.
    let spilled = spill::kept_bytes(region, folded) > 0;
    if !spilled && (kept < early || kept % early >= published) {
        return false;
    }
    let used = control.slots_used.load(Ordering::SeqCst) as usize;
    let mut asked = false;
    for (n, slot) in control.slots[..used].iter().enumerate() {
        let snapshot = slot.snapshot.load(Ordering::SeqCst);
        let keeps = snapshot.max(slot.immune.load(Ordering::SeqCst));
        let kept = tail.saturating_sub(keeps);
        // A writing transaction would have to run again: only if the ring is getting full, or the next
        // large transaction needs the memory.
        let (kept, bound) = match slot.read_only.load(Ordering::Relaxed) {
            0 => (kept, late),
            _ => (kept + spill::kept_bytes(region, keeps), early),
        };
        if n != but && snapshot != IDLE && kept >= bound {
            slot.copy_until.fetch_max(tail, Ordering::SeqCst);
            asked = true;
        }
    }
    if asked {
        wake_keepers(region);
    }
    asked
}

/// Asks all sessions that keep versions to let go of them: their processes' version keepers copy the pages that their
/// transactions may still see. Such a transaction cannot commit any more if it writes.
pub fn ask_to_copy(region: &Region, but: usize) {
    let control = region.control();
    let tail = control.tail.load(Ordering::SeqCst);
    let used = control.slots_used.load(Ordering::SeqCst) as usize;
    for (n, slot) in control.slots[..used].iter().enumerate() {
        let snapshot = slot.snapshot.load(Ordering::SeqCst);
        // Also one that sees all there is: it may have begun when little was folded.
        let keeps = slot.pin.load(Ordering::SeqCst).min(snapshot);
        if n != but && snapshot != IDLE && keeps < tail {
            slot.copy_until.store(tail, Ordering::SeqCst);
        }
    }
    wake_keepers(region);
}

fn wake_keepers(region: &Region) {
    let alarm = &region.control().alarm;
    alarm.fetch_add(1, Ordering::SeqCst);
    word::wake(alarm, Sleepers::OfProcesses, u32::MAX);
}
