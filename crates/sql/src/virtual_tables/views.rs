//! The tables of the catalogue on views, `pg_views` and `pg_matviews`; and views as relations with columns, listed with
//! the tables.

use super::Contents::{Query, Rows};
use super::information_schema::relations;
use super::{VirtualRows, VirtualTable, text};
use crate::error::SqlError;
use crate::expression::Environment;
use crate::parse::shown_text;
use crate::path::{local, schema_of};
use crate::relation::table_oid;
use crate::source::Source;
use crate::types::SqlType::{Bool, Name, Text};
use crate::views::{ViewColumn, views};
use sardonyx::schema::Value;

pub(super) const TABLES: &[VirtualTable] = &[
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_views",
        oid: 12_010,
        columns: &[
            ("schemaname", Name),
            ("viewname", Name),
            ("viewowner", Name),
            ("definition", Text),
        ],
        contents: Rows(pg_views),
    },
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_matviews",
        oid: 12_011,
        columns: &[
            ("schemaname", Name),
            ("matviewname", Name),
            ("matviewowner", Name),
            ("tablespace", Name),
            ("hasindexes", Bool),
            ("ispopulated", Bool),
            ("definition", Text),
        ],
        contents: Query(PG_MATVIEWS),
    },
];

const PG_MATVIEWS: &str = "
    select n.nspname, c.relname, pg_get_userbyid(c.relowner), null::name, c.relhasindex, c.relispopulated,
        pg_get_viewdef(c.oid)
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.relkind = 'm'";

/// A view as a relation.
pub(super) struct SeenView {
    pub oid: u32,
    pub name: String,
    pub columns: Vec<ViewColumn>,
}

fn view_oid(at: usize) -> u32 {
    (3 << 24) + at as u32
}

/// All views, with their columns.
///
/// # Errors
/// An error of reading the tables.
pub(super) fn seen_views(
    source: &dyn Source,
    with: &Environment<'_>,
) -> Result<Vec<SeenView>, SqlError> {
    let mut seen = Vec::new();
    for (at, (name, view)) in views(source)?.into_iter().enumerate() {
        seen.push(SeenView {
            oid: view_oid(at),
            columns: with.context.catalogue.view_columns(source, &view)?,
            name,
        });
    }
    Ok(seen)
}

/// The views' names, with their numbers in `pg_class`.
///
/// # Errors
/// An error of reading the tables.
pub(crate) fn view_numbers(source: &dyn Source) -> Result<Vec<(String, u32)>, SqlError> {
    let views = views(source)?.into_iter().enumerate();
    Ok(views.map(|(at, (name, _))| (name, view_oid(at))).collect())
}

/// The query of the view of a number; null if there is none.
///
/// # Errors
/// An error of reading the tables.
pub(crate) fn view_text(source: &dyn Source, oid: u32) -> Result<Value, SqlError> {
    let mut views = views(source)?.into_iter().enumerate();
    let found = views.find(|(at, _)| view_oid(*at) == oid);
    if found.is_none() {
        let mut tables = relations(source)?.into_iter();
        let table = tables.find(|relation| table_oid(relation.number) == oid);
        let query = table.and_then(|relation| relation.notes.materialized);
        let query = query.map(shown_text);
        return Ok(query.map_or(Value::Null, |query| Value::Text(format!(" {query};"))));
    }
    let query = found.map(|(_, (_, view))| shown_text(view.query));
    Ok(query.map_or(Value::Null, |query| Value::Text(query + ";")))
}

fn pg_views(source: &dyn Source, with: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let views = views(source)?.into_iter();
    let rows = views.map(|(name, view)| {
        vec![
            text(schema_of(&name)),
            text(local(&name)),
            text(&with.context.user),
            Value::Text(shown_text(view.query) + ";"),
        ]
    });
    Ok(rows.collect())
}
