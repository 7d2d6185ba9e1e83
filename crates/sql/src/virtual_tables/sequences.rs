//! `pg_sequences`: the sequences with their last numbers; and the sequence that belongs to a column.

use super::Contents::Rows;
use super::constraints::{names_of, sequence_names};
use super::indexes::{SeenIndex, seen_indexes};
use super::information_schema::relations;
use super::{VirtualRows, VirtualTable, oid, text, virtual_table};
use crate::error::{SqlError, code};
use crate::expression::{Environment, check_numbers_read, may_read_numbers};
use crate::path::{beside, local, name_in, schema_of, written_whole};
use crate::relation::{Relation, kind, object, objects, parsed};
use crate::sequences::Sequence;
use crate::source::Source;
use crate::types::SqlType::{Bool, Int8, Name, Regtype};
use crate::views::view_named;
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
    let rights = with.context.rights.borrow().clone();
    for (name, body) in objects(source, kind::SEQUENCE)? {
        let sequence: Sequence = parsed(&body)?;
        let int = |value: i64| Value::Int(value.into());
        let last = match may_read_numbers(source, &rights, &name) {
            true => last_of(with, &name),
            false => None,
        };
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

fn last_of(with: &Environment<'_>, name: &str) -> Option<i64> {
    let (last, is_called) = with.context.sequence_state(name)?;
    is_called.then_some(last)
}

/// The last number of the sequence with a number in `pg_class`; null if it has given none.
///
/// # Errors
/// `42809` if there is no such sequence; `42501` without the right to read its table; an error of reading the tables.
pub(crate) fn last_number(
    source: &dyn Source,
    with: &Environment<'_>,
    number: u32,
) -> Result<Value, SqlError> {
    let mut names = sequence_names(source)?.into_iter();
    let Some((name, _)) = names.find(|(_, own)| *own == number) else {
        let text = format!("the relation with OID {number} is no sequence");
        return Err(SqlError::new(code::WRONG_OBJECT_TYPE, text));
    };
    check_numbers_read(source, &with.context.rights.borrow(), &name)?;
    Ok(last_of(with, &name).map_or(Value::Null, |last| Value::Int(last.into())))
}

/// The sequence that belongs to a column of a table that a text names; null without one, as of a column of another
/// relation.
///
/// # Errors
/// `42P01`, `42703` if there is no such column.
pub(crate) fn serial_sequence(
    source: &dyn Source,
    with: &Environment<'_>,
    table: &str,
    column: &str,
) -> Result<Value, SqlError> {
    let (schema, name) = name_in(table)?;
    let settings = with.context.settings.borrow();
    let kept = settings
        .path()
        .find_name(source, schema.as_deref(), &name)?;
    let relation = match Relation::named(source, &kept) {
        Err(error) if error.code == code::UNKNOWN_TABLE => {
            let columns = columns_of_other(source, with, (schema.as_deref(), &name), &kept)?;
            let Some(columns) = columns else {
                return Err(SqlError::unknown_table(table));
            };
            return match columns.iter().any(|known| known == column) {
                true => Ok(Value::Null),
                false => Err(SqlError::new(
                    code::UNKNOWN_COLUMN,
                    format!("column \"{column}\" of relation \"{name}\" does not exist"),
                )),
            };
        }
        relation => relation?,
    };
    let sequence = relation.column(column)?.sequences().next();
    Ok(sequence.map_or(Value::Null, |name| Value::Text(written_whole(name))))
}

/// The columns of a view, a sequence, an index or a table of the catalogue; `None` if there is none of the name.
fn columns_of_other(
    source: &dyn Source,
    with: &Environment<'_>,
    (schema, name): (Option<&str>, &str),
    kept: &str,
) -> Result<Option<Vec<String>>, SqlError> {
    if let Some(view) = view_named(source, kept)? {
        let columns = with.context.catalogue.view_columns(source, &view)?;
        return Ok(Some(columns.into_iter().map(|one| one.name).collect()));
    }
    if let Some(table) = virtual_table(schema, name) {
        let columns = table.columns.iter();
        return Ok(Some(columns.map(|(name, _)| name.to_string()).collect()));
    }
    if object(source, kind::SEQUENCE, kept)?.is_some() {
        let columns = ["last_value", "log_cnt", "is_called"];
        return Ok(Some(columns.map(str::to_string).to_vec()));
    }
    for relation in relations(source)? {
        let indexes = seen_indexes(&relation);
        let is = |index: &&SeenIndex| beside(&relation.name, &index.name) == kept;
        if let Some(index) = indexes.iter().find(is) {
            let numbers = index.columns.iter().map(|(column, _)| column);
            let numbers = numbers.chain(&index.included);
            let names = numbers.map(|column| names_of(&relation, &[*column]));
            return Ok(Some(names.collect()));
        }
    }
    Ok(None)
}
