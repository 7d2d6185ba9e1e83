//! Bits of strings: the first bit is the highest of the first byte.

use super::line::{Line, PART_BYTES_MAX};
use super::strings::open;
use super::words::{Words, is};
use super::{Command, FAST, MORE, ONE_KEY, WRITE, on_data, reads};
use crate::data::{Data, Expiry, Live, State};
use crate::event_classes::{GENERIC, STRING};
use crate::failure::Failure;
use crate::number::integer;
use crate::reply::Reply;
use std::ops::Range;

pub(super) const COMMANDS: &[Command] = &[
    on_data(
        "setbit",
        4,
        WRITE | MORE,
        ONE_KEY,
        setbit,
        "Sets a bit of a string, and returns what it was",
    ),
    reads!(
        "getbit",
        3,
        FAST,
        ONE_KEY,
        getbit,
        "Returns a bit of a string"
    ),
    reads!(
        "bitcount",
        -2,
        0,
        ONE_KEY,
        bitcount,
        "Counts the bits of a string that are set"
    ),
    reads!(
        "bitpos",
        -3,
        0,
        ONE_KEY,
        bitpos,
        "Finds the first bit of a string that is set, or is not"
    ),
    on_data(
        "bitop",
        -4,
        WRITE | MORE,
        (2, -1, 1),
        bitop,
        "Makes a string of others, bit by bit",
    ),
];

const OFFSET: Failure = Failure::Told("ERR bit offset is not an integer or out of range");

/// The number of a bit in a string that may be as long as values are.
pub(super) fn offset(text: &[u8]) -> Result<u64, Failure> {
    let offset = integer(text).map_err(|_| OFFSET)?;
    in_bounds(u64::try_from(offset).map_err(|_| OFFSET)?)
}

/// The same of one that was computed.
pub(super) fn in_bounds(offset: u64) -> Result<u64, Failure> {
    match offset / 8 < PART_BYTES_MAX as u64 {
        true => Ok(offset),
        false => Err(OFFSET),
    }
}

fn bit_of(value: &[u8], offset: u64) -> u8 {
    let byte = value.get((offset / 8) as usize).copied().unwrap_or(0);
    byte >> (7 - offset % 8) & 1
}

fn setbit(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let offset = offset(line.part(2))?;
    let wrong = Failure::Told("ERR bit is not an integer or out of range");
    let bit = match integer(line.part(3)) {
        Ok(0) => 0,
        Ok(1) => 1,
        _ => return Err(wrong),
    };
    let before = open(data, line.part(1))?;
    let byte = (offset / 8) as usize;
    let there = match before {
        Some(_) => data.string_part(line.part(1), byte..byte + 1)?,
        None => Vec::new(),
    };
    let was = bit_of(&there, offset % 8);
    // A bit that has the value already is changed only if the string gets longer.
    if was != bit || there.is_empty() {
        let mask = 0x80 >> (offset % 8);
        let old = there.first().copied().unwrap_or(0);
        let new = match bit {
            0 => old & !mask,
            _ => old | mask,
        };
        data.overwrite(line.part(1), before, (byte, &[new]))?;
        data.event(STRING, "setbit", line.part(1))?;
    }
    Ok(Reply::Int(was.into()))
}

fn getbit<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let offset = offset(line.part(2))?;
    let byte = (offset / 8) as usize;
    let there = data.string_part(line.part(1), byte..byte + 1)?;
    Ok(Reply::Int(bit_of(&there, offset % 8).into()))
}

/// A part of a string, by its first and last byte or bit, which may count from the end.
#[derive(Clone, Copy)]
struct Part {
    start: i64,
    end: i64,
    of_bits: bool,
}

impl Part {
    /// Reads a start, an end and a unit, beginning at a part of the line.
    fn read(line: &Line, at: usize) -> Result<Part, Failure> {
        let mut words = Words::from(line, at);
        let start = words.integer()?;
        let end = match words.left() {
            0 => -1,
            _ => words.integer()?,
        };
        let of_bits = match words.next() {
            None => false,
            Some(word) if is(word, "byte") => false,
            Some(word) if is(word, "bit") => true,
            Some(_) => return Err(Failure::Syntax),
        };
        match words.left() {
            0 => Ok(Part {
                start,
                end,
                of_bits,
            }),
            _ => Err(Failure::Syntax),
        }
    }

    /// The numbers of its bits.
    fn bits(self, length: usize) -> Range<u64> {
        let unit = if self.of_bits { 1 } else { 8 };
        let count = (length * 8 / unit) as i64;
        if self.start < 0 && self.end < self.start || count == 0 {
            return 0..0;
        }
        let place = |at: i64| match at < 0 {
            true => at.saturating_add(count).max(0),
            false => at,
        };
        let (start, end) = (place(self.start), place(self.end).min(count - 1));
        match start > end {
            true => 0..0,
            false => start as u64 * unit as u64..(end as u64 + 1) * unit as u64,
        }
    }
}

fn bitcount<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let count = |value: &[u8], bits: Range<u64>| {
        // Bytes that are whole, and bits at either end.
        let whole = bits.start.div_ceil(8)..bits.end / 8;
        if whole.start >= whole.end {
            return bits.map(|bit| u64::from(bit_of(value, bit))).sum::<u64>();
        }
        let ends = (bits.start..whole.start * 8).chain(whole.end * 8..bits.end);
        let ends: u64 = ends.map(|bit| u64::from(bit_of(value, bit))).sum();
        let bytes = &value[whole.start as usize..whole.end as usize];
        ends + bytes
            .iter()
            .map(|byte| u64::from(byte.count_ones()))
            .sum::<u64>()
    };
    let part = match line.len() {
        2 => Ok(None),
        3 => Err(Failure::Syntax),
        _ => Part::read(line, 2).map(Some),
    };
    // If the key is missing, errors in the range are not reported.
    let counted = data.with_string(line.part(1), |_, value| {
        Ok(match part? {
            None => count(value, 0..value.len() as u64 * 8),
            Some(part) => count(value, part.bits(value.len())),
        })
    })?;
    match counted {
        Some(counted) => counted.map(Reply::count),
        None => Ok(Reply::Int(0)),
    }
}

fn bitpos<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let bit = match integer(line.part(2))? {
        0 => 0,
        1 => 1,
        _ => return Err(Failure::Told("ERR The bit argument must be 1 or 0.")),
    };
    let has_end = line.len() > 4;
    let part = match line.len() {
        3 => None,
        _ => Some(Part::read(line, 3)),
    };
    let found = data.with_string(line.part(1), |_, value| {
        let bits = match part {
            None => 0..value.len() as u64 * 8,
            Some(part) => part?.bits(value.len()),
        };
        let is_empty = bits.is_empty();
        Ok(match first(value, bits, bit) {
            Some(found) => found as i64,
            // Behind a string are zeroes without end, unless an end is asked for.
            None if bit == 0 && !has_end && !is_empty => value.len() as i64 * 8,
            None => -1,
        })
    })?;
    match found {
        Some(found) => found.map(Reply::Int),
        None => Ok(Reply::Int(if bit == 1 { -1 } else { 0 })),
    }
}

/// The first of these bits that is set, or is not.
fn first(value: &[u8], bits: Range<u64>, bit: u8) -> Option<u64> {
    // A byte of this value has no such bit: it is skipped.
    let other = if bit == 1 { 0 } else { 0xff };
    let mut at = bits.start;
    while at < bits.end {
        if at.is_multiple_of(8) && value[(at / 8) as usize] == other {
            at += 8;
        } else if bit_of(value, at) == bit {
            return Some(at);
        } else {
            at += 1;
        }
    }
    None
}

fn bitop(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let word = line.part(1);
    let operation: fn(u8, u8) -> u8 = match word {
        word if is(word, "and") => |one, other| one & other,
        word if is(word, "or") => |one, other| one | other,
        word if is(word, "xor") => |one, other| one ^ other,
        word if is(word, "not") => |one, _| !one,
        _ => return Err(Failure::Syntax),
    };
    if is(word, "not") && line.len() != 4 {
        return Err(Failure::Told(
            "ERR BITOP NOT must be called with a single source key.",
        ));
    }
    let (to, mut result) = (line.part(2), Vec::new());
    for (place, key) in line.parts(3).enumerate() {
        let value = data.string(key)?.unwrap_or_default();
        if place == 0 {
            result = value;
            continue;
        }
        result.resize(result.len().max(value.len()), 0);
        let others = value.iter().chain(std::iter::repeat(&0));
        for (byte, other) in result.iter_mut().zip(others) {
            *byte = operation(*byte, *other);
        }
    }
    if is(word, "not") {
        result.iter_mut().for_each(|byte| *byte = !*byte);
    }
    let before = data.entry_to_change(to)?;
    match (result.is_empty(), before) {
        (true, Some(before)) => {
            data.remove(to, &before)?;
            data.event(GENERIC, "del", to)?;
        }
        (true, None) => {}
        (false, before) => {
            data.set_string(to, before, &result, Expiry::Never)?;
            data.event(STRING, "set", to)?;
        }
    }
    Ok(Reply::count(result.len()))
}
