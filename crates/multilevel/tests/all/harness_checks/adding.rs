//! An operation that adds to a counter, with an error of one's choice in it.

use crate::harness_support::{Correct, accounts, get, set};
use proptest::prelude::*;
use sardonyx_multilevel::harness::{Call, Check, Counterexample, Coverage, Harness};
use sardonyx_multilevel::operation::INVERSE_BYTES_MAX;
use sardonyx_multilevel::{
    Inverse, LockRequests, LockSpace, Mode, Operation, Pages, Recorded, Stop,
};
use std::cell::Cell;
use std::fmt::Debug;

pub const READ: Mode = Mode(0);
pub const ADD: Mode = Mode(1);
pub static COUNTERS: LockSpace = LockSpace::new("counters", &[&[true, false], &[false, true]]);

/// The planted error of an operation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Error {
    None,
    /// The inverse takes back one too much.
    WrongInverse,
    NoInverse,
    /// The inverse is a before-image.
    Image,
    /// The inverse locks an object that the operation did not, declared or when it runs.
    InverseDeclares,
    InverseLocks,
    InverseFails,
    /// The inverse is too long to be kept.
    LongInverse,
    /// It reads its bytes wrong, or not at all, or writes them in another way.
    Misread,
    Unreadable,
    Rewritten,
    /// It does something else when it is executed again.
    Forgets,
    Panics,
    /// It asks for no lock.
    Unlocked,
    /// Bounds are kept by looking at the value, and not by a reservation.
    Unreserved,
    /// The inverse reserves more than it gives back.
    ReservesMore,
}

/// An operation with an error in it: adds to a counter.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Add {
    pub counter: u64,
    pub by: i64,
    pub error: Error,
    pub inverse: bool,
}

/// A result of which the operation shows nothing.
pub struct Was(pub i64);

impl Debug for Was {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("done")
    }
}

thread_local! {
    static EXECUTIONS: Cell<i64> = const { Cell::new(0) };
}

const ERRORS: [Error; 17] = [
    Error::None,
    Error::WrongInverse,
    Error::NoInverse,
    Error::Image,
    Error::InverseDeclares,
    Error::InverseLocks,
    Error::InverseFails,
    Error::LongInverse,
    Error::Misread,
    Error::Unreadable,
    Error::Rewritten,
    Error::Forgets,
    Error::Panics,
    Error::Unlocked,
    Error::Unreserved,
    Error::ReservesMore,
    Error::None,
];

impl Operation for Add {
    type Output = Was;
    type Error = Stop;

    fn locks(&self, locks: &mut LockRequests) {
        match self.error {
            Error::Unlocked => {}
            Error::InverseDeclares if self.inverse => locks.request(&COUNTERS, self.counter, READ),
            _ => locks.request(&COUNTERS, self.counter, ADD),
        }
    }

    fn execute(&self, pages: &mut dyn Pages) -> Result<Was, Stop> {
        let was = get(pages, self.counter)?;
        let by = match self.error {
            Error::Forgets => EXECUTIONS.replace(EXECUTIONS.get() + 1) % 2,
            Error::Panics if was == 4 => panic!("four is too much"),
            _ => self.by,
        };
        if self.inverse {
            match self.error {
                Error::InverseLocks => pages.lock(&COUNTERS, self.counter + 1, ADD)?,
                Error::InverseFails => return Err(Stop::NoArea { number: 9 }),
                _ => {}
            }
        }
        set(pages, self.counter, was + by)?;
        Ok(Was(was))
    }

    fn inverse(&self, Was(was): &Was) -> Option<Inverse> {
        let by = match self.error {
            Error::WrongInverse => -self.by + 1,
            Error::NoInverse => return None,
            Error::Image => {
                let (counter, to) = (self.counter, *was);
                return Some(Inverse::of(&Set { counter, to }));
            }
            _ => -self.by,
        };
        let inverse = true;
        Some(Inverse::of(&Add {
            by,
            inverse,
            ..*self
        }))
    }
}

impl Recorded for Add {
    const NAME: &str = "add";

    fn encode(&self, into: &mut Vec<u8>) {
        let error = ERRORS
            .iter()
            .position(|error| *error == self.error)
            .unwrap();
        into.extend([error as u8, u8::from(self.inverse), self.counter as u8]);
        into.extend(self.by.to_le_bytes());
        if self.error == Error::LongInverse && self.inverse {
            into.resize(INVERSE_BYTES_MAX + 1, 0);
        }
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let error = ERRORS[usize::from(bytes[0])];
        let by = i64::from_le_bytes(bytes[3..11].try_into().ok()?);
        Some(Add {
            counter: u64::from(bytes[2]),
            by: match error {
                Error::Rewritten if by < 0 => -by,
                Error::Unreadable => return None,
                _ => by,
            },
            error,
            inverse: bytes[1] == 1 && error != Error::Misread,
        })
    }
}

/// Puts a value where another was: not an inverse where others add.
#[derive(Debug)]
pub struct Set {
    pub counter: u64,
    pub to: i64,
}

impl Operation for Set {
    type Output = ();
    type Error = Stop;

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), Stop> {
        set(pages, self.counter, self.to)
    }
}

impl Recorded for Set {
    const NAME: &str = "set";

    fn encode(&self, into: &mut Vec<u8>) {
        let (counter, by) = (self.counter, self.to);
        Correct {
            account: counter,
            by,
        }
        .encode(into);
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let Correct { account, by } = Correct::decode(bytes)?;
        Some(Set {
            counter: account,
            to: by,
        })
    }
}

pub fn adds(error: Error) -> impl Strategy<Value = Call> {
    (0u64..3, 1i64..4).prop_map(move |(counter, by)| {
        let inverse = false;
        Call::of(Add {
            counter,
            by,
            error,
            inverse,
        })
    })
}

pub fn check(error: Error) -> Result<Coverage, Counterexample> {
    let harness = Harness::new(accounts, adds(error)).cases(64);
    harness.register::<Add>().register::<Set>().check()
}

pub fn found(error: Error, check_of: Check) -> String {
    let found = check(error).unwrap_err();
    assert_eq!(found.check, check_of, "{error:?}: {found}");
    found.to_string()
}
