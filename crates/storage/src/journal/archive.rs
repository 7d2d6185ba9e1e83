//! Finding and reading the archive's chunks.
//!
//! A file's chunks follow one another. The valid part of a file ends at the first place without a whole chunk
//! of this database that continues the one before: same identity, next number, from the end of that one. Behind
//! it there may be stale chunks of before a crash; they either continue, and then they hold exactly the rows
//! that belong there, or are not believed.

use super::chunk::{CHUNK_HEADER_BYTES, ChunkHeader};
use super::{JOURNAL_DIRECTORY, JournalError, journal_file, number_of_file};
use crate::disk::{Access, AlignedBuffer, Create, DIRECT_ALIGNMENT, Disk, DiskError, DiskFile};
use crate::log::LogPosition;
use std::collections::VecDeque;
use std::sync::Arc;

/// Bytes read at once: a usual chunk, whole.
const READ_BYTES: usize = (1 << 20) + (64 << 10);

/// The numbers of the archive's files, in order.
pub fn files(disk: &dyn Disk) -> Result<Vec<u64>, JournalError> {
    let names = disk.list(JOURNAL_DIRECTORY)?;
    let mut numbers: Vec<u64> = names
        .iter()
        .filter_map(|name| number_of_file(name))
        .collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// The content of a place in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChunkState {
    /// A whole chunk.
    Valid(ChunkHeader),
    /// The file's end.
    End,
    /// Something else; why it is no chunk.
    Invalid(&'static str),
}

/// One open file of the archive.
#[derive(Debug)]
pub struct ArchiveFile {
    number: u64,
    file: Box<dyn DiskFile>,
    identity: u64,
}

impl ArchiveFile {
    /// Opens a file of the archive of the database with this identity.
    pub fn open(disk: &dyn Disk, identity: u64, number: u64) -> Result<Self, JournalError> {
        let file = disk.open(&journal_file(number), Access::Direct, Create::No)?;
        Ok(ArchiveFile {
            number,
            file,
            identity,
        })
    }

    /// The file's number.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The file's name, for error messages.
    pub fn display_name(&self) -> String {
        self.file.display_name()
    }

    /// The file's length, in bytes.
    pub fn bytes(&self) -> Result<u64, JournalError> {
        Ok(self.file.len()?)
    }

    /// The header of this database's chunk at `offset`, if it has one; the chunk may be torn.
    #[inline]
    fn header_at(
        &self,
        offset: u64,
        buffer: &mut AlignedBuffer,
    ) -> Result<Option<ChunkHeader>, JournalError> {
        buffer.truncate(0);
        buffer.extend_zeroed(DIRECT_ALIGNMENT);
        let read = self.file.read_at(offset, buffer)?;
        let header = ChunkHeader::decode(&buffer[..read]);
        Ok(header.filter(|header| header.identity == self.identity))
    }

    /// Judges the bytes at `offset`. If it is a whole chunk, `buffer` starts with it.
    pub fn chunk_at(
        &self,
        offset: u64,
        buffer: &mut AlignedBuffer,
    ) -> Result<ChunkState, JournalError> {
        let rest = self.file.len()?.saturating_sub(offset);
        let wanted = READ_BYTES.min(rest.next_multiple_of(DIRECT_ALIGNMENT as u64) as usize);
        // The buffer's content is not cleared: only the bytes read are used.
        buffer.truncate(wanted.min(buffer.len()));
        buffer.extend_zeroed(wanted);
        let mut read = self.file.read_at(offset, buffer)?;
        if read == 0 {
            return Ok(ChunkState::End);
        }
        let Some(header) = ChunkHeader::decode(&buffer[..read]) else {
            return Ok(ChunkState::Invalid("no valid chunk header"));
        };
        if header.identity != self.identity {
            return Ok(ChunkState::Invalid("a chunk of another database"));
        }
        let length = header.bytes_on_disk();
        if length > read {
            if length as u64 > rest {
                return Ok(ChunkState::Invalid(
                    "a chunk longer than the rest of the file",
                ));
            }
            buffer.extend_zeroed(length);
            read += self
                .file
                .read_at(offset + read as u64, &mut buffer[read..])?;
        }
        if read < length {
            return Ok(ChunkState::Invalid(
                "a chunk longer than the rest of the file",
            ));
        }
        if !header.payload_is_valid(payload(&header, buffer)) {
            return Ok(ChunkState::Invalid("a torn chunk"));
        }
        Ok(ChunkState::Valid(header))
    }
}

/// The sections of the chunk that the buffer starts with.
pub fn payload<'a>(header: &ChunkHeader, buffer: &'a [u8]) -> &'a [u8] {
    &buffer[CHUNK_HEADER_BYTES..CHUNK_HEADER_BYTES + header.payload_bytes as usize]
}

/// The end of the archive's valid part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArchiveEnd {
    /// The file that the next chunk goes to.
    pub file: u64,
    /// The place in it.
    pub offset: u64,
    /// The next chunk's number.
    pub next_chunk: u64,
    /// The rows of all groups before here are there.
    pub position: LogPosition,
    /// The bytes at the place where the next chunk was expected, if not a file's end: torn by a crash, or
    /// damaged.
    pub stop: Option<Stop>,
    /// The start in the file of the first chunk that no later one knew durable; `offset` if none is.
    unproved: u64,
}

/// Something in the archive that is no chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stop {
    /// The file's number.
    pub file: u64,
    /// The place in it, in bytes.
    pub offset: u64,
    /// The reason why it is no chunk.
    pub reason: &'static str,
}

impl ArchiveEnd {
    fn after(header: &ChunkHeader, file: u64, offset: u64) -> ArchiveEnd {
        ArchiveEnd {
            file,
            offset: offset + header.bytes_on_disk() as u64,
            next_chunk: header.number + 1,
            position: header.to,
            stop: None,
            unproved: offset,
        }
    }

    /// The end of an archive without a file, that begins here.
    pub fn empty_at(position: LogPosition) -> ArchiveEnd {
        ArchiveEnd {
            position,
            ..ArchiveEnd::EMPTY
        }
    }

    /// The end of an archive without a file.
    pub const EMPTY: ArchiveEnd = ArchiveEnd {
        file: 0,
        offset: 0,
        next_chunk: 0,
        position: LogPosition::START,
        stop: None,
        unproved: 0,
    };
}

/// Finds the archive's end. A file is synced whole before the next one is begun, so only the last
/// file that has a chunk is read.
pub fn find_end(disk: &dyn Disk, identity: u64) -> Result<ArchiveEnd, JournalError> {
    let mut buffer = AlignedBuffer::with_capacity(DIRECT_ALIGNMENT);
    let files = files(disk)?;
    let mut stop = None;
    for &number in files.iter().rev() {
        let file = ArchiveFile::open(disk, identity, number)?;
        let mut end: Option<ArchiveEnd> = None;
        // The chunks that none of those behind them knew durable, and where they start.
        let mut unproved: VecDeque<(u64, u64)> = VecDeque::new();
        let reason = loop {
            let offset = end.map_or(0, |end| end.offset);
            match file.chunk_at(offset, &mut buffer)? {
                ChunkState::Valid(header) if continues(end, &header) => {
                    end = Some(ArchiveEnd::after(&header, number, offset));
                    let proved = |&mut (chunk, _): &mut _| chunk < header.durable_chunks;
                    while unproved.pop_front_if(proved).is_some() {}
                    unproved.push_back((header.number, offset));
                }
                ChunkState::Valid(_) => break Some(NOT_NEXT),
                ChunkState::End => break None,
                ChunkState::Invalid(reason) => break Some(reason),
            }
        };
        if let Some(reason) = reason {
            let offset = end.map_or(0, |end| end.offset);
            stop = Some(Stop {
                file: number,
                offset,
                reason,
            });
        }
        if let Some(end) = end {
            let unproved = unproved.front().map_or(end.offset, |&(_, offset)| offset);
            return Ok(ArchiveEnd {
                stop,
                unproved,
                ..end
            });
        }
    }
    Ok(ArchiveEnd {
        file: files.first().copied().unwrap_or(0),
        stop,
        ..ArchiveEnd::EMPTY
    })
}

/// Makes the result of [`find_end`] stable: its writer may have been killed before it did so, and this process
/// takes it for durable. The files before the last are. Its sync may have failed, and another one need not help
/// then, so the chunks that no later one knew durable are written again.
pub(crate) fn make_stable(disk: &dyn Disk, end: &ArchiveEnd) -> Result<(), DiskError> {
    if end.position == LogPosition::START {
        return Ok(());
    }
    let file = disk.open(&journal_file(end.file), Access::Direct, Create::No)?;
    let mut piece = AlignedBuffer::with_capacity(READ_BYTES);
    let mut at = end.unproved;
    while at < end.offset {
        let length = (end.offset - at).min(READ_BYTES as u64);
        piece.clear();
        piece.extend_zeroed(length as usize);
        let read = file.read_at(at, &mut piece)?;
        piece.truncate(read);
        file.write_at(at, &piece)?;
        at += length;
    }
    file.sync()
}

const NOT_NEXT: &str = "a chunk that does not continue the one before";

fn continues(end: Option<ArchiveEnd>, header: &ChunkHeader) -> bool {
    end.is_none_or(|end| header.number == end.next_chunk && header.from == end.position)
}

/// Reads the archive's chunks in order, to its end.
#[derive(Debug)]
pub struct ArchiveReader {
    disk: Arc<dyn Disk>,
    identity: u64,
    files: std::vec::IntoIter<u64>,
    file: Option<ArchiveFile>,
    offset: u64,
    /// The end of the part read.
    end: Option<ArchiveEnd>,
    /// The place that stopped the reading, if not a file's end.
    stop: Option<Stop>,
    /// Of chunks whose groups are all before this one, only the headers are read.
    skip_before: u64,
    buffer: AlignedBuffer,
}

impl ArchiveReader {
    /// Starts at the first chunk.
    #[inline]
    pub fn open(disk: &Arc<dyn Disk>, identity: u64) -> Result<Self, JournalError> {
        Ok(ArchiveReader {
            disk: disk.clone(),
            identity,
            files: files(&**disk)?.into_iter(),
            file: None,
            offset: 0,
            end: None,
            stop: None,
            skip_before: 0,
            buffer: AlignedBuffer::with_capacity(DIRECT_ALIGNMENT),
        })
    }

    /// Starts at the file that has a group's rows, if they are in the archive. Before that group it reads only the
    /// headers of the chunks. Skipped rows are not checked.
    ///
    /// # Errors
    /// The disk's.
    #[inline]
    pub fn open_at(disk: &Arc<dyn Disk>, identity: u64, group: u64) -> Result<Self, JournalError> {
        let mut reader = Self::open(disk, identity)?;
        reader.skip_before = group;
        let mut files = files(&**disk)?;
        let mut start = 0;
        for (n, &number) in files.iter().enumerate().rev() {
            let file = ArchiveFile::open(&**disk, identity, number)?;
            let first = file.header_at(0, &mut reader.buffer)?;
            if first.is_some_and(|header| header.from.group <= group) {
                start = n;
                break;
            }
        }
        reader.files = files.split_off(start).into_iter();
        Ok(reader)
    }

    /// Lists the files anew. At the archive's end, [`ArchiveReader::next_chunk`] then finds later chunks.
    ///
    /// # Errors
    /// The disk's.
    #[inline]
    pub fn look_again(&mut self) -> Result<(), JournalError> {
        let mut files = files(&*self.disk)?;
        if let Some(open) = self.file_number() {
            files.retain(|number| *number > open);
        }
        self.files = files.into_iter();
        Ok(())
    }

    /// True if files that this reader has not read, or not to its end, were removed as too old.
    ///
    /// # Errors
    /// The disk's.
    #[inline]
    pub fn is_overtaken(&self) -> Result<bool, JournalError> {
        let oldest = files(&*self.disk)?.first().copied();
        Ok(match (self.file_number(), oldest) {
            (Some(open), Some(oldest)) => open < oldest,
            (file, oldest) => file.is_some() || oldest.is_some(),
        })
    }

    /// The next chunk's header, or `None` at the archive's end; its sections are in
    /// [`ArchiveReader::payload`].
    ///
    /// # Errors
    /// [`JournalError::Damaged`] if a file that is not the last one does not lead to the next.
    #[inline]
    pub fn next_chunk(&mut self) -> Result<Option<ChunkHeader>, JournalError> {
        loop {
            if let Some(file) = &self.file {
                if self.skip_before > 0 {
                    let header = file.header_at(self.offset, &mut self.buffer)?;
                    match header.filter(|header| {
                        header.to.group <= self.skip_before && continues(self.end, header)
                    }) {
                        Some(header) => {
                            let end = ArchiveEnd::after(&header, file.number, self.offset);
                            self.offset = end.offset;
                            self.end = Some(end);
                            continue;
                        }
                        None => self.skip_before = 0,
                    }
                }
                let reason = match file.chunk_at(self.offset, &mut self.buffer)? {
                    ChunkState::Valid(header) if continues(self.end, &header) => {
                        let end = ArchiveEnd::after(&header, file.number, self.offset);
                        self.offset = end.offset;
                        self.end = Some(end);
                        return Ok(Some(header));
                    }
                    ChunkState::Valid(_) => Some(NOT_NEXT),
                    ChunkState::End => None,
                    ChunkState::Invalid(reason) => Some(reason),
                };
                let (file, offset) = (file.number, self.offset);
                self.stop = reason.map(|reason| Stop {
                    file,
                    offset,
                    reason,
                });
                if !self.next_file_continues()? {
                    return Ok(None);
                }
            }
            let Some(number) = self.files.next() else {
                return Ok(None);
            };
            self.file = Some(ArchiveFile::open(&*self.disk, self.identity, number)?);
            self.offset = 0;
        }
    }

    /// As [`ArchiveReader::next_chunk`], without the sections, which are neither read nor checked; but the last
    /// chunk of a file is, since it may be torn.
    ///
    /// # Errors
    /// The errors of [`ArchiveReader::next_chunk`].
    #[inline]
    pub(super) fn next_header(&mut self) -> Result<Option<ChunkHeader>, JournalError> {
        if let Some(file) = &self.file {
            let header = file.header_at(self.offset, &mut self.buffer)?;
            if let Some(header) = header.filter(|header| continues(self.end, header)) {
                let end = ArchiveEnd::after(&header, file.number, self.offset);
                let next = file.header_at(end.offset, &mut self.buffer)?;
                if next.is_some_and(|next| continues(Some(end), &next)) {
                    self.offset = end.offset;
                    self.end = Some(end);
                    return Ok(Some(header));
                }
            }
        }
        self.next_chunk()
    }

    /// True if the next file begins with the next chunk. A file is synced whole before the next one is begun, so if a
    /// later file has a chunk, a missing one here is damage.
    #[inline]
    fn next_file_continues(&mut self) -> Result<bool, JournalError> {
        for &number in self.files.as_slice() {
            let next = ArchiveFile::open(&*self.disk, self.identity, number)?;
            let reason = match next.chunk_at(0, &mut self.buffer)? {
                ChunkState::Valid(header) => {
                    let follows = self.end.is_some() && continues(self.end, &header);
                    return match self.stop {
                        None if follows => Ok(true),
                        // A stale chunk of before a crash may follow the last one of a file.
                        Some(stop) if follows && Some(stop.file) == self.file_number() => Ok(true),
                        stop => Err(self.damaged(stop)),
                    };
                }
                ChunkState::Invalid(reason) => reason,
                ChunkState::End => "the file is empty",
            };
            // If no later file has a chunk, this one was only begun; or the log has the rows.
            self.stop = Some(Stop {
                file: number,
                offset: 0,
                reason,
            });
        }
        Ok(false)
    }

    fn file_number(&self) -> Option<u64> {
        self.file.as_ref().map(ArchiveFile::number)
    }

    #[inline]
    fn damaged(&self, stop: Option<Stop>) -> JournalError {
        let stop = stop.unwrap_or(Stop {
            file: self.file_number().unwrap_or(0),
            offset: self.offset,
            reason: "the file ends too early",
        });
        JournalError::Damaged {
            file: self.disk.display_name(&journal_file(stop.file)),
            offset: stop.offset,
            reason: stop.reason,
            from: self.position().lsn,
        }
    }

    /// The sections of the chunk that was read last.
    pub fn payload(&self, header: &ChunkHeader) -> &[u8] {
        payload(header, &self.buffer)
    }

    /// The rows of all groups before here were read.
    pub fn position(&self) -> LogPosition {
        self.end.map_or(LogPosition::START, |end| end.position)
    }

    /// The place that stopped the reading, if not the last file's end.
    pub fn stop(&self) -> Option<Stop> {
        self.stop
    }

    /// The name of the file being read, for error messages, and where the chunk read last ends.
    pub fn place(&self) -> (String, u64) {
        let name = self.file.as_ref().map_or_else(
            || self.disk.display_name(JOURNAL_DIRECTORY),
            ArchiveFile::display_name,
        );
        (name, self.offset)
    }
}
