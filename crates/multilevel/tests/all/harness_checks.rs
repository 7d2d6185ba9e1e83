//! Each check of the harness fails for an operation with the error that it looks for, and passes for
//! the same operation without.

mod adding;
mod bounded;
mod places;

use crate::harness_support::{ACCOUNTS, Correct, accounts, get, set};
use adding::{ADD, Add, COUNTERS, Error, READ, Set, adds, check, found};
use bounded::check_bounded;
use places::{Put, Take, numbers};
use proptest::prelude::*;
use sardonyx_multilevel::harness::{Call, Check, Failures, Harness};
use sardonyx_multilevel::{Inverse, LockRequests, Operation, Pages, PlainPages, Stop};

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
    // Bytes that decode to an operation that encodes differently are found, too.
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

/// A rule that no matrix can express.
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

/// A switch that selects which of two objects protects the value. Each pair of operations is compatible, but a reader,
/// the switch and a writer are not.
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
    let coverage = harness.comparing(numbers).cases(96).assert();
    assert!(coverage.admitted > 100 && coverage.aborted > 10);
}
