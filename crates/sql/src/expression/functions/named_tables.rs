//! Tables by their names in texts, and back.

use crate::error::SqlError;
use crate::expression::Environment;
use crate::search_path::SearchPath;
use crate::table_names::TableNames;

/// The number of a table by its name.
///
/// # Errors
/// `42602` for a text that is no name.
pub(super) fn table_named(name: &str, with: &Environment<'_>) -> Result<Option<u32>, SqlError> {
    with_tables(with, |tables, path| tables.number(path, name))
}

/// Looks at the names of tables. They are read when a value of the statement asks for them first: its text does not show
/// that a view, a function or a default in it does.
pub(super) fn with_tables<R>(
    with: &Environment<'_>,
    look: impl FnOnce(&TableNames, &SearchPath) -> R,
) -> R {
    if let Some(reading) = with.reading {
        with.know_tables(reading.source);
    }
    let path = with.context.path();
    let draws = with.context.draws.borrow();
    match draws.tables.get() {
        Some(tables) => look(tables, &path),
        None => look(&TableNames::default(), &path),
    }
}
