//! Each check of the harness fails for an operation with the error that it looks for, and passes for
//! the same operation without.

mod harness_support;

use harness_support::{ACCOUNTS, Correct, accounts, get, set};
use proptest::prelude::*;
use sardonyx_multilevel::harness::{Call, Check, Counterexample, Coverage, Failures, Harness};
use sardonyx_multilevel::operation::INVERSE_BYTES_MAX;
use sardonyx_multilevel::{
    Change, Inverse, LockRequests, LockSpace, Mode, Operation, Pages, PlainPages, Recorded, Stop,
};
use std::cell::Cell;
use std::fmt::Debug;

const READ: Mode = Mode(0);
const ADD: Mode = Mode(1);
static COUNTERS: LockSpace = LockSpace::new("counters", &[&[true, false], &[false, true]]);
static RESERVED: LockSpace = LockSpace::new("reserved", &[&[true]]);

/// What is wrong with an operation.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Error {
    None,
    /// The inverse takes back one too much.
    WrongInverse,
    /// There is no inverse.
    NoInverse,
    /// The inverse is a before-image.
    Image,
    /// The inverse locks what the operation did not, declared or when it runs.
    InverseDeclares,
    InverseLocks,
    /// The inverse fails.
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
struct Add {
    counter: u64,
    by: i64,
    error: Error,
    /// It is an inverse.
    inverse: bool,
}

/// What it gives back, and says nothing of.
struct Was(i64);

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
struct Set {
    counter: u64,
    to: i64,
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

fn adds(error: Error) -> impl Strategy<Value = Call> {
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

fn check(error: Error) -> Result<Coverage, Counterexample> {
    let harness = Harness::new(accounts, adds(error)).cases(64);
    harness.register::<Add>().register::<Set>().check()
}

fn found(error: Error, check_of: Check) -> String {
    let found = check(error).unwrap_err();
    assert_eq!(found.check, check_of, "{error:?}: {found}");
    found.to_string()
}

#[test]
fn adding_passes() {
    let coverage = check(Error::None).unwrap();
    assert!(
        coverage.admitted == coverage.pairs && coverage.undone > 50,
        "{coverage:?}"
    );
}

#[test]
fn an_inverse_that_does_not_restore_the_state_is_found() {
    let text = found(Error::WrongInverse, Check::Undo);
    assert!(text.contains("do not give the state before"), "{text}");
    assert!(text.contains("inverse     Add"), "{text}");
    let text = found(Error::NoInverse, Check::Undo);
    assert!(text.contains("has no inverse"), "{text}");
    let text = found(Error::InverseFails, Check::Undo);
    assert!(text.contains("there is no area number 9"), "{text}");
}

#[test]
fn a_before_image_is_no_inverse_where_others_add() {
    let text = found(Error::Image, Check::UndoBehindAnother);
    assert!(text.contains("a's inverse  Set"), "{text}");
}

#[test]
fn an_inverse_that_locks_more_than_its_operation_is_found() {
    let text = found(Error::InverseDeclares, Check::LocksOfInverse);
    assert!(
        text.contains("too much     \"counters\" 0 in mode 0"),
        "{text}"
    );
    found(Error::InverseLocks, Check::LocksOfInverse);
}

#[test]
fn what_is_written_down_is_read_again() {
    found(Error::LongInverse, Check::WrittenDown);
    found(Error::Rewritten, Check::WrittenDown);
    found(Error::Unreadable, Check::WrittenDown);
    // What reads as something that writes itself differently is found, too.
    found(Error::Misread, Check::WrittenDown);
    let recorded = |error| {
        (0u64..3, 1i64..4).prop_map(move |(counter, by)| {
            let inverse = true;
            Call::recorded(Add {
                counter,
                by,
                error,
                inverse,
            })
        })
    };
    let of = |error| {
        Harness::new(accounts, recorded(error))
            .register::<Add>()
            .cases(8)
    };
    of(Error::None).assert();
    assert_eq!(
        of(Error::Misread).check().unwrap_err().check,
        Check::WrittenDown
    );
}

#[test]
fn an_inverse_that_nobody_registered_is_reported_by_its_name() {
    let found = Harness::new(accounts, adds(Error::None))
        .cases(8)
        .check()
        .unwrap_err();
    assert_eq!(found.check, Check::WrittenDown);
    assert!(found.what.contains("\"add\" is not registered"), "{found}");
}

#[test]
fn what_keeps_something_outside_of_the_pages_is_found() {
    found(Error::Forgets, Check::Repeatable);
}

#[test]
fn a_panic_is_a_finding() {
    let text = found(Error::Panics, Check::Panic);
    assert!(text.contains("four is too much"), "{text}");
}

/// Reads a counter.
#[derive(Debug)]
struct Get(u64);

impl Operation for Get {
    type Output = i64;
    type Error = Stop;

    fn locks(&self, locks: &mut LockRequests) {
        locks.request(&COUNTERS, self.0, READ);
    }

    fn execute(&self, pages: &mut dyn Pages) -> Result<i64, Stop> {
        get(pages, self.0)
    }
}

#[test]
fn an_operation_that_does_not_lock_is_found() {
    let mixed = |error| {
        let gets = (0u64..3).prop_map(|counter| Call::of(Get(counter)));
        let harness = Harness::new(accounts, prop_oneof![adds(error), gets]).cases(64);
        harness.register::<Add>().check()
    };
    let coverage = mixed(Error::None).unwrap();
    assert!(coverage.waited > 0 && coverage.admitted < coverage.pairs);
    let found = mixed(Error::Unlocked).unwrap_err();
    assert_eq!(found.check, Check::Order, "{found}");
    assert!(found.to_string().contains("its locks   nothing"), "{found}");
}

/// A change of a bounded quantity: 0 to 10.
#[derive(Debug, Clone, Copy)]
struct Bounded {
    counter: u64,
    by: i64,
    error: Error,
    inverse: bool,
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

fn check_bounded(error: Error, failures: Failures) -> Result<Coverage, Counterexample> {
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

/// What no matrix can say.
#[test]
fn reservations_are_admitted_as_the_engine_admits_them() {
    let coverage = check_bounded(Error::None, Failures::Ignored).unwrap();
    assert!(
        coverage.admitted > 500 && coverage.admitted < coverage.pairs,
        "{coverage:?}"
    );
    assert!(
        coverage.waited > 20 && coverage.aborted > 20,
        "{coverage:?}"
    );
    let found = check_bounded(Error::Unreserved, Failures::Ignored).unwrap_err();
    assert_eq!(found.check, Check::Order, "{found}");
    let found = check_bounded(Error::ReservesMore, Failures::Ignored).unwrap_err();
    assert_eq!(found.check, Check::LocksOfInverse, "{found}");
    assert!(
        found.to_string().contains("where the operation reserved"),
        "{found}"
    );
}

#[test]
fn a_refused_change_of_a_quantity_is_no_promise() {
    let found = check_bounded(Error::None, Failures::Alike).unwrap_err();
    assert_eq!(found.check, Check::Order, "{found}");
    assert!(found.to_string().contains("→ failed"), "{found}");
}

/// A switch that says which of two objects protects the value: each pair of operations goes together,
/// but a reader, the switch and a writer do not.
#[derive(Debug)]
enum Switched {
    Read,
    Switch { locked: bool },
    Write,
}

impl Operation for Switched {
    type Output = i64;
    type Error = Stop;

    fn execute(&self, pages: &mut dyn Pages) -> Result<i64, Stop> {
        let object = get(pages, 0)? as u64;
        match self {
            Switched::Read => {
                pages.lock(&COUNTERS, object, READ)?;
                get(pages, 2)
            }
            Switched::Write => {
                pages.lock(&COUNTERS, object, ADD)?;
                let value = get(pages, 2)?;
                set(pages, 2, value + 1)?;
                Ok(0)
            }
            Switched::Switch { locked } => {
                if *locked {
                    pages.lock(&COUNTERS, 0, READ)?;
                    pages.lock(&COUNTERS, 1, READ)?;
                    pages.lock(&COUNTERS, 0, ADD)?;
                    pages.lock(&COUNTERS, 1, ADD)?;
                }
                pages.lock(&COUNTERS, 9, ADD)?;
                set(pages, 0, 1)?;
                Ok(0)
            }
        }
    }

    fn inverse(&self, _: &i64) -> Option<Inverse> {
        match self {
            Switched::Read => None,
            Switched::Switch { .. } => Some(Inverse::of(&Set { counter: 0, to: 0 })),
            Switched::Write => Some(Inverse::of(&Correct { account: 2, by: -1 })),
        }
    }
}

#[test]
fn what_only_three_do_wrong_is_found_by_histories() {
    let check = |locked| {
        let operations = prop_oneof![
            Just(()).prop_map(|()| Call::of(Switched::Read)),
            Just(()).prop_map(|()| Call::of(Switched::Write)),
            Just(()).prop_map(move |()| Call::of(Switched::Switch { locked })),
        ];
        let harness = Harness::new(accounts, operations).operations_before(0);
        // Only the first switch does anything, so that the inverse is right.
        harness
            .register::<Set>()
            .register::<Correct>()
            .comparing(|pages| {
                let page = pages.page(ACCOUNTS, 0).unwrap();
                pages.read(page).unwrap()[16]
            })
    };
    let found = check(false).check().unwrap_err();
    assert_eq!(found.check, Check::Serializable, "{found}");
    assert!(found.to_string().contains(": Read → 0"), "{found}");
    check(true).assert();
}

/// Puts a number where there is room: the order of the numbers tells who was first.
#[derive(Debug)]
struct Put(u64);

/// Takes one out again.
#[derive(Debug)]
struct Take(u64);

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
                // Those behind it move up.
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
fn numbers(pages: &mut PlainPages) -> Vec<i64> {
    let all = (0..PLACES).map(|place| get(pages, place).unwrap());
    let mut numbers: Vec<i64> = all.filter(|number| *number != 0).collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn states_are_compared_by_what_counts() {
    let build = |pages: &mut PlainPages| {
        pages.area(1);
    };
    let puts = || (1u64..9).prop_map(|number| Call::of(Put(number)));
    let by_bytes = Harness::new(build, puts())
        .register::<Take>()
        .check()
        .unwrap_err();
    assert_eq!(by_bytes.check, Check::Order, "{by_bytes}");
    assert!(by_bytes.what.contains("leave another state"), "{by_bytes}");
    let harness = Harness::new(build, puts()).register::<Take>();
    let coverage = harness.comparing(numbers).assert();
    assert!(coverage.admitted > 100 && coverage.aborted > 10);
}
