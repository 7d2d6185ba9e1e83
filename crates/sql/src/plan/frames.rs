//! The frames of window functions: the rows of a partition from which a row's value is computed. Rows are counted
//! (`ROWS`), or groups of equal ones (`GROUPS`), or the distance of their key counts (`RANGE`). A frame is a range of
//! places without those that `EXCLUDE` names. From row to row both ends of a range only move forwards.
//!
//! Source: SQL:2016, part 2, 7.15 (window clause); PostgreSQL's documentation, 4.2.8.

use crate::error::{SqlError, code};
use crate::expression::window::{Bound, FrameUnit, RangeKey, WindowCall};
use crate::expression::{Environment, Expr};
use crate::parse::Excluded;
use crate::types::SqlType;
use crate::values::arithmetic::{Arithmetic, calculate, float_of, shift, shift_in};
use crate::values::intervals::Interval;
use crate::values::zoned_times;
use sardonyx::schema::{NonFinite, Value, ValueRef};
use sardonyx_rows::condition::compare;
use std::ops::Range;

/// The frames of a call, over one partition.
pub(super) struct Frames<'f, 'e> {
    unit: FrameUnit,
    start: Edge,
    end: Edge,
    excluded: Excluded,
    /// The key of `RANGE` with an offset, and its values in the partition's order.
    range: Option<(&'f RangeKey, Vec<Value>)>,
    /// The places at which groups of `GROUPS` begin, and the number of rows.
    groups: Vec<usize>,
    /// The group of the last row that was asked for.
    group: usize,
    /// The last frame: with `RANGE` the next one's ends are looked for from there on.
    last: Range<usize>,
    count: usize,
    with: &'f Environment<'e>,
}

#[derive(Clone, PartialEq)]
enum Edge {
    First,
    Preceding(Offset),
    Current,
    Following(Offset),
    Last,
}

/// The distance of an edge from the row.
#[derive(Clone, PartialEq)]
enum Offset {
    Rows(usize),
    /// A distance of the key's values.
    Distance(Value),
}

impl<'f, 'e> Frames<'f, 'e> {
    /// The frames of a call over a partition with these peers. `key` gives the value of an expression for the row at a
    /// place.
    ///
    /// # Errors
    /// `22013` for a negative offset, `22004` for null; evaluation errors.
    pub fn new(
        call: &'f WindowCall,
        peers: &[Range<usize>],
        key: &mut dyn FnMut(usize, &Expr) -> Result<Value, SqlError>,
        with: &'f Environment<'e>,
    ) -> Result<Self, SqlError> {
        let frame = call.frame();
        let range = frame.range.as_ref();
        let edge = |bound: &Bound, which: &str| {
            let offset = |offset: &Expr| offset_of(offset, which, range, with);
            Ok::<_, SqlError>(match bound {
                Bound::First => Edge::First,
                Bound::Preceding(by) => Edge::Preceding(offset(by)?),
                Bound::Current => Edge::Current,
                Bound::Following(by) => Edge::Following(offset(by)?),
                Bound::Last => Edge::Last,
            })
        };
        let count = peers.len();
        let range = match range {
            None => None,
            Some(of) => {
                let mut values = Vec::with_capacity(count);
                for place in 0..count {
                    values.push(key(place, &of.expr)?);
                }
                Some((of, values))
            }
        };
        let groups = match frame.unit {
            FrameUnit::Groups => {
                let starts = peers.iter().enumerate();
                let starts = starts.filter(|(place, peers)| peers.start == *place);
                let starts = starts.map(|(place, _)| place);
                starts.chain([count]).collect()
            }
            _ => Vec::new(),
        };
        Ok(Frames {
            unit: frame.unit,
            start: edge(&frame.start, "starting")?,
            end: edge(&frame.end, "ending")?,
            excluded: frame.excluded,
            range,
            groups,
            group: 0,
            last: 0..0,
            count,
            with,
        })
    }

    /// True if frames leave rows out between their ends.
    pub fn excludes(&self) -> bool {
        self.excluded != Excluded::Nothing
    }

    /// The frame of the row at a place, with these peers, before `EXCLUDE`. Places are asked for in their order.
    ///
    /// # Errors
    /// A distance that cannot be computed.
    pub fn at(&mut self, place: usize, peers: &Range<usize>) -> Result<Range<usize>, SqlError> {
        let own = match self.unit {
            FrameUnit::Rows => place..place + 1,
            _ => peers.clone(),
        };
        let mut groups = 0..0;
        if self.unit == FrameUnit::Groups {
            while self
                .groups
                .get(self.group + 1)
                .is_some_and(|next| *next <= place)
            {
                self.group += 1;
            }
            groups = self.group..self.group + 1;
        }
        let start = self.edge(&self.start, place, own.start, groups.start, true)?;
        let end = self.edge(&self.end, place, own.end, groups.end, false)?;
        self.last = start..end;
        Ok(start..end.max(start))
    }

    fn edge(
        &self,
        edge: &Edge,
        place: usize,
        own: usize,
        group: usize,
        is_start: bool,
    ) -> Result<usize, SqlError> {
        let group_at = |number: usize| *self.groups.get(number).unwrap_or(&self.count);
        Ok(match edge {
            Edge::First => 0,
            Edge::Last => self.count,
            Edge::Current => own,
            Edge::Preceding(Offset::Rows(by)) if self.unit == FrameUnit::Groups => {
                match group.checked_sub(*by) {
                    Some(number) => group_at(number),
                    None => 0,
                }
            }
            Edge::Following(Offset::Rows(by)) if self.unit == FrameUnit::Groups => {
                group_at(group.saturating_add(*by))
            }
            Edge::Preceding(Offset::Rows(by)) => own.saturating_sub(*by),
            Edge::Following(Offset::Rows(by)) => own.saturating_add(*by).min(self.count),
            Edge::Preceding(Offset::Distance(by)) => self.distant(place, by, true, is_start)?,
            Edge::Following(Offset::Distance(by)) => self.distant(place, by, false, is_start)?,
        })
    }

    /// The place of an edge at a distance of the key from the row at a place. For a frame's start it is the first row
    /// that is not before it, for an end the first one behind it.
    fn distant(
        &self,
        place: usize,
        by: &Value,
        precedes: bool,
        is_start: bool,
    ) -> Result<usize, SqlError> {
        let Some((key, values)) = &self.range else {
            return Ok(place);
        };
        let current = values.get(place).unwrap_or(&Value::Null);
        let subtracts = precedes != key.descending;
        let limit = match current {
            Value::Null => Limit::At(Value::Null),
            current => limit_of(current, by, subtracts, key.kind, self.with)?,
        };
        let mut at = match is_start {
            true => self.last.start,
            false => self.last.end,
        };
        while let Some(value) = values.get(at) {
            let goes_on = match (value, current) {
                // Nulls are peers of each other, at no distance from other values.
                (Value::Null, Value::Null) => !is_start,
                (Value::Null, _) => key.nulls_first,
                (_, Value::Null) => !key.nulls_first,
                (value, _) => limit.is_before(value, key.descending, is_start),
            };
            if !goes_on {
                break;
            }
            at += 1;
        }
        Ok(at)
    }

    /// The parts of a frame that `EXCLUDE` leaves.
    pub fn parts(
        &self,
        frame: &Range<usize>,
        place: usize,
        peers: &Range<usize>,
    ) -> [Range<usize>; 3] {
        let left_out = match self.excluded {
            Excluded::Nothing => return [frame.clone(), 0..0, 0..0],
            Excluded::CurrentRow => place..place + 1,
            Excluded::Group | Excluded::Ties => peers.clone(),
        };
        let own = match self.excluded {
            Excluded::Ties if frame.contains(&place) => place..place + 1,
            _ => 0..0,
        };
        let before = frame.start..frame.end.min(left_out.start);
        let behind = frame.start.max(left_out.end)..frame.end;
        let nonempty = |part: Range<usize>| match part.start < part.end {
            true => part,
            false => 0..0,
        };
        [nonempty(before), own, nonempty(behind)]
    }
}

/// A value at a distance from another one.
enum Limit {
    At(Value),
    /// Before, or behind, all values.
    Least,
    Greatest,
    /// At no distance from any number: an infinity that is as far as the other one.
    None,
}

impl Limit {
    /// True if a row with the value comes before the edge.
    fn is_before(&self, value: &Value, descending: bool, is_start: bool) -> bool {
        let order = match self {
            Limit::At(limit) => compared(value, limit),
            Limit::Least => std::cmp::Ordering::Greater,
            Limit::Greatest => std::cmp::Ordering::Less,
            Limit::None => {
                // As in PostgreSQL all numbers are within the distance, and NaN has its place in the order.
                let is_nan = match value {
                    Value::Float(value) => value.is_nan(),
                    value => *value == Value::NonFinite(NonFinite::NaN),
                };
                return match (is_start, descending) {
                    (true, _) => is_nan && descending,
                    (false, true) => true,
                    (false, false) => !is_nan,
                };
            }
        };
        let order = match descending {
            true => order.reverse(),
            false => order,
        };
        match is_start {
            true => order.is_lt(),
            false => order.is_le(),
        }
    }
}

fn compared(a: &Value, b: &Value) -> std::cmp::Ordering {
    match (a, b) {
        // Intervals are compared by length.
        (Value::Text(a), Value::Text(b)) => {
            (Interval::known(a).length()).cmp(&Interval::known(b).length())
        }
        // NaN is behind all others.
        (Value::Float(a), Value::Float(b)) => {
            let order = a.is_nan().cmp(&b.is_nan());
            order.then(a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal))
        }
        // A day is its midnight.
        (Value::Date(_), Value::Timestamp(_)) => {
            let a = shift(a.as_ref(), &Interval::default(), SqlType::Timestamp);
            let a = a.unwrap_or(Value::Null);
            compare(a.as_ref(), b.as_ref()).unwrap_or(std::cmp::Ordering::Equal)
        }
        _ => compare(a.as_ref(), b.as_ref()).unwrap_or(std::cmp::Ordering::Equal),
    }
}

/// The value at a distance from another one. Beyond the range of the type it is before, or behind, all.
fn limit_of(
    value: &Value,
    by: &Value,
    subtracts: bool,
    kind: SqlType,
    with: &Environment<'_>,
) -> Result<Limit, SqlError> {
    let beyond = || match subtracts {
        true => Limit::Least,
        false => Limit::Greatest,
    };
    if let Value::Text(by) = by
        && kind != SqlType::Interval
    {
        let by = Interval::known(by);
        let moved = match subtracts {
            true => by.negated(),
            false => Ok(by),
        };
        if let (Value::Time(time), Ok(by)) = (value, &moved) {
            // A time does not begin again at midnight.
            return Ok(Limit::At(Value::Time(time.saturating_add(by.micros))));
        }
        if let (Some(time), Ok(by)) = (zoned_times::time(value.as_ref()), &moved) {
            return Ok(Limit::At(zoned_times::beyond_midnight(time, by.micros)));
        }
        let moved = moved.and_then(|by| match kind {
            SqlType::Timestamptz => shift_in(value.as_ref(), &by, with.context.zone()),
            kind => shift(value.as_ref(), &by, kind),
        });
        return Ok(moved.map_or_else(|_| beyond(), Limit::At));
    }
    let times = if subtracts { -1 } else { 1 };
    Ok(match (value.as_ref(), by) {
        (ValueRef::Text(value), Value::Text(by)) => {
            let moved = Interval::known(value).plus(Interval::known(by), times);
            moved.map_or_else(|_| beyond(), |moved| Limit::At(moved.value()))
        }
        (ValueRef::Float(value), by) => {
            let by = float_of(by.as_ref());
            let moved = if subtracts { value - by } else { value + by };
            match moved.is_nan() && !value.is_nan() {
                true => Limit::None,
                false => Limit::At(Value::Float(moved)),
            }
        }
        (ValueRef::Int(value), Value::Int(by)) => Limit::At(Value::Int(value + by * times)),
        (value, by) => {
            let operation = match subtracts {
                true => Arithmetic::Subtract,
                false => Arithmetic::Add,
            };
            let moved = calculate(operation, SqlType::Numeric, value, by.as_ref());
            let nan = NonFinite::NaN;
            match moved {
                // An infinity at an infinite distance, as of floats.
                Ok(Value::NonFinite(moved))
                    if moved == nan && value != ValueRef::NonFinite(nan) =>
                {
                    Limit::None
                }
                moved => moved.map_or_else(|_| beyond(), Limit::At),
            }
        }
    })
}

fn offset_of(
    expression: &Expr,
    which: &str,
    range: Option<&RangeKey>,
    with: &Environment<'_>,
) -> Result<Offset, SqlError> {
    let invalid = |text: String| Err(SqlError::new(code::INVALID_FRAME_OFFSET, text));
    let of_distance = "invalid preceding or following size in window function";
    match (expression.constant(with)?, range) {
        (Value::Null, _) => Err(SqlError::new(
            code::NULL_NOT_ALLOWED,
            format!("frame {which} offset must not be null"),
        )),
        (Value::Int(offset), None) if offset < 0 => {
            invalid(format!("frame {which} offset must not be negative"))
        }
        // An offset larger than the partition covers all rows.
        (Value::Int(offset), None) => {
            Ok(Offset::Rows(usize::try_from(offset).unwrap_or(usize::MAX)))
        }
        (offset, _) => {
            let is_valid = match &offset {
                Value::Int(by) => *by >= 0,
                Value::Decimal(units, _) => *units >= 0,
                Value::NonFinite(by) => *by == NonFinite::Infinity,
                Value::Float(by) => *by >= 0.0,
                Value::Text(by) => Interval::known(by).length() >= 0,
                _ => false,
            };
            match is_valid {
                true => Ok(Offset::Distance(offset)),
                false => invalid(of_distance.into()),
            }
        }
    }
}
