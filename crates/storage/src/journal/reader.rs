//! The rows of one journal, or of all, oldest first: from the archive, then from the log behind it.
//!
//! A reader is a guest (I13): of a database that is open it holds nothing back. The log may be freed under
//! it, and its segments written anew, while it reads. That is noticed, since the groups in a segment name
//! their place (I5) and have checksums. The log is freed only when the archive has its rows, durably (I6). So
//! the reader continues there, after the rows that it has given, and comes back to the log at the archive's
//! end.

use super::archive::ArchiveReader;
use super::chunk::{ChunkHeader, Found, RowCursor, RowPlace};
use super::{JournalError, JournalPosition, Retention, journal_file};
use crate::disk::Disk;
use crate::log::reader::LogReader;
use crate::log::segment::{Segments, segment_file};
use crate::log::{LogError, LogPosition};
use crate::manifest::Manifest;
use std::sync::Arc;

/// A journal row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row<'a> {
    /// The journal's number.
    pub journal: u16,
    /// The group it was committed in.
    pub place: RowPlace,
    /// The content, as it was appended.
    pub bytes: &'a [u8],
}

/// Reads journal rows.
///
/// For a database that is written to meanwhile, give the place of its log with [`JournalReader::while_written`].
#[derive(Debug)]
pub struct JournalReader {
    disk: Arc<dyn Disk>,
    manifest: Manifest,
    journal: Option<u16>,
    /// The rows before here are not read.
    from: JournalPosition,
    before_group: Option<u64>,
    /// The log's segments, if the database is open.
    segments: Option<Arc<Segments>>,
    archive: ArchiveReader,
    chunk: Option<(ChunkHeader, RowCursor)>,
    log: Option<LogReader>,
    /// The rows of all groups before here were read from the log.
    read_to: LogPosition,
    /// The records of the log's current group, and the rows in it.
    group: Vec<u8>,
    group_rows: Option<RowCursor>,
}

/// The place of the next row.
enum Next {
    /// In the chunk that was read last.
    Archive(ChunkHeader, Found),
    /// In the group that was read last.
    Log(Found),
}

impl JournalReader {
    /// Starts at the oldest row kept, of one journal or, with `None`, of all, and reads no group from
    /// `before_group` on, if that is given.
    ///
    /// # Errors
    /// [`JournalError::NotKept`] if the database keeps no rows.
    #[inline]
    pub fn open(
        disk: &Arc<dyn Disk>,
        manifest: &Manifest,
        journal: Option<u16>,
        before_group: Option<u64>,
    ) -> Result<Self, JournalError> {
        if manifest.journal == Retention::Nothing {
            return Err(JournalError::NotKept);
        }
        Ok(JournalReader {
            disk: disk.clone(),
            manifest: manifest.clone(),
            journal,
            from: JournalPosition::START,
            before_group,
            segments: None,
            archive: ArchiveReader::open(disk, manifest.identity)?,
            chunk: None,
            log: None,
            read_to: LogPosition::START,
            group: Vec::new(),
            group_rows: None,
        })
    }

    /// Reads while the database is open and written to: these are its log's segments, and `before_group` is
    /// the first group that is not known to be durable. Nothing is held back: between two rows, or within a
    /// call of [`JournalReader::next_row`], anything may be committed, also by the reading thread.
    #[inline]
    pub fn while_written(mut self, segments: &Arc<Segments>, before_group: u64) -> Self {
        self.segments = Some(segments.clone());
        self.before_group = Some(before_group);
        self
    }

    /// Reads no row before a position. Rows before it are examined only as far as needed to find it.
    ///
    /// # Errors
    /// The disk's. When rows are read: [`JournalError::Removed`] if rows from there on were removed.
    #[inline]
    pub fn starting_at(mut self, from: JournalPosition) -> Result<Self, JournalError> {
        self.archive = open_archive(&self.disk, &self.manifest, from)?;
        self.from = from;
        Ok(self)
    }

    /// The place in the log of the first group whose rows are read, known from an earlier reading. So the log
    /// before it is not read, if that group is still in the log.
    #[inline]
    pub(super) fn with_log_from(mut self, position: LogPosition) -> Self {
        self.read_to = position;
        self
    }

    /// The next row, or `None` at the end.
    ///
    /// # Errors
    /// Errors: of the disk, of a damaged archive or a damaged log; [`JournalError::Overtaken`] if unread rows
    /// were removed.
    #[inline]
    pub fn next_row(&mut self) -> Result<Option<Row<'_>>, JournalError> {
        let (bytes, (place, journal, range)) = match self.find_next()? {
            Some(Next::Archive(header, found)) => (self.archive.payload(&header), found),
            Some(Next::Log(found)) => (&*self.group, found),
            None => return Ok(None),
        };
        Ok(Some(Row {
            journal,
            place,
            bytes: &bytes[range],
        }))
    }

    #[inline]
    fn find_next(&mut self) -> Result<Option<Next>, JournalError> {
        loop {
            let next = self.find_from_start()?;
            let place = match &next {
                Some(Next::Archive(_, found) | Next::Log(found)) => found.0,
                None => return Ok(None),
            };
            if place.position() >= self.from {
                return Ok(next);
            }
        }
    }

    /// The next row, one before the first that is wanted included.
    #[inline]
    fn find_from_start(&mut self) -> Result<Option<Next>, JournalError> {
        loop {
            if self.log.is_none() {
                while let Some((header, found)) = self.next_archived()? {
                    let group = found.0.group;
                    if self.before_group.is_some_and(|before| group >= before) {
                        return Ok(None);
                    }
                    if group >= self.read_to.group {
                        return Ok(Some(Next::Archive(header, found)));
                    }
                }
                let from = self.archive.position().max(self.read_to);
                if self.before_group.is_some_and(|before| from.group >= before) {
                    return Ok(None);
                }
                if !self.is_kept(from) {
                    self.look_again(from)?;
                    continue;
                }
            }
            let found = match self.log {
                None => self.open_log().and_then(|()| self.next_in_log()),
                Some(_) => self.next_in_log(),
            };
            match found {
                Ok(found) => return Ok(found.map(Next::Log)),
                // It was freed, before we looked or while we did: the archive has it.
                Err(_) if !self.is_kept(self.read_to.max(self.archive.position())) => {
                    self.log = None;
                    self.group_rows = None;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// True if the log exists from a position on, as far as that is known.
    #[inline]
    fn is_kept(&self, from: LogPosition) -> bool {
        let segments = self.segments.as_ref();
        segments.is_none_or(|segments| segments.keeps(from))
    }

    /// The log was freed beyond `from`, where the archive ended when it was read. That was before it
    /// was freed, so there is more now.
    #[inline]
    fn look_again(&mut self, from: LogPosition) -> Result<(), JournalError> {
        self.archive.look_again()?;
        match self.next_chunk()? {
            Some(header) if header.to.group > from.group => {
                self.chunk = Some((header, RowCursor::over_chunk(self.journal)));
                Ok(())
            }
            // Rows that were read from the log already.
            Some(_) => Ok(()),
            None => Err(JournalError::Overtaken { from: from.lsn }),
        }
    }

    #[inline]
    fn next_archived(&mut self) -> Result<Option<(ChunkHeader, Found)>, JournalError> {
        loop {
            if let Some((header, rows)) = &mut self.chunk {
                match rows.next(self.archive.payload(header)) {
                    Ok(Some(found)) => return Ok(Some((*header, found))),
                    Ok(None) => self.chunk = None,
                    Err(source) => {
                        let (file, end) = self.archive.place();
                        let offset = end - header.bytes_on_disk() as u64;
                        return Err(JournalError::Record {
                            file,
                            offset,
                            source,
                        });
                    }
                }
            }
            let Some(header) = self.next_chunk()? else {
                return Ok(None);
            };
            self.chunk = Some((header, RowCursor::over_chunk(self.journal)));
        }
    }

    /// The archive's next chunk. Its oldest files may be removed while it is read.
    #[inline]
    fn next_chunk(&mut self) -> Result<Option<ChunkHeader>, JournalError> {
        loop {
            let position = self.archive.position();
            let first = position == LogPosition::START;
            let error = match self.archive.next_chunk() {
                Ok(Some(header))
                    if first
                        && self.manifest.journal == Retention::All
                        && header.number != 0
                        && header.from.group > self.from.group =>
                {
                    return Err(JournalError::Damaged {
                        file: self.archive.place().0,
                        offset: 0,
                        reason: "the files before it are missing",
                        from: LogPosition::START.lsn,
                    });
                }
                Ok(Some(header))
                    if first
                        && self.from != JournalPosition::START
                        && header.from.group > self.from.group
                        && header.number != 0 =>
                {
                    return Err(JournalError::Removed {
                        from: self.from,
                        oldest: header.from.group,
                    });
                }
                // The rows between those read from the log and the oldest kept ones are removed.
                Ok(Some(header))
                    if self.read_to != LogPosition::START
                        && header.from.group > self.read_to.group.max(position.group) =>
                {
                    let from = self.read_to.max(position).lsn;
                    return Err(JournalError::Overtaken { from });
                }
                Ok(found) => return Ok(found),
                Err(error) => error,
            };
            let may_be_removed = matches!(self.manifest.journal, Retention::KeepBytes(_));
            if self.segments.is_none() || !may_be_removed || !self.archive.is_overtaken()? {
                return Err(error);
            }
            let from = self.archive.position();
            if from != LogPosition::START {
                return Err(JournalError::Overtaken { from: from.lsn });
            }
            // Nothing was read yet: the oldest row kept is another one now.
            self.archive = open_archive(&self.disk, &self.manifest, self.from)?;
        }
    }

    #[inline]
    fn open_log(&mut self) -> Result<(), JournalError> {
        let from = self.archive.position().max(self.read_to);
        let log = LogReader::open(&self.disk, self.manifest.log_layout(), from);
        let log = match (log, self.archive.stop()) {
            (Err(LogError::MissingSegment { .. }), Some(stop)) => {
                return Err(JournalError::Damaged {
                    file: self.disk.display_name(&journal_file(stop.file)),
                    offset: stop.offset,
                    reason: stop.reason,
                    from: from.lsn,
                });
            }
            (log, _) => log?,
        };
        self.read_to = from;
        self.log = Some(match self.before_group {
            Some(group) => log.until_group(group),
            None => log,
        });
        Ok(())
    }

    #[inline]
    fn next_in_log(&mut self) -> Result<Option<Found>, JournalError> {
        let log = self.log.as_mut().expect("the log was opened");
        loop {
            if let Some(rows) = &mut self.group_rows {
                match rows.next(&self.group) {
                    Ok(Some(found)) => return Ok(Some(found)),
                    Ok(None) => {
                        self.group_rows = None;
                        self.read_to = log.position();
                    }
                    Err(source) => {
                        let file = format!("the log, before LSN {}", log.position().lsn);
                        return Err(JournalError::Record {
                            file,
                            offset: 0,
                            source,
                        });
                    }
                }
            }
            let at = log.position().lsn;
            if let Some(segments) = &self.segments
                && !segments.keeps(log.position())
            {
                let segment = segments.layout().segment_of(at);
                let file = self.disk.display_name(&segment_file(segment));
                return Err(LogError::MissingSegment { file, needed: at }.into());
            }
            let Some((header, payload)) = log.next_group()? else {
                return Ok(None);
            };
            self.group.clear();
            self.group.extend_from_slice(payload);
            let place = RowPlace {
                lsn: header.lsn,
                group: header.number,
                first_transaction: header.first_transaction,
                row: 0,
            };
            self.group_rows = Some(RowCursor::over_group(self.journal, place, payload.len()));
        }
    }
}

/// The archive, from the place of a position's row, if it is there.
#[inline]
pub(super) fn open_archive(
    disk: &Arc<dyn Disk>,
    manifest: &Manifest,
    from: JournalPosition,
) -> Result<ArchiveReader, JournalError> {
    match from.group {
        // Nothing is before the first group.
        0 | 1 => ArchiveReader::open(disk, manifest.identity),
        group => ArchiveReader::open_at(disk, manifest.identity, group),
    }
}
