//! A backup: all pages as they were at one commit, and the journals' rows up to it, written as a separate database. No
//! transaction waits for it.
//!
//! It is written as every database is: pages and rows are appended to its log as transactions, and a checkpoint is taken
//! of it at the end. Until it is whole and stable, it is beside its destination, under another name. So the destination's
//! name always means a whole backup.

use crate::Error;
use sardonyx_base::error::CrateError;
use sardonyx_storage::disk::RealDisk;
use sardonyx_storage::engine::{Engine, StorageOptions};
use sardonyx_storage::journal::JournalReader;
use sardonyx_storage::log::policy::GroupLimits;
use sardonyx_storage::log::record::encoded_bytes;
use sardonyx_storage::log::room::NoRoom;
use sardonyx_storage::log::supply::Admission;
use sardonyx_storage::manifest::Manifest;
use sardonyx_storage::page::{Address, PAGE_SIZE};
use sardonyx_storage::pen::Pen;
use sardonyx_storage::store::PageRead;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Pages, or rows of journals, that are appended in one turn.
const IN_A_TURN: u64 = 64;

/// The report of a backup.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Backup {
    /// Pages that hold anything.
    pub pages: u64,
    /// Counted over all journals, in the log and in archives.
    pub journal_rows: u64,
}

#[doc(hidden)]
#[derive(Debug)]
pub struct Source<'a, P: ?Sized> {
    /// The pages of one commit.
    pub pages: &'a P,
    /// The number of those pages.
    pub count: u64,
    /// The rows up to that commit.
    pub journals: Option<JournalReader>,
    /// The manifest of the database that they are from.
    pub manifest: &'a Manifest,
}

/// Writes a backup into a directory, which is absent or empty. It calls `progress` with the pages written, and their
/// total.
///
/// # Errors
/// [`Error::Refused`] if the directory holds anything; errors of reading, or of the disk. Then nothing is left behind.
#[doc(hidden)]
pub fn write<P>(
    destination: &Path,
    mut source: Source<'_, P>,
    mut progress: impl FnMut(u64, u64),
) -> Result<Backup, Error>
where
    P: PageRead + ?Sized,
    P::Error: std::error::Error + Send + Sync + 'static,
{
    let (destination, unfinished) = places(destination)?;
    // Made here and by no other backup, so it may be deleted.
    make_alone(&unfinished)?;
    let written = write_into(&unfinished, &mut source, &mut progress);
    let moved = written.and_then(|backup| {
        move_into_place(&unfinished, &destination)
            .map_err(|error| refused_by_system(&destination, error))?;
        Ok(backup)
    });
    if moved.is_err() {
        // The first error is returned, not one of removing the rest.
        let _ = std::fs::remove_dir_all(&unfinished);
    }
    moved
}

/// The destination, and where it is written until it is whole: both may be written.
#[inline]
fn places(destination: &Path) -> Result<(PathBuf, PathBuf), Error> {
    let failed = |error| refused_by_system(destination, error);
    let destination = std::path::absolute(destination).map_err(failed)?;
    let name = destination.file_name().ok_or_else(|| {
        let text = format!(
            "{} is no name for a backup's directory",
            destination.display()
        );
        Error::Refused(text.into())
    })?;
    let mut unfinished = name.to_os_string();
    unfinished.push(".unfinished");
    let unfinished = destination.with_file_name(unfinished);
    let holds_anything = match std::fs::read_dir(&destination) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            let text = format!(
                "{} is not a directory: a backup is written into a new or empty directory",
                destination.display()
            );
            return Err(Error::Refused(text.into()));
        }
        Err(error) => return Err(failed(error)),
    };
    if holds_anything {
        let text = format!(
            "{} is not empty: a backup is written into a new or empty directory",
            destination.display()
        );
        return Err(Error::Refused(text.into()));
    }
    Ok((destination, unfinished))
}

/// Makes the directory of a backup that is not whole yet.
#[inline]
fn make_alone(unfinished: &Path) -> Result<(), Error> {
    if let Some(parent) = unfinished.parent() {
        std::fs::create_dir_all(parent).map_err(|error| refused_by_system(unfinished, error))?;
    }
    std::fs::create_dir(unfinished).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            let text = format!(
                "{} exists: another backup to the same place is being written, or one was stopped; delete it if none is",
                unfinished.display()
            );
            Error::Refused(text.into())
        }
        _ => refused_by_system(unfinished, error),
    })
}

#[inline]
fn refused_by_system(place: &Path, error: std::io::Error) -> Error {
    let text = format!("cannot write the backup {}: {error}", place.display());
    match error.kind() {
        ErrorKind::StorageFull => Error::Full(text.into()),
        _ => Error::System(text.into()),
    }
}

/// Gives the whole backup its name, which is stable on return. The rename replaces an empty directory.
#[inline]
fn move_into_place(unfinished: &Path, destination: &Path) -> std::io::Result<()> {
    std::fs::rename(unfinished, destination)?;
    match destination.parent() {
        Some(parent) => std::fs::File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}

fn write_into<P>(
    directory: &Path,
    source: &mut Source<'_, P>,
    progress: &mut impl FnMut(u64, u64),
) -> Result<Backup, Error>
where
    P: PageRead + ?Sized,
    P::Error: std::error::Error + Send + Sync + 'static,
{
    let disk = RealDisk::open(directory).map_err(CrateError::into_error)?;
    let options = options(source);
    let limits = options.limits;
    let mut opened = Engine::open(Arc::new(disk), options).map_err(CrateError::into_error)?;
    opened.engine.start();
    let mut writer = Writer {
        pen: opened.engine.pen(()),
        transaction_bytes_max: limits.transaction_bytes,
    };
    let result = writer.copy(source, progress).and_then(|backup| {
        writer.end()?;
        Ok(backup)
    });
    if result.is_ok() {
        opened.engine.record_end();
    }
    opened.engine.stop();
    result
}

/// The options with which the database was made, on the caller's thread.
fn options<P: ?Sized>(source: &Source<'_, P>) -> StorageOptions {
    let Manifest {
        segment_bytes,
        block_bytes,
        stripes,
        journal,
        ..
    } = *source.manifest;
    let usual = StorageOptions::default();
    StorageOptions {
        segment_bytes,
        block_bytes,
        stripes,
        journal,
        limits: GroupLimits::for_segments(segment_bytes),
        log_bytes_max: segment_bytes.saturating_mul(8).max(usual.log_bytes_max),
        memory_bytes_max: (source.count + 1) * PAGE_SIZE as u64,
        threaded: false,
        ..usual
    }
}

/// Appends to the backup's log.
struct Writer {
    pen: Pen<()>,
    transaction_bytes_max: usize,
}

/// The pieces appended in one turn, a transaction each.
enum Piece {
    Page(Address),
    Row(u16),
}

impl Writer {
    fn copy<P>(
        &mut self,
        source: &mut Source<'_, P>,
        progress: &mut impl FnMut(u64, u64),
    ) -> Result<Backup, Error>
    where
        P: PageRead + ?Sized,
        P::Error: std::error::Error + Send + Sync + 'static,
    {
        let mut backup = Backup {
            pages: 0,
            journal_rows: 0,
        };
        let mut turn: Vec<(Piece, Vec<u8>)> = Vec::new();
        let mut buffer = Vec::new();
        for page in 0..source.count {
            if page.is_multiple_of(IN_A_TURN) {
                self.append(&mut turn)?;
                progress(page, source.count);
            }
            let at = Address(page * PAGE_SIZE as u64);
            let content = source.pages.read(at, PAGE_SIZE, &mut buffer);
            let content = content.map_err(|error| Error::Limit(error.into()))?;
            let Some(first) = content.iter().position(|byte| *byte != 0) else {
                continue;
            };
            let end = content
                .iter()
                .rposition(|byte| *byte != 0)
                .map_or(0, |last| last + 1);
            let at = Address(at.0 + first as u64);
            turn.push((Piece::Page(at), content[first..end].to_vec()));
            backup.pages += 1;
        }
        self.append(&mut turn)?;
        while let Some(rows) = &mut source.journals {
            let Some(row) = rows.next_row().map_err(CrateError::into_error)? else {
                break;
            };
            turn.push((Piece::Row(row.journal), row.bytes.to_vec()));
            backup.journal_rows += 1;
            if turn.len() as u64 == IN_A_TURN {
                self.append(&mut turn)?;
            }
        }
        self.append(&mut turn)?;
        progress(source.count, source.count);
        Ok(backup)
    }

    /// Appends each piece as a transaction.
    #[inline]
    fn append(&self, turn: &mut Vec<(Piece, Vec<u8>)>) -> Result<(), Error> {
        if turn.is_empty() {
            return Ok(());
        }
        let mut held = self.pen.take().map_err(CrateError::into_error)?;
        for (piece, bytes) in turn.drain(..) {
            let mut log = held.appending();
            log.admit(Admission::Measured)
                .map_err(CrateError::into_error)?;
            let builder = log.builder();
            let room = builder.make_room(encoded_bytes(bytes.len()), self.transaction_bytes_max);
            room.map_err(|error| match error {
                NoRoom::Log(error) => error.into_error(),
                NoRoom::TooLarge { bytes } => {
                    Error::Limit(format!("{bytes} bytes do not fit into a segment").into())
                }
            })?;
            match piece {
                Piece::Page(at) => builder.push_write(at, &bytes),
                Piece::Row(journal) => builder.push_journal(journal, &bytes),
            }
            if builder.end_transaction() {
                log.transaction_ended();
            }
        }
        held.hand_on();
        Ok(())
    }

    /// Everything durable, and checkpointed, so that the backup's opening has no log to apply.
    #[inline]
    fn end(&self) -> Result<(), Error> {
        self.pen.flush().map_err(CrateError::into_error)?;
        let end = self.pen.log().durable();
        let taken = self.pen.checkpoint().take(end);
        taken.map_err(|error| Error::from(sardonyx_serial::SerialError::from(error)))?;
        self.pen.mark_end().map_err(CrateError::into_error)
    }
}
