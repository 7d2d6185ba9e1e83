//! The expected value of every subobject: the sum of the committed additions.

use crate::complex_objects::workload::{Scale, Subobject, Transaction};
use std::sync::atomic::{AtomicI64, Ordering};

/// The values of all subobjects, kept outside of the database by the clients whose transactions were acknowledged.
#[derive(Debug)]
pub struct Expected {
    scale: Scale,
    values: Vec<AtomicI64>,
}

/// A subobject whose value is not the committed one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Difference {
    pub subobject: Subobject,
    /// The sum of the committed additions.
    pub expected: i64,
    /// The value in the database.
    pub found: i64,
}

impl Expected {
    /// The values of a database that was just made: all 0.
    pub fn new(scale: Scale) -> Self {
        let values = (0..scale.all_subobjects()).map(|_| AtomicI64::new(0));
        Expected {
            scale,
            values: values.collect(),
        }
    }

    /// Adds the changes of a committed transaction.
    pub fn add(&self, transaction: &Transaction) {
        for (subobject, change) in transaction.changes() {
            let value = &self.values[self.scale.identity(subobject) as usize];
            value.fetch_add(change, Ordering::Relaxed);
        }
    }

    /// Compares the values of one complex object, in the order of its subobjects.
    pub fn differences(&self, complex_object: u32, found: &[i64]) -> Vec<Difference> {
        let first = Subobject {
            complex_object,
            number: 0,
        };
        let first = self.scale.identity(first);
        let of = |(number, &found): (usize, &i64)| {
            let identity = first + number as u64;
            let expected = self.values[identity as usize].load(Ordering::Relaxed);
            (expected != found).then(|| Difference {
                subobject: self.scale.subobject(identity),
                expected,
                found,
            })
        };
        found.iter().enumerate().filter_map(of).collect()
    }
}
