//! Constraints of rows, for every store of rows: CHECK, references, rows that are deleted with a row, references and unique
//! keys that are checked later, computed defaults. [`RowWriter`](crate::RowWriter) checks lengths, digits and NOT NULL when it
//! takes values.
//!
//! - [`ConstrainedRows`]: the interface that a store implements, beyond reading and changing rows;
//! - [`check_row`], made of [`check_conditions`] and [`check_references`]: of a row in its current state;
//! - [`check_added_references`], [`check_added_condition`]: of all rows, when a schema has changed;
//! - [`check_unreferenced`], [`delete_row`], [`take_row`]: of a row that is changed or deleted;
//! - [`delete_before_others`], [`follow`]: of a row that is deleted, and of those that follow it later;
//! - [`HeldReferences`], [`check_held`]: references that are checked at the end of a statement or transaction;
//! - [`computed_defaults`]: of a row that is inserted;
//! - [`generated_values`]: of columns that are computed from others;
//! - [`meets`]: evaluates conditions on a row of any store.
//!
//! A store calls these where it changes a row. Unique keys are its own: an index finds a second row when it takes the entry.
//!
//! Invariant: an operation that fails has done nothing.

mod checks;
mod default_failure;
mod defaults;
mod deleting;
mod generated;
mod held;
mod keys;
mod marks;
mod notes;
mod references;

pub use checks::{check_added_condition, check_new_row, conditions_of, meets};
pub use default_failure::DefaultFailure;
pub use defaults::{ComputeDefaults, Objects, computed_defaults, objects};
pub use deleting::{Followers, delete_before_others, delete_row, follow};
pub use generated::{
    Generated, generated_of, generated_of_changed, generated_of_new, generated_values,
};
pub use held::{Due, HeldReference, HeldReferences, check_held};
pub use marks::Marks;
pub use references::{
    check_added_references, check_changed_references, check_changed_row, check_conditions,
    check_interruption, check_references, check_references_of, check_row, check_schema,
    check_unreferenced, take_row,
};

use crate::condition::Check;
use crate::error::TableError;
use crate::schema::ValueRef;
use crate::write::WriteRows;
use std::sync::Arc;

/// A store whose rows have constraints. Numbers of tables are those of existing tables.
pub trait ConstrainedRows: WriteRows {
    /// The row at a place, at which there is one.
    ///
    /// # Errors
    /// [`TableError::DamagedTable`].
    fn row_there(&self, table: u16, at: Self::Place) -> Result<Self::Row<'_>, TableError>;

    /// The conditions of a table, as [`conditions_of`] reads them. A store reads them once for each schema.
    ///
    /// # Errors
    /// The errors of [`conditions_of`].
    fn conditions(&mut self, table: u16) -> Result<Arc<[Check]>, TableError>;

    /// The row whose columns, which are the key of a unique index, have these values. No row has a value that a column
    /// cannot have.
    ///
    /// # Errors
    /// [`TableError::DamagedTable`].
    fn row_with(
        &self,
        table: u16,
        columns: &[usize],
        values: &[ValueRef<'_>],
    ) -> Result<Option<Self::Place>, TableError>;

    /// True if an index of a table begins with these columns, in their order.
    fn has_index_of(&self, table: u16, columns: &[usize]) -> bool;

    /// The rows whose columns have these values, by an index that begins with the columns; `None` if there is no such
    /// index.
    ///
    /// # Errors
    /// [`TableError::DamagedTable`].
    fn rows_with(
        &self,
        table: u16,
        columns: &[usize],
        values: &[ValueRef<'_>],
    ) -> Result<Option<Vec<Self::Place>>, TableError>;

    /// The last row of a table in the order of its primary key, which is ordered.
    ///
    /// # Errors
    /// [`TableError::UnknownIndex`] if it is not.
    fn last_by_key(&self, table: u16) -> Result<Option<Self::Place>, TableError>;

    /// Computes defaults in SQL; `None` in a program without SQL.
    fn computes_defaults(&self) -> Option<Arc<dyn ComputeDefaults>>;

    /// True if the rows of a table are not looked at when it gets a constraint: all of them were found to meet it, or they
    /// need not.
    fn are_checked(&self, table: u16) -> bool {
        self.held().skips_rows(table)
    }

    /// The places of all rows of a table. The first error ends the iterator.
    fn places(&self, table: u16) -> impl Iterator<Item = Result<Self::Place, TableError>>;

    /// Deletes the row at a place, even if rows refer to it.
    ///
    /// # Errors
    /// The transaction is too large.
    fn delete_alone(&mut self, table: u16, at: Self::Place) -> Result<(), TableError>;

    /// Runs several steps of one operation: all are done, or none.
    ///
    /// # Errors
    /// The first error of a step.
    fn whole<T>(
        &mut self,
        steps: impl FnOnce(&mut Self) -> Result<T, TableError>,
    ) -> Result<T, TableError>;

    /// References that are checked later.
    fn held(&self) -> &HeldReferences;

    /// The same, to note some.
    fn held_mut(&mut self) -> &mut HeldReferences;
}
