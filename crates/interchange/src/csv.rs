//! Lines of CSV as RFC 4180 says, split into fields that know whether they were quoted: that tells an empty
//! text from a null.

use crate::batch::Batch;
use crate::columns::column_of;
use crate::error::Place;
use crate::{BadRow, InterchangeError, LINE_BYTES_MAX};
use sardonyx_table::schema::{Schema, Type, ValueRef};
use sardonyx_table::value_text::parse_value;
use std::fmt;
use std::io::{self, BufRead, Write};
use std::sync::Arc;

/// Some programs begin a file with a mark of its byte order.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// A file of CSV, being read.
pub(crate) struct CsvReader {
    source: Box<dyn BufRead + Send>,
    schema: Arc<Schema>,
    /// The columns of the fields.
    columns: Vec<usize>,
    buffer: Vec<u8>,
    fields: Vec<Field>,
    /// Lines that were read.
    lines: u64,
    bytes: u64,
}

impl fmt::Debug for CsvReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("CsvReader");
        f.field("columns", &self.columns)
            .field("lines", &self.lines);
        f.finish_non_exhaustive()
    }
}

impl CsvReader {
    /// Begins to read: the header, whose names are columns of the table.
    pub fn new(
        mut source: Box<dyn BufRead + Send>,
        schema: Arc<Schema>,
    ) -> Result<Self, InterchangeError> {
        let (mut buffer, mut fields, mut lines) = (Vec::new(), Vec::new(), 0);
        let mut columns = Vec::new();
        for name in read_header(&mut source, &mut buffer, &mut fields, &mut lines)? {
            columns.push(column_of(&schema, &name, &columns)?);
        }
        Ok(CsvReader {
            source,
            schema,
            columns,
            bytes: buffer.len() as u64,
            buffer,
            fields,
            lines,
        })
    }

    /// Adds a row, or what is none; whether there was one.
    pub fn read(&mut self, batch: &mut Batch) -> Result<bool, InterchangeError> {
        let place = Place::Line(self.lines + 1);
        let record = read_record(
            &mut self.source,
            &mut self.buffer,
            &mut self.fields,
            &mut self.lines,
        );
        self.bytes += self.buffer.len() as u64;
        batch.position = self.bytes;
        let bad = |reason: String| BadRow {
            place,
            column: None,
            reason,
        };
        let wanted = self.columns.len();
        match record {
            None => return Ok(false),
            Some(Err(Unfit::Io(error))) => return Err(error.into()),
            Some(Err(Unfit::Wrong(reason))) => batch.end_bad_row(bad(reason.to_string())),
            Some(Ok(count)) if count != wanted => batch.end_bad_row(bad(format!(
                "{count} fields, where the header has {wanted}"
            ))),
            Some(Ok(_)) => match self.parse(batch) {
                Ok(()) => batch.end_row(place),
                Err((column, reason)) => batch.end_bad_row(BadRow {
                    place,
                    column: Some(column),
                    reason,
                }),
            },
        }
        Ok(true)
    }

    /// Adds the record's values; or says which column's is none, and why.
    fn parse(&self, batch: &mut Batch) -> Result<(), (String, String)> {
        for (field, &number) in self.fields.iter().zip(&self.columns) {
            let column = &self.schema.columns[number];
            let text = &*field.text;
            let is_null = text.is_empty()
                && !field.quoted
                && (column.is_nullable() || column.kind != Type::Text);
            if is_null {
                batch.push(number, ValueRef::Null);
            } else if column.kind == Type::Text {
                batch.push(number, ValueRef::Text(text));
            } else {
                let value = parse_value(text, column.kind);
                let value =
                    value.map_err(|error| (column.name.clone(), format!("{text:?} is {error}")))?;
                batch.push(number, value.as_ref());
            }
        }
        Ok(())
    }
}

/// The names that a file's header says.
pub(crate) fn read_header(
    source: &mut (impl BufRead + ?Sized),
    buffer: &mut Vec<u8>,
    fields: &mut Vec<Field>,
    lines: &mut u64,
) -> Result<Vec<String>, InterchangeError> {
    let wrong = |reason| Err(InterchangeError::Line { line: 1, reason });
    let count = match read_record(source, buffer, fields, lines) {
        None => return wrong("there is no header"),
        Some(Err(Unfit::Io(error))) => return Err(error.into()),
        Some(Err(Unfit::Wrong(reason))) => return wrong(reason),
        Some(Ok(count)) => count,
    };
    let fields = fields.iter().take(count).enumerate();
    let names = fields.map(|(number, field)| match number {
        0 => field.text.trim_start_matches(BYTE_ORDER_MARK).to_string(),
        _ => field.text.clone(),
    });
    Ok(names.collect())
}

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
    source: &mut (impl BufRead + ?Sized),
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
