//! Rows into a file, one by one.

use crate::csv::write_field;
use crate::json::value_to_json;
use crate::{Format, InterchangeError};
use sardonyx_table::schema::{Schema, ValueRef};
use std::fmt::Write as _;
use std::io::Write;

/// A file of rows, being written.
#[derive(Debug)]
pub struct Writer<W> {
    sink: W,
    format: Format,
    /// The columns' numbers; of JSON, their names as texts of it, too.
    columns: Vec<(usize, String)>,
    text: String,
}

impl<W: Write> Writer<W> {
    /// Begins to write these columns of a table; of CSV, the header.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn new(
        format: Format,
        mut sink: W,
        schema: &Schema,
        columns: &[usize],
    ) -> Result<Self, InterchangeError> {
        let mut named = Vec::new();
        for (place, &number) in columns.iter().enumerate() {
            let name = schema.columns.get(number).map_or("", |column| &column.name);
            if format == Format::Csv {
                sink.write_all(if place == 0 { b"" } else { b"," })?;
                write_field(&mut sink, name)?;
            }
            named.push((number, serde_json::Value::from(name).to_string()));
        }
        if format == Format::Csv {
            sink.write_all(b"\n")?;
        }
        Ok(Writer {
            sink,
            format,
            columns: named,
            text: String::new(),
        })
    }

    /// Writes a row, whose values `values` gives by the columns' numbers.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn row<'a>(
        &mut self,
        values: impl Fn(usize) -> ValueRef<'a>,
    ) -> Result<(), InterchangeError> {
        let Writer {
            sink,
            format,
            columns,
            text,
        } = self;
        for (place, (number, name)) in columns.iter().enumerate() {
            let value = values(*number);
            if *format == Format::JsonLines {
                sink.write_all(if place == 0 { b"{" } else { b"," })?;
                sink.write_all(name.as_bytes())?;
                sink.write_all(b":")?;
                serde_json::to_writer(&mut *sink, &value_to_json(value))
                    .map_err(std::io::Error::from)?;
                continue;
            }
            sink.write_all(if place == 0 { b"" } else { b"," })?;
            match value {
                ValueRef::Null => {}
                ValueRef::Text(text) => write_field(sink, text)?,
                other => {
                    text.clear();
                    // Writing into a text does not fail.
                    let _ = write!(text, "{other}");
                    write_field(sink, text)?;
                }
            }
        }
        let end: &[u8] = match (format, columns.is_empty()) {
            (Format::Csv, _) => b"\n",
            (Format::JsonLines, true) => b"{}\n",
            (Format::JsonLines, false) => b"}\n",
        };
        Ok(sink.write_all(end)?)
    }

    /// Writes out what is buffered, and gives the sink back.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self) -> Result<W, InterchangeError> {
        self.sink.flush()?;
        Ok(self.sink)
    }
}
