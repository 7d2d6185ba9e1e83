//! `ALTER COLUMN … ADD GENERATED … AS IDENTITY` and `DROP IDENTITY`: a column gets a sequence of its own, or loses it.

use super::columns::identity_of;
use super::comment::forget;
use super::constraint::notes_of_column;
use super::create::{add_sequence_of, exists, is_taken};
use super::sequence::sequence_of;
use crate::declared::put_notes;
use crate::define_target::DefineTarget;
use crate::error::{SqlError, code};
use crate::path::{beside, name_in, schema_of};
use crate::relation::{
    DefaultValue, Relation, RelationColumn, delete_object, kind, printed, put_object,
};
use crate::sequences::Sequence;
use sardonyx::schema::Value;
use sqlparser::ast::{GeneratedAs, SequenceOptions};

fn wrong(message: String) -> SqlError {
    SqlError::new(code::NOT_IN_PREREQUISITE_STATE, message)
}

/// A column's name with that of its table, as errors have it.
fn called(relation: &Relation, column: &RelationColumn) -> String {
    format!(
        "column \"{}\" of relation \"{}\"",
        column.name,
        relation.local()
    )
}

/// Creates a sequence with a name for a column. Returns the name under which it is kept.
///
/// # Errors
/// `42P07` if there is a relation of the name; `55000` for another schema than that of the table.
pub(super) fn add_named(
    tx: &mut dyn DefineTarget,
    table: &str,
    name: &str,
    sequence: &Sequence,
) -> Result<String, SqlError> {
    tx.check_sequences()?;
    let (schema, name) = name_in(name)?;
    if schema.is_some_and(|schema| schema != schema_of(table)) {
        let text = "sequence must be in same schema as table it is linked to";
        return Err(SqlError::new(code::NOT_IN_PREREQUISITE_STATE, text));
    }
    let kept = beside(table, &name);
    if is_taken(tx, &kept)? {
        return Err(exists(&kept));
    }
    put_object(tx, kind::SEQUENCE, &kept, &printed(sequence)?)?;
    Ok(kept)
}

/// Gives a column a sequence. Existing rows keep their numbers, and the sequence begins at the number in its options.
///
/// # Errors
/// `55000` if the column has an identity or a default, or may be null; `22023` for types without numbers.
pub(super) fn add(
    tx: &mut dyn DefineTarget,
    relation: &Relation,
    column: &RelationColumn,
    (generated, options): (GeneratedAs, &[SequenceOptions]),
) -> Result<(), SqlError> {
    let letter = identity_of(column.spec.kind, generated)?;
    let called = called(relation, column);
    if !column.not_null {
        return Err(wrong(format!(
            "{called} must be declared NOT NULL before identity can be added"
        )));
    }
    if column.identity.is_some() {
        return Err(wrong(format!("{called} is already an identity column")));
    }
    let has_default = column.default != DefaultValue::Value(Value::Null);
    if has_default || column.sequence.is_some() || column.is_generated {
        return Err(wrong(format!("{called} already has a default value")));
    }
    let sequence = sequence_of(options, column.spec.kind)?;
    let name = add_sequence_of(tx, &relation.name, &column.name, &sequence)?;
    let mut notes = relation.notes.clone();
    notes.table.clone_from(&relation.name);
    let of = notes_of_column(&mut notes, column);
    (of.identity, of.sequence, of.default) = (Some(letter), Some(name), None);
    put_notes(tx, relation.number, &notes)
}

/// Takes a column's sequence away.
///
/// # Errors
/// `55000` if the column is no identity, unless `if_exists` is true.
pub(super) fn drop(
    tx: &mut dyn DefineTarget,
    relation: &Relation,
    column: &RelationColumn,
    if_exists: bool,
) -> Result<(), SqlError> {
    if column.identity.is_none() {
        return match if_exists {
            true => Ok(()),
            false => Err(wrong(format!(
                "{} is not an identity column",
                called(relation, column)
            ))),
        };
    }
    let mut notes = relation.notes.clone();
    notes.table.clone_from(&relation.name);
    let of = notes_of_column(&mut notes, column);
    of.identity = None;
    of.default = Some("null".into());
    if let Some(sequence) = of.sequence.take() {
        forget(tx, kind::SEQUENCE, &sequence, &[])?;
        delete_object(tx, kind::SEQUENCE, &sequence)?;
    }
    put_notes(tx, relation.number, &notes)
}
