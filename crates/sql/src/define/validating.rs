//! `VALIDATE CONSTRAINT`: all rows of a table are found to meet a reference or a condition that was not valid.

use super::constraint::no_constraint;
use super::rule::rules_of;
use crate::declared::put_notes;
use crate::define_target::DefineTarget;
use crate::error::{SqlError, code};
use crate::relation::Relation;
use crate::rows::InputRow;
use crate::source::Source;

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
