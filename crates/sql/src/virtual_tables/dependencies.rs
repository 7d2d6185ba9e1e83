//! `pg_depend`: the sequences of columns, by which programs find the sequence that numbers a table's rows. Other dependencies
//! are not listed.

use super::Contents::Rows;
use super::constraints::sequence_names;
use super::information_schema::relations;
use super::{VirtualRows, VirtualTable, oid, text};
use crate::error::SqlError;
use crate::expression::Environment;
use crate::relation::table_oid;
use crate::source::Source;
use crate::types::SqlType::{Int4, Oid, OneChar};
use sardonyx::schema::Value;
use std::collections::HashMap;

/// The number of `pg_class`.
const PG_CLASS: u32 = 1259;

pub(super) const TABLES: &[VirtualTable] = &[VirtualTable {
    schema: "pg_catalog",
    name: "pg_depend",
    oid: 2608,
    columns: &[
        ("classid", Oid),
        ("objid", Oid),
        ("objsubid", Int4),
        ("refclassid", Oid),
        ("refobjid", Oid),
        ("refobjsubid", Int4),
        ("deptype", OneChar),
    ],
    contents: Rows(dependencies),
}];

fn dependencies(source: &dyn Source, _: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let numbers: HashMap<String, u32> = sequence_names(source)?.into_iter().collect();
    let mut rows = Vec::new();
    for relation in relations(source)? {
        for (at, column) in relation.columns.iter().enumerate() {
            for sequence in column.sequences() {
                let Some(number) = numbers.get(sequence) else {
                    continue;
                };
                // An identity's sequence is a part of the column.
                let is_identity =
                    column.identity.is_some() && column.sequence.as_ref() == Some(sequence);
                rows.push(vec![
                    oid(PG_CLASS),
                    oid(*number),
                    Value::Int(0),
                    oid(PG_CLASS),
                    oid(table_oid(relation.number)),
                    Value::Int(at as i128 + 1),
                    text(if is_identity { "i" } else { "a" }),
                ]);
            }
        }
    }
    Ok(rows)
}
