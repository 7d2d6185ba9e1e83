//! Random histories of several transactions that the locks admit, with commits and aborts anywhere, compared with the
//! transactions that committed one after another.
//!
//! Pairs show an error of a matrix in the fewest words. If the locks of an operation depend on the state, two
//! compatible ones and two others need not make four that are compatible. Histories are the theorem itself. Locks are
//! kept to the end of the transaction. So the order of the ends is a serial order that must explain every result and
//! the state in the end.

use super::call::Call;
use super::claims::Held;
use super::counterexample::{Check, Counterexample};
use super::examination::{Examination, Examined};
use super::recorder::{Ended, Execution, Recorder};
use crate::plain::PlainPages;
use proptest::prelude::*;
use proptest::sample::Index;
use std::fmt::Debug;

/// The next step of a transaction.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// One of a few operations, which come again and again: so they meet.
    Call(Index),
    Commit,
    Abort,
}

/// Transactions at once.
const TRANSACTIONS: usize = 3;

/// Steps, with the place of the transaction that takes them.
pub(super) fn steps(most: usize) -> impl Strategy<Value = Vec<(usize, Step)>> {
    let step = prop_oneof![
        6 => any::<Index>().prop_map(Step::Call),
        1 => Just(Step::Commit),
        1 => Just(Step::Abort),
    ];
    prop::collection::vec((0..TRANSACTIONS, step), 1..=most)
}

/// A transaction: its number, and its operations.
struct Running {
    number: usize,
    done: Vec<(Call, Execution)>,
}

/// A history during its execution.
struct History<'e, S> {
    examination: &'e Examination<'e, S>,
    pages: PlainPages,
    held: Held,
    running: Vec<Running>,
    numbers: usize,
    /// In the order of their ends.
    committed: Vec<Running>,
    story: String,
}

impl<S: PartialEq + Debug> Examination<'_, S> {
    /// Executes a history of these operations and compares it.
    pub fn examine_history(
        &self,
        calls: &[Call],
        steps: &[(usize, Step)],
        state: &PlainPages,
    ) -> Examined {
        let mut history = History {
            examination: self,
            pages: state.clone(),
            held: Held::default(),
            running: Vec::new(),
            numbers: TRANSACTIONS,
            committed: Vec::new(),
            story: String::new(),
        };
        history.running = (1..=TRANSACTIONS).map(Running::new).collect();
        for (place, step) in steps {
            match step {
                Step::Call(call) => history.call(*place, call.get(calls)),
                Step::Commit => history.commit(*place),
                Step::Abort => history.abort(*place)?,
            }
        }
        for place in 0..TRANSACTIONS {
            history.commit(place);
        }
        history.compare(state)
    }
}

impl Running {
    fn new(number: usize) -> Self {
        let done = Vec::new();
        Running { number, done }
    }
}

impl<S: PartialEq + Debug> History<'_, S> {
    fn tell(&mut self, number: usize, what: impl std::fmt::Display) {
        let before = if self.story.is_empty() { "" } else { "\n" };
        self.story += &format!("{before}T{number}: {what}");
    }

    fn call(&mut self, place: usize, call: &Call) {
        let number = self.running[place].number;
        let execution = Recorder::execute(call, &mut self.pages, &mut self.held, number);
        if let Ended::Waits(_) = execution.ended {
            // It keeps the locks that it got before it had to wait.
            self.examination.count(|c| c.waited += 1);
            return;
        }
        self.tell(number, format_args!("{call:?} → {}", execution.ended));
        if !self.examination.is_ignored(&execution.ended) {
            self.running[place].done.push((call.clone(), execution));
        }
    }

    /// Ends a transaction; another takes its place.
    fn end(&mut self, place: usize) -> Running {
        self.numbers += 1;
        let ended = std::mem::replace(&mut self.running[place], Running::new(self.numbers));
        self.held.release(ended.number);
        ended
    }

    fn commit(&mut self, place: usize) {
        let ended = self.end(place);
        if !ended.done.is_empty() {
            self.tell(ended.number, "commits");
            self.examination.count(|c| c.committed += 1);
            self.committed.push(ended);
        }
    }

    fn abort(&mut self, place: usize) -> Examined {
        let (number, done) = {
            let running = &self.running[place];
            (running.number, running.done.clone())
        };
        for (call, execution) in done.iter().rev() {
            let (pages, held) = (&mut self.pages, &mut self.held);
            let undone = self.examination.undo(call, execution, pages, held, number);
            let undone =
                undone.map_err(|found| Box::new(found.preceded_by("history", &self.story)))?;
            self.tell(number, format_args!("undoes by {undone}"));
        }
        if !done.is_empty() {
            self.tell(number, "aborted");
            self.examination.count(|c| c.aborted += 1);
        }
        self.end(place);
        Ok(())
    }

    /// Executes the committed transactions one after another.
    fn compare(&self, state: &PlainPages) -> Examined {
        let mut pages = state.clone();
        let mut serial = String::new();
        let found = |what: &str, serial: String| {
            let found = Counterexample::new(Check::Serializable, what);
            found
                .tell("history", &self.story)
                .tell("one by one", serial)
        };
        for Running { number, done } in &self.committed {
            let mut held = Held::admitted_before();
            for (call, execution) in done {
                let again = match execution.ended {
                    Ended::Well(_) => Recorder::execute(call, &mut pages, &mut held, *number),
                    _ => self.examination.alone(call, &mut pages),
                };
                let before = if serial.is_empty() { "" } else { "\n" };
                serial += &format!("{before}T{number}: {call:?} → {}", again.ended);
                if !self.examination.same(&execution.ended, &again.ended) {
                    let what = "what the locks admitted is not what the transactions do one after \
                                another, in the order of their ends: another result";
                    return Err(Box::new(found(what, serial)));
                }
            }
            if let Some(broken) = held.out_of_bounds() {
                let what = "what the locks admitted breaks a bound, if the transactions run one \
                            after another in the order of their ends";
                let found = found(what, serial).tell("bound", broken);
                return Err(Box::new(found));
            }
        }
        let (there, here) = (
            self.examination.seen(&self.pages),
            self.examination.seen(&pages),
        );
        if there == here {
            return Ok(());
        }
        let what = "what the locks admitted does not leave what the transactions leave one after \
                    another, in the order of their ends";
        let found = found(what, serial)
            .tell("history's end", format!("{there:?}"))
            .tell("one by one's", format!("{here:?}"));
        Err(Box::new(found))
    }
}
