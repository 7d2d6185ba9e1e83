//! Changing the columns of a table in a transaction: its schema changes with the data, is redone, undone and recovered
//! with it.
//!
//! Adding a column touches no row. Existing pages keep their shape, and their rows read the default. New rows, and
//! rows that are changed in the new column, are in pages of the new shape (`Transaction::move_row`). Dropping and
//! renaming change the schema only. Widening rewrites the table's rows, in one transaction, so its size is bounded by
//! the limit of a transaction's log.

use crate::table::{Slot, page_bytes, shape_of};
use crate::transaction::Transaction;
use sardonyx_base::error::Error;
use sardonyx_rows::row::{RowRef, RowWriter};
use sardonyx_rows::schema::{IntoSchema, Schema, SchemaError, Type, Value};
use sardonyx_rows::{DefineRows, ReadRow, TableError, check_name};

impl Transaction<'_> {
    /// Adds a column to a table, at once, however many rows it has: existing rows have the default, or are null.
    ///
    /// Programs that do not know the column still work: every row begins with the plain record (`record!`), and
    /// structs with `#[derive(Record)]` find columns by name. Rows that they insert have the default, and rows that
    /// they change keep the column's value. A plain record cannot have the column itself, since existing rows do not.
    ///
    /// ```
    /// # use sardonyx_table::Transaction;
    /// # use sardonyx_rows::schema::{Type, Value};
    /// # use sardonyx_base::error::Error;
    /// fn change(tx: &mut Transaction<'_>) -> Result<(), Error> {
    ///     tx.add_column("orders", "note", Type::Text, true, Value::Null)?;
    ///     tx.add_column("orders", "parts", Type::U32, false, 1.into())?;
    ///     tx.rename_column("orders", "customer", "buyer")?;
    ///     tx.widen_column("orders", "parts", Type::U64)?;
    ///     tx.drop_column("orders", "paid")
    /// }
    /// ```
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table, the name is taken, or the column is neither nullable nor has a
    /// default of its type; [`Error::Limit`] if the row would be too long, or the table has had too many shapes.
    /// Nothing has changed then.
    #[inline]
    pub fn add_column(
        &mut self,
        table: &str,
        name: &str,
        kind: Type,
        nullable: bool,
        default: Value,
    ) -> Result<(), Error> {
        DefineRows::add_column(self, table, name, kind, nullable, default)
    }

    /// Drops a column. Its bytes stay in the rows, and are never read.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table or column, or an index, a reference or a condition names it.
    /// Nothing has changed then.
    #[inline]
    pub fn drop_column(&mut self, table: &str, name: &str) -> Result<(), Error> {
        DefineRows::drop_column(self, table, name)
    }

    /// Gives a column another name, in the table's conditions, too.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table or column, or there is one of the new name. Nothing has changed
    /// then.
    #[inline]
    pub fn rename_column(&mut self, table: &str, name: &str, new: &str) -> Result<(), Error> {
        DefineRows::rename_column(self, table, name, new)
    }

    /// Gives a column a type that has all its values and more: a longer integer, or `f64` for `f32`. Every row is
    /// rewritten.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table or column, or the type is not wider; [`Error::Refused`] if an
    /// index, a reference or a condition names the column; [`Error::Limit`] if a transaction cannot rewrite so many
    /// rows. Nothing has changed then.
    #[inline]
    pub fn widen_column(&mut self, table: &str, name: &str, to: Type) -> Result<(), Error> {
        self.whole(|tx| {
            let mut from = 0;
            let number = tx.change_schema(table, |schema| {
                let (wider, column) = schema.with_wider_column(name, to)?;
                from = column;
                Ok(wider)
            })?;
            let wider = tx.row_table(number)?.0.columns.len() - 1;
            tx.set_in_old_rows(number, wider, |row| Ok(row.get_at(from)?.to_value()))?;
            tx.change_schema(table, |schema| schema.with_widened_column(name))
                .map(drop)
        })
    }

    /// Makes a column nullable. Every row is rewritten.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table or column, or an index or a reference names it; [`Error::Limit`] if the table has more
    /// rows than a transaction can rewrite, or has had too many shapes. Nothing has changed then.
    #[inline]
    pub fn allow_nulls(&mut self, table: &str, name: &str) -> Result<(), Error> {
        DefineRows::allow_nulls(self, table, name)
    }

    /// Has every row in a shape that has the columns of the table's indexes, whose keys are read from the rows' bytes.
    /// (References are found by indexes.)
    #[inline]
    pub(crate) fn have_index_columns(&mut self, number: u16) -> Result<(), Error> {
        let schema = self.row_table(number)?.0;
        let mut columns = Vec::new();
        columns.extend(schema.primary.key.iter().map(|part| part.column));
        for index in &schema.indexes {
            columns.extend(index.key.iter().map(|part| part.column));
        }
        for key in &schema.foreign_keys {
            columns.extend(&key.columns);
        }
        let since = |column: &usize| schema.columns[*column].since_shape;
        match columns.into_iter().max_by_key(since) {
            Some(column) if since(&column) > 0 => {
                let default = schema.columns[column].default.clone();
                self.set_in_old_rows(number, column, |_| Ok(default.clone()))
            }
            _ => Ok(()),
        }
    }

    /// Sets a column in the rows whose shape does not have it: they move to the newest.
    fn set_in_old_rows(
        &mut self,
        number: u16,
        column: usize,
        mut value: impl FnMut(&RowRef<'_>) -> Result<Value, TableError>,
    ) -> Result<(), Error> {
        let mut at = Slot::default();
        loop {
            let (bytes, state) = self.parts(number);
            let since = state.schema.columns[column].since_shape;
            // No row is looked at of a page that has the column.
            let mut behind = at;
            if at.slot == 0
                && let Some(page) = state.used_page(&mut behind)
                && shape_of(page_bytes(bytes, page)) >= since
            {
                at = behind;
                continue;
            }
            let Some((address, behind)) = state.record_from(bytes, at) else {
                return Ok(());
            };
            at = behind;
            let row = RowRef::new(bytes, &state.schema, &state.name, address)?;
            if row.shape() >= since {
                continue;
            }
            let value = value(&row)?;
            let mut change = RowWriter::new(column + 1);
            // Nulls are set, too, so that the row moves.
            change.set(column, value.as_ref());
            // The rows do not change their values.
            self.space.keeping.is_paused = true;
            let updated = self.update_row_at(number, address, &change);
            self.space.keeping.is_paused = false;
            updated?;
        }
    }

    /// Changes the schema of a table: its number.
    fn change_schema(
        &mut self,
        table: &str,
        change: impl FnOnce(&Schema) -> Result<Schema, SchemaError>,
    ) -> Result<u16, Error> {
        check_name(table)?;
        let number = self.rows(table)?.number();
        self.change_columns(number, change)?;
        Ok(number)
    }
}

/// The values of a row, by the columns' numbers.
#[inline]
fn values_of(row: &RowRef<'_>) -> Result<Vec<Value>, TableError> {
    let columns = 0..row.schema().columns.len();
    columns
        .map(|column| Ok(ReadRow::value_at(row, column)?.to_value()))
        .collect()
}

impl DefineRows for Transaction<'_> {
    fn create_table(&mut self, name: &str, schema: impl IntoSchema) -> Result<u16, Error> {
        Transaction::create_table(self, name, schema)
    }

    #[inline]
    fn drop_table(&mut self, name: &str) -> Result<(), Error> {
        Transaction::drop_table(self, name)
    }

    #[inline]
    fn truncate(&mut self, name: &str) -> Result<(), Error> {
        Transaction::truncate(self, name)
    }

    #[inline]
    fn rename_table(&mut self, name: &str, to: &str) -> Result<(), Error> {
        Transaction::rename_table(self, name, to)
    }

    #[inline]
    fn store_schema(&mut self, table: u16, schema: Schema) -> Result<(), Error> {
        Transaction::store_schema(self, table, schema)
    }

    #[inline]
    fn add_table(
        &mut self,
        name: &str,
        rows: &Schema,
        schema: impl FnOnce(&Self, u16) -> Result<Schema, TableError>,
    ) -> Result<u16, TableError> {
        let number = self.declare(rows.definition(name))?;
        let schema = schema(self, number)?;
        let stored = Transaction::store_schema(self, number, schema);
        stored.map_err(TableError::of)?;
        Ok(number)
    }

    #[inline]
    fn set_in_rows(
        &mut self,
        table: u16,
        column: usize,
        value: &mut dyn FnMut(&[Value]) -> Result<Value, TableError>,
    ) -> Result<(), Error> {
        self.set_in_old_rows(table, column, |row| value(&values_of(row)?))
    }

    #[inline]
    fn generate_in_old_rows(&mut self, table: u16, column: usize) -> Result<(), Error> {
        // A generated column gets its own value, not the one set here.
        self.set_in_old_rows(table, column, |_| Ok(Value::Null))
    }
}
