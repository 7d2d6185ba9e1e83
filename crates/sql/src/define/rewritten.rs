//! The rows of a table as `ALTER TABLE` leaves them, determined before it runs: those of a large table are made beside it.
//!
//! Only statements of which each row alone determines its new values are such: changes of columns' types, and generated
//! columns. Other added columns are such if their rows have constants, and a constraint of the column looks at them. So is a
//! deferrable key, whose index is built with the rows.

use super::columns::{Constraint, check_unique, declared, with_collation};
use super::generated::is_generated_option;
use super::retype::Retyped;
use crate::define_target::DefineTarget;
use crate::error::SqlError;
use crate::names::name_of;
use crate::parse::collated;
use crate::relation::Relation;
use crate::search_path::SearchPath;
use crate::types::TypeSpec;
use crate::user_types::TypeNames;
use sardonyx::schema::{Schema, Value};
use sqlparser::ast::{
    AlterColumnOperation, AlterTable, AlterTableOperation, ColumnDef, ColumnOption, Statement,
    TableConstraint,
};

/// The rows of a table after a statement.
#[derive(Debug, PartialEq)]
pub(crate) struct Rewritten {
    pub table: u16,
    retyped: Vec<Retyped>,
}

/// The new rows of one schema.
#[derive(Debug)]
pub(crate) struct NewRows<'r> {
    /// The values by their columns' numbers in the new schema.
    retyped: Vec<(usize, &'r Retyped)>,
    /// The values of the new schema's columns that the table's rows do not have.
    added: Vec<Value>,
}

/// True if a statement may rewrite all rows of a table.
pub(super) fn may_rewrite(alter: &AlterTable) -> bool {
    let mut operations = alter.operations.iter();
    operations.all(is_of_each_row) && alter.operations.iter().any(rewrites)
}

fn is_of_each_row(operation: &AlterTableOperation) -> bool {
    match operation {
        AlterTableOperation::AddColumn { .. } => true,
        AlterTableOperation::AlterColumn { op, .. } => matches!(
            op,
            AlterColumnOperation::SetDataType { .. } | AlterColumnOperation::DropNotNull
        ),
        AlterTableOperation::AddConstraint { constraint, .. } => is_deferrable_key(constraint),
        _ => false,
    }
}

/// True for a unique key that transactions check at their end: it is not built beside the table alone, since its index may
/// have a key twice.
fn is_deferrable_key(constraint: &TableConstraint) -> bool {
    match constraint {
        TableConstraint::Unique(key) => check_unique(key).is_ok_and(|key| key.deferrable),
        _ => false,
    }
}

/// True if an operation rewrites rows, or looks at all.
fn rewrites(operation: &AlterTableOperation) -> bool {
    match operation {
        AlterTableOperation::AddColumn { column_def, .. } => {
            let mut options = column_def.options.iter();
            options.any(|option| {
                is_generated_option(&option.option)
                    || matches!(
                        option.option,
                        ColumnOption::Unique(_) | ColumnOption::Check(_)
                    )
            })
        }
        _ => true,
    }
}

/// True if a column may be null from here on that gets another type, too: its new values are not checked by what it was.
fn frees_retyped(operation: &AlterTableOperation, alter: &AlterTable) -> bool {
    let AlterTableOperation::AlterColumn {
        column_name: freed,
        op: AlterColumnOperation::DropNotNull,
    } = operation
    else {
        return false;
    };
    alter.operations.iter().any(|other| {
        matches!(other, AlterTableOperation::AlterColumn {
            column_name,
            op: AlterColumnOperation::SetDataType { .. },
        } if name_of(column_name) == name_of(freed))
    })
}

impl Rewritten {
    /// The rows after a statement; `None` if they are not made beside the table.
    ///
    /// # Errors
    /// Invalid SQL.
    pub fn of(
        tx: &dyn DefineTarget,
        statement: &Statement,
        path: &SearchPath,
    ) -> Result<Option<Self>, SqlError> {
        let Statement::AlterTable(alter) = statement else {
            return Ok(None);
        };
        if !may_rewrite(alter) {
            return Ok(None);
        }
        if alter.operations.iter().any(|one| frees_retyped(one, alter)) {
            return Ok(None);
        }
        let relation = Relation::named(tx.view(), &path.find(tx.view(), &alter.name)?)?;
        let names = TypeNames::of(tx.view(), path)?;
        let mut retyped: Vec<Retyped> = Vec::new();
        for operation in &alter.operations {
            match operation {
                AlterTableOperation::AddColumn { column_def, .. }
                    if !has_constants(column_def, &names)? =>
                {
                    return Ok(None);
                }
                AlterTableOperation::AlterColumn {
                    column_name,
                    op:
                        AlterColumnOperation::SetDataType {
                            data_type, using, ..
                        },
                } => {
                    let column = relation.column(&name_of(column_name))?;
                    let (data_type, collation) = &collated(data_type)?;
                    let mut to = TypeSpec::of_data_type(data_type, &names)?;
                    if let Some(collation) = collation {
                        to = with_collation(to, collation)?;
                    }
                    let to = (to, using.as_ref());
                    let one = Retyped::of_statement(&relation, column, to, &names)?;
                    if retyped.iter().any(|before| one.is_after(before)) {
                        // It is computed from a value that the row does not have yet.
                        return Ok(None);
                    }
                    retyped.push(one);
                }
                _ => {}
            }
        }
        Ok(Some(Rewritten {
            table: relation.number,
            retyped,
        }))
    }

    /// The new rows, of the schema that the statement makes; `None` if they are not made beside the table: their keys or
    /// references are others, or the schema alone changes.
    pub fn rows(&self, before: &Schema, after: &Schema) -> Option<NewRows<'_>> {
        let is_same = before.primary == after.primary && before.foreign_keys == after.foreign_keys;
        let is_larger = before.columns.len() < after.columns.len();
        let looks = is_larger || before.indexes != after.indexes;
        let has_all = before.columns.len() <= after.columns.len();
        if !(is_same && looks && has_all) {
            return None;
        }
        let retyped = self.retyped.iter();
        let retyped = retyped.filter_map(|one| Some((one.place_in(after)?, one)));
        let added = after.columns.iter().skip(before.columns.len());
        Some(NewRows {
            retyped: retyped.collect(),
            added: added.map(|column| column.default.clone()).collect(),
        })
    }
}

impl NewRows<'_> {
    /// The new row of a row, given by its columns' numbers.
    ///
    /// # Errors
    /// A value that cannot be computed, or is null and may not be.
    pub fn of(&self, mut row: Vec<Value>) -> Result<Vec<Value>, SqlError> {
        let mut values = Vec::with_capacity(self.retyped.len());
        for (place, retyped) in &self.retyped {
            values.push((*place, retyped.of_row(&row)?));
        }
        row.extend(self.added.iter().cloned());
        for (place, value) in values {
            row[place] = value;
        }
        Ok(row)
    }
}

/// True if existing rows have a constant in an added column, or a value that is computed from them, and refer to nothing by
/// it. The statement may say otherwise of a table without rows.
fn has_constants(column: &ColumnDef, names: &TypeNames) -> Result<bool, SqlError> {
    let column = declared(column, names)?;
    if column.notes.domain.is_some() {
        return Ok(false);
    }
    let mut constraints = column.constraints.iter();
    let is_key = |constraint: &Constraint| {
        matches!(
            constraint,
            Constraint::Primary { .. } | Constraint::Foreign { .. }
        )
    };
    if constraints.any(is_key) {
        return Ok(false);
    }
    let is_computed = column.notes.default.is_some() || column.sequence.is_some();
    let lacks = column.not_null && column.default == Value::Null;
    // No condition of the engine's says that a generated column is not null.
    Ok(match column.generated {
        Some(_) => !column.not_null,
        None => !(is_computed || lacks),
    })
}
