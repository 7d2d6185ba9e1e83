//! Rows out of a file, by the batch: each is values by the columns' numbers, or is a bad one.

use crate::batch::Batch;
use crate::columnar::ColumnarReader;
use crate::columns::Columns;
use crate::csv::CsvReader;
use crate::json::JsonReader;
use crate::source::Source;
use crate::{Format, InterchangeError};

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
    /// Begins to read: of CSV the header, of Parquet and Arrow the schema. Without a delimiter CSV's is the comma, and a
    /// header that seems to have another one is refused.
    ///
    /// # Errors
    /// If it cannot be read, or its description of its columns does not fit the table.
    pub fn new(
        format: Format,
        source: Source,
        columns: Columns,
        delimiter: Option<u8>,
    ) -> Result<Self, InterchangeError> {
        let delimiter = delimiter.or(format.delimiter());
        Ok(Reader(match format {
            Format::Csv | Format::Tsv => {
                Formats::Csv(CsvReader::new(source.into_stream(), columns, delimiter)?)
            }
            Format::JsonLines => Formats::JsonLines(JsonReader::new(source.into_stream(), columns)),
            _ => Formats::Columnar(ColumnarReader::new(format, source, columns.schema)?),
        }))
    }

    /// Reads the next rows into an emptied batch: so many, or fewer at the end and where they are long. Returns
    /// whether there were some, good or bad.
    ///
    /// # Errors
    /// If the file cannot be read further: after that there are no rows. A row that does not fit the table is in the
    /// batch as a bad one.
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
