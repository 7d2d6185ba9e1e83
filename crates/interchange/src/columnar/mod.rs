//! Files of columns, Parquet and Arrow IPC: batches of rows with a schema of their own.
//!
//! Only some thousand rows are in memory at a time: of Parquet as many as make 32 MiB, of Arrow a batch as
//! its writer made it.

mod build;
mod error;
mod guard;
mod ipc;
mod parquet;
mod reader;
mod types;
mod values;
mod writer;

pub(crate) use reader::ColumnarReader;
pub(crate) use writer::ColumnarWriter;

use self::guard::guarded;
use crate::infer::Found;
use crate::source::Source;
use crate::{Format, InterchangeError};
use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef};
use bytes::Bytes;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

/// Batches of rows, one after the other.
trait Batches: Send {
    /// The columns.
    fn schema(&self) -> SchemaRef;

    /// The next batch; `None` at the end.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, InterchangeError>;

    /// Bytes of the file that were read so far, about.
    fn position(&self) -> u64;
}

/// Opens the content of a file.
fn open(format: Format, source: Source) -> Result<Box<dyn Batches>, InterchangeError> {
    let of = |source: &Source| CheckedSource::of(source, format);
    guarded(format, || {
        let batches: Box<dyn Batches> = match format {
            Format::Parquet => Box::new(parquet::ParquetFile::new(of(&source)?)?),
            Format::Arrow => Box::new(ipc::IpcFile::new(of(&source)?)?),
            _ => Box::new(ipc::Stream::new(source.into_stream())?),
        };
        Ok(batches)
    })
}

/// The columns that a file has, for a new table.
pub(crate) fn columns(format: Format, source: &mut Source) -> Result<Vec<Found>, InterchangeError> {
    let schema = guarded(format, || match format {
        Format::Parquet => parquet::schema(CheckedSource::of(source, format)?),
        Format::Arrow => Ok(ipc::IpcFile::new(CheckedSource::of(source, format)?)?.schema()),
        _ => source.look_ahead(|stream| Ok(ipc::Stream::new(stream)?.schema())),
    })?;
    let columns = schema.fields().iter().map(|field| {
        let kind = types::type_of(field).ok_or_else(|| InterchangeError::NoSuchType {
            column: field.name().clone(),
            in_file: field.data_type().to_string(),
        })?;
        Ok(Found {
            name: field.name().clone(),
            kind,
            nullable: field.is_nullable(),
            without_zone: matches!(field.data_type(), DataType::Timestamp(_, None)),
        })
    });
    columns.collect()
}

/// Bytes that can be read in any order.
#[derive(Debug)]
enum Seekable {
    File(File),
    Bytes(Bytes),
}

/// A file that is read anywhere, but not beyond its end: a length in the file is checked before memory is requested.
#[derive(Debug)]
struct CheckedSource {
    source: Seekable,
    length: u64,
}

impl CheckedSource {
    fn of(source: &Source, format: Format) -> Result<Self, InterchangeError> {
        let source = match source {
            Source::File(file) => Seekable::File(file.try_clone()?),
            Source::Bytes(bytes) => Seekable::Bytes(bytes.clone()),
            Source::Stream(_) => return Err(InterchangeError::NoFile { format }),
        };
        let length = match &source {
            Seekable::File(file) => file.metadata()?.len(),
            Seekable::Bytes(bytes) => bytes.len() as u64,
        };
        Ok(CheckedSource { source, length })
    }

    fn length(&self) -> u64 {
        self.length
    }

    /// Bytes from `start` on; `None` if there are not so many.
    fn bytes(&self, start: u64, length: usize) -> io::Result<Option<Vec<u8>>> {
        let end = start.checked_add(length as u64);
        if end.is_none_or(|end| end > self.length) {
            return Ok(None);
        }
        let mut bytes = vec![0; length];
        self.read_at(start, &mut bytes)?;
        Ok(Some(bytes))
    }

    /// Reads existing bytes.
    fn read_at(&self, start: u64, buffer: &mut [u8]) -> io::Result<()> {
        match &self.source {
            Seekable::File(file) => file.read_exact_at(buffer, start),
            Seekable::Bytes(bytes) => {
                let mut rest = bytes.get(start as usize..).unwrap_or_default();
                rest.read_exact(buffer)
            }
        }
    }
}
