//! Transactions, one after the other, wholly determined by their seed.

use super::references::own_subobject;
use super::{ComplexObjectError, References, Scale, Skew, Subobject, within};
use sardonyx_workload::random::Random;

/// The largest number that a change adds or takes away.
pub const CHANGE_MAX: i64 = 1 << 30;

/// The most accesses of a transaction.
const ACCESSES_MAX: u64 = 100_000;

/// Draws before a transaction takes the next complex object that it does not have yet: only where it takes a large part
/// of all.
const DRAWS_MAX: u32 = 64;

/// The mix of transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Mix {
    /// c: operations of a transaction, each on another complex object.
    pub operations: u32,
    /// o: accesses of an operation to own subobjects.
    pub own_accesses: u32,
    /// f: accesses of an operation to foreign subobjects.
    pub foreign_accesses: u32,
    /// u: the percentage of accesses that change the subobject.
    pub update_percent: u32,
}

impl Mix {
    /// The DASDBS paper's baseline: c = 12, o = 10, f = 0, u = 20%.
    pub fn paper() -> Mix {
        Mix {
            operations: 12,
            own_accesses: 10,
            foreign_accesses: 0,
            update_percent: 20,
        }
    }

    /// Accesses of an operation.
    pub fn accesses(&self) -> u32 {
        self.own_accesses.saturating_add(self.foreign_accesses)
    }

    /// Checks that such transactions can be run on a database.
    ///
    /// # Errors
    /// [`ComplexObjectError::Count`] for numbers that are too large or too small, [`ComplexObjectError::NoReferences`].
    pub fn check(&self, scale: &Scale) -> Result<(), ComplexObjectError> {
        let objects = u64::from(scale.complex_objects());
        within(
            "operations of a transaction",
            self.operations.into(),
            1,
            objects,
        )?;
        let each = u64::from(self.own_accesses) + u64::from(self.foreign_accesses);
        within("accesses of an operation", each, 1, ACCESSES_MAX)?;
        let all = u64::from(self.operations) * each;
        within("accesses of a transaction", all, 1, ACCESSES_MAX)?;
        within("percent of changes", self.update_percent.into(), 0, 100)?;
        if self.foreign_accesses > 0 && scale.references() == 0 {
            return Err(ComplexObjectError::NoReferences);
        }
        Ok(())
    }
}

/// The way in which an operation reaches a subobject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// It is its complex object's own: through the directory.
    Own,
    /// It is another's: through the reference of this number.
    Foreign {
        /// The reference's number, from 0.
        reference: u16,
    },
}

/// An access to a subobject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    pub subobject: Subobject,
    /// The way in which it is reached.
    pub owner: Owner,
    /// The amount added to its value, never 0; `None`: it is only read.
    pub change: Option<i64>,
}

/// An operation on a complex object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectOperation {
    pub complex_object: u32,
    /// The own subobjects, then the foreign ones. One may be there twice.
    pub accesses: Vec<Access>,
}

/// A transaction: operations on different complex objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// The operations in their order.
    pub operations: Vec<ObjectOperation>,
}

impl Transaction {
    /// All additions, with their subobjects.
    pub fn changes(&self) -> impl Iterator<Item = (Subobject, i64)> {
        let accesses = self
            .operations
            .iter()
            .flat_map(|operation| &operation.accesses);
        accesses.filter_map(|access| Some((access.subobject, access.change?)))
    }
}

/// Draws transactions: complex objects by the 80-20 rule, own subobjects by the 50-50 rule,
/// references with equal probabilities.
#[derive(Clone, Debug)]
pub struct Generator<'a> {
    references: &'a References,
    mix: Mix,
    random: Random,
}

impl<'a> Generator<'a> {
    /// A generator for a database.
    ///
    /// # Errors
    /// As [`Mix::check`].
    pub fn new(
        references: &'a References,
        mix: Mix,
        seed: u64,
    ) -> Result<Self, ComplexObjectError> {
        mix.check(&references.scale())?;
        Ok(Generator {
            references,
            mix,
            random: Random::new(seed),
        })
    }

    /// The next transaction.
    pub fn transaction(&mut self) -> Transaction {
        let mut chosen = Vec::with_capacity(self.mix.operations as usize);
        for _ in 0..self.mix.operations {
            let complex_object = self.another(&chosen);
            chosen.push(complex_object);
        }
        let operation = |complex_object| self.operation(complex_object);
        Transaction {
            operations: chosen.into_iter().map(operation).collect(),
        }
    }

    /// A complex object that is not chosen yet.
    fn another(&mut self, chosen: &[u32]) -> u32 {
        let count = self.references.scale().complex_objects();
        let mut drawn = 0;
        for _ in 0..DRAWS_MAX {
            drawn = Skew::EIGHTY_TWENTY.draw(&mut self.random, count);
            if !chosen.contains(&drawn) {
                return drawn;
            }
        }
        while chosen.contains(&drawn) {
            drawn = (drawn + 1) % count;
        }
        drawn
    }

    fn operation(&mut self, complex_object: u32) -> ObjectOperation {
        let mut accesses = Vec::with_capacity(self.mix.accesses() as usize);
        for _ in 0..self.mix.own_accesses {
            let number = own_subobject(self.references.scale(), &mut self.random);
            accesses.push(Access {
                subobject: Subobject {
                    complex_object,
                    number,
                },
                owner: Owner::Own,
                change: self.change(),
            });
        }
        let foreign = self.references.of(complex_object);
        for _ in 0..self.mix.foreign_accesses {
            let reference = self.random.below(foreign.len() as u64) as u16;
            accesses.push(Access {
                subobject: foreign[usize::from(reference)],
                owner: Owner::Foreign { reference },
                change: self.change(),
            });
        }
        ObjectOperation {
            complex_object,
            accesses,
        }
    }

    fn change(&mut self) -> Option<i64> {
        if !self.random.chance(self.mix.update_percent) {
            return None;
        }
        let amount = 1 + self.random.below(CHANGE_MAX as u64) as i64;
        Some(if self.random.chance(50) {
            amount
        } else {
            -amount
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn transactions(mix: Mix, count: usize) -> Vec<Transaction> {
        let references = References::generate(Scale::paper(), 1);
        let mut generator = Generator::new(&references, mix, 2).unwrap();
        (0..count).map(|_| generator.transaction()).collect()
    }

    #[test]
    fn a_transaction_is_as_asked_for() {
        let mix = Mix {
            foreign_accesses: 4,
            ..Mix::paper()
        };
        let references = References::generate(Scale::paper(), 1);
        for transaction in transactions(mix, 200) {
            let objects = transaction.operations.iter().map(|one| one.complex_object);
            assert_eq!(objects.collect::<HashSet<_>>().len(), 12);
            for operation in &transaction.operations {
                let (own, foreign) = operation.accesses.split_at(10);
                assert_eq!(foreign.len(), 4);
                for access in own {
                    assert_eq!(access.owner, Owner::Own);
                    assert_eq!(access.subobject.complex_object, operation.complex_object);
                }
                for access in foreign {
                    let Owner::Foreign { reference } = access.owner else {
                        panic!("{access:?}");
                    };
                    let referred = references.of(operation.complex_object);
                    assert_eq!(access.subobject, referred[usize::from(reference)]);
                }
            }
        }
    }

    #[test]
    fn the_rules_hold_over_many_transactions() {
        let mix = Mix {
            foreign_accesses: 10,
            ..Mix::paper()
        };
        let (mut hot, mut operations) = (0, 0);
        let (mut middle, mut own, mut hot_foreign, mut foreign) = (0, 0, 0, 0);
        let (mut changes, mut up) = (0, 0);
        let mut referenced = [0u32; 100];
        for transaction in transactions(mix, 2_000) {
            for operation in transaction.operations {
                operations += 1;
                hot += usize::from((400..600).contains(&operation.complex_object));
                for access in operation.accesses {
                    match access.owner {
                        Owner::Own => {
                            own += 1;
                            middle += usize::from((250..750).contains(&access.subobject.number));
                        }
                        Owner::Foreign { reference } => {
                            foreign += 1;
                            let of = access.subobject.complex_object;
                            hot_foreign += usize::from((400..600).contains(&of));
                            referenced[usize::from(reference)] += 1;
                        }
                    }
                    if let Some(change) = access.change {
                        assert!(change != 0 && change.abs() <= CHANGE_MAX);
                        changes += 1;
                        up += usize::from(change > 0);
                    }
                }
            }
        }
        let share = |part: usize, whole: usize| part as f64 / whole as f64;
        // A little less than 80%: a transaction takes each complex object once.
        assert!((0.775..0.805).contains(&share(hot, operations)));
        assert!((0.535..0.55).contains(&share(middle, own)));
        assert!((0.79..0.81).contains(&share(hot_foreign, foreign)));
        assert!((0.197..0.203).contains(&share(changes, own + foreign)));
        assert!((0.49..0.51).contains(&share(up, changes)));
        let mean = foreign as f64 / 100.0;
        assert!(
            referenced
                .iter()
                .all(|&n| (f64::from(n) - mean).abs() < 0.1 * mean)
        );
    }

    #[test]
    fn changes_are_as_likely_as_asked_for() {
        for (update_percent, expected) in [(0, 0), (100, 120)] {
            let mix = Mix {
                update_percent,
                ..Mix::paper()
            };
            for transaction in transactions(mix, 20) {
                assert_eq!(transaction.changes().count(), expected);
            }
        }
    }

    #[test]
    fn the_seed_decides() {
        let references = References::generate(Scale::paper(), 1);
        let first = |seed| {
            let generator = Generator::new(&references, Mix::paper(), seed);
            generator.unwrap().transaction()
        };
        assert_eq!(first(1), first(1));
        assert_ne!(first(1), first(2));
    }

    #[test]
    fn a_transaction_may_take_every_complex_object() {
        let references = References::generate(Scale::new(50, 4, 2, 2).unwrap(), 1);
        let mix = Mix {
            operations: 50,
            ..Mix::paper()
        };
        let transaction = Generator::new(&references, mix, 1).unwrap().transaction();
        let objects = transaction.operations.iter().map(|one| one.complex_object);
        assert_eq!(objects.collect::<HashSet<_>>().len(), 50);
    }

    #[test]
    fn what_cannot_be_run_is_refused() {
        let scale = Scale::new(5, 4, 2, 2).unwrap();
        let mix = |operations, own_accesses, foreign_accesses, update_percent| Mix {
            operations,
            own_accesses,
            foreign_accesses,
            update_percent,
        };
        for wrong in [
            mix(0, 1, 1, 20),
            mix(6, 1, 1, 20),
            mix(1, 0, 0, 20),
            mix(1, u32::MAX, u32::MAX, 20),
            mix(5, 50_000, 0, 20),
            mix(1, 1, 1, 101),
        ] {
            assert!(wrong.check(&scale).is_err(), "{wrong:?}");
        }
        let without = Scale::new(5, 4, 0, 2).unwrap();
        let refused = mix(1, 0, 1, 20).check(&without);
        assert_eq!(refused, Err(ComplexObjectError::NoReferences));
        assert_eq!(mix(5, 1, 1, 100).check(&scale), Ok(()));
    }
}
