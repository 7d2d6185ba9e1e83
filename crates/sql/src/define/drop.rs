//! `DROP` and `TRUNCATE`.

use super::comment::forget;
use super::constraint::{check_not_referred, drop_constraint};
use super::dependents::cascades_to;
use super::index::forget_index;
use super::options::refuse;
use super::options::skipped;
use crate::declared::put_notes;
use crate::define_target::DefineTarget;
use crate::error::{SqlError, code};
use crate::names::qualified;
use crate::path::{
    PUBLIC, is_of_catalogue, kept, local, name_in, schema_of, shown, unknown_schema, written,
};
use crate::relation::{
    Relation, RelationColumn, TriggerNotes, delete_object, forget_listed_name, index_named, kind,
    object, parsed, printed, put_object,
};
use crate::result::{Complete, Notice, Tag};
use crate::rights::{Access, Rights};
use crate::routines::all as functions;
use crate::schemas::has_schema;
use crate::search_path::SearchPath;
use crate::sequence_names::renamed;
use crate::sequences::{Sequence, SequenceChanges};
use crate::source::Source;
use crate::virtual_tables::relations;
use sardonyx_rows::TableError;
use sqlparser::ast::{CascadeOption, ObjectName, Truncate, TruncateIdentityOption};
use std::collections::BTreeSet;

/// Runs `DROP TABLE` and `DROP MATERIALIZED VIEW`.
///
/// # Errors
/// `42P01` if there is no such table, `2BP01` if others refer to it.
pub(super) fn tables(
    tx: &mut dyn DefineTarget,
    names: &[ObjectName],
    (if_exists, cascade): (bool, bool),
    is_materialized: bool,
    path: &SearchPath,
) -> Result<Complete, SqlError> {
    let word = match is_materialized {
        true => "DROP MATERIALIZED VIEW",
        false => "DROP TABLE",
    };
    let mut complete = Complete::of(Tag::plain(word));
    let mut relations = Vec::with_capacity(names.len());
    for name in names {
        let Some(name) = in_schema(tx, name, path, (word, if_exists), &mut complete)? else {
            continue;
        };
        let wanted = (word, if_exists, is_materialized);
        relations.extend(to_drop(tx, &name, wanted, &mut complete)?);
    }
    let dropped = drop_all(tx, relations, cascade)?;
    complete.notices.extend(cascades_to(&dropped));
    Ok(complete)
}

/// Returns the stored name of an object to drop. `None` if its schema does not exist, and `IF EXISTS` was given.
///
/// # Errors
/// `3F000` if the schema does not exist, without `IF EXISTS`.
pub(super) fn in_schema(
    tx: &dyn DefineTarget,
    name: &ObjectName,
    path: &SearchPath,
    (word, if_exists): (&'static str, bool),
    complete: &mut Complete,
) -> Result<Option<String>, SqlError> {
    let source = tx.view();
    let found = path.find(source, name)?;
    let schema = schema_of(&found);
    let is_qualified = qualified(name)?.0.is_some();
    if is_qualified && !is_of_catalogue(schema) && !has_schema(source, schema)? {
        let error = unknown_schema(schema);
        if !if_exists {
            return Err(error);
        }
        let message = format!("{}, skipping", error.message);
        complete
            .notices
            .extend(skipped(word, "00000", message).notices);
        return Ok(None);
    }
    Ok(Some(found))
}

/// Drops tables as with `CASCADE`.
///
/// # Errors
/// The engine's errors.
pub(crate) fn drop_kept(
    tx: &mut dyn DefineTarget,
    relations: Vec<Relation>,
) -> Result<(), SqlError> {
    drop_all(tx, relations, true).map(drop)
}

/// Drops tables, with the references among them, and, with `cascade`, those of other tables to them and the functions that
/// give their rows. Returns the descriptions of these functions.
///
/// # Errors
/// `2BP01` if other tables refer to them, or a function gives rows of one.
pub(super) fn drop_all(
    tx: &mut dyn DefineTarget,
    relations: Vec<Relation>,
    cascade: bool,
) -> Result<Vec<String>, SqlError> {
    // Drops the references among these tables and, with `cascade`, those of other tables to them.
    let numbers: Vec<u16> = relations.iter().map(|relation| relation.number).collect();
    let source = tx.view();
    let referring = numbers.iter().flat_map(|number| source.referring(*number));
    let all: BTreeSet<u16> = referring.collect();
    let mut depend = Vec::new();
    let mut dropped = Vec::new();
    let is_of_these = |name: &str| relations.iter().any(|relation| relation.name == name);
    for function in functions(source)? {
        let Some(table) = function.table().filter(|table| is_of_these(table)) else {
            continue;
        };
        let what = format!("function {}", super::function::shown(tx.view(), &function)?);
        if cascade {
            function.remove(tx)?;
            dropped.push(what);
        } else {
            depend.push(format!("{what} depends on type {}", written(table)));
        }
    }
    for other in all {
        let Some(schema) = tx.view().schema(other) else {
            continue;
        };
        for key in &schema.foreign_keys {
            let goes = numbers.contains(&key.table);
            if goes && other != key.table && (cascade || numbers.contains(&other)) {
                let relation = Relation::numbered(tx.view(), other)?;
                drop_constraint(tx, &relation, &key.name, false, false)?;
            } else if goes && other != key.table {
                let by = Relation::numbered(tx.view(), other)?.name;
                let on = Relation::numbered(tx.view(), key.table)?.name;
                let (key, by, on) = (&key.name, written(&by), written(&on));
                depend.push(format!(
                    "constraint {key} on table {by} depends on table {on}"
                ));
            }
        }
    }
    if !depend.is_empty() {
        let what = match relations.as_slice() {
            [one] => {
                let kind = match one.notes.materialized {
                    Some(_) => "materialized view",
                    None => "table",
                };
                let name = written(&one.name);
                format!("cannot drop {kind} {name} because other objects depend on it")
            }
            _ => "cannot drop desired object(s) because other objects depend on them".into(),
        };
        return Err(SqlError::new(code::DEPENDENT_OBJECTS, what)
            .detail(depend.join("\n"))
            .hint("Use DROP ... CASCADE to drop the dependent objects too."));
    }
    for relation in relations {
        for name in relation.notes.listed.keys() {
            forget_listed_name(tx, &relation, name)?;
        }
        tx.drop_table(&relation.name)?;
        delete_object(tx, kind::TABLE, &relation.number.to_string())?;
        delete_object(tx, kind::MATERIALIZED, &relation.number.to_string())?;
        for column in &relation.columns {
            for sequence in column.sequences() {
                forget(tx, kind::SEQUENCE, sequence, &[])?;
                delete_object(tx, kind::SEQUENCE, sequence)?;
            }
        }
    }
    Ok(dropped)
}

/// Runs `DROP INDEX`.
///
/// # Errors
/// `42704` if there is no such index; `42501` if its table may not be changed; `2BP01` if a constraint needs it.
pub(super) fn indexes(
    tx: &mut dyn DefineTarget,
    names: &[ObjectName],
    if_exists: bool,
    rights: &Rights,
) -> Result<Complete, SqlError> {
    const WORD: &str = "DROP INDEX";
    let mut complete = Complete::of(Tag::plain(WORD));
    for name in names {
        let Some(kept) = in_schema(tx, name, rights.path(), (WORD, if_exists), &mut complete)?
        else {
            continue;
        };
        let name = local(&kept).to_string();
        let source = tx.view();
        let Some((number, is_primary)) = index_named(source, &kept) else {
            if if_exists {
                let message = format!("index \"{name}\" does not exist, skipping");
                complete
                    .notices
                    .extend(skipped(WORD, "00000", message).notices);
                continue;
            }
            return Err(SqlError::new(
                code::UNKNOWN_OBJECT,
                format!("index \"{name}\" does not exist"),
            ));
        };
        let relation = Relation::numbered(source, number)?;
        rights.check(&relation.name, Access::Define)?;
        crate::keyspace::check_index(source, &relation, &name)?;
        let notes = &relation.notes;
        let is_constraint =
            notes.constraints.contains(&name) || notes.primary_index.as_ref() == Some(&name);
        if is_primary || is_constraint {
            return Err(SqlError::new(
                code::DEPENDENT_OBJECTS,
                format!(
                    "cannot drop index {name} because constraint {name} on table {} requires it",
                    relation.local()
                ),
            )
            .hint("You can drop the constraint instead: ALTER TABLE … DROP CONSTRAINT."));
        }
        check_not_referred(source, &relation, &name, "index")?;
        // A program without SQL may have made an index with the name of a listed one: both go.
        let mut indexes = relation.schema.indexes.iter();
        if indexes.any(|index| index.name == name) {
            tx.drop_index(number, &name)?;
        }
        if relation.notes.listed.contains_key(&name) {
            forget_listed_name(tx, &relation, &name)?;
        }
        let mut notes = relation.notes.clone();
        if forget_index(&mut notes, &name) {
            put_notes(tx, number, &notes)?;
        }
    }
    Ok(complete)
}

/// Runs `DROP SEQUENCE`.
///
/// # Errors
/// `42P01` if there is no such sequence; `2BP01` if a column uses it.
pub(super) fn sequences(
    tx: &mut dyn DefineTarget,
    names: &[ObjectName],
    (if_exists, cascade): (bool, bool),
    path: &SearchPath,
) -> Result<Complete, SqlError> {
    const WORD: &str = "DROP SEQUENCE";
    let mut complete = Complete::of(Tag::plain(WORD));
    for name in names {
        let Some(name) = in_schema(tx, name, path, (WORD, if_exists), &mut complete)? else {
            continue;
        };
        let dropped = leave_sequence(tx, &name, cascade)?;
        complete.notices.extend(dropped);
        forget(tx, kind::SEQUENCE, &name, &[])?;
        if !delete_object(tx, kind::SEQUENCE, &name)? {
            if !if_exists {
                return Err(SqlError::unknown_table(&name));
            }
            let message = format!("sequence \"{}\" does not exist, skipping", local(&name));
            complete
                .notices
                .extend(skipped(WORD, "00000", message).notices);
        }
    }
    Ok(complete)
}

/// Has no column draw of a sequence, or own it. Returns notices of the defaults that went with it.
///
/// # Errors
/// `2BP01` if a column draws of it, unless `cascade` is true and it is no identity.
fn leave_sequence(
    tx: &mut dyn DefineTarget,
    name: &str,
    cascade: bool,
) -> Result<Vec<Notice>, SqlError> {
    let mut notices = Vec::new();
    for relation in relations(tx.view())? {
        let mut notes = relation.notes.clone();
        notes.table.clone_from(&relation.name);
        for column in &relation.columns {
            let Some(of) = notes.columns.get_mut(&column.number) else {
                continue;
            };
            of.owned.retain(|there| there != name);
            let mut draws = of.sequence.as_deref() == Some(name);
            if let Some(text) = &of.default {
                renamed(text, |text| {
                    let (schema, local) = name_in(text)?;
                    draws |= kept(schema.as_deref().unwrap_or(PUBLIC), &local) == name;
                    Ok(None)
                })?;
            }
            if !draws {
                continue;
            }
            let table = written(&relation.name);
            if of.identity.is_some() {
                let text = format!(
                    "cannot drop sequence {} because column {} of table {table} requires it",
                    written(name),
                    column.name
                );
                let hint = format!(
                    "You can drop column {} of table {table} instead.",
                    column.name
                );
                return Err(SqlError::new(code::DEPENDENT_OBJECTS, text).hint(hint));
            }
            let what = format!("default value for column {} of table {table}", column.name);
            if !cascade {
                let sequence = format!("sequence {}", written(name));
                return Err(SqlError::new(
                    code::DEPENDENT_OBJECTS,
                    format!("cannot drop {sequence} because other objects depend on it"),
                )
                .detail(format!("{what} depends on {sequence}"))
                .hint("Use DROP ... CASCADE to drop the dependent objects too."));
            }
            (of.sequence, of.default) = (None, Some("null".into()));
            notices.push(Notice::note("00000", format!("drop cascades to {what}")));
        }
        if notes.columns != relation.notes.columns {
            put_notes(tx, relation.number, &notes)?;
        }
    }
    Ok(notices)
}

/// Runs `TRUNCATE`.
///
/// # Errors
/// `42P01` if there is no such table; `2BP01` if a table that is not emptied refers to it.
pub(super) fn truncate(
    tx: &mut dyn DefineTarget,
    truncate: &Truncate,
    sequences: &mut SequenceChanges,
    rights: &Rights,
) -> Result<Complete, SqlError> {
    let Truncate {
        table_names,
        partitions,
        table: _,
        if_exists,
        identity,
        cascade,
        on_cluster,
    } = truncate;
    let other = partitions.is_some() || *if_exists || on_cluster.is_some();
    refuse(
        "TRUNCATE",
        &[(other, "a clause of another database system")],
    )?;
    let mut relations: Vec<Relation> = Vec::new();
    for target in table_names {
        let (path, word) = (rights.path(), ("TRUNCATE TABLE", false));
        let mut notices = Complete::of(Tag::plain(word.0));
        let Some(name) = in_schema(tx, &target.name, path, word, &mut notices)? else {
            continue;
        };
        let relation = Relation::named(tx.view(), &name)?;
        if relation.notes.materialized.is_some() {
            return Err(not_a_table(&relation));
        }
        if !relations
            .iter()
            .any(|there| there.number == relation.number)
        {
            relations.push(relation);
        }
    }
    if *cascade == Some(CascadeOption::Cascade) {
        add_referring(tx.view(), &mut relations, rights)?;
    }
    for relation in &relations {
        let mut triggers = relation.notes.triggers.iter();
        let runs = |notes: &TriggerNotes| !notes.is_off && notes.events().truncates;
        if let Some((name, _)) = triggers.find(|(_, notes)| runs(notes)) {
            return Err(SqlError::unsupported(format!(
                "TRUNCATE of a table with the trigger \"{name}\" of TRUNCATE is not supported"
            ))
            .hint("Use DELETE, or disable the trigger."));
        }
    }
    empty(tx, &relations)?;
    if *identity == Some(TruncateIdentityOption::Restart) {
        let columns = relations.iter().flat_map(|relation| &relation.columns);
        for sequence in columns.flat_map(RelationColumn::sequences) {
            restart(tx, sequence)?;
            sequences.begins_anew(sequence);
        }
    }
    Ok(Complete::of(Tag::plain("TRUNCATE TABLE")))
}

/// Empties tables that may refer to each other.
///
/// # Errors
/// `2BP01` if a table that is not emptied refers to them.
pub(crate) fn empty(tx: &mut dyn DefineTarget, relations: &[Relation]) -> Result<(), SqlError> {
    let numbers: Vec<u16> = relations.iter().map(|relation| relation.number).collect();
    // References among these tables are dropped, and added again when all are empty.
    let mut references = Vec::new();
    for relation in relations {
        for key in &relation.schema.foreign_keys {
            if numbers.contains(&key.table) && key.table != relation.number {
                tx.drop_reference(relation.number, &key.name)?;
                references.push((relation.number, key.clone()));
            }
        }
    }
    for relation in relations {
        let emptied = tx.truncate(&relation.name);
        emptied.map_err(|error| not_emptied(error, &relation.name))?;
    }
    for (number, key) in references {
        tx.add_reference(number, key)?;
    }
    Ok(())
}

/// The error of rows in another table that refer to the table to be emptied.
fn not_emptied(error: sardonyx::Error, table: &str) -> SqlError {
    let by = match error.downcast_ref::<TableError>() {
        Some(TableError::TableReferenced { by, .. }) => by.clone(),
        _ => return error.into(),
    };
    SqlError::unsupported("cannot truncate a table referenced in a foreign key constraint")
        .detail(format!(
            "Table \"{}\" references \"{}\".",
            local(&by),
            local(table)
        ))
        .hint(format!(
            "Truncate table \"{}\" at the same time, or use TRUNCATE ... CASCADE.",
            local(&by)
        ))
}

/// Adds the tables with references to these tables, transitively.
fn add_referring(
    source: &dyn Source,
    relations: &mut Vec<Relation>,
    rights: &Rights,
) -> Result<(), SqlError> {
    let mut at = 0;
    while let Some(relation) = relations.get(at) {
        let to = relation.number;
        at += 1;
        for number in source.referring(to) {
            let is_there = relations.iter().any(|there| there.number == number);
            if !is_there {
                let other = Relation::numbered(source, number)?;
                rights.check(&other.name, Access::Define)?;
                relations.push(other);
            }
        }
    }
    Ok(())
}

/// Restarts a sequence at its first number.
fn restart(tx: &mut dyn DefineTarget, name: &str) -> Result<(), SqlError> {
    let Some(body) = object(tx.view(), kind::SEQUENCE, name)? else {
        return Ok(());
    };
    let mut sequence: Sequence = parsed(&body)?;
    sequence.usable_to = sequence.start.into();
    sequence.restarted = None;
    put_object(tx, kind::SEQUENCE, name, &printed(&sequence)?)
}

pub(super) fn not_a_table(relation: &Relation) -> SqlError {
    let text = format!("\"{}\" is not a table", relation.local());
    SqlError::new(code::WRONG_OBJECT_TYPE, text)
}

/// Returns the table or materialized view to drop, by name. `None` if it does not exist, and `IF EXISTS` was given.
///
/// # Errors
/// `42P01` if it does not exist; `42809` if it is of the other kind.
pub(super) fn to_drop(
    tx: &dyn DefineTarget,
    name: &str,
    (word, if_exists, is_materialized): (&'static str, bool, bool),
    complete: &mut Complete,
) -> Result<Option<Relation>, SqlError> {
    let what = if is_materialized {
        "materialized view"
    } else {
        "table"
    };
    let relation = match Relation::named(tx.view(), name) {
        Ok(relation) => relation,
        Err(error) if error.code == code::UNKNOWN_TABLE && if_exists => {
            let message = format!("{what} \"{}\" does not exist, skipping", local(name));
            let notices = skipped(word, "00000", message).notices;
            complete.notices.extend(notices);
            return Ok(None);
        }
        Err(error) if error.code == code::UNKNOWN_TABLE && is_materialized => {
            let message = format!("{what} \"{}\" does not exist", shown(name));
            return Err(SqlError::new(code::UNKNOWN_TABLE, message));
        }
        Err(error) => return Err(error),
    };
    match (relation.notes.materialized.is_some(), is_materialized) {
        (true, false) => Err(not_a_table(&relation)
            .hint("Use DROP MATERIALIZED VIEW to remove a materialized view.")),
        (false, true) => {
            let text = format!("\"{}\" is not a materialized view", relation.local());
            let error = SqlError::new(code::WRONG_OBJECT_TYPE, text);
            Err(error.hint("Use DROP TABLE to remove a table."))
        }
        _ => Ok(Some(relation)),
    }
}
