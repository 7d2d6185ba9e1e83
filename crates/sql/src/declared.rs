//! Declarations of columns, stored in the engine's schema so that they are enforced for every program: lengths, digits,
//! `NOT NULL` that was set later, defaults.
//!
//! The notes of a table ([`TableNotes`]) are SQL's form of them. All code changes them by [`put_notes`], so the
//! engine's schema agrees. Databases of older versions get them in the schema once, when SQL opens them ([`tell_all`]).

use crate::define_target::DefineTarget;
use crate::error::SqlError;
use crate::expression::{Compiler, Expr, Parameters, Scope};
use crate::path::written;
use crate::relation::{
    ColumnNotes, Relation, TableNotes, note_listed_names, note_primary_name, store_notes,
};
use crate::source::Source;
use crate::types::{SqlType, TypeSpec};
use crate::user_types::{TypeNames, UserTypes, is_of_user};
use crate::values::cast::{Coercion, stored};
use sardonyx::Tables;
use sardonyx::schema::{Column, Declared, DeclaredDefault, Schema};
use std::sync::Arc;

/// Stores the notes of a table, and declares its columns in the engine's schema by them.
///
/// # Errors
/// The engine's; errors of a default's expression.
pub(crate) fn put_notes(
    tx: &mut dyn DefineTarget,
    number: u16,
    notes: &TableNotes,
) -> Result<(), SqlError> {
    note_primary_name(tx, number, notes)?;
    note_listed_names(tx, number, notes)?;
    store_notes(tx, number, notes)?;
    let Some(schema) = tx.schema(number) else {
        return Ok(());
    };
    let declared = declared_of(&schema, notes, &UserTypes::of(tx.view())?)?;
    match declared == schema.declared {
        true => Ok(()),
        false => Ok(tx.declare_columns(number, declared)?),
    }
}

/// Declares columns of all tables in the engine's schema by their notes, if an older version has not.
///
/// # Errors
/// The engine's.
pub(crate) fn tell_all(tables: &Tables) -> Result<(), SqlError> {
    let unknown = tables.read(|view| {
        let source = *view;
        let types = UserTypes::of(&source).unwrap_or_default();
        let numbers = 0..view.definitions().len() as u16;
        let unknown = numbers.filter_map(|number| {
            let relation = Relation::numbered(&source, number).ok()?;
            let declared = declared_of(&relation.schema, &relation.notes, &types).ok()?;
            (declared != relation.schema.declared).then_some((number, declared))
        });
        Ok(unknown.collect::<Vec<_>>())
    })?;
    if unknown.is_empty() {
        return Ok(());
    }
    tables.transaction().errors().run(|tx| {
        let mut unknown = unknown.clone().into_iter();
        unknown.try_for_each(|(number, declared)| {
            Ok::<_, SqlError>(tx.declare_columns(number, declared)?)
        })
    })
}

/// Drops the columns of indexes that no index names: a program that ended while it made an index may have left them.
///
/// # Errors
/// The engine's.
pub(crate) fn drop_unused(tables: &Tables) -> Result<(), SqlError> {
    let unused = tables.read(|view| {
        let numbers = 0..view.definitions().len() as u16;
        let unused = numbers.filter(|number| {
            let schema = Source::schema(view, *number);
            schema.is_some_and(|schema| Schema::clone(&schema).without_unused_columns() != *schema)
        });
        Ok(unused.collect::<Vec<_>>())
    })?;
    if unused.is_empty() {
        return Ok(());
    }
    tables.transaction().errors().run(|tx| {
        let mut unused = unused.iter();
        unused.try_for_each(|number| Ok::<_, SqlError>(tx.drop_unused_columns(*number)?))
    })
}

fn declared_of(
    schema: &Schema,
    notes: &TableNotes,
    types: &Arc<UserTypes>,
) -> Result<Vec<Declared>, SqlError> {
    let mut found = Vec::new();
    for (number, column) in schema.live_columns() {
        let generated = schema
            .declared(number)
            .filter(|there| there.generated().is_some());
        let mut declared = match notes.columns.get(&number) {
            Some(noted) if generated.is_some() => Declared {
                default: generated.and_then(|there| there.default.clone()),
                ..of_column(number, column, noted, types)?
            },
            Some(noted) => of_column(number, column, noted, types)?,
            // A program may have declared a column without notes.
            None => {
                let there = schema.declared(number);
                there.cloned().unwrap_or_else(|| Declared::of(number))
            }
        };
        if notes.hidden_key && schema.primary.key.iter().any(|part| part.column == number) {
            declared.default = Some(DeclaredDefault::NextNumber);
        }
        if declared.says_something() {
            found.push(declared);
        }
    }
    Ok(found)
}

fn of_column(
    number: usize,
    column: &Column,
    noted: &ColumnNotes,
    types: &Arc<UserTypes>,
) -> Result<Declared, SqlError> {
    let spec = types
        .numbered(noted.kind)
        .map(|kind| TypeSpec::new(kind, noted.modifier));
    let spec = spec.unwrap_or_else(|| SqlType::of_stored(column.kind));
    let default = match (&noted.sequence, &noted.default) {
        (Some(sequence), _) => {
            let name = written(sequence).replace('\'', "''");
            Some(DeclaredDefault::Sql(format!("nextval('{name}')")))
        }
        (None, Some(text)) => Some(match compiled_default(text, spec, types)? {
            Expr::Literal(value) => DeclaredDefault::Value(stored(value, spec)?),
            // Programs without the types of users compute it, too.
            _ if is_of_user(spec.kind.oid()) => {
                return Err(SqlError::unsupported(format!(
                    "a computed default of type {} is not supported: {text}",
                    spec.kind.name()
                )));
            }
            _ => DeclaredDefault::Sql(text.clone()),
        }),
        (None, None) => None,
    };
    Ok(Declared {
        kind: spec.kind.oid(),
        modifier: spec.modifier,
        not_null: noted.not_null && column.is_nullable(),
        default,
        ..Declared::of(number)
    })
}

/// A default's expression, compiled as a value to store into a column of a type.
///
/// # Errors
/// Errors of the expression.
pub(crate) fn compiled_default(
    text: &str,
    spec: TypeSpec,
    types: &Arc<UserTypes>,
) -> Result<Expr, SqlError> {
    let text = crate::sequence_names::with_public(text)?;
    let tree = crate::parse::parse_expression(&text)?;
    let scope = Scope::default();
    let mut parameters = Parameters::default().naming(TypeNames::all(types));
    let mut compiler = Compiler::new(&scope, &mut parameters);
    let typed = compiler.compile(&tree)?;
    compiler.coerce(typed, spec, Coercion::Assignment)
}
