//! Plans run in a transaction: the results of statements on data, and the rows that they give.

use crate::column::ResultColumn;
use crate::constraints::in_statement;
use crate::error::{SqlError, code};
use crate::expression::{Environment, Kept, Subquery};
use crate::memory::Waiting;
use crate::plan::Plan;
use crate::plan::cascades::AROUND;
use crate::plan::routine::{Host, Routine, Statement, calls_of};
use crate::plan::target::Among;
use crate::plan::tree::SelectPlan;
use crate::plan::triggers::{Event, Fired, RowTriggers, StatementTriggers};
use crate::plan::views::names_in;
use crate::result::{Complete, Tag};
use crate::rows::{Table, Values};
use crate::source::Source;
use crate::virtual_tables::dependencies::NAMES_IN;
use crate::write_target::WriteTarget;
use std::any::Any;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;

pub(crate) use crate::activity::now;

/// The rows of a statement that reads, and their columns.
pub(crate) type Read = (Complete, Option<(Table, Arc<[ResultColumn]>)>);

/// Runs the plan of a query in a state of the tables.
///
/// # Errors
/// A value that cannot be computed; a plan that changes something.
pub(crate) fn read_plan(
    source: &dyn Source,
    plan: &Plan,
    with: &Environment<'_>,
) -> Result<Read, SqlError> {
    let table = plan.read(source, with)?;
    let complete = Complete::of(Tag::rows("SELECT", table.rows));
    let columns = plan.columns().cloned();
    Ok((complete, columns.map(|columns| (table, columns))))
}

/// Runs a plan in a transaction.
///
/// # Errors
/// An error of computing or storing a value.
pub(crate) fn run_plan(
    tx: &mut dyn WriteTarget,
    plan: &Plan,
    with: &Environment<'_>,
) -> Result<Read, SqlError> {
    run_plan_among(tx, plan, with, Among::All)
}

/// Gives the rooms below what they need of this one. Every way to run a statement begins with it.
pub(crate) fn install() {
    let _ = AROUND.set(|tx, triggers, with, changes| once_for(tx, triggers, with, changes));
    let _ = NAMES_IN.set(names_in);
}

/// Tables that functions of users change in a transaction.
struct Changing<'t>(&'t mut dyn WriteTarget);

impl Host for Changing<'_> {
    fn source(&self) -> &dyn Source {
        &*self.0
    }

    fn change(
        &mut self,
        plan: &dyn Statement,
        with: &Environment<'_>,
    ) -> Result<(u64, Table), SqlError> {
        let plan: &dyn Any = plan;
        let plan = plan.downcast_ref::<Plan>();
        let plan = plan.ok_or_else(|| SqlError::new(code::INTERNAL, "a plan of another kind"))?;
        let done = changes(self.0, plan, with, Among::All);
        ended(self.0, with, done)
    }

    fn attempt(
        &mut self,
        with: &Environment<'_>,
        steps: &mut dyn FnMut(&mut dyn Host) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        let before = self.0.savepoint();
        let effects = with.context.draws.borrow().changes.mark();
        match steps(self) {
            Ok(()) => Ok(self.0.release(before)?),
            Err(error) => {
                self.0.rollback_to(before)?;
                with.context.draws.borrow_mut().changes.return_to(&effects);
                Err(error)
            }
        }
    }
}

/// Runs the triggers after the changes that a statement has made.
///
/// # Errors
/// The errors of their functions.
pub(crate) fn fire(tx: &mut dyn WriteTarget, with: &Environment<'_>) -> Result<(), SqlError> {
    // Its memory is counted until all have run.
    let mut waiting = std::mem::take(&mut *with.context.waiting.borrow_mut());
    for one in waiting.take() {
        with.context.look_at_row()?;
        if let Some(fired) = one.downcast_ref::<Fired>() {
            fired.run(&mut Changing(tx), with)?;
        }
    }
    Ok(())
}

/// The end of a statement that changes rows: its triggers run, or the changes of a failed one are forgotten.
fn ended<R>(
    tx: &mut dyn WriteTarget,
    with: &Environment<'_>,
    done: Result<R, SqlError>,
) -> Result<R, SqlError> {
    match done {
        Ok(done) => fire(tx, with).map(|()| done),
        Err(error) => {
            *with.context.waiting.borrow_mut() = Waiting::default();
            Err(error)
        }
    }
}

/// Runs a query whose functions may change rows: their calls are made first, each once.
fn run_calls(
    tx: &mut dyn WriteTarget,
    plan: &SelectPlan,
    calls: &[&Subquery],
    with: &Environment<'_>,
) -> Result<Table, SqlError> {
    let kept = Kept::default();
    for call in calls {
        let Some(routine) = Routine::of(call) else {
            continue;
        };
        if !routine.code(&*tx, &routine.rights(with.context))?.writes {
            continue;
        }
        let alone = Environment {
            of_parts: None,
            ..*with
        };
        let rows = routine.rows_in(&mut Changing(tx), call, &Values(&[]), &alone)?;
        kept.keep_part(call.number, rows);
    }
    let reading = Environment {
        of_parts: Some(&kept),
        ..*with
    };
    plan.run(&*tx, &reading)
}

/// The same; `UPDATE` and `DELETE` look at some rows of their table.
///
/// # Errors
/// As [`run_plan`].
pub(crate) fn run_plan_among(
    tx: &mut dyn WriteTarget,
    plan: &Plan,
    with: &Environment<'_>,
    among: Among<'_>,
) -> Result<Read, SqlError> {
    if let Plan::Select(select) = plan {
        let calls = calls_of(select);
        if calls.is_empty() {
            return read_plan(&*tx, plan, with);
        }
        let table = run_calls(tx, select, &calls, with)?;
        let complete = Complete::of(Tag::rows("SELECT", table.rows));
        return Ok((complete, Some((table, select.output.columns.clone()))));
    }
    let done = changes(tx, plan, with, among);
    let (rows, table) = ended(tx, with, done)?;
    let columns = plan.columns().cloned();
    let complete = Complete::of(Tag::rows(plan.word(), rows));
    Ok((complete, columns.map(|columns| (table, columns))))
}

/// Makes the changes of a plan. Returns their number, and the rows of `RETURNING`.
fn changes(
    tx: &mut dyn WriteTarget,
    plan: &Plan,
    with: &Environment<'_>,
    among: Among<'_>,
) -> Result<(u64, Table), SqlError> {
    once_for(tx, &plan.statement_triggers(), with, |tx| match plan {
        Plan::Select(_) => Err(SqlError::new(code::INTERNAL, "a query is no change")),
        Plan::Insert(insert) => in_statement(tx, with, |tx| insert.run(tx, with)),
        Plan::Update(update) => in_statement(tx, with, |tx| update.run(tx, with, among)),
        Plan::Delete(delete) => in_statement(tx, with, |tx| delete.run(tx, with, among)),
        Plan::Merge(merge) => in_statement(tx, with, |tx| merge.run(tx, with)),
        Plan::Parts(parts) => in_statement(tx, with, |tx| parts.run(tx, with)),
    })
}

/// Makes the changes of the parts of a statement, runs the triggers of the statement before them, and notes those that run after it.
///
/// # Errors
/// Errors of the changes and of the triggers' functions.
pub(crate) fn once_for<R>(
    tx: &mut dyn WriteTarget,
    triggers: &[Vec<StatementTriggers<'_>>],
    with: &Environment<'_>,
    changes: impl FnOnce(&mut dyn WriteTarget) -> Result<R, SqlError>,
) -> Result<R, SqlError> {
    // Parts of a statement may change one table: its triggers run once for an event.
    let all: Vec<_> = triggers.iter().flatten().collect();
    for (at, (of, event, set)) in all.iter().enumerate() {
        if !has_same(&all[..at], (of, *event)) {
            of.before_statement(&mut Changing(tx), *event, *set, with)?;
        }
    }
    let done = changes(tx)?;
    // The triggers of `ON CONFLICT DO UPDATE` are behind those of `INSERT`, and run before them.
    let all: Vec<_> = triggers.iter().flat_map(|part| part.iter().rev()).collect();
    for (at, (of, event, set)) in all.iter().enumerate() {
        if !has_same(&all[at + 1..], (of, *event)) {
            of.note_statement(*event, *set, with)?;
        }
    }
    Ok(done)
}

/// True if there are triggers of the same table and event among some.
fn has_same(among: &[&StatementTriggers<'_>], (of, event): (&RowTriggers, Event)) -> bool {
    let mut among = among.iter();
    among.any(|(other, own, _)| *own == event && other.is_of_same_table(of))
}

/// A seed for a statement's random values.
pub(crate) fn seed() -> [u64; 2] {
    let random = || RandomState::new().build_hasher().finish();
    [random(), random()]
}
