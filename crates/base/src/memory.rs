//! A bound on memory that many share: answers that wait for their clients, rows that statements gather.
//!
//! Each who gathers has a [`Share`], which grows in steps, so that small answers cost one look and no shared write. A
//! request that does not fit any more is refused, and everything is returned when the share is dropped, if not before
//! ([`Share::give`]).
//!
//! At the bound, those who can do without some give it back ([`Reclaim`]).
//!
//! The process's watcher may set that memory is short altogether ([`Budget::set_short`]): then shares grow no further
//! than their first step.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};

/// A share grows by at least so many bytes.
const STEP_BYTES: usize = 256 << 10;
/// The divisor of the bound that gives the bytes given back at a time: a request in small steps does not ask for each of them.
const RECLAIMED_OF: usize = 64;

/// Memory that many share.
#[derive(Debug)]
pub struct Budget {
    bytes_max: AtomicUsize,
    taken: AtomicUsize,
    is_short: AtomicBool,
    reclaim: OnceLock<Weak<dyn Reclaim>>,
}

/// Holds memory of a budget that it can give back when others need it.
pub trait Reclaim: Send + Sync {
    /// Bytes that it can give back now: a cheap question.
    fn held(&self) -> usize;

    /// Gives back at least so many bytes. Returns false, and gives back none, if it has less.
    fn reclaim(&self, bytes: usize) -> bool;
}

impl Default for Budget {
    /// Without a bound.
    fn default() -> Self {
        Budget {
            bytes_max: AtomicUsize::new(usize::MAX),
            taken: AtomicUsize::new(0),
            is_short: AtomicBool::new(false),
            reclaim: OnceLock::new(),
        }
    }
}

/// That there is no more memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Exhausted {
    /// The bound of what is gathered is reached.
    #[error("answers and rows of all clients take as much memory as they may, {bytes_max} bytes")]
    Budget {
        /// The bound.
        bytes_max: usize,
    },
    /// The whole process takes nearly as much as it may.
    #[error("the process takes nearly as much memory as it may")]
    Process,
}

impl Budget {
    /// Sets the bound. Bytes taken already stay.
    pub fn set_bytes_max(&self, bytes_max: usize) {
        self.bytes_max.store(bytes_max, Ordering::Relaxed);
    }

    /// At the bound, this gives memory back. The first one that is set stays.
    pub fn set_reclaim(&self, reclaim: Weak<dyn Reclaim>) {
        // A second one is not used.
        let _ = self.reclaim.set(reclaim);
    }

    /// Says whether the process is short of memory.
    pub fn set_short(&self, is_short: bool) {
        self.is_short.store(is_short, Ordering::Relaxed);
    }

    /// Checks that something may be stored that makes the process larger.
    ///
    /// # Errors
    /// [`Exhausted::Process`].
    #[inline]
    pub fn check(&self) -> Result<(), Exhausted> {
        match self.is_short.load(Ordering::Relaxed) {
            false => Ok(()),
            true => Err(Exhausted::Process),
        }
    }

    /// Bytes that are taken now.
    pub fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    /// Bytes that may be taken now.
    pub fn left(&self) -> usize {
        let bytes_max = self.bytes_max.load(Ordering::Relaxed);
        bytes_max.saturating_sub(self.taken())
    }

    /// True if more are taken than may be, since the bound was lowered.
    pub fn is_over(&self) -> bool {
        self.taken() > self.bytes_max.load(Ordering::Relaxed)
    }

    /// Bytes that may be taken, with those that are given back for them.
    pub fn room(&self) -> usize {
        let held = self.reclaimer().map_or(0, |reclaim| reclaim.held());
        self.left().saturating_add(held)
    }

    /// Has so many bytes given back, or all that can be.
    pub fn give_back(&self, bytes: usize) {
        if let Some(reclaim) = self.reclaimer() {
            let bytes = bytes.min(reclaim.held());
            // Meanwhile it may hold less: the next call asks again.
            let _ = bytes > 0 && reclaim.reclaim(bytes);
        }
    }

    fn reclaimer(&self) -> Option<Arc<dyn Reclaim>> {
        self.reclaim.get().and_then(Weak::upgrade)
    }

    /// That there are no more.
    pub fn exhausted(&self) -> Exhausted {
        let bytes_max = self.bytes_max.load(Ordering::Relaxed);
        let budget = Exhausted::Budget { bytes_max };
        self.check().err().unwrap_or(budget)
    }

    fn take(&self, bytes: usize) -> Result<(), Exhausted> {
        while let Err(exhausted) = self.try_take(bytes) {
            let missing = bytes.saturating_sub(self.left()).max(1);
            let Some(reclaim) = self.reclaimer() else {
                return Err(exhausted);
            };
            let part = self.bytes_max.load(Ordering::Relaxed) / RECLAIMED_OF;
            let wanted = missing.max(part.min(reclaim.held()));
            // Others may have taken it back since the question.
            if !reclaim.reclaim(wanted) && !reclaim.reclaim(missing) {
                return Err(exhausted);
            }
        }
        Ok(())
    }

    fn try_take(&self, bytes: usize) -> Result<(), Exhausted> {
        let bytes_max = self.bytes_max.load(Ordering::Relaxed);
        let taken = self.taken.fetch_add(bytes, Ordering::Relaxed);
        if taken.saturating_add(bytes) > bytes_max {
            self.taken.fetch_sub(bytes, Ordering::Relaxed);
            return Err(Exhausted::Budget { bytes_max });
        }
        Ok(())
    }
}

/// A part of a budget; dropping it returns the memory.
#[derive(Debug)]
pub struct Share {
    budget: Arc<Budget>,
    bytes: usize,
    step: usize,
}

impl Share {
    /// Nothing of a budget yet.
    pub fn of(budget: Arc<Budget>) -> Share {
        Share {
            budget,
            bytes: 0,
            step: STEP_BYTES,
        }
    }

    /// One that grows, and gives back, in other steps.
    pub fn in_steps(mut self, bytes: usize) -> Share {
        self.step = bytes;
        self
    }

    /// The bytes that it has.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The bound of the budget.
    pub fn bytes_max(&self) -> usize {
        self.budget.bytes_max.load(Ordering::Relaxed)
    }

    /// Gives back what it has beyond these bytes, but for a part of a step.
    pub fn give(&mut self, bytes: usize) {
        let kept = bytes.next_multiple_of(self.step);
        if let Some(less) = self.bytes.checked_sub(kept) {
            self.budget.taken.fetch_sub(less, Ordering::Relaxed);
            self.bytes = kept;
        }
    }

    /// Bytes up to which it can grow now, with those that it has.
    pub fn room(&self) -> usize {
        let more = match self.budget.check() {
            Ok(()) => self.budget.room(),
            Err(_) => 0,
        };
        self.bytes.saturating_add(more)
    }

    /// Sees to it that the share is as large as what is gathered.
    ///
    /// # Errors
    /// That it cannot be; it is as large as before.
    #[inline]
    pub fn cover(&mut self, bytes: usize) -> Result<(), Exhausted> {
        match bytes <= self.bytes {
            true => Ok(()),
            false => self.grow(bytes),
        }
    }

    #[cold]
    #[inline]
    fn grow(&mut self, bytes: usize) -> Result<(), Exhausted> {
        // So many are for all: what frees memory needs some, too.
        if bytes > STEP_BYTES {
            self.budget.check()?;
        }
        let more = (bytes - self.bytes).max(self.step);
        self.budget.take(more)?;
        self.bytes += more;
        Ok(())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.budget.taken.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_grow_up_to_the_bound_and_give_back_all() {
        let budget = Arc::new(Budget::default());
        budget.set_bytes_max(1 << 20);
        let mut one = Share::of(budget.clone());
        one.cover(1).unwrap();
        assert_eq!(budget.taken(), STEP_BYTES);
        assert_eq!((one.room(), budget.left()), (1 << 20, 768 << 10));
        // Within a step nothing is asked.
        one.cover(STEP_BYTES).unwrap();
        assert_eq!(budget.taken(), STEP_BYTES);
        one.cover(700 << 10).unwrap();
        let mut other = Share::of(budget.clone());
        let refused = other.cover(500 << 10).unwrap_err();
        assert_eq!(refused, Exhausted::Budget { bytes_max: 1 << 20 });
        assert_eq!(budget.taken(), 700 << 10);
        drop(one);
        other.cover(500 << 10).unwrap();
        drop(other);
        assert_eq!(budget.taken(), 0);
    }

    #[test]
    fn memory_is_given_back_at_the_bound_if_it_is_enough() {
        #[derive(Debug)]
        struct Held(std::sync::Mutex<Vec<Share>>);
        impl Reclaim for Held {
            fn held(&self) -> usize {
                let held = self.0.lock().unwrap();
                held.iter().map(Share::bytes).sum()
            }

            fn reclaim(&self, bytes: usize) -> bool {
                let mut held = self.0.lock().unwrap();
                let is_enough = held.iter().map(Share::bytes).sum::<usize>() >= bytes;
                if is_enough {
                    held.pop();
                }
                is_enough
            }
        }
        let budget = Arc::new(Budget::default());
        budget.set_bytes_max(1 << 20);
        let share = |bytes: usize| {
            let mut share = Share::of(budget.clone());
            share.cover(bytes).map(|()| share)
        };
        let all: Vec<_> = (0..3).map(|_| share(STEP_BYTES).unwrap()).collect();
        let held = Arc::new(Held(std::sync::Mutex::new(all)));
        let weak = Arc::downgrade(&held);
        budget.set_reclaim(weak);
        let one = share(STEP_BYTES).unwrap();
        assert_eq!(held.0.lock().unwrap().len(), 3);
        // An answer may take what would be given back for it.
        assert_eq!((one.room(), budget.left()), (1 << 20, 0));
        assert!(share(4 * STEP_BYTES).is_err());
        assert_eq!(held.0.lock().unwrap().len(), 3);
        let two = share(2 * STEP_BYTES).unwrap();
        assert_eq!(held.0.lock().unwrap().len(), 1);
        // If the whole process is short, as much is given back as there is.
        budget.give_back(usize::MAX);
        assert_eq!(held.0.lock().unwrap().len(), 0);
        drop((one, two, held));
        assert_eq!(budget.taken(), 0);
    }

    #[test]
    fn a_share_in_small_steps_gives_them_back() {
        let budget = Arc::new(Budget::default());
        let mut share = Share::of(budget.clone()).in_steps(1000);
        share.cover(1).unwrap();
        assert_eq!(budget.taken(), 1000);
        share.cover(4500).unwrap();
        share.give(4600);
        assert_eq!(budget.taken(), 4500);
        share.give(1001);
        assert_eq!(budget.taken(), 2000);
        budget.set_short(true);
        share.cover(STEP_BYTES).unwrap();
        assert_eq!(share.cover(STEP_BYTES + 1), Err(Exhausted::Process));
        share.give(0);
        assert_eq!(budget.taken(), 0);
    }

    #[test]
    fn nothing_grows_while_the_process_is_short_of_memory() {
        let budget = Arc::new(Budget::default());
        let mut share = Share::of(budget.clone());
        share.cover(1).unwrap();
        budget.set_short(true);
        assert_eq!(share.cover(STEP_BYTES + 1), Err(Exhausted::Process));
        assert_eq!(share.cover(STEP_BYTES), Ok(()));
        let mut other = Share::of(budget.clone());
        assert_eq!(other.cover(STEP_BYTES + 1), Err(Exhausted::Process));
        assert_eq!(other.cover(1), Ok(()));
        budget.set_short(false);
        assert_eq!(share.cover(STEP_BYTES + 1), Ok(()));
    }
}
