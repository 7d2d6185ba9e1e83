//! `ALTER INDEX … RENAME TO` and `ALTER TABLE … RENAME CONSTRAINT`.
//!
//! In main memory an index keeps its tree, so a rename takes the same time for many rows as for none. The notes of the
//! index and of its constraint are renamed with it.

use super::create::{constraint_exists, exists, is_taken};
use crate::declared::put_notes;
use crate::define_target::DefineTarget;
use crate::error::{SqlError, code};
use crate::names::full_match_of;
use crate::path::{beside, local, schema_name};
use crate::relation::{Relation, TableNotes, forget_listed_name, index_named};
use crate::result::{Complete, Tag};
use crate::rights::{Access, Rights};
use sqlparser::ast::{AlterIndexOperation, ObjectName};
use std::collections::BTreeMap;

/// Runs `ALTER INDEX`.
///
/// # Errors
/// `42P01` if there is no such index, `42P07` if the new name is taken; `42501` if its table may not be changed.
pub(super) fn index(
    tx: &mut dyn DefineTarget,
    name: &ObjectName,
    operation: &AlterIndexOperation,
    rights: &Rights,
) -> Result<Complete, SqlError> {
    let AlterIndexOperation::RenameIndex { index_name } = operation;
    let new = schema_name(index_name)?;
    let kept = rights.path().find(tx.view(), name)?;
    let old = local(&kept).to_string();
    let Some((number, _)) = index_named(tx.view(), &kept) else {
        return Err(SqlError::new(
            code::UNKNOWN_TABLE,
            format!("relation \"{old}\" does not exist"),
        ));
    };
    let relation = Relation::numbered(tx.view(), number)?;
    rights.check(&relation.name, Access::Define)?;
    crate::keyspace::check_index(tx.view(), &relation, &old)?;
    of_index(tx, &relation, &old, &new)?;
    Ok(Complete::of(Tag::plain("ALTER INDEX")))
}

/// Runs `RENAME CONSTRAINT`.
///
/// # Errors
/// `42704` if there is no such constraint, `42710` or `42P07` if the new name is taken.
pub(super) fn constraint(
    tx: &mut dyn DefineTarget,
    relation: &Relation,
    old: &str,
    new: &str,
) -> Result<(), SqlError> {
    if !relation.has_constraint(old) {
        let text = format!(
            "constraint \"{old}\" for table \"{}\" does not exist",
            relation.local()
        );
        return Err(SqlError::new(code::UNKNOWN_OBJECT, text));
    }
    if relation.has_constraint(new) {
        return Err(constraint_exists(new, &relation.name));
    }
    let schema = &relation.schema;
    let is_reference = schema.foreign_keys.iter().any(|key| key.name == old);
    if !is_reference && !schema.checks.iter().any(|(name, _)| name == old) {
        return of_index(tx, relation, old, new);
    }
    // The engine renames the first one of a name, and would take the index.
    if schema.indexes.iter().any(|index| index.name == old) {
        let text = format!("constraint \"{old}\" is not renamed while an index has its name");
        return Err(SqlError::unsupported(text).hint("Rename the index first."));
    }
    tx.rename_constraint(relation.number, old, new)?;
    let (full, new_full) = (full_match_of(old), full_match_of(new));
    if is_reference && schema.checks.iter().any(|(name, _)| *name == full) {
        tx.rename_constraint(relation.number, &full, &new_full)?;
    }
    let mut notes = notes_of(relation);
    rename_constraint(&mut notes, old, new);
    put_notes(tx, relation.number, &notes)
}

/// Gives an index, and the constraint that it is, another name.
fn of_index(
    tx: &mut dyn DefineTarget,
    relation: &Relation,
    old: &str,
    new: &str,
) -> Result<(), SqlError> {
    let kept = beside(&relation.name, new);
    if is_taken(tx, &kept)? {
        return Err(exists(&kept));
    }
    let mut notes = notes_of(relation);
    let is_primary = relation.primary_constraint().as_deref() == Some(old);
    // References and conditions may have the name of an index that is no constraint.
    if is_primary || notes.constraints.iter().any(|name| name == old) {
        rename_constraint(&mut notes, old, new);
    }
    rename_index(&mut notes, old, new);
    if relation.notes.listed.contains_key(old) {
        forget_listed_name(tx, relation, old)?;
    }
    let mut indexes = relation.schema.indexes.iter();
    if indexes.any(|index| index.name == old) {
        tx.rename_constraint(relation.number, old, new)?;
    } else if !relation.notes.listed.contains_key(old) {
        // The engine's own key has a name in the notes alone.
        notes.primary_name = Some(new.to_string());
    }
    put_notes(tx, relation.number, &notes)
}

fn notes_of(relation: &Relation) -> TableNotes {
    let mut notes = relation.notes.clone();
    notes.table.clone_from(&relation.name);
    notes
}

fn moved<V>(map: &mut BTreeMap<String, V>, old: &str, new: &str) {
    if let Some(value) = map.remove(old) {
        map.insert(new.to_string(), value);
    }
}

/// Gives the notes of a constraint another name.
fn rename_constraint(notes: &mut TableNotes, old: &str, new: &str) {
    moved(&mut notes.references, old, new);
    moved(&mut notes.constraint_comments, old, new);
    if notes.not_valid.remove(old) {
        notes.not_valid.insert(new.to_string());
    }
}

/// Gives the notes of an index another name. A constraint that is an index has it, too.
fn rename_index(notes: &mut TableNotes, old: &str, new: &str) {
    let names = notes.constraints.iter_mut().chain(&mut notes.primary_index);
    for name in names.filter(|name| *name == old) {
        *name = new.to_string();
    }
    moved(&mut notes.index_comments, old, new);
    moved(&mut notes.included, old, new);
    moved(&mut notes.operator_classes, old, new);
    moved(&mut notes.other_nulls, old, new);
    moved(&mut notes.methods, old, new);
    moved(&mut notes.listed, old, new);
}
