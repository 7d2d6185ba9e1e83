//! Queries with `SKIP LOCKED` run several times: to claim rows, to give them, and once more before the commit. So the same
//! rows have to meet their conditions each time.
//!
//! In `WHERE` of one table, `random()` and advisory functions decide only while rows are claimed. The claimed rows are
//! then given by their keys, without these parts of the condition ([`steady_parts`]). So such a part has no test of the
//! row besides: it is a call, or compares one with a constant. Other forms, and other volatile functions that decide about
//! rows, are refused. `random()` may decide about the order: the rows that were claimed are given in any
//! case. The clock only goes on.

use super::tree::{Input, JoinNode, SelectPlan, Side};
use crate::error::SqlError;
use crate::expression::Expr;

/// True if a call, apart from its arguments, may have another value, or an effect, in another run.
fn is_other(part: &Expr) -> bool {
    match part {
        Expr::Call(function, _) => function.is_volatile() && !function.is("clock_timestamp"),
        Expr::Subquery(subquery) => subquery.query.is_volatile(),
        _ => false,
    }
}

/// True if a part of an expression is such a call.
fn differs(expression: &Expr) -> bool {
    expression.any(&is_other)
}

/// The volatile functions that may decide in `WHERE` of one table: they leave nothing that another run would repeat.
fn may_decide(part: &Expr) -> bool {
    const NAMES: [&str; 7] = [
        "random",
        "pg_try_advisory_lock",
        "pg_try_advisory_lock_shared",
        "pg_try_advisory_xact_lock",
        "pg_try_advisory_xact_lock_shared",
        "pg_advisory_unlock",
        "pg_advisory_unlock_shared",
    ];
    matches!(part, Expr::Call(function, _) if NAMES.iter().any(|name| function.is(name)))
}

/// True if a part of a condition tests nothing of the row but the results of such calls.
fn decides_alone(part: &Expr) -> bool {
    match part {
        Expr::Literal(_) | Expr::Parameter(_) => true,
        Expr::Not(part) | Expr::IsBool(part, _) | Expr::Cast(part, ..) => decides_alone(part),
        Expr::Compare(_, sides) | Expr::Arithmetic(_, _, sides) => {
            decides_alone(&sides.0) && decides_alone(&sides.1)
        }
        Expr::Call(_, arguments) => may_decide(part) && !arguments.iter().any(differs),
        _ => false,
    }
}

/// True if a condition can be tested again: its parts are the same in each run, or are left out then.
fn can_be_tested_again(condition: &Expr) -> bool {
    match condition {
        Expr::And(all) => all.iter().all(can_be_tested_again),
        part => !differs(part) || decides_alone(part),
    }
}

/// Adds the parts of a condition that have the same value in each run.
pub(super) fn steady_parts<'e>(condition: &'e Expr, parts: &mut Vec<&'e Expr>) {
    match condition {
        Expr::And(all) => all.iter().for_each(|part| steady_parts(part, parts)),
        part if differs(part) => {}
        part => parts.push(part),
    }
}

/// The same for a key of the order, which may be random.
fn differs_in_effect(key: &Expr) -> bool {
    let is_random = |part: &Expr| matches!(part, Expr::Call(function, _) if function.is("random"));
    key.any(&|part| is_other(part) && !is_random(part))
}

impl SelectPlan {
    /// Checks that the query gives the same rows in each of its runs.
    ///
    /// # Errors
    /// `0A000` if a volatile function decides about them.
    pub(super) fn check_repeatable(&self) -> Result<(), SqlError> {
        let refused = |what: &str| {
            let text = format!("{what} is not supported with SKIP LOCKED");
            Err(SqlError::unsupported(text))
        };
        let decides = match &self.input {
            // The claimed rows are given by their keys.
            Input::Table(access) if self.locks.len() == 1 => {
                let mut conditions = [&access.condition, &self.filter].into_iter().flatten();
                !conditions.all(can_be_tested_again)
            }
            input => input.differs() || self.filter.as_ref().is_some_and(differs),
        };
        if decides {
            return refused("this volatile function in FROM or WHERE");
        }
        let mut sort = self.sort.iter();
        match sort.any(|key| differs_in_effect(&key.expression)) {
            true => refused("a volatile function other than random() in ORDER BY"),
            false => Ok(()),
        }
    }

    fn differs(&self) -> bool {
        let sort = self.sort.iter().map(|key| &key.expression);
        let conditions = [&self.filter, &self.having].into_iter().flatten();
        let mut all = conditions.chain(sort).chain(&self.output.expressions);
        self.input.differs() || all.any(differs)
    }
}

impl Input {
    fn differs(&self) -> bool {
        match self {
            Input::Table(access) => access.condition.as_ref().is_some_and(differs),
            Input::Join(join) => join.root.differs(),
            Input::Rows(rows) => rows.iter().flatten().any(differs),
            Input::Derived(plan) => plan.differs(),
            Input::Lateral(plan, arguments) => plan.differs() || arguments.iter().any(differs),
            Input::Shared(shared) => shared.plan.as_ref().is_some_and(SelectPlan::differs),
            Input::Sets(sets) => {
                sets.first.differs() || sets.rest.iter().any(|(_, plan)| plan.differs())
            }
            Input::Recursion(recursion) => recursion.first.differs() || recursion.step.differs(),
            Input::Expanded(expansion) => expansion.plan.differs(),
            Input::Windowed(windowed) => windowed.plan.differs(),
            // Their arguments are checked when they are planned.
            Input::Nothing | Input::Virtual(..) | Input::Series(_) | Input::LastRound(_) => false,
        }
    }
}

impl Side {
    fn differs(&self) -> bool {
        self.input.differs() || self.filter.as_ref().is_some_and(differs)
    }
}

impl JoinNode {
    fn differs(&self) -> bool {
        match self {
            JoinNode::Side(side) => side.differs(),
            JoinNode::Join(step) => {
                let sought = step.sought.as_ref();
                let mut keys = step.keys.iter();
                step.left.differs()
                    || step.right.differs()
                    || sought.is_some_and(|side| side.differs())
                    || step.condition.as_ref().is_some_and(differs)
                    || keys.any(|(left, right)| differs(left) || differs(right))
            }
        }
    }
}
