//! Integers of any width inside strings: `BITFIELD`.
//!
//! All operations are read before the first one is done, so that one that is wrong leaves nothing behind.

use super::bits::{in_bounds, offset};
use super::line::{Line, PART_BYTES_MAX};
use super::strings::open;
use super::words::{Words, is};
use super::{Command, FAST, MORE, ONE_KEY, WRITE, on_data, reads};
use crate::data::{Data, Live, State};
use crate::event_classes::STRING;
use crate::failure::Failure;
use crate::reply::Reply;
use std::ops::Range;

pub(super) const COMMANDS: &[Command] = &[
    on_data(
        "bitfield",
        -2,
        WRITE | MORE,
        ONE_KEY,
        bitfield,
        "Reads and changes integers inside a string",
    ),
    reads!(
        "bitfield_ro",
        -2,
        FAST,
        ONE_KEY,
        bitfield_ro,
        "Reads integers inside a string"
    ),
];

/// The handling of an integer that does not fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Overflow {
    /// Its lowest bits.
    Wrap,
    /// The one that is next to it.
    Saturate,
    /// It stays as it was.
    Fail,
}

/// The kind of an integer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Width {
    is_signed: bool,
    bits: u32,
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Get,
    Set(i64),
    Add(i64),
}

#[derive(Clone, Copy, Debug)]
struct Operation {
    act: Act,
    width: Width,
    offset: u64,
    overflow: Overflow,
}

impl Width {
    fn read(word: &[u8]) -> Result<Width, Failure> {
        let wrong = Failure::Told(
            "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.",
        );
        let (is_signed, digits) = match word.split_first() {
            Some((b'i', digits)) => (true, digits),
            Some((b'u', digits)) => (false, digits),
            _ => return Err(wrong),
        };
        let most = if is_signed { 64 } else { 63 };
        let bits = crate::number::parse_integer(digits).filter(|bits| (1..=most).contains(bits));
        match bits {
            Some(bits) => Ok(Width {
                is_signed,
                bits: bits as u32,
            }),
            None => Err(wrong),
        }
    }

    /// The least and the greatest one.
    fn range(self) -> (i128, i128) {
        match self.is_signed {
            true => (-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1),
            false => (0, (1 << self.bits) - 1),
        }
    }

    /// The lowest bits of a number as one of these.
    fn wrapped(self, number: i128) -> i128 {
        let low = number & ((1 << self.bits) - 1);
        match self.is_signed && low >> (self.bits - 1) == 1 {
            true => low - (1 << self.bits),
            false => low,
        }
    }

    fn get(self, value: &[u8], offset: u64) -> i128 {
        let bits = offset..offset + u64::from(self.bits);
        let number = bits.fold(0, |number, at| {
            let byte = value.get((at / 8) as usize).copied().unwrap_or(0);
            number << 1 | i128::from(byte >> (7 - at % 8) & 1)
        });
        self.wrapped(number)
    }

    fn set(self, value: &mut [u8], offset: u64, number: i128) {
        for place in 0..self.bits {
            let at = offset + u64::from(place);
            let mask = 0x80 >> (at % 8);
            let byte = &mut value[(at / 8) as usize];
            match number >> (self.bits - 1 - place) & 1 {
                0 => *byte &= !mask,
                _ => *byte |= mask,
            }
        }
    }
}

fn operations(line: &Line) -> Result<Vec<Operation>, Failure> {
    let mut words = Words::from(line, 2);
    let (mut operations, mut overflow) = (Vec::new(), Overflow::Wrap);
    while let Some(word) = words.next() {
        if is(word, "overflow") && words.left() >= 1 {
            overflow = match words.wanted()? {
                word if is(word, "wrap") => Overflow::Wrap,
                word if is(word, "sat") => Overflow::Saturate,
                word if is(word, "fail") => Overflow::Fail,
                _ => return Err(Failure::Told("ERR Invalid OVERFLOW type specified")),
            };
            continue;
        }
        let (is_get, is_set) = (is(word, "get"), is(word, "set"));
        let needed = if is_get { 2 } else { 3 };
        if !(is_get || is_set || is(word, "incrby")) || words.left() < needed {
            return Err(Failure::Syntax);
        }
        let width = Width::read(words.wanted()?)?;
        let offset = match words.wanted()? {
            [b'#', number @ ..] => {
                in_bounds(offset(number)?.saturating_mul(u64::from(width.bits)))?
            }
            number => offset(number)?,
        };
        let act = match (is_get, is_set) {
            (true, _) => Act::Get,
            (_, true) => Act::Set(words.integer()?),
            _ => Act::Add(words.integer()?),
        };
        operations.push(Operation {
            act,
            width,
            offset,
            overflow,
        });
    }
    Ok(operations)
}

impl Operation {
    /// The number after the operation; `None` if it does not fit and the operation fails on overflow.
    fn changed(self, was: i128) -> Option<i128> {
        let (least, greatest) = self.width.range();
        let number = match self.act {
            Act::Get => return Some(was),
            Act::Set(number) if self.width.is_signed => number.into(),
            // As a number without a sign it is a large one.
            Act::Set(number) => (number as u64).into(),
            Act::Add(number) => was + i128::from(number),
        };
        match ((least..=greatest).contains(&number), self.overflow) {
            (true, _) => Some(number),
            (false, Overflow::Wrap) => Some(self.width.wrapped(number)),
            (false, Overflow::Saturate) => Some(number.clamp(least, greatest)),
            (false, Overflow::Fail) => None,
        }
    }

    /// The length in bytes of the shortest string that has all of its bits.
    fn end(self) -> usize {
        (self.offset + u64::from(self.width.bits)).div_ceil(8) as usize
    }
}

/// The bytes in which operations are, from the first one to the last one.
fn span(operations: &[Operation]) -> Range<usize> {
    let start = operations.iter().map(|one| one.offset / 8).min();
    let end = operations.iter().map(|one| one.end()).max();
    start.unwrap_or(0) as usize..end.unwrap_or(0)
}

fn bitfield(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let operations = operations(line)?;
    let writing = operations.iter().filter(|one| !matches!(one.act, Act::Get));
    let Some(end) = writing.map(|one| one.end()).max() else {
        return read(data, line, &operations);
    };
    if end > PART_BYTES_MAX {
        return Err(Failure::Told(
            "ERR bit offset is not an integer or out of range",
        ));
    }
    let before = open(data, line.part(1))?;
    let is_longer = before.is_none_or(|(_, length)| length < end);
    let span = span(&operations);
    let mut part = match before {
        Some(_) => data.string_part(line.part(1), span.clone())?,
        None => Vec::new(),
    };
    part.resize(part.len().max(end - span.start), 0);
    let first = span.start as u64 * 8;
    let (mut replies, mut is_changed) = (Vec::with_capacity(operations.len()), false);
    for one in &operations {
        let was = one.width.get(&part, one.offset - first);
        let Some(number) = one.changed(was) else {
            replies.push(Reply::Null);
            continue;
        };
        if !matches!(one.act, Act::Get) {
            one.width.set(&mut part, one.offset - first, number);
            is_changed |= is_longer || number != was;
        }
        let told = if matches!(one.act, Act::Set(_)) {
            was
        } else {
            number
        };
        replies.push(Reply::Int(told as i64));
    }
    // It gets longer also if no integer fits, but only a change is reported.
    if is_longer || is_changed {
        let written = &part[..end - span.start];
        data.overwrite(line.part(1), before, (span.start, written))?;
    }
    if is_changed {
        data.event(STRING, "setbit", line.part(1))?;
    }
    Ok(Reply::Array(replies))
}

fn bitfield_ro<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let operations = operations(line)?;
    match operations.iter().all(|one| matches!(one.act, Act::Get)) {
        true => read(data, line, &operations),
        false => Err(Failure::Told(
            "ERR BITFIELD_RO only supports the GET subcommand",
        )),
    }
}

fn read<S: State>(
    data: &mut Data<'_, S>,
    line: &Line,
    operations: &[Operation],
) -> Result<Reply, Failure> {
    let span = span(operations);
    let first = span.start as u64 * 8;
    let part = data.string_part(line.part(1), span)?;
    let numbers = operations.iter().map(|one| {
        let number = one.width.get(&part, one.offset - first);
        Reply::Int(number as i64)
    });
    Ok(Reply::Array(numbers.collect()))
}
