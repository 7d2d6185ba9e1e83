//! A log in a directory, for one host or a file system of the network: a file for each entry.
//!
//! ```text
//! DIRECTORY/entry/00000000000000000001     an entry
//! DIRECTORY/boundary/00000000000000000001  a register; the last one counts
//! DIRECTORY/primary/00000000000000000001   another one; `copies` and `hosts` are made when they are first written
//! DIRECTORY/object/NAME                    the objects beside the log
//! DIRECTORY/entry/new_RANDOM               while a file is written
//! ```
//!
//! A file is written and synced under a name of its own, then linked to its place. The link fails if something is
//! there. Then the directory is synced. So a file is there whole or not, and one of several wins. A register is
//! replaced by creating its next number. A process that finds a later one there afterwards has lost. A list of a
//! directory may miss concurrent changes. So the last 16 files stay, and a list counts when the next one shows the
//! same.
//!
//! After an error of a write or a sync it is unknown which bytes are stable, so the error is final
//! ([`StoreError::Refused`], I7). A disk that is full, and a directory that is not there, are asked again
//! ([`StoreError::NotNow`]) if that was found before anything had its place. The folder is open before a file gets its
//! place in it, so a directory that is moved or unmounted in between does not keep the sync from being done.
//!
//! Entries seen by a reader of this process are stable ([`Unstable`]). Entries seen by a reader of another process may
//! become stable a moment later: the owner is acknowledged only then.

mod creating;

use crate::names::{name_of, number_of};
use crate::options::RemoteOptions;
use crate::probe;
use crate::stable::Unstable;
use creating::NotCreated;
use sardonyx_base::random::system_random;
use sardonyx_storage::remote_log::entry_log::ENTRIES_FILE;
use sardonyx_storage::remote_log::objects::{ListedObject, RemoteObjects, check_object_name};
use sardonyx_storage::remote_log::store::{
    Appended, LIST_MOST, Listed, Register, RegisterVersion, RemoteStore, StoreError,
    StoredRegister, Swapped,
};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The folder of entries that are files.
pub(crate) const ENTRIES: &str = "entry";

/// The registers that not all directories have: their folders are made when they are first written.
pub(crate) const RARE_REGISTERS: [Register; 2] = [Register::Copies, Register::Hosts];

/// The number of states of a register that stay.
const STATES_KEPT: u64 = 16;

/// Before the names of files that are being written.
const NEW: &str = "new_";

/// Entries, objects and registers are files.
#[derive(Debug)]
pub struct DirectoryLog {
    directory: PathBuf,
    /// The name of the folder with the entries.
    entries: &'static str,
    entry_bytes_max: u64,
    unstable: Unstable,
}

impl DirectoryLog {
    /// The log there; the directory is made if it is absent, and that is wanted.
    ///
    /// # Errors
    /// The directory cannot be made, or is absent; one process keeps it for itself ([`ServedLog`](crate::ServedLog)).
    pub fn open(directory: &Path, options: &RemoteOptions) -> Result<DirectoryLog, StoreError> {
        DirectoryLog::open_after(directory, options, &|| ())
    }

    /// The same; `looked` is called when it is known that its entries are in no log, before the folders are made.
    fn open_after(
        directory: &Path,
        options: &RemoteOptions,
        looked: &dyn Fn(),
    ) -> Result<DirectoryLog, StoreError> {
        let log = DirectoryLog::new(directory, ENTRIES, options);
        log.check_is_files()?;
        looked();
        let opened = DirectoryLog::new(directory, ENTRIES, options).opened(options);
        // A log that began meanwhile: one of both sees the other.
        if let Err(error) = log.check_is_files() {
            // That process may have removed it; with a file in it, that process is refused.
            let _ = fs::remove_dir(log.entries());
            return Err(error);
        }
        opened
    }

    /// Refuses a directory whose entries are in a log.
    fn check_is_files(&self) -> Result<(), StoreError> {
        match self.directory.join(ENTRIES_FILE).try_exists() {
            Ok(true) => Err(StoreError::Setup {
                place: self.place(),
                reason: format!(
                    "its entries are in a log that one process keeps for itself: run `sardonyx store serve {}`, and use its \
                     address as tcp://HOST:PORT, beside it tcp://127.0.0.1:PORT",
                    self.directory.display()
                ),
            }),
            _ => Ok(()),
        }
    }

    /// The registers and objects of a directory whose entries are in a log beside them, in a folder of this name.
    ///
    /// # Errors
    /// As [`DirectoryLog::open`].
    pub(crate) fn beside(
        directory: &Path,
        log: &'static str,
        options: &RemoteOptions,
    ) -> Result<DirectoryLog, StoreError> {
        DirectoryLog::new(directory, log, options).opened(options)
    }

    fn new(directory: &Path, entries: &'static str, options: &RemoteOptions) -> DirectoryLog {
        DirectoryLog {
            directory: directory.into(),
            entries,
            entry_bytes_max: options.entry_bytes_max,
            unstable: Unstable::default(),
        }
    }

    fn opened(self, options: &RemoteOptions) -> Result<DirectoryLog, StoreError> {
        let log = self;
        if !options.make {
            let there = fs::metadata(log.entries()).and_then(|_| log.sync_folders());
            return match there {
                Ok(()) => Ok(log),
                Err(error) => Err(log.failed("open the directory", &error)),
            };
        }
        let made = fs::create_dir_all(&log.directory).and_then(|()| log.make_folders());
        made.map_err(|error| log.refused("make the directory", &error))?;
        Ok(log)
    }

    fn folders(&self) -> [PathBuf; 4] {
        let [boundary, primary] = [Register::Boundary, Register::Primary];
        let registers = (self.register(boundary), self.register(primary));
        [self.entries(), self.objects(), registers.0, registers.1]
    }

    /// Syncs files of a process that was killed before it did.
    fn sync_folders(&self) -> io::Result<()> {
        self.folders()
            .iter()
            .try_for_each(|folder| sync_tree(folder))?;
        for register in RARE_REGISTERS {
            match sync_tree(&self.register(register)) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Makes the folder of a register that not all directories have, if this is the directory. Without the entries' folder it
    /// is not: another process keeps it as a log, or it is away.
    fn make_register(&self, register: Register) -> io::Result<()> {
        let folder = self.register(register);
        fs::metadata(self.entries())?;
        if !RARE_REGISTERS.contains(&register) || folder.is_dir() {
            return Ok(());
        }
        create_directory(&folder)?;
        sync_directory(&self.directory)
    }

    /// Makes the folders of the directory, which exists, durably.
    fn make_folders(&self) -> io::Result<()> {
        for folder in self.folders() {
            create_directory(&folder)?;
        }
        self.sync_folders()?;
        sync_directory(&self.directory)?;
        // Made now, perhaps: its name is in the directory above.
        match self.directory.canonicalize()?.parent() {
            Some(above) => sync_directory(above),
            None => Ok(()),
        }
    }

    /// Tries out its file system, in a directory beside the entries, which is deleted.
    ///
    /// # Errors
    /// As [`probe::probe`].
    pub fn probe(&self) -> Result<(), StoreError> {
        let beside = self
            .directory
            .join(format!("probe-{:016x}", system_random()));
        let log = DirectoryLog {
            directory: beside.clone(),
            entries: ENTRIES,
            entry_bytes_max: self.entry_bytes_max,
            unstable: Unstable::default(),
        };
        // Not the directory above: it may be away by now.
        let made = create_directory(&beside).and_then(|()| log.make_folders());
        made.map_err(|error| self.failed("make a directory in it", &error))?;
        let probed = probe::probe(&log);
        if let Err(error) = fs::remove_dir_all(&beside) {
            tracing::warn!(%error, directory = %beside.display(), "the objects of a probe are not deleted");
        }
        probed
    }

    /// As if the sync of this file, which has its place, had failed.
    #[cfg(test)]
    pub(crate) fn fail_sync_of(&self, file: &str) {
        drop(self.unstable.make(self.directory.join(file)));
    }

    fn entries(&self) -> PathBuf {
        self.directory.join(self.entries)
    }

    fn register(&self, register: Register) -> PathBuf {
        self.directory.join(register.name())
    }

    fn objects(&self) -> PathBuf {
        self.directory.join("object")
    }

    /// The error of a request that changed nothing: a full disk may have room later, a network's file system may come
    /// back.
    fn failed(&self, what: &str, error: &io::Error) -> StoreError {
        match may_pass(error) {
            true => StoreError::NotNow {
                what: what.into(),
                place: self.place(),
                reason: error.to_string(),
            },
            false => self.refused(what, error),
        }
    }

    fn not_created(&self, what: &str, error: &NotCreated) -> StoreError {
        match error {
            NotCreated::Before(error) => self.failed(what, error),
            NotCreated::Stable(error) if may_pass(error) => StoreError::Unclear {
                what: what.into(),
                place: self.place(),
                reason: error.to_string(),
            },
            NotCreated::After(error) | NotCreated::Stable(error) => self.refused(what, error),
        }
    }

    fn refused(&self, what: &str, error: &io::Error) -> StoreError {
        StoreError::Refused {
            what: what.into(),
            place: self.place(),
            reason: error.to_string(),
        }
    }

    /// The result, or its absence: absent only if the folder that would have it exists. Of a file system that is not
    /// mounted nothing is known.
    fn found_in<T>(
        &self,
        folder: &Path,
        find: impl Fn() -> io::Result<T>,
    ) -> io::Result<Option<T>> {
        // Twice: the folder may have come back in between.
        for _ in 0..2 {
            match find() {
                Err(error) if error.kind() == ErrorKind::NotFound => fs::metadata(folder)?,
                found => return found.map(Some),
            };
        }
        Ok(None)
    }

    /// The numbers there are from this one on, in order.
    fn numbers(&self, folder: &Path, from: u64) -> io::Result<Vec<u64>> {
        let mut numbers = Vec::new();
        for entry in fs::read_dir(folder)? {
            let number = entry?.file_name().to_str().and_then(number_of);
            numbers.extend(number.filter(|number| *number >= from));
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// The first entries from this number on, with the bytes of each. Those before are not looked at: there may be many.
    fn listed(&self, from: u64) -> io::Result<Vec<Listed>> {
        let (folder, mut listed) = (self.entries(), Vec::new());
        for number in self.numbers(&folder, from)? {
            match fs::symlink_metadata(folder.join(name_of(number))) {
                Ok(metadata) => listed.push(Listed {
                    number,
                    bytes: metadata.len(),
                }),
                // Deleted meanwhile.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            if listed.len() == LIST_MOST {
                break;
            }
        }
        Ok(listed)
    }

    /// The bytes of a file, once its place is stable.
    fn read_stable(&self, file: &Path) -> io::Result<Vec<u8>> {
        let bytes = fs::read(file)?;
        self.unstable.wait(file)?;
        Ok(bytes)
    }

    /// A register's last number and bytes.
    fn last(&self, folder: &Path) -> io::Result<Option<(u64, Vec<u8>)>> {
        let found = self.last_seen(folder)?;
        if let Some((number, _)) = &found {
            self.unstable.wait(&folder.join(name_of(*number)))?;
        }
        Ok(found)
    }

    fn last_seen(&self, folder: &Path) -> io::Result<Option<(u64, Vec<u8>)>> {
        let last = || {
            let numbers = self.numbers(folder, 0)?;
            Ok::<_, io::Error>(numbers.last().copied())
        };
        let mut before = last()?;
        for _ in 0..100 {
            let bytes = match before {
                None => Ok(None),
                Some(number) => {
                    fs::read(folder.join(name_of(number))).map(|bytes| Some((number, bytes)))
                }
            };
            let now = last()?;
            match bytes {
                Ok(found) if now == before => return Ok(found),
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => before = now,
            }
        }
        Err(io::Error::other("a register is replaced all the time"))
    }
}

/// True if the same may succeed later.
fn may_pass(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::StorageFull
            | ErrorKind::QuotaExceeded
            | ErrorKind::NotFound
            | ErrorKind::StaleNetworkFileHandle
            | ErrorKind::TimedOut
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::NetworkDown
    )
}

fn remove_if_there(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Makes a directory, if it does not exist; not those above it.
fn create_directory(directory: &Path) -> io::Result<()> {
    match fs::create_dir(directory) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Syncs a directory, and those in it.
fn sync_tree(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => sync_tree(&entry.path())?,
            Ok(_) => {}
            // Deleted meanwhile.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    sync_directory(directory)
}

fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

impl RemoteStore for DirectoryLog {
    fn place(&self) -> String {
        format!("file:{}", self.directory.display())
    }

    fn is_near(&self) -> bool {
        true
    }

    fn entry_bytes_max(&self) -> u64 {
        self.entry_bytes_max
    }

    fn append_at(&self, number: u64, bytes: &[u8]) -> Result<Appended, StoreError> {
        match self.create(&self.entries(), &name_of(number), bytes) {
            Ok(true) => Ok(Appended::Ok),
            Ok(false) => Ok(Appended::Conflict),
            Err(error) => Err(self.not_created(&format!("create entry {number}"), &error)),
        }
    }

    fn read(&self, number: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let folder = self.entries();
        let found = self.found_in(&folder, || self.read_stable(&folder.join(name_of(number))));
        found.map_err(|error| self.failed(&format!("read entry {number}"), &error))
    }

    fn list(&self, from: u64) -> Result<Vec<Listed>, StoreError> {
        let listed = self.listed(from);
        listed.map_err(|error| self.failed("list entries", &error))
    }

    fn remove(&self, numbers: &[u64]) -> Result<(), StoreError> {
        let removed = numbers
            .iter()
            .try_for_each(|number| remove_if_there(&self.entries().join(name_of(*number))));
        removed.map_err(|error| self.refused("delete entries", &error))
    }

    fn read_register(&self, register: Register) -> Result<Option<StoredRegister>, StoreError> {
        let folder = self.register(register);
        let last = match RARE_REGISTERS.contains(&register) {
            true => {
                let found = self.found_in(&self.entries(), || self.last(&folder));
                found.map(Option::flatten)
            }
            false => self.last(&folder),
        };
        let last = last.map_err(|error| self.failed("read a register", &error))?;
        Ok(last.map(|(number, bytes)| StoredRegister {
            bytes,
            version: RegisterVersion(name_of(number)),
        }))
    }

    fn swap_register(
        &self,
        register: Register,
        expected: Option<&RegisterVersion>,
        bytes: &[u8],
    ) -> Result<Swapped, StoreError> {
        let expected = match expected {
            None => Some(0),
            Some(version) => number_of(&version.0),
        };
        let Some(expected) = expected else {
            return Ok(Swapped::Conflict);
        };
        self.make_register(register)
            .map_err(NotCreated::Before)
            .and_then(|()| self.swap(&self.register(register), expected, bytes))
            .map_err(|error| self.not_created("replace a register", &error))
    }

    fn failure(&self) -> Option<String> {
        let file = self.unstable.failed()?;
        Some(format!(
            "{}: a sync of {} has failed, so it may be lost by a power cut",
            self.place(),
            file.display()
        ))
    }
}

impl RemoteObjects for DirectoryLog {
    fn create_object(&self, name: &str, bytes: &[u8]) -> Result<Appended, StoreError> {
        check_object_name(&self.place(), name)?;
        let made = (|| {
            let file = self.objects().join(name);
            let (Some(folder), Some(last)) = (file.parent(), file.file_name()) else {
                return Err(io::Error::other("it has no name").into());
            };
            self.make_folder(folder)?;
            self.create(folder, &last.to_string_lossy(), bytes)
        })();
        match made {
            Ok(true) => Ok(Appended::Ok),
            Ok(false) => Ok(Appended::Conflict),
            Err(error) => Err(self.not_created(&format!("create {name}"), &error)),
        }
    }

    fn read_object(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        check_object_name(&self.place(), name)?;
        let folder = self.objects();
        let found = self.found_in(&folder, || self.read_stable(&folder.join(name)));
        found.map_err(|error| self.failed(&format!("read {name}"), &error))
    }

    fn list_objects(&self, folder: &str) -> Result<Vec<ListedObject>, StoreError> {
        check_object_name(&self.place(), folder)?;
        let (mut listed, objects) = (Vec::new(), self.objects());
        let found = self
            .found_in(&objects, || fs::metadata(objects.join(folder)))
            .and_then(|_| list_into(&objects.join(folder), folder, &mut listed));
        found.map_err(|error| self.failed(&format!("list {folder}"), &error))?;
        listed.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(listed)
    }

    fn remove_objects(&self, names: &[String]) -> Result<(), StoreError> {
        names
            .iter()
            .try_for_each(|name| check_object_name(&self.place(), name))?;
        let removed = names
            .iter()
            .try_for_each(|name| remove_if_there(&self.objects().join(name)));
        removed.map_err(|error| self.refused("delete objects", &error))
    }
}

impl DirectoryLog {
    /// Makes a folder for objects, and those above it, durably.
    fn make_folder(&self, folder: &Path) -> io::Result<()> {
        if folder.is_dir() {
            return Ok(());
        }
        if let Some(above) = folder.parent().filter(|_| folder != self.objects()) {
            self.make_folder(above)?;
            create_directory(folder)?;
            sync_directory(above)?;
        }
        Ok(())
    }
}

/// The objects in a folder and in those below it; none, if it is not there.
fn list_into(folder: &Path, name: &str, into: &mut Vec<ListedObject>) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let found = entry.file_name().to_string_lossy().into_owned();
        let name = format!("{name}/{found}");
        match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => list_into(&entry.path(), &name, into)?,
            // A file that is being written is no object yet.
            Ok(_) if found.starts_with(NEW) => {}
            Ok(metadata) => into.push(ListedObject {
                name,
                bytes: metadata.len(),
            }),
            // Deleted meanwhile.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
