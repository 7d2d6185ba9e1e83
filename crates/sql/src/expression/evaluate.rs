//! Expressions evaluated over rows.

use super::arithmetic::{
    Arithmetic, calculate, negate, number_of, shift, shift_in, sum_or_product,
};
use super::cast::{cast, cast_in, crosses_zone, reads_dates, writes_intervals};
use super::datum::Datum;
use super::environment::Environment;
use super::null_beside::null_beside;
use super::{Case, Expr, Like};
use crate::error::SqlError;
use crate::rows::{InputRow, Values};
use crate::types::SqlType;
use sardonyx::schema::{Value, ValueRef};
use sardonyx_rows::condition::{self, compare, decided_by};

fn truth(value: Option<bool>) -> Datum<'static> {
    Datum::Owned(value.map_or(Value::Null, Value::Bool))
}

impl Expr {
    /// The value for a row.
    ///
    /// # Errors
    /// An error of computing: a division by zero, a number out of range; a row that cannot be read.
    #[inline]
    pub fn evaluate<'a>(
        &'a self,
        row: &'a dyn InputRow,
        with: &Environment<'a>,
    ) -> Result<Datum<'a>, SqlError> {
        // The most frequent expressions need no call.
        match self {
            Expr::Column(place) => Ok(Datum::Borrowed(row.value(*place)?)),
            Expr::Literal(value) => Ok(Datum::Borrowed(value.as_ref())),
            other => other.computed(row, with),
        }
    }

    fn computed<'a>(
        &'a self,
        row: &'a dyn InputRow,
        with: &Environment<'a>,
    ) -> Result<Datum<'a>, SqlError> {
        Ok(match self {
            Expr::Literal(value) => Datum::Borrowed(value.as_ref()),
            Expr::Parameter(number) => {
                let value = with.parameters.get(*number);
                Datum::Borrowed(value.map_or(ValueRef::Null, Value::as_ref))
            }
            Expr::Column(place) => Datum::Borrowed(row.value(*place)?),
            Expr::Outer(number) => {
                let value = with.outer.get(*number);
                Datum::Borrowed(value.map_or(ValueRef::Null, Value::as_ref))
            }
            Expr::Before(place) => {
                let value = with.before.get(*place);
                Datum::Borrowed(value.map_or(ValueRef::Null, Value::as_ref))
            }
            Expr::Subquery(subquery) => Datum::Owned(subquery.value(row, with)?),
            Expr::Compare(..)
            | Expr::And(_)
            | Expr::Or(_)
            | Expr::Not(_)
            | Expr::In(..)
            | Expr::Distinct(..)
            | Expr::IsNull(_)
            | Expr::IsBool(..)
            | Expr::Each(_)
            | Expr::Like(_) => truth(self.truth(row, with)?),
            Expr::Case(case) => return case.evaluate(row, with),
            Expr::Coalesce(parts) => {
                for part in parts {
                    let value = part.evaluate(row, with)?;
                    if !value.is_null() {
                        return Ok(value);
                    }
                }
                Datum::NULL
            }
            Expr::Arithmetic(
                Arithmetic::Add | Arithmetic::Subtract | Arithmetic::Multiply,
                SqlType::Numeric,
                _,
            ) => {
                let number = self.number(row, with)?;
                Datum::Owned(number.map_or(Value::Null, |(units, scale)| {
                    ValueRef::decimal(units, scale).to_value()
                }))
            }
            Expr::Arithmetic(operation, kind, sides) => {
                let (left, right) = operands(&sides.0, &sides.1, row, with)?;
                Datum::Owned(calculate(*operation, *kind, left.as_ref(), right.as_ref())?)
            }
            Expr::Negate(kind, part) => {
                let value = part.evaluate(row, with)?;
                Datum::Owned(negate(*kind, value.as_ref())?)
            }
            Expr::Shift(part, interval, kind) => {
                let value = part.evaluate(row, with)?;
                Datum::Owned(match *kind {
                    SqlType::Timestamptz => {
                        shift_in(value.as_ref(), interval, with.context.zone())?
                    }
                    kind => shift(value.as_ref(), interval, kind)?,
                })
            }
            Expr::Cast(part, from, to, explicit) => {
                let value = part.evaluate(row, with)?;
                let value = value.as_ref();
                let asks_session = crosses_zone(*from, to.kind)
                    || reads_dates(*from, to.kind)
                    || writes_intervals(*from, to.kind);
                Datum::Owned(match asks_session {
                    false => cast(value, *from, *to, *explicit)?,
                    true => {
                        let zone = with.context.zone();
                        cast_in(value, *from, *to, *explicit, zone.as_ref())?
                    }
                })
            }
            Expr::Call(function, arguments) => {
                let mut values = Vec::with_capacity(arguments.len());
                for argument in arguments {
                    values.push(match argument.evaluate(row, with) {
                        Err(error) if function.is_strict() => {
                            null_beside(error, argument, arguments.iter(), with)?
                        }
                        value => value?,
                    });
                }
                Datum::Owned(function.call(&values, with)?)
            }
        })
    }

    /// The value of a `numeric` expression as units and scale, `None` if it is null ([`number_of`]). Sums and products are computed
    /// without a value for each of their parts.
    ///
    /// # Errors
    /// As [`Expr::evaluate`].
    pub fn number(
        &self,
        row: &dyn InputRow,
        with: &Environment<'_>,
    ) -> Result<Option<(i128, u8)>, SqlError> {
        match self {
            Expr::Column(place) => number_of(row.value(*place)?),
            Expr::Literal(value) => number_of(value.as_ref()),
            Expr::Arithmetic(
                operation @ (Arithmetic::Add | Arithmetic::Subtract | Arithmetic::Multiply),
                SqlType::Numeric,
                sides,
            ) => {
                let side = |part: &Expr, other: &Expr| match part.number(row, with) {
                    Err(error) => {
                        null_beside(error, part, std::iter::once(other), with).map(|_| None)
                    }
                    number => number,
                };
                match (side(&sides.0, &sides.1)?, side(&sides.1, &sides.0)?) {
                    (Some(left), Some(right)) => sum_or_product(*operation, left, right).map(Some),
                    _ => Ok(None),
                }
            }
            other => number_of(other.computed(row, with)?.as_ref()),
        }
    }

    /// The value of an expression that only names one: of a column, a constant or a parameter. It is `None` of others. Most sides
    /// of comparisons are such, and need no [`Datum`].
    #[inline]
    fn stored<'a>(
        &'a self,
        row: &'a dyn InputRow,
        with: &Environment<'a>,
    ) -> Option<Result<ValueRef<'a>, SqlError>> {
        match self {
            Expr::Column(place) => Some(row.value(*place)),
            Expr::Literal(value) => Some(Ok(value.as_ref())),
            Expr::Parameter(number) => {
                let value = with.parameters.get(*number);
                Some(Ok(value.map_or(ValueRef::Null, Value::as_ref)))
            }
            _ => None,
        }
    }

    /// Evaluates the condition for a row; `None` if it is null.
    ///
    /// # Errors
    /// As [`Expr::evaluate`].
    pub fn truth(
        &self,
        row: &dyn InputRow,
        with: &Environment<'_>,
    ) -> Result<Option<bool>, SqlError> {
        let until = |parts: &[Expr], decides: bool| {
            decided_by(decides, parts.iter().map(|part| part.truth(row, with)))
        };
        match self {
            Expr::And(parts) => until(parts, false),
            Expr::Or(parts) => until(parts, true),
            Expr::Not(part) => Ok(part.truth(row, with)?.map(|value| !value)),
            Expr::Compare(comparison, sides) => {
                if let (Some(left), Some(right)) =
                    (sides.0.stored(row, with), sides.1.stored(row, with))
                {
                    let order = compare(left?, right?);
                    return Ok(order.map(|order| comparison.accepts(order)));
                }
                let (left, right) = operands(&sides.0, &sides.1, row, with)?;
                let order = compare(left.as_ref(), right.as_ref());
                Ok(order.map(|order| comparison.accepts(order)))
            }
            Expr::Distinct(sides, negated) => {
                let (left, right) = (sides.0.evaluate(row, with)?, sides.1.evaluate(row, with)?);
                Ok(Some(are_same(left.as_ref(), right.as_ref()) == *negated))
            }
            Expr::IsNull(part) => Ok(Some(part.evaluate(row, with)?.is_null())),
            Expr::IsBool(part, wanted) => Ok(Some(part.truth(row, with)? == Some(*wanted))),
            Expr::Like(like) => like.evaluate(row, with),
            Expr::Each(each) => each.truth(row, with),
            Expr::In(part, list) => {
                let value = part.evaluate(row, with)?;
                list.contains(value.as_ref(), row, with)
            }
            other => match other.evaluate(row, with)?.as_ref() {
                ValueRef::Bool(value) => Ok(Some(value)),
                _ => Ok(None),
            },
        }
    }

    /// True if a row meets it as a condition of a query: its parts are tested up to the first that is not true, be it
    /// false or null, as PostgreSQL does.
    ///
    /// # Errors
    /// As [`Expr::evaluate`].
    pub fn holds(&self, row: &dyn InputRow, with: &Environment<'_>) -> Result<bool, SqlError> {
        match self {
            Expr::And(parts) => {
                for part in parts {
                    if !part.holds(row, with)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            other => other.is_true(row, with),
        }
    }

    /// True if its value is true, where it is part of an expression. An AND goes on behind a null there.
    ///
    /// # Errors
    /// As [`Expr::evaluate`].
    pub fn is_true(&self, row: &dyn InputRow, with: &Environment<'_>) -> Result<bool, SqlError> {
        Ok(self.truth(row, with)? == Some(true))
    }

    /// Its value without a row.
    ///
    /// # Errors
    /// As [`Expr::evaluate`].
    pub fn constant(&self, with: &Environment<'_>) -> Result<Value, SqlError> {
        Ok(self.evaluate(&Values(&[]), with)?.into_value())
    }
}

/// The values of an operator's operands, of which a null makes the operator null.
///
/// # Errors
/// As [`Expr::evaluate`].
#[inline]
fn operands<'a>(
    left: &'a Expr,
    right: &'a Expr,
    row: &'a dyn InputRow,
    with: &Environment<'a>,
) -> Result<(Datum<'a>, Datum<'a>), SqlError> {
    let side = |part: &'a Expr, other: &'a Expr| match part.evaluate(row, with) {
        Err(error) => null_beside(error, part, std::iter::once(other), with),
        value => value,
    };
    Ok((side(left, right)?, side(right, left)?))
}

/// True if two values are the same; nulls are, too.
pub(crate) fn are_same(left: ValueRef<'_>, right: ValueRef<'_>) -> bool {
    match (left, right) {
        (ValueRef::Null, ValueRef::Null) => true,
        (left, right) => compare(left, right).is_some_and(|order| order.is_eq()),
    }
}

impl Case {
    fn evaluate<'a>(
        &'a self,
        row: &'a dyn InputRow,
        with: &Environment<'a>,
    ) -> Result<Datum<'a>, SqlError> {
        for (condition, result) in &self.arms {
            if condition.is_true(row, with)? {
                return result.evaluate(row, with);
            }
        }
        self.otherwise.evaluate(row, with)
    }
}

impl Like {
    fn evaluate(
        &self,
        row: &dyn InputRow,
        with: &Environment<'_>,
    ) -> Result<Option<bool>, SqlError> {
        let (text, pattern) = operands(&self.text, &self.pattern, row, with)?;
        let (ValueRef::Text(text), ValueRef::Text(pattern)) = (text.as_ref(), pattern.as_ref())
        else {
            return Ok(None);
        };
        is_like(text, pattern, self.escape, self.ignores_case).map(Some)
    }
}

/// True if a text is like a pattern.
///
/// # Errors
/// `22025` if a match reaches an escape character at the pattern's end.
pub(super) fn is_like(
    text: &str,
    pattern: &str,
    escape: Option<char>,
    ignores_case: bool,
) -> Result<bool, SqlError> {
    if let Some(escape) = escape
        && pattern.ends_with(escape)
        && let Some(before) = before_open_end(pattern, escape)
        && condition::is_like(text, &before, Some(escape), ignores_case)
    {
        return Err(SqlError::new(
            "22025",
            "LIKE pattern must not end with escape character",
        ));
    }
    Ok(condition::is_like(text, pattern, escape, ignores_case))
}

/// The pattern of texts that reach the escape character at a pattern's end; none if it is escaped itself. PostgreSQL
/// reads on behind `%` as soon as there is a character for it, and as many as `_` take.
fn before_open_end(pattern: &str, escape: char) -> Option<String> {
    let (mut letters, mut wild, mut singles) = (pattern.char_indices(), None, 0);
    while let Some((at, letter)) = letters.next() {
        match letter {
            _ if letter == escape => {
                if letters.next().is_none() {
                    let head = pattern.get(..wild.unwrap_or(at)).unwrap_or_default();
                    return Some(format!("{head}{}%", "_".repeat(singles.max(1))));
                }
                (wild, singles) = (None, 0);
            }
            '%' => wild = wild.or(Some(at)),
            '_' if wild.is_some() => singles += 1,
            _ => (wild, singles) = (None, 0),
        }
    }
    None
}
