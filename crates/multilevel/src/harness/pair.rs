//! The checks of two operations of two transactions: the promise of a matrix's entry.
//!
//! [`super`] has the reasons for the promise.

use super::call::Call;
use super::claims::Held;
use super::counterexample::{Check, Counterexample};
use super::examination::{Examination, Examined, FIRST, wrong};
use super::recorder::{Ended, Execution, Recorder};
use crate::plain::PlainPages;
use std::fmt::Debug;

/// The executor of the later operation.
const SECOND: usize = 2;

/// An operation `earlier`, of a transaction that runs, and an operation `later` of another.
struct Pair<'p> {
    earlier: &'p Call,
    later: &'p Call,
    /// The earlier operation of the other, and its result.
    before: Option<String>,
    a: Execution,
    b: Execution,
    /// The state before and after the two, and the holders of its locks.
    state: PlainPages,
    pages: PlainPages,
    held: Held,
}

impl Pair<'_> {
    /// The common part of every counterexample.
    fn tell(&self, check: Check, what: &str) -> Counterexample {
        let mut found = Counterexample::new(check, what);
        if let Some(before) = &self.before {
            found = found.tell("T2 before", before);
        }
        found
            .tell("a, of T1", format!("{:?}", self.earlier))
            .tell("its locks", &self.a.claims)
            .tell("b, of T2", format!("{:?}", self.later))
            .tell("its locks", &self.b.claims)
            .tell(
                "a, b",
                format!("a → {}\nb → {}", self.a.ended, self.b.ended),
            )
    }
}

impl<S: PartialEq + Debug> Examination<'_, S> {
    /// The checks of two operations; the transaction of the later one may have executed another
    /// before, and has the locks of that.
    pub fn examine_pair(
        &self,
        before: Option<&Call>,
        earlier: &Call,
        later: &Call,
        state: &PlainPages,
    ) -> Examined {
        let (mut pages, mut held) = (state.clone(), Held::default());
        let before = before.map(|call| {
            let ended = Recorder::execute(call, &mut pages, &mut held, SECOND).ended;
            format!("{call:?} → {ended}")
        });
        let state = pages.clone();
        self.count(|c| c.pairs += 1);
        let a = Recorder::execute(earlier, &mut pages, &mut held, FIRST);
        let b = Recorder::execute(later, &mut pages, &mut held, SECOND);
        let left_out = |execution: &Execution| {
            matches!(execution.ended, Ended::Waits(_)) || self.is_ignored(&execution.ended)
        };
        if left_out(&a) || left_out(&b) {
            return Ok(());
        }
        self.count(|c| c.admitted += 1);
        let pair = Pair {
            earlier,
            later,
            before,
            a,
            b,
            state,
            pages,
            held,
        };
        let b_alone = self.examine_order(&pair)?;
        self.examine_undo(pair, &b_alone)
    }

    /// The other way round. Returns the state after the later operation alone.
    fn examine_order(&self, pair: &Pair<'_>) -> Examined<S> {
        let mut pages = pair.state.clone();
        let b = self.again(pair.later, &pair.b.ended, &mut pages);
        let b_alone = self.seen(&pages);
        let a = self.again(pair.earlier, &pair.a.ended, &mut pages);
        let (there, here) = (self.seen(&pair.pages), self.seen(&pages));
        let same = self.same(&pair.a.ended, &a.ended) && self.same(&pair.b.ended, &b.ended);
        if same && there == here {
            return Ok(b_alone);
        }
        let what = match same {
            false => "b is admitted beside a, but the two give other results the other way round",
            true => "b is admitted beside a, but the two leave another state the other way round",
        };
        let found = pair.tell(Check::Order, what);
        wrong(
            found
                .tell("state then", format!("{there:?}"))
                .tell("b, a", format!("b → {}\na → {}", b.ended, a.ended))
                .tell("state then", format!("{here:?}")),
        )
    }

    /// Both undone, the earlier one first.
    fn examine_undo(&self, mut pair: Pair<'_>, b_alone: &S) -> Examined {
        let check = Check::UndoBehindAnother;
        let undone_a = {
            let (pages, held) = (&mut pair.pages, &mut pair.held);
            let undone = self.undo(pair.earlier, &pair.a, pages, held, FIRST);
            undone.map_err(|found| {
                let again = format!("{:?} → {}", pair.later, pair.b.ended);
                Box::new(found.tell("after", format!("another transaction's {again}")))
            })?
        };
        let left = self.seen(&pair.pages);
        if left != *b_alone {
            let what = "b is admitted beside a, but undoing a does not leave the result of b alone";
            let found = pair.tell(check, what);
            return wrong(
                found
                    .tell("a's inverse", undone_a)
                    .tell("state then", format!("{left:?}"))
                    .tell("b alone", format!("{b_alone:?}")),
            );
        }
        let (pages, held) = (&mut pair.pages, &mut pair.held);
        let undone_b = self.undo(pair.later, &pair.b, pages, held, SECOND)?;
        let (left, before) = (self.seen(&pair.pages), self.seen(&pair.state));
        if left == before {
            return Ok(());
        }
        let what =
            "b is admitted beside a, but undoing a and then b does not restore the state before";
        let found = pair.tell(check, what);
        wrong(
            found
                .tell("inverses", format!("{undone_a}\n{undone_b}"))
                .tell("state then", format!("{left:?}"))
                .tell("before", format!("{before:?}")),
        )
    }
}
