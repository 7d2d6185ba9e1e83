//! Views: queries with a name, of which statements read as of tables. A view stands in the database as its text, and is
//! planned at each place that names it, as a query in `FROM` is: what the statement asks of its rows goes into it.
//!
//! A view has the columns that it had when it was created, by their names: a column that a table gets later is none of a
//! view of `*`. Its tables are read with all rights: whoever may read the view may read what it gives, and who creates it
//! must be able to read them.
//!
//! Invariant: every view can be planned. What would change that (a table that is dropped, a column that is renamed) is
//! refused, or drops the view as well where `CASCADE` is said; [`crate::plan::views::broken`] finds it by planning them.

use crate::error::SqlError;
use crate::relation::{kind, object, objects, parsed};
use crate::source::Source;
use crate::types::TypeSpec;
use serde::{Deserialize, Serialize};

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
