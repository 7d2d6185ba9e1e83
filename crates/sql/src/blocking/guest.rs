//! A read of many rows is a guest of the machine: while transactions commit, it works for a moment and then pauses, so that
//! they keep their rate. A low priority alone does not give them that: a processor that reads takes the other ones'
//! memory and, where two share a core, their time (beside a thread of the idle class, payments on two such processors lost a
//! quarter).
//!
//! The pause grows with the number of reads at work, and is shorter on more processors. It is bounded, so a read always goes
//! on. A longer read keeps its snapshot longer: at the bound on memory for snapshots that is ended, as any other.
//!
//! Invariant: a pause holds no lock, and no other thread waits for it.

use std::cell::Cell;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A read works so long between two looks at the others.
const SLICE: Duration = Duration::from_millis(1);
/// From so many commits in a millisecond on, others are busy.
const BUSY: u64 = 2;
/// On one processor, a read pauses so many times as long as it worked.
const SHARE: u32 = 10;
/// The longest pause.
const PAUSE_MOST: Duration = Duration::from_millis(50);

static GUESTS: AtomicUsize = AtomicUsize::new(0);
static PROCESSORS: LazyLock<usize> =
    LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));

thread_local! {
    static SLICE_OF: Cell<Option<Slice>> = const { Cell::new(None) };
}

/// What a guest has done since its last pause.
#[derive(Clone, Copy)]
struct Slice {
    begun: Instant,
    /// The transactions that were committed when it began.
    committed: u64,
}

/// The calling thread is a guest while this is there.
#[derive(Debug)]
pub(crate) struct Guest(());

impl Guest {
    pub fn begin() -> Guest {
        GUESTS.fetch_add(1, Ordering::Relaxed);
        SLICE_OF.set(Some(Slice {
            begun: Instant::now(),
            committed: u64::MAX,
        }));
        Guest(())
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        GUESTS.fetch_sub(1, Ordering::Relaxed);
        SLICE_OF.set(None);
    }
}

/// Pauses if the thread is a guest that has worked for a moment in which others committed; `committed` counts those.
pub(crate) fn step_aside(committed: impl Fn() -> u64) {
    let Some(slice) = SLICE_OF.get() else {
        return;
    };
    let worked = slice.begun.elapsed();
    if worked < SLICE {
        return;
    }
    let more = committed().saturating_sub(slice.committed);
    let guests = GUESTS.load(Ordering::Relaxed);
    let pause = pause_after(worked, more, guests, *PROCESSORS);
    if pause > Duration::ZERO {
        std::thread::sleep(pause);
    }
    SLICE_OF.set(Some(Slice {
        begun: Instant::now(),
        committed: committed(),
    }));
}

/// How long one of so many guests pauses that has worked for some time, in which others committed so often.
fn pause_after(worked: Duration, committed: u64, guests: usize, processors: usize) -> Duration {
    let milliseconds = u64::try_from(worked.as_millis()).unwrap_or(u64::MAX);
    if committed < BUSY.saturating_mul(milliseconds.max(1)) {
        return Duration::ZERO;
    }
    // Beyond that it waited for a processor itself.
    let worked = worked.min(2 * SLICE);
    let guests = u32::try_from(guests.max(1)).unwrap_or(u32::MAX);
    let processors = u32::try_from(processors.max(1)).unwrap_or(u32::MAX);
    let wanted = worked.saturating_mul(SHARE.saturating_mul(guests)) / processors;
    // With that many processors there is one for it.
    match wanted < worked {
        true => Duration::ZERO,
        false => wanted.min(PAUSE_MOST),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKED: Duration = Duration::from_millis(2);

    #[test]
    fn a_guest_pauses_only_while_others_commit() {
        assert_eq!(pause_after(WORKED, 3, 1, 2), Duration::ZERO);
        assert_eq!(pause_after(WORKED, 4, 1, 2), 5 * WORKED);
    }

    #[test]
    fn pauses_grow_with_guests_and_shrink_with_processors() {
        assert_eq!(pause_after(WORKED, 100, 2, 2), 10 * WORKED);
        assert_eq!(pause_after(WORKED, 100, 1, 5), 2 * WORKED);
        assert_eq!(pause_after(WORKED, 100, 1, 16), Duration::ZERO);
        assert_eq!(pause_after(WORKED, 100, 64, 2), PAUSE_MOST);
    }

    #[test]
    fn only_guests_step_aside() {
        let asked = Cell::new(0);
        let committed = || {
            asked.set(asked.get() + 1);
            0
        };
        step_aside(committed);
        assert_eq!(asked.get(), 0);
        let guest = Guest::begin();
        assert!(SLICE_OF.get().is_some());
        drop(guest);
        assert!(SLICE_OF.get().is_none());
    }
}
