//! The catalogue's answers to expressions, from its tables and the planner.

use crate::error::SqlError;
use crate::expression::{Catalogue, Environment};
use crate::plan::views::columns_of;
use crate::relation::{is_own, table_oid};
use crate::search_path::SearchPath;
use crate::source::Source;
use crate::table_names::TableNames;
use crate::views::{ViewColumn, ViewDefinition};
use crate::virtual_tables;
use sardonyx::schema::Value;
use sardonyx_storage::catalogue::Kind;

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

    fn last_number(
        &self,
        source: &dyn Source,
        with: &Environment<'_>,
        number: u32,
    ) -> Result<Value, SqlError> {
        virtual_tables::last_number(source, with, number)
    }

    fn table_names(&self, source: &dyn Source) -> TableNames {
        table_names(source)
    }

    fn view_columns(
        &self,
        source: &dyn Source,
        view: &ViewDefinition,
    ) -> Result<Vec<ViewColumn>, SqlError> {
        columns_of(source, view)
    }
}

/// The numbers of all tables, views, sequences and indexes by their names.
fn table_names(source: &dyn Source) -> TableNames {
    let mut names = TableNames::default();
    for (number, definition) in source.definitions().iter().enumerate() {
        let is_table = matches!(definition.kind, Kind::Table { .. });
        if is_table && !is_own(&definition.name) {
            names.add(definition.name.clone(), table_oid(number as u16));
        }
    }
    for table in virtual_tables::all() {
        names.add_of_catalogue(table.schema, table.name, table.oid);
    }
    let others = [
        virtual_tables::sequence_names(source),
        virtual_tables::view_numbers(source),
        virtual_tables::index_names(source),
    ];
    for (name, number) in others.into_iter().flat_map(Result::unwrap_or_default) {
        names.add(name, number);
    }
    names
}
