//! Functions of strings of bits, and of their operators.
//!
//! Source: PostgreSQL 15, `src/backend/utils/adt/varbit.c`; its documentation, 9.6.

use super::definition::*;
use super::texts::check_length;
use crate::error::{SqlError, code};
use crate::values::bits::joined;

pub(super) static TABLE: &[Definition] = functions! {
    bit_count(BIT) -> INT8, |a, _| int(ones(a.text(0))), "number of bits that are set";
    bit_length(BIT) -> INT4, |a, _| int(a.text(0).len()), "number of bits";
    bitand(BIT, BIT) -> BIT, |a, _| text(joined(a.text(0), a.text(1), "AND", |one, other| one & other)?), "`bit & bit`";
    bitcat(VARBIT, VARBIT) -> VARBIT, |a, _| together(&[a.text(0), a.text(1)]), "bits of both, one behind the other";
    bitnot(BIT) -> BIT, |a, _| text(a.text(0).chars().map(turned).collect::<String>()), "`~ bit`";
    bitor(BIT, BIT) -> BIT, |a, _| text(joined(a.text(0), a.text(1), "OR", |one, other| one | other)?), "`bit \\| bit`";
    bitshiftleft(BIT, INT4) -> BIT, |a, _| text(moved(a.text(0), a.int(1))), "`bit << integer`";
    bitshiftright(BIT, INT4) -> BIT, |a, _| text(moved(a.text(0), -a.int(1))), "`bit >> integer`";
    bitxor(BIT, BIT) -> BIT, |a, _| text(joined(a.text(0), a.text(1), "XOR", |one, other| one ^ other)?), "`bit # bit`";
    get_bit(BIT, INT4) -> INT4, |a, _| int(u8::from(a.text(0).as_bytes()[place_of(a)?] == b'1')), "bit at a place, from 0 on the left";
    length(BIT) -> INT4, |a, _| int(a.text(0).len()), "number of bits";
    octet_length(BIT) -> INT4, |a, _| int(a.text(0).len().div_ceil(8)), "number of bytes that hold its bits";
    overlay(BIT, BIT, INT4) -> BIT, |a, _| overlaid(a, a.text(1).len() as i64), "with other bits from a place on, from 1";
    overlay(BIT, BIT, INT4, INT4) -> BIT, |a, _| overlaid(a, a.int(3)), "with other bits in the place of so many, from 1";
    position(BIT, BIT) -> INT4, |a, _| place(a.text(0), a.text(1)), "place of the second bits, from 1; 0 if they are not found";
    set_bit(BIT, INT4, INT4) -> BIT, |a, _| with_bit(a), "with another bit at a place, from 0 on the left";
    substring(BIT, INT4) -> BIT, |a, _| text(part(a.text(0), a.int(1), None)?), "bits from a place on, from 1";
    substring(BIT, INT4, INT4) -> BIT, |a, _| text(part(a.text(0), a.int(1), Some(a.int(2)))?), "so many bits from a place on, from 1";
};

fn ones(bits: &str) -> usize {
    bits.bytes().filter(|bit| *bit == b'1').count()
}

fn turned(bit: char) -> char {
    if bit == '1' { '0' } else { '1' }
}

fn together(parts: &[&str]) -> Answer {
    check_length(parts.iter().map(|part| part.len()).sum())?;
    text(parts.concat())
}

/// Bits moved to the left, or by a negative number to the right, with zeros behind or before them.
fn moved(bits: &str, by: i64) -> String {
    let length = bits.len();
    let distance = usize::try_from(by.unsigned_abs()).unwrap_or(length);
    let distance = distance.min(length);
    let zeros = "0".repeat(distance);
    match by >= 0 {
        true => format!("{}{zeros}", bits.get(distance..).unwrap_or_default()),
        false => format!(
            "{zeros}{}",
            bits.get(..length - distance).unwrap_or_default()
        ),
    }
}

/// The second argument as a place in the first one.
///
/// # Errors
/// `2202E` if there is none.
fn place_of(a: Arguments<'_>) -> Result<usize, SqlError> {
    let (given, count) = (a.int(1), a.text(0).len());
    let place = usize::try_from(given).ok().filter(|at| *at < count);
    place.ok_or_else(|| {
        let text = format!(
            "bit index {given} out of valid range (0..{})",
            count as i64 - 1
        );
        SqlError::new("2202E", text)
    })
}

fn with_bit(a: Arguments<'_>) -> Answer {
    let at = place_of(a)?;
    let bit = match a.int(2) {
        0 => "0",
        1 => "1",
        _ => {
            let text = "new bit must be 0 or 1";
            return Err(SqlError::new(code::INVALID_PARAMETER_VALUE, text));
        }
    };
    let mut bits = a.text(0).to_string();
    bits.replace_range(at..=at, bit);
    text(bits)
}

fn place(bits: &str, sought: &str) -> Answer {
    if bits.is_empty() {
        return int(0);
    }
    int(bits.find(sought).map_or(0, |at| at + 1))
}

fn negative() -> SqlError {
    SqlError::new("22011", "negative substring length not allowed")
}

fn part(bits: &str, start: i64, length: Option<i64>) -> Result<&str, SqlError> {
    if length.is_some_and(|length| length < 0) {
        return Err(negative());
    }
    let end = length.map_or(i64::MAX, |length| start.saturating_add(length));
    let within = |place: i64| usize::try_from(place.max(1) - 1).unwrap_or(usize::MAX);
    let (from, to) = (within(start), within(end).min(bits.len()));
    Ok(bits.get(from..to).unwrap_or_default())
}

fn overlaid(a: Arguments<'_>, length: i64) -> Answer {
    let (bits, start) = (a.text(0), a.int(2));
    if start <= 0 {
        return Err(negative());
    }
    let behind = start.saturating_add(length);
    if i32::try_from(behind).is_err() {
        return Err(SqlError::new(code::OUT_OF_RANGE, "integer out of range"));
    }
    let before = part(bits, 1, Some(start - 1))?;
    together(&[before, a.text(1), part(bits, behind, None)?])
}
