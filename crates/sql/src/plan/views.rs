//! The planning of views: a view's query is drafted at each place that names it.

use super::draft::Draft;
use super::planning::Planning;
use super::query::draft_query;
use super::series::may_have_older_names;
use crate::error::{SqlError, code};
use crate::expression::Parameters;
use crate::lexer::tokens;
use crate::path::local;
use crate::relation;
use crate::rights::Rights;
use crate::source::Source;
use crate::views::{ViewColumn, ViewDefinition, views};
use sqlparser::ast::{Query, Statement};
use sqlparser::tokenizer::Token;
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
    let (draft, places) = draft_text(planning, &view.query, |draft| places_of(draft, view))?;
    let names = view.columns.iter().map(|(_, name)| name.clone());
    let columns = names.zip(places).map(|(name, place)| ViewColumn {
        name,
        spec: draft.items[place].typed.spec,
        place,
    });
    let columns = columns.collect();
    Ok((draft, columns))
}

/// The places of a view's columns in its query, by their names there.
///
/// # Errors
/// `42703` if there is none.
fn places_of(draft: &Draft, view: &ViewDefinition) -> Result<Vec<usize>, SqlError> {
    let place_of = |name: &str| draft.items.iter().position(|item| item.name == name);
    let places = view.columns.iter().map(|(inner, _)| {
        let place = match (place_of(inner), inner.as_str()) {
            // `IS NORMALIZED` had no name in an earlier version.
            (None, "?column?") => place_of("is_normalized"),
            (place, _) => place,
        };
        place.ok_or_else(|| SqlError::unknown_column(inner))
    });
    places.collect()
}

/// Drafts a view's text, and looks at it. If it has other names of columns than those of now, the names that an earlier version
/// gave are tried.
fn draft_text<R>(
    planning: &mut Planning<'_>,
    text: &str,
    look: impl Fn(&Draft) -> Result<R, SqlError>,
) -> Result<(Draft, R), SqlError> {
    let query = query_of(text)?;
    let mut drafted = |has_older_names| {
        let draft = drafted(planning, &query, has_older_names)?;
        let seen = look(&draft)?;
        Ok((draft, seen))
    };
    match drafted(false) {
        Err(error) if may_have_older_names(text, &error) => {
            drafted(true).map_err(|_: SqlError| error)
        }
        drafted => drafted,
    }
}

/// Drafts a query without the scopes around it, and with all privileges.
///
/// # Errors
/// As [`draft_view`].
pub(crate) fn draft_by_itself(
    planning: &mut Planning<'_>,
    query: &Query,
) -> Result<Draft, SqlError> {
    drafted(planning, query, false)
}

fn drafted(
    planning: &mut Planning<'_>,
    query: &Query,
    has_older_names: bool,
) -> Result<Draft, SqlError> {
    planning.by_itself(|planning| {
        planning.parameters.set_older_names(has_older_names);
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
    let (draft, ()) = draft_text(&mut planning, &view.query, |_| Ok(()))?;
    Ok(draft.items.len())
}

/// The stored names of the tables and views that a query's text names itself.
///
/// # Errors
/// Errors of [`draft_view`].
pub(crate) fn names_in(source: &dyn Source, text: &str) -> Result<BTreeSet<String>, SqlError> {
    let mut parameters = Parameters::default();
    let mut planning = Planning::new(source, &mut parameters, &Arc::new(Rights::default()))?;
    draft_text(&mut planning, text, |_| Ok(()))?;
    // The names that its views name are of the same set.
    let tokens = tokens(text).unwrap_or_default();
    let words: BTreeSet<String> = tokens
        .into_iter()
        .filter_map(|token| match token.token {
            Token::Word(word) if word.quote_style.is_some() => Some(word.value),
            Token::Word(word) => Some(word.value.to_lowercase()),
            _ => None,
        })
        .collect();
    let mut names = planning.queries.names;
    names.retain(|name| words.contains(local(name)));
    Ok(names)
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
    draft_text(&mut planning, &view.query, |_| Ok(()))?;
    Ok(planning.queries.names)
}

/// The tables of keys that a view's text finds only by the names of an older version.
///
/// # Errors
/// Errors of [`draft_view`].
pub(crate) fn older_names(source: &dyn Source, text: &str) -> Result<BTreeSet<String>, SqlError> {
    let mut parameters = Parameters::default();
    let mut planning = Planning::new(source, &mut parameters, &Arc::new(Rights::default()))?;
    draft_text(&mut planning, text, |_| Ok(()))?;
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
