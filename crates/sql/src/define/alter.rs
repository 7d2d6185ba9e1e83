//! `ALTER TABLE`.

use super::checks::{self, check_of};
use super::columns::{Constraint, declared, default_of};
use super::create::{
    add_foreign, add_sequence, constraint_exists, constraint_of, free_name, key_parts, new_name,
};
use super::naming::{chosen, only_column};
use super::options::{check_storage, refuse};
use super::skipped;
use crate::declared::put_notes;
use crate::define_target::DefineTarget;
use crate::error::{SqlError, code, not_null};
use crate::names::full_match_of;
use crate::names::{name_of, of_public};
use crate::relation::{ColumnNotes, Relation};
use crate::result::{Complete, Tag};
use crate::source::Source;
use crate::types::TypeSpec;
use sardonyx::schema::{IndexDefinition, IndexKind, Value, ValueRef};
use sqlparser::ast::{
    AlterColumnOperation, AlterTable, AlterTableOperation, ColumnDef, DropBehavior, Owner,
    RenameTableNameKind,
};

const WORD: &str = "ALTER TABLE";

/// `ALTER TABLE`.
///
/// # Errors
/// What is wrong with it; what the engine says.
pub(super) fn table(
    tx: &mut dyn DefineTarget,
    alter: &AlterTable,
    user: &str,
) -> Result<Complete, SqlError> {
    let AlterTable {
        name,
        if_exists,
        // No table inherits from another.
        only: _,
        operations,
        location,
        on_cluster,
        table_type,
        end_token: _,
    } = alter;
    let other = location.is_some() || on_cluster.is_some() || table_type.is_some();
    refuse(WORD, &[(other, "a clause of another database system")])?;
    let name = of_public(name)?;
    match Relation::named(tx.view(), &name) {
        Err(error) if error.code == code::UNKNOWN_TABLE && *if_exists => {
            let message = format!("relation \"{name}\" does not exist, skipping");
            return Ok(skipped(WORD, "00000", message));
        }
        Err(error) => return Err(error),
        Ok(_) => {}
    }
    for operation in operations {
        one(tx, &name, operation, user)?;
    }
    Ok(Complete::of(Tag::plain(WORD)))
}

/// Whoever is connected owns all tables: nobody else can.
fn check_owner(owner: &Owner, user: &str) -> Result<(), SqlError> {
    match owner {
        Owner::Ident(name) if name_of(name) != user => Err(SqlError::new(
            code::UNKNOWN_OBJECT,
            format!("role \"{}\" does not exist", name_of(name)),
        )
        .hint("Tables have no owners here: users and their rights are in the configuration.")),
        _ => Ok(()),
    }
}

fn one(
    tx: &mut dyn DefineTarget,
    table: &str,
    operation: &AlterTableOperation,
    user: &str,
) -> Result<(), SqlError> {
    let relation = Relation::named(tx.view(), table)?;
    match operation {
        AlterTableOperation::AddColumn {
            column_keyword: _,
            if_not_exists,
            column_def,
            column_position,
        } => {
            refuse(WORD, &[(column_position.is_some(), "FIRST or AFTER")])?;
            let is_there = relation.column(&name_of(&column_def.name)).is_ok();
            match is_there && *if_not_exists {
                true => Ok(()),
                false => add_column(tx, &relation, column_def),
            }
        }
        AlterTableOperation::DropColumn {
            has_column_keyword: _,
            column_names,
            if_exists,
            drop_behavior,
        } => {
            for name in column_names {
                let name = name_of(name);
                if relation.column(&name).is_err() && *if_exists {
                    continue;
                }
                relation.column(&name)?;
                if *drop_behavior == Some(DropBehavior::Cascade) {
                    drop_what_names(tx, &relation, &name)?;
                }
                tx.drop_column(table, &name)?;
            }
            Ok(())
        }
        AlterTableOperation::RenameColumn {
            old_column_name,
            new_column_name,
        } => {
            let (old, new) = (name_of(old_column_name), name_of(new_column_name));
            relation.column(&old)?;
            Ok(tx.rename_column(table, &old, &new)?)
        }
        AlterTableOperation::RenameTable { table_name } => {
            let (RenameTableNameKind::As(to) | RenameTableNameKind::To(to)) = table_name;
            let to = new_name(to)?;
            tx.rename_table(table, &to)?;
            let mut notes = relation.notes.clone();
            if !notes.hidden_key && notes.primary_name.is_none() {
                notes.primary_name = relation.primary_constraint();
            }
            notes.table = to;
            put_notes(tx, relation.number, &notes)
        }
        AlterTableOperation::AddConstraint {
            constraint,
            // The rows are checked in any case.
            not_valid: _,
        } => add_constraint(tx, &relation, &constraint_of(constraint)?),
        AlterTableOperation::ValidateConstraint { name } => {
            let name = name_of(name);
            match relation.has_constraint(&name) {
                true => Ok(()),
                false => Err(no_constraint(&relation, &name)),
            }
        }
        AlterTableOperation::DropConstraint {
            if_exists,
            name,
            drop_behavior,
        } => {
            let cascades = *drop_behavior == Some(DropBehavior::Cascade);
            drop_constraint(tx, &relation, &name_of(name), *if_exists, cascades)
        }
        AlterTableOperation::AlterColumn { column_name, op } => {
            alter_column(tx, &relation, &name_of(column_name), op)
        }
        AlterTableOperation::OwnerTo { new_owner } => check_owner(new_owner, user),
        // All tables are.
        AlterTableOperation::SetLogged => Ok(()),
        AlterTableOperation::SetOptionsParens { options } => {
            let mut options = options.iter();
            options.try_for_each(|option| check_storage(WORD, option))
        }
        other => Err(SqlError::unsupported(format!(
            "ALTER TABLE {other} is not supported"
        ))),
    }
}

fn add_column(
    tx: &mut dyn DefineTarget,
    relation: &Relation,
    column: &ColumnDef,
) -> Result<(), SqlError> {
    let mut column = declared(column)?;
    if relation.column(&column.name).is_ok() {
        return Err(SqlError::new(
            code::DUPLICATE_COLUMN,
            format!(
                "column \"{}\" of relation \"{}\" already exists",
                column.name, relation.name
            ),
        ));
    }
    let source = tx.view();
    let is_empty = Source::count(source, relation.number)? == 0;
    let computed = column.notes.default.is_some() || column.sequence.is_some();
    if computed && !is_empty {
        return Err(SqlError::unsupported(
            "a column whose default is computed can be added to an empty table only",
        ));
    }
    if column.not_null && column.default == Value::Null && !is_empty {
        return Err(not_null(&relation.name, &column.name));
    }
    // The engine wants a default for a column that may not be null, which rows that are there would have.
    let nullable = !column.not_null || column.default == Value::Null;
    column.notes.not_null = column.not_null && nullable;
    tx.add_column(
        &relation.name,
        &column.name,
        column.spec.stored(),
        nullable,
        column.default.clone(),
    )?;
    add_sequence(tx, &relation.name, &mut column)?;
    let mut notes = relation.notes.clone();
    notes.table.clone_from(&relation.name);
    notes
        .columns
        .insert(relation.schema.columns.len(), column.notes);
    put_notes(tx, relation.number, &notes)?;
    for constraint in &column.constraints {
        let relation = Relation::numbered(tx.view(), relation.number)?;
        add_constraint(tx, &relation, constraint)?;
    }
    Ok(())
}

fn add_constraint(
    tx: &mut dyn DefineTarget,
    relation: &Relation,
    constraint: &Constraint,
) -> Result<(), SqlError> {
    let given = match constraint {
        Constraint::Primary { name, .. }
        | Constraint::Unique { name, .. }
        | Constraint::Foreign { name, .. }
        | Constraint::Check { name, .. } => name.as_ref(),
    };
    if let Some(name) = given.filter(|name| relation.has_constraint(name)) {
        return Err(constraint_exists(name, &relation.name));
    }
    let named = |tx: &dyn DefineTarget, columns: &[&str], suffix: &str| match given {
        Some(name) => Ok(name.clone()),
        None => free_name(tx, &relation.name, columns, suffix, &[]),
    };
    let mut notes = relation.notes.clone();
    notes.table.clone_from(&relation.name);
    match constraint {
        Constraint::Primary { name: _, columns } => {
            if relation.primary_constraint().is_some() {
                return Err(SqlError::new(
                    code::INVALID_TABLE_DEFINITION,
                    format!(
                        "multiple primary keys for table \"{}\" are not allowed",
                        relation.name
                    ),
                ));
            }
            let index = named(tx, &[], "pkey")?;
            for (column, _) in columns {
                note_not_null(tx, relation, &mut notes, column)?;
            }
            unique_index(tx, relation, index.clone(), columns)?;
            notes.primary_index = Some(index);
            put_notes(tx, relation.number, &notes)
        }
        Constraint::Unique { name: _, columns } => {
            let parts: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
            let index = named(tx, &parts, "key")?;
            unique_index(tx, relation, index.clone(), columns)?;
            notes.constraints.push(index);
            put_notes(tx, relation.number, &notes)
        }
        Constraint::Foreign { .. } => add_foreign(tx, &relation.name, constraint),
        Constraint::Check { name, condition } => {
            let known: Vec<&str> = relation
                .columns
                .iter()
                .map(|column| &*column.name)
                .collect();
            let column = only_column(&condition.to_string(), &known);
            let name = chosen(
                name.as_ref(),
                &relation.name,
                column.as_slice(),
                "check",
                |name| relation.has_constraint(name),
            );
            let condition = check_of(relation, condition)?;
            let added = tx.add_check(relation.number, &name, &condition);
            added.map_err(|error| {
                let mut error = SqlError::from(error);
                if error.code == code::CHECK {
                    error.message = format!(
                        "check constraint \"{name}\" of relation \"{}\" is violated by some row",
                        relation.name
                    );
                }
                error
            })
        }
    }
}

/// The index that a constraint would have, if it is one that has an index.
///
/// # Errors
/// That there is no such column.
pub(super) fn index_of_constraint(
    tx: &dyn DefineTarget,
    relation: &Relation,
    constraint: &Constraint,
) -> Result<Option<IndexDefinition>, SqlError> {
    let (name, columns, suffix) = match constraint {
        Constraint::Primary { name, columns } => (name, columns, "pkey"),
        Constraint::Unique { name, columns } => (name, columns, "key"),
        Constraint::Foreign { .. } | Constraint::Check { .. } => return Ok(None),
    };
    let parts: Vec<&str> = match constraint {
        Constraint::Unique { .. } => columns.iter().map(|(name, _)| name.as_str()).collect(),
        _ => Vec::new(),
    };
    let name = match name {
        Some(name) => name.clone(),
        None => free_name(tx, &relation.name, &parts, suffix, &[])?,
    };
    Ok(Some(unique_definition(relation, name, columns)?))
}

fn unique_definition(
    relation: &Relation,
    name: String,
    columns: &[(String, bool)],
) -> Result<IndexDefinition, SqlError> {
    Ok(IndexDefinition {
        name,
        kind: IndexKind::Ordered,
        unique: true,
        key: key_parts(relation, columns)?,
    })
}

fn unique_index(
    tx: &mut dyn DefineTarget,
    relation: &Relation,
    name: String,
    columns: &[(String, bool)],
) -> Result<(), SqlError> {
    let definition = unique_definition(relation, name, columns)?;
    let columns = definition.key.iter().map(|part| part.column).collect();
    let created = tx.create_index(relation.number, definition);
    created.map_err(|error| SqlError::from(error).of_index_build(columns))
}

/// Notes that a column may not be null, if no row has a null there.
fn note_not_null(
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
    Source::scan(tx.view(), relation.number, &mut |row| {
        has_null = row.value(number)? == ValueRef::Null;
        Ok(!has_null)
    })?;
    if has_null {
        return Err(SqlError::new(
            code::NOT_NULL,
            format!(
                "column \"{name}\" of relation \"{}\" contains null values",
                relation.name
            ),
        )
        .of_table(&relation.name)
        .of_column(name));
    }
    notes_of_column(notes, column).not_null = true;
    Ok(())
}

/// The notes of a column, to be changed.
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
            ..ColumnNotes::default()
        })
}

/// Drops a constraint of a table.
///
/// # Errors
/// `42704` if there is none of the name; what the engine says.
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
        return match before.is_some() || is_noted.is_some() {
            true => put_notes(tx, relation.number, &notes),
            false => Ok(()),
        };
    }
    if schema.checks.iter().any(|(check, _)| check == name) {
        tx.drop_check(relation.number, name)?;
        return match notes.constraint_comments.remove(name) {
            Some(_) => put_notes(tx, relation.number, &notes),
            None => Ok(()),
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
        if is_primary {
            notes.primary_index = None;
        }
        if cascades {
            drop_references_to(tx, relation, name)?;
        }
        let dropped = tx.drop_index(relation.number, name);
        dropped.map_err(|error| needed(error.into(), relation, name))?;
        return put_notes(tx, relation.number, &notes);
    }
    if relation.primary_constraint().as_deref() == Some(name) {
        return Err(SqlError::unsupported(
            "the primary key that a table was created with cannot be dropped",
        ));
    }
    match if_exists {
        true => Ok(()),
        false => Err(no_constraint(relation, name)),
    }
}

/// That references need a unique key that was to be dropped.
fn needed(error: SqlError, relation: &Relation, name: &str) -> SqlError {
    match error.code {
        code::INVALID_TABLE_DEFINITION => SqlError::new(
            code::DEPENDENT_OBJECTS,
            format!(
                "cannot drop constraint {name} on table {} because other objects depend on it",
                relation.name
            ),
        )
        .detail(error.message.clone())
        .hint("Use DROP ... CASCADE to drop the dependent objects too."),
        _ => error,
    }
}

fn no_constraint(relation: &Relation, name: &str) -> SqlError {
    SqlError::new(
        code::UNKNOWN_OBJECT,
        format!(
            "constraint \"{name}\" of relation \"{}\" does not exist",
            relation.name
        ),
    )
}

/// Takes away the references of other tables that need a unique index.
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

/// Takes away the references to a table by columns for which `is_it` says so.
fn drop_references(
    tx: &mut dyn DefineTarget,
    to: u16,
    is_it: impl Fn(&Vec<usize>) -> bool,
) -> Result<(), SqlError> {
    for number in 0..tx.view().definitions().len() as u16 {
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

/// Takes away the constraints and indexes that have a column, and references to it: it is dropped with `CASCADE`.
fn drop_what_names(
    tx: &mut dyn DefineTarget,
    relation: &Relation,
    column: &str,
) -> Result<(), SqlError> {
    let number = relation.column(column)?.number;
    drop_references(tx, relation.number, |columns| columns.contains(&number))
}

fn alter_column(
    tx: &mut dyn DefineTarget,
    relation: &Relation,
    name: &str,
    operation: &AlterColumnOperation,
) -> Result<(), SqlError> {
    let column = relation.column(name)?;
    let mut taken = checks::Checks::new();
    let mut notes = relation.notes.clone();
    notes.table.clone_from(&relation.name);
    match operation {
        AlterColumnOperation::SetNotNull => {
            note_not_null(tx, relation, &mut notes, name)?;
        }
        AlterColumnOperation::DropNotNull => {
            if !relation.schema.columns[column.number].is_nullable() {
                return Err(SqlError::unsupported(format!(
                    "column \"{name}\" was declared NOT NULL, which cannot be taken back"
                )));
            }
            if relation.primary_columns().contains(&column.number) {
                return Err(SqlError::new(
                    code::INVALID_TABLE_DEFINITION,
                    format!("column \"{name}\" is in a primary key"),
                ));
            }
            notes_of_column(&mut notes, column).not_null = false;
        }
        AlterColumnOperation::SetDefault { value } => {
            let (constant, text) = default_of(value, column.spec)?;
            let of = notes_of_column(&mut notes, column);
            // Rows that are there may have the schema's default, so that stays.
            of.default = Some(text.unwrap_or_else(|| match &constant {
                Value::Null => "null".to_string(),
                _ => value.to_string(),
            }));
            of.sequence = None;
        }
        AlterColumnOperation::DropDefault => {
            let of = notes_of_column(&mut notes, column);
            of.default = Some("null".into());
            of.sequence = None;
        }
        AlterColumnOperation::SetDataType {
            data_type, using, ..
        } => {
            if using.is_some() {
                return Err(SqlError::unsupported("USING is not supported"));
            }
            let to = TypeSpec::of_data_type(data_type)?;
            let (from_stored, to_stored) = (column.stored, to.stored());
            taken = checks::take(tx, relation, column.number)?;
            let is_longer = to.holds_all_of(column.spec);
            if from_stored != to_stored {
                let place = relation.schema.columns.len();
                tx.widen_column(&relation.name, name, to_stored)?;
                if let Some(moved) = notes.columns.remove(&column.number) {
                    notes.columns.insert(place, moved);
                }
                let moved = notes.columns.entry(place).or_default();
                moved.kind = to.kind.oid();
                moved.modifier = to.modifier;
            } else if is_longer {
                let of = notes_of_column(&mut notes, column);
                of.kind = to.kind.oid();
                of.modifier = to.modifier;
            } else {
                return Err(SqlError::unsupported(format!(
                    "the type of column \"{name}\" can be widened only: not every value of {} is one of {}",
                    column.spec.to_sql(),
                    to.to_sql()
                )));
            }
        }
        other => {
            return Err(SqlError::unsupported(format!(
                "ALTER COLUMN {other} is not supported"
            )));
        }
    }
    put_notes(tx, relation.number, &notes)?;
    checks::put(tx, relation.number, taken)
}
