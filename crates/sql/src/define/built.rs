//! The work of a data definition statement on the rows of a table, determined before it runs: with many rows, the work
//! is done concurrently.

use super::constraint::{check_may_have, index_of_constraint};
use super::create::constraint_of;
use super::index::{IndexToMake, NewIndex, new_index};
use super::rewritten::may_rewrite;
use super::rule::{Rule, rule_to_meet};
use crate::define_target::DefineTarget;
use crate::error::SqlError;
use crate::index_names::key_names;
use crate::relation::Relation;
use crate::search_path::SearchPath;
use sqlparser::ast::{AlterColumnOperation, AlterTableOperation, Statement};

/// True if a statement builds an index, or checks or rewrites all rows of a table.
pub(crate) fn works_on_rows(statement: &Statement) -> bool {
    match statement {
        Statement::CreateIndex(_) => true,
        Statement::AlterTable(alter) => {
            let adds = matches!(
                &alter.operations[..],
                [AlterTableOperation::AddConstraint { .. }
                    | AlterTableOperation::ValidateConstraint { .. }
                    | AlterTableOperation::AlterColumn {
                        op: AlterColumnOperation::SetNotNull,
                        ..
                    }]
            );
            adds || may_rewrite(alter)
        }
        _ => false,
    }
}

/// Work on all rows of a table.
#[derive(Debug, PartialEq)]
pub(crate) struct RowsWork {
    pub table: u16,
    /// The index to build.
    pub index: Option<IndexToMake>,
    /// The rule that all rows must meet.
    pub rule: Option<Rule>,
}

impl RowsWork {
    /// The columns that the table must have at their current places.
    pub fn columns(&self) -> Vec<usize> {
        let key = self.index.iter().flat_map(|index| &index.definition.key);
        let key = key.map(|part| part.column);
        let rule = self.rule.iter().flat_map(Rule::columns);
        key.chain(rule.copied()).collect()
    }

    /// The work of a statement; `None` if it has none.
    ///
    /// # Errors
    /// Invalid SQL.
    pub fn of(
        tx: &dyn DefineTarget,
        statement: &Statement,
        path: &SearchPath,
    ) -> Result<Option<Self>, SqlError> {
        let index = index_to_build(tx, statement, path)?;
        let rule = rule_to_meet(tx, statement, path)?;
        let tables = (index.as_ref().map(|(table, _)| *table), rule.as_ref());
        let table = tables.0.or(tables.1.map(|(table, _)| *table));
        Ok(table.map(|table| RowsWork {
            table,
            index: index.map(|(_, index)| index),
            rule: rule.map(|(_, rule)| rule),
        }))
    }
}

/// The index that a statement would create, and its table; `None` if it creates none.
///
/// # Errors
/// Invalid SQL.
fn index_to_build(
    tx: &dyn DefineTarget,
    statement: &Statement,
    path: &SearchPath,
) -> Result<Option<(u16, IndexToMake)>, SqlError> {
    match statement {
        Statement::CreateIndex(create) => Ok(match new_index(tx, create, path)? {
            // An index that is in the catalogue alone reads no rows.
            NewIndex::There(_) | NewIndex::Listed(_) => None,
            NewIndex::New(new) => Some((new.0.number, new.1)),
        }),
        Statement::AlterTable(alter) => {
            let [AlterTableOperation::AddConstraint { constraint, .. }] = &alter.operations[..]
            else {
                return Ok(None);
            };
            let relation = Relation::named(tx.view(), &path.find(tx.view(), &alter.name)?)?;
            let constraint = constraint_of(constraint)?;
            check_may_have(&relation, &constraint)?;
            let index = index_of_constraint(tx, &relation, &constraint)?;
            Ok(index.map(|definition| {
                let index = IndexToMake {
                    names: key_names(&relation, &definition),
                    definition,
                    columns: Vec::new(),
                    included: Vec::new(),
                    classes: Default::default(),
                    other_nulls: Default::default(),
                    method: Default::default(),
                };
                (relation.number, index)
            }))
        }
        _ => Ok(None),
    }
}
