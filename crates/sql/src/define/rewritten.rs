//! The rows of a table as `ALTER TABLE` leaves them, determined before it runs: those of a large table are made beside it.
//!
//! Only statements of which each row alone determines its new values are such: changes of columns' types, and generated
//! columns. Other added columns are such if their default is computed for each row, or if the rows have constants and a
//! constraint of the column looks at them. So is a deferrable key, whose index is built with the rows.

use super::columns::{Constraint, Declared, check_unique, declared, with_collation};
use super::constraint::contains_nulls;
use super::default::compiled;
use super::generated::is_generated_option;
use super::retype::Retyped;
use crate::class::draws;
use crate::define_target::DefineTarget;
use crate::error::SqlError;
use crate::expression::{Environment, Expr};
use crate::names::name_of;
use crate::parse::{collated, parse_expression};
use crate::relation::Relation;
use crate::search_path::SearchPath;
use crate::types::TypeSpec;
use crate::user_types::TypeNames;
use crate::values::cast::stored;
use sardonyx::schema::{Schema, Value};
use sardonyx_rows::constraints::{Generated, generated_of, generated_values};
use sqlparser::ast::{
    AlterColumnOperation, AlterTable, AlterTableOperation, ColumnOption, Statement, TableConstraint,
};
use std::sync::Arc;

/// The rows of a table after a statement.
#[derive(Debug, PartialEq)]
pub(crate) struct Rewritten {
    pub table: u16,
    retyped: Vec<Retyped>,
    computed: Vec<Computed>,
    /// Added generated columns that may not be null.
    generated: Vec<NotNull>,
}

/// An added column that may not be null.
#[derive(Debug)]
struct NotNull {
    column: String,
    /// The error of a row with a null.
    error: SqlError,
}

impl PartialEq for NotNull {
    fn eq(&self, other: &Self) -> bool {
        self.column == other.column
    }
}

/// An added column whose default is computed for each row.
#[derive(Debug)]
struct Computed {
    column: String,
    text: String,
    spec: TypeSpec,
    value: Expr,
    not_null: Option<NotNull>,
}

impl PartialEq for Computed {
    fn eq(&self, other: &Self) -> bool {
        (&self.column, &self.text, &self.spec, &self.not_null)
            == (&other.column, &other.text, &other.spec, &other.not_null)
    }
}

impl Computed {
    fn value(&self, with: &Environment<'_>) -> Result<Value, SqlError> {
        let value = stored(self.value.constant(with)?, self.spec)?;
        match &self.not_null {
            Some(not_null) if value == Value::Null => Err(not_null.error.clone()),
            _ => Ok(value),
        }
    }
}

/// The new rows of one schema.
#[derive(Debug)]
pub(crate) struct NewRows<'r> {
    /// The values by their columns' numbers in the new schema.
    retyped: Vec<(usize, &'r Retyped)>,
    /// The values of the new schema's columns that the table's rows do not have.
    added: Vec<Value>,
    /// The computed ones of them, by their columns' numbers.
    computed: Vec<(usize, &'r Computed)>,
    /// The new schema and its generated columns, if some added ones may not be null: these.
    generated: Option<(&'r Schema, Arc<[Generated]>)>,
    not_null: Vec<(usize, &'r NotNull)>,
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
                        ColumnOption::Unique(_) | ColumnOption::Check(_) | ColumnOption::Default(_)
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
        let (mut computed, mut generated) = (Vec::new(), Vec::new());
        let (mut rewrites_more, mut added) = (false, Vec::new());
        for operation in &alter.operations {
            match operation {
                AlterTableOperation::AddColumn {
                    column_def,
                    if_not_exists,
                    ..
                } => {
                    let name = name_of(&column_def.name);
                    let is_there = added.contains(&name) || relation.column(&name).is_ok();
                    if *if_not_exists && is_there {
                        continue;
                    }
                    added.push(name);
                    let column = declared(column_def, &names)?;
                    if !is_of_row(&column) {
                        return Ok(None);
                    }
                    rewrites_more |= column.generated.is_some() || !column.constraints.is_empty();
                    let not_null = column.not_null.then(|| NotNull {
                        error: contains_nulls(&relation, &column.name),
                        column: column.name.clone(),
                    });
                    match &column.notes.default {
                        Some(text) => {
                            let tree = parse_expression(text)?;
                            let (value, _) = compiled(&tree, column.spec, &names)?;
                            computed.push(Computed {
                                column: column.name.clone(),
                                text: text.clone(),
                                spec: column.spec,
                                value,
                                not_null,
                            });
                        }
                        None if column.generated.is_some() => generated.extend(not_null),
                        None => {}
                    }
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
                _ => rewrites_more = true,
            }
        }
        // A constant alone is in no row.
        if retyped.is_empty() && computed.is_empty() && !rewrites_more {
            return Ok(None);
        }
        Ok(Some(Rewritten {
            table: relation.number,
            retyped,
            computed,
            generated,
        }))
    }

    /// The new rows, of the schema that the statement makes; `None` if they are not made beside the table: their keys or
    /// references are others, or the schema alone changes.
    pub fn rows<'r>(&'r self, before: &Schema, after: &'r Schema) -> Option<NewRows<'r>> {
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
        let mut computed = Vec::with_capacity(self.computed.len());
        for one in &self.computed {
            computed.push((after.column(&one.column)?, one));
        }
        let mut not_null = Vec::with_capacity(self.generated.len());
        for one in &self.generated {
            not_null.push((after.column(&one.column)?, one));
        }
        let generated = match not_null.is_empty() {
            true => None,
            false => Some((after, generated_of(after).ok()?)),
        };
        Some(NewRows {
            retyped: retyped.collect(),
            added: added.map(|column| column.default.clone()).collect(),
            computed,
            generated,
            not_null,
        })
    }
}

impl NewRows<'_> {
    /// The new row of a row, given by its columns' numbers. The values of generated columns are the content's work.
    ///
    /// # Errors
    /// A value that cannot be computed, or is null and may not be.
    pub fn of(&self, mut row: Vec<Value>, with: &Environment<'_>) -> Result<Vec<Value>, SqlError> {
        let mut values = Vec::with_capacity(self.retyped.len());
        for (place, retyped) in &self.retyped {
            values.push((*place, retyped.of_row(&row)?));
        }
        row.extend(self.added.iter().cloned());
        for (place, value) in values {
            row[place] = value;
        }
        for (place, computed) in &self.computed {
            row[*place] = computed.value(with)?;
        }
        if let Some((schema, generated)) = &self.generated {
            let value = |column: usize| Ok(row[column].as_ref());
            let values = generated_values((schema, ""), generated, |_| true, value);
            self.check_generated(&values.map_err(sardonyx::Error::from)?)?;
        }
        Ok(row)
    }

    fn check_generated(&self, values: &[(usize, Value)]) -> Result<(), SqlError> {
        for (place, not_null) in &self.not_null {
            let mut values = values.iter();
            if values.any(|(column, value)| column == place && *value == Value::Null) {
                return Err(not_null.error.clone());
            }
        }
        Ok(())
    }
}

/// True if existing rows have a constant in an added column, or a value that each row alone determines, and refer to nothing
/// by it. The statement may say otherwise of a table without rows.
fn is_of_row(column: &Declared) -> bool {
    let mut constraints = column.constraints.iter();
    let is_key = |constraint: &Constraint| {
        matches!(
            constraint,
            Constraint::Primary { .. } | Constraint::Foreign { .. }
        )
    };
    if column.notes.domain.is_some() || column.sequence.is_some() || constraints.any(is_key) {
        return false;
    }
    match &column.notes.default {
        // Numbers of sequences are the stage's work.
        Some(text) => !draws(&text.to_ascii_lowercase()),
        None => column.generated.is_some() || !column.not_null || column.default != Value::Null,
    }
}
