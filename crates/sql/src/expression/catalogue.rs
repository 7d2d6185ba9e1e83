//! Questions of expressions and of the catalogue's tables to modules above them: definitions and comments of objects,
//! and the columns of views.

use super::Environment;
use crate::error::SqlError;
use crate::search_path::SearchPath;
use crate::source::Source;
use crate::table_names::TableNames;
use crate::views::{ViewColumn, ViewDefinition};
use sardonyx::schema::Value;
use std::fmt::Debug;

/// Objects of a database by their numbers in the catalogue. Values are null for an object that does not exist.
pub(crate) trait Catalogue: Debug + Sync {
    /// The statement that makes an index; of a column, from 1, its name. With a path, it is written for people.
    ///
    /// # Errors
    /// An error of reading the tables.
    fn index_definition(
        &self,
        source: &dyn Source,
        number: u32,
        column: usize,
        path: Option<&SearchPath>,
    ) -> Result<Value, SqlError>;

    /// A constraint as SQL, without its name.
    ///
    /// # Errors
    /// An error of reading the tables.
    fn constraint_definition(&self, source: &dyn Source, number: u32) -> Result<Value, SqlError>;

    /// The schemas with their numbers.
    ///
    /// # Errors
    /// An error of reading the tables.
    fn schemas(&self, source: &dyn Source) -> Result<Vec<(String, u32)>, SqlError>;

    /// The query of a view.
    ///
    /// # Errors
    /// An error of reading the tables.
    fn view_definition(&self, source: &dyn Source, number: u32) -> Result<Value, SqlError>;

    /// The comment of an object, or of a column of it. The table of the catalogue that has the object may be given.
    ///
    /// # Errors
    /// An error of reading the tables.
    fn description(
        &self,
        source: &dyn Source,
        with: &Environment<'_>,
        of: (u32, u32),
        catalogue: Option<&str>,
    ) -> Result<Value, SqlError>;

    /// The sequence that belongs to a column of a table. A text names both.
    ///
    /// # Errors
    /// `42P01`, `42703` if there is no such column.
    fn serial_sequence(
        &self,
        source: &dyn Source,
        with: &Environment<'_>,
        table: &str,
        column: &str,
    ) -> Result<Value, SqlError>;

    /// The last number of the sequence with a number in `pg_class`; null if it has given none.
    ///
    /// # Errors
    /// `42809` if there is no such sequence; an error of reading the tables.
    fn last_number(
        &self,
        source: &dyn Source,
        with: &Environment<'_>,
        number: u32,
    ) -> Result<Value, SqlError>;

    /// The numbers of all relations by their names.
    fn table_names(&self, source: &dyn Source) -> TableNames;

    /// The columns of a view for the present tables.
    ///
    /// # Errors
    /// An error in its query now.
    fn view_columns(
        &self,
        source: &dyn Source,
        view: &ViewDefinition,
    ) -> Result<Vec<ViewColumn>, SqlError>;
}
