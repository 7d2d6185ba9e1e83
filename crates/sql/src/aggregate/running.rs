//! The running state of aggregates, to which rows are added.

use super::collected::{Collected, by_arguments, json_together};
use super::moments::Moments;
use super::ordered_set::Member;
use super::pairs::{Pair, Points};
use super::{Aggregate, AggregateKind};
use crate::error::{SqlError, code};
use crate::expression::{Environment, Expr, in_order};
use crate::memory::outside;
use crate::rows::InputRow;
use crate::types::SqlType;
use crate::values::arithmetic::{Arithmetic, calculate, float_of};
use crate::values::bits::joined;
use crate::values::equality_keys::key_of;
use crate::values::intervals::Interval;
use crate::values::order_keys::order_key_of;
use crate::values::{arrays, collations};
use sardonyx::schema::{Value, ValueRef};
use sardonyx_rows::condition::compare;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashSet;

/// The most bytes of texts that `string_agg` and similar aggregates collect.
const STATE_BYTES_MAX: usize = 16 << 20;

/// An aggregate on its way.
#[derive(Clone, Debug)]
pub(crate) struct Accumulator {
    count: i64,
    value: Value,
    /// It is boxed: most aggregates do not need it, and there may be many groups.
    more: Option<Box<More>>,
}

/// The state that some aggregates keep beside a value.
#[derive(Clone, Debug, Default)]
struct More {
    /// The sums of variances.
    moments: Option<Moments>,
    /// The sums of two floats.
    points: Points,
    /// The different values.
    seen: HashSet<Vec<u8>>,
    collected: Vec<Collected>,
    /// The arguments of an aggregate of an ordered set, which are the same for all rows.
    direct: Vec<Value>,
    /// The bytes of both.
    bytes: usize,
}

impl Accumulator {
    pub fn new(of: &Aggregate) -> Self {
        Accumulator {
            count: 0,
            value: Value::Null,
            more: of.is_distinct.then(Box::default),
        }
    }

    /// The bytes that it keeps of the rows, about.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.more.as_ref().map_or(0, |more| more.bytes)
    }

    fn more(&mut self) -> &mut More {
        self.more.get_or_insert_default()
    }

    /// Adds a row.
    ///
    /// # Errors
    /// A value that cannot be computed; `53200` if there are too many different values.
    pub fn add(
        &mut self,
        of: &Aggregate,
        row: &dyn InputRow,
        with: &Environment<'_>,
    ) -> Result<(), SqlError> {
        if let Some(filter) = &of.filter
            && !filter.is_true(row, with)?
        {
            return Ok(());
        }
        let Some(argument) = &of.argument else {
            self.count += 1;
            return Ok(());
        };
        if of.sums_numbers() {
            return match argument.number(row, with)? {
                Some((units, scale)) => {
                    self.count += 1;
                    self.take(of, ValueRef::decimal(units, scale))
                }
                None => Ok(()),
            };
        }
        let value = argument.evaluate(row, with)?;
        let value = value.as_ref();
        if matches!(value, ValueRef::Null) && of.skips_nulls() {
            return Ok(());
        }
        if of.is_distinct {
            let mut key = Vec::new();
            // The values of `count` are keys.
            let own = match of.kind {
                AggregateKind::Count => None,
                _ => order_key_of(of.of, value)?,
            };
            key_of(own.as_ref().map_or(value, Value::as_ref), &mut key);
            // Rows differ in the second argument, too.
            if let Some(other) = &of.separator
                && !matches!(other, Expr::Literal(_))
            {
                key_of(other.evaluate(row, with)?.as_ref(), &mut key);
            }
            let more = self.more();
            more.bytes += key.len();
            if more.bytes > STATE_BYTES_MAX {
                return Err(SqlError::new(
                    code::OUT_OF_MEMORY,
                    format!(
                        "the different values of an aggregate take more than {STATE_BYTES_MAX} bytes"
                    ),
                ));
            }
            if !more.seen.insert(key) {
                return Ok(());
            }
        }
        if let (AggregateKind::Pair(_), Some(other)) = (of.kind, &of.separator) {
            let other = other.evaluate(row, with)?;
            return match other.as_ref() {
                ValueRef::Null => Ok(()),
                _ if of.takes_in_order() => self.collect(of, value, row, with),
                _ if of.kind == AggregateKind::Pair(Pair::Count) => {
                    self.more().points.count();
                    Ok(())
                }
                other => self.more().points.add(float_of(value), float_of(other)),
            };
        }
        self.count += 1;
        match of.collects() || of.takes_in_order() {
            true => self.collect(of, value, row, with),
            false => self.take(of, value),
        }
    }

    fn collect(
        &mut self,
        of: &Aggregate,
        value: ValueRef<'_>,
        row: &dyn InputRow,
        with: &Environment<'_>,
    ) -> Result<(), SqlError> {
        let mut keys = Vec::with_capacity(of.order.len());
        for key in &of.order {
            keys.push(key.expression.evaluate(row, with)?.into_value());
        }
        let separator = match &of.separator {
            Some(separator) => separator.evaluate(row, with)?.into_value(),
            None => Value::Null,
        };
        let value = value.to_value();
        let bytes = [&value, &separator].map(outside).iter().sum::<usize>();
        let more = self.more();
        more.bytes += bytes + keys.iter().map(outside).sum::<usize>();
        more.bytes += size_of::<Collected>() + size_of_val(keys.as_slice());
        let is_set = matches!(of.kind, AggregateKind::OrderedSet { .. });
        if is_set && more.collected.is_empty() {
            for direct in &of.direct {
                more.direct.push(direct.evaluate(row, with)?.into_value());
            }
        }
        // The members of a set, and numbers, are no part of the result: the statement's memory bounds them.
        if more.bytes > STATE_BYTES_MAX && !is_set && !of.takes_in_order() {
            return Err(SqlError::new(
                code::OUT_OF_MEMORY,
                format!("what an aggregate puts together takes more than {STATE_BYTES_MAX} bytes"),
            ));
        }
        more.collected.push(Collected {
            keys,
            value,
            separator,
        });
        Ok(())
    }

    /// The collected values in the order in which PostgreSQL takes them.
    fn sorted(&self, of: &Aggregate) -> Result<Vec<&Collected>, SqlError> {
        let collected = self.more.iter().flat_map(|more| &more.collected);
        let mut parts: Vec<&Collected> = collected.collect();
        if of.is_distinct {
            parts = by_arguments(of, parts)?;
        }
        parts.sort_by(|a, b| in_order(&of.order, &a.keys, &b.keys));
        Ok(parts)
    }

    /// The state after all collected numbers.
    fn taken_in_order(&self, of: &Aggregate) -> Result<Accumulator, SqlError> {
        let mut all = Accumulator {
            count: 0,
            value: Value::Null,
            more: None,
        };
        for part in self.sorted(of)? {
            let value = part.value.as_ref();
            all.count += 1;
            match of.kind {
                AggregateKind::Pair(_) => {
                    let (one, other) = (float_of(value), float_of(part.separator.as_ref()));
                    all.more().points.add(one, other)?;
                }
                _ => all.take(of, value)?,
            }
        }
        Ok(all)
    }

    /// Combines the collected values.
    fn together(&self, of: &Aggregate, with: &Environment<'_>) -> Result<Value, SqlError> {
        let parts = self.sorted(of)?;
        if let AggregateKind::OrderedSet { set, is_array } = of.kind {
            let members = parts.iter().map(|part| Member {
                keys: &part.keys,
                value: &part.value,
            });
            // Without a member no row has computed them.
            let without_row = |direct: &Expr| match direct.is_constant() {
                true => direct.constant(with),
                false => Ok(Value::Null),
            };
            let direct = match &self.more {
                Some(more) => Cow::Borrowed(more.direct.as_slice()),
                None if set.takes_fraction() => Cow::Owned(
                    of.direct
                        .iter()
                        .map(without_row)
                        .collect::<Result<_, _>>()?,
                ),
                None => Cow::default(),
            };
            return set.finish(
                &members.collect::<Vec<_>>(),
                &of.order,
                &direct,
                (of.of, is_array),
            );
        }
        if parts.is_empty() {
            return Ok(Value::Null);
        }
        let values = parts.iter().map(|part| part.value.as_ref());
        match of.kind {
            AggregateKind::Array if of.of.element().is_some() => {
                return arrays::accumulated(values);
            }
            AggregateKind::Array => return Ok(arrays::array_of(of.of, values)),
            AggregateKind::JsonArray | AggregateKind::JsonObject => {
                return json_together(of, &parts, with);
            }
            _ => {}
        }
        if of.of == SqlType::Bytea {
            let mut bytes = Vec::new();
            for (at, part) in parts.iter().enumerate() {
                if let (Value::Bytes(separator), true) = (&part.separator, at > 0) {
                    bytes.extend_from_slice(separator);
                }
                if let Value::Bytes(more) = &part.value {
                    bytes.extend_from_slice(more);
                }
            }
            return Ok(Value::Bytes(bytes));
        }
        let mut text = String::new();
        for (at, part) in parts.iter().enumerate() {
            if let (Value::Text(separator), true) = (&part.separator, at > 0) {
                text.push_str(separator);
            }
            if let Value::Text(more) = &part.value {
                text.push_str(more);
            }
        }
        Ok(Value::Text(text))
    }

    fn take(&mut self, of: &Aggregate, value: ValueRef<'_>) -> Result<(), SqlError> {
        match of.kind {
            AggregateKind::Count => return Ok(()),
            AggregateKind::Average if has_moments(of.of) => {
                let count = self.count;
                let moments = &mut self.more().moments;
                let moments = moments.get_or_insert_with(|| Moments::new(of.of));
                return moments.add(value, count);
            }
            AggregateKind::Sum | AggregateKind::Average => {
                // Most are of one scale.
                if let (Value::Decimal(sum, scale), ValueRef::Decimal(more, scale_of_more)) =
                    (&mut self.value, value)
                    && *scale == scale_of_more
                    && let Some(larger) = sum.checked_add(more)
                {
                    *sum = larger;
                    return Ok(());
                }
                return self.take_to_sum(of, value);
            }
            _ => {}
        }
        let order = match (of.of.element(), value, &self.value) {
            (Some(element), ValueRef::Text(value), Value::Text(best)) => {
                let key = |text: &str| arrays::order_key(text, element);
                Some(key(value)?.cmp(&key(best)?))
            }
            (None, ValueRef::Text(value), Value::Text(best)) if of.of == SqlType::Interval => {
                let length = |text: &str| Interval::known(text).length();
                // The last of several intervals of one length counts.
                let kind = of.kind == AggregateKind::Minimum;
                let last = if kind {
                    Ordering::Less
                } else {
                    Ordering::Greater
                };
                Some(length(value).cmp(&length(best)).then(last))
            }
            (None, ValueRef::Text(value), Value::Text(best)) if of.of == SqlType::Char => {
                Some(value.trim_end_matches(' ').cmp(best.trim_end_matches(' ')))
            }
            (None, ValueRef::Text(value), Value::Text(best)) if of.collation().is_of_icu() => {
                Some(collations::compare(value, best, of.collation())?)
            }
            _ => compare(value, self.value.as_ref()),
        };
        // Of numbers that are equal, and may be shown otherwise, the last one counts, as in PostgreSQL.
        let is_last = matches!(of.of, SqlType::Float4 | SqlType::Float8 | SqlType::Numeric);
        let replaces = |wanted| {
            order.is_none_or(|order: Ordering| order == wanted || is_last && order.is_eq())
        };
        match of.kind {
            AggregateKind::Count
            | AggregateKind::Sum
            | AggregateKind::Average
            | AggregateKind::Texts
            | AggregateKind::Array
            | AggregateKind::JsonArray
            | AggregateKind::JsonObject
            | AggregateKind::Pair(_)
            | AggregateKind::OrderedSet { .. } => {}
            AggregateKind::Spread(_) => {
                let count = self.count;
                let moments = &mut self.more().moments;
                let moments = moments.get_or_insert_with(|| Moments::new(of.of));
                moments.add(value, count)?;
            }
            AggregateKind::BitAnd | AggregateKind::BitOr | AggregateKind::BitXor => {
                self.value = match (&self.value, value) {
                    (Value::Int(bits), ValueRef::Int(more)) => Value::Int(match of.kind {
                        AggregateKind::BitAnd => bits & more,
                        AggregateKind::BitOr => bits | more,
                        _ => bits ^ more,
                    }),
                    (Value::Text(bits), ValueRef::Text(more)) => Value::Text(match of.kind {
                        AggregateKind::BitAnd => joined(bits, more, "AND", |a, b| a & b)?,
                        AggregateKind::BitOr => joined(bits, more, "OR", |a, b| a | b)?,
                        _ => joined(bits, more, "XOR", |a, b| a ^ b)?,
                    }),
                    (_, first) => first.to_value(),
                };
            }
            AggregateKind::Minimum if replaces(Ordering::Less) => self.value = value.to_value(),
            AggregateKind::Maximum if replaces(Ordering::Greater) => self.value = value.to_value(),
            AggregateKind::Minimum | AggregateKind::Maximum => {}
            AggregateKind::BoolAnd | AggregateKind::BoolOr => {
                let wanted = of.kind == AggregateKind::BoolOr;
                if self.value == Value::Null || value == ValueRef::Bool(wanted) {
                    self.value = value.to_value();
                }
            }
        }
        Ok(())
    }

    fn take_to_sum(&mut self, of: &Aggregate, value: ValueRef<'_>) -> Result<(), SqlError> {
        match of.of {
            SqlType::Interval => {
                self.value = match (&self.value, value) {
                    (Value::Text(sum), ValueRef::Text(more)) => {
                        let sum = Interval::known(sum).plus(Interval::known(more), 1);
                        sum?.value()
                    }
                    (_, first) => first.to_value(),
                };
            }
            _ => {
                let kind = match of.of {
                    // Each sum of `real` is rounded to it, as `float4pl` does.
                    SqlType::Float4 | SqlType::Float8 => of.of,
                    _ if of.result == SqlType::Int8 => SqlType::Int8,
                    _ => SqlType::Numeric,
                };
                self.value = match self.value == Value::Null {
                    true => match (kind, value) {
                        (SqlType::Float4 | SqlType::Float8, value) => Value::Float(float_of(value)),
                        (SqlType::Numeric, ValueRef::Int(value)) => Value::Decimal(value, 0),
                        (_, value) => value.to_value(),
                    },
                    false => calculate(Arithmetic::Add, kind, self.value.as_ref(), value)?,
                };
            }
        }
        Ok(())
    }

    /// Merges another accumulator of a mergeable aggregate.
    ///
    /// # Errors
    /// A number out of range.
    pub fn merge(&mut self, of: &Aggregate, other: &Accumulator) -> Result<(), SqlError> {
        match other.value.as_ref() {
            ValueRef::Null => self.add_many(of, other.count, None),
            value => self.add_many(of, other.count, Some(value)),
        }
    }

    /// Adds several rows whose values are not null, given their sum or their extreme.
    ///
    /// # Errors
    /// A number out of range.
    pub fn add_many(
        &mut self,
        of: &Aggregate,
        count: i64,
        value: Option<ValueRef<'_>>,
    ) -> Result<(), SqlError> {
        self.count += count;
        match value {
            Some(value) => self.take(of, value),
            None => Ok(()),
        }
    }

    /// The result.
    ///
    /// # Errors
    /// A number out of range.
    pub fn finish(&self, of: &Aggregate, with: &Environment<'_>) -> Result<Value, SqlError> {
        match of.takes_in_order() {
            true => self.taken_in_order(of)?.finished(of, with),
            false => self.finished(of, with),
        }
    }

    fn finished(&self, of: &Aggregate, with: &Environment<'_>) -> Result<Value, SqlError> {
        match of.kind {
            AggregateKind::Count => Ok(Value::Int(self.count.into())),
            AggregateKind::Pair(pair) => {
                let points = self.more.as_ref().map(|more| more.points);
                Ok(points.unwrap_or_default().finish(pair))
            }
            AggregateKind::Spread(spread) => {
                match self.more.as_ref().and_then(|of| of.moments.as_ref()) {
                    Some(moments) => moments.finish(spread, self.count),
                    None => Ok(Value::Null),
                }
            }
            _ if of.collects() => self.together(of, with),
            AggregateKind::Average if of.of == SqlType::Interval => match &self.value {
                Value::Text(sum) => {
                    let mean = Interval::known(sum).divided(self.count as f64);
                    mean.map(Interval::value)
                }
                _ => Ok(Value::Null),
            },
            AggregateKind::Average if has_moments(of.of) => {
                let moments = self.more.as_ref().and_then(|of| of.moments.as_ref());
                Ok(moments.map_or(Value::Null, |moments| moments.mean(self.count)))
            }
            AggregateKind::Average if self.value != Value::Null => {
                let count = Value::Int(self.count.into());
                calculate(
                    Arithmetic::Divide,
                    of.result,
                    self.value.as_ref(),
                    count.as_ref(),
                )
            }
            _ => Ok(self.value.clone()),
        }
    }
}

/// True for the types whose average has the limits of a variance: PostgreSQL computes both at once (`float8_accum`).
fn has_moments(of: SqlType) -> bool {
    matches!(of, SqlType::Float4 | SqlType::Float8)
}
