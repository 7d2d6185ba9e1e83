//! Pending changes of a bounded quantity, beside all outcomes: every subset of the running
//! transactions may be the one that aborts.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use sardonyx_lock::{Admission, Quantity, Reservations};

const OWNERS: usize = 5;

#[derive(Clone, Debug)]
enum Step {
    Change {
        owner: usize,
        change: i64,
    },
    /// Ends by a commit, or by compensations of all changes, last first.
    End {
        owner: usize,
        commits: bool,
    },
}

/// Bounds, and a size of changes that is often near them.
fn bounds() -> impl Strategy<Value = (i64, i64, i64)> {
    prop_oneof![
        3 => Just((0, 10, 6)),
        2 => Just((-7, 5, 8)),
        1 => Just((0, 0, 2)),
        1 => Just((i64::MIN, i64::MAX, i64::MAX)),
        1 => Just((i64::MIN, 0, i64::MAX)),
        1 => Just((i64::MAX - 3, i64::MAX, 4)),
    ]
}

fn steps(largest: i64) -> impl Strategy<Value = Vec<Step>> {
    let change = (0..OWNERS, -largest..=largest);
    let change = change.prop_map(|(owner, change)| Step::Change { owner, change });
    let end = (0..OWNERS, any::<bool>());
    let end = end.prop_map(|(owner, commits)| Step::End { owner, commits });
    vec(prop_oneof![3 => change, 1 => end], 1..40)
}

/// The quantity's values if each subset of these aborts.
fn outcomes(value: i128, pending: &[i128]) -> impl Iterator<Item = i128> {
    (0..1_u32 << pending.len()).map(move |aborting| {
        let aborted = |place: &usize| aborting >> place & 1 == 1;
        let lost = (0..pending.len())
            .filter(aborted)
            .map(|place| pending[place]);
        value - lost.sum::<i128>()
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(7),
        ..ProptestConfig::with_cases(sardonyx_base::random::cases(700))
    })]

    #[test]
    fn admitted_is_safe_in_every_outcome_and_out_of_bounds_in_none(
        ((low, high, _), start, steps) in bounds().prop_flat_map(|bounds| {
            let (low, high, largest) = bounds;
            (Just(bounds), low..=high, steps(largest))
        }),
    ) {
        let mut reservations = Reservations::default();
        let mut value = start;
        let mut changes: [Vec<i64>; OWNERS] = Default::default();
        let within = |outcome: i128| (i128::from(low)..=i128::from(high)).contains(&outcome);
        for step in steps {
            let net = |owner: usize, changes: &[Vec<i64>; OWNERS]| {
                changes[owner].iter().map(|change| i128::from(*change)).sum::<i128>()
            };
            match step {
                Step::Change { owner, change } => {
                    let others: Vec<i128> = (0..OWNERS).filter(|other| *other != owner)
                        .map(|other| net(other, &changes)).collect();
                    let after = i128::from(value) + i128::from(change);
                    let fit = outcomes(after, &others).filter(|outcome| within(*outcome)).count();
                    let expected = if fit == 1 << others.len() {
                        Admission::Admitted
                    } else if fit > 0 {
                        Admission::Depends
                    } else {
                        Admission::OutOfBounds
                    };
                    let answer = reservations.admit(owner, Quantity { value, change, low, high });
                    prop_assert_eq!(answer, expected);
                    if answer == Admission::Admitted {
                        value += change;
                        changes[owner].push(change);
                    }
                }
                Step::End { owner, commits } => {
                    let depended = net(owner, &changes) != 0;
                    if !commits && depended {
                        // As a whole: between two compensations it may be beyond the bounds.
                        let before = i128::from(value) - net(owner, &changes);
                        value = i64::try_from(before).expect("an outcome within bounds");
                        for change in changes[owner].drain(..).rev() {
                            let (one, two) = (-(change / 2), -(change - change / 2));
                            reservations.adjust(owner, one);
                            reservations.adjust(owner, two);
                        }
                        prop_assert_eq!(reservations.net_of(owner), Some(0));
                        prop_assert!(!reservations.release(owner));
                    } else {
                        prop_assert_eq!(reservations.release(owner), depended);
                    }
                    changes[owner].clear();
                    prop_assert_eq!(reservations.net_of(owner), None);
                }
            }
            let pending: Vec<i128> = (0..OWNERS).map(|owner| net(owner, &changes)).collect();
            for outcome in outcomes(value.into(), &pending) {
                prop_assert!(within(outcome), "{outcome} is not within {low} to {high}");
            }
            for owner in 0..OWNERS {
                let noted = reservations.net_of(owner);
                prop_assert_eq!(noted.is_some(), !changes[owner].is_empty());
                prop_assert_eq!(noted.unwrap_or(0), pending[owner]);
                let mut others: Vec<usize> = reservations.others(owner).map(|(o, _)| o).collect();
                others.sort_unstable();
                let expected = (0..OWNERS).filter(|other| *other != owner && pending[*other] != 0);
                prop_assert_eq!(others, expected.collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn a_transaction_counts_on_its_own_changes_and_others_do_not() {
    let mut reservations = Reservations::default();
    let quantity = |value, change| Quantity {
        value,
        change,
        low: 0,
        high: 100,
    };
    assert_eq!(reservations.admit(1, quantity(0, 100)), Admission::Admitted);
    assert_eq!(
        reservations.admit(2, quantity(100, -100)),
        Admission::Depends
    );
    assert_eq!(
        reservations.admit(1, quantity(100, -100)),
        Admission::Admitted
    );
    assert_eq!(
        reservations.admit(2, quantity(0, -1)),
        Admission::OutOfBounds
    );
}

#[test]
fn a_quantity_beyond_a_bound_may_come_back() {
    let mut reservations = Reservations::default();
    let quantity = |change| Quantity {
        value: -5,
        change,
        low: 0,
        high: 10,
    };
    assert_eq!(reservations.admit(1, quantity(3)), Admission::Admitted);
    assert_eq!(reservations.admit(1, quantity(-1)), Admission::OutOfBounds);
}
