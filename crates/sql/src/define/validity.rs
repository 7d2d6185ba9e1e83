//! `NOT VALID` and `VALIDATE CONSTRAINT`: references and conditions that rows of earlier times need not meet.
//!
//! The engine has such a constraint as any other, so it tests each row that is inserted or changed. The table's notes name it,
//! until its rows were found to meet it. Whatever takes such a constraint and adds it again adds it unchecked.

use super::constraint::no_constraint;
use super::rule::rules_of;
use crate::declared::put_notes;
use crate::define_target::DefineTarget;
use crate::error::{SqlError, code};
use crate::relation::Relation;
use crate::rows::InputRow;
use crate::source::Source;

/// Runs a step that adds a constraint. If it need not be valid, the rows are not looked at.
///
/// # Errors
/// Those of the step.
pub(super) fn adding<T>(
    tx: &mut dyn DefineTarget,
    number: u16,
    is_valid: bool,
    step: impl FnOnce(&mut dyn DefineTarget) -> Result<T, SqlError>,
) -> Result<T, SqlError> {
    if is_valid {
        return step(tx);
    }
    tx.skip_rows(Some(number));
    let done = step(tx);
    tx.skip_rows(None);
    done
}

/// Notes that rows need not meet a constraint of a table.
///
/// # Errors
/// The engine's errors.
pub(super) fn note(tx: &mut dyn DefineTarget, number: u16, name: &str) -> Result<(), SqlError> {
    let relation = Relation::numbered(tx.view(), number)?;
    let mut notes = relation.notes.clone();
    notes.table.clone_from(&relation.name);
    notes.not_valid.insert(name.to_string());
    put_notes(tx, number, &notes)
}

/// `VALIDATE CONSTRAINT`.
///
/// # Errors
/// `42704` if there is no such constraint, `42809` for a key; `23503`, `23514` if a row does not meet it.
pub(super) fn validate(
    tx: &mut dyn DefineTarget,
    relation: &Relation,
    name: &str,
) -> Result<(), SqlError> {
    let schema = &relation.schema;
    let mut references = schema.foreign_keys.iter().map(|key| &key.name);
    let mut conditions = schema.checks.iter().map(|(there, _)| there);
    if !references.any(|there| there == name) && !conditions.any(|there| there == name) {
        return Err(match relation.has_constraint(name) {
            true => SqlError::new(
                code::WRONG_OBJECT_TYPE,
                format!(
                    "constraint \"{name}\" of relation \"{}\" is not a foreign key or check constraint",
                    relation.local()
                ),
            ),
            false => no_constraint(relation, name),
        });
    }
    if !relation.notes.not_valid.contains(name) {
        return Ok(());
    }
    if !tx.has_checked_rows(relation.number) {
        check_rows(tx.view(), relation, name)?;
    }
    let mut notes = relation.notes.clone();
    notes.table.clone_from(&relation.name);
    notes.not_valid.remove(name);
    put_notes(tx, relation.number, &notes)
}

/// Checks all rows of a table.
fn check_rows(source: &dyn Source, relation: &Relation, name: &str) -> Result<(), SqlError> {
    let rules = rules_of(source, relation, name)?;
    let mut violation = None;
    Source::scan(source, relation.number, &mut |row: &dyn InputRow| {
        for rule in &rules {
            if !rule.is_met(row, source)? {
                violation = Some(rule.violation(relation.number, row, source)?);
                return Ok(false);
            }
        }
        Ok(true)
    })?;
    match violation {
        None => Ok(()),
        Some(Some(error)) => Err(error),
        Some(None) => Err(SqlError::new(
            code::CHECK,
            format!("constraint \"{name}\" cannot be tested on a row"),
        )
        .of_table(&relation.name)
        .of_constraint(name)),
    }
}
