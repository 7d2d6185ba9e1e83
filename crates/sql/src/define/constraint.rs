//! `ADD CONSTRAINT`, `DROP CONSTRAINT` and `NOT NULL` of existing tables.
//!
//! Keys are unique indexes, and references and CHECK are constraints of the store. Details that these cannot represent
//! are in the table's notes. So each constraint is added, and dropped, in both places.

use super::checks::check_of;
use super::columns::{Constraint, Deferral};
use super::create::{constraint_exists, key_parts, name_of_key};
use super::index::forget_form;
use super::naming::{chosen, only_column};
use super::numbered::with_numbered_rows;
use super::reference::add_foreign;
use super::validity;
use crate::declared::put_notes;
use crate::define_target::DefineTarget;
use crate::error::{SqlError, code};
use crate::expression::{Use, inlined};
use crate::index_names::key_names;
use crate::indexed::named_columns;
use crate::names::full_match_of;
use crate::path::written;
use crate::relation::{ColumnNotes, Relation};
use crate::search_path::SearchPath;
use crate::source::Source;
use crate::virtual_tables::index_referred;
use sardonyx::schema::{IndexDefinition, IndexKind, ValueRef};
use sqlparser::ast::Expr;

/// Checks that a table can get a constraint, before its rows are checked.
///
/// # Errors
/// Fails if the name is taken, or there is another primary key.
pub(super) fn check_may_have(relation: &Relation, constraint: &Constraint) -> Result<(), SqlError> {
    let given = match constraint {
        Constraint::Primary { name, .. }
        | Constraint::Unique { name, .. }
        | Constraint::Foreign { name, .. }
        | Constraint::Check { name, .. } => name.as_ref(),
    };
    if let Some(name) = given.filter(|name| relation.has_constraint(name)) {
        return Err(constraint_exists(name, &relation.name));
    }
    let is_primary = matches!(constraint, Constraint::Primary { .. });
    match is_primary && relation.primary_constraint().is_some() {
        false => Ok(()),
        true => Err(SqlError::new(
            code::INVALID_TABLE_DEFINITION,
            format!(
                "multiple primary keys for table \"{}\" are not allowed",
                relation.local()
            ),
        )),
    }
}

/// Adds a constraint to a table, and chooses a name if it has none. Rows that are there need not meet it if it is not valid.
///
/// # Errors
/// Fails if the name is taken, the constraint is invalid, or rows violate it; `0A000` for a key that is not valid.
pub(super) fn add_constraint(
    tx: &mut dyn DefineTarget,
    relation: &Relation,
    (constraint, is_valid): (&Constraint, bool),
    path: &SearchPath,
) -> Result<(), SqlError> {
    let key = match constraint {
        Constraint::Primary { .. } => "PRIMARY KEY",
        Constraint::Unique { .. } => "UNIQUE",
        Constraint::Foreign { .. } | Constraint::Check { .. } => "",
    };
    if !is_valid && !key.is_empty() {
        return Err(SqlError::unsupported(format!(
            "{key} constraints cannot be marked NOT VALID"
        )));
    }
    check_may_have(relation, constraint)?;
    match constraint {
        Constraint::Primary {
            name,
            columns,
            deferral,
        } => add_key(tx, relation, (name.as_ref(), *deferral), columns, true),
        Constraint::Unique {
            name,
            columns,
            deferral,
        } => add_key(tx, relation, (name.as_ref(), *deferral), columns, false),
        Constraint::Foreign { .. } => add_foreign(tx, &relation.name, (constraint, is_valid), path),
        Constraint::Check { name, condition } => {
            let name = name_of_check(relation, name.as_ref(), condition);
            let columns = named_columns(relation);
            let condition = (&**condition, Use::Check);
            let condition = inlined(tx.view(), path, Some(&columns), condition)?;
            let condition = check_of(relation, &condition, path.zone())?;
            validity::adding(tx, relation.number, is_valid, |tx| {
                let added = tx.add_check(relation.number, &name, &condition);
                added.map_err(|error| {
                    let error = SqlError::from(error);
                    match error.code == code::CHECK {
                        true => check_violated(relation, &name),
                        false => error,
                    }
                })
            })?;
            match is_valid {
                true => Ok(()),
                false => validity::note(tx, relation.number, &name),
            }
        }
    }
}

/// The name of a new condition of a table.
pub(super) fn name_of_check(
    relation: &Relation,
    given: Option<&String>,
    condition: &Expr,
) -> String {
    let known = relation.columns.iter().map(|column| &*column.name);
    let known: Vec<&str> = known.collect();
    let column = only_column(&condition.to_string(), &known);
    let columns = column.as_slice();
    chosen(given, relation.local(), columns, "check", |name| {
        relation.has_constraint(name)
    })
}

/// The error of a row that violates a new condition.
pub(super) fn check_violated(relation: &Relation, name: &str) -> SqlError {
    let message = format!(
        "check constraint \"{name}\" of relation \"{}\" is violated by some row",
        relation.local()
    );
    let error = SqlError::new(code::CHECK, message);
    error.of_table(&relation.name).of_constraint(name)
}

/// The error of a row with a null in a column that is to be `NOT NULL`.
pub(super) fn contains_nulls(relation: &Relation, column: &str) -> SqlError {
    let message = format!(
        "column \"{column}\" of relation \"{}\" contains null values",
        relation.local()
    );
    let error = SqlError::new(code::NOT_NULL, message);
    error.of_table(&relation.name).of_column(column)
}

/// Adds a constraint that has an index.
fn add_key(
    tx: &mut dyn DefineTarget,
    relation: &Relation,
    (name, deferral): (Option<&String>, Deferral),
    columns: &[(String, bool)],
    is_primary: bool,
) -> Result<(), SqlError> {
    let mut definition = index_of_key(tx, relation, name, columns, is_primary)?;
    definition.nulls_equal = deferral.nulls_equal;
    let mut notes = relation.notes.clone();
    notes.table.clone_from(&relation.name);
    let index = definition.name.clone();
    forget_form(&mut notes, &index);
    if deferral.deferrable {
        tx.check_deferrable_keys()?;
        (definition.unique, definition.deferrable) = (false, true);
        notes.references.insert(index.clone(), deferral.notes());
    }
    if is_primary {
        for (column, _) in columns {
            note_not_null(tx, relation, &mut notes, column)?;
        }
        notes.primary_index = Some(index);
    } else {
        notes.constraints.push(index);
    }
    let columns = key_names(relation, &definition);
    let created = tx.create_index(relation.number, definition);
    created.map_err(|error| SqlError::from(error).of_index_build(columns))?;
    put_notes(tx, relation.number, &notes)
}

/// The index of a constraint, if its kind has one, and it can be built beside the stage: none of a deferrable key.
///
/// # Errors
/// Fails if there is no such column.
pub(super) fn index_of_constraint(
    tx: &dyn DefineTarget,
    relation: &Relation,
    constraint: &Constraint,
) -> Result<Option<IndexDefinition>, SqlError> {
    match constraint {
        Constraint::Primary { deferral, .. } | Constraint::Unique { deferral, .. }
            if deferral.deferrable =>
        {
            Ok(None)
        }
        Constraint::Primary { name, columns, .. } => {
            index_of_key(tx, relation, name.as_ref(), columns, true).map(Some)
        }
        Constraint::Unique {
            name,
            columns,
            deferral,
        } => {
            let index = index_of_key(tx, relation, name.as_ref(), columns, false)?;
            Ok(Some(IndexDefinition {
                nulls_equal: deferral.nulls_equal,
                ..index
            }))
        }
        Constraint::Foreign { .. } | Constraint::Check { .. } => Ok(None),
    }
}

fn index_of_key(
    tx: &dyn DefineTarget,
    relation: &Relation,
    name: Option<&String>,
    columns: &[(String, bool)],
    is_primary: bool,
) -> Result<IndexDefinition, SqlError> {
    let parts: Vec<&str> = match is_primary {
        true => Vec::new(),
        false => columns.iter().map(|(name, _)| name.as_str()).collect(),
    };
    let suffix = if is_primary { "pkey" } else { "key" };
    let name = name_of_key(tx, &relation.name, name, (&parts, suffix), &[])?;
    Ok(IndexDefinition {
        name,
        kind: IndexKind::Ordered,
        unique: true,
        deferrable: false,
        nulls_equal: false,
        key: key_parts(relation, columns)?,
    })
}

/// Notes that a column is `NOT NULL`, if no row has a null there.
pub(super) fn note_not_null(
    tx: &dyn DefineTarget,
    relation: &Relation,
    notes: &mut crate::relation::TableNotes,
    name: &str,
) -> Result<(), SqlError> {
    let column = relation.column(name)?;
    let number = column.number;
    if column.not_null {
        return Ok(());
    }
    let mut has_null = false;
    if !tx.has_checked_rows(relation.number) {
        Source::scan(tx.view(), relation.number, &mut |row| {
            has_null = row.value(number)? == ValueRef::Null;
            Ok(!has_null)
        })?;
    }
    if has_null {
        return Err(contains_nulls(relation, name));
    }
    notes_of_column(notes, column).not_null = true;
    Ok(())
}

/// Makes a column nullable that was declared `NOT NULL` when the table was created. The indexes and references on it
/// are created again, since nullable columns have other keys.
///
/// # Errors
/// The engine's errors.
pub(super) fn allow_nulls(
    tx: &mut dyn DefineTarget,
    relation: &Relation,
    column: &crate::relation::RelationColumn,
) -> Result<(), SqlError> {
    let (number, schema) = (column.number, &relation.schema);
    let references = schema.foreign_keys.iter();
    let references = references.filter(|key| key.columns.contains(&number));
    let indexes = schema.indexes.iter();
    let indexes = indexes.filter(|index| index.key.iter().any(|part| part.column == number));
    for key in references.clone() {
        tx.drop_reference(relation.number, &key.name)?;
    }
    for index in indexes.clone() {
        let dropped = tx.take_index(relation.number, &index.name);
        dropped.map_err(|error| match SqlError::from(error) {
            error if error.code == code::INVALID_TABLE_DEFINITION => SqlError::unsupported(format!(
                "DROP NOT NULL of column \"{}\" is not supported, since references need index \"{}\" of it",
                column.name, index.name
            )),
            error => error,
        })?;
    }
    tx.allow_nulls(&relation.name, &column.name)?;
    for index in indexes {
        tx.create_index(relation.number, index.clone())?;
    }
    for key in references {
        // Its rows are the same: those that came while it was off stay, too.
        validity::adding(tx, relation.number, false, |tx| {
            Ok(tx.add_reference(relation.number, key.clone())?)
        })?;
    }
    Ok(())
}

/// The mutable notes of a column.
pub(super) fn notes_of_column<'n>(
    notes: &'n mut crate::relation::TableNotes,
    column: &crate::relation::RelationColumn,
) -> &'n mut ColumnNotes {
    notes
        .columns
        .entry(column.number)
        .or_insert_with(|| ColumnNotes {
            kind: column.spec.kind.oid(),
            modifier: column.spec.modifier,
            collation: column.spec.collation.noted(),
            ..ColumnNotes::default()
        })
}

/// Drops a constraint of a table.
///
/// # Errors
/// `42704` if there is no constraint of the name; the engine's errors.
pub(super) fn drop_constraint(
    tx: &mut dyn DefineTarget,
    relation: &Relation,
    name: &str,
    if_exists: bool,
    cascades: bool,
) -> Result<(), SqlError> {
    let mut notes = relation.notes.clone();
    notes.table.clone_from(&relation.name);
    let schema = &relation.schema;
    if schema.foreign_keys.iter().any(|key| key.name == name) {
        tx.drop_reference(relation.number, name)?;
        let full = full_match_of(name);
        if schema.checks.iter().any(|(check, _)| *check == full) {
            tx.drop_check(relation.number, &full)?;
        }
        let (before, is_noted) = (
            notes.constraint_comments.remove(name),
            notes.references.remove(name),
        );
        let was_invalid = notes.not_valid.remove(name);
        return match before.is_some() || is_noted.is_some() || was_invalid {
            true => put_notes(tx, relation.number, &notes),
            false => Ok(()),
        };
    }
    if schema.checks.iter().any(|(check, _)| check == name) {
        tx.drop_check(relation.number, name)?;
        let before = notes.constraint_comments.remove(name);
        return match notes.not_valid.remove(name) || before.is_some() {
            true => put_notes(tx, relation.number, &notes),
            false => Ok(()),
        };
    }
    let is_primary = notes.primary_index.as_deref() == Some(name);
    if is_primary
        || notes
            .constraints
            .iter()
            .any(|constraint| constraint == name)
    {
        notes.constraints.retain(|constraint| constraint != name);
        notes.constraint_comments.remove(name);
        notes.index_comments.remove(name);
        notes.references.remove(name);
        if is_primary {
            notes.primary_index = None;
        }
        match cascades {
            true => drop_references_to(tx, relation, name)?,
            false => check_not_referred(tx.view(), relation, name, "constraint")?,
        }
        let dropped = tx.drop_index(relation.number, name);
        dropped.map_err(|error| needed(error.into(), relation, name))?;
        return put_notes(tx, relation.number, &notes);
    }
    if relation.primary_constraint().as_deref() == Some(name) {
        if !cascades {
            check_not_referred(tx.view(), relation, name, "constraint")?;
        }
        let relation = with_numbered_rows(tx, relation)?;
        return drop_constraint(tx, &relation, name, if_exists, cascades);
    }
    match if_exists {
        true => Ok(()),
        false => Err(no_constraint(relation, name)),
    }
}

/// Refuses to drop a unique index, or its constraint, on which references depend. Another index may have their columns, but
/// they depend on this one.
///
/// # Errors
/// `2BP01`
pub(super) fn check_not_referred(
    source: &dyn Source,
    relation: &Relation,
    index: &str,
    what: &str,
) -> Result<(), SqlError> {
    let mut dependent = Vec::new();
    for number in source.referring(relation.number) {
        let other = Relation::numbered(source, number)?;
        let keys = other.schema.foreign_keys.iter();
        for key in keys.filter(|key| key.table == relation.number) {
            if index_referred(relation, key).is_some_and(|there| there.name == index) {
                dependent.push(format!(
                    "constraint {} on table {} depends on index {index}",
                    key.name,
                    written(&other.name)
                ));
            }
        }
    }
    if dependent.is_empty() {
        return Ok(());
    }
    let message = match what {
        "constraint" => format!("constraint {index} on table {}", written(&relation.name)),
        what => format!("{what} {index}"),
    };
    Err(SqlError::new(
        code::DEPENDENT_OBJECTS,
        format!("cannot drop {message} because other objects depend on it"),
    )
    .detail(dependent.join("\n"))
    .hint("Use DROP ... CASCADE to drop the dependent objects too."))
}

/// The error of dropping a unique key that references need.
fn needed(error: SqlError, relation: &Relation, name: &str) -> SqlError {
    match error.code {
        code::INVALID_TABLE_DEFINITION => SqlError::new(
            code::DEPENDENT_OBJECTS,
            format!(
                "cannot drop constraint {name} on table {} because other objects depend on it",
                written(&relation.name)
            ),
        )
        .detail(error.message.clone())
        .hint("Use DROP ... CASCADE to drop the dependent objects too."),
        _ => error,
    }
}

pub(super) fn no_constraint(relation: &Relation, name: &str) -> SqlError {
    SqlError::new(
        code::UNKNOWN_OBJECT,
        format!(
            "constraint \"{name}\" of relation \"{}\" does not exist",
            relation.local()
        ),
    )
}

/// Drops the references of other tables that need a unique index.
fn drop_references_to(
    tx: &mut dyn DefineTarget,
    relation: &Relation,
    index: &str,
) -> Result<(), SqlError> {
    let mut indexes = relation.schema.indexes.iter();
    let Some(index) = indexes.find(|there| there.name == index) else {
        return Ok(());
    };
    let key: Vec<usize> = index.key.iter().map(|part| part.column).collect();
    drop_references(tx, relation.number, |columns| *columns == key)
}

/// Drops the references to a table whose columns `is_it` accepts.
pub(super) fn drop_references(
    tx: &mut dyn DefineTarget,
    to: u16,
    is_it: impl Fn(&Vec<usize>) -> bool,
) -> Result<(), SqlError> {
    for number in tx.view().referring(to) {
        let Ok(other) = Relation::numbered(tx.view(), number) else {
            continue;
        };
        let keys = other.schema.foreign_keys.clone();
        for key in keys
            .iter()
            .filter(|key| key.table == to && is_it(&key.referenced))
        {
            let other = Relation::numbered(tx.view(), number)?;
            drop_constraint(tx, &other, &key.name, false, false)?;
        }
    }
    Ok(())
}
