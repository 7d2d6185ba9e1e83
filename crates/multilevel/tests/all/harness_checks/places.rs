//! Numbers in places, whose order shows which was first: states that differ and count the same.

use crate::harness_support::{get, set};
use sardonyx_multilevel::{Inverse, Operation, Pages, PlainPages, Recorded, Stop};

/// Puts a number where there is room: the order of the numbers shows which was first.
#[derive(Debug)]
pub struct Put(pub u64);

/// Takes one out again.
#[derive(Debug)]
pub struct Take(pub u64);

const PLACES: u64 = 100;

impl Operation for Put {
    type Output = ();
    type Error = Stop;

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), Stop> {
        for place in 0..PLACES {
            if get(pages, place)? == 0 {
                return set(pages, place, self.0 as i64);
            }
        }
        Err(Stop::Full {
            reason: "no place".into(),
        })
    }

    fn inverse(&self, (): &()) -> Option<Inverse> {
        Some(Inverse::of(&Take(self.0)))
    }
}

impl Operation for Take {
    type Output = ();
    type Error = Stop;

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), Stop> {
        let mut found = false;
        for place in 0..PLACES {
            found |= get(pages, place)? == self.0 as i64;
            if found {
                // The following numbers move up.
                let next = get(pages, place + 1)?;
                set(pages, place, next)?;
            }
        }
        let reason = "not there".into();
        found.then_some(()).ok_or(Stop::Full { reason })
    }
}

impl Recorded for Take {
    const NAME: &str = "take";

    fn encode(&self, into: &mut Vec<u8>) {
        into.extend(self.0.to_le_bytes());
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        Some(Take(u64::from_le_bytes(bytes.try_into().ok()?)))
    }
}

/// The numbers, without their order.
pub fn numbers(pages: &mut PlainPages) -> Vec<i64> {
    let all = (0..PLACES).map(|place| get(pages, place).unwrap());
    let mut numbers: Vec<i64> = all.filter(|number| *number != 0).collect();
    numbers.sort_unstable();
    numbers
}
