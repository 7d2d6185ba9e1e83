//! The columns of a table that a file's rows are of: their names, types, and how texts become their values.

use crate::InterchangeError;
use sardonyx_rows::schema::{Schema, Value};
use std::fmt;
use std::sync::Arc;

/// The value, for the column of a number, of a text; or the reason why there is none. For text and bytes too: a text
/// may be too long for its column. Bytes in JSON are base64, and do not come here.
pub type Texts = Arc<dyn Fn(usize, &str) -> Result<Value, String> + Send + Sync>;

/// The columns of the table for which a file is read.
#[derive(Clone)]
pub struct Columns {
    /// Their names and types.
    pub schema: Arc<Schema>,
    /// The conversion of texts into values.
    pub texts: Texts,
}

impl fmt::Debug for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Columns").finish_non_exhaustive()
    }
}

/// The number of the table's column with this name, if it exists, and is not among those before.
pub(crate) fn column_of(
    schema: &Schema,
    name: &str,
    before: &[usize],
) -> Result<usize, InterchangeError> {
    let column = || name.to_string();
    match schema.column(name) {
        None => {
            let names: Vec<_> = schema
                .columns
                .iter()
                .map(|column| column.name.as_str())
                .collect();
            Err(InterchangeError::UnknownColumn {
                column: column(),
                there_are: names.join(", "),
            })
        }
        Some(number) if before.contains(&number) => {
            Err(InterchangeError::ColumnTwice { column: column() })
        }
        Some(number) => Ok(number),
    }
}
