//! `DROP COLUMN`: also drops the indexes and constraints of the table that use the column, and the column's own
//! sequence. References of other tables are dropped only with `CASCADE`.

use super::comment::forget;
use super::constraint::{drop_constraint, drop_references};
use super::generated::{depending, generated_of};
use super::index::forget_index;
use super::numbered::with_numbered_rows;
use crate::declared::put_notes;
use crate::define_target::DefineTarget;
use crate::error::{SqlError, code};
use crate::names::{is_domain_check_of, is_hidden_check};
use crate::path::written;
use crate::relation::{Relation, delete_object, forget_listed_name, kind};
use crate::source::Source;
use sardonyx::schema::KeyPart;
use sardonyx_rows::condition::Check;

/// Drops a column of a table.
///
/// # Errors
/// `42703` if there is no such column; `2BP01` if another table refers to it and `cascades` is false; the engine's
/// errors.
pub(super) fn drop_column(
    tx: &mut dyn DefineTarget,
    relation: &Relation,
    name: &str,
    cascades: bool,
) -> Result<(), SqlError> {
    // A failed index build may have left columns that are computed from this one.
    tx.drop_unused_columns(relation.number)?;
    let relation = &Relation::numbered(tx.view(), relation.number)?;
    let column = relation.column(name)?;
    let number = column.number;
    super::trigger::check_column(relation, number)?;
    match cascades {
        true => drop_references(tx, relation.number, |columns| columns.contains(&number))?,
        false => check_unreferenced(tx.view(), relation, number, name)?,
    }
    let numbered;
    let relation = match has(&relation.schema.primary.key, number) {
        // The engine finds rows by the column.
        true => {
            numbered = with_numbered_rows(tx, relation)?;
            &numbered
        }
        false => relation,
    };
    for generated in generated_of(relation, number) {
        let relation = Relation::numbered(tx.view(), relation.number)?;
        drop_column(tx, &relation, &generated, cascades)?;
    }
    for constraint in constraints_of(relation, number) {
        // A constraint may have been dropped with another one.
        let relation = Relation::numbered(tx.view(), relation.number)?;
        drop_constraint(tx, &relation, &constraint, true, cascades)?;
    }
    let relation = Relation::numbered(tx.view(), relation.number)?;
    for (check, _) in &relation.schema.checks {
        // A condition of the column's domain is dropped with the column.
        if is_domain_check_of(check, number) {
            tx.drop_check(relation.number, check)?;
        }
    }
    let mut notes = relation.notes.clone();
    for index in &relation.schema.indexes {
        let included = notes.included.get(&index.name);
        if has(&index.key, number)
            || included.is_some_and(|included| included.contains(&number))
            || index
                .key
                .iter()
                .any(|part| is_of(&relation, part.column, number))
        {
            tx.drop_index(relation.number, &index.name)?;
            forget_index(&mut notes, &index.name);
        }
    }
    let listed = notes.listed.iter();
    let reading = listed.filter(|(_, index)| index.reads(number));
    let reading: Vec<String> = reading.map(|(name, _)| name.clone()).collect();
    for name in &reading {
        forget_index(&mut notes, name);
        forget_listed_name(tx, &relation, name)?;
    }
    for sequence in column.sequences() {
        forget(tx, kind::SEQUENCE, sequence, &[])?;
        delete_object(tx, kind::SEQUENCE, sequence)?;
    }
    notes.columns.remove(&number);
    tx.drop_column(&relation.name, name)?;
    put_notes(tx, relation.number, &notes)
}

fn has(key: &[KeyPart], column: usize) -> bool {
    key.iter().any(|part| part.column == column)
}

/// True if a column of an index is generated from another column.
fn is_of(relation: &Relation, generated: usize, column: usize) -> bool {
    let schema = &relation.schema;
    schema.is_index_column(generated) && schema.generated_of(column).any(|of| of == generated)
}

/// The names of a table's constraints that use a column.
fn constraints_of(relation: &Relation, column: usize) -> Vec<String> {
    let (schema, notes) = (&relation.schema, &relation.notes);
    let references = schema.foreign_keys.iter();
    let references = references.filter(|key| key.columns.contains(&column));
    let checks = schema.checks.iter().filter(|(name, text)| {
        let read = Check::parse(text, schema);
        !is_hidden_check(name) && read.is_ok_and(|check| check.columns().contains(&column))
    });
    let keys = schema.indexes.iter().filter(|index| {
        let name = &index.name;
        let is_constraint =
            notes.constraints.contains(name) || notes.primary_index.as_ref() == Some(name);
        is_constraint && has(&index.key, column)
    });
    let references = references.map(|key| key.name.clone());
    let checks = checks.map(|(name, _)| name.clone());
    let keys = keys.map(|index| index.name.clone());
    references.chain(checks).chain(keys).collect()
}

/// Checks that no other table refers to a column, and no other column is generated from it.
fn check_unreferenced(
    source: &dyn Source,
    relation: &Relation,
    column: usize,
    name: &str,
) -> Result<(), SqlError> {
    let mut depend = depending(relation, column, name);
    for number in source.referring(relation.number) {
        let Some(schema) = source.schema(number) else {
            continue;
        };
        for key in &schema.foreign_keys {
            let names = key.table == relation.number && key.referenced.contains(&column);
            // A reference of the table itself whose columns include the dropped one is dropped, too.
            let goes = number == relation.number && key.columns.contains(&column);
            if names && !goes {
                let by = Relation::numbered(source, number)?.name;
                depend.push(format!(
                    "constraint {} on table {} depends on column {name} of table {}",
                    key.name,
                    written(&by),
                    written(&relation.name)
                ));
            }
        }
    }
    if depend.is_empty() {
        return Ok(());
    }
    Err(SqlError::new(
        code::DEPENDENT_OBJECTS,
        format!(
            "cannot drop column {name} of table {} because other objects depend on it",
            written(&relation.name)
        ),
    )
    .detail(depend.join("\n"))
    .hint("Use DROP ... CASCADE to drop the dependent objects too."))
}
