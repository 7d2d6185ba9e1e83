//! `EXPLAIN`: the plan of a statement, as rows of text.

mod lines;
mod written;

use crate::column::ResultColumn;
use crate::error::SqlError;
use crate::expression::{Environment, Parameters};
use crate::plan::planning::Planning;
use crate::plan::{Plan, Planned};
use crate::prepared::Prepared;
use crate::source::Source;
use crate::write_target::WriteTarget;
use lines::lines;
use sqlparser::ast::Statement;
use std::sync::Arc;
use std::time::Instant;

/// The beginning of the line with the time of the statement.
const EXECUTION_TIME: &str = "Execution Time: ";

/// The statement to explain, and true if it is run, too.
fn explained(prepared: &Prepared) -> Result<(&Statement, bool), SqlError> {
    match prepared.statement() {
        Some(Statement::Explain {
            statement,
            analyze,
            format: None,
            ..
        }) => Ok((statement, *analyze)),
        _ => Err(SqlError::unsupported(
            "this form of EXPLAIN is not supported",
        )),
    }
}

/// The plan of the statement that is explained, and its parameters.
///
/// # Errors
/// Invalid SQL.
fn planned(
    prepared: &Prepared,
    version: u64,
    source: &dyn Source,
) -> Result<(Planned, Parameters), SqlError> {
    let (statement, _) = explained(prepared)?;
    let mut parameters = Parameters::given(&prepared.known_parameters());
    let mut planning = Planning::new(source, &mut parameters, &prepared.rights())?;
    let plan = Plan::of(&mut planning, statement)?;
    let queries = planning.queries;
    Ok((Planned::new(plan, version, queries), parameters))
}

/// Notes the parameters of the statement, and the column of its explanation.
///
/// # Errors
/// Invalid SQL.
pub(crate) fn describe(
    prepared: &Prepared,
    version: u64,
    source: &dyn Source,
    column: ResultColumn,
) -> Result<(), SqlError> {
    let (_, parameters) = planned(prepared, version, source)?;
    prepared.describe(parameters.decided(), Some(Arc::from([column])));
    Ok(())
}

/// The lines for a statement that is not run, or only reads.
///
/// # Errors
/// Invalid SQL.
pub(crate) fn explain(
    prepared: &Prepared,
    version: u64,
    source: &dyn Source,
    with: &Environment<'_>,
) -> Result<Vec<String>, SqlError> {
    let (planned, _) = planned(prepared, version, source)?;
    let plan = planned.plan;
    let mut lines = lines(&plan, source);
    if let (Plan::Select(select), true) = (&plan, explained(prepared)?.1) {
        let started = Instant::now();
        let table = select.run(source, with)?;
        finish(&mut lines, table.rows, started);
    }
    Ok(lines)
}

/// The lines for a statement that writes. It runs.
///
/// # Errors
/// Invalid SQL.
pub(crate) fn analyze_write(
    tx: &mut dyn WriteTarget,
    prepared: &Prepared,
    version: u64,
    with: &Environment<'_>,
) -> Result<Vec<String>, SqlError> {
    let (planned, _) = planned(prepared, version, &*tx)?;
    let plan = planned.plan;
    let mut lines = lines(&plan, &*tx);
    let started = Instant::now();
    let (complete, _) = crate::running::run_plan(tx, &plan, with)?;
    finish(&mut lines, complete.tag.rows.unwrap_or(0), started);
    Ok(lines)
}

/// Adds the rows and the time of the run.
pub(crate) fn finish(lines: &mut Vec<String>, rows: u64, started: Instant) {
    if let Some(first) = lines.first_mut() {
        first.push_str(&format!(" (actual rows={rows})"));
    }
    let time = started.elapsed().as_secs_f64() * 1e3;
    lines.push(format!("{EXECUTION_TIME}{time:.3} ms"));
}

/// True if a line has a measured time.
pub(crate) fn is_measured(line: &str) -> bool {
    line.starts_with(EXECUTION_TIME)
}
