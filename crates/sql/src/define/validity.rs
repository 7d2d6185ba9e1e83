//! `NOT VALID`: references and conditions that rows of earlier times need not meet.
//!
//! The engine has such a constraint as any other, so it tests each row that is inserted or changed. The table's notes name it,
//! until its rows were found to meet it. Whatever takes such a constraint and adds it again adds it unchecked.

use crate::declared::put_notes;
use crate::define_target::DefineTarget;
use crate::error::SqlError;
use crate::relation::Relation;

/// Runs a step that adds a constraint. If it need not be valid, the rows are not looked at.
///
/// # Errors
/// The errors of the step.
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
