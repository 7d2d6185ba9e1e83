//! A table as open transactions use it, found once for each state of its schema: snapshots keep it, too.

use sardonyx_rows::condition::Check;
use sardonyx_rows::constraints::conditions_of;
use sardonyx_rows::key::KeyShape;
use sardonyx_rows::schema::Schema;
use sardonyx_rows::{RowFormat, TableError};
use std::sync::Arc;

/// The parts of a table needed to read and to change its rows.
#[derive(Debug)]
pub(crate) struct Known {
    pub(super) name: Arc<str>,
    pub(super) schema: Arc<Schema>,
    /// The key of rows in the snapshot.
    pub(super) primary: KeyShape,
    /// The key of rows that the transaction has.
    pub(super) format: RowFormat,
    pub(super) conditions: Arc<[Check]>,
}

impl Known {
    #[inline]
    pub(super) fn of(name: &str, schema: &Arc<Schema>) -> Result<Self, TableError> {
        Ok(Known {
            name: name.into(),
            primary: KeyShape::new(schema, &schema.primary),
            format: RowFormat::beside(name, schema)?,
            conditions: conditions_of(schema)?,
            schema: Arc::clone(schema),
        })
    }
}
