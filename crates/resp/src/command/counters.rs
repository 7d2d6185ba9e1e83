//! Counters: strings that are numbers.

use super::line::Line;
use super::{Command, FAST, MORE, ONE_KEY, WRITE, on_data};
use crate::data::{Expiry, Live, Text};
use crate::event_classes::STRING;
use crate::failure::Failure;
use crate::number::{
    FLOAT_BYTES_MAX, INTEGER_BYTES_MAX, decimal_text, float, integer, integer_text, parse_decimal,
    parse_float, parse_integer, plain_float_text,
};
use crate::reply::Reply;

pub(super) const COMMANDS: &[Command] = &[
    on_data(
        "incr",
        2,
        WRITE | MORE | FAST,
        ONE_KEY,
        incr,
        "Adds one to the number of a key",
    ),
    on_data(
        "decr",
        2,
        WRITE | MORE | FAST,
        ONE_KEY,
        decr,
        "Takes one from the number of a key",
    ),
    on_data(
        "incrby",
        3,
        WRITE | MORE | FAST,
        ONE_KEY,
        incrby,
        "Adds to the number of a key",
    ),
    on_data(
        "decrby",
        3,
        WRITE | MORE | FAST,
        ONE_KEY,
        decrby,
        "Takes from the number of a key",
    ),
    on_data(
        "incrbyfloat",
        3,
        WRITE | MORE | FAST,
        ONE_KEY,
        incrbyfloat,
        "Adds to the float of a key",
    ),
];

fn add(data: &mut Live<'_, '_>, key: &[u8], amount: i64) -> Result<Reply, Failure> {
    let found = data.text_to_change(key, |text| {
        Ok(text.up_to(INTEGER_BYTES_MAX)?.and_then(parse_integer))
    })?;
    let (before, number) = match found {
        Some((entry, Some(number))) => (Some(entry), number),
        Some((_, None)) => return Err(Failure::NotInteger),
        None => (None, 0),
    };
    let sum = number.checked_add(amount);
    let sum = sum.ok_or(Failure::Told("ERR increment or decrement would overflow"))?;
    let mut text = [0; INTEGER_BYTES_MAX];
    data.set_string(key, before, integer_text(sum, &mut text), Expiry::Keep)?;
    data.event(STRING, "incrby", key)?;
    Ok(Reply::Int(sum))
}

fn incr(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    add(data, line.part(1), 1)
}

fn decr(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    add(data, line.part(1), -1)
}

fn incrby(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    add(data, line.part(1), integer(line.part(2))?)
}

fn decrby(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let amount = integer(line.part(2))?.checked_neg();
    add(
        data,
        line.part(1),
        amount.ok_or(Failure::Told("ERR decrement would overflow"))?,
    )
}

/// The sum of a float's text and another's: exact where both are decimals of at most 20 digits before the
/// point and 17 behind it.
pub(super) fn float_sum(
    before: Option<&[u8]>,
    amount: &[u8],
    wrong: Failure,
) -> Result<Vec<u8>, Failure> {
    let added = float(amount)?;
    let before = before.unwrap_or(b"0");
    let number = parse_float(before).ok_or(wrong)?;
    if let (Some(one), Some(other)) = (parse_decimal(before), parse_decimal(amount)) {
        return Ok(decimal_text(one + other));
    }
    let sum = number + added;
    match sum.is_finite() {
        true => Ok(plain_float_text(sum)),
        false => Err(Failure::Told("ERR increment would produce NaN or Infinity")),
    }
}

/// A stored text that may be a number: it has so many bytes at most.
pub(super) fn number_text(
    text: &Text<'_>,
    most: usize,
    wrong: Failure,
) -> Result<Vec<u8>, Failure> {
    let text = text.up_to(most)?;
    text.map(<[u8]>::to_vec).ok_or(wrong)
}

fn incrbyfloat(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let found = data.text_to_change(line.part(1), |text| {
        number_text(&text, FLOAT_BYTES_MAX, Failure::NotFloat)
    })?;
    let (before, value) = found.unzip();
    let sum = float_sum(value.as_deref(), line.part(2), Failure::NotFloat)?;
    data.set_string(line.part(1), before, &sum, Expiry::Keep)?;
    data.event(STRING, "incrbyfloat", line.part(1))?;
    Ok(Reply::Bulk(sum))
}
