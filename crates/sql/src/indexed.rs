//! Expressions and conditions of indexes, and generated columns, as SQL sees them.
//!
//! The engine keeps an index on an expression as one on a column that is generated for it. A partial index begins with
//! a column that is true where the condition is (`sardonyx_rows::schema::Schema::is_index_column`). SQL shows neither
//! column: this module has their expressions.

use crate::error::{SqlError, code};
use crate::expression::{
    Comparison, Environment, Expr, ListOf, NamedColumn, Use, declared_expression, stored_check,
    stored_expression,
};
use crate::index_names::{generated, is_where, spec_of, unwrapped};
use crate::plan::choice::parts_of;
use crate::relation::Relation;
use crate::rows::Values;
use crate::types::{SqlType, TypeSpec};
use crate::user_types::TypeNames;
use crate::values::arithmetic::without_zeros;
use crate::values::cast::{stored, writes_intervals};
use crate::values::zones::SessionZone;
use sardonyx::schema::{Declared, Schema, Value};
use sardonyx_rows::condition::{SqlCheck, compare};
use sqlparser::ast::Expr as Tree;
use std::cmp::Ordering;

/// The columns of a table for its expressions.
pub(crate) fn named_columns(relation: &Relation) -> Vec<NamedColumn<'_>> {
    let columns = relation.columns.iter().map(|column| NamedColumn {
        number: column.number,
        name: &column.name,
        spec: column.spec,
    });
    columns.collect()
}

/// A generated column, compiled.
#[derive(Clone, Debug)]
pub(crate) struct ColumnValue {
    pub column: usize,
    expr: Expr,
    spec: TypeSpec,
    /// True if a value that would be rounded when it is stored is an error.
    is_exact: bool,
}

impl ColumnValue {
    /// Compiles the expression of a column that is declared so.
    ///
    /// # Errors
    /// Invalid SQL.
    pub fn of(
        expression: &SqlCheck,
        declared: &Declared,
        is_exact: bool,
    ) -> Result<ColumnValue, SqlError> {
        let spec = spec_of(declared)?;
        Ok(ColumnValue {
            column: declared.column,
            expr: stored_expression(expression, Some(spec))?.expr,
            spec,
            is_exact,
        })
    }

    /// The generated columns of a table, those of its indexes, too, each behind those that it is computed of.
    ///
    /// # Errors
    /// An error in one of the expressions.
    pub fn all(schema: &Schema) -> Result<Vec<ColumnValue>, SqlError> {
        let columns = schema.declared.iter().map(|declared| declared.column);
        let generated = columns.filter_map(|column| generated(schema, column));
        generated
            .map(|(declared, expression)| {
                let is_exact = schema.is_index_column(declared.column);
                ColumnValue::of(&expression, declared, is_exact)
            })
            .collect()
    }

    /// Its value of a row, as the column stores it.
    ///
    /// # Errors
    /// A value that cannot be computed.
    pub fn of_row(
        &self,
        row: &dyn crate::rows::InputRow,
        with: &Environment<'_>,
    ) -> Result<Value, SqlError> {
        let value = self.expr.evaluate(row, with)?.into_value();
        let kept = stored(value.clone(), self.spec)?;
        match (&value, &kept) {
            (Value::Decimal(units, scale), Value::Decimal(kept, kept_scale))
                if self.is_exact
                    && without_zeros(*units, *scale) != without_zeros(*kept, *kept_scale) =>
            {
                Err(SqlError::new(
                    code::OUT_OF_RANGE,
                    format!(
                        "the value {value} of an index's expression has more than {kept_scale} digits behind the point"
                    ),
                ))
            }
            _ => Ok(kept),
        }
    }

    /// Sets generated columns of a whole row.
    ///
    /// # Errors
    /// A value that cannot be computed.
    pub fn fill(
        all: &[ColumnValue],
        row: &mut [Value],
        with: &Environment<'_>,
    ) -> Result<(), SqlError> {
        for one in all {
            let value = one.of_row(&Values(row), with)?;
            if let Some(place) = row.get_mut(one.column) {
                *place = value;
            }
        }
        Ok(())
    }
}

/// The expressions and conditions of a table's indexes, compiled, by which a query is matched with them.
#[derive(Debug, Default)]
pub(crate) struct Indexed {
    /// The expressions by the numbers of the engine's columns.
    expressions: Vec<(usize, Expr)>,
    conditions: Vec<(usize, Vec<Expr>)>,
}

impl Indexed {
    /// The indexed expressions of a table. An expression that cannot be compiled is left out: no query is matched with
    /// it.
    pub fn of(schema: &Schema) -> Indexed {
        let mut indexed = Indexed::default();
        for declared in &schema.declared {
            let number = declared.column;
            if !schema.is_index_column(number) {
                continue;
            }
            let Some((_, expression)) = generated(schema, number) else {
                continue;
            };
            if is_where(schema, number) {
                let condition = SqlCheck {
                    text: unwrapped(&expression.text).to_string(),
                    ..expression
                };
                if let Ok(condition) = stored_check(&condition)
                    && !depends_on_style(&condition)
                {
                    let parts = parts_of(Some(condition));
                    indexed.conditions.push((number, parts));
                }
            } else if let Ok(typed) = stored_expression(&expression, None)
                && !depends_on_style(&typed.expr)
            {
                indexed.expressions.push((number, typed.expr));
            }
        }
        indexed
    }

    /// The column that has the value of an expression: a column of the table, or one of an index.
    pub fn column_of(&self, expr: &Expr) -> Option<usize> {
        if let Expr::Column(column) = expr {
            return Some(*column);
        }
        let mut expressions = self.expressions.iter();
        let found = expressions.find(|(_, expression)| expression == expr);
        found.map(|(column, _)| *column)
    }

    /// All such columns: indexes may have one expression in several spellings.
    pub fn columns_of(&self, expr: &Expr) -> Vec<usize> {
        if let Expr::Column(column) = expr {
            return vec![*column];
        }
        let expressions = self.expressions.iter();
        let found = expressions.filter(|(_, expression)| expression == expr);
        found.map(|(column, _)| *column).collect()
    }

    /// The columns of partial indexes whose condition follows from the parts, all of which are to hold. Each has the
    /// place of the part that is its condition, if one is. `is_sought` is true for a column if a condition is not true
    /// where the column is null.
    pub fn implied(
        &self,
        parts: &[Expr],
        is_sought: impl Fn(usize) -> bool,
    ) -> Vec<(usize, Option<usize>)> {
        let is_implied = |part: &Expr| match part {
            Expr::Not(inner) => match &**inner {
                Expr::IsNull(of) => matches!(**of, Expr::Column(column) if is_sought(column)),
                _ => false,
            },
            _ => false,
        };
        let conditions = self.conditions.iter().filter_map(|(column, condition)| {
            let holds = |part: &Expr| parts.contains(part) || is_implied(part);
            if !condition.iter().all(holds) {
                return None;
            }
            let only = match condition.as_slice() {
                [one] => parts.iter().position(|part| part == one),
                _ => None,
            };
            Some((*column, only))
        });
        conditions.collect()
    }

    /// The columns of partial indexes that have all rows that meet the parts, and perhaps others.
    pub fn covering(&self, parts: &[Expr]) -> Vec<usize> {
        let holds = |part: &Expr| parts.iter().any(|from| follows(part, from));
        let conditions = self.conditions.iter();
        let found = conditions.filter(|(_, condition)| condition.iter().all(holds));
        found.map(|(column, _)| *column).collect()
    }
}

/// True if a part of a condition holds wherever another one does: it is the same, or both compare one expression with
/// constants.
///
/// Source: PostgreSQL 15, `predicate_implied_by_simple_clause`.
fn follows(part: &Expr, from: &Expr) -> bool {
    if part == from {
        return true;
    }
    if let Expr::Not(inner) = part {
        let Expr::IsNull(subject) = &**inner else {
            return false;
        };
        return bound_of(from).is_some_and(|(of, ..)| of == &**subject)
            || values_of(from, subject).is_some();
    }
    let Some((subject, wanted, bound)) = bound_of(part) else {
        return false;
    };
    if let Some((of, given, value)) = bound_of(from) {
        let order = compare(value.as_ref(), bound.as_ref());
        return of == subject && order.is_some_and(|order| given_implies(given, order, wanted));
    }
    let is_within = |value: &Value| {
        compare(value.as_ref(), bound.as_ref()).is_some_and(|order| wanted.accepts(order))
    };
    values_of(from, subject).is_some_and(|values| values.into_iter().all(is_within))
}

/// An expression that a part compares with a constant.
fn bound_of(part: &Expr) -> Option<(&Expr, Comparison, &Value)> {
    let Expr::Compare(comparison, sides) = part else {
        return None;
    };
    match &**sides {
        (Expr::Literal(_), Expr::Literal(_)) => None,
        (_, Expr::Literal(Value::Null)) | (Expr::Literal(Value::Null), _) => None,
        (of, Expr::Literal(value)) => Some((of, *comparison, value)),
        (Expr::Literal(value), of) => Some((of, comparison.reversed(), value)),
        _ => None,
    }
}

/// The constants of which an expression is one, if a part says so.
fn values_of<'p>(part: &'p Expr, subject: &Expr) -> Option<Vec<&'p Value>> {
    let Expr::In(of, list) = part else {
        return None;
    };
    let ListOf::Items(items) = &list.of else {
        return None;
    };
    let value = |item: &'p Expr| match item {
        Expr::Literal(value) if *value != Value::Null => Some(value),
        _ => None,
    };
    items
        .iter()
        .map(value)
        .collect::<Option<Vec<_>>>()
        .filter(|_| **of == *subject)
}

/// True if a comparison with a value implies another one with a bound. The order is that of the value and the bound.
fn given_implies(given: Comparison, order: Ordering, wanted: Comparison) -> bool {
    use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, Unequal};
    match (given, wanted) {
        (Equal, wanted) => wanted.accepts(order),
        (Greater, Greater | GreaterOrEqual | Unequal) | (GreaterOrEqual, GreaterOrEqual) => {
            order.is_ge()
        }
        (GreaterOrEqual, Greater | Unequal) => order.is_gt(),
        (Less, Less | LessOrEqual | Unequal) | (LessOrEqual, LessOrEqual) => order.is_le(),
        (LessOrEqual, Less | Unequal) => order.is_lt(),
        (Unequal, Unequal) => order.is_eq(),
        _ => false,
    }
}

/// True if a session may compute another value than an index has: earlier versions took casts of intervals to texts, which
/// are in the session's style.
fn depends_on_style(expr: &Expr) -> bool {
    expr.any(&|part| match part {
        Expr::Cast(_, from, to, _) => writes_intervals(*from, to.kind),
        _ => false,
    })
}

/// Reads an expression of an index, or its condition. Its moments are of a zone, or of UTC.
///
/// # Errors
/// Invalid SQL.
pub(crate) fn index_expression(
    relation: &Relation,
    tree: &Tree,
    of: Use,
    zone: Option<&SessionZone>,
) -> Result<(TypeSpec, SqlCheck), SqlError> {
    let columns = named_columns(relation);
    let (typed, check) = declared_expression(
        tree,
        &relation.name,
        &columns,
        (of, None),
        &TypeNames::in_zone(zone),
    )?;
    // A type's modifier limits values, and searches need whole ones.
    let kind = match typed.kind() {
        SqlType::Unknown => SqlType::Text,
        kind => kind,
    };
    Ok((TypeSpec::plain(kind), check))
}
