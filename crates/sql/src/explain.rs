//! `EXPLAIN`: how a statement is run, as rows of text.

use crate::error::SqlError;
use crate::expression::{Environment, Parameters};
use crate::plan::access::{Access, Path};
use crate::plan::join::JoinPlan;
use crate::plan::select::{Input, Planning, SelectPlan};
use crate::plan::{Plan, ResultColumn};
use crate::prepared::{Prepared, plan_statement};
use crate::source::Source;
use sardonyx::Transaction;
use sqlparser::ast::Statement;
use std::sync::Arc;
use std::time::Instant;

/// The statement that is explained, and whether it is run.
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

/// The plan of the statement that is explained.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn plan_of(prepared: &Prepared, source: &Source<'_>) -> Result<Plan, SqlError> {
    planned(prepared, source).map(|(plan, _)| plan)
}

fn planned(prepared: &Prepared, source: &Source<'_>) -> Result<(Plan, Parameters), SqlError> {
    let (statement, _) = explained(prepared)?;
    let mut parameters = Parameters::given(&prepared.known_parameters());
    let mut planning = Planning {
        source: *source,
        parameters: &mut parameters,
        tables: Vec::new(),
    };
    let plan = plan_statement(&mut planning, statement)?;
    Ok((plan, parameters))
}

/// Says what is known of it.
///
/// # Errors
/// What is wrong with the statement.
pub(crate) fn describe(
    prepared: &Prepared,
    _version: u64,
    source: &Source<'_>,
    column: ResultColumn,
) -> Result<(), SqlError> {
    let (_, parameters) = planned(prepared, source)?;
    prepared.describe(parameters.decided(), Some(Arc::from([column])));
    Ok(())
}

/// The lines for a statement that is not run, or only reads.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn explain(
    prepared: &Prepared,
    _version: u64,
    source: &Source<'_>,
    with: &Environment<'_>,
) -> Result<Vec<String>, SqlError> {
    let (plan, _) = planned(prepared, source)?;
    if let Plan::Elsewhere(why) = &plan
        && why.code != crate::error::code::FEATURE_NOT_SUPPORTED
    {
        return Err(why.clone());
    }
    let mut lines = lines(&plan, source);
    if let (Plan::Select(select), true) = (&plan, explained(prepared)?.1) {
        let started = Instant::now();
        let table = select.run(source, with)?;
        finish(&mut lines, table.rows, started);
    }
    Ok(lines)
}

/// The lines for a statement that writes, which is run.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn analyze_write(
    tx: &mut Transaction<'_>,
    prepared: &Prepared,
    _version: u64,
    with: &Environment<'_>,
) -> Result<Vec<String>, SqlError> {
    let (plan, _) = planned(prepared, &Source::Live(tx.view()))?;
    let mut lines = lines(&plan, &Source::Live(tx.view()));
    let started = Instant::now();
    let (complete, _) = crate::session::run_plan(tx, &plan, with)?;
    finish(&mut lines, complete.tag.rows.unwrap_or(0), started);
    Ok(lines)
}

/// Adds what was found out by running it.
pub(crate) fn finish(lines: &mut Vec<String>, rows: u64, started: Instant) {
    if let Some(first) = lines.first_mut() {
        first.push_str(&format!(" (actual rows={rows})"));
    }
    let time = started.elapsed().as_secs_f64() * 1e3;
    lines.push(format!("Execution Time: {time:.3} ms"));
}

fn lines(plan: &Plan, source: &Source<'_>) -> Vec<String> {
    let indented = |inner: Vec<String>| -> Vec<String> {
        let inner = inner.into_iter().enumerate();
        inner
            .map(|(at, line)| match at {
                0 => format!("  ->  {line}"),
                _ => format!("      {line}"),
            })
            .collect()
    };
    match plan {
        Plan::Select(select) => select_lines(select, source),
        Plan::Update(update) => {
            let mut lines = vec![format!("Update on {}", update.table)];
            lines.extend(indented(access_lines(
                &update.access,
                &update.table,
                update.filter.is_some(),
                source,
            )));
            lines
        }
        Plan::Delete(delete) => {
            let mut lines = vec![format!("Delete on {}", delete.table)];
            lines.extend(indented(access_lines(
                &delete.access,
                &delete.table,
                delete.filter.is_some(),
                source,
            )));
            lines
        }
        Plan::Insert(insert) => {
            let mut lines = vec![format!("Insert on {}", insert.table)];
            lines.extend(indented(match &insert.rows {
                crate::plan::insert::InsertRows::Values(rows) if rows.len() == 1 => {
                    vec!["Result".into()]
                }
                crate::plan::insert::InsertRows::Values(_) => vec!["Values Scan".into()],
                crate::plan::insert::InsertRows::Query(select, _) => select_lines(select, source),
            }));
            lines
        }
        Plan::Elsewhere(why) => vec![format!("Elsewhere: {}", why.message)],
    }
}

fn select_lines(select: &SelectPlan, source: &Source<'_>) -> Vec<String> {
    let mut lines = match &select.input {
        Input::Nothing => vec!["Result".to_string()],
        Input::Rows(_) => vec!["Values Scan".to_string()],
        Input::Virtual(table) => vec![format!("Function Scan on {}", table.name)],
        Input::Join(join) => join_lines(join, source),
        Input::Table(access) => {
            access_lines(access, &select.table, select.filter.is_some(), source)
        }
    };
    let mut above = |what: String| {
        let inner = std::mem::take(&mut lines);
        lines.push(what);
        for (at, line) in inner.into_iter().enumerate() {
            lines.push(match at {
                0 => format!("  ->  {line}"),
                _ => format!("      {line}"),
            });
        }
    };
    if let Some(grouping) = &select.grouping {
        above(match grouping.keys.is_empty() {
            true => "Aggregate".into(),
            false => "HashAggregate".into(),
        });
    }
    if select.is_distinct {
        above("Unique".into());
    }
    if !select.sort.is_empty() {
        above("Sort".into());
    }
    if select.limit.is_some() || select.offset.is_some() {
        above("Limit".into());
    }
    lines
}

fn join_lines(join: &JoinPlan, source: &Source<'_>) -> Vec<String> {
    let mut lines = vec!["Hash Join".to_string()];
    for (access, is_filtered, is_left) in join.sides() {
        if is_left {
            lines[0] = "Hash Left Join".to_string();
        }
        let inner = match access {
            Some(access) => access_lines(access, "", is_filtered, source),
            None => vec!["Function Scan".to_string()],
        };
        for (at, line) in inner.into_iter().enumerate() {
            let before = if at == 0 { "  ->  " } else { "      " };
            lines.push(format!("{before}{line}"));
        }
    }
    lines
}

fn access_lines(
    access: &Access,
    alias: &str,
    is_filtered: bool,
    source: &Source<'_>,
) -> Vec<String> {
    let definition = source.definitions().get(usize::from(access.table));
    let name = definition.map_or("", |definition| &definition.name);
    let table = match alias == name || alias.is_empty() {
        true => name.to_string(),
        false => format!("{name} {alias}"),
    };
    let index_name = |index: &str| match index {
        sardonyx::schema::PRIMARY => format!("{name}_pkey"),
        index => index.to_string(),
    };
    let scan = |index: &str, backward: bool| {
        let word = if backward {
            "Index Scan Backward"
        } else {
            "Index Scan"
        };
        format!("{word} using {} on {table}", index_name(index))
    };
    let mut lines = vec![match &access.path {
        Path::Scan => format!("Seq Scan on {table}"),
        Path::Key(_) => scan(sardonyx::schema::PRIMARY, false),
        Path::Unique(index, _) => scan(index, false),
        Path::Range(path) => scan(&path.index, path.backward),
    }];
    let key = match &access.path {
        Path::Scan => 0,
        Path::Key(key) | Path::Unique(_, key) => key.len(),
        Path::Range(path) => path.equal.len() + usize::from(path.bounded.is_some()),
    };
    if key > 0 {
        lines.push(format!(
            "  Index Cond: of {key} {}",
            if key == 1 { "column" } else { "columns" }
        ));
    }
    if is_filtered {
        lines.push("  Filter".to_string());
    }
    lines
}
