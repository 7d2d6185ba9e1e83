//! Bounded quantities: changes that are admitted only if they stay within bounds in every outcome of the running
//! transactions.
//!
//! A lock mode can only say that two withdrawals commute or do not; the quantity itself says how much may be
//! withdrawn. For each object the net pending change of every running transaction is kept. From the value that
//! includes them all follow two outcomes. The *lowest* is the one in which the others' net gains are undone, and the
//! *highest* the one in which their net losses are. A decrease must keep the lowest, an increase the highest outcome
//! within bounds. A transaction counts on its own changes: if they are undone, so is the work that builds on them.
//!
//! Invariant: if every outcome was within the bounds before, every outcome is after an admitted change. (Those in
//! which the owner aborts do not change.) The caller makes a change of the value and of the pending changes as one
//! step, by holding the value's page exclusively.

use smallvec::SmallVec;

/// A quantity and a change to be made to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quantity {
    /// Its present value, with the changes of all transactions, ended or not.
    pub value: i64,
    /// The change to add.
    pub change: i64,
    /// The least that it may be.
    pub low: i64,
    /// The most that it may be.
    pub high: i64,
}

/// The admission of a change.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Admission {
    /// The bounds hold in every outcome of the other transactions; the change is noted.
    Admitted,
    /// The bounds hold in some outcomes of the other transactions, and not in others.
    Depends,
    /// The bounds hold in no outcome of the other transactions.
    OutOfBounds,
}

/// The pending changes of one quantity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reservations<O> {
    /// Wider than a quantity: a transaction may go from one end to the other.
    net: SmallVec<[(O, i128); 2]>,
}

impl<O> Default for Reservations<O> {
    fn default() -> Self {
        Reservations {
            net: SmallVec::new(),
        }
    }
}

impl<O: Copy + Eq> Reservations<O> {
    /// Asks for a change; notes it if it is admitted. It is checked at the bound towards which it
    /// goes, so a quantity that is beyond a bound may come back.
    pub fn admit(&mut self, owner: O, quantity: Quantity) -> Admission {
        let others = || self.others(owner).map(|(_, net)| net);
        let value = i128::from(quantity.value) + i128::from(quantity.change);
        let lowest = value - others().map(|net| net.max(0)).sum::<i128>();
        let highest = value - others().map(|net| net.min(0)).sum::<i128>();
        let (low, high) = (i128::from(quantity.low), i128::from(quantity.high));
        let (safe, possible) = if quantity.change < 0 {
            (low <= lowest, low <= highest)
        } else {
            (highest <= high, lowest <= high)
        };
        if safe || quantity.change == 0 {
            self.adjust(owner, quantity.change);
            return Admission::Admitted;
        }
        if possible {
            Admission::Depends
        } else {
            Admission::OutOfBounds
        }
    }

    /// Notes a change that is made in any case.
    pub fn adjust(&mut self, owner: O, change: i64) {
        let change = i128::from(change);
        match self.net.iter_mut().find(|(other, _)| *other == owner) {
            Some((_, net)) => *net += change,
            None => self.net.push((owner, change)),
        }
    }

    /// Forgets the pending changes of an owner, which has ended. Returns true if others depended on it.
    pub fn release(&mut self, owner: O) -> bool {
        let depended = self.net_of(owner).is_some_and(|net| net != 0);
        self.net.retain(|(other, _)| *other != owner);
        depended
    }

    /// The pending change of an owner; `None` if it has noted none.
    pub fn net_of(&self, owner: O) -> Option<i128> {
        let found = self.net.iter().find(|(other, _)| *other == owner);
        found.map(|(_, net)| *net)
    }

    /// The others on which the outcome of the quantity depends, with their net changes.
    pub fn others(&self, owner: O) -> impl Iterator<Item = (O, i128)> {
        let others = self.net.iter().filter(move |(other, _)| *other != owner);
        others.copied().filter(|(_, net)| *net != 0)
    }

    /// True if nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.net.is_empty()
    }
}
