//! Traces in either form: the reader detects the form, the writer gets it as an option.

use super::binary::{BinaryReader, BinaryWriter};
use super::text::{self, TextReader, TextWriter};
use super::{Fault, Header, Place, TraceError, frame};
use crate::reference::Transaction;
use std::io::{Chain, Cursor, Read, Write};

/// A form of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Compact and checksummed.
    Binary,
    /// For people.
    Text,
}

/// Reads a trace of either form, transaction by transaction.
///
/// ```
/// use sardonyx_workload::{reference::Transaction, trace::TraceReader};
///
/// let text = "sardonyx-trace 1\npage-bytes 4096\ntype look\npartition data 10\n\
///             transaction look\nr data 3 4\nend\n";
/// let mut reader = TraceReader::new(text.as_bytes(), "look.txt")?;
/// let mut transaction = Transaction::default();
/// while reader.read_into(&mut transaction)? {
///     assert_eq!(transaction.references.len(), 2);
/// }
/// # Ok::<(), sardonyx_workload::trace::TraceError>(())
/// ```
pub struct TraceReader<R> {
    inner: Inner<R>,
}

enum Inner<R> {
    Binary(BinaryReader<R>),
    Text(TextReader<Chain<Cursor<Vec<u8>>, R>>),
}

impl<R: Read> TraceReader<R> {
    /// Reads the header; a binary trace wants a buffered reader. `file` is the name for errors.
    ///
    /// # Errors
    /// [`TraceError::Wrong`] with the byte or line at fault, [`TraceError::Io`] if the reader
    /// refuses.
    pub fn new(mut reader: R, file: impl Into<String>) -> Result<Self, TraceError> {
        let file = file.into();
        let mut start = Vec::new();
        let wanted = frame::MAGIC.len() as u64;
        if let Err(source) = reader.by_ref().take(wanted).read_to_end(&mut start) {
            return Err(TraceError::Io { file, source });
        }
        let inner = if start == frame::MAGIC {
            Inner::Binary(BinaryReader::behind_magic(reader, file)?)
        } else if text::FIRST_WORD.as_bytes().starts_with(&start) && !start.is_empty() {
            Inner::Text(TextReader::new(Cursor::new(start).chain(reader), file)?)
        } else {
            return Err(TraceError::Wrong {
                file,
                place: Place::Offset(0),
                fault: Fault::NoTrace,
            });
        };
        Ok(TraceReader { inner })
    }

    /// The form that was found.
    pub fn form(&self) -> Form {
        match self.inner {
            Inner::Binary(_) => Form::Binary,
            Inner::Text(_) => Form::Text,
        }
    }

    /// Read before the first transaction.
    pub fn header(&self) -> &Header {
        match &self.inner {
            Inner::Binary(reader) => reader.header(),
            Inner::Text(reader) => reader.header(),
        }
    }

    /// Reads the next transaction into `transaction`, whose memory is used again; `false` if there are no more, and
    /// the end was right.
    ///
    /// # Errors
    /// [`TraceError::Wrong`] with the byte or line at fault, [`TraceError::Io`] if the reader
    /// refuses. The content of `transaction` is then undefined.
    pub fn read_into(&mut self, transaction: &mut Transaction) -> Result<bool, TraceError> {
        match &mut self.inner {
            Inner::Binary(reader) => reader.read_into(transaction),
            Inner::Text(reader) => reader.read_into(transaction),
        }
    }
}

/// Writes a trace in either form.
///
/// A trace that is dropped without [`TraceWriter::finish`] has no end and is refused by readers.
pub struct TraceWriter<W> {
    inner: InnerWriter<W>,
}

enum InnerWriter<W> {
    Binary(BinaryWriter<W>),
    Text(TextWriter<W>),
}

impl<W: Write> TraceWriter<W> {
    /// Writes the header; wants a buffered writer. `file` is the name for errors.
    ///
    /// # Errors
    /// [`TraceError::Io`] if the writer refuses.
    pub fn new(
        form: Form,
        writer: W,
        file: impl Into<String>,
        header: Header,
    ) -> Result<Self, TraceError> {
        let inner = match form {
            Form::Binary => InnerWriter::Binary(BinaryWriter::new(writer, file, header)?),
            Form::Text => InnerWriter::Text(TextWriter::new(writer, file, header)?),
        };
        Ok(TraceWriter { inner })
    }

    /// Appends a transaction.
    ///
    /// # Errors
    /// [`TraceError::Wrong`] if a trace with this header cannot hold it; nothing is written then.
    /// [`TraceError::Io`] if the writer refuses.
    pub fn write(&mut self, transaction: &Transaction) -> Result<(), TraceError> {
        match &mut self.inner {
            InnerWriter::Binary(writer) => writer.write(transaction),
            InnerWriter::Text(writer) => writer.write(transaction),
        }
    }

    /// Writes the end and gives the writer back, flushed.
    ///
    /// # Errors
    /// [`TraceError::Io`] if the writer refuses.
    pub fn finish(self) -> Result<W, TraceError> {
        match self.inner {
            InnerWriter::Binary(writer) => writer.finish(),
            InnerWriter::Text(writer) => writer.finish(),
        }
    }
}
