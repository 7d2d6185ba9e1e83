//! A harness with which users test their own operations: the lock modes, the matrices and the inverses that they
//! defined. Feature `harness`; it works with `proptest`.
//!
//! # The promise of a matrix
//!
//! Let transaction T1 have executed the operation *a*, so that it holds *a*'s locks, and let T2 ask for *b*. If
//! each lock of *b* is admitted beside the locks of *a* (held, requested), T2 executes *b* now. The following
//! is up to both. So the entry promises all of this, for every state *s* in which *a* and then *b* may come to
//! be executed:
//!
//! 1. *Order.* Both may commit, T2 first, and other locks may force T1 behind T2: then they must look as
//!    if T2 had run before T1. So *b* and then *a*, from *s*, give the same results and the same
//!    state as *a* and then *b* did. Nothing is promised of executing *b* first and admitting *a* then: that is
//!    the entry (*b* held, *a* requested), which may be another one.
//! 2. *Undo behind another.* T1 may abort, and its inverse a⁻¹ is executed where *b* has been. So *a*, *b*, a⁻¹ gives
//!    the same state as *b* alone, and *b* has returned the same as alone.
//! 3. If T2 aborts while T1 does not, b⁻¹ follows *b*, which adds nothing to the rules for *b* alone (after *a*). If both
//!    do, in either order, *s* is restored: *a*, *b*, a⁻¹, b⁻¹.
//!
//! If *a*'s success makes *b* succeed, this is not symmetric. An account has 0; *a* deposits 100; *b*
//! withdraws 100. In *a*, *b* both succeed; alone, *b* fails; so if T1 aborts after T2 has committed, the
//! account is below zero. A withdrawal must not be admitted beside a deposit. The other way round, with *a* the
//! withdrawal, that has succeeded: *b*, the deposit, succeeds with it and without it, and withdrawing succeeds
//! after it, too. A deposit may be admitted beside a withdrawal. But then T1's next withdrawal is the later one
//! of the two, and has to be requested, though T1 has the mode. The lock room grants a held mode again without
//! a question only if the matrix would admit it beside everything that it has admitted
//! ([`covers`](sardonyx_lock::Compatibility::covers)).
//!
//! An operation that fails reveals state to its caller as well. A withdrawal that was refused for lack of money
//! is not compatible with a deposit, since after the deposit it would not be refused. If that shall be so, it
//! takes a stronger lock before it fails, by [`Pages::lock`](crate::Pages::lock). If it shall not be so, since
//! "refused" only has to be true at its moment, see [`Failures`].
//!
//! # The checks
//!
//! From random states, which random operations lead to:
//!
//! - every operation by itself. It does the same again ([`Check::Repeatable`]). Its inverse, read from its bytes,
//!   restores the state ([`Check::Undo`]). It is registered and written as it is read ([`Check::WrittenDown`]). It
//!   needs no lock that the operation did not take ([`Check::LocksOfInverse`]): a compensation requests none, so that
//!   it never waits;
//! - every pair in each order ([`Check::Order`], [`Check::UndoBehindAnother`]), with the locks that the two
//!   really requested, declared or while they ran. Reservations are admitted by the escrow rule of the engine;
//!   also where T2 has the locks of an operation before *a*;
//! - histories of several transactions ([`Check::Serializable`]).
//!
//! Reservations keep a quantity within its bounds for every outcome of the transactions. They are promises of
//! transactions. One that adds 4 and takes 2 has reserved 2. Another may be admitted that would, run before it, have
//! left no room for the 4. The harness looks at bounds where transactions end.
//!
//! The engine ensures that an operation that failed leaves nothing, and the harness does it as the engine does.
//! Siblings within one transaction share its locks; their author ensures that they make sense in any order.
//!
//! Two states are equal if all bytes are, unless the harness has another comparison ([`Harness::comparing`]): an index
//! compares its entries, as many trees have the same ones. Then no operation may behave differently, or lock anything
//! else, in states that compare equal.
//!
//! # Example
//!
//! ```
//! use proptest::prelude::*;
//! use sardonyx_multilevel::harness::{Call, Check, Harness};
//! # use sardonyx_multilevel::{
//! #     Area, Inverse, LockRequests, LockSpace, Mode, Operation, Pages, Recorded, Stop,
//! # };
//! # const READ: Mode = Mode(0);
//! # const ADD: Mode = Mode(1);
//! // Reading goes with reading, adding with adding.
//! static COUNTERS: LockSpace = LockSpace::new("counters", &[&[true, false], &[false, true]]);
//!
//! /// Adds to a counter, and gives back nothing.
//! #[derive(Debug)]
//! struct Add { counter: u64, amount: i64 }
//! # impl Operation for Add {
//! #     type Output = ();
//! #     type Error = Stop;
//! #     fn locks(&self, locks: &mut LockRequests) {
//! #         locks.request(&COUNTERS, self.counter, ADD);
//! #     }
//! #     fn execute(&self, pages: &mut dyn Pages) -> Result<(), Stop> {
//! #         let page = pages.page(Area(0), self.counter)?;
//! #         let value = i64::from_le_bytes(pages.read_bytes(page, 0)?);
//! #         pages.write_bytes(page, 0, &value.wrapping_add(self.amount).to_le_bytes())
//! #     }
//! #     fn inverse(&self, (): &()) -> Option<Inverse> {
//! #         Some(Inverse::of(&Add { amount: self.amount.wrapping_neg(), ..*self }))
//! #     }
//! # }
//! # impl Recorded for Add {
//! #     const NAME: &str = "add";
//! #     fn encode(&self, into: &mut Vec<u8>) {
//! #         into.extend(self.counter.to_le_bytes());
//! #         into.extend(self.amount.to_le_bytes());
//! #     }
//! #     fn decode(bytes: &[u8]) -> Option<Self> {
//! #         let (counter, amount) = bytes.split_first_chunk()?;
//! #         let amount = i64::from_le_bytes(amount.try_into().ok()?);
//! #         Some(Add { counter: u64::from_le_bytes(*counter), amount })
//! #     }
//! # }
//!
//! /// Adds to a counter, and gives back its value.
//! #[derive(Debug)]
//! struct AddAndGet { counter: u64, amount: i64 }
//! # impl Operation for AddAndGet {
//! #     type Output = i64;
//! #     type Error = Stop;
//! #     fn locks(&self, locks: &mut LockRequests) {
//! #         locks.request(&COUNTERS, self.counter, ADD);
//! #     }
//! #     fn execute(&self, pages: &mut dyn Pages) -> Result<i64, Stop> {
//! #         let &AddAndGet { counter, amount } = self;
//! #         Add { counter, amount }.execute(pages)?;
//! #         let page = pages.page(Area(0), self.counter)?;
//! #         Ok(i64::from_le_bytes(pages.read_bytes(page, 0)?))
//! #     }
//! #     fn inverse(&self, _: &i64) -> Option<Inverse> {
//! #         let &AddAndGet { counter, amount } = self;
//! #         Some(Inverse::of(&Add { counter, amount: amount.wrapping_neg() }))
//! #     }
//! # }
//!
//! let build = |pages: &mut sardonyx_multilevel::PlainPages| {
//!     assert_eq!(pages.area(3), Area(0));
//! };
//! let adds = (0u64..3, -9i64..9)
//!     .prop_map(|(counter, amount)| Call::recorded(Add { counter, amount }));
//! let coverage = Harness::new(build, adds).register::<Add>().check()?;
//! assert!(coverage.admitted > 0 && coverage.undone > 0);
//!
//! // Its result depends on the adds of others.
//! let wrong = (0u64..3, -9i64..9)
//!     .prop_map(|(counter, amount)| Call::of(AddAndGet { counter, amount }));
//! let found = Harness::new(build, wrong).register::<Add>().check().unwrap_err();
//! assert_eq!(found.check, Check::Order);
//! # Ok::<_, sardonyx_multilevel::harness::Counterexample>(())
//! ```

mod call;
mod claims;
mod contents;
mod counterexample;
mod examination;
mod history;
mod pair;
mod recorder;

pub use call::Call;
pub use contents::Contents;
pub use counterexample::{Check, Counterexample, Coverage};

use crate::operation::Recorded;
use crate::plain::PlainPages;
use crate::{counter, index};
use call::{Inverting, decode};
use examination::{Examination, Examined};
use history::steps;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestCaseError, TestError, TestRunner};
use std::any::Any;
use std::collections::HashMap;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The meaning of an operation's failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failures {
    /// Its error's text: the same operation must fail with the same words.
    Compared,
    /// The failure itself, not its reason.
    Alike,
    /// Nothing that has to be true for longer than the moment. Failed operations are left out of the comparison; one
    /// that succeeded must still succeed elsewhere.
    Ignored,
}

/// The rules of the checks.
struct Rules<S> {
    build: Box<dyn Fn(&mut PlainPages)>,
    compare: Box<dyn Fn(&mut PlainPages) -> S>,
    registered: HashMap<&'static str, Decode>,
    failures: Failures,
}

/// Reads an inverse.
type Decode = fn(&[u8]) -> Result<Inverting, String>;

/// The harness: the initial state, the operations, and the equality of states.
pub struct Harness<S = Contents> {
    rules: Rules<S>,
    operations: BoxedStrategy<Call>,
    cases: u32,
    seed: u64,
    prefix_max: usize,
}

/// Operations before those that are looked at.
const PREFIX_MAX: usize = 12;
/// Operations of which all pairs, and histories, are looked at.
const CANDIDATES_MAX: usize = 4;
/// Histories take less time than all pairs.
const HISTORIES_PER_STATE: u32 = 4;
/// Steps of a history.
const STEPS_MAX: usize = 20;

impl Harness<Contents> {
    /// A harness for operations. `build` makes the initial state: areas, and their content.
    pub fn new(
        build: impl Fn(&mut PlainPages) + 'static,
        operations: impl Strategy<Value = Call> + 'static,
    ) -> Self {
        let harness = Harness {
            rules: Rules {
                build: Box::new(build),
                compare: Box::new(|pages| Contents::of(pages)),
                registered: HashMap::new(),
                failures: Failures::Compared,
            },
            operations: operations.boxed(),
            cases: ProptestConfig::default().cases,
            seed: 0,
            prefix_max: PREFIX_MAX,
        };
        // Every database knows these.
        let harness = harness
            .register::<counter::Add>()
            .register::<counter::SetBack>();
        harness.register::<index::Restore<'static>>()
    }
}

impl<S: PartialEq + Debug + 'static> Harness<S> {
    /// Registers an operation that may be an inverse, as a database does. Those of the ready types are
    /// registered.
    pub fn register<O>(mut self) -> Self
    where
        O: Recorded + Debug + 'static,
    {
        self.rules.registered.insert(O::NAME, decode::<O>);
        self
    }

    /// Compares states by the result of this function, instead of by all their bytes. It gets a copy.
    pub fn comparing<T>(self, compare: impl Fn(&mut PlainPages) -> T + 'static) -> Harness<T> {
        let Harness {
            rules,
            operations,
            cases,
            seed,
            prefix_max,
        } = self;
        let Rules {
            build,
            registered,
            failures,
            ..
        } = rules;
        let compare = Box::new(compare);
        Harness {
            rules: Rules {
                build,
                compare,
                registered,
                failures,
            },
            operations,
            cases,
            seed,
            prefix_max,
        }
    }

    /// The meaning of failures (default: [`Failures::Compared`]).
    pub fn failures(mut self, failures: Failures) -> Self {
        self.rules.failures = failures;
        self
    }

    /// The number of states, and a quarter of that of histories (default: proptest's, 256 or `PROPTEST_CASES`).
    pub fn cases(mut self, cases: u32) -> Self {
        self.cases = cases;
        self
    }

    /// The seed (default: 0). The same seed finds the same.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// At most so many operations lead to a state (default: 12).
    pub fn operations_before(mut self, most: usize) -> Self {
        self.prefix_max = most;
        self
    }

    /// Checks everything.
    ///
    /// # Errors
    /// The smallest counterexample that was found.
    pub fn check(&self) -> Result<Coverage, Counterexample> {
        let examination = Examination {
            rules: &self.rules,
            coverage: Default::default(),
        };
        let prefix = || vec(self.operations.clone(), 0..=self.prefix_max);
        let candidates = || vec(self.operations.clone(), 1..=CANDIDATES_MAX);
        self.run(self.cases, &(prefix(), candidates()), |(prefix, calls)| {
            examination.starting_after(prefix, |state| examination.examine_all(calls, state))
        })?;
        let histories = self.cases.saturating_mul(HISTORIES_PER_STATE);
        let values = (prefix(), candidates(), steps(STEPS_MAX));
        self.run(histories, &values, |(prefix, calls, steps)| {
            let examine = |state: &_| examination.examine_history(calls, steps, state);
            examination.starting_after(prefix, examine)
        })?;
        Ok(examination.coverage.into_inner())
    }

    /// [`Harness::check`], for a test.
    ///
    /// # Panics
    /// With the counterexample.
    #[track_caller]
    #[expect(clippy::panic, reason = "it is a test's assertion")]
    pub fn assert(&self) -> Coverage {
        self.check().unwrap_or_else(|found| panic!("{found}"))
    }

    /// Looks for a value that does not pass, and for the smallest.
    fn run<V: Strategy>(
        &self,
        cases: u32,
        values: &V,
        examine: impl Fn(&V::Value) -> Examined,
    ) -> Result<(), Counterexample> {
        // A panic of an operation is a finding like any other.
        let caught = |value: &V::Value| {
            let outcome = catch_unwind(AssertUnwindSafe(|| examine(value)));
            outcome.unwrap_or_else(|panic| {
                let found = Counterexample::new(Check::Panic, "an operation panicked");
                let found = found.tell("panic", message(&*panic));
                Err(Box::new(found.tell("operations", format!("{value:?}"))))
            })
        };
        let mut runner = TestRunner::new(ProptestConfig {
            cases,
            rng_seed: RngSeed::Fixed(self.seed),
            failure_persistence: None,
            max_shrink_iters: 1 << 16,
            ..ProptestConfig::default()
        });
        let outcome = runner.run(values, |value| match caught(&value) {
            Ok(()) => Ok(()),
            Err(found) => Err(TestCaseError::fail(found.what)),
        });
        let seed = self.seed;
        match outcome {
            Ok(()) => Ok(()),
            Err(TestError::Fail(reason, value)) => {
                // Once more, for the whole story.
                let changed = || {
                    let what = format!("{reason}; but not again: something is kept outside");
                    Box::new(Counterexample::new(Check::Repeatable, what))
                };
                let found = caught(&value).err().unwrap_or_else(changed);
                Err(Counterexample { seed, ..*found })
            }
            Err(TestError::Abort(reason)) => {
                let what = format!("the strategy makes no operations: {reason}");
                let found = Counterexample::new(Check::Repeatable, what);
                Err(Counterexample { seed, ..found })
            }
        }
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("of an unknown kind")
}
