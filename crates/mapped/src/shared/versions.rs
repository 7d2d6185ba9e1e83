//! Old versions: who keeps them, and what is done when there is no more room.

use super::control::IDLE;
use super::region::Region;
use rustix::thread::futex;
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
    /// Its process.
    pub process: u32,
    /// Its session's slot.
    pub slot: usize,
    /// How long its transaction has been running, in milliseconds.
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
        bytes: control.tail.load(Ordering::SeqCst).saturating_sub(from),
    })
}

/// Asks all sessions that keep versions to let go of them: their processes' wardens copy what their
/// transactions may still want to see. Such a transaction cannot commit any more if it writes.
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
    control.alarm.fetch_add(1, Ordering::SeqCst);
    let _ = futex::wake(&control.alarm, futex::Flags::empty(), i32::MAX as u32);
}
