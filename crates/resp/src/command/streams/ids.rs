//! Ids of entries as clients write them: `ms-seq`, `ms` alone, and `-` and `+` for the first and the last that there can be.

use crate::data::EntryId;
use crate::failure::Failure;

const INVALID: Failure =
    Failure::Told("ERR Invalid stream ID specified as stream command argument");

/// The longest text that is read as an id.
const TEXT_BYTES_MAX: usize = 127;

/// The id that `XADD` is to give an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wanted {
    /// `*`: of this time.
    Any,
    /// `ms-*`: of that time.
    Of(u64),
    This(EntryId),
}

/// A whole number, as C's library reads it.
fn number(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii_start();
    let digits = text.strip_prefix(b"+").unwrap_or(text);
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let digits = std::str::from_utf8(digits).ok().filter(|_| is_number)?;
    digits.parse().ok()
}

/// The time and the text of the number behind it, if there is one.
fn parts(text: &[u8]) -> Result<(u64, Option<&[u8]>), Failure> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(INVALID);
    }
    let dash = text.iter().position(|byte| *byte == b'-');
    let ms = number(&text[..dash.unwrap_or(text.len())]).ok_or(INVALID)?;
    Ok((ms, dash.map(|dash| &text[dash + 1..])))
}

/// An id that is written whole, or without its number, which is this one then.
fn of(text: &[u8], missing: u64) -> Result<EntryId, Failure> {
    let (ms, seq) = parts(text)?;
    let seq = match seq {
        Some(seq) => number(seq).ok_or(INVALID)?,
        None => missing,
    };
    Ok(EntryId { ms, seq })
}

/// An id, without its number the first of its time.
pub(super) fn strict(text: &[u8]) -> Result<EntryId, Failure> {
    of(text, 0)
}

/// The same, or `-` or `+`.
pub(super) fn loose(text: &[u8], missing: u64) -> Result<EntryId, Failure> {
    match text {
        b"-" => Ok(EntryId::MIN),
        b"+" => Ok(EntryId::MAX),
        text => of(text, missing),
    }
}

/// Parses the id that `XADD` is to give.
pub(super) fn wanted(text: &[u8]) -> Result<Wanted, Failure> {
    match text {
        b"*" => Ok(Wanted::Any),
        text => match parts(text)? {
            (ms, Some(b"*")) => Ok(Wanted::Of(ms)),
            _ => strict(text).map(Wanted::This),
        },
    }
}

/// The first id of a range; `(` leaves the one behind it out.
pub(super) fn start(text: &[u8]) -> Result<EntryId, Failure> {
    match text {
        [b'(', id @ ..] if !id.is_empty() => {
            let next = strict(id)?.next();
            next.ok_or(Failure::Told("ERR invalid start ID for the interval"))
        }
        id => loose(id, 0),
    }
}

/// The last id of a range.
pub(super) fn end(text: &[u8]) -> Result<EntryId, Failure> {
    match text {
        [b'(', id @ ..] if !id.is_empty() => {
            let previous = of(id, u64::MAX)?.previous();
            previous.ok_or(Failure::Told("ERR invalid end ID for the interval"))
        }
        id => loose(id, u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(ms: u64, seq: u64) -> Option<EntryId> {
        Some(EntryId { ms, seq })
    }

    #[test]
    fn ids_are_read_whole_or_in_part() {
        let last = "18446744073709551615-18446744073709551615";
        let read = |text: &str| strict(text.as_bytes()).ok();
        assert_eq!(read("5-7"), id(5, 7));
        assert_eq!(read("5"), id(5, 0));
        assert_eq!(read("007-+1"), id(7, 1));
        assert_eq!(read(last), Some(EntryId::MAX));
        let long = "0".repeat(TEXT_BYTES_MAX);
        assert_eq!(read(&long), id(0, 0));
        for wrong in [
            "",
            "-",
            "+",
            "-5",
            "5-",
            "5-x",
            "5--1",
            "x",
            "5-7-9",
            "5-*",
            "18446744073709551616",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        assert_eq!(read(&format!("0{long}")), None);
    }

    #[test]
    fn ranges_have_open_ends_and_ids_to_be_given_have_open_numbers() {
        assert_eq!(start(b"-").ok(), Some(EntryId::MIN));
        assert_eq!(start(b"(5-7").ok(), id(5, 8));
        assert_eq!(end(b"5").ok(), id(5, u64::MAX));
        assert_eq!(end(b"(5-0").ok(), id(4, u64::MAX));
        assert_eq!(end(b"(5").ok(), id(5, u64::MAX - 1));
        for wrong in [
            &b"("[..],
            b"(-",
            b"(+",
            b"(18446744073709551615-18446744073709551615",
        ] {
            assert!(start(wrong).is_err(), "{wrong:?}");
        }
        assert!(end(b"(0-0").is_err() && end(b"(x").is_err());
        assert_eq!(wanted(b"*").ok(), Some(Wanted::Any));
        assert_eq!(wanted(b"3-*").ok(), Some(Wanted::Of(3)));
        assert_eq!(wanted(b"3").ok(), id(3, 0).map(Wanted::This));
        assert!(wanted(b"x-*").is_err() && wanted(b"-").is_err());
    }
}
