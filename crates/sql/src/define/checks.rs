//! Conditions of existing tables: added to the schema, and recreated when a column gets another type.

use super::columns::{Constraint, Declared};
use super::validity;
use crate::define_target::DefineTarget;
use crate::error::SqlError;
use crate::expression::{NamedColumn, Use, declared_check, inlined, shown_check};
use crate::names::is_hidden_check;
use crate::parse::parse_expression;
use crate::relation::Relation;
use crate::search_path::SearchPath;
use crate::source::Source;
use crate::types::TypeSpec;
use crate::values::zones::SessionZone;
use sardonyx_rows::condition::Check;
use sqlparser::ast::Expr as Tree;

/// A condition on the rows of a table, as stored in the schema. Its moments are read in a zone, or in UTC.
///
/// # Errors
/// Invalid SQL.
pub(super) fn check_of(
    relation: &Relation,
    condition: &Tree,
    zone: Option<&SessionZone>,
) -> Result<String, SqlError> {
    let columns = relation.columns.iter().map(|column| NamedColumn {
        number: column.number,
        name: &column.name,
        spec: column.spec,
    });
    let columns: Vec<_> = columns.collect();
    declared_check(condition, &relation.name, &columns, &relation.schema, zone)
}

/// Replaces calls of users' functions in what a new table declares.
///
/// # Errors
/// As [`inlined`].
pub(super) fn inline(
    source: &dyn Source,
    path: &SearchPath,
    (columns, constraints): (&mut [Declared], &mut [Constraint]),
) -> Result<(), SqlError> {
    let named: Vec<(String, TypeSpec)> = columns
        .iter()
        .map(|column| (column.name.clone(), column.spec))
        .collect();
    let named = named.iter().enumerate();
    let named = named.map(|(number, (name, spec))| NamedColumn {
        number,
        name,
        spec: *spec,
    });
    let named: Vec<NamedColumn<'_>> = named.collect();
    let conditions = constraints.iter_mut().filter_map(|one| match one {
        Constraint::Check { condition, .. } => Some((&mut **condition, Use::Check)),
        _ => None,
    });
    let generated = columns.iter_mut().filter_map(|one| one.generated.as_mut());
    let generated = generated.map(|tree| (tree, Use::Generated));
    for (tree, of) in conditions.chain(generated) {
        *tree = inlined(source, path, Some(&named), (tree, of))?.into_owned();
    }
    Ok(())
}

/// Conditions of a table, with their names.
pub(super) type Checks = Vec<(String, Tree)>;

/// Drops the conditions on a column whose type is changed.
///
/// # Errors
/// The engine's errors.
pub(super) fn take(
    tx: &mut dyn DefineTarget,
    relation: &Relation,
    column: usize,
) -> Result<Checks, SqlError> {
    let mut taken = Vec::new();
    for (name, text) in &relation.schema.checks {
        let read = Check::parse(text, &relation.schema);
        if is_hidden_check(name) || !read.is_ok_and(|check| check.columns().contains(&column)) {
            continue;
        }
        let tree = parse_expression(&shown_check(text, &relation.schema, &relation.enums()))?;
        tx.drop_check(relation.number, name)?;
        taken.push((name.clone(), tree));
    }
    Ok(taken)
}

/// Adds the conditions again, for the current types of the columns.
///
/// # Errors
/// A condition that is now invalid; `23514` if a row violates one.
pub(super) fn put(tx: &mut dyn DefineTarget, number: u16, checks: Checks) -> Result<(), SqlError> {
    for (name, condition) in checks {
        let relation = Relation::numbered(tx.view(), number)?;
        let condition = check_of(&relation, &condition, None)?;
        let is_valid = !relation.notes.not_valid.contains(&name);
        validity::adding(tx, number, is_valid, |tx| {
            Ok(tx.add_check(number, &name, &condition)?)
        })?;
    }
    Ok(())
}
