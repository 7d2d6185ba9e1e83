//! `ALTER TABLE`.

use super::columns::{Constraint, declared, default_of};
use super::create::{add_foreign, constraint_name, constraint_of, free_name, key_parts, new_name};
use super::skipped;
use crate::error::{SqlError, code, not_null};
use crate::names::{name_of, of_public};
use crate::relation::{ColumnNotes, Relation, kind, printed, put_notes, put_object};
use crate::result::{Complete, Tag};
use crate::sequences::Sequence;
use crate::source::Source;
use crate::types::TypeSpec;
use sardonyx::Transaction;
use sardonyx::schema::{IndexDefinition, IndexKind, Value, ValueRef};
use sqlparser::ast::{
    AlterColumnOperation, AlterTable, AlterTableOperation, ColumnDef, RenameTableNameKind,
};

const WORD: &str = "ALTER TABLE";

/// `ALTER TABLE`.
///
/// # Errors
/// What is wrong with it; what the engine says.
pub(super) fn table(tx: &mut Transaction<'_>, alter: &AlterTable) -> Result<Complete, SqlError> {
    let name = of_public(&alter.name)?;
    match Relation::named(&Source::Live(tx.view()), &name) {
        Err(error) if error.code == code::UNKNOWN_TABLE && alter.if_exists => {
            let message = format!("relation \"{name}\" does not exist, skipping");
            return Ok(skipped(WORD, "00000", message));
        }
        Err(error) => return Err(error),
        Ok(_) => {}
    }
    for operation in &alter.operations {
        one(tx, &name, operation)?;
    }
    Ok(Complete::of(Tag::plain(WORD)))
}

fn one(
    tx: &mut Transaction<'_>,
    table: &str,
    operation: &AlterTableOperation,
) -> Result<(), SqlError> {
    let relation = Relation::named(&Source::Live(tx.view()), table)?;
    match operation {
        AlterTableOperation::AddColumn {
            if_not_exists,
            column_def,
            ..
        } => {
            let is_there = relation.column(&name_of(&column_def.name)).is_ok();
            match is_there && *if_not_exists {
                true => Ok(()),
                false => add_column(tx, &relation, column_def),
            }
        }
        AlterTableOperation::DropColumn {
            column_names,
            if_exists,
            ..
        } => {
            for name in column_names {
                let name = name_of(name);
                if relation.column(&name).is_err() && *if_exists {
                    continue;
                }
                relation.column(&name)?;
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
        AlterTableOperation::AddConstraint { constraint, .. } => {
            add_constraint(tx, &relation, &constraint_of(constraint)?)
        }
        AlterTableOperation::DropConstraint {
            if_exists, name, ..
        } => drop_constraint(tx, &relation, &name_of(name), *if_exists),
        AlterTableOperation::AlterColumn { column_name, op } => {
            alter_column(tx, &relation, &name_of(column_name), op)
        }
        // Of no meaning here.
        AlterTableOperation::OwnerTo { .. }
        | AlterTableOperation::SetLogged
        | AlterTableOperation::SetOptionsParens { .. } => Ok(()),
        other => Err(SqlError::unsupported(format!(
            "ALTER TABLE {other} is not supported"
        ))),
    }
}

fn add_column(
    tx: &mut Transaction<'_>,
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
    let source = Source::Live(tx.view());
    let is_empty = source.count(relation.number)? == 0;
    let computed = column.notes.default.is_some() || column.draws;
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
    if column.draws {
        let name = format!("{}_{}_seq", relation.name, column.name);
        let sequence = free_name(tx, &name)?;
        put_object(tx, kind::SEQUENCE, &sequence, &printed(&Sequence::new())?)?;
        column.notes.sequence = Some(sequence);
    }
    let mut notes = relation.notes.clone();
    notes.table.clone_from(&relation.name);
    notes
        .columns
        .insert(relation.schema.columns.len(), column.notes);
    put_notes(tx, relation.number, &notes)?;
    for constraint in &column.constraints {
        let relation = Relation::numbered(&Source::Live(tx.view()), relation.number)?;
        add_constraint(tx, &relation, constraint)?;
    }
    Ok(())
}

fn add_constraint(
    tx: &mut Transaction<'_>,
    relation: &Relation,
    constraint: &Constraint,
) -> Result<(), SqlError> {
    let mut taken: Vec<String> = Vec::new();
    taken.extend(
        relation
            .schema
            .indexes
            .iter()
            .map(|index| index.name.clone()),
    );
    taken.extend(relation.schema.checks.iter().map(|(name, _)| name.clone()));
    let mut notes = relation.notes.clone();
    notes.table.clone_from(&relation.name);
    match constraint {
        Constraint::Primary { name, columns } => {
            if relation.primary_constraint().is_some() {
                return Err(SqlError::new(
                    code::INVALID_TABLE_DEFINITION,
                    format!(
                        "multiple primary keys for table \"{}\" are not allowed",
                        relation.name
                    ),
                ));
            }
            let none: [(String, bool); 0] = [];
            let index = constraint_name(&relation.name, name.as_ref(), &none, "pkey", &mut taken);
            for (column, _) in columns {
                note_not_null(tx, relation, &mut notes, column)?;
            }
            unique_index(tx, relation, index.clone(), columns)?;
            notes.primary_index = Some(index);
            put_notes(tx, relation.number, &notes)
        }
        Constraint::Unique { name, columns } => {
            let index = constraint_name(&relation.name, name.as_ref(), columns, "key", &mut taken);
            unique_index(tx, relation, index.clone(), columns)?;
            notes.constraints.push(index);
            put_notes(tx, relation.number, &notes)
        }
        Constraint::Foreign { .. } => add_foreign(tx, &relation.name, constraint),
        Constraint::Check { name, condition } => {
            let none: [(String, bool); 0] = [];
            let name = constraint_name(&relation.name, name.as_ref(), &none, "check", &mut taken);
            Ok(tx.add_check(relation.number, &name, condition)?)
        }
    }
}

fn unique_index(
    tx: &mut Transaction<'_>,
    relation: &Relation,
    name: String,
    columns: &[(String, bool)],
) -> Result<(), SqlError> {
    let definition = IndexDefinition {
        name,
        kind: IndexKind::Ordered,
        unique: true,
        key: key_parts(relation, columns)?,
    };
    Ok(tx.create_index(relation.number, definition)?)
}

/// Notes that a column may not be null, if no row has a null there.
fn note_not_null(
    tx: &Transaction<'_>,
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
    Source::Live(tx.view()).scan(relation.number, &mut |row| {
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

fn notes_of_column<'n>(
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

fn drop_constraint(
    tx: &mut Transaction<'_>,
    relation: &Relation,
    name: &str,
    if_exists: bool,
) -> Result<(), SqlError> {
    let mut notes = relation.notes.clone();
    let schema = &relation.schema;
    if schema.foreign_keys.iter().any(|key| key.name == name) {
        return Ok(tx.drop_reference(relation.number, name)?);
    }
    if schema.checks.iter().any(|(check, _)| check == name) {
        return Ok(tx.drop_check(relation.number, name)?);
    }
    let is_primary = notes.primary_index.as_deref() == Some(name);
    if is_primary
        || notes
            .constraints
            .iter()
            .any(|constraint| constraint == name)
    {
        notes.constraints.retain(|constraint| constraint != name);
        if is_primary {
            notes.primary_index = None;
        }
        tx.drop_index(relation.number, name)?;
        return put_notes(tx, relation.number, &notes);
    }
    if relation.primary_constraint().as_deref() == Some(name) {
        return Err(SqlError::unsupported(
            "the primary key that a table was created with cannot be dropped",
        ));
    }
    match if_exists {
        true => Ok(()),
        false => Err(SqlError::new(
            code::UNKNOWN_OBJECT,
            format!(
                "constraint \"{name}\" of relation \"{}\" does not exist",
                relation.name
            ),
        )),
    }
}

fn alter_column(
    tx: &mut Transaction<'_>,
    relation: &Relation,
    name: &str,
    operation: &AlterColumnOperation,
) -> Result<(), SqlError> {
    let column = relation.column(name)?;
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
            let is_longer = match (column.spec.length(), to.length()) {
                (_, None) => true,
                (Some(from), Some(to)) => to >= from,
                (None, Some(_)) => false,
            };
            if from_stored != to_stored {
                let place = relation.schema.columns.len();
                tx.widen_column(&relation.name, name, to_stored)?;
                if let Some(moved) = notes.columns.remove(&column.number) {
                    notes.columns.insert(place, moved);
                }
                let moved = notes.columns.entry(place).or_default();
                moved.kind = to.kind.oid();
                moved.modifier = to.modifier;
            } else if is_longer && column.spec.kind.is_text() == to.kind.is_text() {
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
    put_notes(tx, relation.number, &notes)
}
