//! The time at which foreign keys and deferrable unique keys are checked: the end of the statement, or of the
//! transaction if they are deferred.
//!
//! While a statement runs, the engine postpones checks of references and keys ([`in_statement`]). At its end those that
//! are not deferred are checked; the others are checked before the commit ([`at_commit`]). `SET CONSTRAINTS` changes
//! this until the transaction ends. The session's parameters keep it, so that a repeated statement finds the modes of
//! its first run.

use crate::error::{SqlError, code};
use crate::expression::Environment;
use crate::parse::SetConstraints;
use crate::path::{beside, kept, unknown_schema};
use crate::relation::{ReferenceNotes, Relation};
use crate::schemas::has_schema;
use crate::search_path::SearchPath;
use crate::settings::ConstraintModes;
use crate::source::Source;
use crate::violations::explained;
use crate::write_target::WriteTarget;
use sardonyx::low_level::{Due, HeldReference};
use sardonyx::schema::OnDelete;
use std::sync::Arc;

/// Runs `SET CONSTRAINTS`: checks the constraints that are immediate from now on.
///
/// # Errors
/// `42704` if there is no such constraint, `3F000` no such schema. `42809` if one is to be deferred and is not deferrable.
/// `23503` or `23505` if one does not hold.
pub(crate) fn set_constraints(
    tx: &mut dyn WriteTarget,
    command: &SetConstraints,
    with: &Environment<'_>,
) -> Result<(), SqlError> {
    let path = Arc::clone(with.context.settings.borrow().path());
    let names = match &command.names {
        None => None,
        Some(names) => {
            let names = names.iter();
            let found = names.map(|name| found(&*tx, name, &path, command.is_deferred));
            Some(found.collect::<Result<_, _>>()?)
        }
    };
    let modes = {
        let mut settings = with.context.settings.borrow_mut();
        settings.set_constraints(names, command.is_deferred);
        settings.constraints().clone()
    };
    check(tx, &modes)
}

/// The name, with its schema, of a constraint: that of the first schema of the path that has one, if none is named.
fn found(
    source: &dyn Source,
    (schema, name): &(Option<String>, String),
    path: &SearchPath,
    is_deferred: bool,
) -> Result<String, SqlError> {
    let schemas = match schema {
        Some(schema) if has_schema(source, schema)? => vec![schema.clone()],
        Some(schema) => return Err(unknown_schema(schema)),
        None => path.all(source, true)?,
    };
    for schema in &schemas {
        let (mut is_there, mut is_deferrable) = (false, false);
        for number in 0..source.definitions().len() as u16 {
            let Ok(relation) = Relation::numbered(source, number) else {
                continue;
            };
            if relation.schema_name() != schema {
                continue;
            }
            let mut keys = relation.schema.foreign_keys.iter();
            let mut indexes = relation.schema.indexes.iter();
            let is_reference = keys.any(|key| key.name == *name);
            let is_key = indexes.any(|index| index.deferrable && index.name == *name);
            is_deferrable |= (is_reference || is_key) && relation.reference_notes(name).deferrable;
            is_there |= relation.has_constraint(name);
        }
        if is_deferrable || is_there && !is_deferred {
            return Ok(kept(schema, name));
        }
        if is_there {
            return Err(SqlError::new(
                code::WRONG_OBJECT_TYPE,
                format!("constraint \"{name}\" is not deferrable"),
            ));
        }
    }
    Err(SqlError::new(
        code::UNKNOWN_OBJECT,
        format!("constraint \"{name}\" does not exist"),
    ))
}

/// Runs a statement on rows: its references are checked at its end.
///
/// # Errors
/// Its own; `23503` if a reference that is not deferred does not hold, `23505` of a key.
pub(crate) fn in_statement<R>(
    tx: &mut dyn WriteTarget,
    with: &Environment<'_>,
    run: impl FnOnce(&mut dyn WriteTarget) -> Result<R, SqlError>,
) -> Result<R, SqlError> {
    tx.hold_references(true);
    let result = run(tx);
    tx.hold_references(false);
    let result = result?;
    let settings = with.context.settings.borrow();
    check(tx, settings.constraints())?;
    Ok(result)
}

/// Checks the references that are due at the end of a statement.
fn check(tx: &mut dyn WriteTarget, modes: &ConstraintModes) -> Result<(), SqlError> {
    check_with(tx, |name, notes| !modes.is_deferred(name, notes))
}

/// Runs the checks that were deferred to the end of the transaction.
///
/// # Errors
/// `23503` if a reference does not hold, `23505` of a key.
pub(crate) fn at_commit(tx: &mut dyn WriteTarget) -> Result<(), SqlError> {
    check_with(tx, |_, _| true)
}

fn check_with(
    tx: &mut dyn WriteTarget,
    is_due: impl Fn(&str, &ReferenceNotes) -> bool,
) -> Result<(), SqlError> {
    let held = tx.held_references();
    if held.is_empty() {
        return Ok(());
    }
    let mut dues: Vec<(HeldReference, Due)> = Vec::with_capacity(held.len());
    for reference in held {
        let due = match Relation::numbered(&*tx, reference.table) {
            Ok(relation) => {
                let notes = relation.reference_notes(&reference.name);
                let mut keys = relation.schema.foreign_keys.iter();
                let key = keys.find(|key| *key.name == *reference.name);
                let restricts = key.is_some_and(|key| key.on_delete == OnDelete::Restrict);
                Due {
                    now: is_due(&beside(&relation.name, &reference.name), &notes),
                    strict_delete: restricts && notes.delete_restricts,
                    strict_update: notes.update_restricts,
                }
            }
            // The table was dropped, and the reference with it.
            Err(_) => Due::NOW,
        };
        dues.push((reference, due));
    }
    let due = |reference: &HeldReference| {
        let mut dues = dues.iter();
        let found = dues.find(|(known, _)| known == reference);
        found.map_or(Due::NOW, |(_, due)| *due)
    };
    let checked = tx.check_held(&due);
    checked.map_err(|error| explained(&*tx, error.into()))
}
