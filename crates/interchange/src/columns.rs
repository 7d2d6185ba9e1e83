//! The columns of a file, matched with the columns of a table by name.

use crate::InterchangeError;
use sardonyx_table::schema::Schema;

/// The number of the table's column with this name, if it is there, and not among those before.
pub(crate) fn column_of(
    schema: &Schema,
    name: &str,
    before: &[usize],
) -> Result<usize, InterchangeError> {
    let column = || name.to_string();
    match schema.column(name) {
        None => Err(InterchangeError::UnknownColumn { column: column() }),
        Some(number) if before.contains(&number) => {
            Err(InterchangeError::ColumnTwice { column: column() })
        }
        Some(number) => Ok(number),
    }
}
