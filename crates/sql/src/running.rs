//! Plans run in a transaction: the results of statements on data, and the rows that they give.

use crate::column::ResultColumn;
use crate::constraints::in_statement;
use crate::error::{SqlError, code};
use crate::expression::Environment;
use crate::plan::Plan;
use crate::plan::target::Among;
use crate::result::{Complete, Tag};
use crate::rows::Table;
use crate::source::Source;
use crate::write_target::WriteTarget;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

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
    let Plan::Select(plan) = plan else {
        return Err(SqlError::new(
            code::INTERNAL,
            "a plan that changes something is read",
        ));
    };
    let table = plan.run(source, with)?;
    let complete = Complete::of(Tag::rows("SELECT", table.rows));
    Ok((complete, Some((table, plan.output.columns.clone()))))
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
    let changed = |(rows, table): (u64, Table)| {
        let columns = plan.columns().cloned();
        let complete = Complete::of(Tag::rows(plan.word(), rows));
        (complete, columns.map(|columns| (table, columns)))
    };
    Ok(match plan {
        Plan::Select(_) => read_plan(&*tx, plan, with)?,
        Plan::Insert(insert) => {
            let done = in_statement(tx, with, |tx| insert.run(tx, with))?;
            changed(done)
        }
        Plan::Update(update) => {
            let done = in_statement(tx, with, |tx| update.run(tx, with, among))?;
            changed(done)
        }
        Plan::Delete(delete) => {
            let done = in_statement(tx, with, |tx| delete.run(tx, with, among))?;
            changed(done)
        }
        Plan::Merge(merge) => {
            let done = in_statement(tx, with, |tx| merge.run(tx, with))?;
            changed(done)
        }
        Plan::Parts(parts) => {
            let done = in_statement(tx, with, |tx| parts.run(tx, with))?;
            changed(done)
        }
    })
}

/// The system's clock, in microseconds since 1970.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
    })
}

/// A seed for a statement's random values.
pub(crate) fn seed() -> [u64; 2] {
    let random = || RandomState::new().build_hasher().finish();
    [random(), random()]
}
