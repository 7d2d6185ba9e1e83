//! The requests of executions, and the held locks.
//!
//! Locks are granted as the engine grants them: by the matrix, beside the locks of other transactions,
//! without a question where a held mode covers the wanted one. Reservations are granted by the lock
//! room's own escrow rule.

use sardonyx_lock::{Admission, LockSpace, Mode, Modes, Quantity, Reservations};
use std::collections::BTreeMap;
use std::fmt;

/// A transaction's number.
pub(crate) type Holder = usize;

/// A lock that an execution asked for.
#[derive(Clone, Copy)]
pub(crate) struct Taken {
    pub space: &'static LockSpace,
    pub object: u64,
    pub mode: Mode,
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (space, Mode(mode)) = (self.space.name(), self.mode);
        write!(f, "{space:?} {} in mode {mode}", self.object)
    }
}

/// A reservation that an execution made.
#[derive(Clone, Copy)]
pub(crate) struct Reserved {
    pub space: &'static LockSpace,
    pub object: u64,
    pub change: i64,
}

/// Everything that an execution asked for.
#[derive(Clone, Default)]
pub(crate) struct Claims {
    pub taken: Vec<Taken>,
    pub reserved: Vec<Reserved>,
}

impl Claims {
    /// The first lock of `other` that these claims do not cover.
    pub fn uncovered(&self, other: &Claims) -> Option<Taken> {
        let covered = |wanted: &Taken| {
            self.taken.iter().any(|have| {
                let same =
                    (have.space.number(), have.object) == (wanted.space.number(), wanted.object);
                let matrix = wanted.space.matrix();
                let covers = || matrix.covers(have.mode.into(), wanted.mode);
                same && (have.mode == wanted.mode || covers())
            })
        };
        other.taken.iter().find(|wanted| !covered(wanted)).copied()
    }

    /// The total reservation of a quantity.
    pub fn net(&self, of: &Reserved) -> i128 {
        let same = |other: &&Reserved| {
            (other.space.number(), other.object) == (of.space.number(), of.object)
        };
        let changes = self.reserved.iter().filter(same);
        changes.map(|reserved| i128::from(reserved.change)).sum()
    }
}

impl fmt::Display for Claims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.taken.is_empty() && self.reserved.is_empty() {
            return f.write_str("nothing");
        }
        let locks = self.taken.iter().map(Taken::to_string);
        let reserved = self.reserved.iter().map(
            |Reserved {
                 space,
                 object,
                 change,
             }| { format!("a change of {:?} {object} by {change:+}", space.name()) },
        );
        f.write_str(&locks.chain(reserved).collect::<Vec<_>>().join(", "))
    }
}

/// The held locks.
#[derive(Default)]
pub(crate) struct Held {
    locks: BTreeMap<(u64, u64), BTreeMap<Holder, Modes>>,
    reservations: BTreeMap<(u64, u64), Reservations<Holder>>,
    /// Admitted changes of quantities of others, if there are any: each quantity's present value and its bounds, which
    /// are checked in the end.
    admitted: Option<BTreeMap<(u64, u64), Quantity>>,
}

impl Held {
    /// Without a holder, to execute again operations admitted before: transactions as a whole keep the
    /// bounds of a quantity. One that goes up and down again may, at another time, pass a bound in
    /// between, without an effect on others.
    pub fn admitted_before() -> Held {
        Held {
            admitted: Some(BTreeMap::new()),
            ..Held::default()
        }
    }

    /// The quantity that is out of its bounds in the end.
    pub fn out_of_bounds(&mut self) -> Option<String> {
        let mut ended = std::mem::take(self.admitted.as_mut()?).into_values();
        let broken = ended.find(|end| !(end.low..=end.high).contains(&end.value))?;
        let Quantity {
            value, low, high, ..
        } = broken;
        Some(format!(
            "a quantity is {value} then, which is not within {low} to {high}"
        ))
    }

    /// Grants a lock, if it can be.
    pub fn grant(&mut self, holder: Holder, wanted: Taken) -> bool {
        let matrix = wanted.space.matrix();
        if matrix.covers(self.modes(holder, wanted.space, wanted.object), wanted.mode) {
            return true;
        }
        let of = self
            .locks
            .entry((wanted.space.number(), wanted.object))
            .or_default();
        let mut others = of.iter().filter(|(other, _)| **other != holder);
        if !others.all(|(_, &modes)| matrix.admits(modes, wanted.mode.into())) {
            return false;
        }
        let modes = of.entry(holder).or_default();
        *modes = modes.union(wanted.mode.into());
        true
    }

    /// Asks for a change of a quantity.
    pub fn reserve(
        &mut self,
        holder: Holder,
        space: &LockSpace,
        object: u64,
        quantity: Quantity,
    ) -> Admission {
        let of = (space.number(), object);
        if let Some(admitted) = &mut self.admitted
            && let Some(value) = quantity.value.checked_add(quantity.change)
        {
            admitted.insert(of, Quantity { value, ..quantity });
            return Admission::Admitted;
        }
        let reservations = self.reservations.entry(of).or_default();
        reservations.admit(holder, quantity)
    }

    /// Notes a change that is made in any case.
    pub fn adjust(&mut self, holder: Holder, space: &LockSpace, object: u64, change: i64) {
        let of = self.reservations.entry((space.number(), object));
        of.or_default().adjust(holder, change);
    }

    /// A transaction's modes of an object.
    pub fn modes(&self, holder: Holder, space: &LockSpace, object: u64) -> Modes {
        let of = self.locks.get(&(space.number(), object));
        let modes = of.and_then(|of| of.get(&holder));
        modes.copied().unwrap_or_default()
    }

    /// Gives back all that a transaction holds.
    pub fn release(&mut self, holder: Holder) {
        for of in self.locks.values_mut() {
            of.remove(&holder);
        }
        for reservations in self.reservations.values_mut() {
            reservations.release(holder);
        }
    }
}
