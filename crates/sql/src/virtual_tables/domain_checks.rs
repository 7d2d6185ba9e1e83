//! Conditions of domains in `pg_constraint`.

use super::{VirtualRows, number_of_schema, oid, schema_numbers, text};
use crate::error::SqlError;
use crate::names::is_wrapped;
use crate::source::Source;
use crate::user_types::UserTypes;
use sardonyx::schema::Value;

/// The first number of conditions of domains.
const FIRST: u32 = 13 << 24;

/// A condition.
pub(super) struct DomainConstraint {
    pub number: u32,
    pub domain: u32,
    pub name: String,
    /// `CHECK ((…))`
    pub definition: String,
    schema: u32,
}

/// The conditions of all domains.
///
/// # Errors
/// An error of reading the tables.
pub(super) fn all(source: &dyn Source) -> Result<Vec<DomainConstraint>, SqlError> {
    let schemas = schema_numbers(source)?;
    let mut found = Vec::new();
    for (name, there) in &UserTypes::of(source)?.types {
        for check in there.domain.iter().flat_map(|domain| &domain.checks) {
            found.push(DomainConstraint {
                number: FIRST + found.len() as u32,
                domain: there.oid,
                name: check.name.clone(),
                definition: match is_wrapped(&check.text) {
                    true => format!("CHECK ({})", check.text),
                    false => format!("CHECK (({}))", check.text),
                },
                schema: number_of_schema(&schemas, name),
            });
        }
    }
    Ok(found)
}

/// Their rows.
///
/// # Errors
/// An error of reading the tables.
pub(super) fn rows(source: &dyn Source) -> Result<VirtualRows, SqlError> {
    let rows = all(source)?.into_iter().map(|one| {
        let none = || text(" ");
        let mut row = vec![
            oid(one.number),
            text(&one.name),
            oid(one.schema),
            text("c"),
            Value::Bool(false),
            Value::Bool(false),
            Value::Bool(true),
            oid(0),
            oid(one.domain),
            oid(0),
            oid(0),
            oid(0),
            none(),
            none(),
            none(),
            Value::Bool(true),
            Value::Int(0),
            Value::Bool(false),
        ];
        row.resize(COLUMNS - 1, Value::Null);
        row.push(text(&one.definition));
        row
    });
    Ok(rows.collect())
}

/// The columns of `pg_constraint`.
const COLUMNS: usize = 26;
