//! Views: queries with a name, of which statements read as of tables. A view stands in the database as its text, and is
//! planned at each place that names it, as a query in `FROM` is: what the statement asks of its rows goes into it.
//!
//! A view has the columns that it had when it was created, by their names: a column that a table gets later is none of a
//! view of `*`. Its tables are read with all rights: whoever may read the view may read what it gives, and who creates it
//! must be able to read them.
//!
//! Invariant: every view can be planned. What would change that (a table that is dropped, a column that is renamed) is
//! refused, or drops the view as well where `CASCADE` is said; [`broken`] finds it by planning them.

use crate::error::{SqlError, code};
use crate::expression::Parameters;
use crate::plan::planning::Planning;
use crate::plan::query::draft_query;
use crate::plan::select::Draft;
use crate::relation::{kind, object, objects, parsed};
use crate::rights::Rights;
use crate::source::Source;
use crate::types::TypeSpec;
use serde::{Deserialize, Serialize};
use sqlparser::ast::{Query, Statement};
use std::sync::Arc;

/// A view as it is stored.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct ViewDefinition {
    /// The columns: what the query calls them, and what the view does.
    pub columns: Vec<(String, String)>,
    /// The query.
    pub query: String,
}

/// A column of a view.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ViewColumn {
    pub name: String,
    pub spec: TypeSpec,
    /// Its place among the columns of the query.
    pub place: usize,
}

/// The view of a name, if there is one.
///
/// # Errors
/// What cannot be read.
pub(crate) fn view_named(
    source: &Source<'_>,
    name: &str,
) -> Result<Option<ViewDefinition>, SqlError> {
    object(source, kind::VIEW, name)?
        .map(|body| parsed(&body))
        .transpose()
}

/// All views, by their names.
///
/// # Errors
/// What cannot be read.
pub(crate) fn views(source: &Source<'_>) -> Result<Vec<(String, ViewDefinition)>, SqlError> {
    let views = objects(source, kind::VIEW)?.into_iter();
    views
        .map(|(name, body)| Ok((name, parsed(&body)?)))
        .collect()
}

/// Drafts a view's query where a statement names it, and finds its columns there.
///
/// # Errors
/// What is wrong with it, now that the tables are as they are; `54001` if views are nested too deep.
pub(crate) fn draft_view(
    planning: &mut Planning<'_>,
    view: &ViewDefinition,
) -> Result<(Draft, Vec<ViewColumn>), SqlError> {
    let query = query_of(&view.query)?;
    let draft = planning.by_itself(|planning| {
        let mut draft = draft_query(planning, &query)?;
        draft.decide(planning)?;
        Ok(draft)
    })?;
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

/// The query of a view's text.
fn query_of(text: &str) -> Result<Box<Query>, SqlError> {
    let mut statements = crate::parse::parse_kept(text)?;
    match statements.pop() {
        Some(Statement::Query(query)) if statements.is_empty() => Ok(query),
        _ => Err(SqlError::new(
            code::DATA_CORRUPTED,
            "a view's text is no query",
        )),
    }
}

/// The columns of a view as the tables are now.
///
/// # Errors
/// Those of [`draft_view`].
pub(crate) fn columns_of(
    source: &Source<'_>,
    view: &ViewDefinition,
) -> Result<Vec<ViewColumn>, SqlError> {
    let mut parameters = Parameters::default();
    let mut planning = Planning::new(*source, &mut parameters, &Arc::new(Rights::default()));
    Ok(draft_view(&mut planning, view)?.1)
}

/// How many columns a view's query has as the tables are now.
///
/// # Errors
/// Those of [`draft_view`].
pub(crate) fn query_width(source: &Source<'_>, view: &ViewDefinition) -> Result<usize, SqlError> {
    let mut parameters = Parameters::default();
    let mut planning = Planning::new(*source, &mut parameters, &Arc::new(Rights::default()));
    Ok(draft_view(&mut planning, view)?.0.items.len())
}

/// A view that can no longer be planned, and why.
///
/// # Errors
/// What cannot be read.
pub(crate) fn broken(source: &Source<'_>) -> Result<Option<(String, SqlError)>, SqlError> {
    for (name, view) in views(source)? {
        if let Err(error) = columns_of(source, &view) {
            return Ok(Some((name, error)));
        }
    }
    Ok(None)
}
