//! Which operands of a condition can be compared, and literals as the other side's type has them.

use super::parser::{Found, Parser};
use super::{ConditionError, Operand};
use crate::schema::{Type, Value};
use crate::value_text::parse_value;

/// Families of types. Values of one family compare with each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Family {
    Null,
    Bool,
    Number,
    Text,
    Bytes,
    Date,
    Time,
    Timestamp,
    Uuid,
}

impl Parser<'_> {
    fn kind(&self, operand: &Operand) -> Option<Type> {
        match operand {
            Operand::Column(column) => self.schema.columns.get(*column).map(|column| column.kind),
            Operand::Literal(_) => None,
        }
    }

    pub fn family(&self, operand: &Operand) -> Family {
        match operand {
            Operand::Column(_) => match self.kind(operand) {
                None => Family::Null,
                Some(Type::Bool) => Family::Bool,
                Some(Type::Text) => Family::Text,
                Some(Type::Bytes | Type::Plain { .. }) => Family::Bytes,
                Some(Type::Date) => Family::Date,
                Some(Type::Time) => Family::Time,
                Some(Type::Timestamp) => Family::Timestamp,
                Some(Type::Uuid) => Family::Uuid,
                Some(_) => Family::Number,
            },
            Operand::Literal(literal) => match literal {
                Value::Null => Family::Null,
                Value::Bool(_) => Family::Bool,
                Value::Int(_)
                | Value::U128(_)
                | Value::Float(_)
                | Value::Decimal(..)
                | Value::NonFinite(_) => Family::Number,
                Value::Text(_) => Family::Text,
                Value::Bytes(_) => Family::Bytes,
                Value::Date(_) => Family::Date,
                Value::Time(_) => Family::Time,
                Value::Timestamp(_) => Family::Timestamp,
                Value::Uuid(_) => Family::Uuid,
            },
        }
    }

    pub fn describe(&self, operand: &Operand) -> String {
        match (operand, self.kind(operand)) {
            (Operand::Column(number), Some(kind)) => {
                let name = self
                    .schema
                    .columns
                    .get(*number)
                    .map_or("", |column| &column.name);
                format!("column {name:?} of type {kind}")
            }
            _ => match self.family(operand) {
                Family::Null => "null",
                Family::Bool => "a bool",
                Family::Number => "a number",
                Family::Text => "a text",
                Family::Bytes => "bytes",
                Family::Date => "a date",
                Family::Time => "a time",
                Family::Timestamp => "a timestamp",
                Family::Uuid => "a UUID",
            }
            .to_string(),
        }
    }

    /// Both sides of a comparison, with literals as the other side's type has them.
    pub fn comparable(
        &self,
        left: Found,
        right: Found,
    ) -> Result<(Operand, Operand), ConditionError> {
        let first = self.suited(&left, &right.operand)?;
        let second = self.suited(&right, &left.operand)?;
        let (a, b) = (self.family(&first), self.family(&second));
        if a == b || a == Family::Null || b == Family::Null {
            return Ok((first, second));
        }
        Err(ConditionError::Incomparable {
            at: right.at,
            left: self.describe(&first),
            right: self.describe(&second),
        })
    }

    /// A literal beside an operand of another type: a text with a date, a decimal that is the nearest float.
    fn suited(&self, found: &Found, beside: &Operand) -> Result<Operand, ConditionError> {
        let Operand::Literal(literal) = &found.operand else {
            return Ok(found.operand.clone());
        };
        let value = match (literal, self.kind(beside)) {
            (
                Value::Text(text),
                Some(kind @ (Type::Date | Type::Time | Type::Timestamp | Type::Uuid)),
            ) => {
                let value = parse_value(text, kind);
                value.map_err(|error| ConditionError::Literal {
                    at: found.at,
                    reason: format!("'{text}' is {error}"),
                })?
            }
            (Value::Decimal(..), Some(Type::F64)) => Value::Float(nearest(&literal.to_string())),
            (Value::Decimal(..) | Value::Float(_), Some(Type::F32)) => {
                let value: f64 = nearest(&literal.to_string());
                // A number beyond its range stays itself, and is larger than all.
                match value as f32 {
                    narrow if narrow.is_finite() => Value::Float(narrow.into()),
                    _ => Value::Float(value),
                }
            }
            _ => literal.clone(),
        };
        Ok(Operand::Literal(value))
    }
}

fn nearest(text: &str) -> f64 {
    text.parse().unwrap_or(f64::NAN)
}
