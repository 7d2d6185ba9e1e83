//! Rows out of a file, by the batch: each is values by the columns' numbers, or is a bad one.

use crate::batch::Batch;
use crate::columnar::ColumnarReader;
use crate::csv::CsvReader;
use crate::json::JsonReader;
use crate::source::Source;
use crate::{Format, InterchangeError};
use sardonyx_table::schema::Schema;
use std::sync::Arc;

/// A file of rows, being read.
#[derive(Debug)]
pub struct Reader(Formats);

#[derive(Debug)]
enum Formats {
    Csv(CsvReader),
    JsonLines(JsonReader),
    Columnar(ColumnarReader),
}

impl Reader {
    /// Begins to read: of CSV the header, of Parquet and Arrow the schema.
    ///
    /// # Errors
    /// If it cannot be read, or what it says of its columns does not fit the table.
    pub fn new(
        format: Format,
        source: Source,
        schema: Arc<Schema>,
    ) -> Result<Self, InterchangeError> {
        Ok(Reader(match format {
            Format::Csv => Formats::Csv(CsvReader::new(source.into_stream(), schema)?),
            Format::JsonLines => Formats::JsonLines(JsonReader::new(source.into_stream(), schema)),
            _ => Formats::Columnar(ColumnarReader::new(format, source, schema)?),
        }))
    }

    /// Reads the next rows into an emptied batch: so many, or fewer at the end and where they are long. Returns
    /// whether there were some, good or bad.
    ///
    /// # Errors
    /// If the file cannot be read further: after that there are no rows. What is no row of the table is in the batch as a bad one.
    pub fn read(&mut self, batch: &mut Batch, rows: usize) -> Result<bool, InterchangeError> {
        batch.clear();
        while !batch.is_full(rows) {
            let is_more = match &mut self.0 {
                Formats::Csv(reader) => reader.read(batch)?,
                Formats::JsonLines(reader) => reader.read(batch)?,
                Formats::Columnar(reader) => reader.fill(batch, rows)?,
            };
            if !is_more {
                break;
            }
        }
        Ok(!batch.is_empty() || !batch.bad.is_empty())
    }
}
