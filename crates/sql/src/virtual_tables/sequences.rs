//! `pg_sequences`: the sequences with their last numbers.

use super::Contents::Rows;
use super::{VirtualRows, VirtualTable, oid, text};
use crate::error::SqlError;
use crate::expression::Environment;
use crate::path::{local, schema_of};
use crate::relation::{kind, objects, parsed};
use crate::sequences::Sequence;
use crate::source::Source;
use crate::types::SqlType::{Bool, Int8, Name, Regtype};
use sardonyx::schema::Value;

pub(super) const TABLES: &[VirtualTable] = &[VirtualTable {
    schema: "pg_catalog",
    name: "pg_sequences",
    oid: 12_026,
    columns: &[
        ("schemaname", Name),
        ("sequencename", Name),
        ("sequenceowner", Name),
        ("data_type", Regtype),
        ("start_value", Int8),
        ("min_value", Int8),
        ("max_value", Int8),
        ("increment_by", Int8),
        ("cycle", Bool),
        ("cache_size", Int8),
        ("last_value", Int8),
    ],
    contents: Rows(rows),
}];

fn rows(source: &dyn Source, with: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let mut rows = Vec::new();
    for (name, body) in objects(source, kind::SEQUENCE)? {
        let sequence: Sequence = parsed(&body)?;
        let int = |value: i64| Value::Int(value.into());
        let database = with.context.database.as_ref();
        let draws = with.context.draws.borrow();
        let last = database.and_then(|one| draws.last_of(one.counters(), &name));
        rows.push(vec![
            text(schema_of(&name)),
            text(local(&name)),
            text(&with.context.user),
            oid(sequence.kind().oid()),
            int(sequence.start),
            int(sequence.minimum),
            int(sequence.maximum),
            int(sequence.increment),
            Value::Bool(sequence.cycles),
            int(1),
            last.map_or(Value::Null, int),
        ]);
    }
    Ok(rows)
}
