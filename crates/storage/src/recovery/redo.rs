//! The redo pass. It applies the log's groups to the pages and gives the archive its missing rows. It writes the part
//! of the log again that is not proved durable (see [`super::stable`]).
//!
//! The archive gets a group's rows only when the group is durable: a later group that is being read
//! knew it so, or it was written again. For that, the rows of the few groups between are kept.
//! (I2, for the archive: it must never have rows that the log may lack.)

use super::error::RecoveryError;
use super::stable::write_tail_again;
use super::{InstallError, LogError, install, pass_over};
use crate::disk::Disk;
use crate::journal::Archiver;
use crate::log::group::GroupHeader;
use crate::log::reader::LogReader;
use crate::log::segment::segment_file;
use crate::log::{LogLayout, LogPosition};
use crate::manifest::{MANIFEST_FILE, Manifest};
use crate::store::PageStore;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The part that needs the log from the start of recovery, and its damage.
pub(super) struct Needs {
    pub needed_by: String,
    pub damaged_offsets: Vec<u64>,
}

impl Needs {
    /// A segment that is missing was freed, because something later had made it superfluous. Files
    /// before it may still be there, waiting to be used again.
    pub fn explain(&self, error: LogError) -> RecoveryError {
        match error {
            LogError::MissingSegment { file, needed } => RecoveryError::LogFreed {
                file,
                needed_by: self.needed_by.clone(),
                needed,
                damaged_offsets: self.damaged_offsets.clone(),
            },
            error => error.into(),
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub groups: u64,
    pub transactions: u64,
    pub writes: u64,
    pub record_bytes: u64,
    pub journal_rows: u64,
}

/// The place at which the log is written again.
pub(super) struct Tail<'a> {
    pub disk: &'a Arc<dyn Disk>,
    pub layout: LogLayout,
    /// The backup and the archive prove that the groups before this one are durable.
    pub durable_before: u64,
}

/// A group that nothing that was read so far proves durable.
struct Unproved {
    /// The place before it.
    before: LogPosition,
    header: GroupHeader,
    rows: Rows,
}

/// A group's journal records, one after another.
#[derive(Default)]
struct Rows {
    records: Vec<u8>,
    count: u64,
}

/// The redo pass.
pub(super) struct Redo {
    pub reader: LogReader,
    needs: Needs,
    pub totals: Totals,
    /// The time of writing the log's tail again.
    pub stable_time: Duration,
    /// A recorded end of the log, if that is known.
    recorded: Option<Recorded>,
    /// The first group that changes the pages as they were last compacted.
    pages_from: u64,
}

/// The log's end when the manifest was written.
struct Recorded {
    disk: Arc<dyn Disk>,
    layout: LogLayout,
    end: LogPosition,
}

impl Recorded {
    /// The group after which the log ended is still the one that it was then.
    fn check(&self, header: &GroupHeader) -> Result<(), RecoveryError> {
        let (found, recorded) = (header.next_position(), self.end);
        if found.group != recorded.group || found == recorded {
            return Ok(());
        }
        let segment = self.layout.segment_of(header.lsn);
        let error = LogError::Inconsistent {
            file: self.disk.display_name(&segment_file(segment)),
            offset: self.layout.offset_in_segment(header.lsn),
            number: header.number,
            reason: format!(
                "{MANIFEST_FILE} records that the log ended after it at LSN {}, with {} transactions, \
                 in incarnation {}",
                recorded.lsn, recorded.transactions, recorded.incarnation
            ),
        };
        Err(error.into())
    }
}

impl Redo {
    pub fn new(reader: LogReader, needs: Needs) -> Redo {
        Redo {
            reader,
            needs,
            totals: Totals::default(),
            stable_time: Duration::ZERO,
            recorded: None,
            pages_from: 0,
        }
    }

    /// Has the log compared with the manifest's record of its end, and groups before the last compaction applied to no
    /// page: an archive that is behind may need them for its rows.
    pub fn expect_end(&mut self, disk: &Arc<dyn Disk>, manifest: &Manifest) {
        self.recorded = Some(Recorded {
            disk: disk.clone(),
            layout: manifest.log_layout(),
            end: manifest.log_end,
        });
        self.pages_from = manifest.compacted.map_or(0, |compacted| compacted.group);
    }

    /// Applies all groups. `archived`: the first group whose rows the archive lacks. `tail`: writes the log again that
    /// is not proved durable; `None` changes nothing, and then there is no archiver.
    pub fn run(
        &mut self,
        store: &mut PageStore,
        archived: Option<u64>,
        mut archiver: Option<&mut Archiver>,
        tail: Option<Tail<'_>>,
    ) -> Result<(), RecoveryError> {
        let archived_before = archived.unwrap_or(u64::MAX);
        let mut durable_before = tail.as_ref().map_or(0, |tail| tail.durable_before);
        let mut unproved: VecDeque<Unproved> = VecDeque::new();
        let mut spare = Vec::new();
        loop {
            let before = self.reader.position();
            let next = self.reader.next_group();
            let Some((header, payload)) = next.map_err(|error| self.needs.explain(error))? else {
                break;
            };
            if let Some(recorded) = &self.recorded {
                recorded.check(&header)?;
            }
            let mut rows: Rows = spare.pop().unwrap_or_default();
            let wanted = archiver.is_some() && header.number >= archived_before;
            let changes_pages = header.number >= self.pages_from;
            let installed = match (changes_pages, wanted) {
                (true, false) => install(store, payload, |_| {}),
                (true, true) => install(store, payload, |record| rows.push(record)),
                (false, _) => pass_over(payload, |record| {
                    if wanted {
                        rows.push(record);
                    }
                }),
            };
            let installed = installed.map_err(|error| of_group(&header, error))?;
            let totals = &mut self.totals;
            totals.groups += 1;
            totals.transactions += installed.transactions;
            totals.writes += installed.writes;
            totals.record_bytes += u64::from(header.payload_bytes);
            if header.number >= archived_before {
                totals.journal_rows += installed.journal_rows;
            }
            if tail.is_none() {
                continue;
            }
            durable_before = durable_before.max(header.durable_number + 1);
            unproved.push_back(Unproved {
                before,
                header,
                rows,
            });
            while let Some(group) = unproved.pop_front_if(|g| g.header.number < durable_before) {
                spare.push(archive(group, &mut archiver)?);
            }
        }
        let Some(tail) = tail else { return Ok(()) };
        let end = self.reader.position();
        if !self.reader.is_bounded() {
            let first = unproved.front().map_or(end, |group| group.before);
            let started = Instant::now();
            write_tail_again(tail.disk, tail.layout, first, end)?;
            self.stable_time = started.elapsed();
        }
        for group in unproved {
            archive(group, &mut archiver)?;
        }
        Ok(())
    }
}

impl Rows {
    #[inline]
    fn push(&mut self, record: &[u8]) {
        self.records.extend_from_slice(record);
        self.count += 1;
    }
}

/// Gives the archive a durable group's rows; returns the emptied room for them.
fn archive(group: Unproved, archiver: &mut Option<&mut Archiver>) -> Result<Rows, RecoveryError> {
    let Unproved {
        header, mut rows, ..
    } = group;
    if let Some(archiver) = archiver {
        if rows.count > 0 {
            archiver.group(&header).push_all(&rows.records, rows.count);
        }
        archiver.end_group(&header);
        match archiver.write_waiting() {
            // On a full disk the rows wait in memory: the log has them, and a database that cannot be
            // opened cannot be made smaller.
            Err(error) if error.may_be_tried_again() => {}
            written => written?,
        }
    }
    rows.records.clear();
    rows.count = 0;
    Ok(rows)
}

fn of_group(header: &GroupHeader, error: InstallError) -> RecoveryError {
    match error {
        InstallError::Store(error) => RecoveryError::Store(error),
        InstallError::Record(source) => RecoveryError::Record {
            group: header.number,
            lsn: header.lsn,
            source,
        },
    }
}
