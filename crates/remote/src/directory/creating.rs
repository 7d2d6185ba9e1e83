//! A file that is created once in a folder, whole and stable; a register's next state.

use super::{DirectoryLog, NEW, STATES_KEPT, remove_if_there};
use crate::names::name_of;
use crate::stable::Making;
use sardonyx_base::random::system_random;
use sardonyx_storage::remote_log::store::Swapped;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// The reason why a file was not created.
#[derive(Debug)]
pub(super) enum NotCreated {
    /// Nothing had its place yet.
    Before(io::Error),
    /// It may have its place; it is not known whether that is stable.
    After(io::Error),
    /// It has its place, which is stable. It is not known whether another process has replaced it since.
    Stable(io::Error),
}

impl From<io::Error> for NotCreated {
    fn from(error: io::Error) -> Self {
        NotCreated::Before(error)
    }
}

/// A file that has its place, which is not stable yet; or another one has it.
pub(super) struct Linked<'l> {
    log: &'l DirectoryLog,
    making: Making<'l>,
    folder: File,
    place: PathBuf,
    is_created: bool,
    removed: io::Result<()>,
}

impl Linked<'_> {
    /// Makes it stable, or waits until the other one is. Returns true if it was created.
    pub fn make_stable(self) -> Result<bool, NotCreated> {
        let stable = match self.is_created {
            true => self.removed.and_then(|()| self.folder.sync_all()),
            false => self.removed,
        };
        if !self.is_created || stable.is_ok() {
            self.making.settled();
        }
        stable.map_err(NotCreated::After)?;
        if !self.is_created {
            let unstable = &self.log.unstable;
            unstable.wait(&self.place).map_err(NotCreated::After)?;
        }
        Ok(self.is_created)
    }
}

impl DirectoryLog {
    /// Creates a file with these bytes, if it does not exist: whole, and synced.
    pub(super) fn create(
        &self,
        folder: &Path,
        name: &str,
        bytes: &[u8],
    ) -> Result<bool, NotCreated> {
        self.link(folder, name, bytes)?.make_stable()
    }

    /// Gives a synced file its place, if that is free.
    pub(super) fn link(
        &self,
        folder: &Path,
        name: &str,
        bytes: &[u8],
    ) -> Result<Linked<'_>, NotCreated> {
        let opened = File::open(folder)?;
        let new = folder.join(format!("{NEW}{:016x}", system_random()));
        let place = folder.join(name);
        let written = (|| {
            let mut file = OpenOptions::new().write(true).create_new(true).open(&new)?;
            file.write_all(bytes)?;
            file.sync_all()
        })();
        let making = self.unstable.make(place.clone());
        let linked = written.and_then(|()| match fs::hard_link(&new, &place) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        });
        let removed = remove_if_there(&new);
        match linked {
            Ok(is_created) => Ok(Linked {
                log: self,
                making,
                folder: opened,
                place,
                is_created,
                removed,
            }),
            Err(error) => {
                // It has not got its place.
                making.settled();
                Err(error.into())
            }
        }
    }

    /// Creates the next state of a register.
    pub(super) fn swap(
        &self,
        folder: &Path,
        expected: u64,
        bytes: &[u8],
    ) -> Result<Swapped, NotCreated> {
        let next = expected
            .checked_add(1)
            .ok_or_else(|| io::Error::other("its numbers are used up"))?;
        let before = self.last(folder)?.map_or(0, |(number, _)| number);
        if before != expected || !self.create(folder, &name_of(next), bytes)? {
            return Ok(Swapped::Conflict);
        }
        // Others may have continued, and have deleted the entry there.
        self.settle(folder, next).map_err(NotCreated::Stable)
    }

    /// The outcome for a register's state that was created.
    pub(super) fn settle(&self, folder: &Path, next: u64) -> io::Result<Swapped> {
        let last = self.last(folder)?.map_or(0, |(number, _)| number);
        if last != next {
            remove_if_there(&folder.join(name_of(next)))?;
            return Ok(Swapped::Conflict);
        }
        for old in self.numbers(folder, 0)? {
            if old.saturating_add(STATES_KEPT) <= next {
                remove_if_there(&folder.join(name_of(old)))?;
            }
        }
        Ok(Swapped::Ok)
    }
}
