//! Views: named queries that statements read like tables. The database keeps a view as its text. It is planned at each
//! place that names it, as a query in `FROM` is: the statement's conditions on its rows go into it.
//!
//! A view has the columns that it had when it was created, by their names: a view of `*` does not get later columns.
//! Its tables are read with all rights: the right to read the view includes its rows. The creator needs the right to
//! read the tables.
//!
//! Invariant: every view can be planned. A change that would break one (a dropped table, a renamed column) is refused,
//! or drops the view with `CASCADE`. [`crate::plan::views::broken`] finds it by planning the views.

use crate::error::SqlError;
use crate::relation::{kind, object, objects, parsed};
use crate::source::Source;
use crate::types::TypeSpec;
use serde::{Deserialize, Serialize};

/// A view as it is stored.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct ViewDefinition {
    /// The columns: their names in the query, and in the view.
    pub columns: Vec<(String, String)>,
    pub query: String,
}

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
/// An error of reading the tables.
pub(crate) fn view_named(
    source: &dyn Source,
    name: &str,
) -> Result<Option<ViewDefinition>, SqlError> {
    object(source, kind::VIEW, name)?
        .map(|body| parsed(&body))
        .transpose()
}

/// All views, by their names.
///
/// # Errors
/// An error of reading the tables.
pub(crate) fn views(source: &dyn Source) -> Result<Vec<(String, ViewDefinition)>, SqlError> {
    let views = objects(source, kind::VIEW)?.into_iter();
    views
        .map(|(name, body)| Ok((name, parsed(&body)?)))
        .collect()
}
