//! Generated columns of rows in a transaction: computed before a row is put together, or of a record that was changed by its
//! bytes.

use super::Transaction;
use sardonyx_rows::constraints::{
    self, Generated, check_unreferenced, generated_of, generated_values,
};
use sardonyx_rows::row::{same, value_in_record};
use sardonyx_rows::schema::Value;
use sardonyx_rows::{RowWriter, TableError};
use sardonyx_storage::page::Address;
use std::sync::Arc;

/// Values of columns by their numbers.
type Values = Vec<(usize, Value)>;

/// With values of columns by their numbers.
pub(super) fn with_values<'v>(mut row: RowWriter<'v>, values: &'v Values) -> RowWriter<'v> {
    for (column, value) in values {
        row.set(*column, value.as_ref());
    }
    row
}

impl Transaction<'_> {
    /// The generated columns of a table; `None` if it has none.
    fn generated(&mut self, table: u16) -> Result<Option<Arc<[Generated]>>, TableError> {
        let state = self.parts(table).1;
        if !state.is_generated {
            return Ok(None);
        }
        if let Some((schema, generated)) = &state.generated
            && Arc::ptr_eq(schema, &state.schema)
        {
            return Ok(Some(Arc::clone(generated)));
        }
        let generated = generated_of(&state.schema)?;
        state.generated = Some((Arc::clone(&state.schema), Arc::clone(&generated)));
        Ok(Some(generated))
    }

    /// Generated columns of a new row, of which all other columns are set.
    #[inline]
    pub(super) fn generated_of_new(
        &mut self,
        table: u16,
        row: &RowWriter<'_>,
    ) -> Result<Values, TableError> {
        let Some(generated) = self.generated(table)? else {
            return Ok(Values::new());
        };
        let (schema, name) = self.row_table(table)?;
        constraints::generated_of_new((&schema, &name), &generated, row)
    }

    /// Generated columns of a new row that begins with a record; the values of its other columns are set.
    pub(super) fn generated_of_record(
        &mut self,
        table: u16,
        record: &[u8],
        added: &RowWriter<'_>,
    ) -> Result<Values, TableError> {
        let Some(generated) = self.generated(table)? else {
            return Ok(Values::new());
        };
        let (schema, name) = self.row_table(table)?;
        let value = |column| {
            let there = || value_in_record(&schema, record, column);
            Ok(added.get(column).unwrap_or_else(there))
        };
        generated_values((&schema, &name), &generated, |_| true, value)
    }

    /// Generated columns of a row that changes, as far as they change. The row gets a place for missing ones if it
    /// moves.
    pub(super) fn generated_of_changed(
        &mut self,
        table: u16,
        at: Address,
        change: &RowWriter<'_>,
    ) -> Result<Values, TableError> {
        let Some(generated) = self.generated(table)? else {
            return Ok(Values::new());
        };
        let (schema, name) = self.row_table(table)?;
        let there = self.row_there(table, at)?;
        let is_newer = |column: usize| {
            let column = schema.columns.get(column);
            column.is_some_and(|column| column.since_shape > there.shape())
        };
        let moves = change.set_columns().any(|(column, _)| is_newer(column));
        let lacks = |column| moves && is_newer(column);
        let of = (&*schema, &*name);
        let mut values = constraints::generated_of_changed(of, &generated, &there, change, lacks)?;
        values.retain(|(column, _)| moves || !is_newer(*column));
        Ok(values)
    }

    /// Computes the generated columns of a row whose bytes were changed. The row is in none of the indexes that have them.
    pub(super) fn regenerate(&mut self, table: u16, at: Address) -> Result<(), TableError> {
        let Some(generated) = self.generated(table)? else {
            return Ok(());
        };
        let (schema, name) = self.row_table(table)?;
        let there = self.row_there(table, at)?;
        let value = |column| there.get_at(column);
        let mut values = generated_values((&schema, &name), &generated, |_| true, value)?;
        let mut failed = Ok(());
        values.retain(|(number, value)| {
            let column = &schema.columns[*number];
            match there.get_at(*number) {
                _ if column.since_shape > there.shape() => false,
                Ok(now) => !same(column.kind, now, value.as_ref()),
                Err(error) => {
                    failed = Err(error);
                    false
                }
            }
        });
        failed?;
        if values.is_empty() {
            return Ok(());
        }
        if self.state(table).is_referenced {
            let changes = |column| values.iter().any(|(changed, _)| *changed == column);
            check_unreferenced(self, table, at, &changes)?;
        }
        let change = with_values(RowWriter::new(schema.columns.len()), &values);
        change.check(&schema, &name)?;
        let fixed = self.row_there(table, at)?.fixed().to_vec();
        let indexes = self.indexes_of_columns(table, |column| change.get(column).is_some());
        self.write_unindexed(table, at, indexes, &change, fixed)
    }
}
