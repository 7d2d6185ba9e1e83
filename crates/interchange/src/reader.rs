//! Rows out of a file, one by one: each is values by the columns' numbers, or a line that is none.

use crate::csv::{Field, Unfit, read_record};
use crate::json::json_to_value;
use crate::{BadLine, Format, InterchangeError, LINE_BYTES_MAX};
use sardonyx_table::schema::{Schema, Type, Value};
use sardonyx_table::value_text::parse_value;
use std::io::{BufRead, Read};

/// Values by the numbers of columns, of those that the line says.
pub type ParsedRow = Vec<(usize, Value)>;

/// A file of rows, being read.
#[derive(Debug)]
pub struct Reader<'s, R> {
    source: R,
    format: Format,
    schema: &'s Schema,
    /// Of CSV: the columns of the fields.
    columns: Vec<usize>,
    buffer: Vec<u8>,
    fields: Vec<Field>,
    /// Lines that were read.
    lines: u64,
    bytes: u64,
}

impl<'s, R: BufRead> Reader<'s, R> {
    /// Begins to read; of CSV, the header.
    ///
    /// # Errors
    /// If it cannot be read, or the header does not fit the table.
    pub fn new(format: Format, source: R, schema: &'s Schema) -> Result<Self, InterchangeError> {
        let mut reader = Reader {
            source,
            format,
            schema,
            columns: Vec::new(),
            buffer: Vec::new(),
            fields: Vec::new(),
            lines: 0,
            bytes: 0,
        };
        if format == Format::Csv {
            for column in reader.header()? {
                let number = schema.column(&column);
                let number = number.ok_or(InterchangeError::UnknownColumn {
                    column: column.clone(),
                })?;
                if reader.columns.contains(&number) {
                    return Err(InterchangeError::ColumnTwice { column });
                }
                reader.columns.push(number);
            }
        }
        Ok(reader)
    }

    /// Bytes that were read.
    pub fn bytes_read(&self) -> u64 {
        self.bytes
    }

    fn header(&mut self) -> Result<Vec<String>, InterchangeError> {
        let header = |reason: &str| InterchangeError::Header {
            line: 1,
            reason: reason.to_string(),
        };
        let record = read_record(
            &mut self.source,
            &mut self.buffer,
            &mut self.fields,
            &mut self.lines,
        );
        let count = match record {
            None => return Err(header("there is no header")),
            Some(Err(Unfit::Io(error))) => return Err(error.into()),
            Some(Err(Unfit::Wrong(reason))) => return Err(header(reason)),
            Some(Ok(count)) => count,
        };
        self.bytes += self.buffer.len() as u64;
        let fields = self.fields.iter().take(count).enumerate();
        // Some programs begin a file with a mark of its byte order.
        let names = fields.map(|(number, field)| match number {
            0 => field.text.trim_start_matches('\u{feff}').to_string(),
            _ => field.text.clone(),
        });
        Ok(names.collect())
    }

    /// The next row with its line's number; `None` at the end.
    ///
    /// # Errors
    /// If it cannot be read. A line that is no row is the [`BadLine`] inside.
    #[expect(
        clippy::type_complexity,
        reason = "an end, an error, a bad line or a row"
    )]
    pub fn next_row(
        &mut self,
    ) -> Result<Option<Result<(u64, ParsedRow), BadLine>>, InterchangeError> {
        match self.format {
            Format::Csv => self.next_record(),
            Format::JsonLines => self.next_object(),
        }
    }

    #[expect(clippy::type_complexity, reason = "as above")]
    fn next_record(
        &mut self,
    ) -> Result<Option<Result<(u64, ParsedRow), BadLine>>, InterchangeError> {
        let line = self.lines + 1;
        let bad = |reason: String| BadLine {
            line,
            column: None,
            reason,
        };
        let record = read_record(
            &mut self.source,
            &mut self.buffer,
            &mut self.fields,
            &mut self.lines,
        );
        self.bytes += self.buffer.len() as u64;
        let count = match record {
            None => return Ok(None),
            Some(Err(Unfit::Io(error))) => return Err(error.into()),
            Some(Err(Unfit::Wrong(reason))) => return Ok(Some(Err(bad(reason.to_string())))),
            Some(Ok(count)) => count,
        };
        if count != self.columns.len() {
            let wanted = self.columns.len();
            return Ok(Some(Err(bad(format!(
                "{count} fields, where the header has {wanted}"
            )))));
        }
        let mut row = Vec::with_capacity(count);
        for (field, &number) in self.fields.iter_mut().zip(&self.columns) {
            let column = &self.schema.columns[number];
            let value = if field.text.is_empty()
                && !field.quoted
                && (column.is_nullable() || column.kind != Type::Text)
            {
                Ok(Value::Null)
            } else if column.kind == Type::Text {
                Ok(Value::Text(std::mem::take(&mut field.text)))
            } else {
                parse_value(&field.text, column.kind)
            };
            match value {
                Ok(value) => row.push((number, value)),
                Err(error) => {
                    return Ok(Some(Err(BadLine {
                        line,
                        column: Some(column.name.clone()),
                        reason: format!("{:?} is {error}", field.text),
                    })));
                }
            }
        }
        Ok(Some(Ok((line, row))))
    }

    #[expect(clippy::type_complexity, reason = "as above")]
    fn next_object(
        &mut self,
    ) -> Result<Option<Result<(u64, ParsedRow), BadLine>>, InterchangeError> {
        loop {
            self.buffer.clear();
            let mut limited = (&mut self.source).take(LINE_BYTES_MAX as u64 + 1);
            if limited.read_until(b'\n', &mut self.buffer)? == 0 {
                return Ok(None);
            }
            self.lines += 1;
            self.bytes += self.buffer.len() as u64;
            let line = self.lines;
            let bad = |column: Option<String>, reason: String| {
                Ok(Some(Err(BadLine {
                    line,
                    column,
                    reason,
                })))
            };
            if self.buffer.len() > LINE_BYTES_MAX {
                let reason = "the line is longer than lines may be";
                return Err(InterchangeError::Header {
                    line,
                    reason: reason.to_string(),
                });
            }
            if self.buffer.trim_ascii().is_empty() {
                continue;
            }
            let object: serde_json::Map<String, serde_json::Value> =
                match serde_json::from_slice(&self.buffer) {
                    Ok(object) => object,
                    Err(error) => return bad(None, format!("no JSON object: {error}")),
                };
            let mut row = Vec::with_capacity(object.len());
            for (name, json) in object {
                let Some(number) = self.schema.column(&name) else {
                    return bad(Some(name), "the table has no such column".to_string());
                };
                match json_to_value(json, self.schema.columns[number].kind) {
                    Ok(value) => row.push((number, value)),
                    Err(reason) => return bad(Some(name), reason),
                }
            }
            return Ok(Some(Ok((line, row))));
        }
    }
}
