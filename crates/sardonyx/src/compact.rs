//! Compaction: a database written again with no more pages than its rows take, and its old files removed.
//!
//! The rows are packed in memory (`TableSpace::packed`). The result is opened, with all indexes, before it replaces the
//! old files (`storage::engine::Ended`).

use crate::{Error, Options};
use sardonyx_base::error::CrateError;
use sardonyx_storage::checkpoint::Checkpoints;
use sardonyx_storage::disk::{Disk, RealDisk};
use sardonyx_storage::engine::{CompactionError, Engine, OpenError};
use sardonyx_storage::remote_log::known::Known;
use sardonyx_table::{KeyHash, TableSpace};
use std::path::Path;
use std::sync::Arc;

/// The report of a compaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Compaction {
    /// Rows of all tables, the engine's own included.
    pub rows: u64,
    /// Of the database, when the compaction began.
    pub pages_before: u64,
    /// Pages after.
    pub pages: u64,
    /// Bytes of the files of the log and the backup before.
    pub file_bytes_before: u64,
    /// Bytes of them after.
    pub file_bytes: u64,
    /// False if nothing was written, since the files would not be smaller, nor the pages fewer in files of the same size.
    pub changed: bool,
}

impl Options {
    /// Compacts the database in this directory, which must not be open. Then its tables take as many pages, in memory and
    /// in the files, as a fresh database of the same rows. It gives back the room of deleted rows, dropped and emptied
    /// tables and earlier shapes, and the log before its end.
    ///
    /// The database is read and rebuilt, packed in memory beside the old one, and written whole. That takes the memory
    /// of an opening, and that of the rows once more. The opening has the second copy of the pages;
    /// [`Options::checkpoints`] has no effect here. For a while it also takes disk for both. A crash at any step leaves
    /// it unchanged or compacted, with the same rows.
    ///
    /// A database whose files would not be smaller stays unchanged ([`Compaction::changed`]): one that was never used,
    /// or was compacted before.
    ///
    /// Journals are not touched; they have their [`Retention`](crate::journals::Retention). Areas of operations keep
    /// their pages. Memory that processes share is not compacted, and neither is a database whose log is in a store.
    ///
    /// ```
    /// use sardonyx::{Options, Tables};
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("bank.sdx");
    /// # Tables::open(&path)?.close()?;
    /// let done = Options::new().compact(&path)?;
    /// assert!(done.pages <= done.pages_before);
    /// # Ok::<_, sardonyx::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Locked`] if it is open; [`Error::NotFound`] if it does not exist; [`Error::Refused`] if multi-level
    /// transactions have not ended, the log is in a store, or it was made as memory or by nodes; [`Error::Damaged`] if
    /// its tables are not sound; errors of memory and disk. Then the database is unchanged, unless only old files could
    /// not be removed.
    pub fn compact(self, path: impl AsRef<Path>) -> Result<Compaction, Error> {
        self.compact_with(path, |_, _| {})
    }

    /// The same; calls `progress` with the blocks written, and their total.
    ///
    /// # Errors
    /// As [`Options::compact`].
    pub fn compact_with(
        self,
        path: impl AsRef<Path>,
        progress: impl FnMut(u64, u64),
    ) -> Result<Compaction, Error> {
        let options = self.create(false);
        options.check_not_in_store(None)?;
        options.check_there(path.as_ref())?;
        options.compact_on(Arc::new(RealDisk::open(path)?), progress)
    }

    /// The same on a disk of your own, such as the simulated one.
    ///
    /// # Errors
    /// As [`Options::compact`].
    pub fn compact_on(
        self,
        disk: Arc<dyn Disk>,
        progress: impl FnMut(u64, u64),
    ) -> Result<Compaction, Error> {
        let mut options = self.create(false);
        options.check_not_in_store(Some(&*disk))?;
        options.check_on(&*disk)?;
        options.storage.threaded = false;
        // No table's stage exists to freeze the pages.
        options.storage.checkpoints = Checkpoints::FromCopy;
        let workers = options.storage.workers;
        let open = |store| {
            let hash = options
                .hash_seed
                .map_or_else(KeyHash::random, KeyHash::from_seed);
            TableSpace::open_with(store, workers, hash)
        };
        let memory_bytes_max = options.storage.memory_bytes_max;
        let mut opened = Engine::open(disk, options.storage).map_err(CrateError::into_error)?;
        opened.engine.start();
        let (before, report) = open(opened.store)?;
        let disk_error = |error| Error::from(CompactionError::Disk(error));
        let engine = opened.engine;
        engine.check_compacts()?;
        let file_bytes_before = engine.file_bytes().map_err(disk_error)?;
        let pages_before = before.pages().len() as u64;
        let compacted = |pages| engine.file_bytes_compacted(pages);
        // Before the checkpoint of the present pages: its files may be larger than the present ones.
        let packed = match compacted(pages_before) >= file_bytes_before {
            true => Some(before.packed(memory_bytes_max)?),
            false => None,
        };
        if let Some(packed) = &packed {
            let pages = packed.bytes().len() as u64;
            let file_bytes = compacted(pages);
            if file_bytes > file_bytes_before
                || file_bytes == file_bytes_before && pages >= pages_before
            {
                let pages = pages_before / sardonyx_storage::page::PAGE_SIZE as u64;
                return Ok(Compaction {
                    rows: report.records,
                    pages_before: pages,
                    pages,
                    file_bytes_before,
                    file_bytes: file_bytes_before,
                    changed: false,
                });
            }
        }
        let mut ended = engine.end()?;
        let packed = match packed {
            Some(packed) => packed,
            None => before.packed(memory_bytes_max)?,
        };
        drop(before);
        let (after, again) = open(packed)?;
        if again.records != report.records {
            let (before, after) = (report.records, again.records);
            let text = format!("{before} rows were read, and {after} were packed");
            return Err(Error::Damaged(text.into()));
        }
        let packed = after.into_store();
        ended.replace(&packed, progress)?;
        Ok(Compaction {
            rows: report.records,
            pages_before: pages_before / sardonyx_storage::page::PAGE_SIZE as u64,
            pages: packed.pages(),
            file_bytes_before,
            file_bytes: ended.file_bytes().map_err(disk_error)?,
            changed: true,
        })
    }

    /// Refuses a store in the options, and a directory that is a part of one, before anything is opened.
    #[inline]
    fn check_not_in_store(&self, disk: Option<&dyn Disk>) -> Result<(), Error> {
        let known = disk.map(Known::read).transpose().map_err(OpenError::from)?;
        match self.storage.remote.is_some() || known.flatten().is_some() {
            true => Err(CompactionError::InStore.into()),
            false => Ok(()),
        }
    }
}
