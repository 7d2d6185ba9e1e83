//! CSV with a header: its fields as values of a table's columns.

use crate::batch::Batch;
use crate::columns::{Columns, column_of};
use crate::error::Place;
use crate::records::{Record, Records};
use crate::{BadRow, InterchangeError};
use sardonyx_rows::schema::ValueRef;
use std::fmt;
use std::io::{self, BufRead, Write};

/// The separators of fields other than commas, in files that are called CSV.
const OTHER_DELIMITERS: [u8; 3] = [b';', b'\t', b'|'];

/// A file of CSV, being read.
pub(crate) struct CsvReader {
    records: Records<Box<dyn BufRead + Send>>,
    table: Columns,
    /// The columns of the fields.
    columns: Vec<usize>,
}

impl fmt::Debug for CsvReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("CsvReader");
        f.field("columns", &self.columns)
            .field("lines", &self.records.lines.count);
        f.finish_non_exhaustive()
    }
}

impl CsvReader {
    /// Begins to read: the header, whose names are columns of the table.
    pub fn new(
        source: Box<dyn BufRead + Send>,
        table: Columns,
        delimiter: Option<u8>,
    ) -> Result<Self, InterchangeError> {
        let mut records = Records::new(source, delimiter.unwrap_or(b','));
        let mut columns = Vec::new();
        for name in read_header(&mut records, delimiter.is_none())? {
            columns.push(column_of(&table.schema, &name, &columns)?);
        }
        Ok(CsvReader {
            records,
            table,
            columns,
        })
    }

    /// Adds a row, good or bad. Returns true if there was one.
    pub fn read(&mut self, batch: &mut Batch) -> Result<bool, InterchangeError> {
        loop {
            let record = self.records.next()?;
            batch.position = self.records.lines.bytes;
            let Some((line, record)) = record else {
                return Ok(false);
            };
            let place = Place::Line(line);
            let row = match record {
                Record::Fields(count) => self.row(count, batch),
                // In a file of one column that may be null it is a row.
                Record::Blank => match *self.columns {
                    [number] if self.table.schema.columns[number].is_nullable() => {
                        batch.push(number, ValueRef::Null);
                        Ok(())
                    }
                    _ => continue,
                },
                Record::Malformed(reason) => Err((None, reason.to_string())),
            };
            match row {
                Ok(()) => batch.end_row(place),
                Err((column, reason)) => batch.end_bad_row(BadRow {
                    place,
                    column,
                    reason,
                }),
            }
            return Ok(true);
        }
    }

    /// Adds the record's values; or returns the column with a wrong value, and the reason.
    fn row(&self, count: usize, batch: &mut Batch) -> Result<(), (Option<String>, String)> {
        let wanted = self.columns.len();
        if count != wanted {
            let missing = self.columns.get(count);
            let missing = missing.map(|number| self.table.schema.columns[*number].name.clone());
            let reason = match &missing {
                Some(_) => "no field for it: ",
                None => "",
            };
            return Err((
                missing,
                format!("{reason}{count} fields, where the header has {wanted}"),
            ));
        }
        for (field, &number) in self.records.fields.iter().zip(&self.columns) {
            if field.text.is_empty() && !field.quoted {
                batch.push(number, ValueRef::Null);
                continue;
            }
            let value = (self.table.texts)(number, &field.text);
            let column = &self.table.schema.columns[number];
            let value = value.map_err(|reason| (Some(column.name.clone()), reason))?;
            batch.push(number, value.as_ref());
        }
        Ok(())
    }
}

/// The names in a file's header. If no delimiter is given, another one than the comma is detected.
pub(crate) fn read_header<S: BufRead>(
    records: &mut Records<S>,
    finds_delimiter: bool,
) -> Result<Vec<String>, InterchangeError> {
    let wrong = |line, reason: &str| InterchangeError::Line {
        line,
        reason: reason.to_string(),
    };
    loop {
        let (line, record) = match records.next()? {
            None => return Err(wrong(1, "there is no header")),
            Some((_, Record::Blank)) => continue,
            Some(found) => found,
        };
        let is_one = match record {
            Record::Fields(count) => {
                count == 1 && records.fields.first().is_some_and(|field| !field.quoted)
            }
            _ => true,
        };
        if is_one && finds_delimiter {
            let times = |wanted: &u8| records.bytes().iter().filter(|b| *b == wanted).count();
            let most = OTHER_DELIMITERS.iter().max_by_key(|other| times(other));
            if let Some(most) = most.filter(|most| times(most) > 0) {
                let seems = char::from(*most);
                return Err(InterchangeError::Delimiter { line, seems });
            }
        }
        let count = match record {
            Record::Fields(count) => count,
            Record::Malformed(reason) => return Err(wrong(line, reason)),
            Record::Blank => continue,
        };
        let fields = records.fields.iter().take(count);
        let names: Vec<String> = fields.map(|field| field.text.clone()).collect();
        return match names.iter().position(String::is_empty) {
            Some(at) => Err(wrong(
                line,
                &format!("field {} of the header has no name", at + 1),
            )),
            None => Ok(names),
        };
    }
}

/// Writes a field that is a value; a null writes nothing.
pub(crate) fn write_field(sink: &mut impl Write, text: &str, delimiter: u8) -> io::Result<()> {
    let plain = |byte: u8| !matches!(byte, b'"' | b'\n' | b'\r') && byte != delimiter;
    let is_blank = text.bytes().all(|byte| byte == b' ');
    if !is_blank && text.bytes().all(plain) && !text.starts_with('\u{feff}') {
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
