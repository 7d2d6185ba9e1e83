//! The planning of views: a view's query is drafted at each place that names it.

use super::draft::Draft;
use super::planning::Planning;
use super::query::draft_query;
use crate::error::{SqlError, code};
use crate::expression::Parameters;
use crate::relation;
use crate::rights::Rights;
use crate::source::Source;
use crate::views::{ViewColumn, ViewDefinition, views};
use sqlparser::ast::{Query, Statement};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

/// Drafts a view's query at the place that names it, and finds its columns.
///
/// # Errors
/// Invalid SQL, if the tables have changed since; `54001` if views are nested too deep.
pub(crate) fn draft_view(
    planning: &mut Planning<'_>,
    view: &ViewDefinition,
) -> Result<(Draft, Vec<ViewColumn>), SqlError> {
    let draft = draft_by_itself(planning, &*query_of(&view.query)?)?;
    let mut columns = Vec::with_capacity(view.columns.len());
    for (inner, name) in &view.columns {
        let place = draft.items.iter().position(|item| item.name == *inner);
        let place = place.ok_or_else(|| SqlError::unknown_column(inner))?;
        columns.push(ViewColumn {
            name: name.clone(),
            spec: draft.items[place].typed.spec,
            place,
        });
    }
    Ok((draft, columns))
}

/// Drafts a query without the scopes around it, and with all privileges.
///
/// # Errors
/// As [`draft_view`].
pub(crate) fn draft_by_itself(
    planning: &mut Planning<'_>,
    query: &Query,
) -> Result<Draft, SqlError> {
    planning.by_itself(|planning| {
        let mut draft = draft_query(planning, query)?;
        draft.decide(planning)?;
        Ok(draft)
    })
}

/// Parses a query text of the program once, and keeps it.
///
/// # Errors
/// Invalid SQL.
pub(crate) fn kept_query(text: &'static str) -> Result<Arc<Query>, SqlError> {
    static KEPT: Mutex<BTreeMap<&str, Arc<Query>>> = Mutex::new(BTreeMap::new());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(query) = kept.get(text) {
        return Ok(query.clone());
    }
    let query: Arc<Query> = Arc::from(query_of(text)?);
    kept.insert(text, query.clone());
    Ok(query)
}

/// Parses the query of a view's text.
///
/// # Errors
/// Invalid SQL.
pub(crate) fn query_of(text: &str) -> Result<Box<Query>, SqlError> {
    let mut statements = crate::parse::parse_kept(text)?;
    match statements.pop() {
        Some(Statement::Query(query)) if statements.is_empty() => Ok(query),
        _ => Err(SqlError::new(
            code::DATA_CORRUPTED,
            "a view's text is no query",
        )),
    }
}

/// The columns of a view for the current tables.
///
/// # Errors
/// Errors of [`draft_view`].
pub(crate) fn columns_of(
    source: &dyn Source,
    view: &ViewDefinition,
) -> Result<Vec<ViewColumn>, SqlError> {
    let mut parameters = Parameters::default();
    let mut planning = Planning::new(source, &mut parameters, &Arc::new(Rights::default()))?;
    Ok(draft_view(&mut planning, view)?.1)
}

/// The number of columns of a view's query for the current tables.
///
/// # Errors
/// Errors of [`draft_view`].
pub(crate) fn query_width(source: &dyn Source, view: &ViewDefinition) -> Result<usize, SqlError> {
    let mut parameters = Parameters::default();
    let mut planning = Planning::new(source, &mut parameters, &Arc::new(Rights::default()))?;
    let draft = draft_by_itself(&mut planning, &*query_of(&view.query)?)?;
    Ok(draft.items.len())
}

/// The stored names of the tables and views that a view reads, including those that its views read.
///
/// # Errors
/// Errors of [`draft_view`].
pub(crate) fn names_read(
    source: &dyn Source,
    view: &ViewDefinition,
) -> Result<BTreeSet<String>, SqlError> {
    let mut parameters = Parameters::default();
    let mut planning = Planning::new(source, &mut parameters, &Arc::new(Rights::default()))?;
    draft_by_itself(&mut planning, &*query_of(&view.query)?)?;
    Ok(planning.queries.names)
}

/// The tables of keys that a view's text finds only by the names of an older version.
///
/// # Errors
/// Errors of [`draft_view`].
pub(crate) fn older_names(source: &dyn Source, text: &str) -> Result<BTreeSet<String>, SqlError> {
    let mut parameters = Parameters::default();
    let mut planning = Planning::new(source, &mut parameters, &Arc::new(Rights::default()))?;
    draft_by_itself(&mut planning, &*query_of(text)?)?;
    Ok(planning.queries.older)
}

/// A view, materialized or not, that can no longer be planned, with the error. Those that are known are not looked at.
///
/// # Errors
/// Read errors.
pub(crate) fn broken(
    source: &dyn Source,
    known: &BTreeSet<String>,
) -> Result<Option<(String, SqlError)>, SqlError> {
    let mut found = None;
    each_broken(source, &mut |name, is_broken| {
        if known.contains(name) {
            return false;
        }
        found = is_broken().map(|error| (name.to_string(), error));
        found.is_some()
    })?;
    Ok(found)
}

/// The names of all views that cannot be planned.
///
/// # Errors
/// Read errors.
pub(crate) fn all_broken(source: &dyn Source) -> Result<BTreeSet<String>, SqlError> {
    let mut found = BTreeSet::new();
    each_broken(source, &mut |name, is_broken| {
        if is_broken().is_some() {
            found.insert(name.to_string());
        }
        false
    })?;
    Ok(found)
}

/// Plans a view, and gives the error.
type Planned<'a> = dyn Fn() -> Option<SqlError> + 'a;

/// Asks with the name of each view, and with a function that plans it and gives the error, until the answer is true.
fn each_broken(
    source: &dyn Source,
    ask: &mut dyn FnMut(&str, &Planned<'_>) -> bool,
) -> Result<(), SqlError> {
    for (name, view) in views(source)? {
        if ask(&name, &|| columns_of(source, &view).err()) {
            return Ok(());
        }
    }
    for relation in relation::materialized(source)? {
        let Some(query) = relation.notes.materialized.clone() else {
            continue;
        };
        let columns = relation.columns.iter();
        let view = ViewDefinition {
            columns: columns
                .map(|column| (String::new(), column.name.clone()))
                .collect(),
            query,
        };
        let error = || match query_width(source, &view) {
            Ok(width) if width >= view.columns.len() => None,
            Ok(_) => Some(SqlError::syntax("its query has fewer columns")),
            Err(error) => Some(error),
        };
        if ask(&relation.name, &error) {
            return Ok(());
        }
    }
    Ok(())
}
