//! `store clone`: a copy of a database as it is or was.

use super::{Place, copy_options, parse_time_of_day, shown_time};
use indicatif::{ProgressBar, ProgressStyle};
use sardonyx_command::exit::{Exit, UsageError};
use sardonyx_command::output::Output;
use sardonyx_results::table::Sheet;
use sardonyx_results::units;
use sardonyx_storage::disk::{Disk, RealDisk};
use sardonyx_storage::engine::{CloneUntil, LOCK_FILE, OpenError, clone_or_undo};
use serde::Serialize;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Copy a database from its store, as it is or was.
///
/// It begins with the newest base before that moment and applies the log from there; the serving host has no work with
/// it. The copy is a separate database: it can be read, opened and changed, and does not follow the store. `store trim`
/// and --keep-bases, --keep-time determine how far back a copy can go.
///
/// Examples:
///   sardonyx store clone s3://ledger/bank copy.sdx
///   sardonyx store clone s3://ledger/bank yesterday.sdx --at 2026-11-22T10:15:00Z
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
    /// The copy's directory: absent or empty
    path: PathBuf,
    #[command(flatten)]
    until: Until,
}

/// The moment of a copy, as arguments.
#[derive(Debug, clap::Args)]
pub struct Until {
    /// Copy up to this time, such as 2026-11-22T10:15:00Z [default: the newest state]
    #[arg(long, value_name = "TIME", value_parser = parse_time_of_day, group = "until")]
    at: Option<u64>,
    /// Copy up to this entry of the log, which is included
    #[arg(long, value_name = "N", group = "until")]
    at_entry: Option<u64>,
    /// Copy up to this commit group, which is included
    #[arg(long, value_name = "N", group = "until")]
    at_group: Option<u64>,
}

/// The copy that was made.
#[derive(Debug, Serialize)]
pub struct Report {
    transactions: u64,
    /// The last entry in the copy.
    entry: u64,
    /// The time of that entry.
    time: String,
    /// The last entry of the base; 0 if there was none.
    base_entry: u64,
    entries_applied: u64,
    bytes: u64,
    seconds: f64,
}

/// The error with times in a readable form.
fn in_times(error: OpenError) -> anyhow::Error {
    let text = match error {
        OpenError::BeforeKept { entry, group, time } => {
            let time = shown_time(time);
            format!(
                "the store no longer has the log of that moment: the oldest moment that it keeps is {time}, after entry {entry} and \
                 commit group {group}; ask for that one or a later one (--at {time}, --at-entry {entry} or --at-group {group})"
            )
        }
        OpenError::BeyondEnd {
            place,
            entry,
            group,
            time,
        } => format!(
            "the log in {place} does not reach that moment yet: it ends with entry {entry} and commit group {group}, made at \
             {}; ask for that one or an earlier one (--at-entry {entry} or --at-group {group}), or leave the option out for \
             the newest state",
            shown_time(time)
        ),
        error => return error.into(),
    };
    UsageError::NotThere(text).into()
}

impl Until {
    /// True if no moment was given: then it is the newest one.
    pub fn is_newest(&self) -> bool {
        (self.at, self.at_entry, self.at_group) == (None, None, None)
    }

    fn moment(&self) -> CloneUntil {
        match (self.at, self.at_entry, self.at_group) {
            (Some(time), ..) => CloneUntil::Time(time),
            (_, Some(entry), _) => CloneUntil::Entry(entry),
            (_, _, Some(group)) => CloneUntil::Group(group),
            _ => CloneUntil::End,
        }
    }
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        let report = copy(&self.place, &self.path, &self.until)?;
        match output.is_json() {
            true => output.value(&report)?,
            false => report.print(output)?,
        }
        Ok(Exit::Done)
    }
}

/// Copies a database from its store, into a directory that is absent or empty.
///
/// # Errors
/// The store has no database, no longer the log of that moment, or not yet; the directory has files; the disk's.
pub fn copy(place: &Place, path: &Path, until: &Until) -> anyhow::Result<Report> {
    let started = Instant::now();
    let (remote, manifest) = place.database()?;
    let options = copy_options(remote, &manifest);
    let is_empty = has_lock_alone(path);
    std::fs::create_dir_all(path)?;
    let home: Arc<dyn Disk> = Arc::new(RealDisk::open(path)?);
    let style = ProgressStyle::with_template("{spinner} {decimal_bytes} from the store");
    let bar = ProgressBar::new_spinner().with_style(style.expect("a valid template"));
    let mut bytes = 0;
    let progress = |read| {
        bytes += read;
        bar.inc(read);
    };
    let undo = || {
        if is_empty {
            // The next attempt names what could not be removed.
            let _ = clear(path);
        }
    };
    let cloned = clone_or_undo(&home, &options, until.moment(), progress, undo);
    let cloned = cloned.map_err(in_times)?;
    bar.finish_and_clear();
    Ok(Report {
        transactions: cloned.known.log.transactions,
        entry: cloned.known.entry.next - 1,
        time: shown_time(cloned.known.entry.time),
        base_entry: cloned.base.entry.next - 1,
        entries_applied: cloned.entries,
        bytes,
        seconds: started.elapsed().as_secs_f64(),
    })
}

/// True if nothing of a user's is there: the directory is absent, or has at most the lock of an earlier attempt.
pub fn has_lock_alone(path: &Path) -> bool {
    match std::fs::read_dir(path) {
        Ok(entries) => entries
            .map(|entry| entry.map(|entry| entry.file_name()))
            .all(|name| name.is_ok_and(|name| name == LOCK_FILE)),
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}

/// Removes all that a copy made in its directory, so that the next one can take the same. The lock is held, and its file
/// stays: another process may wait for it.
///
/// # Errors
/// The first one; the rest is removed.
pub fn clear(path: &Path) -> std::io::Result<()> {
    let mut outcome = Ok(());
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        let removed = match entry.file_type()?.is_dir() {
            _ if entry.file_name() == LOCK_FILE => Ok(()),
            true => std::fs::remove_dir_all(entry.path()),
            false => std::fs::remove_file(entry.path()),
        };
        outcome = outcome.and(removed);
    }
    outcome
}

impl Report {
    /// Prints it for people.
    pub fn print(&self, output: &mut Output) -> anyhow::Result<()> {
        let mut sheet = Sheet::default();
        sheet.heading("Copy");
        sheet.figure("transactions", units::count(self.transactions));
        let entry = format!("made {}", self.time);
        sheet.remarked("last entry", self.entry.to_string(), entry);
        let base = match self.base_entry {
            0 => "from the log's beginning".to_string(),
            entry => format!("from the base up to entry {entry}"),
        };
        sheet.remarked("entries applied", units::count(self.entries_applied), base);
        let took = format!("in {}", units::time(self.seconds));
        sheet.remarked("bytes from the store", units::bytes(self.bytes), took);
        Ok(write!(output, "{sheet}")?)
    }
}
