//! Arrow's IPC formats: a stream of messages, or a file that has them with a table of contents at its end.
//!
//! Messages are read here, their contents decoded by `arrow-ipc`. A length in a file counts only as far as the
//! file has bytes, or memory is requested in bounds: a damaged file is an error, and nothing worse. One
//! message, so one batch of rows, is in memory at a time, and the dictionaries.
//!
//! Source: the Arrow columnar format, "Serialization and Interprocess Communication (IPC)".

use super::{Batches, CheckedSource};
use crate::{Format, InterchangeError};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{read_dictionary, read_footer_length, read_record_batch};
use arrow_ipc::{Block, MessageHeader, root_as_footer, root_as_message};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use std::collections::HashMap;
use std::io::Read;
use std::sync::Arc;

/// Begins a message's length, but in old files.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// The longest description of a message, in bytes.
const METADATA_BYTES_MAX: usize = 64 << 20;

/// The longest part of a column that is compressed, in bytes without compression.
const UNPACKED_BYTES_MAX: i64 = 2 << 30;

/// The end of a file: the footer's length and "ARROW1".
const TRAILER_BYTES: usize = 10;

/// The parts for decoding.
struct Decoder {
    format: Format,
    schema: SchemaRef,
    dictionaries: HashMap<i64, ArrayRef>,
}

impl Decoder {
    fn new(format: Format, schema: arrow_ipc::Schema<'_>) -> Result<Self, InterchangeError> {
        if !schema.endianness().equals_to_target_endianness() {
            return Err(damaged(format, "its numbers are big-endian"));
        }
        let schema: Schema = try_fb_to_schema(schema).map_err(|e| of_arrow(format, e))?;
        Ok(Decoder {
            format,
            schema: Arc::new(schema),
            dictionaries: HashMap::new(),
        })
    }

    /// The rows of a message; `None` if it has none.
    fn decode(
        &mut self,
        metadata: &[u8],
        body: &Buffer,
    ) -> Result<Option<RecordBatch>, InterchangeError> {
        let format = self.format;
        let message = message_of(format, metadata)?;
        match message.header_type() {
            MessageHeader::RecordBatch => {
                let batch = message.header_as_record_batch();
                let batch = batch.ok_or_else(|| damaged(format, "a batch is missing"))?;
                check_lengths(format, &batch, body)?;
                let (schema, version) = (self.schema.clone(), message.version());
                read_record_batch(body, batch, schema, &self.dictionaries, None, &version)
                    .map(Some)
                    .map_err(|error| of_arrow(format, error))
            }
            MessageHeader::DictionaryBatch => {
                let batch = message.header_as_dictionary_batch();
                let batch = batch.ok_or_else(|| damaged(format, "a dictionary is missing"))?;
                if let Some(values) = batch.data() {
                    check_lengths(format, &values, body)?;
                }
                let dictionaries = &mut self.dictionaries;
                read_dictionary(body, batch, &self.schema, dictionaries, &message.version())
                    .map(|()| None)
                    .map_err(|error| of_arrow(format, error))
            }
            MessageHeader::NONE => Ok(None),
            other => Err(damaged(format, &format!("a message of type {other:?}"))),
        }
    }
}

/// Checks that compressed data will not ask for unbounded memory.
fn check_lengths(
    format: Format,
    batch: &arrow_ipc::RecordBatch<'_>,
    body: &Buffer,
) -> Result<(), InterchangeError> {
    if batch.compression().is_none() {
        return Ok(());
    }
    for buffer in batch.buffers().into_iter().flatten() {
        let start = usize::try_from(buffer.offset()).unwrap_or(usize::MAX);
        let said = body.get(start..).and_then(|rest| rest.first_chunk());
        let fits = |said: &[u8; 8]| i64::from_le_bytes(*said) <= UNPACKED_BYTES_MAX;
        if buffer.length() > 0 && !said.is_some_and(fits) {
            return Err(damaged(format, "the length of a compressed column"));
        }
    }
    Ok(())
}

/// A stream of messages.
pub(super) struct Stream<R> {
    source: R,
    decoder: Decoder,
    ended: bool,
    position: u64,
}

impl<R: Read> Stream<R> {
    /// Begins to read: the message with the schema.
    pub fn new(mut source: R) -> Result<Self, InterchangeError> {
        let format = Format::ArrowStream;
        let (metadata, _) = next_message(&mut source)?
            .ok_or_else(|| damaged(format, "it ends before its first message"))?;
        let message = message_of(format, &metadata)?;
        let schema = message.header_as_schema();
        let schema = schema.ok_or_else(|| damaged(format, "it does not begin with a schema"))?;
        Ok(Stream {
            decoder: Decoder::new(format, schema)?,
            source,
            ended: false,
            position: metadata.len() as u64,
        })
    }

    /// The columns.
    pub fn schema(&self) -> SchemaRef {
        self.decoder.schema.clone()
    }
}

impl<R: Read + Send> Batches for Stream<R> {
    fn schema(&self) -> SchemaRef {
        Stream::schema(self)
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, InterchangeError> {
        while !self.ended {
            let Some((metadata, body)) = next_message(&mut self.source)? else {
                self.ended = true;
                break;
            };
            self.position += (metadata.len() + body.len()) as u64;
            if let Some(batch) = self.decoder.decode(&metadata, &body)? {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    fn position(&self) -> u64 {
        self.position
    }
}

/// The next message: its description and its body; `None` at the end.
fn next_message(source: &mut impl Read) -> Result<Option<(Vec<u8>, Buffer)>, InterchangeError> {
    let format = Format::ArrowStream;
    let mut word = read(source, 4)?;
    if word.is_empty() {
        return Ok(None);
    }
    if word == CONTINUATION {
        word = read(source, 4)?;
    }
    let length = word.try_into().map(u32::from_le_bytes);
    let length = length.map_err(|_| cut_off(format))? as usize;
    if length == 0 {
        return Ok(None);
    }
    if length > METADATA_BYTES_MAX {
        return Err(damaged(format, "the length of a message"));
    }
    let metadata = read(source, length)?;
    if metadata.len() < length {
        return Err(cut_off(format));
    }
    let length = message_of(format, &metadata)?.bodyLength();
    let length = usize::try_from(length).map_err(|_| damaged(format, "the length of a body"))?;
    let body = read(source, length)?;
    match body.len() == length {
        true => Ok(Some((metadata, Buffer::from_vec(body)))),
        false => Err(cut_off(format)),
    }
}

/// Reads so many bytes, or the rest. Memory grows with the bytes read.
fn read(source: &mut impl Read, length: usize) -> Result<Vec<u8>, InterchangeError> {
    let mut bytes = Vec::with_capacity(length.min(1 << 20));
    source.take(length as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A file of messages.
pub(super) struct IpcFile {
    source: CheckedSource,
    decoder: Decoder,
    batches: std::vec::IntoIter<Block>,
    position: u64,
}

impl IpcFile {
    /// Begins to read: the table of contents, and the dictionaries.
    pub fn new(source: CheckedSource) -> Result<Self, InterchangeError> {
        let format = Format::Arrow;
        let end = source.length();
        let trailer = end.checked_sub(TRAILER_BYTES as u64);
        let trailer = trailer.ok_or_else(|| damaged(format, "it is too short"))?;
        let said = bytes_of(&source, trailer, TRAILER_BYTES)?;
        let said = said.first_chunk().ok_or_else(|| cut_off(format))?;
        let length = read_footer_length(*said).map_err(|error| of_arrow(format, error))?;
        let start = trailer.checked_sub(length as u64);
        let start = start.ok_or_else(|| damaged(format, "the length of its footer"))?;
        let footer = bytes_of(&source, start, length)?;
        let footer = root_as_footer(&footer).map_err(|e| damaged(format, &e.to_string()))?;
        let schema = footer.schema();
        let schema = schema.ok_or_else(|| damaged(format, "it has no schema"))?;
        let mut decoder = Decoder::new(format, schema)?;
        for block in footer.dictionaries().into_iter().flatten() {
            let (metadata, body) = block_of(&source, block)?;
            decoder.decode(&metadata, &body)?;
        }
        let batches: Vec<Block> = (footer.recordBatches().into_iter().flatten())
            .copied()
            .collect();
        Ok(IpcFile {
            decoder,
            source,
            batches: batches.into_iter(),
            position: 0,
        })
    }
}

impl Batches for IpcFile {
    fn schema(&self) -> SchemaRef {
        self.decoder.schema.clone()
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, InterchangeError> {
        for block in self.batches.by_ref() {
            let (metadata, body) = block_of(&self.source, &block)?;
            self.position += (metadata.len() + body.len()) as u64;
            if let Some(batch) = self.decoder.decode(&metadata, &body)? {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    fn position(&self) -> u64 {
        self.position
    }
}

/// A message of the table of contents: its description and its body.
fn block_of(source: &CheckedSource, block: &Block) -> Result<(Vec<u8>, Buffer), InterchangeError> {
    let format = Format::Arrow;
    let wrong = || damaged(format, "its table of contents");
    let offset = u64::try_from(block.offset()).map_err(|_| wrong())?;
    let metadata = usize::try_from(block.metaDataLength()).map_err(|_| wrong())?;
    let body = usize::try_from(block.bodyLength()).map_err(|_| wrong())?;
    let prefix = bytes_of(source, offset, 4.min(metadata))?;
    let prefix = if prefix == CONTINUATION { 8 } else { 4 };
    let described = metadata.checked_sub(prefix).ok_or_else(wrong)?;
    let at = |bytes: usize| offset.checked_add(bytes as u64).ok_or_else(wrong);
    let body = bytes_of(source, at(metadata)?, body)?;
    // In memory of its own, since the description's words have to be aligned.
    let metadata = bytes_of(source, at(prefix)?, described)?;
    Ok((metadata, Buffer::from_vec(body)))
}

/// Bytes of a file, which has to have them.
fn bytes_of(
    source: &CheckedSource,
    start: u64,
    length: usize,
) -> Result<Vec<u8>, InterchangeError> {
    let bytes = source.bytes(start, length)?;
    bytes.ok_or_else(|| cut_off(Format::Arrow))
}

fn message_of(format: Format, metadata: &[u8]) -> Result<arrow_ipc::Message<'_>, InterchangeError> {
    root_as_message(metadata).map_err(|error| damaged(format, &error.to_string()))
}

fn of_arrow(format: Format, error: ArrowError) -> InterchangeError {
    InterchangeError::of_arrow(format, error)
}

fn damaged(format: Format, reason: &str) -> InterchangeError {
    InterchangeError::Damaged {
        format,
        reason: reason.to_string(),
    }
}

fn cut_off(format: Format) -> InterchangeError {
    damaged(format, "it is cut off")
}
