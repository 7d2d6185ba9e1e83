//! Rows into a file, one by one.

use crate::columnar::ColumnarWriter;
use crate::csv::write_field;
use crate::json::write_json;
use crate::{Format, InterchangeError};
use sardonyx_rows::schema::{Schema, ValueRef};
use std::fmt::Write as _;
use std::io::Write;

/// A file of rows, being written.
#[derive(Debug)]
pub struct Writer<W: Write + Send>(Formats<W>);

#[derive(Debug)]
enum Formats<W: Write + Send> {
    Lines(LineWriter<W>),
    Columnar(Box<ColumnarWriter<W>>),
}

/// A file of lines, being written.
#[derive(Debug)]
struct LineWriter<W> {
    sink: W,
    /// The separator of fields; `None` of JSON.
    delimiter: Option<u8>,
    /// The columns' numbers; of JSON, their names as texts of it, too.
    columns: Vec<(usize, String)>,
    text: String,
}

impl<W: Write + Send> Writer<W> {
    /// Begins to write these columns of a table; of CSV the header, of Parquet and Arrow the schema.
    ///
    /// # Errors
    /// If it cannot be written.
    ///
    /// # Panics
    /// If the table has no columns of these numbers.
    pub fn new(
        format: Format,
        sink: W,
        schema: &Schema,
        columns: &[usize],
    ) -> Result<Self, InterchangeError> {
        Ok(Writer(match format {
            Format::Csv | Format::Tsv | Format::JsonLines => {
                Formats::Lines(LineWriter::new(format, sink, schema, columns)?)
            }
            _ => {
                let writer = ColumnarWriter::new(format, sink, schema, columns)?;
                Formats::Columnar(Box::new(writer))
            }
        }))
    }

    /// Writes a row, whose values `values` gives by the columns' numbers.
    ///
    /// # Errors
    /// If it cannot be written; after that, nothing can.
    pub fn row<'a>(
        &mut self,
        values: impl Fn(usize) -> ValueRef<'a>,
    ) -> Result<(), InterchangeError> {
        match &mut self.0 {
            Formats::Lines(writer) => writer.row(values),
            Formats::Columnar(writer) => writer.row(values),
        }
    }

    /// Writes the buffered rest and the file's end, and returns the sink.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(self) -> Result<W, InterchangeError> {
        let mut sink = match self.0 {
            Formats::Lines(writer) => writer.sink,
            Formats::Columnar(writer) => writer.finish()?,
        };
        sink.flush()?;
        Ok(sink)
    }
}

impl<W: Write> LineWriter<W> {
    fn new(
        format: Format,
        mut sink: W,
        schema: &Schema,
        columns: &[usize],
    ) -> Result<Self, InterchangeError> {
        let delimiter = match format {
            Format::JsonLines => None,
            _ => Some(format.delimiter().unwrap_or(b',')),
        };
        let mut named = Vec::new();
        for (place, &number) in columns.iter().enumerate() {
            let name = &*schema.columns[number].name;
            if let Some(delimiter) = delimiter {
                separate(&mut sink, place, delimiter)?;
                write_field(&mut sink, name, delimiter)?;
            }
            named.push((number, serde_json::Value::from(name).to_string()));
        }
        if delimiter.is_some() {
            sink.write_all(b"\n")?;
        }
        Ok(LineWriter {
            sink,
            delimiter,
            columns: named,
            text: String::new(),
        })
    }

    fn row<'a>(&mut self, values: impl Fn(usize) -> ValueRef<'a>) -> Result<(), InterchangeError> {
        let LineWriter {
            sink,
            delimiter,
            columns,
            text,
        } = self;
        for (place, (number, name)) in columns.iter().enumerate() {
            let value = values(*number);
            let Some(delimiter) = *delimiter else {
                sink.write_all(if place == 0 { b"{" } else { b"," })?;
                sink.write_all(name.as_bytes())?;
                sink.write_all(b":")?;
                write_json(sink, value)?;
                continue;
            };
            separate(sink, place, delimiter)?;
            match value {
                ValueRef::Null => {}
                ValueRef::Text(text) => write_field(sink, text, delimiter)?,
                other => {
                    text.clear();
                    if matches!(other, ValueRef::Bytes(_)) {
                        text.push_str("\\x");
                    }
                    // Writing into a text does not fail.
                    let _ = write!(text, "{other}");
                    write_field(sink, text, delimiter)?;
                }
            }
        }
        let end: &[u8] = match (delimiter, columns.is_empty()) {
            (None, true) => b"{}\n",
            (None, false) => b"}\n",
            (Some(_), _) => b"\n",
        };
        Ok(sink.write_all(end)?)
    }
}

/// Writes the separator before a field.
fn separate(sink: &mut impl Write, place: usize, delimiter: u8) -> std::io::Result<()> {
    match place {
        0 => Ok(()),
        _ => sink.write_all(&[delimiter]),
    }
}
