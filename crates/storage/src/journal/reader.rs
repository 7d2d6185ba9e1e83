//! The rows of one journal, or of all, oldest first: from the archive, then from the log behind it.

use super::archive::ArchiveReader;
use super::chunk::{ChunkHeader, Found, RowCursor, RowPlace};
use super::{JournalError, Retention, journal_file};
use crate::disk::Disk;
use crate::log::reader::LogReader;
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
    /// The row.
    pub bytes: &'a [u8],
}

/// Reads journal rows.
///
/// While the database is written to, hold the log back (see [`crate::log::segment::Segments::pin`])
/// from before [`JournalReader::open`] until the reader is dropped, and give the number of the first
/// group that is not known to be durable.
#[derive(Debug)]
pub struct JournalReader {
    disk: Arc<dyn Disk>,
    manifest: Manifest,
    journal: Option<u16>,
    before_group: Option<u64>,
    archive: ArchiveReader,
    chunk: Option<(ChunkHeader, RowCursor)>,
    log: Option<LogReader>,
    /// The records of the log's current group, and the rows in it.
    group: Vec<u8>,
    group_rows: Option<RowCursor>,
}

impl JournalReader {
    /// Starts at the oldest row kept, of one journal or, with `None`, of all. `before_group`: of a database that is being written to, read
    /// no group from this number on.
    ///
    /// # Errors
    /// [`JournalError::NotKept`] if the database keeps no rows.
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
            before_group,
            archive: ArchiveReader::open(disk, manifest.identity)?,
            chunk: None,
            log: None,
            group: Vec::new(),
            group_rows: None,
        })
    }

    /// Starts in the log instead, at a position that it reaches back to: where the archive is kept
    /// elsewhere.
    pub fn open_in_log(
        disk: &Arc<dyn Disk>,
        manifest: &Manifest,
        journal: Option<u16>,
        from: LogPosition,
        before_group: u64,
    ) -> Result<Self, JournalError> {
        let mut reader = Self::open(disk, manifest, journal, Some(before_group))?;
        let log = LogReader::open(disk, manifest.log_layout(), from)?;
        reader.log = Some(log.until_group(before_group));
        Ok(reader)
    }

    /// The next row, or `None` at the log's end.
    ///
    /// # Errors
    /// What the disk, a damaged archive or a damaged log may give.
    pub fn next_row(&mut self) -> Result<Option<Row<'_>>, JournalError> {
        if self.log.is_none() {
            if let Some((header, (place, journal, range))) = self.next_archived()? {
                let bytes = &self.archive.payload(&header)[range];
                return Ok(Some(Row {
                    journal,
                    place,
                    bytes,
                }));
            }
            self.open_log()?;
        }
        let Some((place, journal, range)) = self.next_in_log()? else {
            return Ok(None);
        };
        Ok(Some(Row {
            journal,
            place,
            bytes: &self.group[range],
        }))
    }

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
            let first = self.archive.position() == LogPosition::START;
            let Some(header) = self.archive.next_chunk()? else {
                return Ok(None);
            };
            if first && self.manifest.journal == Retention::All && header.number != 0 {
                return Err(JournalError::Damaged {
                    file: self.archive.place().0,
                    offset: 0,
                    reason: "the files before it are missing",
                    from: LogPosition::START.lsn,
                });
            }
            self.chunk = Some((header, RowCursor::over_chunk(self.journal)));
        }
    }

    fn open_log(&mut self) -> Result<(), JournalError> {
        let from = self.archive.position();
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
        self.log = Some(match self.before_group {
            Some(group) => log.until_group(group),
            None => log,
        });
        Ok(())
    }

    fn next_in_log(&mut self) -> Result<Option<Found>, JournalError> {
        let log = self.log.as_mut().expect("the log was opened");
        loop {
            if let Some(rows) = &mut self.group_rows {
                match rows.next(&self.group) {
                    Ok(Some(found)) => return Ok(Some(found)),
                    Ok(None) => self.group_rows = None,
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
            let Some((header, payload)) = log.next_group()? else {
                return Ok(None);
            };
            self.group.clear();
            self.group.extend_from_slice(payload);
            let place = RowPlace {
                lsn: header.lsn,
                group: header.number,
                first_transaction: header.first_transaction,
            };
            self.group_rows = Some(RowCursor::over_group(self.journal, place, payload.len()));
        }
    }
}
