//! The newest state of the register that a host has seen, in a file of its database's directory: `copies-SET`, where SET
//! is the number of the set of copies.
//!
//! A keeper that was restored from a backup has an older register. In that one, a copy that was left out since still
//! counts, though it lacks acknowledged entries. So a host that finds an older state than its file has, or none,
//! refuses it, also if the host was started after the restoration. A person puts the newest remembered state back
//! ([`put_back`](super::put_back)).
//!
//! **Invariants:** a state is in the file before the host acts on it (I1); a state that was read before another one
//! was noted is never compared with that one, so threads that read at once raise no false alarm.
//!
//! The file is read in any directory, and written if the directory has a database, or had one of the set: not while it
//! is made, since a directory with other files is refused. Processes that write it, of which one has the database open,
//! take turns by the lock `copies-SET.lock`, and none replaces a newer state.

use super::ancestry::After;
use super::keeper::PUT_BACK;
use super::planted::{self, Planted};
use super::record::SetRecord;
use sardonyx_base::sync::Mutex;
use sardonyx_storage::disk::{Disk, DiskError, RealDisk};
use sardonyx_storage::lines;
use sardonyx_storage::manifest::MANIFEST_FILE;
use sardonyx_storage::remote_log::known::{COPIES_PREFIX, copies_set_of};
use sardonyx_storage::remote_log::store::StoreError;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The most bytes of a file: a register's, and more to notice a longer one.
const BYTES_MAX: usize = 128 << 10;

/// The directory of a host's database.
#[derive(Debug)]
pub(super) enum Home {
    /// By its path; it may be made later.
    Directory(PathBuf),
    #[cfg(test)]
    Disk(Arc<dyn Disk>),
}

impl Home {
    /// Its disk, if it exists.
    fn disk(&self) -> Result<Option<Arc<dyn Disk>>, DiskError> {
        Ok(match self {
            Home::Directory(path) if path.is_dir() => Some(Arc::new(RealDisk::open(path)?)),
            Home::Directory(_) => None,
            #[cfg(test)]
            Home::Disk(disk) => Some(disk.clone()),
        })
    }
}

/// A state, and whether the file has it.
#[derive(Clone, Debug)]
struct Known {
    record: Arc<SetRecord>,
    is_stored: bool,
}

/// The newest states that a host has seen: one of each set.
#[derive(Debug)]
pub(super) struct Remembered {
    home: Home,
    /// The places that the host names, in alphabetical order.
    named: Vec<String>,
    known: Mutex<Vec<Known>>,
}

/// The states known before a look at the register.
pub(super) struct Before(Vec<Arc<SetRecord>>);

fn file_of(identity: u64) -> String {
    format!("{COPIES_PREFIX}{identity:016x}")
}

/// The states that the files of a directory have.
pub(super) fn read_all(disk: &dyn Disk) -> Result<Vec<SetRecord>, StoreError> {
    let names = disk.list("").map_err(|error| failed(disk, error))?;
    let files = names.iter().filter(|name| copies_set_of(name).is_some());
    files.map(|name| read_file(disk, name)).collect()
}

fn read_file(disk: &dyn Disk, name: &str) -> Result<SetRecord, StoreError> {
    let bytes = lines::read(disk, name, BYTES_MAX).map_err(|error| failed(disk, error))?;
    let damaged = |reason: String| StoreError::Setup {
        place: disk.display_name(name),
        reason: format!(
            "{reason}. If the register of the copies was not restored from a backup since this host ran, delete this \
             file; otherwise {PUT_BACK}"
        ),
    };
    let record = SetRecord::decode(&bytes).map_err(|misread| damaged(misread.to_string()))?;
    match file_of(record.identity) == name {
        true => Ok(record),
        false => Err(damaged("the file has the register of another set".into())),
    }
}

fn failed(disk: &dyn Disk, error: DiskError) -> StoreError {
    StoreError::NotNow {
        what: "keep the newest register of the copies".into(),
        place: disk.display_name(""),
        reason: error.to_string(),
    }
}

/// The set of these places that a directory remembers: of this identity, or any if there is none.
///
/// # Errors
/// [`StoreError::Setup`]: there is none, or there are several; a file is damaged. [`StoreError::NotNow`]: the disk failed.
pub(super) fn remembered_at(
    directory: &Path,
    named: &[String],
    identity: Option<u64>,
) -> Result<SetRecord, StoreError> {
    let refused = |reason: &str| StoreError::Setup {
        place: directory.display().to_string(),
        reason: reason.into(),
    };
    let disk =
        RealDisk::open_for_reading(directory).map_err(|error| refused(&error.to_string()))?;
    let mut found = read_all(&disk)?;
    found.retain(|record| match identity {
        Some(identity) => record.identity == identity,
        None => record.has_or_had(named),
    });
    match (found.pop(), found.is_empty()) {
        (Some(record), true) => Ok(record),
        (None, _) => Err(refused(
            "it has no register of this set of copies: name the directory of a host that used the set",
        )),
        (Some(_), false) => Err(refused(
            "it has the registers of several sets with these places: move the files of the earlier ones away",
        )),
    }
}

/// The error of a register that does not continue a state which is known of it, since the file or copy `witness` has it;
/// `from` is the argument of the command that puts
/// that state back, with a space before it.
pub(super) fn restored(
    generation: u64,
    witness: &str,
    found: Option<&SetRecord>,
    keeper: &str,
    from: &str,
) -> StoreError {
    let there = match found {
        None => "there is none".into(),
        Some(found) if found.generation > generation => format!(
            "one of generation {}, of another line, is there, so hosts went on with an older one",
            found.generation
        ),
        Some(found) if found.generation == generation => {
            format!("another one of generation {generation} is there")
        }
        Some(found) => format!("one of generation {} is there", found.generation),
    };
    let other_line = match found {
        Some(found) if found.generation >= generation => {
            ". Transactions that were acknowledged on the other line are then kept in fork files of their hosts, or on \
             copies that are out"
        }
        _ => "",
    };
    StoreError::Setup {
        place: keeper.into(),
        reason: format!(
            "its register of the copies had generation {generation}, as {witness} says, and {there}: it was restored from a \
             backup, or its data is lost. Copies that it names may lack acknowledged transactions. End all hosts, and put \
             the newest register back: sardonyx store copies PLACE --put-back{from}{other_line}"
        ),
    }
}

impl Remembered {
    /// Reads the files of this directory, for a host that names these places.
    ///
    /// # Errors
    /// [`StoreError::Setup`]: a file is damaged. [`StoreError::NotNow`]: the disk failed.
    pub fn open(home: Home, named: &[String]) -> Result<Self, StoreError> {
        let unopened = |error: DiskError| StoreError::NotNow {
            what: "read the newest register of the copies".into(),
            place: "the database's directory".into(),
            reason: error.to_string(),
        };
        let records = match home.disk().map_err(unopened)? {
            Some(disk) => read_all(&*disk)?,
            None => Vec::new(),
        };
        let known = records.into_iter().map(|record| Known {
            record: Arc::new(record),
            is_stored: true,
        });
        let mut named = named.to_vec();
        named.sort();
        Ok(Remembered {
            known: Mutex::new(known.collect()),
            home,
            named,
        })
    }

    /// The states known now, for a look that begins now.
    pub fn before(&self) -> Before {
        let known = self.known.lock();
        Before(known.iter().map(|known| known.record.clone()).collect())
    }

    /// A look that began after `before` found this state at this keeper. The file has it when this returns, if it is
    /// the newest one and there is a database.
    ///
    /// # Errors
    /// [`StoreError::Setup`]: the keeper was restored from a backup. [`StoreError::NotNow`]: the file cannot be written.
    pub fn found(
        &self,
        before: &Before,
        found: Option<&SetRecord>,
        keeper: &str,
    ) -> Result<(), StoreError> {
        let Some(found) = found else {
            let lost = before.0.iter().find(|known| known.has_or_had(&self.named));
            return lost.map_or(Ok(()), |known| Err(self.restored(known, None, keeper)));
        };
        let mut known = before.0.iter();
        if let Some(known) = known.find(|known| known.identity == found.identity)
            && found.after_state(known) != After::Continues
        {
            return Err(self.restored(known, Some(found), keeper));
        }
        self.note(found)
    }

    fn restored(&self, known: &SetRecord, found: Option<&SetRecord>, keeper: &str) -> StoreError {
        let (directory, file) = match &self.home {
            Home::Directory(path) => (
                path.display().to_string(),
                path.join(file_of(known.identity)).display().to_string(),
            ),
            #[cfg(test)]
            Home::Disk(disk) => (
                disk.display_name(""),
                disk.display_name(&file_of(known.identity)),
            ),
        };
        restored(
            known.generation,
            &file,
            found,
            keeper,
            &format!(" {directory}"),
        )
    }

    /// Writes this state, unless a newer one is known.
    fn note(&self, found: &SetRecord) -> Result<(), StoreError> {
        let mut known = self.known.lock();
        let at = (known.iter()).position(|known| known.record.identity == found.identity);
        let at = match at {
            Some(at) => at,
            None => {
                known.push(Known {
                    record: Arc::new(found.clone()),
                    is_stored: false,
                });
                known.len() - 1
            }
        };
        let Some(newest) = known.get_mut(at) else {
            return Ok(());
        };
        if found.generation > newest.record.generation {
            *newest = Known {
                record: Arc::new(found.clone()),
                is_stored: false,
            };
        }
        if newest.is_stored {
            return Ok(());
        }
        let unopened = |error: DiskError| StoreError::NotNow {
            what: "keep the newest register of the copies".into(),
            place: "the database's directory".into(),
            reason: error.to_string(),
        };
        let Some(disk) = self.home.disk().map_err(unopened)? else {
            return Ok(());
        };
        let disk = &*disk;
        let failed = |error: DiskError| failed(disk, error);
        let name = file_of(newest.record.identity);
        let names = disk.list("").map_err(failed)?;
        let has = |wanted: &str| names.iter().any(|name| name == wanted);
        if !has(MANIFEST_FILE) && !has(&name) {
            return Ok(());
        }
        let lock = disk.lock(&format!("{name}.lock")).map_err(failed)?;
        let _lock = lock.ok_or_else(|| StoreError::NotNow {
            what: "keep the newest register of the copies".into(),
            place: disk.display_name(&name),
            reason: "another process writes it".into(),
        })?;
        // Another process may have written it since this one read it.
        if disk.list("").map_err(failed)?.contains(&name) {
            let stored = read_file(disk, &name)?;
            if stored.generation >= newest.record.generation && !planted::is(Planted::FileReplaced)
            {
                *newest = Known {
                    record: Arc::new(stored),
                    is_stored: true,
                };
                return Ok(());
            }
        }
        let text = newest.record.encode();
        lines::replace(disk, &name, &format!("{name}.new"), &text).map_err(failed)?;
        newest.is_stored = true;
        Ok(())
    }
}
