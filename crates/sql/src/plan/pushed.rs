//! The parts of a condition that a scan tests on the bytes of a row, before its columns are read as values.
//!
//! Such a part compares a column with a value that is the same for all rows, or with a column of its type. It cannot
//! fail. PostgreSQL tests the parts in the order of their costs, and those of equal costs as they are written. So a part
//! is tested on bytes only if all parts before it cost more, or can neither fail nor have an effect.

use super::costs::{OPERATOR, cost_of};
use crate::error::SqlError;
use crate::expression::{Comparison, Environment, Expr, ListOf};
use crate::rows::InputRow;
use crate::scanned::ColumnTest;
use crate::values::arithmetic::without_zeros;
use sardonyx::schema::{NonFinite, Schema, Type, Value};
use sardonyx_rows::Placed;
use sardonyx_rows::value_text::rescale;

/// A condition on the rows of a table, divided.
pub(super) struct Pushed<'f> {
    pub tests: Vec<ColumnTest>,
    /// The parts that are these tests, for rows that the bytes do not decide.
    tested: Vec<&'f Expr>,
    /// The parts that are not tested on bytes.
    pub rest: Vec<&'f Expr>,
}

impl<'f> Pushed<'f> {
    /// Divides a condition.
    pub fn of(filter: Option<&'f Expr>, schema: &Schema, with: &Environment<'_>) -> Self {
        let mut pushed = Pushed {
            tests: Vec::new(),
            tested: Vec::new(),
            rest: Vec::new(),
        };
        // The least cost of a part before, which may fail or have an effect.
        let mut least = usize::MAX;
        let mut parts = Vec::new();
        filter
            .into_iter()
            .for_each(|filter| add_parts(filter, &mut parts));
        for part in parts {
            let test = match least {
                usize::MAX => test_of(part, schema, with),
                least if cost_of_test(part, schema) < least => test_of(part, schema, with),
                _ => None,
            };
            match test {
                Some(test) => {
                    pushed.tests.push(test);
                    pushed.tested.push(part);
                }
                None => {
                    if !is_harmless(part) {
                        least = least.min(cost_of(part));
                    }
                    pushed.rest.push(part);
                }
            }
        }
        pushed
    }

    /// True if a row, which the scan gave, meets the condition.
    ///
    /// # Errors
    /// Evaluation errors.
    pub fn holds(
        &self,
        row: &dyn InputRow,
        is_decided: bool,
        with: &Environment<'_>,
    ) -> Result<bool, SqlError> {
        if !is_decided {
            for part in &self.tested {
                if !part.holds(row, with)? {
                    return Ok(false);
                }
            }
        }
        self.rest_holds(row, with)
    }

    /// True if a row that passed the tests meets the other parts.
    ///
    /// # Errors
    /// Evaluation errors.
    pub fn rest_holds(&self, row: &dyn InputRow, with: &Environment<'_>) -> Result<bool, SqlError> {
        for part in &self.rest {
            if !part.holds(row, with)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The cost of a part that is a test, as PostgreSQL counts it, or more.
fn cost_of_test(part: &Expr, schema: &Schema) -> usize {
    let Expr::Compare(_, sides) = part else {
        return cost_of(part);
    };
    let own = |side: &Expr, other: &Expr| match side {
        // PostgreSQL casts the column for such a comparison.
        Expr::Column(column) => {
            let kind = Placed::of(schema, *column).map(|column| column.kind());
            let is_cast = matches!(
                other,
                Expr::Literal(Value::Decimal(..)) | Expr::Parameter(_)
            ) && kind.is_some_and(is_whole);
            if is_cast { OPERATOR } else { 0 }
        }
        // It computes immutable values once.
        side => {
            let is_asked = |part: &Expr| matches!(part, Expr::Call(of, _) if !of.is_immutable());
            if side.any(&is_asked) {
                cost_of(side)
            } else {
                0
            }
        }
    };
    OPERATOR + own(&sides.0, &sides.1) + own(&sides.1, &sides.0)
}

/// True for a part that can neither fail nor have an effect: its place among others makes no difference.
fn is_harmless(part: &Expr) -> bool {
    match part {
        Expr::Literal(_)
        | Expr::Parameter(_)
        | Expr::Column(_)
        | Expr::Outer(_)
        | Expr::Before(_) => true,
        Expr::And(parts) | Expr::Or(parts) | Expr::Coalesce(parts) => parts.iter().all(is_harmless),
        Expr::Not(part) | Expr::IsNull(part) | Expr::IsBool(part, _) => is_harmless(part),
        Expr::Compare(_, sides) | Expr::Distinct(sides, _) => {
            is_harmless(&sides.0) && is_harmless(&sides.1)
        }
        Expr::In(part, list) => {
            matches!(list.of, ListOf::Items(_))
                && is_harmless(part)
                && list.parts().iter().all(is_harmless)
        }
        Expr::Like(like) => match &like.pattern {
            // A pattern that ends with its escape character is an error.
            Expr::Literal(Value::Text(pattern)) => {
                is_harmless(&like.text)
                    && like.escape.is_none_or(|escape| !pattern.contains(escape))
            }
            _ => false,
        },
        _ => false,
    }
}

/// Adds the parts that must all hold.
fn add_parts<'f>(filter: &'f Expr, parts: &mut Vec<&'f Expr>) {
    match filter {
        Expr::And(all) => all.iter().for_each(|part| add_parts(part, parts)),
        part => parts.push(part),
    }
}

/// The value of an expression that is the same for all rows, and that is cheap.
fn constant(expr: &Expr, with: &Environment<'_>) -> Option<Value> {
    let is_query = |part: &Expr| matches!(part, Expr::Subquery(_));
    match expr.is_constant() && !expr.any(&is_query) {
        true => expr.constant(with).ok(),
        false => None,
    }
}

/// The test that a part is, if it is one.
fn test_of(part: &Expr, schema: &Schema, with: &Environment<'_>) -> Option<ColumnTest> {
    match part {
        Expr::Compare(comparison, sides) => match &**sides {
            (Expr::Column(left), Expr::Column(right)) => {
                let (left, right) = (Placed::of(schema, *left)?, Placed::of(schema, *right)?);
                let is_one_type = left.kind() == right.kind() && is_number(left.kind());
                is_one_type.then_some(ColumnTest::Numbers(left, *comparison, right))
            }
            (Expr::Column(column), other) => {
                compared(*column, *comparison, constant(other, with)?, schema)
            }
            (other, Expr::Column(column)) => {
                let comparison = comparison.reversed();
                compared(*column, comparison, constant(other, with)?, schema)
            }
            _ => None,
        },
        Expr::In(part, list) => {
            let (Expr::Column(column), ListOf::Items(items)) = (&**part, &list.of) else {
                return None;
            };
            let column = Placed::of(schema, *column)?;
            if column.kind() != Type::Text || items.len() > IN_MAX {
                return None;
            }
            let texts = items.iter().map(|item| match constant(item, with)? {
                Value::Text(text) => Some(text.into_bytes().into_boxed_slice()),
                _ => None,
            });
            let texts: Option<Vec<Box<[u8]>>> = texts.collect();
            Some(ColumnTest::AnyText(column, texts?.into()))
        }
        _ => None,
    }
}

/// Longer lists have a set of their own.
const IN_MAX: usize = 8;

fn compared(
    column: usize,
    comparison: Comparison,
    value: Value,
    schema: &Schema,
) -> Option<ColumnTest> {
    let column = Placed::of(schema, column)?;
    match (column.kind(), value) {
        (Type::Text, Value::Text(text)) => {
            let text = text.into_bytes().into_boxed_slice();
            Some(ColumnTest::Text(column, comparison, text))
        }
        (kind, value) => {
            let number = number_of(kind, &value)?;
            Some(ColumnTest::Number(column, comparison, number))
        }
    }
}

fn is_whole(kind: Type) -> bool {
    kind.integer_range().is_some()
}

/// True for the types that [`Placed::number`] reads.
fn is_number(kind: Type) -> bool {
    let others = matches!(
        kind,
        Type::Decimal { .. } | Type::Date | Type::Time | Type::Timestamp
    );
    is_whole(kind) || others
}

/// A value as a column of a type stores it, if none of the type lies beside it.
fn number_of(kind: Type, value: &Value) -> Option<i128> {
    match (kind, value) {
        (Type::Date, Value::Date(days)) => Some((*days).into()),
        (Type::Time, Value::Time(micros)) | (Type::Timestamp, Value::Timestamp(micros)) => {
            Some((*micros).into())
        }
        (Type::Decimal { scale }, Value::Int(_) | Value::Decimal(..)) => {
            let (units, from) = match value {
                Value::Decimal(units, from) if *from > scale => without_zeros(*units, *from),
                Value::Decimal(units, from) => (*units, *from),
                Value::Int(units) => (*units, 0),
                _ => return None,
            };
            let units = (from <= scale).then(|| rescale(units, from, scale).ok())??;
            NonFinite::of_units(units).is_none().then_some(units)
        }
        (kind, Value::Int(number)) if is_whole(kind) => Some(*number),
        (kind, Value::Decimal(units, scale)) if is_whole(kind) => {
            match without_zeros(*units, *scale) {
                (whole, 0) => Some(whole),
                _ => None,
            }
        }
        _ => None,
    }
}
