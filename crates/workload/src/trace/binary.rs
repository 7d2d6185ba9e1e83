//! The compact form of a trace: numbers of variable length in checksummed frames.
//!
//! A reference takes two or three bytes as a rule. Its page is written as the difference to the
//! last page referenced in the same partition, the partition only where it changes. The differences
//! go on from one transaction to the next, so a trace is read from its start; there is no index.

use super::frame::{FrameReader, FrameWriter};
use super::varint::{self, Collector, Step};
use super::{
    Fault, Header, MAX_NAME_BYTES, MAX_PAGES, MAX_PARTITIONS, MAX_REFERENCES, MAX_TYPES, Partition,
    Place, TraceError, header,
};
use crate::reference::{Access, PageNumber, PageReference, Transaction};
use std::io::{Read, Write};

/// Bits of a reference's first number, below the page's folded difference.
const WRITE: u64 = 1;
const SAME_PARTITION: u64 = 2;
const FLAG_BITS: u32 = 2;

/// The base of differences: the last page of each partition, and the last partition.
struct Last {
    pages: Vec<u32>,
    partition: usize,
}

impl Last {
    fn new(header: &Header) -> Self {
        Last {
            pages: vec![0; header.partitions().len()],
            partition: 0,
        }
    }
}

/// Writes a trace in binary form.
pub struct BinaryWriter<W> {
    frames: FrameWriter<W>,
    file: String,
    header: Header,
    last: Last,
    transactions: u64,
    references: u64,
    /// A transaction, encoded.
    encoded: Vec<u8>,
}

impl<W: Write> BinaryWriter<W> {
    /// Writes the header. `file` is the name for errors.
    ///
    /// # Errors
    /// [`TraceError::Io`] if the writer refuses.
    pub fn new(writer: W, file: impl Into<String>, header: Header) -> Result<Self, TraceError> {
        let file = file.into();
        let mut encoded = Vec::new();
        varint::write(&mut encoded, header.page_bytes().into());
        varint::write(&mut encoded, header.types().len() as u64);
        for name in header.types() {
            write_name(&mut encoded, name);
        }
        varint::write(&mut encoded, header.partitions().len() as u64);
        for partition in header.partitions() {
            write_name(&mut encoded, &partition.name);
            varint::write(&mut encoded, partition.pages);
        }
        let begun = FrameWriter::begin(writer).and_then(|mut frames| {
            frames.write(&encoded)?;
            Ok(frames)
        });
        match begun {
            Ok(frames) => Ok(BinaryWriter {
                frames,
                file,
                last: Last::new(&header),
                header,
                transactions: 0,
                references: 0,
                encoded,
            }),
            Err(source) => Err(TraceError::Io { file, source }),
        }
    }

    /// Appends a transaction.
    ///
    /// # Errors
    /// [`TraceError::Wrong`] if its type or a page of it does not exist, it has too many references
    /// or one that appends; nothing is written then. [`TraceError::Io`] if the writer refuses.
    pub fn write(&mut self, transaction: &Transaction) -> Result<(), TraceError> {
        self.header
            .check(transaction)
            .map_err(|fault| TraceError::Wrong {
                file: self.file.clone(),
                place: Place::Transaction(self.transactions),
                fault,
            })?;
        self.encoded.clear();
        varint::write(&mut self.encoded, u64::from(transaction.kind) + 1);
        varint::write(&mut self.encoded, transaction.references.len() as u64);
        for PageReference { page, access } in &transaction.references {
            let partition = usize::from(page.partition);
            let last = std::mem::replace(&mut self.last.pages[partition], page.page);
            let difference = varint::fold(i64::from(page.page) - i64::from(last));
            let same = partition == self.last.partition;
            let write = u64::from(access.is_write()) * WRITE;
            let flags = write | (u64::from(same) * SAME_PARTITION);
            varint::write(&mut self.encoded, (difference << FLAG_BITS) | flags);
            if !same {
                varint::write(&mut self.encoded, partition as u64);
                self.last.partition = partition;
            }
        }
        self.transactions += 1;
        self.references += transaction.references.len() as u64;
        let written = self.frames.write(&self.encoded);
        written.map_err(|source| io_error(&self.file, source))
    }

    /// Writes the end and gives the writer back, flushed.
    ///
    /// # Errors
    /// [`TraceError::Io`] if the writer refuses.
    pub fn finish(mut self) -> Result<W, TraceError> {
        self.encoded.clear();
        varint::write(&mut self.encoded, 0);
        varint::write(&mut self.encoded, self.transactions);
        varint::write(&mut self.encoded, self.references);
        let file = self.file;
        let written = self.frames.write(&self.encoded);
        written
            .and_then(|()| self.frames.finish())
            .map_err(|source| io_error(&file, source))
    }
}

fn write_name(bytes: &mut Vec<u8>, name: &str) {
    varint::write(bytes, name.len() as u64);
    bytes.extend_from_slice(name.as_bytes());
}

fn io_error(file: &str, source: std::io::Error) -> TraceError {
    let file = file.to_string();
    TraceError::Io { file, source }
}

/// Reads a trace in binary form, behind its magic.
pub struct BinaryReader<R> {
    frames: FrameReader<R>,
    header: Header,
    last: Last,
    transactions: u64,
    references: u64,
    ended: bool,
}

impl<R: Read> BinaryReader<R> {
    /// Reads version and header. The magic has been read.
    pub(super) fn behind_magic(reader: R, file: String) -> Result<Self, TraceError> {
        let mut frames = FrameReader::begin(reader, file)?;
        let (least, most) = header::PAGE_BYTES;
        let page_bytes = ranged(&mut frames, "the page size in bytes", least, most)?;
        let count = ranged(&mut frames, "the number of types", 1, MAX_TYPES as u64)?;
        let types = (0..count).map(|_| name(&mut frames));
        let types = types.collect::<Result<Vec<_>, _>>()?;
        let most = MAX_PARTITIONS as u64;
        let count = ranged(&mut frames, "the number of partitions", 1, most)?;
        let mut partitions = Vec::new();
        for _ in 0..count {
            let name = name(&mut frames)?;
            let pages = ranged(&mut frames, "the partition's pages", 1, MAX_PAGES)?;
            partitions.push(Partition { name, pages });
        }
        let header = Header::new(page_bytes as u32, types, partitions);
        let header = header.map_err(|fault| frames.wrong(fault))?;
        Ok(BinaryReader {
            frames,
            last: Last::new(&header),
            header,
            transactions: 0,
            references: 0,
            ended: false,
        })
    }

    /// Read before the first transaction.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Reads the next transaction into `transaction`; `false` if there are no more, and the end was right.
    ///
    /// # Errors
    /// [`TraceError::Wrong`] with the byte at fault, [`TraceError::Io`] if the reader refuses.
    pub fn read_into(&mut self, transaction: &mut Transaction) -> Result<bool, TraceError> {
        if self.ended {
            return Ok(false);
        }
        let types = self.header.types().len() as u64;
        let kind = ranged(&mut self.frames, "the type and one", 0, types)?;
        if kind == 0 {
            self.read_end()?;
            return Ok(false);
        }
        transaction.clear((kind - 1) as u16);
        let most = MAX_REFERENCES as u64;
        let count = ranged(&mut self.frames, "the number of references", 0, most)?;
        for _ in 0..count {
            let reference = self.read_reference()?;
            transaction.references.push(reference);
        }
        self.transactions += 1;
        self.references += count;
        Ok(true)
    }

    fn read_reference(&mut self) -> Result<PageReference, TraceError> {
        let offset = self.frames.offset();
        let first = number(&mut self.frames, "a reference")?;
        if first & SAME_PARTITION == 0 {
            let most = self.header.partitions().len() as u64 - 1;
            let at = self.frames.offset();
            let partition = ranged(&mut self.frames, "the partition", 0, most)? as usize;
            if partition == self.last.partition {
                // Else the same trace would have two encodings.
                let fault = Fault::Word {
                    found: partition.to_string(),
                    expected: "another partition than the last",
                };
                return Err(self.frames.wrong_at(at, fault));
            }
            self.last.partition = partition;
        }
        let partition = self.last.partition;
        let last = &mut self.last.pages[partition];
        // At most 62 bits and a sign, so the sum cannot overflow.
        let page = i64::from(*last) + varint::unfold(first >> FLAG_BITS);
        let pages = self.header.partitions()[partition].pages;
        if page < 0 || page as u64 >= pages {
            let fault = Fault::Page {
                partition: self.header.partitions()[partition].name.clone(),
                page: page as u64,
                pages,
            };
            return Err(self.frames.wrong_at(offset, fault));
        }
        *last = page as u32;
        let access = if first & WRITE == 0 {
            Access::Read
        } else {
            Access::Write
        };
        Ok(PageReference {
            page: PageNumber::new(partition as u16, page as u32),
            access,
        })
    }

    fn read_end(&mut self) -> Result<(), TraceError> {
        for (what, expected) in [
            ("transactions", self.transactions),
            ("references", self.references),
        ] {
            let offset = self.frames.offset();
            let found = number(&mut self.frames, "a count at the end")?;
            if found != expected {
                let fault = Fault::Count {
                    what,
                    found,
                    expected,
                };
                return Err(self.frames.wrong_at(offset, fault));
            }
        }
        self.frames.end()?;
        self.ended = true;
        Ok(())
    }
}

fn number<R: Read>(frames: &mut FrameReader<R>, what: &'static str) -> Result<u64, TraceError> {
    let offset = frames.offset();
    let mut collector = Collector::default();
    loop {
        match collector.take(frames.byte(what)?) {
            Step::More => {}
            Step::Done(number) => return Ok(number),
            Step::Wrong => return Err(frames.wrong_at(offset, Fault::Varint { what })),
        }
    }
}

fn ranged<R: Read>(
    frames: &mut FrameReader<R>,
    what: &'static str,
    least: u64,
    most: u64,
) -> Result<u64, TraceError> {
    let offset = frames.offset();
    let found = number(frames, what)?;
    header::in_range(what, found, least, most).map_err(|fault| frames.wrong_at(offset, fault))?;
    Ok(found)
}

fn name<R: Read>(frames: &mut FrameReader<R>) -> Result<String, TraceError> {
    let offset = frames.offset();
    let length = ranged(frames, "a name's length", 1, MAX_NAME_BYTES as u64)?;
    let bytes = (0..length).map(|_| frames.byte("a name"));
    let bytes = bytes.collect::<Result<Vec<_>, _>>()?;
    let name = String::from_utf8_lossy(&bytes).into_owned();
    header::check_name(&name).map_err(|fault| frames.wrong_at(offset, fault))?;
    Ok(name)
}
