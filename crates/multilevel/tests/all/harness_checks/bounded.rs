//! A change of a quantity between bounds, with an error of one's choice in it.

use super::adding::{Add, Error};
use crate::harness_support::{accounts, get, set};
use proptest::prelude::*;
use sardonyx_multilevel::harness::{Call, Counterexample, Coverage, Failures, Harness};
use sardonyx_multilevel::{Change, Inverse, LockSpace, Operation, Pages, Recorded, Stop};

static RESERVED: LockSpace = LockSpace::new("reserved", &[&[true]]);

/// A change of a bounded quantity: 0 to 10.
#[derive(Debug, Clone, Copy)]
pub struct Bounded {
    pub counter: u64,
    pub by: i64,
    pub error: Error,
    pub inverse: bool,
}

impl Operation for Bounded {
    type Output = ();
    type Error = Stop;

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), Stop> {
        let value = get(pages, self.counter)?;
        let reserved = match self.error {
            Error::ReservesMore if self.inverse => 2 * self.by,
            _ => self.by,
        };
        let (change, low, high) = (reserved, 0, 10);
        if self.error == Error::Unreserved {
            let sum = value + change;
            if !self.inverse && !(low..=high).contains(&sum) {
                return Err(Stop::Bounds {
                    value,
                    change,
                    low,
                    high,
                });
            }
        } else {
            pages.reserve(
                &RESERVED,
                self.counter,
                Change {
                    value,
                    change,
                    low,
                    high,
                },
            )?;
        }
        set(pages, self.counter, value + self.by)
    }

    fn inverse(&self, (): &()) -> Option<Inverse> {
        let (by, inverse) = (-self.by, true);
        Some(Inverse::of(&Bounded {
            by,
            inverse,
            ..*self
        }))
    }
}

impl Recorded for Bounded {
    const NAME: &str = "bounded";

    fn encode(&self, into: &mut Vec<u8>) {
        let &Bounded {
            counter,
            by,
            error,
            inverse,
        } = self;
        Add {
            counter,
            by,
            error,
            inverse,
        }
        .encode(into);
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let Add {
            counter,
            by,
            error,
            inverse,
        } = Add::decode(bytes)?;
        Some(Bounded {
            counter,
            by,
            error,
            inverse,
        })
    }
}

pub fn check_bounded(error: Error, failures: Failures) -> Result<Coverage, Counterexample> {
    let changes = (0u64..2, -6i64..7).prop_map(move |(counter, by)| {
        let inverse = false;
        Call::of(Bounded {
            counter,
            by,
            error,
            inverse,
        })
    });
    let harness = Harness::new(accounts, changes).register::<Bounded>();
    harness.failures(failures).check()
}
