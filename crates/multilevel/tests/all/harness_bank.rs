//! The harness on the bank of the issue: a withdrawal beside a deposit. Wrong matrices are found,
//! with an example that a person can read; right ones pass.

use crate::harness_support::{
    Asymmetric, Bank, Correct, Deposit, Forgetful, Peeking, Read, Symmetric, SymmetricForgetful,
    Withdraw, accounts,
};
use proptest::prelude::*;
use sardonyx_multilevel::harness::{Call, Check, Counterexample, Coverage, Failures, Harness};
use std::marker::PhantomData;

fn operations<B: Bank>() -> impl Strategy<Value = Call> {
    let account = 0u64..3;
    prop_oneof![
        (account.clone(), 1i64..4).prop_map(|(a, n)| Call::of(Deposit::<B>(a, n, PhantomData))),
        (account.clone(), 1i64..4).prop_map(|(a, n)| Call::of(Withdraw::<B>(a, n, PhantomData))),
        account.prop_map(|a| Call::of(Read::<B>(a, PhantomData))),
    ]
}

fn check<B: Bank>(failures: Failures) -> Result<Coverage, Counterexample> {
    let harness = Harness::new(accounts, operations::<B>()).register::<Correct>();
    harness.failures(failures).check()
}

/// The story's text under a label.
fn told<'a>(found: &'a Counterexample, label: &str) -> &'a str {
    let of_label = found.story.iter().find(|(told, _)| told == label);
    of_label.map_or("", |(_, what)| what)
}

#[test]
fn a_withdrawal_beside_a_deposit_is_found() {
    for failures in [Failures::Compared, Failures::Alike, Failures::Ignored] {
        let found = check::<Symmetric>(failures).unwrap_err();
        assert_eq!(found.check, Check::Order, "{found}");
        assert!(told(&found, "a, of T1").starts_with("Deposit"), "{found}");
        assert!(told(&found, "b, of T2").starts_with("Withdraw"), "{found}");
        assert_eq!(told(&found, "a, b"), "a → ()\nb → ()", "{found}");
        let other = told(&found, "b, a");
        assert_eq!(other, "b → failed: there is not so much\na → ()", "{found}");
        // The smallest state: nothing happened before.
        let state = told(&found, "state");
        assert!(state.starts_with("what was built\narea 0"), "{found}");
    }
}

#[test]
fn a_counterexample_is_told_to_a_person() {
    let found = check::<Symmetric>(Failures::Compared).unwrap_err();
    let text = found.to_string();
    let lines: Vec<&str> = text.lines().collect();
    let beginnings = [
        "b is admitted beside a, but the two give other results the other way round",
        "  state       what was built",
        "              area 0, page 0, at 8: [02, 00",
        "  a, of T1    Deposit(account ",
        "  its locks   \"symmetric\" ",
        "  b, of T2    Withdraw(account ",
        "  its locks   \"symmetric\" ",
        "  a, b        a → ()",
        "              b → ()",
        "  state then  area 0, page 0, at ",
        "  b, a        b → failed: there is not so much",
        "              a → ()",
        "  state then  area 0, page 0, at ",
        "(found with seed 0)",
    ];
    assert_eq!(lines.len(), beginnings.len(), "{text}");
    for (line, beginning) in lines.iter().zip(beginnings) {
        assert!(line.starts_with(beginning), "{text}");
    }
}

#[test]
fn a_deposit_beside_a_withdrawal_passes() {
    let coverage = check::<Asymmetric>(Failures::Compared).unwrap();
    assert!(
        coverage.admitted > 1000 && coverage.admitted < coverage.pairs,
        "{coverage:?}"
    );
    assert!(
        coverage.failed > 50 && coverage.undone > 100,
        "{coverage:?}"
    );
    assert!(
        coverage.committed > 100 && coverage.aborted > 50,
        "{coverage:?}"
    );
    assert!(coverage.waited > 50, "{coverage:?}");
}

#[test]
fn a_refusal_has_to_be_protected_unless_it_tells_nothing() {
    for failures in [Failures::Compared, Failures::Alike] {
        let found = check::<Forgetful>(failures).unwrap_err();
        assert_eq!(found.check, Check::Order, "{found}");
        assert!(told(&found, "a, of T1").starts_with("Withdraw"), "{found}");
        assert!(told(&found, "b, of T2").starts_with("Deposit"), "{found}");
        assert!(told(&found, "a, b").starts_with("a → failed"), "{found}");
    }
    check::<Forgetful>(Failures::Ignored).unwrap();
    let found = check::<SymmetricForgetful>(Failures::Ignored).unwrap_err();
    assert_eq!(found.check, Check::Order, "{found}");
}

#[test]
fn reading_beside_depositing_is_found() {
    let found = check::<Peeking>(Failures::Compared).unwrap_err();
    assert_eq!(found.check, Check::Order, "{found}");
    assert!(found.to_string().contains("Read(account"), "{found}");
}

#[test]
#[should_panic(expected = "b is admitted beside a")]
fn a_test_fails_with_the_counterexample() {
    let harness = Harness::new(accounts, operations::<Symmetric>());
    harness.register::<Correct>().assert();
}

#[test]
fn the_same_seed_finds_the_same() {
    let find = |seed| {
        let harness = Harness::new(accounts, operations::<Symmetric>());
        harness
            .register::<Correct>()
            .seed(seed)
            .cases(64)
            .check()
            .unwrap_err()
    };
    assert_eq!(find(3), find(3));
    assert_eq!(find(3).seed, 3);
}
