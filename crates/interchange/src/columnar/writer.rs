//! Rows into a file of columns.

use super::build::ColumnBuilder;
use super::types::field_of;
use crate::{Format, InterchangeError};
use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::Compression;
use ::parquet::file::properties::WriterProperties;
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::SchemaRef;
use sardonyx_rows::schema::{Schema, ValueRef};
use std::fmt;
use std::io::Write;
use std::sync::Arc;

/// The most rows of a batch, and about the most bytes of text and bytes.
const BATCH_ROWS: usize = 8192;
const BATCH_BYTES: usize = 16 << 20;

/// About the most bytes of a row group of Parquet, which is in memory until it is written.
const GROUP_BYTES: usize = 128 << 20;

/// A file of columns, being written.
pub(crate) struct ColumnarWriter<W: Write + Send> {
    sink: Sink<W>,
    format: Format,
    schema: SchemaRef,
    /// The columns' numbers, names and values.
    columns: Vec<(usize, String, ColumnBuilder)>,
    rows: usize,
    bytes: usize,
}

enum Sink<W: Write + Send> {
    Parquet(Box<ArrowWriter<W>>),
    Arrow(FileWriter<W>),
    ArrowStream(StreamWriter<W>),
}

impl<W: Write + Send> fmt::Debug for ColumnarWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("ColumnarWriter");
        f.field("format", &self.format)
            .field("schema", &self.schema);
        f.finish_non_exhaustive()
    }
}

impl<W: Write + Send> ColumnarWriter<W> {
    /// Begins to write these columns of a table.
    pub fn new(
        format: Format,
        sink: W,
        schema: &Schema,
        numbers: &[usize],
    ) -> Result<Self, InterchangeError> {
        let (mut fields, mut columns) = (Vec::new(), Vec::new());
        for &number in numbers {
            let column = &schema.columns[number];
            fields.push(field_of(column));
            columns.push((number, column.name.clone(), ColumnBuilder::new(column)));
        }
        let schema = Arc::new(arrow_schema::Schema::new(fields));
        let of_arrow = |error| InterchangeError::of_arrow(format, error);
        let sink = match format {
            Format::Parquet => {
                let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
                let writer = ArrowWriter::try_new(sink, schema.clone(), Some(properties.build()));
                Sink::Parquet(Box::new(writer.map_err(InterchangeError::of_parquet)?))
            }
            Format::Arrow => Sink::Arrow(FileWriter::try_new(sink, &schema).map_err(of_arrow)?),
            _ => Sink::ArrowStream(StreamWriter::try_new(sink, &schema).map_err(of_arrow)?),
        };
        Ok(ColumnarWriter {
            sink,
            format,
            schema,
            columns,
            rows: 0,
            bytes: 0,
        })
    }

    /// Adds a row.
    pub fn row<'a>(
        &mut self,
        values: impl Fn(usize) -> ValueRef<'a>,
    ) -> Result<(), InterchangeError> {
        for (number, name, builder) in &mut self.columns {
            let value = values(*number);
            self.bytes += match value {
                ValueRef::Text(text) => text.len(),
                ValueRef::Bytes(bytes) => bytes.len(),
                _ => 0,
            };
            builder
                .append(value)
                .map_err(|reason| InterchangeError::Value {
                    column: name.clone(),
                    reason,
                })?;
        }
        self.rows += 1;
        match self.rows == BATCH_ROWS || self.bytes >= BATCH_BYTES {
            true => self.write_batch(),
            false => Ok(()),
        }
    }

    fn write_batch(&mut self) -> Result<(), InterchangeError> {
        let columns = self.columns.iter_mut();
        let columns = columns.map(|(.., builder)| builder.finish()).collect();
        // Of no columns there are rows, too.
        let rows = RecordBatchOptions::new().with_row_count(Some(self.rows));
        (self.rows, self.bytes) = (0, 0);
        let of_arrow = |error| InterchangeError::of_arrow(self.format, error);
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), columns, &rows);
        let batch = batch.map_err(of_arrow)?;
        match &mut self.sink {
            Sink::Parquet(writer) => {
                writer.write(&batch).map_err(InterchangeError::of_parquet)?;
                if writer.in_progress_size() >= GROUP_BYTES {
                    writer.flush().map_err(InterchangeError::of_parquet)?;
                }
                Ok(())
            }
            Sink::Arrow(writer) => writer.write(&batch).map_err(of_arrow),
            Sink::ArrowStream(writer) => writer.write(&batch).map_err(of_arrow),
        }
    }

    /// Writes the rest and the file's end, and returns the sink.
    pub fn finish(mut self) -> Result<W, InterchangeError> {
        if self.rows > 0 {
            self.write_batch()?;
        }
        let of_arrow = |error| InterchangeError::of_arrow(self.format, error);
        match self.sink {
            Sink::Parquet(writer) => writer.into_inner().map_err(InterchangeError::of_parquet),
            Sink::Arrow(writer) => writer.into_inner().map_err(of_arrow),
            Sink::ArrowStream(writer) => writer.into_inner().map_err(of_arrow),
        }
    }
}
