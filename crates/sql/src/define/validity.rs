//! `NOT VALID`: references and conditions that rows of earlier times need not meet.
//!
//! The engine has such a constraint as any other, so it tests each row that is inserted or changed. The table's notes name it,
//! until its rows were found to meet it. Whatever takes such a constraint and adds it again adds it unchecked.

use crate::declared::put_notes;
use crate::define_target::DefineTarget;
use crate::error::{SqlError, code};
use crate::expression::{Environment, Parameters};
use crate::parse::parse_kept;
use crate::plan::Plan;
use crate::plan::planning::Planning;
use crate::relation::{Relation, table_oid};
use crate::result::{Complete, Tag};
use crate::rights::{Access, Rights};
use crate::running::run_plan;
use crate::write_target::WriteTarget;
use sardonyx::schema::Value;
use sqlparser::ast::{SetExpr, Statement, Update};
use std::sync::Arc;

/// Runs a step that adds a constraint. If it need not be valid, the rows are not looked at.
///
/// # Errors
/// The errors of the step.
pub(super) fn adding<T>(
    tx: &mut dyn DefineTarget,
    number: u16,
    is_valid: bool,
    step: impl FnOnce(&mut dyn DefineTarget) -> Result<T, SqlError>,
) -> Result<T, SqlError> {
    if is_valid {
        return step(tx);
    }
    tx.skip_rows(Some(number));
    let done = step(tx);
    tx.skip_rows(None);
    done
}

/// Notes that rows need not meet a constraint of a table.
///
/// # Errors
/// The engine's errors.
pub(super) fn note(tx: &mut dyn DefineTarget, number: u16, name: &str) -> Result<(), SqlError> {
    let relation = Relation::numbered(tx.view(), number)?;
    let mut notes = relation.notes.clone();
    notes.table.clone_from(&relation.name);
    notes.not_valid.insert(name.to_string());
    put_notes(tx, number, &notes)
}

/// `UPDATE pg_constraint SET convalidated = false`: `VALIDATE CONSTRAINT` looks at the rows again. Rails checks so that the
/// rows of its fixtures, which it inserts unchecked, refer to rows that are there.
///
/// # Errors
/// `0A000` for other clauses of `UPDATE`, and for keys; `42501` for a table that the session may not change; those of the
/// condition.
pub(super) fn doubt(
    tx: &mut dyn WriteTarget,
    update: &Update,
    rights: &Arc<Rights>,
    with: &Environment<'_>,
) -> Result<Complete, SqlError> {
    if update.from.is_some() || update.returning.is_some() || !update.table.joins.is_empty() {
        return Err(SqlError::unsupported(
            "UPDATE of pg_constraint has a condition only: neither FROM nor RETURNING",
        ));
    }
    let text = "select conrelid, conname from pg_catalog.pg_constraint";
    let Some(Statement::Query(mut query)) = parse_kept(text)?.pop() else {
        return Err(SqlError::new(code::INTERNAL, "a query was expected"));
    };
    if let SetExpr::Select(select) = &mut *query.body {
        select.from = vec![update.table.clone()];
        select.selection.clone_from(&update.selection);
    }
    let mut parameters = Parameters::default();
    let mut planning = Planning::new(&*tx, &mut parameters, rights)?;
    let plan = Plan::of(&mut planning, &Statement::Query(query))?;
    if !parameters.decided().is_empty() {
        return Err(SqlError::unsupported(
            "UPDATE of pg_constraint has no parameters",
        ));
    }
    let (_, rows) = run_plan(tx, &plan, with)?;
    let found = rows.map(|(table, _)| table.values).unwrap_or_default();
    let Some(tx) = tx.define() else {
        return Err(SqlError::unsupported(
            "a transaction that runs aside defines nothing",
        ));
    };
    for constraint in found.chunks_exact(2) {
        if let [Value::Int(table), Value::Text(name)] = constraint {
            doubt_one(tx, *table, name, rights)?;
        }
    }
    tx.defined()?;
    let rows = found.len() as u64 / 2;
    Ok(Complete::of(Tag::rows("UPDATE", rows)))
}

fn doubt_one(
    tx: &mut dyn DefineTarget,
    table: i128,
    name: &str,
    rights: &Rights,
) -> Result<(), SqlError> {
    let mut tables = 0..tx.view().definitions().len() as u16;
    let number = tables.find(|number| i128::from(table_oid(*number)) == table);
    let relation = match number {
        Some(number) => Some(Relation::numbered(tx.view(), number)?),
        None => None,
    };
    let is_it = |relation: &Relation| {
        let mut references = relation.schema.foreign_keys.iter();
        let mut conditions = relation.schema.checks.iter();
        references.any(|key| key.name == name) || conditions.any(|(there, _)| there == name)
    };
    let Some(relation) = relation.filter(is_it) else {
        return Err(SqlError::unsupported(format!(
            "constraint \"{name}\" is always valid: only foreign keys and conditions of tables can be validated again"
        )));
    };
    rights.check(&relation.name, Access::Define)?;
    note(tx, relation.number, name)
}
