//! Writing the archive. Journal records are gathered from the groups that the checkpointer applies, and written
//! a chunk of about a mebibyte at a time, without waiting. [`Archiver::sync`] makes them durable, once per
//! checkpoint.
//!
//! Invariants: chunks begin and end between groups. [`Archiver::durable_end`] moves only after a sync. A file
//! is synced whole before the next one is begun. Memory is bounded by a chunk and the largest group (I10).
//! While the disk has no room, chunks wait in memory, at most as many as the log's rows: the log is not freed before
//! they are durable here (I6). A write that failed for want of room is repeated whole, at the same place.

use super::archive::{ArchiveEnd, ArchiveFile, files};
use super::chunk::chunk_bytes_on_disk;
use super::chunk::{CHUNK_HEADER_BYTES, ChunkHeader, SECTION_HEAD_BYTES, SectionHead};
use super::{JOURNAL_DIRECTORY, JournalError, Retention, journal_file};
use crate::disk::{Access, AlignedBuffer, Create, DIRECT_ALIGNMENT, Disk, DiskError, DiskFile};
use crate::log::LogPosition;
use crate::log::group::GroupHeader;
use sardonyx_base::crc32c;
use std::collections::VecDeque;
use std::sync::Arc;

/// Bytes of sections after which a chunk is written.
const CHUNK_BYTES: usize = 1 << 20;

/// A file is not extended beyond this length, unless one chunk is longer.
const FILE_BYTES_MAX: u64 = 256 << 20;

/// If little is kept, files are not shorter than this, unless a process ends.
const FILE_BYTES_MIN: u64 = 64 << 10;

/// Whole files are removed: so many together have about the kept bytes.
const FILES_KEPT: u64 = 4;

/// Appends to the archive.
#[derive(Debug)]
pub struct Archiver {
    disk: Arc<dyn Disk>,
    identity: u64,
    keep_bytes: Option<u64>,
    /// Bounds of this archive's chunks and files.
    limits: Limits,
    /// Opened at the first write: recovery alone changes nothing.
    file: Option<Box<dyn DiskFile>>,
    /// Files before the current one, oldest first, and their lengths; known once a file is open.
    older: VecDeque<(u64, u64)>,
    /// The place of the next chunk, and the position from which its rows are.
    end: ArchiveEnd,
    /// Chunks that are complete and not written yet, the oldest first.
    waiting: VecDeque<Chunk>,
    /// The chunk that is being gathered.
    chunk: Chunk,
    /// A buffer for the next one.
    spare: Option<AlignedBuffer>,
    gathered: LogPosition,
    /// The start of the current group's section in the chunk's buffer.
    section: Option<usize>,
    durable: LogPosition,
    /// The chunks before this one are durable.
    durable_chunks: u64,
}

/// Rows on their way to the archive.
#[derive(Debug)]
struct Chunk {
    /// They are those of the groups from here on.
    from: LogPosition,
    rows: u64,
    /// Room for the header, then the sections of the groups.
    buffer: AlignedBuffer,
}

impl Chunk {
    fn empty(from: LogPosition, mut buffer: AlignedBuffer) -> Chunk {
        buffer.clear();
        buffer.extend_zeroed(CHUNK_HEADER_BYTES);
        Chunk {
            from,
            rows: 0,
            buffer,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Limits {
    chunk_bytes: usize,
    file_bytes: u64,
}

impl Archiver {
    /// Goes on at the archive's end ([`super::archive::find_end`], or [`ArchiveEnd::EMPTY`] for a
    /// new database). `None` if nothing is to be kept.
    pub fn new(
        disk: Arc<dyn Disk>,
        identity: u64,
        retention: Retention,
        end: ArchiveEnd,
    ) -> Option<Self> {
        let keep_bytes = match retention {
            Retention::All => None,
            Retention::KeepBytes(bytes) => Some(bytes),
            Retention::Nothing => return None,
        };
        let buffer = AlignedBuffer::with_capacity(DIRECT_ALIGNMENT);
        Some(Archiver {
            disk,
            identity,
            keep_bytes,
            limits: Limits {
                chunk_bytes: CHUNK_BYTES,
                file_bytes: keep_bytes.map_or(FILE_BYTES_MAX, |bytes| {
                    (bytes / FILES_KEPT).clamp(FILE_BYTES_MIN, FILE_BYTES_MAX)
                }),
            },
            file: None,
            older: VecDeque::new(),
            end,
            waiting: VecDeque::new(),
            chunk: Chunk::empty(end.position, buffer),
            spare: None,
            gathered: end.position,
            section: None,
            durable: end.position,
            durable_chunks: end.next_chunk,
        })
    }

    /// The same with small chunks and files, so that tests see many of them.
    #[cfg(test)]
    pub(crate) fn with_limits(mut self, chunk_bytes: usize, file_bytes: u64) -> Self {
        self.limits = Limits {
            chunk_bytes,
            file_bytes,
        };
        self
    }

    /// Takes the journal records of a group; call [`Archiver::end_group`] when it had them all.
    /// Groups that the archive already has are passed over.
    pub(crate) fn group(&mut self, header: &GroupHeader) -> GroupRows<'_> {
        debug_assert!(self.section.is_none(), "the group before was not ended");
        let head = SectionHead {
            lsn: header.lsn,
            group: header.number,
            first_transaction: header.first_transaction,
            records_bytes: 0,
        };
        let wanted = header.number >= self.gathered.group;
        GroupRows {
            archiver: self,
            head,
            wanted,
        }
    }

    /// All journal records of this group were given. A chunk that is full now waits to be written
    /// ([`Archiver::write_waiting`]).
    pub(crate) fn end_group(&mut self, header: &GroupHeader) {
        if header.number < self.gathered.group {
            return;
        }
        debug_assert_eq!(header.number, self.gathered.group, "groups come in order");
        if let Some(start) = self.section.take() {
            let buffer = &mut self.chunk.buffer;
            // The group's size is 32 bits, so its part of the records is.
            let records_bytes = (buffer.len() - start - SECTION_HEAD_BYTES) as u32;
            let at = start + SectionHead::RECORDS_BYTES_AT;
            buffer[at..at + 4].copy_from_slice(&records_bytes.to_le_bytes());
        }
        self.gathered = header.next_position();
        if self.chunk.buffer.len() - CHUNK_HEADER_BYTES >= self.limits.chunk_bytes {
            self.close_chunk();
        }
    }

    fn close_chunk(&mut self) {
        let buffer = self.spare.take();
        let buffer = buffer.unwrap_or_else(|| AlignedBuffer::with_capacity(DIRECT_ALIGNMENT));
        let next = Chunk::empty(self.gathered, buffer);
        let chunk = std::mem::replace(&mut self.chunk, next);
        self.waiting.push_back(chunk);
    }

    /// Writes the chunks that are complete. After an error that may be tried again
    /// ([`JournalError::may_be_tried_again`]) the rest still waits.
    pub(crate) fn write_waiting(&mut self) -> Result<(), JournalError> {
        while let Some(mut chunk) = self.waiting.pop_front() {
            let next = self.waiting.front().unwrap_or(&self.chunk).from;
            if let Err(error) = self.write_chunk(&mut chunk, next) {
                self.waiting.push_front(chunk);
                return Err(error);
            }
            self.spare = Some(chunk.buffer);
        }
        Ok(())
    }

    /// Writes the gathered rows and makes the whole archive durable up to the last group given. Removes old files if
    /// they are not to be kept. After an error that may be tried again everything unwritten still waits.
    pub fn sync(&mut self) -> Result<(), JournalError> {
        if self.durable != self.gathered {
            if self.chunk.from != self.gathered {
                // Also without a row: the chunk shows that there were none up to here, so that the log can be freed.
                self.close_chunk();
            }
            self.write_waiting()?;
            self.open_file()?.sync()?;
            self.synced();
        }
        self.remove_old_files()
    }

    /// The rows of all groups before here are durable in the archive.
    pub fn durable_end(&self) -> LogPosition {
        self.durable
    }

    fn write_chunk(&mut self, chunk: &mut Chunk, to: LogPosition) -> Result<(), JournalError> {
        let payload_bytes = chunk.buffer.len() - CHUNK_HEADER_BYTES;
        let length = chunk_bytes_on_disk(payload_bytes);
        if self.end.offset > 0 && self.end.offset + length as u64 > self.limits.file_bytes {
            self.next_file()?;
        }
        self.open_file()?;
        let buffer = &mut chunk.buffer;
        let header = ChunkHeader {
            identity: self.identity,
            number: self.end.next_chunk,
            durable_chunks: self.durable_chunks,
            from: chunk.from,
            to,
            rows: chunk.rows,
            payload_bytes: payload_bytes as u32,
            payload_checksum: crc32c::crc32c(&buffer[CHUNK_HEADER_BYTES..]),
        };
        header.encode(buffer.first_chunk_mut().expect("room for a header"));
        buffer.extend_zeroed(length);
        let file = self.file.as_ref().expect("opened above");
        let written = file.write_at(self.end.offset, buffer);
        // As it was, for another attempt.
        buffer.truncate(CHUNK_HEADER_BYTES + payload_bytes);
        written?;
        self.end.offset += length as u64;
        self.end.next_chunk += 1;
        self.end.position = to;
        Ok(())
    }

    /// The current file, opened if it was not. Its content is stable, since recovery made it so
    /// ([`super::archive::make_stable`]); the name of one that is made now becomes so.
    fn open_file(&mut self) -> Result<&dyn DiskFile, DiskError> {
        if self.file.is_none() {
            self.disk.create_directory(JOURNAL_DIRECTORY)?;
            let name = journal_file(self.end.file);
            let file = self.disk.open(&name, Access::Direct, Create::IfAbsent)?;
            self.disk.sync_directory(JOURNAL_DIRECTORY)?;
            self.file = Some(file);
        }
        Ok(&**self.file.as_ref().expect("opened above"))
    }

    fn next_file(&mut self) -> Result<(), JournalError> {
        let offset = self.end.offset;
        let file = self.open_file()?;
        if file.len()? > offset {
            // A stale chunk of before a crash must not be taken for the one that is written elsewhere.
            file.write_at(offset, &AlignedBuffer::zeroed(DIRECT_ALIGNMENT))?;
        }
        file.sync()?;
        self.synced();
        self.file = None;
        self.end.file += 1;
        self.end.offset = 0;
        Ok(())
    }

    /// All that was written is durable.
    fn synced(&mut self) {
        self.durable = self.end.position;
        self.durable_chunks = self.end.next_chunk;
    }

    fn remove_old_files(&mut self) -> Result<(), JournalError> {
        let Some(keep_bytes) = self.keep_bytes else {
            return Ok(());
        };
        if self.older.back().map_or(0, |&(number, _)| number + 1) < self.end.file {
            self.older.clear();
            for number in files(&*self.disk)?
                .into_iter()
                .filter(|&n| n < self.end.file)
            {
                let file = ArchiveFile::open(&*self.disk, self.identity, number)?;
                self.older.push_back((number, file.bytes()?));
            }
        }
        let mut newer: u64 =
            self.end.offset + self.older.iter().map(|&(_, bytes)| bytes).sum::<u64>();
        while let Some(&(number, bytes)) = self.older.front() {
            newer -= bytes;
            if newer < keep_bytes {
                break;
            }
            self.disk.remove(&journal_file(number))?;
            // Before the next one is removed: a crash that brings back this one must not leave a gap behind it.
            self.disk.sync_directory(JOURNAL_DIRECTORY)?;
            self.older.pop_front();
        }
        Ok(())
    }
}

/// Takes the journal records of one group.
#[derive(Debug)]
pub(crate) struct GroupRows<'a> {
    archiver: &'a mut Archiver,
    head: SectionHead,
    wanted: bool,
}

impl GroupRows<'_> {
    /// Takes an encoded journal record.
    #[inline]
    pub fn push(&mut self, record: &[u8]) {
        self.push_all(record, 1);
    }

    /// Takes so many encoded journal records, one after another.
    #[inline]
    pub fn push_all(&mut self, records: &[u8], count: u64) {
        if !self.wanted {
            return;
        }
        let archiver = &mut *self.archiver;
        let chunk = &mut archiver.chunk;
        if archiver.section.is_none() {
            archiver.section = Some(chunk.buffer.len());
            chunk.buffer.extend_from_slice(&self.head.encode());
        }
        chunk.buffer.extend_from_slice(records);
        chunk.rows += count;
    }
}
