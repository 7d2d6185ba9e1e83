//! Indexes that a statement makes, known before it runs: of a table with many rows they are built beside it.

use super::constraint::index_of_constraint;
use super::create::{NewIndex, constraint_of, new_index};
use crate::define_target::DefineTarget;
use crate::error::SqlError;
use crate::names::of_public;
use crate::relation::Relation;
use sardonyx::schema::IndexDefinition;
use sqlparser::ast::{AlterColumnOperation, AlterTableOperation, Statement};

/// Whether a statement is one whose work is to build an index, or to look at all rows of a table.
pub(crate) fn works_on_rows(statement: &Statement) -> bool {
    match statement {
        Statement::CreateIndex(_) => true,
        Statement::AlterTable(alter) => matches!(
            &alter.operations[..],
            [AlterTableOperation::AddConstraint { .. }
                | AlterTableOperation::AlterColumn {
                    op: AlterColumnOperation::SetNotNull,
                    ..
                }]
        ),
        _ => false,
    }
}

/// The index that a statement would make, and its table; none if it makes none.
///
/// # Errors
/// What is wrong with the statement.
pub(crate) fn index_to_build(
    tx: &dyn DefineTarget,
    statement: &Statement,
) -> Result<Option<(u16, IndexDefinition)>, SqlError> {
    match statement {
        Statement::CreateIndex(create) => Ok(match new_index(tx, create)? {
            NewIndex::There(_) => None,
            NewIndex::New(table, definition) => Some((table, definition)),
        }),
        Statement::AlterTable(alter) => {
            let [AlterTableOperation::AddConstraint { constraint, .. }] = &alter.operations[..]
            else {
                return Ok(None);
            };
            let relation = Relation::named(tx.view(), &of_public(&alter.name)?)?;
            let index = index_of_constraint(tx, &relation, &constraint_of(constraint)?)?;
            Ok(index.map(|index| (relation.number, index)))
        }
        _ => Ok(None),
    }
}
