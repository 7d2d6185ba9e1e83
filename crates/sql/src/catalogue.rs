//! The catalogue's answers to expressions, from its tables and the planner.

use crate::error::SqlError;
use crate::expression::{Catalogue, Environment};
use crate::plan::views::columns_of;
use crate::search_path::SearchPath;
use crate::source::Source;
use crate::views::{ViewColumn, ViewDefinition};
use crate::virtual_tables;
use sardonyx::schema::Value;

pub(crate) static CATALOGUE: Known = Known;

/// See [`CATALOGUE`].
#[derive(Debug)]
pub(crate) struct Known;

impl Catalogue for Known {
    fn index_definition(
        &self,
        source: &dyn Source,
        number: u32,
        column: usize,
        path: Option<&SearchPath>,
    ) -> Result<Value, SqlError> {
        virtual_tables::index_definition(source, number, column, path)
    }

    fn constraint_definition(&self, source: &dyn Source, number: u32) -> Result<Value, SqlError> {
        virtual_tables::constraint_definition(source, number)
    }

    fn schemas(&self, source: &dyn Source) -> Result<Vec<(String, u32)>, SqlError> {
        Ok(virtual_tables::schema_numbers(source)?
            .into_iter()
            .collect())
    }

    fn view_definition(&self, source: &dyn Source, number: u32) -> Result<Value, SqlError> {
        virtual_tables::view_text(source, number)
    }

    fn description(
        &self,
        source: &dyn Source,
        with: &Environment<'_>,
        of: (u32, u32),
        catalogue: Option<&str>,
    ) -> Result<Value, SqlError> {
        virtual_tables::description(source, with, of, catalogue)
    }

    fn serial_sequence(
        &self,
        source: &dyn Source,
        with: &Environment<'_>,
        table: &str,
        column: &str,
    ) -> Result<Value, SqlError> {
        virtual_tables::serial_sequence(source, with, table, column)
    }

    fn view_columns(
        &self,
        source: &dyn Source,
        view: &ViewDefinition,
    ) -> Result<Vec<ViewColumn>, SqlError> {
        columns_of(source, view)
    }
}
