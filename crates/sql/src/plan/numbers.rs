//! Sums and products of numbers over a batch of columns, in 64 bits.
//!
//! The scale of each part is known before the rows are: that of a column, or a constant. An operation whose result does
//! not fit says so for the whole batch, whose rows are then computed one by one, by [`Expr::number`].

use crate::expression::{Environment, Expr};
use crate::scanned::ColumnBatch;
use crate::types::{FREE_SCALE, SqlType};
use crate::values::arithmetic::Arithmetic;
use sardonyx::schema::{Type, Value};
use std::borrow::Cow;

/// The most digits behind the point of a product that keeps all of them.
const SCALE_MAX: u8 = 38;

/// An expression over the columns of a batch, as units of one scale.
#[derive(Debug)]
pub(super) struct Number {
    part: Part,
    pub scale: u8,
}

#[derive(Debug)]
enum Part {
    /// A column by its place in the batch.
    Column(usize),
    Constant(i64),
    Apply(Operation, Box<(Part, Part)>),
    /// A whole number that fits its type.
    Within(Box<Part>, i64, i64),
}

#[derive(Clone, Copy, Debug)]
enum Operation {
    Add,
    Subtract,
    Multiply,
}

/// The values of a part for all rows of a batch.
enum Units<'b> {
    Same(i64),
    Each(Cow<'b, [i64]>),
}

impl Number {
    /// The number that an expression is, if it is made of columns of the batch and constants.
    pub fn of(expr: &Expr, batch: &ColumnBatch, with: &Environment<'_>) -> Option<Number> {
        match expr {
            Expr::Column(number) => {
                let place = batch.place_of(*number)?;
                let scale = match batch.columns()[place].kind() {
                    Type::Decimal { scale } => scale,
                    kind => {
                        kind.integer_range()?;
                        0
                    }
                };
                let part = Part::Column(place);
                Some(Number { part, scale })
            }
            Expr::Literal(_) | Expr::Parameter(_) | Expr::Outer(_) => {
                let (units, scale) = match expr.constant(with).ok()? {
                    Value::Int(units) => (units, 0),
                    Value::Decimal(units, scale) => (units, scale),
                    _ => return None,
                };
                let part = Part::Constant(i64::try_from(units).ok()?);
                Some(Number { part, scale })
            }
            // A whole number is the same as a `numeric` without a scale of its own.
            Expr::Cast(part, from, to, _)
                if from.is_integer() && to.kind == SqlType::Numeric && to.modifier == -1 =>
            {
                Number::of(part, batch, with)
            }
            Expr::Arithmetic(operation, kind, sides) => {
                let operation = match operation {
                    Arithmetic::Add => Operation::Add,
                    Arithmetic::Subtract => Operation::Subtract,
                    Arithmetic::Multiply => Operation::Multiply,
                    _ => return None,
                };
                let left = Number::of(&sides.0, batch, with)?;
                let right = Number::of(&sides.1, batch, with)?;
                let result = left.with(operation, right)?;
                match (*kind, kind.integer_range()) {
                    (SqlType::Numeric, _) => Some(result),
                    (_, Some((low, high))) if result.scale == 0 => {
                        let (low, high) = (i64::try_from(low).ok()?, i64::try_from(high).ok()?);
                        let part = Part::Within(Box::new(result.part), low, high);
                        Some(Number { part, scale: 0 })
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn with(self, operation: Operation, other: Number) -> Option<Number> {
        // Each number of a column without a scale has its own digits.
        let is_free = |scale: u8| scale == FREE_SCALE;
        if matches!(operation, Operation::Multiply) && (is_free(self.scale) || is_free(other.scale))
        {
            return None;
        }
        let scale = match operation {
            Operation::Multiply => self.scale.checked_add(other.scale)?,
            Operation::Add | Operation::Subtract => self.scale.max(other.scale),
        };
        // Beyond it zeros at the ends are removed, of each number by itself.
        if scale > SCALE_MAX {
            return None;
        }
        let sides = match operation {
            Operation::Multiply => (self.part, other.part),
            _ => (self.scaled(scale)?, other.scaled(scale)?),
        };
        let part = Part::Apply(operation, Box::new(sides));
        Some(Number { part, scale })
    }

    /// The part in units of a scale that is not smaller.
    fn scaled(self, scale: u8) -> Option<Part> {
        let power = 10_i64.checked_pow((scale - self.scale).into())?;
        Some(match (self.part, power) {
            (part, 1) => part,
            (Part::Constant(units), power) => Part::Constant(units.checked_mul(power)?),
            (part, power) => {
                Part::Apply(Operation::Multiply, Box::new((part, Part::Constant(power))))
            }
        })
    }

    /// The units for the rows of a batch; `None` if those of a row do not fit.
    pub fn units<'b>(&self, batch: &'b ColumnBatch) -> Option<Cow<'b, [i64]>> {
        Some(match self.part.units(batch)? {
            Units::Each(units) => units,
            Units::Same(units) => Cow::Owned(vec![units; batch.rows()]),
        })
    }
}

impl Part {
    fn units<'b>(&self, batch: &'b ColumnBatch) -> Option<Units<'b>> {
        match self {
            Part::Column(place) => {
                Some(Units::Each(Cow::Borrowed(batch.columns()[*place].words())))
            }
            Part::Constant(units) => Some(Units::Same(*units)),
            Part::Apply(operation, sides) => {
                let (left, right) = (sides.0.units(batch)?, sides.1.units(batch)?);
                match operation {
                    Operation::Add => applied(left, right, i64::overflowing_add),
                    Operation::Subtract => applied(left, right, i64::overflowing_sub),
                    Operation::Multiply => applied(left, right, i64::overflowing_mul),
                }
            }
            Part::Within(part, low, high) => {
                let units = part.units(batch)?;
                let fits = match &units {
                    Units::Same(units) => (*low..=*high).contains(units),
                    Units::Each(all) => all.iter().all(|units| (*low..=*high).contains(units)),
                };
                fits.then_some(units)
            }
        }
    }
}

/// The results of an operation; `None` if one overflows.
fn applied<'b>(
    left: Units<'b>,
    right: Units<'b>,
    operation: impl Fn(i64, i64) -> (i64, bool),
) -> Option<Units<'b>> {
    let mut any = false;
    let mut one = |a: i64, b: i64| {
        let (result, overflows) = operation(a, b);
        any |= overflows;
        result
    };
    let result = match (left, right) {
        (Units::Same(a), Units::Same(b)) => Units::Same(one(a, b)),
        (Units::Each(a), Units::Same(b)) => Units::Each(a.iter().map(|a| one(*a, b)).collect()),
        (Units::Same(a), Units::Each(b)) => Units::Each(b.iter().map(|b| one(a, *b)).collect()),
        (Units::Each(a), Units::Each(b)) => {
            let pairs = a.iter().zip(b.iter());
            Units::Each(pairs.map(|(a, b)| one(*a, *b)).collect())
        }
    };
    (!any).then_some(result)
}
