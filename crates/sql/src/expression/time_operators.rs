//! Operators of times and intervals: each is a function of PostgreSQL's, which is called by its name.

use super::arithmetic::Arithmetic;
use super::compile::Compiler;
use super::operator_errors::ambiguous;
use super::trees::row_of;
use super::{Expr, Typed};
use crate::error::SqlError;
use crate::types::{SqlType, interval_fields};
use crate::values::intervals::Interval;
use sardonyx::schema::Value;
use sqlparser::ast::{self, BinaryOperator, Expr as Tree};

/// The beginning of the names of a type's operator functions, if it is a type of times.
fn prefix(kind: SqlType) -> Option<&'static str> {
    match kind {
        SqlType::Date => Some("date"),
        SqlType::Time => Some("time"),
        SqlType::Timetz => Some("timetz"),
        SqlType::Timestamp => Some("timestamp"),
        SqlType::Timestamptz => Some("timestamptz"),
        _ => None,
    }
}

fn wrong_pair(side: &str) -> SqlError {
    SqlError::syntax(format!(
        "wrong number of parameters on {side} side of OVERLAPS expression"
    ))
}

impl Compiler<'_> {
    /// The call of an operator between times and intervals; none for another operator.
    ///
    /// # Errors
    /// The errors of the call.
    pub(super) fn of_times(
        &mut self,
        operation: Arithmetic,
        left: &Typed,
        right: &Typed,
    ) -> Option<Result<Typed, SqlError>> {
        use Arithmetic::{Add, Divide, Multiply, Subtract};
        use SqlType::{Date, Interval, Time, Timestamp, Timestamptz, Timetz, Unknown};
        let is_number = |kind: SqlType| kind.is_number() || kind == Unknown;
        let is_moment = |kind| matches!(kind, Timestamp | Timestamptz);
        let (a, b) = (left.kind(), right.kind());
        let (name, is_turned) = match (a, operation, b) {
            (Interval, Add, Interval | Unknown) | (Unknown, Add, Interval) => {
                ("interval_pl".to_string(), false)
            }
            (Interval, Subtract, Interval | Unknown) | (Unknown, Subtract, Interval) => {
                ("interval_mi".to_string(), false)
            }
            (Interval, Multiply, by) if is_number(by) => ("interval_mul".to_string(), false),
            (by, Multiply, Interval) if is_number(by) => ("interval_mul".to_string(), true),
            (Interval, Divide, by) if is_number(by) => ("interval_div".to_string(), false),
            // A time is cast to an interval.
            (Time, Multiply, by) if is_number(by) => ("interval_mul".to_string(), false),
            (by, Multiply, Time) if is_number(by) => ("interval_mul".to_string(), true),
            (Time, Divide, by) if is_number(by) => ("interval_div".to_string(), false),
            (time, Add, Interval) => (format!("{}_pl_interval", prefix(time)?), false),
            (time, Subtract, Interval) => (format!("{}_mi_interval", prefix(time)?), false),
            (Interval, Add, time) => (format!("{}_pl_interval", prefix(time)?), true),
            (time, Add, Unknown) if is_moment(time) || time == Time => {
                (format!("{}_pl_interval", prefix(time)?), false)
            }
            (Unknown, Add, time) if is_moment(time) || time == Time => {
                (format!("{}_pl_interval", prefix(time)?), true)
            }
            // Of intervals, of a day and a time, and others.
            (Time, Add, Time) => return Some(Err(ambiguous(&BinaryOperator::Plus, a, b))),
            (Time, Subtract, Time | Unknown) | (Unknown, Subtract, Time) => {
                ("time_mi_time".to_string(), false)
            }
            (Timetz, Subtract, Time | Unknown) => ("timetz_mi_interval".to_string(), false),
            (Timetz, Add, Time) => ("timetz_pl_interval".to_string(), false),
            (Time, Add, Timetz) => ("timetz_pl_interval".to_string(), true),
            (Date, Add, Timetz) => ("datetimetz_pl".to_string(), false),
            (Timetz, Add, Date) => ("datetimetz_pl".to_string(), true),
            (Date, Add, Time) => ("datetime_pl".to_string(), false),
            (Time, Add, Date) => ("datetime_pl".to_string(), true),
            (a, Subtract, b) if is_moment(a) || is_moment(b) => {
                let is_other = |kind| is_moment(kind) || matches!(kind, Date | Unknown);
                let name = match a == Timestamptz || b == Timestamptz {
                    true => "timestamptz_mi",
                    false => "timestamp_mi",
                };
                (is_other(a) && is_other(b)).then(|| (name.to_string(), false))?
            }
            _ => return None,
        };
        let (left, right) = (left.clone(), right.clone());
        let sides = match is_turned {
            true => vec![right, left],
            false => vec![left, right],
        };
        Some(self.call(&name, sides))
    }

    /// `(begin, end) OVERLAPS (begin, end)`, where an end may be an interval behind its beginning.
    ///
    /// # Errors
    /// `42601` if a side is no pair, `42883` for types that have no order of time, `42725` if a text may be of several.
    pub(super) fn overlaps(&mut self, left: &Tree, right: &Tree) -> Result<Typed, SqlError> {
        let mut parts = Vec::with_capacity(4);
        for (side, tree) in [("left", left), ("right", right)] {
            let ends = row_of(tree).unwrap_or_default();
            let &[begin, end] = ends.as_slice() else {
                return Err(wrong_pair(side));
            };
            parts.extend([self.compile(begin)?, self.compile(end)?]);
        }
        self.call("overlaps", parts)
    }

    /// `INTERVAL '…'`, as a literal.
    ///
    /// # Errors
    /// `22007` if the text is invalid; `0A000` for fields and digits that truncate it.
    pub(super) fn interval(&mut self, interval: &ast::Interval) -> Result<Typed, SqlError> {
        let interval = interval_of(interval, self.is_of_kept_text())?;
        Ok(Typed::new(
            Expr::Literal(interval.value()),
            SqlType::Interval,
        ))
    }

    /// `- interval`
    ///
    /// # Errors
    /// `22008` if it is out of range.
    pub(super) fn negative_interval(&mut self, typed: Typed) -> Result<Typed, SqlError> {
        match typed.expr {
            Expr::Literal(Value::Text(text)) => Ok(Typed::new(
                Expr::Literal(Interval::known(&text).negated()?.value()),
                SqlType::Interval,
            )),
            _ => self.call("interval_um", vec![typed]),
        }
    }
}

/// The value of an interval literal, of a text that the database may keep.
///
/// # Errors
/// As [`Compiler::interval`].
pub(crate) fn interval_of(interval: &ast::Interval, is_kept: bool) -> Result<Interval, SqlError> {
    let ast::Interval {
        value,
        leading_field,
        leading_precision,
        last_field,
        fractional_seconds_precision,
    } = interval;
    let text = match &**value {
        Tree::Value(value) => match &value.value {
            ast::Value::SingleQuotedString(text) => text.clone(),
            ast::Value::Number(digits, _) => digits.clone(),
            _ => String::new(),
        },
        _ => String::new(),
    };
    let fields = match (leading_field, last_field) {
        (Some(first), Some(last)) => Some(format!("{first} TO {last}")),
        (Some(first), None) => Some(first.to_string()),
        (None, _) => None,
    };
    let digits = leading_precision.or(*fractional_seconds_precision);
    let modifier = interval_fields::modifier_of(fields.as_deref(), digits);
    let modifier = modifier.ok_or_else(|| {
        let fields = fields.unwrap_or_default();
        SqlError::syntax(format!(
            "an interval cannot be cut to {fields} with these digits"
        ))
    })?;
    Interval::read_in(&text, modifier, is_kept)
}
