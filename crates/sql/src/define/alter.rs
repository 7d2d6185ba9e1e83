//! `ALTER TABLE`.

use super::columns::{Declared, check_column_name, declared, name_sequences, with_collation};
use super::constraint::{
    add_constraint, allow_nulls, drop_constraint, note_not_null, notes_of_column,
};
use super::create::{add_sequence, check_new_name, constraint_of};
use super::default::default_of;
use super::domains;
use super::drop::not_a_table;
use super::drop_column::drop_column;
use super::filled;
use super::generated::generated_column;
use super::granting::Owners;
use super::identity;
use super::options::{check_owner, check_storage, refuse};
use super::options::{logged_all_the_same, skipped};
use super::rename;
use super::retype::retype_column;
use super::sequences::{draw_of_own, named_by_identity};
use super::trigger::{renamed, switch};
use super::validating;
use super::validity;
use crate::declared::put_notes;
use crate::define_target::DefineTarget;
use crate::error::{SqlError, code, not_null};
use crate::expression::{Environment, NamedColumn, Use, inlined};
use crate::indexed::named_columns;
use crate::names::{name_of, quoted_literal};
use crate::parse::{collated, drops_identity, names_sequence};
use crate::path::{beside, schema_name, shown};
use crate::relation::Relation;
use crate::result::{Complete, Tag};
use crate::routines::follow_table;
use crate::search_path::SearchPath;
use crate::source::Source;
use crate::text::text_of;
use crate::types::{TypeSpec, dimensions_of};
use crate::user_types::{TypeNames, is_of_user};
use sardonyx::schema::Value;
use sqlparser::ast::{
    AlterColumnOperation, AlterTable, AlterTableOperation, ColumnDef, DropBehavior, Expr, Ident,
    RenameTableNameKind,
};

const WORD: &str = "ALTER TABLE";

/// Runs `ALTER TABLE`.
///
/// # Errors
/// Invalid SQL; the engine's errors.
pub(super) fn table(
    tx: &mut dyn DefineTarget,
    alter: &AlterTable,
    (user, path): (Owners<'_>, &SearchPath),
    with: Option<&Environment<'_>>,
) -> Result<Complete, SqlError> {
    let AlterTable {
        name,
        if_exists,
        // Tables do not inherit.
        only: _,
        operations,
        location,
        on_cluster,
        table_type,
        end_token: _,
    } = alter;
    let other = location.is_some() || on_cluster.is_some() || table_type.is_some();
    refuse(WORD, &[(other, "a clause of another database system")])?;
    let name = path.find(tx.view(), name)?;
    match Relation::named(tx.view(), &name) {
        Err(error) if error.code == code::UNKNOWN_TABLE && *if_exists => {
            let message = format!("relation \"{}\" does not exist, skipping", shown(&name));
            return Ok(skipped(WORD, "00000", message));
        }
        Err(error) => return Err(error),
        Ok(relation) if relation.notes.materialized.is_some() => {
            return Err(not_a_table(&relation));
        }
        Ok(_) => {}
    }
    let mut complete = Complete::of(Tag::plain(WORD));
    for operation in operations {
        if matches!(operation, AlterTableOperation::SetUnlogged) {
            complete.notices.push(logged_all_the_same());
        }
        one(tx, &name, operation, (user, path), with)?;
    }
    Ok(complete)
}

fn one(
    tx: &mut dyn DefineTarget,
    table: &str,
    operation: &AlterTableOperation,
    (user, path): (Owners<'_>, &SearchPath),
    with: Option<&Environment<'_>>,
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
                false => add_column(tx, &relation, column_def, path, with),
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
                let relation = Relation::named(tx.view(), table)?;
                let cascades = *drop_behavior == Some(DropBehavior::Cascade);
                drop_column(tx, &relation, &name, cascades)?;
            }
            Ok(())
        }
        AlterTableOperation::RenameColumn {
            old_column_name,
            new_column_name,
        } => {
            let (old, new) = (name_of(old_column_name), name_of(new_column_name));
            relation.column(&old)?;
            check_column_name(&new)?;
            tx.rename_column(table, &old, &new)?;
            match renamed(&relation, &old, &new)? {
                Some(notes) => put_notes(tx, relation.number, &notes),
                None => Ok(()),
            }
        }
        AlterTableOperation::RenameConstraint { old_name, new_name } => {
            rename::constraint(tx, &relation, &name_of(old_name), &name_of(new_name))
        }
        AlterTableOperation::RenameTable { table_name } => {
            let (RenameTableNameKind::As(to) | RenameTableNameKind::To(to)) = table_name;
            // The table stays in its schema, so the new name must be unqualified.
            if to.0.len() > 1 {
                return Err(SqlError::syntax("syntax error at or near \".\""));
            }
            let to = beside(table, &schema_name(to)?);
            check_new_name(tx, &to)?;
            tx.rename_table(table, &to)?;
            follow_table(tx, table, &to)?;
            let mut notes = relation.notes.clone();
            if !notes.hidden_key && notes.primary_name.is_none() {
                notes.primary_name = relation.primary_constraint();
            }
            notes.table = to;
            put_notes(tx, relation.number, &notes)
        }
        AlterTableOperation::AddConstraint {
            constraint,
            not_valid,
        } => {
            let constraint = constraint_of(constraint)?;
            add_constraint(tx, &relation, (&constraint, !not_valid), path)
        }
        AlterTableOperation::ValidateConstraint { name } => {
            validating::validate(tx, &relation, &name_of(name))
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
            alter_column(tx, &relation, &name_of(column_name), op, path)
        }
        AlterTableOperation::OwnerTo { new_owner } => check_owner(new_owner, user),
        AlterTableOperation::EnableTrigger { name } => triggers(tx, &relation, name, true),
        AlterTableOperation::DisableTrigger { name } => triggers(tx, &relation, name, false),
        AlterTableOperation::EnableRowLevelSecurity => secure(tx, &relation, true),
        AlterTableOperation::DisableRowLevelSecurity => secure(tx, &relation, false),
        // It is so.
        AlterTableOperation::NoForceRowLevelSecurity => Ok(()),
        // All tables are logged.
        AlterTableOperation::SetLogged | AlterTableOperation::SetUnlogged => Ok(()),
        AlterTableOperation::SetOptionsParens { options } => {
            let mut options = options.iter();
            options.try_for_each(|option| check_storage(WORD, option))
        }
        other => Err(SqlError::unsupported(format!(
            "ALTER TABLE {other} is not supported"
        ))),
    }
}

/// `ENABLE TRIGGER` and `DISABLE TRIGGER`. `ALL` switches the checks of references, too.
fn triggers(
    tx: &mut dyn DefineTarget,
    relation: &Relation,
    name: &Ident,
    enables: bool,
) -> Result<(), SqlError> {
    match (name.quote_style, name_of(name).as_str()) {
        (None, "all") => {
            tx.check_changes(relation.number, enables)?;
            switch(tx, relation, None, enables)
        }
        (None, "user") => switch(tx, relation, None, enables),
        (_, name) => switch(tx, relation, Some(name), enables),
    }
}

fn add_column(
    tx: &mut dyn DefineTarget,
    relation: &Relation,
    column: &ColumnDef,
    path: &SearchPath,
    with: Option<&Environment<'_>>,
) -> Result<(), SqlError> {
    let names = TypeNames::of(tx.view(), path)?;
    let mut column = declared(column, &names)?;
    name_sequences(tx.view(), path, &relation.name, &mut column.notes.default)?;
    if relation.column(&column.name).is_ok() {
        return Err(SqlError::new(
            code::DUPLICATE_COLUMN,
            format!(
                "column \"{}\" of relation \"{}\" already exists",
                column.name,
                relation.local()
            ),
        ));
    }
    let domain = column.notes.domain;
    if let Some(expression) = column.generated.take() {
        refuse(
            WORD,
            &[(domain.is_some(), "a generated column of a domain")],
        )?;
        return add_generated(tx, relation, &column, &expression, path);
    }
    let is_valid = relation.notes.not_valid.is_empty();
    let source = tx.view();
    let is_empty = Source::count(source, relation.number)? == 0;
    let computed = column.notes.default.is_some() || column.sequence.is_some();
    if column.not_null && column.default == Value::Null && !is_empty && !computed {
        return Err(not_null(&relation.name, &column.name));
    }
    // The engine requires a default, for existing rows, if the column is not nullable.
    let nullable = !column.not_null || column.default == Value::Null;
    column.notes.not_null = column.not_null && nullable;
    tx.add_column(
        &relation.name,
        &column.name,
        column.spec.stored(),
        nullable,
        column.default.clone(),
    )?;
    if computed && !is_empty {
        // Rows keep what they violate.
        validity::adding(tx, relation.number, is_valid, |tx| {
            filled::fill(tx, relation, &mut column, &names, with)
        })?;
    }
    add_sequence(tx, &relation.name, &mut column)?;
    let mut notes = relation.notes.clone();
    notes.table.clone_from(&relation.name);
    notes
        .columns
        .insert(relation.schema.columns.len(), column.notes);
    put_notes(tx, relation.number, &notes)?;
    if let Some(domain) = domain {
        domains::apply(tx, relation.number, relation.schema.columns.len(), domain)?;
    }
    for constraint in &column.constraints {
        let relation = Relation::numbered(tx.view(), relation.number)?;
        add_constraint(tx, &relation, (constraint, true), path)?;
    }
    Ok(())
}

fn add_generated(
    tx: &mut dyn DefineTarget,
    relation: &Relation,
    column: &Declared,
    expression: &Expr,
    path: &SearchPath,
) -> Result<(), SqlError> {
    let schema = &relation.schema;
    let is_generated = |number| {
        let declared = schema.declared(number);
        declared.is_some_and(|declared| declared.generated().is_some())
    };
    let mut columns = named_columns(relation);
    let number = schema.columns.len();
    columns.push(NamedColumn {
        number,
        name: &column.name,
        spec: column.spec,
    });
    let is_own = |read| read == number || is_generated(read);
    let expression = inlined(
        tx.view(),
        path,
        Some(&columns),
        (expression, Use::Generated),
    )?;
    let made = generated_column(
        &relation.name,
        &columns,
        column,
        &expression,
        &is_own,
        path.zone(),
    )?;
    // Rows keep what they violate.
    let is_valid = relation.notes.not_valid.is_empty();
    validity::adding(tx, relation.number, is_valid, |tx| {
        Ok(tx.add_generated(relation.number, &[made])?)
    })?;
    let mut notes = relation.notes.clone();
    notes.table.clone_from(&relation.name);
    notes.columns.insert(number, column.notes.clone());
    put_notes(tx, relation.number, &notes)?;
    let relation = Relation::numbered(tx.view(), relation.number)?;
    if column.not_null {
        note_not_null(tx, &relation, &mut notes, &column.name)?;
        put_notes(tx, relation.number, &notes)?;
    }
    for constraint in &column.constraints {
        let relation = Relation::numbered(tx.view(), relation.number)?;
        add_constraint(tx, &relation, (constraint, true), path)?;
    }
    Ok(())
}

/// The error of a default for a generated column.
fn is_generated(table: &str, column: &str) -> SqlError {
    SqlError::syntax(format!(
        "column \"{column}\" of relation \"{table}\" is a generated column"
    ))
}

fn alter_column(
    tx: &mut dyn DefineTarget,
    relation: &Relation,
    name: &str,
    operation: &AlterColumnOperation,
    path: &SearchPath,
) -> Result<(), SqlError> {
    let column = relation.column(name)?;
    let mut notes = relation.notes.clone();
    notes.table.clone_from(&relation.name);
    match operation {
        AlterColumnOperation::SetNotNull => {
            note_not_null(tx, relation, &mut notes, name)?;
        }
        AlterColumnOperation::DropNotNull => {
            if relation.primary_columns().contains(&column.number) {
                return Err(SqlError::new(
                    code::INVALID_TABLE_DEFINITION,
                    format!("column \"{name}\" is in a primary key"),
                ));
            }
            if !relation.schema.columns[column.number].is_nullable() {
                allow_nulls(tx, relation, column)?;
            }
            notes_of_column(&mut notes, column).not_null = false;
        }
        AlterColumnOperation::SetDefault { .. } if column.is_generated => {
            return Err(is_generated(&relation.name, name));
        }
        AlterColumnOperation::DropDefault if column.is_generated => {
            return Err(is_generated(&relation.name, name)
                .hint("Use ALTER TABLE ... ALTER COLUMN ... DROP EXPRESSION instead."));
        }
        AlterColumnOperation::SetDefault { .. } | AlterColumnOperation::DropDefault
            if column.identity.is_some() =>
        {
            let text = format!(
                "column \"{name}\" of relation \"{}\" is an identity column",
                relation.local()
            );
            let error = SqlError::syntax(text);
            return Err(match operation {
                AlterColumnOperation::DropDefault => {
                    error.hint("Use ALTER TABLE ... ALTER COLUMN ... DROP IDENTITY instead.")
                }
                _ => error,
            });
        }
        AlterColumnOperation::SetDefault { value } => {
            let names = TypeNames::of(tx.view(), path)?;
            let (constant, mut text) = default_of(value, column.spec, &names)?;
            name_sequences(tx.view(), path, &relation.name, &mut text)?;
            let of = notes_of_column(&mut notes, column);
            // Existing rows may have the schema's default, so it stays.
            of.default = Some(text.unwrap_or_else(|| match &constant {
                Value::Null => "null".to_string(),
                // In another session, or after a label is renamed, the text would have another meaning.
                _ if is_of_user(column.spec.kind.oid()) || column.spec.kind.is_of_days() => {
                    let text = text_of(column.spec.kind, constant.as_ref());
                    quoted_literal(&text.unwrap_or_default())
                }
                _ => value.to_string(),
            }));
            // The sequence still belongs to the column.
            of.owned.extend(of.sequence.take());
            draw_of_own(of, column.spec.kind)?;
        }
        AlterColumnOperation::DropDefault => {
            let of = notes_of_column(&mut notes, column);
            of.default = Some("null".into());
            of.owned.extend(of.sequence.take());
        }
        AlterColumnOperation::SetDataType {
            data_type, using, ..
        } => {
            let names = TypeNames::of(tx.view(), path)?;
            let (data_type, collation) = &collated(data_type)?;
            if names.domain(data_type).is_some() || column.domain.is_some() {
                return Err(SqlError::unsupported(
                    "ALTER COLUMN TYPE to or from a domain is not supported",
                ));
            }
            let mut to = TypeSpec::of_data_type(data_type, &names)?;
            if let Some(collation) = collation {
                to = with_collation(to, collation)?;
            }
            let to = (to, dimensions_of(data_type), using.as_ref());
            return retype_column(tx, relation, column, to, &names);
        }
        AlterColumnOperation::AddGenerated {
            generated_as: Some(generated),
            sequence_options,
        } => {
            let options = sequence_options.as_deref().unwrap_or_default();
            return identity::add(tx, relation, column, (*generated, options));
        }
        AlterColumnOperation::GenericOptions { options } if drops_identity(options).is_some() => {
            let if_exists = drops_identity(options) == Some(true);
            return identity::drop(tx, relation, column, if_exists);
        }
        AlterColumnOperation::GenericOptions { options } if names_sequence(options).is_some() => {
            let name = names_sequence(options).unwrap_or_default();
            return named_by_identity(tx, relation, column, name);
        }
        other => {
            return Err(SqlError::unsupported(format!(
                "ALTER COLUMN {other} is not supported"
            )));
        }
    }
    put_notes(tx, relation.number, &notes)
}

/// Runs `ENABLE` and `DISABLE ROW LEVEL SECURITY`.
fn secure(
    tx: &mut dyn DefineTarget,
    relation: &Relation,
    is_secured: bool,
) -> Result<(), SqlError> {
    let mut notes = relation.notes.clone();
    notes.table.clone_from(&relation.name);
    notes.row_security = is_secured;
    put_notes(tx, relation.number, &notes)
}
