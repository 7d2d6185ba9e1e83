//! A log in a directory, for one host or a file system of the network: a file for each entry.
//!
//! ```text
//! DIRECTORY/entry/00000000000000000001     an entry
//! DIRECTORY/boundary/00000000000000000001  the boundary; the last one counts
//! DIRECTORY/entry/new-RANDOM               while a file is written
//! ```
//!
//! A file is written and synced under a name of its own, then linked to its place, which fails if something is there, and
//! the directory is synced. So a file is there whole or not, and one of several wins. The boundary is replaced by creating
//! its next number; who finds a later one there afterwards has lost. A list of a directory may miss what comes and goes
//! meanwhile, so the last 16 stay, and a list counts when the next one shows the same.
//!
//! After an error of a write or a sync nobody knows what is stable, so it is final ([`StoreError::Refused`], I7).
//!
//! On one host, what a reader sees may be a moment from being stable: the owner is told when it is.

use crate::names::{name_of, number_of};
use crate::place::RemoteOptions;
use crate::probe;
use sardonyx_base::random::system_random;
use sardonyx_storage::remote_log::store::{
    Appended, BoundaryVersion, LIST_MOST, Listed, RemoteStore, StoreError, StoredBoundary, Swapped,
};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// How many boundaries stay.
const BOUNDARIES_KEPT: u64 = 16;

/// A log in a directory.
#[derive(Debug)]
pub struct DirectoryLog {
    directory: PathBuf,
    entry_bytes_max: u64,
}

impl DirectoryLog {
    /// The log there; the directory is made if there is none.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn open(directory: &Path, options: &RemoteOptions) -> Result<DirectoryLog, StoreError> {
        let log = DirectoryLog {
            directory: directory.into(),
            entry_bytes_max: options.entry_bytes_max,
        };
        let made = (|| {
            for folder in [log.entries(), log.boundaries()] {
                fs::create_dir_all(&folder)?;
            }
            sync_directory(&log.directory)?;
            // Made now, perhaps: its name is in the directory above.
            match directory.canonicalize()?.parent() {
                Some(above) => sync_directory(above),
                None => Ok(()),
            }
        })();
        made.map_err(|error| log.refused("make the directory", &error))?;
        Ok(log)
    }

    /// Tries out its file system, in a directory beside the entries, which is deleted.
    ///
    /// # Errors
    /// As [`probe::probe`].
    pub fn probe(&self) -> Result<(), StoreError> {
        let beside = self
            .directory
            .join(format!("probe-{:016x}", system_random()));
        let options = RemoteOptions {
            entry_bytes_max: self.entry_bytes_max,
            ..RemoteOptions::default()
        };
        let log = DirectoryLog::open(&beside, &options)?;
        let probed = probe::probe(&log);
        if let Err(error) = fs::remove_dir_all(&beside) {
            tracing::warn!(%error, directory = %beside.display(), "what a probe left is not deleted");
        }
        probed
    }

    fn entries(&self) -> PathBuf {
        self.directory.join("entry")
    }

    fn boundaries(&self) -> PathBuf {
        self.directory.join("boundary")
    }

    fn refused(&self, what: &str, error: &io::Error) -> StoreError {
        StoreError::Refused {
            what: what.into(),
            place: self.place(),
            reason: error.to_string(),
        }
    }

    /// The numbers there are, with the bytes of each.
    fn numbers(&self, folder: &Path) -> io::Result<Vec<Listed>> {
        let mut listed = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let Some(number) = entry.file_name().to_str().and_then(number_of) else {
                continue;
            };
            match entry.metadata() {
                Ok(metadata) => listed.push(Listed {
                    number,
                    bytes: metadata.len(),
                }),
                // Deleted meanwhile.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        listed.sort_by_key(|listed| listed.number);
        Ok(listed)
    }

    /// The boundary's last number and bytes.
    fn last_boundary(&self) -> io::Result<Option<(u64, Vec<u8>)>> {
        let last = || {
            let numbers = self.numbers(&self.boundaries())?;
            Ok::<_, io::Error>(numbers.last().map(|last| last.number))
        };
        let mut before = last()?;
        for _ in 0..100 {
            let bytes = match before {
                None => Ok(None),
                Some(number) => fs::read(self.boundaries().join(name_of(number)))
                    .map(|bytes| Some((number, bytes))),
            };
            let now = last()?;
            match bytes {
                Ok(found) if now == before => return Ok(found),
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => before = now,
            }
        }
        Err(io::Error::other("its boundary is replaced all the time"))
    }

    fn swap(&self, expected: u64, bytes: &[u8]) -> io::Result<Swapped> {
        let next = expected
            .checked_add(1)
            .ok_or_else(|| io::Error::other("its numbers are used up"))?;
        let before = self.last_boundary()?.map_or(0, |(number, _)| number);
        if before != expected || !create(&self.boundaries(), next, bytes)? {
            return Ok(Swapped::Conflict);
        }
        // Others may have gone on, and have deleted what stood there.
        let last = self.last_boundary()?.map_or(0, |(number, _)| number);
        if last != next {
            remove_if_there(&self.boundaries().join(name_of(next)))?;
            return Ok(Swapped::Conflict);
        }
        for old in self.numbers(&self.boundaries())? {
            if old.number.saturating_add(BOUNDARIES_KEPT) <= next {
                remove_if_there(&self.boundaries().join(name_of(old.number)))?;
            }
        }
        Ok(Swapped::Ok)
    }
}

/// Creates a file with these bytes, if there is none: whole, and synced.
fn create(folder: &Path, number: u64, bytes: &[u8]) -> io::Result<bool> {
    let new = folder.join(format!("new-{:016x}", system_random()));
    let written = (|| {
        let mut file = OpenOptions::new().write(true).create_new(true).open(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        match fs::hard_link(&new, folder.join(name_of(number))) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    })();
    let removed = remove_if_there(&new);
    let created = written?;
    removed?;
    if created {
        sync_directory(folder)?;
    }
    Ok(created)
}

fn remove_if_there(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

impl RemoteStore for DirectoryLog {
    fn place(&self) -> String {
        format!("file:{}", self.directory.display())
    }

    fn entry_bytes_max(&self) -> u64 {
        self.entry_bytes_max
    }

    fn append_at(&self, number: u64, bytes: &[u8]) -> Result<Appended, StoreError> {
        match create(&self.entries(), number, bytes) {
            Ok(true) => Ok(Appended::Ok),
            Ok(false) => Ok(Appended::Conflict),
            Err(error) => Err(self.refused(&format!("create entry {number}"), &error)),
        }
    }

    fn read(&self, number: u64) -> Result<Option<Vec<u8>>, StoreError> {
        match fs::read(self.entries().join(name_of(number))) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.refused(&format!("read entry {number}"), &error)),
        }
    }

    fn list(&self, from: u64) -> Result<Vec<Listed>, StoreError> {
        let listed = self.numbers(&self.entries());
        let mut listed = listed.map_err(|error| self.refused("list entries", &error))?;
        listed.retain(|listed| listed.number >= from);
        listed.truncate(LIST_MOST);
        Ok(listed)
    }

    fn remove(&self, numbers: &[u64]) -> Result<(), StoreError> {
        let removed = numbers
            .iter()
            .try_for_each(|number| remove_if_there(&self.entries().join(name_of(*number))));
        removed.map_err(|error| self.refused("delete entries", &error))
    }

    fn read_boundary(&self) -> Result<Option<StoredBoundary>, StoreError> {
        let last = self.last_boundary();
        let last = last.map_err(|error| self.refused("read the boundary", &error))?;
        Ok(last.map(|(number, bytes)| StoredBoundary {
            bytes,
            version: BoundaryVersion(name_of(number)),
        }))
    }

    fn swap_boundary(
        &self,
        expected: Option<&BoundaryVersion>,
        bytes: &[u8],
    ) -> Result<Swapped, StoreError> {
        let expected = match expected {
            None => Some(0),
            Some(version) => number_of(&version.0),
        };
        let Some(expected) = expected else {
            return Ok(Swapped::Conflict);
        };
        self.swap(expected, bytes)
            .map_err(|error| self.refused("replace the boundary", &error))
    }
}
