//! Recovery: the newest whole version of every backup block, then the log from the oldest of their positions on. Then
//! a copy is made for the checkpointer.
//!
//! It changes no byte of the log and the backup, so it may be killed at any instruction and repeated. It does make the
//! backup, the log and the archive stable before it relies on them, names included (`stable`). Their writers may have
//! been killed before doing so, or have failed to. Recovered data will be acknowledged, checkpointed and freed from
//! the log (I1, I2, I6). It writes the journal rows that the archive lacks, which is idempotent.
//!
//! Invariants: I2, I3, I4 (in the log's reader), I8.
//!
//! Source: TPK paper, section 2, "Recovery".

mod error;
mod kept;
mod load;
mod redo;
mod report;
mod segments;
mod stable;
mod without_copy;

pub use error::RecoveryError;
pub use kept::recover_kept;
pub use report::{RecoveryReport, StripeReport};
pub use without_copy::recover_without_copy;

use crate::checkpoint::checkpointer::Resume;
use crate::checkpoint::shadow::Shadow;
use crate::checkpoint::{
    Checkpointer, Checkpoints, InstallError, StripeLayout, install, pass_over,
};
use crate::disk::Disk;
use crate::journal::archive::{ArchiveEnd, find_end, make_stable};
use crate::journal::{Archiver, JournalError, Retention, journal_file};
use crate::log::reader::LogReader;
use crate::log::segment::segment_file;
use crate::log::{LogError, LogPosition};
use crate::manifest::{MANIFEST_FILE, Manifest};
use crate::store::PageStore;
use load::LoadedStripe;
use redo::{Needs, Redo, Tail};
use segments::{check_no_gap, check_starts, is_to_be_made};
pub(crate) use stable::make_names_stable;
#[cfg(feature = "hosts")]
pub(crate) use stable::write_tail_again;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// More threads than these are of no use, however many are asked for.
pub const WORKERS_MAX: usize = 256;

/// Memory, threads, and the kind of recovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecoveryOptions {
    /// The most memory the database's pages may take, in bytes; DB', if there is one, may take as much again.
    pub memory_max_bytes: u64,
    /// Threads that load the backup and copy the pages; at least 1, at most [`WORKERS_MAX`].
    pub workers: usize,
    /// Change nothing at all on disk, not even the journal's archive, and make no checkpointers: to
    /// see whether and how a database recovers, or to read it.
    pub dry_run: bool,
    /// For a dry run: others may write to the database meanwhile. The result is then a past state of the database, of
    /// whole transactions, after all that were durable when this began. The log ends for this reader at the first
    /// group that is still being written. A damaged part may have been changed meanwhile
    /// ([`LogReader::beside_writer`]): rely on the result of a second recovery, too.
    pub beside_writer: bool,
    /// Large parts of the database may never have been touched: memory is to follow use.
    pub sparse: bool,
    /// The end of the log, if this process has written it, and no other opening was in between. A host that follows
    /// and then takes over knows it. The prepared space behind it, which may be two segments, is not read once more.
    pub known_end: Option<KnownEnd>,
    /// The source of the checkpointers' blocks.
    pub checkpoints: Checkpoints,
}

impl Default for RecoveryOptions {
    /// At most 1 TiB of pages, a worker for each processor, not a dry run, not sparse.
    fn default() -> Self {
        RecoveryOptions {
            memory_max_bytes: 1 << 40,
            workers: std::thread::available_parallelism().map_or(1, usize::from),
            dry_run: false,
            beside_writer: false,
            sparse: false,
            known_end: None,
            checkpoints: Checkpoints::default(),
        }
    }
}

/// The end of a log, and the opening that left it so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KnownEnd {
    /// The position behind the last group.
    pub position: LogPosition,
    /// The manifest's end of the log then, which may be before that.
    pub recorded: LogPosition,
    /// The manifest's incarnation then: each opening that may write counts it up.
    pub incarnation: u32,
}

impl KnownEnd {
    /// True if the manifest is as it was then: the log was not opened by another process, nor cut off.
    pub fn is_of(&self, manifest: &Manifest) -> bool {
        (self.recorded, self.incarnation) == (manifest.log_end, manifest.incarnation)
    }
}

/// A recovered database.
#[derive(Debug)]
pub struct Recovered {
    /// The pages, as the log's last group left them.
    pub store: PageStore,
    /// One checkpointer for each stripe, up to date with the pages; none after a dry run.
    pub checkpointers: Vec<Checkpointer>,
    /// The log's end.
    pub end: LogPosition,
    /// The incarnation of the log's last group.
    pub last_incarnation: u32,
    /// Times and counts.
    pub report: RecoveryReport,
}

/// Recovers a database.
///
/// The caller holds the database's lock, and counts up the manifest's incarnation before it appends
/// to the log.
///
/// # Errors
/// [`RecoveryError`]; the disk is as it was, but for rows added to the journal's archive.
pub fn recover(
    disk: &Arc<dyn Disk>,
    manifest: &Manifest,
    options: RecoveryOptions,
) -> Result<Recovered, RecoveryError> {
    recover_bounded(disk, manifest, options, Until::Found)
}

/// Reads a database beside the process that writes to it, up to the end of its log that is published as durable. Groups
/// beyond it are neither read nor taken for corruption. `published` is asked when the backup is loaded, so that the log
/// is read at least as far as that speaks of it. A dry run, of the pages alone.
///
/// # Errors
/// As [`recover`]. Missing or damaged parts may have been freed or written anew meanwhile.
pub fn recover_beside(
    disk: &Arc<dyn Disk>,
    manifest: &Manifest,
    options: RecoveryOptions,
    published: &dyn Fn() -> Result<Option<LogPosition>, RecoveryError>,
) -> Result<Recovered, RecoveryError> {
    let options = RecoveryOptions {
        dry_run: true,
        ..options
    };
    recover_bounded(disk, manifest, options, Until::Published(published))
}

/// Recovers a database whose log is being written by others, up to the end of its log that is known to be durable.
/// Groups beyond it are neither read nor taken for corruption. For the process that makes checkpointers for a shared
/// database; no other one makes any meanwhile.
///
/// # Errors
/// As [`recover`]; [`LogError::Inconsistent`] if a group before `end` is not there.
pub fn recover_until(
    disk: &Arc<dyn Disk>,
    manifest: &Manifest,
    options: RecoveryOptions,
    end: LogPosition,
) -> Result<Recovered, RecoveryError> {
    recover_bounded(disk, manifest, options, Until::Known(end))
}

/// Up to where a log is read.
#[derive(Clone, Copy)]
enum Until<'a> {
    /// As far as whole groups are found.
    Found,
    /// This far.
    Known(LogPosition),
    /// As far as this function returns, and at least as far as the backup and the archive have the log.
    Published(&'a dyn Fn() -> Result<Option<LogPosition>, RecoveryError>),
}

fn recover_bounded(
    disk: &Arc<dyn Disk>,
    manifest: &Manifest,
    options: RecoveryOptions,
    until: Until<'_>,
) -> Result<Recovered, RecoveryError> {
    let workers = options.workers.clamp(1, WORKERS_MAX);
    let mut store = PageStore::reserve(options.memory_max_bytes)?;
    store.set_sparse(options.sparse);
    let layouts: Vec<_> = (0..manifest.stripes)
        .map(|k| StripeLayout::of(manifest, k))
        .collect();

    let started = Instant::now();
    let mut stable_time = Duration::ZERO;
    if !options.dry_run {
        make_names_stable(&**disk)?;
        stable_time = started.elapsed();
    }
    let stable = (!options.dry_run).then_some(&mut stable_time);
    // Parts that are made stable have no writer beside them.
    let beside_writer =
        options.dry_run && (options.beside_writer || matches!(until, Until::Published(_)));
    let stripes = load::load(
        &**disk,
        &layouts,
        &mut store,
        workers,
        stable,
        beside_writer,
    )?;
    let load_time = started.elapsed();

    let archive = match (manifest.journal, until) {
        // The rows of journals are not read.
        (Retention::Nothing, _) | (_, Until::Published(_)) => None,
        _ => Some(find_end(&**disk, manifest.identity)?),
    };
    if let Some(end) = archive.filter(|_| !options.dry_run) {
        let started = Instant::now();
        make_stable(&**disk, &end)?;
        stable_time += started.elapsed();
    }
    let mut archiver = archive
        .filter(|_| !options.dry_run)
        .and_then(|end| Archiver::new(disk.clone(), manifest.identity, manifest.journal, end));
    let started = Instant::now();
    let (mut reader, needs) = open_log(disk, manifest, &stripes, archive)?;
    let end = match until {
        Until::Found => None,
        Until::Known(end) => Some(end),
        Until::Published(ask) => {
            let reached = reached(manifest, &stripes, archive);
            Some(
                ask()?
                    .filter(|end| end.group > reached.group)
                    .unwrap_or(reached),
            )
        }
    };
    if let Some(end) = end {
        reader.set_until(end);
    }
    if options.beside_writer {
        reader = reader.beside_writer();
    }
    reader.set_known_end(known_end(manifest, options));
    let redo_start = reader.position();
    let mut redo = Redo::new(reader, needs);
    redo.expect_end(disk, manifest);
    let tail = (!options.dry_run).then(|| Tail {
        disk,
        layout: manifest.log_layout(),
        durable_before: durable_before(reached(manifest, &stripes, archive), end),
    });
    let archived = archive.map(|end| end.position.group);
    redo.run(&mut store, archived, archiver.as_mut(), tail)?;
    stable_time += redo.stable_time;
    let Redo { reader, totals, .. } = redo;
    check_end(&**disk, manifest, reader.position(), &stripes, archive)?;
    let end_check_time = reader.end_check_time();
    let redo_time = started.elapsed().saturating_sub(end_check_time);

    let mut report = RecoveryReport {
        stripes: stripes.iter().map(|stripe| stripe.report.clone()).collect(),
        load_time,
        redo_start,
        redo_end: reader.position(),
        groups: totals.groups,
        transactions: totals.transactions,
        writes: totals.writes,
        record_bytes: totals.record_bytes,
        journal_rows: totals.journal_rows,
        redo_time,
        end_check_time,
        stable_time,
        copy_time: None,
        database_bytes: store.bytes().len() as u64,
    };
    let started = Instant::now();
    let mut checkpointers = Vec::new();
    for stripe in stripes.into_iter().filter(|_| !options.dry_run) {
        let resume = Resume {
            ring: stripe.ring,
            complete: stripe.complete,
            last_number: stripe.report.newest_checkpoint,
            position: reader.position(),
        };
        let (disk, archiver) = (disk.clone(), archiver.take());
        checkpointers.push(match options.checkpoints {
            Checkpoints::FromCopy => {
                let mut shadow = Shadow::reserve(stripe.layout, options.memory_max_bytes)?;
                shadow.copy_from(&store, workers)?;
                Checkpointer::resume(disk, shadow, archiver, resume)
            }
            Checkpoints::FromSnapshots => {
                let (layout, pages) = (stripe.layout, store.pages());
                Checkpointer::resume_without_copy(disk, layout, pages, archiver, resume)
            }
        });
    }
    report.copy_time = (!options.dry_run).then(|| started.elapsed());
    let (end, last_incarnation) = (reader.position(), reader.last_incarnation());
    Ok(Recovered {
        store,
        checkpointers,
        end,
        last_incarnation,
        report,
    })
}

/// Opens the log at the oldest position that a stripe or the journal's archive needs.
fn open_log(
    disk: &Arc<dyn Disk>,
    manifest: &Manifest,
    stripes: &[LoadedStripe],
    archive: Option<ArchiveEnd>,
) -> Result<(LogReader, Needs), RecoveryError> {
    let of_stripes = stripes.iter().map(|stripe| {
        let report = &stripe.report;
        (
            report.redo_start,
            report.file.clone(),
            report.damaged_offsets.clone(),
        )
    });
    let of_archive = archive.map(|end| match end.stop {
        Some(stop) => (
            end.position,
            disk.display_name(&journal_file(stop.file)),
            vec![stop.offset],
        ),
        None => (
            end.position,
            disk.display_name(&journal_file(end.file)),
            Vec::new(),
        ),
    });
    let oldest = of_stripes
        .chain(of_archive)
        .min_by_key(|(position, ..)| position.group);
    let (from, needed_by, damaged_offsets) = oldest.expect("a database has a stripe");
    let layout = manifest.log_layout();
    // An archive that got no rows since the last compaction ends where the log did before that.
    let from = layout.resumed(from);
    let needs = Needs {
        needed_by,
        damaged_offsets,
    };
    let reached = reached(manifest, stripes, archive);
    let open = || {
        check_starts(&**disk, layout, reached)?;
        if is_to_be_made(&**disk, manifest)? {
            return Ok(LogReader::at_end(disk, layout, from));
        }
        check_no_gap(&**disk, layout.segment_of(from.lsn), from.lsn)?;
        LogReader::open(disk, layout, from)
    };
    match open() {
        Ok(reader) => Ok((reader, needs)),
        Err(error) => Err(needs.explain(error)),
    }
}

/// The end of the log, if it is known. If the manifest has another, the log may have been changed since.
fn known_end(manifest: &Manifest, options: RecoveryOptions) -> Option<LogPosition> {
    let known = options.known_end.filter(|known| known.is_of(manifest));
    known.map(|known| known.position)
}

/// The end that the log has reached, by the manifest's record and by the files made from the log.
fn reached(
    manifest: &Manifest,
    stripes: &[LoadedStripe],
    archive: Option<ArchiveEnd>,
) -> LogPosition {
    let of_stripes = stripes.iter().map(|stripe| stripe.newest_position);
    let of_archive = archive.map(|end| end.position);
    let all = of_stripes.chain(of_archive).chain([manifest.log_end]);
    all.max_by_key(|position| position.group)
        .expect("the manifest's at least")
}

/// The first group that may not be durable. The backup and the archive are made from durable groups alone, and the
/// manifest records a durable end. The bound of a log that is being written is published when everything before it is
/// durable.
fn durable_before(reached: LogPosition, bound: Option<LogPosition>) -> u64 {
    reached.group.max(bound.map_or(0, |bound| bound.group))
}

/// The log must reach as far as the backup and the archive made from it, and as far as it did before.
fn check_end(
    disk: &dyn Disk,
    manifest: &Manifest,
    end: LogPosition,
    stripes: &[LoadedStripe],
    archive: Option<ArchiveEnd>,
) -> Result<(), RecoveryError> {
    for stripe in stripes {
        let backup_group = stripe.newest_position.group;
        if backup_group > end.group {
            let (file, log_group) = (stripe.report.file.clone(), end.group);
            return Err(RecoveryError::LogEndsEarly {
                file,
                backup_group,
                log_group,
            });
        }
    }
    match archive {
        Some(archive) if archive.position.group > end.group => {
            let (archive_group, log_group) = (archive.position.group, end.group);
            Err(JournalError::BeyondLog {
                archive_group,
                log_group,
            }
            .into())
        }
        _ => check_recorded_end(disk, manifest, end),
    }
}

/// A missing group that marks a clean close is no loss, so transactions are compared.
///
/// # Errors
/// [`RecoveryError::LogCutShort`] if the log that ends here has fewer transactions than were recorded.
pub(crate) fn check_recorded_end(
    disk: &dyn Disk,
    manifest: &Manifest,
    end: LogPosition,
) -> Result<(), RecoveryError> {
    let layout = manifest.log_layout();
    let (transactions, recorded) = (end.transactions, manifest.log_end.transactions);
    if recorded <= transactions {
        return Ok(());
    }
    Err(RecoveryError::LogCutShort {
        file: disk.display_name(&segment_file(layout.segment_of(end.lsn))),
        offset: layout.offset_in_segment(end.lsn),
        transactions,
        manifest: disk.display_name(MANIFEST_FILE),
        recorded_transactions: recorded,
    })
}
