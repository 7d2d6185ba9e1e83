//! Conditions of tables that are there, added and dropped: a condition that is added holds for every row.

use super::Transaction;
use crate::table::Slot;
use sardonyx_base::error::Error;

impl Transaction<'_> {
    /// Gives a table another condition, in the language of [`condition`](sardonyx_rows::condition).
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table, the text is no condition on its rows, there is one of this name, or a
    /// row does not meet it ([`RowError::Check`](sardonyx_rows::RowError::Check)); [`Error::Limit`]. Nothing has changed then.
    pub fn add_check(&mut self, table: u16, name: &str, condition: &str) -> Result<(), Error> {
        self.whole(|tx| {
            let mut schema = tx.schema_of(table)?;
            schema
                .checks
                .push((name.to_string(), condition.to_string()));
            tx.store_schema(table, schema)?;
            let mut at = Slot::default();
            loop {
                let (bytes, state) = tx.parts(table);
                let Some((address, behind)) = state.record_from(bytes, at) else {
                    return Ok(());
                };
                at = behind;
                tx.check_conditions(table, address)?;
            }
        })
    }

    /// Takes a condition from a table.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table; [`Error::Limit`]. Nothing has changed then.
    pub fn drop_check(&mut self, table: u16, name: &str) -> Result<(), Error> {
        let mut schema = self.schema_of(table)?;
        schema.checks.retain(|(there, _)| there != name);
        self.store_schema(table, schema)
    }
}
