//! The transaction of data definition: creates, changes and drops tables, in any store that supports it.

use crate::error::SqlError;
use crate::source::Source;
use crate::write_target::WriteTarget;
use sardonyx::rows::{DefineRows, OpenRows, Rows};
use sardonyx::schema::{
    Declared, ForeignKey, GeneratedColumn, IndexDefinition, Schema, Type, Value,
};
use sardonyx::{Error, Transaction};
use sardonyx_rows::TableError;

/// Makes a value of a row's columns, by their numbers.
pub(crate) type RowValue<'v> = &'v mut dyn FnMut(&[Value]) -> Result<Value, TableError>;

/// A transaction in which tables are created, changed and dropped, in any store that supports it.
pub(crate) trait DefineTarget: WriteTarget {
    /// The tables, to read.
    fn view(&self) -> &dyn Source;

    /// True if all rows of a table were found to meet the constraint that it gets.
    fn has_checked_rows(&self, _number: u16) -> bool {
        false
    }

    /// Makes a table: its number.
    ///
    /// # Errors
    /// An error of the engine.
    fn create_table(&mut self, name: &str, schema: Schema) -> Result<u16, Error>;

    /// Drops a table.
    ///
    /// # Errors
    /// An error of the engine.
    fn drop_table(&mut self, name: &str) -> Result<(), Error>;

    /// Deletes all rows of a table.
    ///
    /// # Errors
    /// An error of the engine.
    fn truncate(&mut self, name: &str) -> Result<(), Error>;

    /// Gives a table another name.
    ///
    /// # Errors
    /// An error of the engine.
    fn rename_table(&mut self, name: &str, to: &str) -> Result<(), Error>;

    /// Adds a column to a table.
    ///
    /// # Errors
    /// An error of the engine.
    fn add_column(
        &mut self,
        table: &str,
        name: &str,
        kind: Type,
        nullable: bool,
        default: Value,
    ) -> Result<(), Error>;

    /// Adds columns that are generated of others.
    ///
    /// # Errors
    /// An error of the engine.
    fn add_generated(&mut self, number: u16, columns: &[GeneratedColumn]) -> Result<(), Error>;

    /// Drops a column.
    ///
    /// # Errors
    /// An error of the engine.
    fn drop_column(&mut self, table: &str, name: &str) -> Result<(), Error>;

    /// Gives a column another name.
    ///
    /// # Errors
    /// An error of the engine.
    fn rename_column(&mut self, table: &str, name: &str, new: &str) -> Result<(), Error>;

    /// Gives a column another type: `value` computes each row's new value.
    ///
    /// # Errors
    /// An error of the engine.
    fn retype_column(
        &mut self,
        number: u16,
        name: &str,
        to: Type,
        value: RowValue<'_>,
    ) -> Result<(), Error>;

    /// Gives a column that was added last its values in the rows that are older.
    ///
    /// # Errors
    /// The error that `value` returns; an error of the engine.
    fn set_in_rows(&mut self, number: u16, column: usize, value: RowValue<'_>)
    -> Result<(), Error>;

    /// Has a column be null that has always a value.
    ///
    /// # Errors
    /// An error of the engine.
    fn allow_nulls(&mut self, table: &str, name: &str) -> Result<(), Error>;

    /// Has the rows of a table found by a number, which a new column has, and the columns of its primary key by a unique index.
    ///
    /// # Errors
    /// An error of the engine.
    fn number_rows(&mut self, number: u16, column: &str, index: &str) -> Result<(), Error>;

    /// Gives a table an index.
    ///
    /// # Errors
    /// An error of the engine.
    fn create_index(&mut self, number: u16, definition: IndexDefinition) -> Result<(), Error>;

    /// Takes an index from a table.
    ///
    /// # Errors
    /// An error of the engine.
    fn drop_index(&mut self, number: u16, name: &str) -> Result<(), Error>;

    /// Takes an index from a table, which gets it again.
    ///
    /// # Errors
    /// An error of the engine.
    fn take_index(&mut self, number: u16, name: &str) -> Result<(), Error>;

    /// Gives an index, a reference or a condition another name.
    ///
    /// # Errors
    /// An error of the engine.
    fn rename_constraint(&mut self, number: u16, name: &str, new: &str) -> Result<(), Error>;

    /// Drops the columns of indexes that no index names.
    ///
    /// # Errors
    /// An error of the engine.
    fn drop_unused_columns(&mut self, number: u16) -> Result<(), Error>;

    /// From now on, until it is none, the rows of a table need not meet a constraint that it gets.
    fn skip_rows(&mut self, number: Option<u16>);

    /// Gives a table a reference.
    ///
    /// # Errors
    /// An error of the engine.
    fn add_reference(&mut self, number: u16, reference: ForeignKey) -> Result<(), Error>;

    /// References check the changes of a table's rows, or do not.
    ///
    /// # Errors
    /// An error of the engine.
    fn check_changes(&mut self, number: u16, checks: bool) -> Result<(), Error>;

    /// Takes a reference from a table.
    ///
    /// # Errors
    /// An error of the engine.
    fn drop_reference(&mut self, number: u16, name: &str) -> Result<(), Error>;

    /// Gives a table a condition.
    ///
    /// # Errors
    /// An error of the engine.
    fn add_check(&mut self, number: u16, name: &str, condition: &str) -> Result<(), Error>;

    /// Takes a condition from a table.
    ///
    /// # Errors
    /// An error of the engine.
    fn drop_check(&mut self, number: u16, name: &str) -> Result<(), Error>;

    /// Declares properties of columns beside their types.
    ///
    /// # Errors
    /// An error of the engine.
    fn declare_columns(&mut self, number: u16, declared: Vec<Declared>) -> Result<(), Error>;

    /// Puts a row of columns by name into a table.
    ///
    /// # Errors
    /// An error of the engine.
    fn put_named(&mut self, table: &str, values: &[(&str, Value)]) -> Result<(), Error>;

    /// Deletes the row with a key of the table of a name. Returns false if there is none.
    ///
    /// # Errors
    /// An error of the engine.
    fn delete_named(&mut self, table: &str, key: &[Value]) -> Result<bool, Error>;

    /// Checks that numbers can be drawn from sequences.
    ///
    /// # Errors
    /// `0A000` if they cannot.
    fn check_sequences(&self) -> Result<(), SqlError> {
        Ok(())
    }

    /// Checks that unique keys can be deferrable here.
    ///
    /// # Errors
    /// `0A000` if they cannot.
    fn check_deferrable_keys(&self) -> Result<(), SqlError> {
        Ok(())
    }

    /// Checks that a table's primary key can become an index.
    ///
    /// # Errors
    /// `0A000` if it cannot.
    fn check_numbered_rows(&self) -> Result<(), SqlError> {
        Ok(())
    }

    /// Empties a table at the commit, if its rows are known to be this transaction's own, and that costs no definition.
    ///
    /// # Errors
    /// An error of the engine.
    fn forget_new_rows(&mut self, _number: u16) -> Result<(), Error> {
        Ok(())
    }

    /// Notes that objects of SQL beside the tables have changed, too.
    ///
    /// # Errors
    /// An error of the engine.
    fn defined(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

/// The verbs of a store that are the same of every one.
macro_rules! defines {
    () => {
        fn view(&self) -> &dyn Source {
            self
        }

        fn create_table(&mut self, name: &str, schema: Schema) -> Result<u16, Error> {
            DefineRows::create_table(self, name, schema)
        }

        fn drop_table(&mut self, name: &str) -> Result<(), Error> {
            DefineRows::drop_table(self, name)
        }

        fn truncate(&mut self, name: &str) -> Result<(), Error> {
            DefineRows::truncate(self, name)
        }

        fn rename_table(&mut self, name: &str, to: &str) -> Result<(), Error> {
            DefineRows::rename_table(self, name, to)
        }

        fn add_column(
            &mut self,
            table: &str,
            name: &str,
            kind: Type,
            nullable: bool,
            default: Value,
        ) -> Result<(), Error> {
            DefineRows::add_column(self, table, name, kind, nullable, default)
        }

        fn add_generated(&mut self, number: u16, columns: &[GeneratedColumn]) -> Result<(), Error> {
            DefineRows::add_generated(self, number, columns)
        }

        fn drop_column(&mut self, table: &str, name: &str) -> Result<(), Error> {
            DefineRows::drop_column(self, table, name)
        }

        fn rename_column(&mut self, table: &str, name: &str, new: &str) -> Result<(), Error> {
            DefineRows::rename_column(self, table, name, new)
        }

        fn retype_column(
            &mut self,
            number: u16,
            name: &str,
            to: Type,
            value: RowValue<'_>,
        ) -> Result<(), Error> {
            DefineRows::retype_column(self, number, name, to, value)
        }

        fn set_in_rows(
            &mut self,
            number: u16,
            column: usize,
            value: RowValue<'_>,
        ) -> Result<(), Error> {
            DefineRows::set_in_rows(self, number, column, value)
        }

        fn allow_nulls(&mut self, table: &str, name: &str) -> Result<(), Error> {
            DefineRows::allow_nulls(self, table, name)
        }

        fn number_rows(&mut self, number: u16, column: &str, index: &str) -> Result<(), Error> {
            DefineRows::number_rows(self, number, column, index)
        }

        fn create_index(&mut self, number: u16, definition: IndexDefinition) -> Result<(), Error> {
            DefineRows::create_index(self, number, definition)
        }

        fn drop_index(&mut self, number: u16, name: &str) -> Result<(), Error> {
            DefineRows::drop_index(self, number, name)
        }

        fn take_index(&mut self, number: u16, name: &str) -> Result<(), Error> {
            DefineRows::take_index(self, number, name)
        }

        fn rename_constraint(&mut self, number: u16, name: &str, new: &str) -> Result<(), Error> {
            DefineRows::rename_constraint(self, number, name, new)
        }

        fn drop_unused_columns(&mut self, number: u16) -> Result<(), Error> {
            DefineRows::drop_unused_columns(self, number)
        }

        fn skip_rows(&mut self, number: Option<u16>) {
            DefineRows::skip_rows(self, number);
        }

        fn add_reference(&mut self, number: u16, reference: ForeignKey) -> Result<(), Error> {
            DefineRows::add_reference(self, number, reference)
        }

        fn check_changes(&mut self, number: u16, checks: bool) -> Result<(), Error> {
            DefineRows::check_changes(self, number, checks)
        }

        fn drop_reference(&mut self, number: u16, name: &str) -> Result<(), Error> {
            DefineRows::drop_reference(self, number, name)
        }

        fn add_check(&mut self, number: u16, name: &str, condition: &str) -> Result<(), Error> {
            DefineRows::add_check(self, number, name, condition)
        }

        fn drop_check(&mut self, number: u16, name: &str) -> Result<(), Error> {
            DefineRows::drop_check(self, number, name)
        }

        fn declare_columns(&mut self, number: u16, declared: Vec<Declared>) -> Result<(), Error> {
            DefineRows::declare_columns(self, number, declared)
        }

        fn put_named(&mut self, table: &str, values: &[(&str, Value)]) -> Result<(), Error> {
            let mut rows = Rows::named(self, table)?;
            let schema = rows.schema().clone();
            let row = sardonyx_rows::RowWriter::named(&schema, table, values);
            let row = row.map_err(sardonyx_rows::TableError::from)?;
            // Names of objects have zero bytes between their parts.
            rows.put_row_of_any_text(&row).map(drop)
        }

        fn delete_named(&mut self, table: &str, key: &[Value]) -> Result<bool, Error> {
            Rows::named(self, table)?.delete(key)
        }
    };
}
#[cfg(feature = "nodes")]
pub(crate) use defines;

impl DefineTarget for OpenRows {
    defines!();

    fn forget_new_rows(&mut self, number: u16) -> Result<(), Error> {
        OpenRows::forget_new_rows(self, number)
    }
}

impl DefineTarget for Transaction<'_> {
    fn has_checked_rows(&self, number: u16) -> bool {
        Transaction::has_checked_rows(self, number)
    }

    defines!();
}
