//! Tables of the catalogue as data: tables without rows, and queries over other tables of the catalogue.
//!
//! They are in `described.txt`, between empty lines. A table has its name and number in the first line, then its
//! columns with their types, as PostgreSQL 15 has them. Behind a line `query` is the query of its rows; a table without
//! one describes objects that are not supported, and has no rows. PostgreSQL's types that have no values here are others
//! in the file: `oid` for `xid`, `text` for expressions.

use super::Contents::{Query, Rows};
use super::{VirtualRows, VirtualTable};
use crate::error::SqlError;
use crate::expression::Environment;
use crate::source::Source;
use crate::types::SqlType;
use std::sync::LazyLock;

static DESCRIPTIONS: &str = include_str!("described.txt");

struct Described {
    schema: &'static str,
    name: &'static str,
    number: u32,
    columns: Vec<(&'static str, SqlType)>,
    query: Option<&'static str>,
}

static DESCRIBED: LazyLock<Vec<Described>> = LazyLock::new(|| {
    let texts = DESCRIPTIONS.split("\n\n");
    texts.filter_map(described).collect()
});

/// The tables that are described; the text is read once, when the first is asked for.
pub(super) fn tables() -> impl Iterator<Item = VirtualTable> {
    DESCRIBED.iter().map(|of| VirtualTable {
        schema: of.schema,
        name: of.name,
        oid: of.number,
        columns: &of.columns,
        contents: of.query.map_or(Rows(none), Query),
    })
}

fn none(_: &dyn Source, _: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    Ok(Vec::new())
}

/// A table of its text; `None` for a text without one.
fn described(text: &'static str) -> Option<Described> {
    let (head, rest) = text.trim().split_once('\n')?;
    let (name, number) = head.split_once(' ')?;
    let (schema, name) = name.split_once('.')?;
    let (columns, query) = match rest.split_once("\nquery\n") {
        Some((columns, query)) => (columns, Some(query.trim())),
        None => (rest, None),
    };
    let columns: Option<Vec<_>> = columns.split(',').map(column).collect();
    Some(Described {
        schema,
        name,
        number: number.parse().ok()?,
        columns: columns?,
        query,
    })
}

fn column(text: &'static str) -> Option<(&'static str, SqlType)> {
    let (name, kind) = text.trim().split_once(' ')?;
    Some((name, SqlType::named(kind)?))
}

#[cfg(test)]
mod tests {
    use super::{DESCRIBED, DESCRIPTIONS};

    #[test]
    fn every_text_is_a_table() {
        let texts = DESCRIPTIONS.split("\n\n").count();
        assert_eq!(DESCRIBED.len(), texts);
    }
}
