//! The locks on one object: its holders and its waiters.
//!
//! Requests are served first come, first served: none is granted before an earlier one with which it conflicts. A
//! request without conflicts before it need not wait behind others, for it delays none. A *conversion*, a request of
//! an owner that already holds the object, goes before ordinary ones and after earlier conversions. (Ordinary ones
//! could not be granted before it ends anyway.) Two conversions that wait for each other's holder are a deadlock,
//! which [`crate::deadlock`] finds.
//!
//! Invariants, after every call: the modes of different owners are compatible. Every waiter waits for an owner
//! ([`LockQueue::blockers`] is not empty). No owner is twice among the holders or the waiters.

use crate::compatibility::{Compatibility, Mode, Modes};
use smallvec::SmallVec;

/// An owner and its modes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Holder<O> {
    /// Transaction, subtransaction or node; compared by `==`.
    pub owner: O,
    /// The union of its grants.
    pub modes: Modes,
}

/// An owner and its requested modes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Waiter<O> {
    /// Never twice among the waiters of a queue.
    pub owner: O,
    /// All modes that it has requested and was not granted.
    pub modes: Modes,
    /// True if it already holds the object in another mode.
    pub conversion: bool,
}

/// The result of a request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Answer {
    /// The owner held the requested modes already; nothing has changed.
    Held,
    /// The owner holds it now.
    Granted,
    /// The owner waits; a later release or cancellation of another will grant it.
    Waiting,
}

/// The state of one object's locks.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LockQueue<O> {
    holders: SmallVec<[Holder<O>; 1]>,
    /// Conversions first, then in order of arrival.
    waiters: SmallVec<[Waiter<O>; 1]>,
}

impl<O> Default for LockQueue<O> {
    fn default() -> Self {
        LockQueue {
            holders: SmallVec::new(),
            waiters: SmallVec::new(),
        }
    }
}

impl<O: Copy + Eq> LockQueue<O> {
    /// A queue with these holders and, in this order, these waiters, as another's [`LockQueue::holders`] and
    /// [`LockQueue::waiters`] gave them: for a lock table that stores queues in a form of its own, such as words of
    /// shared memory.
    pub fn of(
        holders: impl IntoIterator<Item = Holder<O>>,
        waiters: impl IntoIterator<Item = Waiter<O>>,
    ) -> Self {
        let mut queue = LockQueue::default();
        holders
            .into_iter()
            .for_each(|holder| queue.restore_holder(holder));
        waiters
            .into_iter()
            .for_each(|waiter| queue.restore_waiter(waiter));
        queue
    }

    /// Removes all holders and waiters.
    #[inline]
    pub fn clear(&mut self) {
        self.holders.clear();
        self.waiters.clear();
    }

    /// Adds a holder as another queue's [`LockQueue::holders`] gave it: one that is compatible with the others.
    #[inline]
    pub fn restore_holder(&mut self, holder: Holder<O>) {
        self.holders.push(holder);
    }

    /// Adds a waiter behind the others, as another queue's [`LockQueue::waiters`] gave it.
    #[inline]
    pub fn restore_waiter(&mut self, waiter: Waiter<O>) {
        self.waiters.push(waiter);
    }

    /// Asks for `mode`. An owner that waits already and asks for another mode waits for both, in
    /// its old place.
    pub fn request(&mut self, matrix: &Compatibility, owner: O, mode: Mode) -> Answer {
        if let Some(answer) = self.try_request(matrix, owner, mode) {
            return answer;
        }
        if let Some(waiter) = self.waiters.iter_mut().find(|waiter| waiter.owner == owner) {
            waiter.modes = waiter.modes.union(mode.into());
            return Answer::Waiting;
        }
        let (waiter, place) = self.newcomer(owner, mode);
        self.waiters.insert(place, waiter);
        Answer::Waiting
    }

    /// Asks for `mode` without waiting for it: `None`, and nothing has changed, if it would have to.
    pub fn try_request(&mut self, matrix: &Compatibility, owner: O, mode: Mode) -> Option<Answer> {
        if matrix.covers(self.held(owner), mode) {
            return Some(Answer::Held);
        }
        if self.waiters.iter().any(|waiter| waiter.owner == owner) {
            return None;
        }
        let (waiter, place) = self.newcomer(owner, mode);
        if self.blockers_at(matrix, waiter, place).next().is_some() {
            return None;
        }
        self.hold(owner, waiter.modes);
        Some(Answer::Granted)
    }

    /// Makes the owner a holder of `mode` beside the present ones and before all waiters. The owner held the object
    /// already, by a right that this queue did not know and that excluded the same others: a node's authorisation to
    /// grant read locks by itself.
    ///
    /// # Panics
    /// If another holder does not admit it: then it had not held it.
    pub fn adopt(&mut self, matrix: &Compatibility, owner: O, mode: Mode) {
        let admitted = self
            .holders
            .iter()
            .all(|holder| holder.owner == owner || matrix.admits(holder.modes, mode.into()));
        assert!(admitted, "a lock is adopted beside one that excludes it");
        self.hold(owner, mode.into());
        for waiter in self
            .waiters
            .iter_mut()
            .filter(|waiter| waiter.owner == owner)
        {
            waiter.conversion = true;
        }
        self.waiters.sort_by_key(|waiter| !waiter.conversion);
    }

    /// Removes the owner from holders and waiters. Appends to `granted` the owners whose requests are granted now, in
    /// the order in which they waited. Returns the modes that the owner held.
    pub fn release(
        &mut self,
        matrix: &Compatibility,
        owner: O,
        granted: &mut impl Extend<O>,
    ) -> Modes {
        let mut held = Modes::NONE;
        if let Some(place) = self.holders.iter().position(|holder| holder.owner == owner) {
            held = self.holders.remove(place).modes;
        }
        self.waiters.retain(|waiter| waiter.owner != owner);
        self.promote(matrix, granted);
        held
    }

    /// Cancels the owner's waiting request; its held modes stay. Appends to `granted` the owners whose requests are
    /// granted now. Returns true if the owner waited.
    pub fn cancel(
        &mut self,
        matrix: &Compatibility,
        owner: O,
        granted: &mut impl Extend<O>,
    ) -> bool {
        let before = self.waiters.len();
        self.waiters.retain(|waiter| waiter.owner != owner);
        let waited = self.waiters.len() < before;
        if waited {
            self.promote(matrix, granted);
        }
        waited
    }

    /// Reduces the request of a waiting owner to these modes, and keeps its place. No modes: as [`LockQueue::cancel`].
    /// Appends to `granted` the owners whose requests are granted now.
    ///
    /// The modes must be a part of the awaited ones. Others would pass the waiters behind that place.
    pub fn narrow(
        &mut self,
        matrix: &Compatibility,
        owner: O,
        modes: Modes,
        granted: &mut impl Extend<O>,
    ) {
        if modes.is_empty() {
            self.cancel(matrix, owner, granted);
        } else if let Some(waiter) = self.waiters.iter_mut().find(|waiter| waiter.owner == owner) {
            waiter.modes = modes;
            self.promote(matrix, granted);
        }
    }

    /// The owner's held modes.
    pub fn held(&self, owner: O) -> Modes {
        let holder = self.holders.iter().find(|holder| holder.owner == owner);
        holder.map_or(Modes::NONE, |holder| holder.modes)
    }

    /// The owner's awaited modes.
    pub fn awaited(&self, owner: O) -> Modes {
        let waiter = self.waiters.iter().find(|waiter| waiter.owner == owner);
        waiter.map_or(Modes::NONE, |waiter| waiter.modes)
    }

    /// The owners that the owner waits for: holders that do not admit it, and earlier waiters that conflict with it.
    /// Empty if it does not wait. One owner may come twice, as holder and as waiter.
    pub fn blockers(&self, matrix: &Compatibility, owner: O) -> impl Iterator<Item = O> {
        let place = self.waiters.iter().position(|waiter| waiter.owner == owner);
        place
            .into_iter()
            .flat_map(move |place| self.blockers_at(matrix, self.waiters[place], place))
    }

    /// The holders that have to end, or to give up a mode, before the owner is granted its request. They do not admit
    /// the request, or have a conversion that waits before it. Or they do so to a waiter for which the owner waits, and
    /// so on through the queue. If every owner waits for one object at a time, each cycle of waiting goes through one
    /// of these holders. So a search for cycles may leave out owners that only wait.
    pub fn blocking_holders(&self, matrix: &Compatibility, owner: O) -> SmallVec<[O; 4]> {
        let mut blocking = SmallVec::new();
        let Some(place) = self.waiters.iter().position(|waiter| waiter.owner == owner) else {
            return blocking;
        };
        // From the owner forwards to the head of the queue: those that block it.
        let mut before: SmallVec<[Waiter<O>; 4]> = SmallVec::from_iter([self.waiters[place]]);
        for waiter in self.waiters[..place].iter().rev() {
            if before
                .iter()
                .any(|other| matrix.conflict(other.modes, waiter.modes))
            {
                before.push(*waiter);
            }
        }
        for holder in self.holders.iter().filter(|holder| holder.owner != owner) {
            let blocks = |waiter: &Waiter<O>| {
                waiter.owner != holder.owner && !matrix.admits(holder.modes, waiter.modes)
            };
            let converts = |waiter: &Waiter<O>| waiter.owner == holder.owner;
            if before
                .iter()
                .any(|waiter| blocks(waiter) || converts(waiter))
            {
                blocking.push(holder.owner);
            }
        }
        blocking
    }

    /// In no order that callers may rely on.
    pub fn holders(&self) -> &[Holder<O>] {
        &self.holders
    }

    /// In the order of service.
    pub fn waiters(&self) -> &[Waiter<O>] {
        &self.waiters
    }

    /// True without holders and waiters.
    pub fn is_free(&self) -> bool {
        self.holders.is_empty() && self.waiters.is_empty()
    }

    /// The owners for which `waiter` would have to wait at `place` in the queue.
    fn blockers_at(
        &self,
        matrix: &Compatibility,
        waiter: Waiter<O>,
        place: usize,
    ) -> impl Iterator<Item = O> {
        let holders = self.holders.iter().filter(move |holder| {
            holder.owner != waiter.owner && !matrix.admits(holder.modes, waiter.modes)
        });
        let ahead = self.waiters[..place]
            .iter()
            .filter(move |other| matrix.conflict(other.modes, waiter.modes));
        holders
            .map(|holder| holder.owner)
            .chain(ahead.map(|other| other.owner))
    }

    /// The request of an owner that does not wait yet, and its place in the queue.
    fn newcomer(&self, owner: O, mode: Mode) -> (Waiter<O>, usize) {
        let conversion = self.holders.iter().any(|holder| holder.owner == owner);
        let place = if conversion {
            let conversions = self.waiters.iter().take_while(|waiter| waiter.conversion);
            conversions.count()
        } else {
            self.waiters.len()
        };
        let waiter = Waiter {
            owner,
            modes: mode.into(),
            conversion,
        };
        (waiter, place)
    }

    fn hold(&mut self, owner: O, modes: Modes) {
        if let Some(holder) = self.holders.iter_mut().find(|holder| holder.owner == owner) {
            holder.modes = holder.modes.union(modes);
        } else {
            self.holders.push(Holder { owner, modes });
        }
    }

    /// Grants every waiter that has no owner to wait for any more.
    fn promote(&mut self, matrix: &Compatibility, granted: &mut impl Extend<O>) {
        let mut place = 0;
        while let Some(&waiter) = self.waiters.get(place) {
            if self.blockers_at(matrix, waiter, place).next().is_none() {
                self.waiters.remove(place);
                self.hold(waiter.owner, waiter.modes);
                granted.extend([waiter.owner]);
            } else {
                place += 1;
            }
        }
    }
}
