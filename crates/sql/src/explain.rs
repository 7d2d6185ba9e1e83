//! `EXPLAIN`: how a statement is run, as rows of text.

use crate::error::SqlError;
use crate::expression::{Environment, Parameters};
use crate::plan::access::{Access, Path};
use crate::plan::join::{JoinKind, JoinNode};
use crate::plan::planning::Planning;
use crate::plan::select::{Input, SelectPlan};
use crate::plan::target::Target;
use crate::plan::{Plan, Planned, ResultColumn};
use crate::prepared::{Prepared, plan_statement};
use crate::source::Source;
use sardonyx::Transaction;
use sqlparser::ast::Statement;
use std::sync::Arc;
use std::time::Instant;

/// How the line begins that says how long the statement took.
const EXECUTION_TIME: &str = "Execution Time: ";

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
pub(crate) fn plan_of(
    prepared: &Prepared,
    version: u64,
    source: &Source<'_>,
) -> Result<Planned, SqlError> {
    planned(prepared, version, source).map(|(planned, _)| planned)
}

fn planned(
    prepared: &Prepared,
    version: u64,
    source: &Source<'_>,
) -> Result<(Planned, Parameters), SqlError> {
    let (statement, _) = explained(prepared)?;
    let mut parameters = Parameters::given(&prepared.known_parameters());
    let mut planning = Planning::new(*source, &mut parameters, prepared.rights());
    let plan = plan_statement(&mut planning, statement)?;
    let queries = planning.queries;
    Ok((Planned::new(plan, version, queries), parameters))
}

/// Says what is known of it.
///
/// # Errors
/// What is wrong with the statement.
pub(crate) fn describe(
    prepared: &Prepared,
    version: u64,
    source: &Source<'_>,
    column: ResultColumn,
) -> Result<(), SqlError> {
    let (_, parameters) = planned(prepared, version, source)?;
    prepared.describe(parameters.decided(), Some(Arc::from([column])));
    Ok(())
}

/// The lines for a statement that is not run, or only reads.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn explain(
    prepared: &Prepared,
    version: u64,
    source: &Source<'_>,
    with: &Environment<'_>,
) -> Result<Vec<String>, SqlError> {
    let plan = plan_of(prepared, version, source)?.plan;
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
    version: u64,
    with: &Environment<'_>,
) -> Result<Vec<String>, SqlError> {
    let plan = plan_of(prepared, version, &Source::Live(tx.view()))?.plan;
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
    lines.push(format!("{EXECUTION_TIME}{time:.3} ms"));
}

/// Whether a line says how long something took.
pub(crate) fn is_measured(line: &str) -> bool {
    line.starts_with(EXECUTION_TIME)
}

/// Lines as they stand below another one.
fn indented(inner: Vec<String>) -> Vec<String> {
    let inner = inner.into_iter().enumerate();
    inner
        .map(|(at, line)| match at {
            0 => format!("  ->  {line}"),
            _ => format!("      {line}"),
        })
        .collect()
}

fn lines(plan: &Plan, source: &Source<'_>) -> Vec<String> {
    match plan {
        Plan::Select(select) => select_lines(select, source),
        Plan::Update(update) => target_lines("Update", &update.target, source),
        Plan::Delete(delete) => target_lines("Delete", &delete.target, source),
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

fn target_lines(what: &str, target: &Target, source: &Source<'_>) -> Vec<String> {
    let mut lines = vec![format!("{what} on {}", target.alias)];
    let is_filtered = target.filter.is_some();
    lines.extend(indented(input_lines(
        &target.input,
        &target.alias,
        is_filtered,
        source,
    )));
    lines
}

fn select_lines(select: &SelectPlan, source: &Source<'_>) -> Vec<String> {
    let mut lines = input_lines(
        &select.input,
        &select.table,
        select.filter.is_some(),
        source,
    );
    let mut above = |what: String| {
        let inner = std::mem::take(&mut lines);
        lines.push(what);
        lines.extend(indented(inner));
    };
    if let Some(grouping) = &select.grouping {
        above(match grouping.keys.is_empty() {
            true => "Aggregate".into(),
            false => "HashAggregate".into(),
        });
    }
    if select.is_distinct || !select.distinct_on.is_empty() {
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

fn input_lines(input: &Input, alias: &str, is_filtered: bool, source: &Source<'_>) -> Vec<String> {
    let scan = |what: String, inner: Vec<String>| {
        let mut lines = vec![what];
        if is_filtered {
            lines.push("  Filter".into());
        }
        lines.extend(indented(inner));
        lines
    };
    match input {
        Input::Table(access) => access_lines(access, alias, is_filtered, source),
        Input::Join(join) => node_lines(&join.root, source),
        Input::Nothing => vec!["Result".into()],
        Input::Rows(_) => scan("Values Scan".into(), Vec::new()),
        Input::Virtual(table) => scan(format!("Function Scan on {}", table.name), Vec::new()),
        Input::Series(_) => scan("Function Scan on generate_series".into(), Vec::new()),
        Input::Derived(plan) | Input::Lateral(plan, _) => {
            scan("Subquery Scan".into(), select_lines(plan, source))
        }
        Input::Shared(shared) => scan(
            format!("CTE Scan on {}", shared.name),
            select_lines(&shared.plan, source),
        ),
        Input::Expanded(expansion) => {
            scan("ProjectSet".into(), select_lines(&expansion.plan, source))
        }
        Input::Windowed(windowed) => scan("WindowAgg".into(), select_lines(&windowed.plan, source)),
        Input::Recursion(recursion) => {
            let mut lines = scan(
                "Recursive Union".into(),
                select_lines(&recursion.first, source),
            );
            lines.extend(indented(select_lines(&recursion.step, source)));
            lines
        }
        Input::LastRound(_) => scan("WorkTable Scan".into(), Vec::new()),
        Input::Sets(sets) => {
            let what = match sets.is_append() {
                true => "Append",
                false => "HashSetOp",
            };
            let mut lines = scan(what.into(), select_lines(&sets.first, source));
            for (_, plan) in &sets.rest {
                lines.extend(indented(select_lines(plan, source)));
            }
            lines
        }
    }
}

fn node_lines(node: &JoinNode, source: &Source<'_>) -> Vec<String> {
    match node {
        JoinNode::Side(side) => input_lines(&side.input, "", side.filter.is_some(), source),
        JoinNode::Join(step) => {
            let word = match step.kind {
                JoinKind::Inner => "",
                JoinKind::Left => " Left",
                JoinKind::Right => " Right",
                JoinKind::Full => " Full",
            };
            let mut lines = vec![match step.is_lateral {
                true => format!("Nested Loop{word}"),
                false => format!("Hash{word} Join"),
            }];
            lines.extend(indented(node_lines(&step.left, source)));
            lines.extend(indented(node_lines(&step.right, source)));
            lines
        }
    }
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
