//! Aggregates of an ordered set: `percentile_cont`, `percentile_disc` and `mode`. Those of a hypothetical row among the
//! others: `rank`, `dense_rank`, `percent_rank` and `cume_dist`. They are called with `WITHIN GROUP (ORDER BY …)`.
//!
//! Source: SQL:2016, part 2, 10.9; PostgreSQL's documentation, 9.21 (aggregate functions).

use crate::error::{SqlError, code};
use crate::expression::{SortKey, in_order};
use crate::types::SqlType;
use crate::values::arithmetic::float_of;
use crate::values::arrays;
use crate::values::intervals::Interval;
use sardonyx::schema::Value;
use sqlparser::ast;
use std::cmp::Ordering;

/// An aggregate of an ordered set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OrderedSet {
    PercentileContinuous,
    PercentileDiscrete,
    Mode,
    Rank,
    DenseRank,
    PercentRank,
    CumulativeDistribution,
}

/// Their names.
const NAMES: [(&str, OrderedSet); 7] = [
    ("cume_dist", OrderedSet::CumulativeDistribution),
    ("dense_rank", OrderedSet::DenseRank),
    ("mode", OrderedSet::Mode),
    ("percent_rank", OrderedSet::PercentRank),
    ("percentile_cont", OrderedSet::PercentileContinuous),
    ("percentile_disc", OrderedSet::PercentileDiscrete),
    ("rank", OrderedSet::Rank),
];

/// A row of the set: its keys in the order, and the value of the first one as it is.
pub(super) struct Member<'m> {
    pub keys: &'m [Value],
    pub value: &'m Value,
}

impl OrderedSet {
    /// The aggregate of a call of this name. Window functions are aggregates only with `WITHIN GROUP`.
    pub fn of(function: &ast::Function, name: &str) -> Option<(&'static str, OrderedSet)> {
        let found = NAMES.into_iter().find(|(known, _)| *known == name);
        found.filter(|(_, set)| !function.within_group.is_empty() || !set.ranks())
    }

    /// True if its arguments are a row to place among the others.
    pub fn ranks(self) -> bool {
        !matches!(
            self,
            OrderedSet::PercentileContinuous | OrderedSet::PercentileDiscrete | OrderedSet::Mode
        )
    }

    /// True if its argument is a fraction, or an array of fractions.
    pub fn takes_fraction(self) -> bool {
        matches!(
            self,
            OrderedSet::PercentileContinuous | OrderedSet::PercentileDiscrete
        )
    }

    /// The type of the result for a type of values; none for values that it does not take.
    pub fn result(self, of: SqlType) -> Option<SqlType> {
        match self {
            OrderedSet::PercentileContinuous => {
                matches!(of, SqlType::Float8 | SqlType::Interval).then_some(of)
            }
            OrderedSet::PercentileDiscrete | OrderedSet::Mode => Some(of),
            OrderedSet::Rank | OrderedSet::DenseRank => Some(SqlType::Int8),
            OrderedSet::PercentRank | OrderedSet::CumulativeDistribution => Some(SqlType::Float8),
        }
    }

    /// The result for the members, which are in order. `direct` are the arguments before `WITHIN GROUP`, whose fraction
    /// is an array if `is_array`.
    ///
    /// # Errors
    /// `22003` for a fraction that is not between 0 and 1; a number out of range.
    pub(super) fn finish(
        self,
        members: &[Member<'_>],
        order: &[SortKey],
        direct: &[Value],
        (of, is_array): (SqlType, bool),
    ) -> Result<Value, SqlError> {
        let count = members.len();
        let ranked = |ties: bool| {
            let is_before = |member: &&Member<'_>| match in_order(order, member.keys, direct) {
                Ordering::Less => true,
                Ordering::Equal => ties,
                Ordering::Greater => false,
            };
            members.iter().take_while(is_before).count()
        };
        Ok(match self {
            OrderedSet::Mode => mode(members, order),
            OrderedSet::Rank => Value::Int(ranked(false) as i128 + 1),
            OrderedSet::DenseRank => {
                let before = members.get(..ranked(false)).unwrap_or_default();
                let groups = before.chunk_by(|a, b| in_order(order, a.keys, b.keys).is_eq());
                Value::Int(groups.count() as i128 + 1)
            }
            OrderedSet::PercentRank if count == 0 => Value::Float(0.0),
            OrderedSet::PercentRank => Value::Float(ranked(false) as f64 / count as f64),
            OrderedSet::CumulativeDistribution => {
                Value::Float((ranked(true) + 1) as f64 / (count + 1) as f64)
            }
            OrderedSet::PercentileContinuous | OrderedSet::PercentileDiscrete => {
                let one = |fraction: &Value| match fraction {
                    Value::Null => Ok(Value::Null),
                    fraction => {
                        let fraction = checked(float_of(fraction.as_ref()))?;
                        match self {
                            _ if count == 0 => Ok(Value::Null),
                            OrderedSet::PercentileDiscrete => Ok(discrete(members, fraction)),
                            _ => continuous(members, fraction, of),
                        }
                    }
                };
                match direct.first() {
                    None | Some(Value::Null) => Value::Null,
                    // Only a fraction that is alone is checked without members.
                    Some(Value::Text(_)) if is_array && count == 0 => Value::Null,
                    Some(Value::Text(fractions)) if is_array => {
                        let fractions = arrays::values(fractions, SqlType::Float8)?;
                        let values: Vec<Value> =
                            fractions.iter().map(one).collect::<Result<_, _>>()?;
                        arrays::array_of(of, values.iter().map(Value::as_ref))
                    }
                    Some(fraction) => one(fraction)?,
                }
            }
        })
    }
}

fn checked(fraction: f64) -> Result<f64, SqlError> {
    match (0.0..=1.0).contains(&fraction) {
        true => Ok(fraction),
        false => Err(SqlError::new(
            code::OUT_OF_RANGE,
            format!("percentile value {fraction} is not between 0 and 1"),
        )),
    }
}

/// The most frequent value; of several the first in order.
fn mode(members: &[Member<'_>], order: &[SortKey]) -> Value {
    let mut best: &[Member<'_>] = &[];
    for group in members.chunk_by(|a, b| in_order(order, a.keys, b.keys).is_eq()) {
        if group.len() > best.len() {
            best = group;
        }
    }
    best.first()
        .map_or(Value::Null, |member| member.value.clone())
}

/// The value at the end of the given part of the members.
fn discrete(members: &[Member<'_>], fraction: f64) -> Value {
    let number = (fraction * members.len() as f64).ceil() as usize;
    let member = members.get(number.max(1) - 1);
    member.map_or(Value::Null, |member| member.value.clone())
}

/// The value at the given part of the way from the first member to the last, interpolated between two of them.
fn continuous(members: &[Member<'_>], fraction: f64, of: SqlType) -> Result<Value, SqlError> {
    let place = fraction * (members.len() - 1) as f64;
    let (low, high) = (place.floor(), place.ceil());
    let value = |at: f64| members.get(at as usize).map(|member| member.value);
    let (Some(first), Some(second)) = (value(low), value(high)) else {
        return Ok(Value::Null);
    };
    let part = place - low;
    match (of, first, second) {
        _ if low == high => Ok(first.clone()),
        (SqlType::Interval, Value::Text(first), Value::Text(second)) => {
            let (first, second) = (Interval::known(first), Interval::known(second));
            let more = second.plus(first, -1)?.times(part)?;
            Ok(first.plus(more, 1)?.value())
        }
        _ => {
            let (first, second) = (float_of(first.as_ref()), float_of(second.as_ref()));
            Ok(Value::Float(first + part * (second - first)))
        }
    }
}
