//! What every subobject's value must be: the sum of what committed transactions added.

use crate::complex_objects::workload::{Scale, Subobject, Transaction};
use std::sync::atomic::{AtomicI64, Ordering};

/// The values of all subobjects, kept beside the database by those who were told of a commit.
#[derive(Debug)]
pub struct Expected {
    scale: Scale,
    values: Vec<AtomicI64>,
}

/// A subobject whose value is not what was committed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Which.
    pub subobject: Subobject,
    /// The sum of what was committed.
    pub expected: i64,
    /// What is there.
    pub found: i64,
}

impl Expected {
    /// Of a database that was just made: every value is 0.
    pub fn new(scale: Scale) -> Self {
        let values = (0..scale.all_subobjects()).map(|_| AtomicI64::new(0));
        Expected {
            scale,
            values: values.collect(),
        }
    }

    /// A transaction has committed.
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
