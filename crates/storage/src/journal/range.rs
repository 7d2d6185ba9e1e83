//! The rows of a journal between two positions, from either end: the newest ten without the million before
//! them.
//!
//! Forward it is a [`JournalReader`] that begins at the first position. Backward the range is cut into
//! stretches, each a chunk of the archive or a piece of the log. Of the archive's chunks only the headers
//! are read for that, of the log, which is bounded, all. Then the stretches are read from the last one on,
//! each forward and whole, and its rows are given in reverse.
//!
//! A range is a guest like the reader (I13): it holds nothing back, and gets an error if rows are removed
//! before it has read them.

use super::chunk::RowPlace;
use super::reader::{JournalReader, open_archive};
use super::{JournalError, JournalPosition, Retention};
use crate::disk::Disk;
use crate::log::LogPosition;
use crate::log::reader::LogReader;
use crate::log::segment::Segments;
use crate::manifest::Manifest;
use std::ops::Range;
use std::sync::Arc;

/// Records of the log in a stretch, in bytes, unless a group has more.
const STRETCH_BYTES: usize = 1 << 20;

/// Rows of a journal between two positions.
#[derive(Debug)]
pub struct RowRange {
    disk: Arc<dyn Disk>,
    manifest: Manifest,
    journal: Option<u16>,
    segments: Option<Arc<Segments>>,
    before_group: Option<u64>,
    /// The rows not given yet, from either end.
    rest: Range<JournalPosition>,
    forward: Option<JournalReader>,
    backward: Option<Backward>,
}

/// A row that owns its bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OwnedRow {
    /// The journal's number.
    pub journal: u16,
    /// The place of its writing.
    pub place: RowPlace,
    /// The content, as it was appended.
    pub bytes: Vec<u8>,
}

/// The stretches not read yet, the last one at the end, and the rows of the one that was read last.
#[derive(Debug, Default)]
struct Backward {
    stretches: Vec<Stretch>,
    rows: Vec<OwnedRow>,
    /// The oldest group that is kept, if rows of the range are older and were removed.
    oldest: Option<u64>,
}

/// Groups from a position in the log on, before another.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    from: LogPosition,
    before_group: u64,
}

impl RowRange {
    /// The rows of one journal, or of all, from a position on and before another.
    ///
    /// # Errors
    /// [`JournalError::NotKept`] if the database keeps no rows.
    #[inline]
    pub fn open(
        disk: &Arc<dyn Disk>,
        manifest: &Manifest,
        journal: Option<u16>,
        range: Range<JournalPosition>,
    ) -> Result<Self, JournalError> {
        if manifest.journal == Retention::Nothing {
            return Err(JournalError::NotKept);
        }
        Ok(RowRange {
            disk: disk.clone(),
            manifest: manifest.clone(),
            journal,
            segments: None,
            before_group: None,
            rest: range,
            forward: None,
            backward: None,
        })
    }

    /// As [`JournalReader::while_written`].
    #[inline]
    pub fn while_written(mut self, segments: &Arc<Segments>, before_group: u64) -> Self {
        self.segments = Some(segments.clone());
        self.before_group = Some(before_group);
        self
    }

    /// Reads no group from `before_group` on.
    #[inline]
    pub fn until_group(mut self, before_group: u64) -> Self {
        self.before_group = Some(before_group);
        self
    }

    /// The next row from the front, or `None` if there is none left.
    ///
    /// # Errors
    /// The errors of [`JournalReader::next_row`]; [`JournalError::Removed`] if the range begins before the
    /// kept rows.
    #[inline]
    pub fn next_row(&mut self) -> Result<Option<OwnedRow>, JournalError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let mut reader = match self.forward.take() {
            Some(reader) => reader,
            None => self.reader(self.rest.start, self.before_group)?,
        };
        let row = reader.next_row()?.map(|row| OwnedRow {
            journal: row.journal,
            place: row.place,
            bytes: row.bytes.to_vec(),
        });
        let row = row.filter(|row| row.place.position() < self.rest.end);
        match &row {
            Some(row) => self.rest.start = row.place.position().next(),
            None => self.rest.end = self.rest.start,
        }
        self.forward = Some(reader);
        Ok(row)
    }

    /// The next row from the back, or `None` if there is none left.
    ///
    /// # Errors
    /// The errors of [`RowRange::next_row`].
    #[inline]
    pub fn next_row_back(&mut self) -> Result<Option<OwnedRow>, JournalError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let mut backward = match self.backward.take() {
            Some(backward) => backward,
            None => self.plan_backward()?,
        };
        let row = self.last_row(&mut backward)?;
        match &row {
            Some(row) => self.rest.end = row.place.position(),
            None => self.rest.end = self.rest.start,
        }
        self.backward = Some(backward);
        Ok(row)
    }

    #[inline]
    fn last_row(&self, backward: &mut Backward) -> Result<Option<OwnedRow>, JournalError> {
        loop {
            if let Some(row) = backward.rows.pop() {
                let position = row.place.position();
                if position < self.rest.start {
                    return Ok(None);
                }
                if position < self.rest.end {
                    return Ok(Some(row));
                }
                continue;
            }
            let Some(stretch) = backward.stretches.pop() else {
                let from = self.rest.start;
                let removed = |oldest| Err(JournalError::Removed { from, oldest });
                return backward.oldest.map_or(Ok(None), removed);
            };
            let from = JournalPosition {
                group: stretch.from.group,
                row: 0,
            };
            let mut reader = self
                .reader(from, Some(stretch.before_group))?
                .with_log_from(stretch.from);
            while let Some(row) = reader.next_row()? {
                backward.rows.push(OwnedRow {
                    journal: row.journal,
                    place: row.place,
                    bytes: row.bytes.to_vec(),
                });
            }
        }
    }

    #[inline]
    fn reader(
        &self,
        from: JournalPosition,
        before_group: Option<u64>,
    ) -> Result<JournalReader, JournalError> {
        let reader = JournalReader::open(&self.disk, &self.manifest, self.journal, before_group)?
            .starting_at(from)?;
        Ok(match (&self.segments, before_group) {
            (Some(segments), Some(group)) => reader.while_written(segments, group),
            _ => reader,
        })
    }

    /// Finds the stretches that the range lies in.
    #[inline]
    fn plan_backward(&self) -> Result<Backward, JournalError> {
        loop {
            let (mut backward, end) = self.archived()?;
            match self.logged(end, &mut backward.stretches) {
                Ok(()) => return Ok(backward),
                // The log was freed meanwhile: the archive has more now.
                Err(_) if !self.is_kept(end) => {}
                Err(error) => return Err(error),
            }
        }
    }

    #[inline]
    fn is_kept(&self, from: LogPosition) -> bool {
        let segments = self.segments.as_ref();
        segments.is_none_or(|segments| segments.keeps(from))
    }

    /// The group before which all rows of the range are.
    #[inline]
    fn end_group(&self) -> u64 {
        let end = self.rest.end.group.saturating_add(1);
        self.before_group.map_or(end, |before| end.min(before))
    }

    /// The stretches in the archive, and the archive's end.
    #[inline]
    fn archived(&self) -> Result<(Backward, LogPosition), JournalError> {
        let mut archive = open_archive(&self.disk, &self.manifest, self.rest.start)?;
        let mut backward = Backward::default();
        let mut first = true;
        while let Some(header) = archive.next_header()? {
            let (oldest, start) = (header.from.group, self.rest.start);
            if std::mem::take(&mut first) && header.number != 0 && start != JournalPosition::START {
                backward.oldest = (oldest > start.group).then_some(oldest);
            }
            if header.from.group >= self.end_group() {
                break;
            }
            if header.to.group > self.rest.start.group {
                backward.stretches.push(Stretch {
                    from: header.from,
                    before_group: header.to.group.min(self.end_group()),
                });
            }
        }
        Ok((backward, archive.position()))
    }

    /// The stretches in the log, from the archive's end.
    #[inline]
    fn logged(&self, from: LogPosition, stretches: &mut Vec<Stretch>) -> Result<(), JournalError> {
        if from.group >= self.end_group() {
            return Ok(());
        }
        let log = LogReader::open(&self.disk, self.manifest.log_layout(), from)?;
        let mut log = log.until_group(self.end_group());
        let (mut start, mut bytes) = (from, 0);
        loop {
            if !self.is_kept(log.position()) {
                let from = log.position().lsn;
                return Err(JournalError::Overtaken { from });
            }
            let read = log.next_group()?.map(|(_, payload)| payload.len());
            bytes += read.unwrap_or(0);
            let end = log.position();
            if (read.is_none() || bytes >= STRETCH_BYTES) && end.group > start.group {
                if end.group > self.rest.start.group {
                    stretches.push(Stretch {
                        from: start,
                        before_group: end.group,
                    });
                }
                (start, bytes) = (end, 0);
            }
            if read.is_none() {
                return Ok(());
            }
        }
    }
}
