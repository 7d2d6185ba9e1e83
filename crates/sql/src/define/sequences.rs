//! `CREATE` and `ALTER SEQUENCE`, and sequences that belong to a column.
//!
//! A column draws of its own sequence, as `serial` and identities do, or the sequence is only dropped with the column
//! (`OWNED BY`). A dump of PostgreSQL names the owner of a sequence first, and sets the column's default later. From
//! then on the column draws of it, as if declared `serial`.
//!
//! Invariants: a sequence has at most one owner. A sequence that changes without `RESTART` draws no number twice:
//! others may draw of it until the change commits, and it continues after their numbers.

use super::constraint::notes_of_column;
use super::create::{check_new_name, exists, is_taken};
use super::granting::Owners;
use super::options::{check_owner, skipped};
use super::sequence::{changed, sequence_of, whole_of_text};
use crate::database::Database;
use crate::declared::put_notes;
use crate::define_target::DefineTarget;
use crate::error::{SqlError, code};
use crate::names::{comment_name, name_of};
use crate::parse::{Restart, SequenceChange, SequenceCommand};
use crate::path::{PUBLIC, beside, kept, local, name_in, schema_of, shown, written, written_whole};
use crate::relation::{
    ColumnNotes, Relation, RelationColumn, TableNotes, delete_object, kind, object, parsed,
    printed, put_object,
};
use crate::result::{Complete, Tag};
use crate::rights::{Access, Rights};
use crate::search_path::SearchPath;
use crate::sequence_names::{drawn_of, renamed};
use crate::sequences::{Sequence, SequenceChanges};
use crate::types::SqlType;
use crate::virtual_tables::relations;
use sqlparser::ast::{ObjectName, ObjectNamePart, SequenceOptions};

const WORD: &str = "ALTER SEQUENCE";

/// Runs `CREATE SEQUENCE`.
///
/// # Errors
/// Invalid SQL.
pub(super) fn create(
    tx: &mut dyn DefineTarget,
    name: &str,
    if_not_exists: bool,
    options: &[SequenceOptions],
    rights: &Rights,
) -> Result<Complete, SqlError> {
    const WORD: &str = "CREATE SEQUENCE";
    tx.check_sequences()?;
    if is_taken(tx, name)? {
        return match if_not_exists {
            true => {
                let message = format!("relation \"{}\" already exists, skipping", local(name));
                Ok(skipped(WORD, code::DUPLICATE_TABLE, message))
            }
            false => Err(exists(name)),
        };
    }
    let (owner, options) = split_owner(options);
    let sequence = sequence_of(&options, SqlType::Int8)?;
    put_object(tx, kind::SEQUENCE, name, &printed(&sequence)?)?;
    if let Some(owner) = owner {
        set_owner(tx, name, owner.as_ref(), rights)?;
    }
    Ok(Complete::of(Tag::plain(WORD)))
}

/// Runs `ALTER SEQUENCE`.
///
/// # Errors
/// `42P01` if there is no such sequence; `42P07` if the new name is taken; `42501` if it may not be changed. Invalid
/// options.
pub(super) fn run(
    tx: &mut dyn DefineTarget,
    database: &Database,
    command: &SequenceCommand,
    sequences: &mut SequenceChanges,
    (user, rights): (Owners<'_>, &Rights),
) -> Result<Complete, SqlError> {
    tx.check_sequences()?;
    let path = rights.path();
    let name = path.find(tx.view(), &command.name)?;
    let Some(body) = object(tx.view(), kind::SEQUENCE, &name)? else {
        if is_taken(tx, &name)? {
            let text = format!("\"{}\" is not a sequence", local(&name));
            return Err(SqlError::new(code::WRONG_OBJECT_TYPE, text));
        }
        if !command.if_exists {
            return Err(SqlError::unknown_table(&name));
        }
        let message = format!("relation \"{}\" does not exist, skipping", shown(&name));
        return Ok(skipped(WORD, "00000", message));
    };
    match owner_of(tx, &name)? {
        Some((relation, _)) => rights.check(&relation.name, Access::Define)?,
        None => rights.check(&name, Access::Define)?,
    }
    match &command.change {
        SequenceChange::OwnerTo(owner) => check_owner(owner, user)?,
        SequenceChange::SetLogged => {}
        SequenceChange::RenameTo(to) => {
            let to = beside(&name, to);
            rights.check(&to, Access::Define)?;
            check_new_name(tx, &to)?;
            move_to(tx, &name, &to)?;
            sequences.goes_on(database.counters(), &name, &to, 0)?;
        }
        SequenceChange::SetSchema(schema) => {
            if owner_of(tx, &name)?.is_some() {
                return Err(SqlError::unsupported(
                    "cannot move an owned sequence into another schema",
                ));
            }
            if schema != schema_of(&name) {
                let to = path.moved_name(tx.view(), schema, local(&name))?;
                rights.check(&to, Access::Define)?;
                check_new_name(tx, &to)?;
                move_to(tx, &name, &to)?;
                sequences.goes_on(database.counters(), &name, &to, 0)?;
            }
        }
        SequenceChange::Options { options, restart } => {
            let (owners, others) = split_owner(options);
            let before: Sequence = parsed(&body)?;
            if !others.is_empty() || restart.is_some() {
                let numbers = sequences
                    .with_counter(database.counters(), &name, |c| Ok((c.next, c.last())))?;
                let restart = match restart {
                    None => None,
                    Some(Restart::AtStart) => Some(None),
                    Some(Restart::With(text)) => Some(Some(whole_of_text(text)?)),
                };
                let after = changed(&before, numbers, &others, restart)?;
                put_object(tx, kind::SEQUENCE, &name, &printed(&after)?)?;
                if restart.is_none() {
                    let step = i128::from(after.increment) - i128::from(before.increment);
                    let step = if numbers.1.is_some() { step } else { 0 };
                    sequences.goes_on(database.counters(), &name, &name, step)?;
                } else {
                    sequences.begins_anew(&name);
                }
            }
            if let Some(owner) = owners {
                set_owner(tx, &name, owner.as_ref(), rights)?;
            }
        }
    }
    Ok(Complete::of(Tag::plain(WORD)))
}

/// The `OWNED BY` of options, and the others. The parser takes each option once.
pub(super) fn split_owner(
    options: &[SequenceOptions],
) -> (Option<Option<ObjectName>>, Vec<SequenceOptions>) {
    let mut owner = None;
    let mut others = Vec::new();
    for option in options {
        match option {
            SequenceOptions::OwnedBy(by) => owner = Some(by.clone()),
            other => others.push(other.clone()),
        }
    }
    (owner, others)
}

/// The table and the column to which a sequence belongs.
fn owner_of(tx: &dyn DefineTarget, sequence: &str) -> Result<Option<(Relation, usize)>, SqlError> {
    for relation in relations(tx.view())? {
        let place = relation.columns.iter().position(|column| {
            let mut sequences = column.sequences();
            sequences.any(|there| there == sequence)
        });
        if let Some(place) = place {
            return Ok(Some((relation, place)));
        }
    }
    Ok(None)
}

/// Gives a sequence to a column, or to none.
///
/// # Errors
/// `42601` for a name without a column; `42P01`, `42703` if there is no such column; `55000` if its table is in another
/// schema; `0A000` for the sequence of an identity; `42501` if the table may not be changed.
pub(super) fn set_owner(
    tx: &mut dyn DefineTarget,
    sequence: &str,
    owner: Option<&ObjectName>,
    rights: &Rights,
) -> Result<(), SqlError> {
    let new = owner.map(|owner| column_of(tx, owner, rights.path()));
    let new = new.transpose()?;
    if let Some((relation, _)) = &new {
        rights.check(&relation.name, Access::Define)?;
    }
    if let Some((relation, _)) = &new
        && schema_of(&relation.name) != schema_of(sequence)
    {
        return Err(SqlError::new(
            code::NOT_IN_PREREQUISITE_STATE,
            "sequence must be in same schema as table it is linked to",
        ));
    }
    if let Some((relation, place)) = owner_of(tx, sequence)? {
        let column = &relation.columns[place];
        if column.identity.is_some() && column.sequence.as_deref() == Some(sequence) {
            return Err(
                SqlError::unsupported("cannot change ownership of identity sequence").detail(
                    format!(
                        "Sequence \"{}\" is linked to table \"{}\".",
                        local(sequence),
                        relation.local()
                    ),
                ),
            );
        }
        let is_same = new
            .as_ref()
            .is_some_and(|(other, name)| other.number == relation.number && *name == column.name);
        if is_same {
            return Ok(());
        }
        let mut notes = notes_to_change(&relation);
        let of = notes_of_column(&mut notes, column);
        of.owned.retain(|there| there != sequence);
        if of.sequence.as_deref() == Some(sequence) {
            // The column still draws of it.
            of.sequence = None;
            let text = written(sequence).replace('\'', "''");
            of.default = Some(format!("nextval('{text}'::regclass)"));
        }
        put_notes(tx, relation.number, &notes)?;
    }
    let Some((relation, column)) = new else {
        return Ok(());
    };
    let relation = Relation::numbered(tx.view(), relation.number)?;
    let column = relation.column(&column)?;
    let mut notes = notes_to_change(&relation);
    let of = notes_of_column(&mut notes, column);
    of.owned.push(sequence.to_string());
    draw_of_own(of, column.spec.kind)?;
    put_notes(tx, relation.number, &notes)
}

/// Makes a column whose default only draws of its own sequence like one that was declared `serial`.
///
/// # Errors
/// `42602` if the default cannot be read.
pub(super) fn draw_of_own(of: &mut ColumnNotes, kind: SqlType) -> Result<(), SqlError> {
    let is_whole = matches!(kind, SqlType::Int2 | SqlType::Int4 | SqlType::Int8);
    let Some(text) = of.default.as_deref().filter(|_| is_whole) else {
        return Ok(());
    };
    let Some(drawn) = drawn_of(text)? else {
        return Ok(());
    };
    if of.sequence.is_none() && of.domain.is_none() && of.owned.contains(&drawn) {
        of.owned.retain(|there| *there != drawn);
        (of.sequence, of.default) = (Some(drawn), None);
    }
    Ok(())
}

/// Renames the sequence of an identity: `SEQUENCE NAME` in dumps of PostgreSQL.
///
/// # Errors
/// `42602` for an invalid name; `42P07` if it is taken; `55000` if it is in another schema.
pub(super) fn named_by_identity(
    tx: &mut dyn DefineTarget,
    relation: &Relation,
    column: &RelationColumn,
    name: &str,
) -> Result<(), SqlError> {
    let (schema, name) = name_in(name)?;
    let to = match schema {
        Some(schema) => kept(&schema, &name),
        None => beside(&relation.name, &name),
    };
    let Some(from) = column.sequence.as_ref().filter(|from| **from != to) else {
        return Ok(());
    };
    if schema_of(&to) != schema_of(&relation.name) {
        return Err(SqlError::new(
            code::NOT_IN_PREREQUISITE_STATE,
            "sequence must be in same schema as table it is linked to",
        ));
    }
    check_new_name(tx, &to)?;
    move_to(tx, from, &to)
}

/// The table and the column of `OWNED BY`.
fn column_of(
    tx: &dyn DefineTarget,
    owner: &ObjectName,
    path: &SearchPath,
) -> Result<(Relation, String), SqlError> {
    let wrong = || {
        SqlError::syntax("invalid OWNED BY option")
            .hint("Specify OWNED BY table.column or OWNED BY NONE.")
    };
    let (last, table) = owner.0.split_last().ok_or_else(wrong)?;
    let ObjectNamePart::Identifier(column) = last else {
        return Err(wrong());
    };
    if table.is_empty() {
        return Err(wrong());
    }
    let table = path.find(tx.view(), &ObjectName(table.to_vec()))?;
    let relation = Relation::named(tx.view(), &table)?;
    let column = name_of(column);
    if relation.column(&column).is_err() {
        let text = format!(
            "column \"{column}\" of relation \"{}\" does not exist",
            relation.local()
        );
        return Err(SqlError::new(code::UNKNOWN_COLUMN, text));
    }
    Ok((relation, column))
}

fn notes_to_change(relation: &Relation) -> TableNotes {
    let mut notes = relation.notes.clone();
    notes.table.clone_from(&relation.name);
    notes
}

/// Keeps a sequence under another name, with all that names it.
pub(super) fn move_to(tx: &mut dyn DefineTarget, from: &str, to: &str) -> Result<(), SqlError> {
    for relation in relations(tx.view())? {
        let mut notes = notes_to_change(&relation);
        for column in notes.columns.values_mut() {
            for name in column.sequence.iter_mut().chain(&mut column.owned) {
                if name == from {
                    *name = to.to_string();
                }
            }
            if let Some(text) = &mut column.default {
                *text = renamed(text, |name| {
                    Ok((of_text(name).as_deref() == Some(from)).then(|| written_whole(to)))
                })?;
            }
        }
        if notes != relation.notes {
            put_notes(tx, relation.number, &notes)?;
        }
    }
    for (of, from, to) in [
        (kind::SEQUENCE, from.to_string(), to.to_string()),
        (
            kind::COMMENT,
            comment_name(kind::SEQUENCE, from, None),
            comment_name(kind::SEQUENCE, to, None),
        ),
    ] {
        if let Some(body) = object(tx.view(), of, &from)? {
            delete_object(tx, of, &from)?;
            put_object(tx, of, &to, &body)?;
        }
    }
    Ok(())
}

/// The kept name of a sequence in a default's text.
fn of_text(name: &str) -> Option<String> {
    let (schema, name) = name_in(name).ok()?;
    Some(kept(schema.as_deref().unwrap_or(PUBLIC), &name))
}
