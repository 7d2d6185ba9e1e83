//! The common part of all checks, and the checks of one operation by itself: from a given state,
//! without chance.

use super::call::{Call, Inverting};
use super::claims::{Claims, Held};
use super::counterexample::{Check, Counterexample, Coverage};
use super::recorder::{Ended, Execution, Recorder};
use super::{Failures, Rules};
use crate::operation::{INVERSE_BYTES_MAX, Inverse};
use crate::plain::PlainPages;
use std::cell::RefCell;
use std::fmt::Debug;

/// The executor of a single operation, and of the earlier of two.
pub(super) const FIRST: usize = 1;

/// Initial states, rules, and counts of the checks.
pub(super) struct Examination<'h, S> {
    pub rules: &'h Rules<S>,
    pub coverage: RefCell<Coverage>,
}

pub(super) type Examined<T = ()> = Result<T, Box<Counterexample>>;

pub(super) fn wrong<T>(found: Counterexample) -> Examined<T> {
    Err(Box::new(found))
}

impl<S: PartialEq + Debug> Examination<'_, S> {
    /// The part of a state that operations can see.
    pub fn seen(&self, pages: &PlainPages) -> S {
        (self.rules.compare)(&mut pages.clone())
    }

    pub fn count(&self, count: impl FnOnce(&mut Coverage)) {
        count(&mut self.coverage.borrow_mut());
    }

    /// Executes an operation alone.
    pub fn alone(&self, call: &Call, pages: &mut PlainPages) -> Execution {
        Recorder::execute(call, pages, &mut Held::default(), FIRST)
    }

    /// Executes an operation alone whose result elsewhere is known.
    pub fn again(&self, call: &Call, before: &Ended, pages: &mut PlainPages) -> Execution {
        let mut held = match before {
            Ended::Well(_) => Held::admitted_before(),
            _ => Held::default(),
        };
        let mut execution = Recorder::execute(call, pages, &mut held, FIRST);
        if let Some(what) = held.out_of_bounds() {
            execution.ended = Ended::Failed(what);
        }
        execution
    }

    /// The state that a series of operations leads to, each a transaction that commits.
    pub fn state_after(&self, prefix: &[Call]) -> (PlainPages, String) {
        let mut pages = PlainPages::new();
        (self.rules.build)(&mut pages);
        let mut story = String::from("what was built");
        for call in prefix {
            let ended = self.alone(call, &mut pages).ended;
            story += &format!("\n{call:?} → {ended}");
        }
        (pages, story)
    }

    /// Examines something from the state that a series of operations leads to.
    pub fn starting_after(
        &self,
        prefix: &[Call],
        examine: impl FnOnce(&PlainPages) -> Examined,
    ) -> Examined {
        let (state, before) = self.state_after(prefix);
        examine(&state).map_err(|found| {
            let seen = format!("{before}\n{:?}", self.seen(&state));
            Box::new(found.preceded_by("state", seen))
        })
    }

    /// The checks of these operations, each by itself and all pairs.
    pub fn examine_all(&self, calls: &[Call], state: &PlainPages) -> Examined {
        for call in calls {
            self.examine(call, state)?;
        }
        for earlier in calls {
            for later in calls {
                self.examine_pair(None, earlier, later, state)?;
                for before in calls {
                    self.examine_pair(Some(before), earlier, later, state)?;
                }
            }
        }
        Ok(())
    }

    /// True if two executions of one operation gave the same result.
    pub fn same(&self, one: &Ended, other: &Ended) -> bool {
        match (one, other) {
            // Not the inverses: only their executor sees them.
            (Ended::Well(one), Ended::Well(other)) => one.output == other.output,
            (Ended::Failed(one), Ended::Failed(other)) => {
                self.rules.failures != Failures::Compared || one == other
            }
            _ => false,
        }
    }

    /// True if an execution's result need not be true for any other.
    pub fn is_ignored(&self, ended: &Ended) -> bool {
        self.rules.failures == Failures::Ignored && matches!(ended, Ended::Failed(_))
    }

    /// Reads an inverse as the engine does after a crash.
    pub fn inverting(&self, call: &Call, inverse: &Inverse) -> Examined<Inverting> {
        let found = |what: String| {
            let found = Counterexample::new(Check::WrittenDown, what);
            wrong(found.tell("operation", format!("{call:?}")))
        };
        let (name, bytes) = (inverse.name(), inverse.bytes());
        let Some(decode) = self.rules.registered.get(name) else {
            return found(format!(
                "the inverse {name:?} is not registered: no database could execute it after a crash"
            ));
        };
        if bytes.len() > INVERSE_BYTES_MAX {
            let length = bytes.len();
            return found(format!(
                "an inverse of {length} bytes is longer than {INVERSE_BYTES_MAX}"
            ));
        }
        decode(bytes).or_else(|reason| found(format!("an inverse cannot be read: {reason}")))
    }

    /// Undoes an execution that ended well. Returns a text of it.
    pub fn undo(
        &self,
        call: &Call,
        execution: &Execution,
        pages: &mut PlainPages,
        held: &mut Held,
        holder: usize,
    ) -> Examined<String> {
        let Ended::Well(done) = &execution.ended else {
            return Ok("it had failed: nothing to undo".into());
        };
        let Some(inverse) = done.inverse.as_ref().filter(|_| execution.wrote) else {
            return Ok("it wrote nothing or has no inverse: nothing to undo".into());
        };
        let inverting = self.inverting(call, inverse)?;
        let name = inverting.describe();
        let tell = |found: Counterexample| {
            found
                .tell("operation", format!("{call:?} → {}", execution.ended))
                .tell("its locks", &execution.claims)
                .tell("its inverse", &name)
        };
        let claims = Recorder::compensate(&inverting, pages, held, holder);
        let claims = claims.or_else(|error| {
            let what = "an inverse failed; a compensation has no other way to go";
            wrong(tell(Counterexample::new(Check::Undo, what)).tell("its error", error))
        })?;
        match excess(&execution.claims, &claims) {
            None => Ok(name),
            Some(excess) => {
                let what = "an inverse needs a lock that its operation did not take";
                let found = tell(Counterexample::new(Check::LocksOfInverse, what));
                wrong(found.tell("its locks", &claims).tell("too much", excess))
            }
        }
    }

    /// The checks of an operation by itself.
    pub fn examine(&self, call: &Call, state: &PlainPages) -> Examined {
        call.round_trip().or_else(|reason| {
            let what = "an operation is not read as it was written";
            wrong(Counterexample::new(Check::WrittenDown, what).tell("read", reason))
        })?;
        let before = self.seen(state);
        let mut pages = state.clone();
        let first = self.alone(call, &mut pages);
        self.count(|c| c.operations += 1);
        self.count(|c| c.failed += u64::from(matches!(first.ended, Ended::Failed(_))));
        let after = self.seen(&pages);
        let mut again = state.clone();
        let second = self.alone(call, &mut again);
        if !self.same(&first.ended, &second.ended) || self.seen(&again) != after {
            let what = "an operation, executed again in the same state, does something else; it must \
                        not keep anything outside of the pages";
            let found = Counterexample::new(Check::Repeatable, what)
                .tell("operation", format!("{call:?}"))
                .tell("first", format!("{}\n{after:?}", first.ended))
                .tell(
                    "again",
                    format!("{}\n{:?}", second.ended, self.seen(&again)),
                );
            return wrong(found);
        }
        let undone = self.undo(call, &first, &mut pages, &mut Held::default(), FIRST)?;
        let inverted = matches!(&first.ended, Ended::Well(done) if done.inverse.is_some());
        self.count(|c| c.undone += u64::from(first.wrote && inverted));
        let restored = self.seen(&pages);
        if restored != before {
            let what = "an operation and then its inverse do not give the state before";
            let found = Counterexample::new(Check::Undo, what)
                .tell("operation", format!("{call:?} → {}", first.ended))
                .tell("state then", format!("{after:?}"))
                .tell("inverse", undone)
                .tell("state then", format!("{restored:?}"));
            return wrong(found);
        }
        Ok(())
    }
}

/// The claims of an inverse beyond those of its operation.
fn excess(operation: &Claims, inverse: &Claims) -> Option<String> {
    if let Some(taken) = operation.uncovered(inverse) {
        return Some(taken.to_string());
    }
    // It may give back a part of the reserved amount, or all.
    let beyond = inverse.reserved.iter().find(|reserved| {
        let (did, undoes) = (operation.net(reserved), inverse.net(reserved));
        let back = undoes.abs() <= did.abs() && undoes.signum() != did.signum();
        undoes != 0 && !back
    })?;
    let (did, undoes) = (operation.net(beyond), inverse.net(beyond));
    let (space, object) = (beyond.space.name(), beyond.object);
    Some(format!(
        "a change of {space:?} {object} by {undoes:+}, where the operation reserved {did:+}"
    ))
}
