//! `EXPLAIN`: the plan of a statement, as rows of text.

mod formats;
mod lines;
mod manner;
mod written;

use crate::column::ResultColumn;
use crate::error::SqlError;
use crate::expression::{Environment, Parameters};
use crate::kept::{Format, explain_form};
use crate::plan::planning::Planning;
use crate::plan::{Plan, Planned};
use crate::prepared::Prepared;
use crate::source::Source;
use crate::types::SqlType;
use crate::write_target::WriteTarget;
use formats::formatted;
use lines::lines;
use manner::Manner;
use sqlparser::ast::Statement;
use std::sync::Arc;
use std::time::Instant;

/// The names of the times of the planning and of the statement.
const PLANNING_TIME: &str = "Planning Time";
const EXECUTION_TIME: &str = "Execution Time";

/// The options of an explanation.
#[derive(Clone, Copy)]
struct Asked {
    /// The statement is run, too.
    runs: bool,
    is_verbose: bool,
    format: Format,
    /// The times are given, or not.
    summary: Option<bool>,
}

fn explained(prepared: &Prepared) -> Result<(&Statement, Asked), SqlError> {
    match prepared.statement() {
        Some(Statement::Explain {
            statement,
            analyze,
            verbose,
            format: None,
            options,
            ..
        }) => {
            let (format, summary) = explain_form(options.as_ref());
            let asked = Asked {
                runs: *analyze,
                is_verbose: *verbose,
                format,
                summary,
            };
            Ok((statement, asked))
        }
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
    let asked = explained(prepared)?.1;
    let started = Instant::now();
    let (planned, _) = planned(prepared, version, source)?;
    let plan = planned.plan;
    let mut lines = lines(&plan, asked.manner(source));
    asked.planned(&mut lines, started);
    if let (Plan::Select(select), true) = (&plan, asked.runs) {
        let started = Instant::now();
        let table = select.run(source, with)?;
        asked.ran(&mut lines, table.rows, started);
    }
    Ok(asked.answer(lines))
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
    let asked = explained(prepared)?.1;
    let started = Instant::now();
    let (planned, _) = planned(prepared, version, &*tx)?;
    let plan = planned.plan;
    let mut lines = lines(&plan, asked.manner(&*tx));
    asked.planned(&mut lines, started);
    let started = Instant::now();
    let (complete, _) = crate::running::run_plan(tx, &plan, with)?;
    asked.ran(&mut lines, complete.tag.rows.unwrap_or(0), started);
    Ok(asked.answer(lines))
}

/// A line with the time since a moment.
fn time(name: &str, started: Instant) -> String {
    let time = started.elapsed().as_secs_f64() * 1e3;
    format!("{name}: {time:.3} ms")
}

impl Asked {
    fn manner(self, source: &dyn Source) -> Manner<'_> {
        Manner {
            source,
            is_verbose: self.is_verbose,
        }
    }

    /// Adds the time of the planning, if it is asked for.
    fn planned(self, lines: &mut Vec<String>, started: Instant) {
        if self.summary == Some(true) {
            lines.push(time(PLANNING_TIME, started));
        }
    }

    /// Adds the rows and the time of the run.
    fn ran(self, lines: &mut Vec<String>, rows: u64, started: Instant) {
        if let Some(first) = lines.first_mut() {
            first.push_str(&format!(" (actual rows={rows})"));
        }
        if self.summary != Some(false) {
            lines.push(time(EXECUTION_TIME, started));
        }
    }

    /// The rows of the answer: the lines, or one text in another form.
    fn answer(self, lines: Vec<String>) -> Vec<String> {
        match self.format {
            Format::Text => lines,
            format => vec![formatted(&lines, format)],
        }
    }
}

/// The type of the column of an explanation.
pub(crate) fn column_kind(prepared: &Prepared) -> SqlType {
    match explained(prepared) {
        Ok((_, asked)) if asked.format == Format::Json => SqlType::Json,
        _ => SqlType::Text,
    }
}

/// True if a line, or a text in another form, has a measured time.
pub(crate) fn is_measured(line: &str) -> bool {
    line.contains(PLANNING_TIME)
        || line.contains(EXECUTION_TIME)
        || line.contains("<Execution-Time>")
        || line.contains("<Planning-Time>")
}
