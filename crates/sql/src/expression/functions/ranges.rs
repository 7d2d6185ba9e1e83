//! Functions of ranges, and of their operators. A range is passed with its type's number before it.
//!
//! Source: PostgreSQL 15, `src/backend/utils/adt/rangetypes.c`; its documentation, 9.20.

use super::definition::*;
use crate::error::{SqlError, code};
use crate::types::SqlType;
use crate::values::ranges::{bound, failed, flags, made, range, value};
use sardonyx::schema::{Value, ValueRef};
use sardonyx_rows::ranges::{Bound, Given, NotARange, Range, RangeOf};

pub(super) static TABLE: &[Definition] = functions! {
    daterange(DATE, DATE) -> DATERANGE, |a, _| of_bounds(SqlType::DateRange, a), "days from the first until before the second; null for no bound", on_null;
    daterange(DATE, DATE, TEXT) -> DATERANGE, |a, _| of_bounds(SqlType::DateRange, a), "days between two, with bounds as `[]`, `[)`, `(]` or `()` says", on_null;
    elem_contained_by_range(BOUND, RANGE) -> BOOL, |a, _| Ok(has(a, 1, a.value(0))), "`element <@ range`";
    int4range(INT4, INT4) -> INT4RANGE, |a, _| of_bounds(SqlType::Int4Range, a), "numbers from the first until before the second; null for no bound", on_null;
    int4range(INT4, INT4, TEXT) -> INT4RANGE, |a, _| of_bounds(SqlType::Int4Range, a), "numbers between two, with bounds as `[]`, `[)`, `(]` or `()` says", on_null;
    int8range(INT8, INT8) -> INT8RANGE, |a, _| of_bounds(SqlType::Int8Range, a), "numbers from the first until before the second; null for no bound", on_null;
    int8range(INT8, INT8, TEXT) -> INT8RANGE, |a, _| of_bounds(SqlType::Int8Range, a), "numbers between two, with bounds as `[]`, `[)`, `(]` or `()` says", on_null;
    isempty(RANGE) -> BOOL, |a, _| Ok(Value::Bool(at(a, 0).is_empty())), "has the range nothing?";
    lower(RANGE) -> BOUND, |a, _| Ok(bound_of(a, false)), "lower bound; null if there is none";
    lower_inc(RANGE) -> BOOL, |a, _| Ok(is_bound(a, false, Bound::is_inclusive)), "has the range its lower bound?";
    lower_inf(RANGE) -> BOOL, |a, _| Ok(is_bound(a, false, |bound| bound.bytes().is_none())), "has the range no lower bound?";
    numrange(NUMERIC, NUMERIC) -> NUMRANGE, |a, _| of_bounds(SqlType::NumRange, a), "numbers from the first until before the second; null for no bound", on_null;
    numrange(NUMERIC, NUMERIC, TEXT) -> NUMRANGE, |a, _| of_bounds(SqlType::NumRange, a), "numbers between two, with bounds as `[]`, `[)`, `(]` or `()` says", on_null;
    range_adjacent(RANGE, RANGE) -> BOOL, |a, _| Ok(is(a, Range::is_adjacent)), "`range -\\|- range`";
    range_after(RANGE, RANGE) -> BOOL, |a, _| Ok(is(a, |one, other| other.is_before(one))), "`range >> range`";
    range_before(RANGE, RANGE) -> BOOL, |a, _| Ok(is(a, Range::is_before)), "`range << range`";
    range_contained_by(RANGE, RANGE) -> BOOL, |a, _| Ok(is(a, |one, other| other.contains(one))), "`range <@ range`";
    range_contains(RANGE, RANGE) -> BOOL, |a, _| Ok(is(a, Range::contains)), "`range @> range`";
    range_contains_elem(RANGE, BOUND) -> BOOL, |a, _| Ok(has(a, 0, a.value(2))), "`range @> element`";
    range_intersect(RANGE, RANGE) -> RANGE, |a, _| Ok(value(at(a, 0).intersection(at(a, 1)))), "`range * range`";
    range_merge(RANGE, RANGE) -> RANGE, |a, _| Ok(value(at(a, 0).merged(at(a, 1)))), "least range that has all of both";
    range_minus(RANGE, RANGE) -> RANGE, |a, _| result(a, at(a, 0).difference(at(a, 1))), "`range - range`";
    range_overlaps(RANGE, RANGE) -> BOOL, |a, _| Ok(is(a, Range::overlaps)), "`range && range`";
    range_overleft(RANGE, RANGE) -> BOOL, |a, _| Ok(is(a, Range::ends_within)), "`range &< range`";
    range_overright(RANGE, RANGE) -> BOOL, |a, _| Ok(is(a, Range::begins_within)), "`range &> range`";
    range_union(RANGE, RANGE) -> RANGE, |a, _| result(a, at(a, 0).union(at(a, 1))), "`range + range`";
    tsrange(TIMESTAMP, TIMESTAMP) -> TSRANGE, |a, _| of_bounds(SqlType::TsRange, a), "time from the first until before the second; null for no bound", on_null;
    tsrange(TIMESTAMP, TIMESTAMP, TEXT) -> TSRANGE, |a, _| of_bounds(SqlType::TsRange, a), "time between two, with bounds as `[]`, `[)`, `(]` or `()` says", on_null;
    tstzrange(TIMESTAMPTZ, TIMESTAMPTZ) -> TSTZRANGE, |a, _| of_bounds(SqlType::TstzRange, a), "time from the first until before the second; null for no bound", on_null;
    tstzrange(TIMESTAMPTZ, TIMESTAMPTZ, TEXT) -> TSTZRANGE, |a, _| of_bounds(SqlType::TstzRange, a), "time between two, with bounds as `[]`, `[)`, `(]` or `()` says", on_null;
    upper(RANGE) -> BOUND, |a, _| Ok(bound_of(a, true)), "upper bound; null if there is none";
    upper_inc(RANGE) -> BOOL, |a, _| Ok(is_bound(a, true, Bound::is_inclusive)), "has the range its upper bound?";
    upper_inf(RANGE) -> BOOL, |a, _| Ok(is_bound(a, true, |bound| bound.bytes().is_none())), "has the range no upper bound?";
};

/// One of the ranges, each of which follows its type's number.
fn at(a: Arguments<'_>, number: usize) -> Range<'_> {
    range(a.kind(2 * number), a.value(2 * number + 1))
}

fn is<'v>(a: Arguments<'v>, is_so: fn(Range<'v>, Range<'v>) -> bool) -> Value {
    Value::Bool(is_so(at(a, 0), at(a, 1)))
}

/// True if the range at a place, behind its type's number, has a value.
fn has(a: Arguments<'_>, place: usize, element: ValueRef<'_>) -> Value {
    let kind = a.kind(place);
    let of = kind.range();
    let bytes = of.and_then(|of| of.bytes(element));
    let range = range(kind, a.value(place + 1));
    Value::Bool(bytes.is_some_and(|bytes| range.has(&bytes)))
}

fn end_of<'v>(a: Arguments<'v>, is_upper: bool) -> Option<Bound<'v>> {
    let (lower, upper) = at(a, 0).bounds()?;
    Some(if is_upper { upper } else { lower })
}

fn bound_of(a: Arguments<'_>, is_upper: bool) -> Value {
    end_of(a, is_upper).map_or(Value::Null, |of| bound(a.kind(0), of))
}

fn is_bound<'v>(a: Arguments<'v>, is_upper: bool, is_so: fn(Bound<'v>) -> bool) -> Value {
    Value::Bool(end_of(a, is_upper).is_some_and(is_so))
}

fn result(a: Arguments<'_>, found: Result<Range<'_>, NotARange>) -> Answer {
    let of = a.kind(0).range().unwrap_or(RangeOf::Int4);
    found.map(value).map_err(|error| failed(of, error))
}

/// The range of two bounds, and perhaps flags.
fn of_bounds(kind: SqlType, a: Arguments<'_>) -> Answer {
    let (has_lower, has_upper) = match (a.len(), a.given_text(2)) {
        (2, _) => (true, false),
        (_, Some(text)) => flags(text)?,
        (_, None) => {
            let message = "range constructor flags argument must not be null";
            return Err(SqlError::new(code::DATA_EXCEPTION, message));
        }
    };
    let given = |value: ValueRef<'_>, is_inclusive| Given {
        value: (value != ValueRef::Null).then(|| value.to_value()),
        is_inclusive,
    };
    let (lower, upper) = (given(a.value(0), has_lower), given(a.value(1), has_upper));
    made(kind, lower, upper)
}

/// Functions of ranges that give, or take, multiranges, and an aggregate.
pub(super) const OF_MULTIRANGES: [&str; 9] = [
    "datemultirange",
    "int4multirange",
    "int8multirange",
    "multirange",
    "nummultirange",
    "range_agg",
    "range_intersect_agg",
    "tsmultirange",
    "tstzmultirange",
];
