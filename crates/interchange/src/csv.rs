//! Lines of CSV as RFC 4180 says, split into fields that know whether they were quoted: that tells an empty
//! text from a null.

use crate::LINE_BYTES_MAX;
use std::io::{self, BufRead, Write};

/// A field of a record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Field {
    pub text: String,
    pub quoted: bool,
}

/// Why a record is none.
pub(crate) enum Unfit {
    Io(io::Error),
    Wrong(&'static str),
}

/// Reads a record into `fields`, which are used again; `None` at the end. `line` counts lines.
pub(crate) fn read_record(
    source: &mut impl BufRead,
    buffer: &mut Vec<u8>,
    fields: &mut Vec<Field>,
    line: &mut u64,
) -> Option<Result<usize, Unfit>> {
    buffer.clear();
    let mut quotes = 0;
    loop {
        let from = buffer.len();
        match source.read_until(b'\n', buffer) {
            Err(error) => return Some(Err(Unfit::Io(error))),
            Ok(0) if buffer.is_empty() => return None,
            Ok(0) => break,
            Ok(_) => *line += 1,
        }
        quotes += buffer
            .iter()
            .skip(from)
            .filter(|byte| **byte == b'"')
            .count();
        if buffer.len() > LINE_BYTES_MAX {
            return Some(Err(Unfit::Wrong(
                "the record is longer than records may be, or a quote is missing",
            )));
        }
        if quotes % 2 == 0 {
            break;
        }
    }
    if quotes % 2 == 1 {
        return Some(Err(Unfit::Wrong("a closing quote is missing")));
    }
    let Ok(text) = std::str::from_utf8(buffer) else {
        return Some(Err(Unfit::Wrong("it is not UTF-8")));
    };
    let text = text.strip_suffix('\n').unwrap_or(text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    Some(split(text, fields).map_err(Unfit::Wrong))
}

/// Splits a record; how many fields it has.
fn split(record: &str, fields: &mut Vec<Field>) -> Result<usize, &'static str> {
    let (mut rest, mut count) = (record, 0);
    loop {
        if count == fields.len() {
            fields.push(Field {
                text: String::new(),
                quoted: false,
            });
        }
        let Some(field) = fields.get_mut(count) else {
            return Ok(count);
        };
        count += 1;
        field.text.clear();
        field.quoted = rest.starts_with('"');
        if field.quoted {
            rest = rest.strip_prefix('"').unwrap_or_default();
            loop {
                let (part, after) = rest.split_once('"').ok_or("a closing quote is missing")?;
                field.text.push_str(part);
                match after.strip_prefix('"') {
                    Some(after) => {
                        field.text.push('"');
                        rest = after;
                    }
                    None => {
                        rest = after;
                        break;
                    }
                }
            }
            match rest.strip_prefix(',') {
                Some(after) => rest = after,
                None if rest.is_empty() => return Ok(count),
                None => return Err("something stands between a closing quote and the next comma"),
            }
            continue;
        }
        match rest.split_once(',') {
            Some((text, after)) => {
                field.text.push_str(text);
                rest = after;
            }
            None => {
                field.text.push_str(rest);
                return Ok(count);
            }
        }
    }
}

/// Writes a field that is a value; a null writes nothing.
pub(crate) fn write_field(sink: &mut impl Write, text: &str) -> io::Result<()> {
    let plain = |byte: u8| !matches!(byte, b'"' | b',' | b'\n' | b'\r');
    if !text.is_empty() && text.bytes().all(plain) {
        return sink.write_all(text.as_bytes());
    }
    sink.write_all(b"\"")?;
    for (number, part) in text.split('"').enumerate() {
        if number > 0 {
            sink.write_all(b"\"\"")?;
        }
        sink.write_all(part.as_bytes())?;
    }
    sink.write_all(b"\"")
}
