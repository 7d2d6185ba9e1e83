//! The form of a trace for people: a line for each fact, editable with any editor.
//!
//! ```text
//! sardonyx-trace 1
//! page-bytes 4096
//! type transfer
//! partition accounts 1000
//! partition log 64
//! transaction transfer
//! r accounts 17 18      # two reads
//! w accounts 18
//! w log 3
//! end 1 4
//! ```
//!
//! A `#` begins a comment; empty lines are skipped. Counts and checksum in the last line are
//! checked if they exist: an editor of a trace removes them.

use super::header::{check_name, in_range};
use super::{
    Fault, Header, MAX_PAGES, MAX_PARTITIONS, MAX_REFERENCES, MAX_TYPES, Partition, Place,
    TraceError, header,
};
use crate::reference::{Access, PageNumber, PageReference, Transaction};
use sardonyx_base::crc32c;
use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::str::SplitAsciiWhitespace;

/// The longest line that is read, in bytes.
pub const MAX_LINE_BYTES: usize = 4_096;

/// The first word of the first line.
pub(super) const FIRST_WORD: &str = "sardonyx-trace";

const VERSION: &str = "1";

/// Pages that are written in one line.
const PAGES_IN_LINE: usize = 16;

/// Writes a trace in text form.
pub struct TextWriter<W> {
    writer: W,
    file: String,
    header: Header,
    transactions: u64,
    references: u64,
    checksum: u32,
    line: String,
}

impl<W: Write> TextWriter<W> {
    /// Writes the header. `file` is the name for errors.
    ///
    /// # Errors
    /// [`TraceError::Io`] if the writer refuses.
    pub fn new(writer: W, file: impl Into<String>, header: Header) -> Result<Self, TraceError> {
        let mut text = format!(
            "{FIRST_WORD} {VERSION}\npage-bytes {}\n",
            header.page_bytes()
        );
        for name in header.types() {
            text += &format!("type {name}\n");
        }
        for Partition { name, pages } in header.partitions() {
            text += &format!("partition {name} {pages}\n");
        }
        let mut writer = TextWriter {
            writer,
            file: file.into(),
            header,
            transactions: 0,
            references: 0,
            checksum: 0,
            line: text,
        };
        writer.put()?;
        Ok(writer)
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
        let name = &self.header.types()[usize::from(transaction.kind)];
        self.line = format!("transaction {name}\n");
        let alike = |one: &PageReference, other: &PageReference| {
            (one.access, one.page.partition) == (other.access, other.page.partition)
        };
        let runs = transaction.references.chunk_by(alike);
        for run in runs.flat_map(|run| run.chunks(PAGES_IN_LINE)) {
            let mode = if run[0].access.is_write() { 'w' } else { 'r' };
            let partition = &self.header.partitions()[usize::from(run[0].page.partition)];
            self.line += &format!("{mode} {}", partition.name);
            for reference in run {
                self.line += &format!(" {}", reference.page.page);
            }
            self.line.push('\n');
        }
        self.transactions += 1;
        self.references += transaction.references.len() as u64;
        self.put()
    }

    /// Writes the last line and gives the writer back, flushed.
    ///
    /// # Errors
    /// [`TraceError::Io`] if the writer refuses.
    pub fn finish(mut self) -> Result<W, TraceError> {
        let (transactions, references) = (self.transactions, self.references);
        self.line = format!("end {transactions} {references} {:08x}\n", self.checksum);
        self.put()?;
        let flushed = self.writer.flush();
        flushed.map_err(|source| self.io_error(source))?;
        Ok(self.writer)
    }

    fn put(&mut self) -> Result<(), TraceError> {
        self.checksum = crc32c::crc32c_append(self.checksum, self.line.as_bytes());
        let written = self.writer.write_all(self.line.as_bytes());
        written.map_err(|source| self.io_error(source))
    }

    fn io_error(&self, source: io::Error) -> TraceError {
        let file = self.file.clone();
        TraceError::Io { file, source }
    }
}

/// Reads a trace in text form.
pub struct TextReader<R> {
    lines: Lines<R>,
    header: Header,
    types: HashMap<String, u16>,
    partitions: HashMap<String, u16>,
    transactions: u64,
    references: u64,
    ended: bool,
}

impl<R: Read> TextReader<R> {
    /// Reads the header. `file` is the name for errors.
    ///
    /// # Errors
    /// [`TraceError::Wrong`] with the line at fault, [`TraceError::Io`] if the reader refuses.
    pub fn new(reader: R, file: impl Into<String>) -> Result<Self, TraceError> {
        let mut lines = Lines::new(reader, file.into());
        lines.read_first()?;
        let mut page_bytes = None;
        let (mut types, mut partitions) = (Vec::new(), Vec::new());
        while lines.next()? {
            let mut words = lines.words();
            let declared = match words.next().unwrap_or_default() {
                "page-bytes" if page_bytes.is_none() => {
                    let (least, most) = header::PAGE_BYTES;
                    parse(words.next(), "the page size in bytes", least, most)
                        .map(|bytes| page_bytes = Some(bytes as u32))
                }
                "type" => declared_name(words.next()).and_then(|name| {
                    types.push(name);
                    in_range(
                        "the number of types",
                        types.len() as u64,
                        1,
                        MAX_TYPES as u64,
                    )
                }),
                "partition" => declared_name(words.next()).and_then(|name| {
                    let pages = parse(words.next(), "the partition's pages", 1, MAX_PAGES)?;
                    partitions.push(Partition { name, pages });
                    let count = partitions.len() as u64;
                    in_range("the number of partitions", count, 1, MAX_PARTITIONS as u64)
                }),
                "transaction" | "end" => {
                    lines.put_back();
                    break;
                }
                word => Err(unexpected(
                    Some(word),
                    "\"page-bytes\" (once), \"type\", \"partition\", \"transaction\" or \"end\"",
                )),
            };
            let outcome = declared.and_then(|()| nothing_more(words.next()));
            outcome.map_err(|fault| lines.wrong(fault))?;
        }
        let header = match page_bytes {
            Some(page_bytes) => Header::new(page_bytes, types, partitions),
            None => Err(unexpected(None, "a line \"page-bytes\" before this one")),
        };
        let header = header.map_err(|fault| lines.wrong(fault))?;
        let numbered = |(number, name): (usize, &String)| (name.clone(), number as u16);
        let names = header.partitions().iter().map(|one| &one.name);
        Ok(TextReader {
            lines,
            types: header.types().iter().enumerate().map(numbered).collect(),
            partitions: names.enumerate().map(numbered).collect(),
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

    /// Reads the next transaction into `transaction`; `false` if there are no more, and the end was right. Only then
    /// is the checksum known to be right.
    ///
    /// # Errors
    /// [`TraceError::Wrong`] with the line at fault, [`TraceError::Io`] if the reader refuses.
    pub fn read_into(&mut self, transaction: &mut Transaction) -> Result<bool, TraceError> {
        if self.ended {
            return Ok(false);
        }
        if !self.lines.next()? {
            return Err(self.lines.wrong(Fault::CutOff {
                of: "the trace, which a line \"end\" closes",
            }));
        }
        let mut words = self.lines.words();
        let first = words.next();
        match first {
            Some("transaction") => {
                let kind = look_up(&self.types, "type", words.next());
                let kind = kind.and_then(|kind| nothing_more(words.next()).map(|()| kind));
                transaction.clear(kind.map_err(|fault| self.lines.wrong(fault))?);
                self.read_references(transaction)?;
                self.transactions += 1;
                Ok(true)
            }
            Some("end") => {
                let outcome = self.check_end();
                outcome.map_err(|fault| self.lines.wrong(fault))?;
                if self.lines.next()? {
                    return Err(self.lines.wrong(Fault::Behind));
                }
                self.ended = true;
                Ok(false)
            }
            _ => {
                let fault = unexpected(first, "\"transaction\" or \"end\"");
                Err(self.lines.wrong(fault))
            }
        }
    }

    /// Reads lines of references until another line comes.
    fn read_references(&mut self, transaction: &mut Transaction) -> Result<(), TraceError> {
        while self.lines.next()? {
            let mut words = self.lines.words();
            let access = match words.next() {
                Some("r") => Access::Read,
                Some("w") => Access::Write,
                _ => {
                    self.lines.put_back();
                    break;
                }
            };
            let outcome = look_up(&self.partitions, "partition", words.next()).and_then(|number| {
                let first = words
                    .next()
                    .ok_or_else(|| unexpected(None, "a page number"))?;
                let most = u32::MAX.into();
                for word in std::iter::once(first).chain(words) {
                    let page = parse(Some(word), "the page", 0, most)? as u32;
                    let page = PageNumber::new(number, page);
                    let reference = PageReference { page, access };
                    self.header.check_reference(&reference)?;
                    transaction.references.push(reference);
                }
                let count = transaction.references.len() as u64;
                in_range("the number of references", count, 0, MAX_REFERENCES as u64)
            });
            outcome.map_err(|fault| self.lines.wrong(fault))?;
        }
        self.references += transaction.references.len() as u64;
        Ok(())
    }

    /// Checks the counts and the checksum of the last line, as far as they exist.
    fn check_end(&self) -> Result<(), Fault> {
        let mut words = self.lines.words().skip(1);
        for (what, expected) in [
            ("transactions", self.transactions),
            ("references", self.references),
        ] {
            let Some(word) = words.next() else {
                return Ok(());
            };
            let found = parse(Some(word), what, 0, u64::MAX)?;
            if found != expected {
                return Err(Fault::Count {
                    what,
                    found,
                    expected,
                });
            }
        }
        let Some(word) = words.next() else {
            return Ok(());
        };
        let digits = word.len() == 8 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        let found = u32::from_str_radix(word, 16).ok().filter(|_| digits);
        let found = found.ok_or_else(|| unexpected(Some(word), "a checksum of 8 hex digits"))?;
        let expected = self.lines.checksum_before;
        if found != expected {
            let hint = "if the trace was edited, remove the checksum from the last line";
            return Err(Fault::Checksum {
                found,
                expected,
                hint,
            });
        }
        nothing_more(words.next())
    }
}

/// The lines with content, without their comments.
struct Lines<R> {
    reader: BufReader<R>,
    file: String,
    line: String,
    number: u64,
    /// Checksum of all bytes before the line, and of those with it.
    checksum_before: u32,
    checksum: u32,
    is_put_back: bool,
}

impl<R: Read> Lines<R> {
    fn new(reader: R, file: String) -> Self {
        Lines {
            reader: BufReader::new(reader),
            file,
            line: String::new(),
            number: 0,
            checksum_before: 0,
            checksum: 0,
            is_put_back: false,
        }
    }

    /// Goes to the next line with content; `false` at the end of the file.
    fn next(&mut self) -> Result<bool, TraceError> {
        if std::mem::take(&mut self.is_put_back) {
            return Ok(true);
        }
        while self.read_line()? {
            if self.words().next().is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Lets the same line come again.
    fn put_back(&mut self) {
        self.is_put_back = true;
    }

    fn words(&self) -> SplitAsciiWhitespace<'_> {
        self.line
            .split('#')
            .next()
            .unwrap_or_default()
            .split_ascii_whitespace()
    }

    /// The line that names the format.
    fn read_first(&mut self) -> Result<(), TraceError> {
        let is_there = match self.read_line() {
            // A file that is not text, or has no end of its first line, is no trace.
            Err(TraceError::Wrong { .. }) => false,
            other => other?,
        };
        let mut words = self.line.split_ascii_whitespace();
        if !is_there || words.next() != Some(FIRST_WORD) {
            return Err(self.wrong(Fault::NoTrace));
        }
        let version = words.next().unwrap_or_default();
        if version != VERSION || words.next().is_some() {
            let found = format!("{:?}", self.line.trim_end());
            return Err(self.wrong(Fault::Version { found }));
        }
        Ok(())
    }

    fn read_line(&mut self) -> Result<bool, TraceError> {
        let mut bytes = std::mem::take(&mut self.line).into_bytes();
        bytes.clear();
        let mut limited = self.reader.by_ref().take(MAX_LINE_BYTES as u64 + 1);
        if let Err(source) = limited.read_until(b'\n', &mut bytes) {
            let file = self.file.clone();
            return Err(TraceError::Io { file, source });
        }
        // The end of the file is no line: an error there names the last one.
        self.number += u64::from(!bytes.is_empty());
        if bytes.len() > MAX_LINE_BYTES {
            let most = MAX_LINE_BYTES;
            return Err(self.wrong(Fault::LongLine { most }));
        }
        self.checksum_before = self.checksum;
        self.checksum = crc32c::crc32c_append(self.checksum, &bytes);
        let is_there = !bytes.is_empty();
        self.line = String::from_utf8(bytes).map_err(|_| self.wrong(Fault::NotText))?;
        Ok(is_there)
    }

    fn wrong(&self, fault: Fault) -> TraceError {
        TraceError::Wrong {
            file: self.file.clone(),
            place: Place::Line(self.number),
            fault,
        }
    }
}

fn parse(word: Option<&str>, what: &'static str, least: u64, most: u64) -> Result<u64, Fault> {
    let is_number = |word: &&str| word.bytes().all(|byte| byte.is_ascii_digit());
    let number = word.filter(is_number).and_then(|word| word.parse().ok());
    let number = number.ok_or_else(|| unexpected(word, "a decimal number of at most 64 bits"))?;
    in_range(what, number, least, most)?;
    Ok(number)
}

fn declared_name(word: Option<&str>) -> Result<String, Fault> {
    let name = word.ok_or_else(|| unexpected(None, "a name"))?;
    check_name(name)?;
    Ok(name.to_string())
}

fn look_up(
    names: &HashMap<String, u16>,
    what: &'static str,
    word: Option<&str>,
) -> Result<u16, Fault> {
    let name = word.ok_or_else(|| unexpected(None, "a declared name"))?;
    names.get(name).copied().ok_or_else(|| Fault::Unknown {
        what,
        name: name.to_string(),
    })
}

fn nothing_more(word: Option<&str>) -> Result<(), Fault> {
    match word {
        Some(_) => Err(unexpected(word, "the end of the line")),
        None => Ok(()),
    }
}

fn unexpected(word: Option<&str>, expected: &'static str) -> Fault {
    let found = word.unwrap_or("the end of the line").to_string();
    Fault::Word { found, expected }
}
