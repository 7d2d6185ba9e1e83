//! Parquet files, by the batch.

use super::{Batches, CheckedSource};
use crate::InterchangeError;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::Bytes;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use std::io::{self, BufReader, Read};
use std::sync::Arc;

/// The most rows of a batch.
const ROWS: usize = 1024;

/// About so many bytes of values are in a batch, if a row has no more.
const BATCH_BYTES: i64 = 32 << 20;

pub(super) struct ParquetFile {
    schema: SchemaRef,
    batches: ParquetRecordBatchReader,
    rows_read: u64,
    rows: u64,
    length: u64,
}

impl ParquetFile {
    /// Begins to read: the metadata at the file's end.
    pub fn new(source: CheckedSource) -> Result<Self, InterchangeError> {
        let length = source.length();
        let source = Shared(Arc::new(source));
        let metadata = ArrowReaderMetadata::load(&source, ArrowReaderOptions::new());
        let metadata = metadata.map_err(InterchangeError::of_parquet)?;
        let groups = metadata.metadata().row_groups().iter();
        let row_bytes = groups.map(|group| group.total_byte_size() / group.num_rows().max(1));
        let rows = BATCH_BYTES / row_bytes.max().unwrap_or(0).max(1);
        let rows = usize::try_from(rows).unwrap_or(ROWS).clamp(1, ROWS);
        let total = metadata.metadata().file_metadata().num_rows();
        let schema = metadata.schema().clone();
        let batches = ParquetRecordBatchReaderBuilder::new_with_metadata(source, metadata)
            .with_batch_size(rows)
            .build()
            .map_err(InterchangeError::of_parquet)?;
        Ok(ParquetFile {
            schema,
            batches,
            rows_read: 0,
            rows: u64::try_from(total).unwrap_or(0),
            length,
        })
    }
}

impl Batches for ParquetFile {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, InterchangeError> {
        let Some(batch) = self.batches.next() else {
            return Ok(None);
        };
        let of_arrow = |error| InterchangeError::of_arrow(crate::Format::Parquet, error);
        let batch = batch.map_err(of_arrow)?;
        self.rows_read += batch.num_rows() as u64;
        Ok(Some(batch))
    }

    fn position(&self) -> u64 {
        let part = self.rows_read as f64 / self.rows.max(1) as f64;
        (self.length as f64 * part.min(1.0)) as u64
    }
}

/// A file's columns.
pub(super) fn schema(source: CheckedSource) -> Result<SchemaRef, InterchangeError> {
    let source = Shared(Arc::new(source));
    let metadata = ArrowReaderMetadata::load(&source, ArrowReaderOptions::new());
    let metadata = metadata.map_err(InterchangeError::of_parquet)?;
    Ok(metadata.schema().clone())
}

/// The file, as the readers of columns share it.
#[derive(Clone)]
struct Shared(Arc<CheckedSource>);

/// The file from a place on.
struct Rest {
    source: Shared,
    position: u64,
}

impl Length for Shared {
    fn len(&self) -> u64 {
        self.0.length()
    }
}

impl ChunkReader for Shared {
    type T = BufReader<Rest>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(BufReader::new(Rest {
            source: self.clone(),
            position: start,
        }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let bytes = self.0.bytes(start, length)?;
        let bytes = bytes.ok_or_else(|| ParquetError::EOF("it is cut off".to_string()))?;
        Ok(Bytes::from(bytes))
    }
}

impl Read for Rest {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.source.0.length().saturating_sub(self.position);
        let count = buffer
            .len()
            .min(usize::try_from(left).unwrap_or(usize::MAX));
        let Some(buffer) = buffer.get_mut(..count) else {
            return Ok(0);
        };
        self.source.0.read_at(self.position, buffer)?;
        self.position += count as u64;
        Ok(count)
    }
}
