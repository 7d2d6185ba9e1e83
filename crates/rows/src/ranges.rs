//! Ranges of numbers, days and moments: the values of the declared types `int4range`, `int8range`, `numrange`, `daterange`,
//! `tsrange` and `tstzrange`, whose columns are bytes.
//!
//! ```text
//! ├ 0 ┤                                                              empty
//! ├ 1 ┤ or ├ 2 ┼ value ─┼ 0 or 1 ┤   ├ 2 ┤ or ├ 1 ┼ value ─┼ 0 or 1 ┤
//!   lower bound: none, or a value,     upper bound: none, or a value,
//!   1 if the range is without it       1 if the range has it
//! ```
//!
//! A value is written so that the order of its bytes is its own, and no value's bytes begin with another's. So bytes are
//! ordered as PostgreSQL orders ranges: the empty one first, then by lower and by upper bounds. Hence indexes, keys and
//! references of such a column are those of its bytes, and bounds are compared without being read.
//!
//! Invariants: equal ranges have equal bytes. A range of whole numbers or days has its lower bound and is without its upper
//! one; infinite days alone are as they were given. Numbers have no zeros at their ends. [`Range::decode`] accepts this form
//! only.
//!
//! Source: PostgreSQL 15, `src/backend/utils/adt/rangetypes.c`.

#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

mod values;

use std::cmp::Ordering;
pub use values::RangeOf;

use crate::schema::Value;

const EMPTY: u8 = 0;
const LOWER_NONE: u8 = 1;
const LOWER: u8 = 2;
const UPPER: u8 = 1;
const UPPER_NONE: u8 = 2;

/// The reason why there is no such range.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotARange {
    /// The bounds are the wrong way round.
    #[error("range lower bound must be less than or equal to range upper bound")]
    Order,
    /// The value behind a bound is none of the type.
    #[error("the value behind a bound is out of range")]
    Beyond,
    /// A bound is no value of the type.
    #[error("a bound is no value of the range's type")]
    Value,
    /// The union would have a gap.
    #[error("result of range union would not be contiguous")]
    Union,
    /// The difference would have a gap.
    #[error("result of range difference would not be contiguous")]
    Difference,
}

/// A bound of a range. Its value is none on a side without a bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bound<'b> {
    value: Option<&'b [u8]>,
    is_inclusive: bool,
}

/// A range, whose values stay in the bytes that it was read from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range<'b>(Option<(Bound<'b>, Bound<'b>)>);

/// A bound as it is given, before the range has its one form.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Given {
    /// None without a bound.
    pub value: Option<Value>,
    /// True if the range has the value.
    pub is_inclusive: bool,
}

impl<'b> Bound<'b> {
    /// The bytes of its value.
    pub fn bytes(self) -> Option<&'b [u8]> {
        self.value
    }

    /// Decoded; `None` without a bound.
    #[inline]
    pub fn value(self, of: RangeOf) -> Option<Value> {
        self.value.and_then(|bytes| of.read(bytes))
    }

    /// True if the range has the value.
    pub fn is_inclusive(self) -> bool {
        self.is_inclusive
    }

    /// The bound on the other side of its value.
    fn flipped(self) -> Bound<'b> {
        Bound {
            is_inclusive: !self.is_inclusive,
            ..self
        }
    }
}

/// The order of two lower bounds.
fn lowers(one: Bound<'_>, other: Bound<'_>) -> Ordering {
    let by_value = one.value.cmp(&other.value);
    by_value.then(other.is_inclusive.cmp(&one.is_inclusive))
}

/// The order of two upper bounds.
fn uppers(one: Bound<'_>, other: Bound<'_>) -> Ordering {
    match (one.value, other.value) {
        (None, None) => Ordering::Equal,
        (None, _) => Ordering::Greater,
        (_, None) => Ordering::Less,
        (Some(a), Some(b)) => a.cmp(b).then(one.is_inclusive.cmp(&other.is_inclusive)),
    }
}

/// The order of a lower and an upper bound: equal if both have one value.
fn across(lower: Bound<'_>, upper: Bound<'_>) -> Ordering {
    let (Some(low), Some(high)) = (lower.value, upper.value) else {
        return Ordering::Less;
    };
    let apart = match lower.is_inclusive && upper.is_inclusive {
        true => Ordering::Equal,
        false => Ordering::Greater,
    };
    low.cmp(high).then(apart)
}

/// True if nothing is between an upper and a lower bound, and they share nothing.
fn touch(upper: Bound<'_>, lower: Bound<'_>) -> bool {
    upper.value.is_some() && upper.value == lower.value && upper.is_inclusive != lower.is_inclusive
}

fn least<'b>(one: Bound<'b>, other: Bound<'b>, order: Ordering) -> Bound<'b> {
    if order.is_le() { one } else { other }
}

fn greatest<'b>(one: Bound<'b>, other: Bound<'b>, order: Ordering) -> Bound<'b> {
    if order.is_ge() { one } else { other }
}

impl<'b> Range<'b> {
    /// The range that has nothing.
    pub const EMPTY: Range<'static> = Range(None);

    /// Its bounds; none if it is empty.
    pub fn bounds(self) -> Option<(Bound<'b>, Bound<'b>)> {
        self.0
    }

    /// True if it has nothing.
    pub fn is_empty(self) -> bool {
        self.0.is_none()
    }

    /// Reads what [`Range::encode`] wrote; `None` for any other bytes.
    pub fn decode(of: RangeOf, bytes: &'b [u8]) -> Option<Range<'b>> {
        let (tag, rest) = bytes.split_first()?;
        let (lower, rest) = match *tag {
            EMPTY => return rest.is_empty().then_some(Range::EMPTY),
            LOWER_NONE => (NONE, rest),
            LOWER => {
                let (value, flag, rest) = of.split(rest)?;
                (with(value, flag == 0), rest)
            }
            _ => return None,
        };
        let (tag, rest) = rest.split_first()?;
        let (upper, rest) = match *tag {
            UPPER_NONE => (NONE, rest),
            UPPER => {
                let (value, flag, rest) = of.split(rest)?;
                (with(value, flag == 1), rest)
            }
            _ => return None,
        };
        let is_in_form = rest.is_empty()
            && across(lower, upper).is_le()
            && (!of.is_discrete()
                || lower
                    .value
                    .is_none_or(|value| lower.is_inclusive || of.is_infinite(value))
                    && upper
                        .value
                        .is_none_or(|value| !upper.is_inclusive || of.is_infinite(value)));
        is_in_form.then_some(Range(Some((lower, upper))))
    }

    /// It as bytes, as a column has them.
    #[inline]
    pub fn encode(self) -> Vec<u8> {
        let Some((lower, upper)) = self.0 else {
            return vec![EMPTY];
        };
        let length = |bound: Bound<'_>| bound.value.map_or(1, |value| value.len() + 2);
        let mut bytes = Vec::with_capacity(length(lower) + length(upper));
        match lower.value {
            None => bytes.push(LOWER_NONE),
            Some(value) => {
                bytes.push(LOWER);
                bytes.extend(value);
                bytes.push((!lower.is_inclusive).into());
            }
        }
        match upper.value {
            None => bytes.push(UPPER_NONE),
            Some(value) => {
                bytes.push(UPPER);
                bytes.extend(value);
                bytes.push(upper.is_inclusive.into());
            }
        }
        bytes
    }

    /// True if it has all that another one has.
    pub fn contains(self, other: Range<'_>) -> bool {
        match (self.0, other.0) {
            (_, None) => true,
            (None, _) => false,
            (Some((low, high)), Some((lower, upper))) => {
                lowers(low, lower).is_le() && uppers(high, upper).is_ge()
            }
        }
    }

    /// True if it has a value, whose bytes are given.
    pub fn has(self, value: &[u8]) -> bool {
        let one = with(value, true);
        self.contains(Range(Some((one, one))))
    }

    /// True if both have something.
    pub fn overlaps(self, other: Range<'_>) -> bool {
        self.with_bounds(other, |(low, high), (lower, upper)| {
            across(low, upper).is_le() && across(lower, high).is_le()
        })
    }

    /// True if it ends before another one begins: `<<`.
    pub fn is_before(self, other: Range<'_>) -> bool {
        self.with_bounds(other, |(_, high), (lower, _)| across(lower, high).is_gt())
    }

    /// True if it ends no later than another one: `&<`.
    pub fn ends_within(self, other: Range<'_>) -> bool {
        self.with_bounds(other, |(_, high), (_, upper)| uppers(high, upper).is_le())
    }

    /// True if it begins no earlier than another one: `&>`.
    pub fn begins_within(self, other: Range<'_>) -> bool {
        self.with_bounds(other, |(low, _), (lower, _)| lowers(low, lower).is_ge())
    }

    /// True if one ends where the other begins, and they share nothing: `-|-`.
    pub fn is_adjacent(self, other: Range<'_>) -> bool {
        self.with_bounds(other, |(low, high), (lower, upper)| {
            touch(high, lower) || touch(upper, low)
        })
    }

    fn with_bounds(
        self,
        other: Range<'_>,
        is_so: impl Fn((Bound<'_>, Bound<'_>), (Bound<'_>, Bound<'_>)) -> bool,
    ) -> bool {
        match (self.0, other.0) {
            (Some(one), Some(other)) => is_so(one, other),
            _ => false,
        }
    }

    /// The least range that has all of both.
    pub fn merged(self, other: Range<'b>) -> Range<'b> {
        match (self.0, other.0) {
            (None, _) => other,
            (_, None) => self,
            (Some((low, high)), Some((lower, upper))) => Range(Some((
                least(low, lower, lowers(low, lower)),
                greatest(high, upper, uppers(high, upper)),
            ))),
        }
    }

    /// All that one of both has.
    ///
    /// # Errors
    /// [`NotARange::Union`].
    pub fn union(self, other: Range<'b>) -> Result<Range<'b>, NotARange> {
        let is_whole =
            self.is_empty() || other.is_empty() || self.overlaps(other) || self.is_adjacent(other);
        match is_whole {
            true => Ok(self.merged(other)),
            false => Err(NotARange::Union),
        }
    }

    /// The range of all that both have.
    pub fn intersection(self, other: Range<'b>) -> Range<'b> {
        match (self.0, other.0) {
            (Some((low, high)), Some((lower, upper))) if self.overlaps(other) => Range(Some((
                greatest(low, lower, lowers(low, lower)),
                least(high, upper, uppers(high, upper)),
            ))),
            _ => Range::EMPTY,
        }
    }

    /// The range without another one.
    ///
    /// # Errors
    /// [`NotARange::Difference`].
    pub fn difference(self, other: Range<'b>) -> Result<Range<'b>, NotARange> {
        let (Some((low, high)), Some((lower, upper))) = (self.0, other.0) else {
            return Ok(self);
        };
        let (begins, ends) = (lowers(low, lower), uppers(high, upper));
        if begins.is_lt() && ends.is_gt() {
            return Err(NotARange::Difference);
        }
        if !self.overlaps(other) {
            return Ok(self);
        }
        if begins.is_ge() && ends.is_le() {
            return Ok(Range::EMPTY);
        }
        Ok(Range(Some(match ends.is_le() {
            true => (low, lower.flipped()),
            false => (upper.flipped(), high),
        })))
    }

    /// The bytes of the range with these bounds.
    ///
    /// # Errors
    /// [`NotARange`].
    #[inline]
    pub fn of_bounds(of: RangeOf, lower: Given, upper: Given) -> Result<Vec<u8>, NotARange> {
        let bytes = |value: &Value| {
            let bytes = of.bytes(value.as_ref());
            let bytes = bytes.filter(|bytes| of.is_known(bytes));
            bytes.ok_or(NotARange::Value)
        };
        let mut low = lower.value.as_ref().map(bytes).transpose()?;
        let mut high = upper.value.as_ref().map(bytes).transpose()?;
        if let (Some(low), Some(high)) = (&low, &high) {
            match low.cmp(high) {
                Ordering::Greater => return Err(NotARange::Order),
                Ordering::Equal if !(lower.is_inclusive && upper.is_inclusive) => {
                    return Ok(Range::EMPTY.encode());
                }
                _ => {}
            }
        }
        let (mut has_low, mut has_high) = (lower.is_inclusive, upper.is_inclusive);
        if let (Some(value), true) = (&mut low, of.is_discrete() && !has_low)
            && !of.is_infinite(value)
        {
            (*value, has_low) = (of.next(value).ok_or(NotARange::Beyond)?, true);
        }
        if let (Some(value), true) = (&mut high, of.is_discrete() && has_high)
            && !of.is_infinite(value)
        {
            (*value, has_high) = (of.next(value).ok_or(NotARange::Beyond)?, false);
        }
        let bound = |value: &'_ Option<Vec<u8>>, is_inclusive| match value {
            Some(_) => is_inclusive,
            None => false,
        };
        let lower = Bound {
            value: low.as_deref(),
            is_inclusive: bound(&low, has_low),
        };
        let upper = Bound {
            value: high.as_deref(),
            is_inclusive: bound(&high, has_high),
        };
        // Of whole numbers, `(1, 2)` has none.
        Ok(match across(lower, upper).is_le() {
            true => Range(Some((lower, upper))).encode(),
            false => Range::EMPTY.encode(),
        })
    }
}

const NONE: Bound<'static> = Bound {
    value: None,
    is_inclusive: false,
};

fn with(value: &[u8], is_inclusive: bool) -> Bound<'_> {
    Bound {
        value: Some(value),
        is_inclusive,
    }
}

#[cfg(test)]
mod tests;
