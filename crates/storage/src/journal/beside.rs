//! The end of a log that another process writes to, for whoever reads its journals and is to tell of nothing that could be
//! gone after a power cut.
//!
//! Groups are believed in their order, from the place on that the manifest says was the log's end at the last opening: all
//! before is stable, and nothing that an earlier crash left chains behind it. Whole groups that are found are made stable by
//! a sync of their file, whoever wrote them: then they are the log's at any recovery, acknowledged or not. Most are stable
//! already, and the sync finds nothing to do.
//!
//! A look without news reads a block.

use crate::disk::{Access, AlignedBuffer, Create, Disk};
use crate::log::group::{GROUP_ALIGNMENT, GroupHeader};
use crate::log::reader::LogReader;
use crate::log::segment::{LOG_DIRECTORY, segment_file, segment_of_file};
use crate::log::{LogError, LogLayout, LogPosition, Lsn};
use crate::manifest::Manifest;
use std::sync::Arc;

/// Where a log ends that another process writes to.
#[derive(Debug)]
pub struct LogEndBeside {
    disk: Arc<dyn Disk>,
    layout: LogLayout,
    /// Everything before here is stable.
    end: LogPosition,
}

impl LogEndBeside {
    /// Of the database of this manifest, which was read before.
    pub fn new(disk: &Arc<dyn Disk>, manifest: &Manifest) -> Self {
        LogEndBeside {
            disk: disk.clone(),
            layout: manifest.log_layout(),
            end: manifest.log_end,
        }
    }

    /// Looks again: the number of the first group that is not stable, or not there.
    ///
    /// # Errors
    /// The disk's; that the log was changed while it was read: then another look may succeed.
    pub fn look(&mut self) -> Result<u64, LogError> {
        if !self.has_more()? {
            return Ok(self.end.group);
        }
        let Some(mut reader) = self.reader()? else {
            return Ok(self.end.group);
        };
        let first = self.layout.segment_of(reader.position().lsn);
        let mut end = reader.position();
        // Not asked for more than begins there: at a log's end a reader looks at everything behind it.
        while self.begins_at(end)? && reader.next_group()?.is_some() {
            end = reader.position();
        }
        for segment in first..=self.layout.segment_of(end.lsn) {
            match self
                .disk
                .open(&segment_file(segment), Access::Buffered, Create::No)
            {
                Ok(file) => file.sync()?,
                // The log ends where one ends, or this one was freed: then it was stable.
                Err(error) if error.source.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.end = end;
        Ok(end.group)
    }

    /// Whether there may be another group: where it would begin, here or in the next segment, or the log was freed from here
    /// on.
    fn has_more(&self) -> Result<bool, LogError> {
        let segment = self.layout.segment_of(self.end.lsn);
        Ok(self.begins_at(self.end)? || !self.segments()?.contains(&segment))
    }

    /// Whether the next group behind a place has begun to be written: there, or in the next segment.
    fn begins_at(&self, end: LogPosition) -> Result<bool, LogError> {
        let next = self
            .layout
            .segment_start(self.layout.segment_of(end.lsn) + 1);
        for lsn in [end.lsn, next] {
            let header = self.header_at(lsn)?;
            if header.is_some_and(|header| header.number == end.group) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn segments(&self) -> Result<Vec<u64>, LogError> {
        let names = self.disk.list(LOG_DIRECTORY)?;
        Ok(names
            .iter()
            .filter_map(|name| segment_of_file(name))
            .collect())
    }

    /// The header of a group of this log that stands at an LSN.
    fn header_at(&self, lsn: Lsn) -> Result<Option<GroupHeader>, LogError> {
        let name = segment_file(self.layout.segment_of(lsn));
        let file = match self.disk.open(&name, Access::Buffered, Create::No) {
            Ok(file) => file,
            Err(error) if error.source.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let mut block = AlignedBuffer::zeroed(GROUP_ALIGNMENT);
        file.read_at(self.layout.offset_in_segment(lsn), &mut block)?;
        let header = GroupHeader::decode(&block);
        Ok(header.filter(|header| header.lsn == lsn && header.identity == self.layout.identity))
    }

    /// Reads on from the end; if that was freed long ago, from the newest segment on, which is then behind all that an
    /// earlier crash left. Nothing, if the end's segment is not made yet.
    fn reader(&self) -> Result<Option<LogReader>, LogError> {
        match LogReader::open(&self.disk, self.layout, self.end) {
            Ok(reader) => return Ok(Some(reader.beside_writer())),
            Err(LogError::MissingSegment { .. }) => {}
            Err(error) => return Err(error),
        }
        let mut newest: Option<GroupHeader> = None;
        for segment in self.segments()? {
            let found = self.header_at(self.layout.segment_start(segment))?;
            let order = |header: &GroupHeader| (header.incarnation, header.number);
            if found.as_ref().map(order) > newest.as_ref().map(order) {
                newest = found;
            }
        }
        match newest {
            Some(newest) if newest.number >= self.end.group => {
                let from = newest.position_before();
                let reader = LogReader::open(&self.disk, self.layout, from)?;
                Ok(Some(reader.beside_writer()))
            }
            _ => Ok(None),
        }
    }
}
