//! A log in a directory of one process, which serves it to others: entries in one log of segments.
//!
//! ```text
//! DIRECTORY/LOCK                      held by the process that has it
//! DIRECTORY/ENTRIES                   what the log is
//! DIRECTORY/log/0000000000000000.log  entries, and removals of entries
//! DIRECTORY/boundary/N, primary/N, …  the registers, and object/NAME, as in a directory of files
//! ```
//!
//! An entry is one write that is stable when it returns ([`EntryLog`]). A file for each entry ([`DirectoryLog`]) costs
//! two commits of the file system's journal. Registers and objects, which are seldom written, are files as there.
//! Since one process has it, others use it over TCP: the directory has no folder `entry`, and `file:` refuses it.

use crate::directory::{DirectoryLog, ENTRIES, RARE_REGISTERS};
use crate::options::RemoteOptions;
use sardonyx_base::process::Process;
use sardonyx_base::signals;
use sardonyx_storage::disk::RealDisk;
use sardonyx_storage::log::LogError;
use sardonyx_storage::log::segment::LOG_DIRECTORY;
use sardonyx_storage::remote_log::entry_log::{EntryLog, EntryLogError, EntryLogOptions, OtherUse};
use sardonyx_storage::remote_log::objects::{ListedObject, RemoteObjects};
use sardonyx_storage::remote_log::received::ReceivedEntry;
use sardonyx_storage::remote_log::store::{
    Appended, Listed, Register, RegisterVersion, RemoteStore, StoreError, StoredRegister, Swapped,
};
use std::cell::RefCell;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// A log in a directory of this process. Dropped, it is closed in order.
#[derive(Debug)]
pub struct ServedLog {
    place: String,
    beside: DirectoryLog,
    entry_bytes_max: u64,
    log: Arc<EntryLog>,
    /// Prepares segments ahead.
    supply: Option<JoinHandle<()>>,
    process: Process,
}

impl ServedLog {
    /// The log of a directory, which is made if it is absent, after a probe. An existing one opens on a full disk,
    /// too.
    ///
    /// # Errors
    /// Another process has it; it is used as `file:`; it is damaged; the file system cannot keep a log.
    pub fn open(directory: &Path, options: &RemoteOptions) -> Result<ServedLog, StoreError> {
        ServedLog::open_after(directory, options, &|| ())
    }

    /// The same; `looked` is called when it is known that the entries are no files, before that is made so.
    fn open_after(
        directory: &Path,
        options: &RemoteOptions,
        looked: &dyn Fn(),
    ) -> Result<ServedLog, StoreError> {
        let place = directory.display().to_string();
        let failed = |what: &str, reason: String| StoreError::Refused {
            what: what.into(),
            place: place.clone(),
            reason,
        };
        let files = Files {
            directory,
            options,
            looked,
            refused: RefCell::new(None),
        };
        let disk = RealDisk::open(directory);
        let disk = disk.map_err(|error| failed("open its directory", error.to_string()))?;
        let log = EntryLog::open_instead_of(&files, Arc::new(disk), &EntryLogOptions::default());
        let refused = files.refused.take();
        let log = log.map_err(|error| match error {
            EntryLogError::OtherUse { reason } => refused.unwrap_or(StoreError::Setup {
                place: place.clone(),
                reason,
            }),
            EntryLogError::InUse { .. } | EntryLogError::Foreign { .. } => StoreError::Setup {
                place: place.clone(),
                reason: error.to_string(),
            },
            error => failed("open its log", error.to_string()),
        })?;
        let beside = DirectoryLog::beside(directory, LOG_DIRECTORY, options)?;
        let log = Arc::new(log);
        let supplied = log.clone();
        let _blocked = signals::block();
        let supply = thread::Builder::new().name("log-supply".into());
        let supply = supply.spawn(move || supplied.run_supply());
        let supply = supply.map_err(|error| failed("start a thread", error.to_string()))?;
        Ok(ServedLog {
            place,
            beside,
            entry_bytes_max: options.entry_bytes_max,
            log,
            supply: Some(supply),
            process: Process::current(),
        })
    }

    fn failed(&self, what: String, error: &EntryLogError) -> StoreError {
        let (place, reason) = (self.place(), error.to_string());
        if let EntryLogError::Poisoned { .. } = error {
            // Opened again by the next process, the log shows the result.
            return StoreError::Unclear {
                what,
                place,
                reason,
            };
        }
        let passes = match error {
            EntryLogError::NoRoom(_) => true,
            // A read that had no descriptor, or no memory.
            EntryLogError::Log(LogError::Disk(error)) => error.may_be_tried_again(),
            _ => false,
        };
        match passes {
            true => StoreError::NotNow {
                what,
                place,
                reason,
            },
            false => StoreError::Refused {
                what,
                place,
                reason,
            },
        }
    }
}

/// The use of the directory as `file:`.
struct Files<'a> {
    directory: &'a Path,
    options: &'a RemoteOptions,
    looked: &'a dyn Fn(),
    /// The error of a refused request.
    refused: RefCell<Option<StoreError>>,
}

impl Files<'_> {
    fn refuse(&self, error: StoreError) -> String {
        let reason = error.to_string();
        self.refused.replace(Some(error));
        reason
    }

    /// It was used as `file:`: these exist.
    fn used(&self, what: &str) -> String {
        let place = self.directory.display();
        self.refuse(StoreError::Setup {
            place: place.to_string(),
            reason: format!(
                "its {what} are files: serve it as file:{place}, or move the database to a new directory with a base"
            ),
        })
    }

    fn failed(&self, error: &io::Error) -> String {
        self.refuse(StoreError::Refused {
            what: "look for entries that are files".into(),
            place: self.directory.display().to_string(),
            reason: error.to_string(),
        })
    }

    /// Refuses registers in a directory that has no log yet.
    fn check_registers(&self) -> Result<(), String> {
        let seldom = RARE_REGISTERS.into_iter();
        for register in [Register::Boundary, Register::Primary]
            .into_iter()
            .chain(seldom)
        {
            let is_empty = is_empty(&self.directory.join(register.name()));
            if !is_empty.map_err(|error| self.failed(&error))? {
                return Err(self.used("registers"));
            }
        }
        Ok(())
    }
}

impl OtherUse for Files<'_> {
    fn check(&self) -> Result<(), String> {
        let is_empty = is_empty(&self.directory.join(ENTRIES));
        if !is_empty.map_err(|error| self.failed(&error))? {
            return Err(self.used("entries"));
        }
        self.check_registers()?;
        // Before it is a log: an existing one opens on a full disk, too.
        let beside = DirectoryLog::beside(self.directory, LOG_DIRECTORY, self.options);
        let probed = beside.and_then(|beside| match self.options.probe {
            true => beside.probe(),
            false => Ok(()),
        });
        probed.map_err(|error| self.refuse(error))
    }

    /// Without the folder, a process that has opened it as `file:` puts nothing there.
    fn exclude(&self, is_new: bool) -> Result<(), String> {
        (self.looked)();
        if is_new {
            self.check_registers()?;
        }
        match fs::remove_dir(self.directory.join(ENTRIES)) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => Err(self.used("entries")),
            Err(error) => Err(self.failed(&error)),
        }
    }
}

/// True if nothing is in this folder, or it is not there.
fn is_empty(folder: &Path) -> io::Result<bool> {
    match fs::read_dir(folder) {
        Ok(mut found) => found.next().transpose().map(|first| first.is_none()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    }
}

impl Drop for ServedLog {
    fn drop(&mut self) {
        if !self.process.is_current() {
            // The thread is the parent's, and so is the log.
            std::mem::forget((self.log.clone(), self.supply.take()));
            return;
        }
        self.log.close();
        if let Some(supply) = self.supply.take() {
            let _ = supply.join();
        }
    }
}

impl RemoteStore for ServedLog {
    fn place(&self) -> String {
        self.place.clone()
    }

    fn is_near(&self) -> bool {
        true
    }

    fn entry_bytes_max(&self) -> u64 {
        self.entry_bytes_max
    }

    fn append_at(&self, number: u64, bytes: &[u8]) -> Result<Appended, StoreError> {
        let appended = self.log.append(number, bytes);
        appended.map_err(|error| self.failed(format!("create entry {number}"), &error))
    }

    fn append_received(
        &self,
        number: u64,
        entry: &mut ReceivedEntry,
    ) -> Result<Appended, StoreError> {
        let appended = self.log.append_received(number, entry);
        appended.map_err(|error| self.failed(format!("create entry {number}"), &error))
    }

    fn read(&self, number: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let found = self.log.read(number);
        found.map_err(|error| self.failed(format!("read entry {number}"), &error))
    }

    fn list(&self, from: u64) -> Result<Vec<Listed>, StoreError> {
        Ok(self.log.list(from))
    }

    fn remove(&self, numbers: &[u64]) -> Result<(), StoreError> {
        let removed = self.log.remove(numbers);
        removed.map_err(|error| self.failed("delete entries".into(), &error))
    }

    fn read_register(&self, register: Register) -> Result<Option<StoredRegister>, StoreError> {
        self.beside.read_register(register)
    }

    fn swap_register(
        &self,
        register: Register,
        expected: Option<&RegisterVersion>,
        bytes: &[u8],
    ) -> Result<Swapped, StoreError> {
        self.beside.swap_register(register, expected, bytes)
    }

    fn failure(&self) -> Option<String> {
        let of_log = self.log.failure().map(|error| error.to_string());
        of_log.or_else(|| self.beside.failure())
    }
}

impl RemoteObjects for ServedLog {
    fn create_object(&self, name: &str, bytes: &[u8]) -> Result<Appended, StoreError> {
        self.beside.create_object(name, bytes)
    }

    fn read_object(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.beside.read_object(name)
    }

    fn list_objects(&self, folder: &str) -> Result<Vec<ListedObject>, StoreError> {
        self.beside.list_objects(folder)
    }

    fn remove_objects(&self, names: &[String]) -> Result<(), StoreError> {
        self.beside.remove_objects(names)
    }
}

#[cfg(test)]
mod tests;
