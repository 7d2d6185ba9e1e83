//! Rows of a journal from the files of a database that other processes write to, without locks.
//!
//! The process that takes checkpoints may free the log meanwhile, when the archive has it; the reader detects that,
//! and begins again behind the last row that it gave.

use super::super::NodeError;
use sardonyx_storage::disk::Disk;
use sardonyx_storage::journal::{JournalError, JournalPosition, RowRange};
use sardonyx_storage::manifest::Manifest;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

/// The number of times that reading begins again where the log was freed; after that, the log's error counts.
const ATTEMPTS: u32 = 8;

/// The source from which a node reads the rows of a journal.
pub(in super::super) trait JournalSource: Debug + Send {
    /// The next one and its position; `None`: there are no more.
    ///
    /// # Errors
    /// An error if it cannot. Then there are no more.
    fn next_row(&mut self) -> Result<Option<(JournalPosition, Vec<u8>)>, NodeError>;
}

/// Rows from files.
#[derive(Debug)]
pub(in super::super) struct LogRows {
    disk: Arc<dyn Disk>,
    manifest: Manifest,
    number: u16,
    before_group: u64,
    /// The rows not given yet.
    rest: Range<JournalPosition>,
    rows: RowRange,
}

fn open(
    disk: &Arc<dyn Disk>,
    manifest: &Manifest,
    number: u16,
    rest: &Range<JournalPosition>,
    before_group: u64,
) -> Result<RowRange, JournalError> {
    let rows = RowRange::open(disk, manifest, Some(number), rest.clone())?;
    // If the log ends before that, it was freed meanwhile: an error says so.
    Ok(rows.until_group(before_group))
}

impl LogRows {
    /// The rows at positions of a range, of groups before this one, which are durable.
    ///
    /// # Errors
    /// [`NodeError::Journal`] if the database keeps no rows.
    pub fn open(
        disk: &Arc<dyn Disk>,
        manifest: &Manifest,
        number: u16,
        rest: Range<JournalPosition>,
        before_group: u64,
    ) -> Result<Self, NodeError> {
        let rows = open(disk, manifest, number, &rest, before_group)?;
        Ok(LogRows {
            disk: disk.clone(),
            manifest: manifest.clone(),
            number,
            before_group,
            rest,
            rows,
        })
    }
}

impl JournalSource for LogRows {
    fn next_row(&mut self) -> Result<Option<(JournalPosition, Vec<u8>)>, NodeError> {
        let mut attempts = 0;
        loop {
            match self.rows.next_row() {
                Ok(None) => return Ok(None),
                Ok(Some(row)) => {
                    let position = row.place.position();
                    self.rest.start = position.next();
                    return Ok(Some((position, row.bytes)));
                }
                // Log that was freed under the reader may look like damage; the archive has it.
                Err(_) if attempts < ATTEMPTS => {
                    attempts += 1;
                    let (disk, manifest) = (&self.disk, &self.manifest);
                    self.rows = open(disk, manifest, self.number, &self.rest, self.before_group)?;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}
