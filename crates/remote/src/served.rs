//! A log in a directory of one process, which serves it to others: entries in one log of segments.
//!
//! ```text
//! DIRECTORY/LOCK                      held by the process that has it
//! DIRECTORY/ENTRIES                   what the log is
//! DIRECTORY/log/0000000000000000.log  entries, and removals of entries
//! DIRECTORY/boundary/N, primary/N     registers, and object/NAME, as in a directory of files
//! ```
//!
//! An entry is one write that is stable when it returns ([`EntryLog`]), where a file for each entry
//! ([`DirectoryLog`]) costs two commits of the file system's journal. What is seldom written, registers and objects, are files
//! as there. Since one process has it, others use it over TCP: the directory has no folder `entry`, and `file:` refuses it.

use crate::directory::{DirectoryLog, ENTRIES};
use crate::place::RemoteOptions;
use sardonyx_base::process::Process;
use sardonyx_base::signals;
use sardonyx_storage::disk::RealDisk;
use sardonyx_storage::log::segment::LOG_DIRECTORY;
use sardonyx_storage::remote_log::entry_log::{EntryLog, EntryLogError, EntryLogOptions};
use sardonyx_storage::remote_log::objects::{ListedObject, RemoteObjects};
use sardonyx_storage::remote_log::store::{
    Appended, Listed, Register, RegisterVersion, RemoteStore, StoreError, StoredRegister, Swapped,
};
use std::fs;
use std::io::ErrorKind;
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
    /// The log of a directory, which is made if there is none. One without entries is probed. One with entries opens on a full
    /// disk, too.
    ///
    /// # Errors
    /// Another process has it; its entries are files; it is damaged; the file system cannot keep a log.
    pub fn open(directory: &Path, options: &RemoteOptions) -> Result<ServedLog, StoreError> {
        let place = directory.display().to_string();
        let failed = |what: &str, reason: String| StoreError::Refused {
            what: what.into(),
            place: place.clone(),
            reason,
        };
        check_entries(directory, &place)?;
        let disk = RealDisk::open(directory);
        let disk = disk.map_err(|error| failed("open its directory", error.to_string()))?;
        let log = EntryLog::open(Arc::new(disk), &EntryLogOptions::default());
        let log = log.map_err(|error| match error {
            EntryLogError::InUse { .. } | EntryLogError::Foreign { .. } => StoreError::Setup {
                place: place.clone(),
                reason: error.to_string(),
            },
            error => failed("open its log", error.to_string()),
        })?;
        let beside = DirectoryLog::beside(directory, LOG_DIRECTORY, options)?;
        if log.count() == 0 && options.probe {
            beside.probe()?;
        }
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
        match error {
            EntryLogError::NoRoom(_) => StoreError::NotNow {
                what,
                place,
                reason,
            },
            _ => StoreError::Refused {
                what,
                place,
                reason,
            },
        }
    }
}

/// Refuses a directory whose entries are files. Without the folder, a process that has opened it as `file:` puts none there.
fn check_entries(directory: &Path, place: &str) -> Result<(), StoreError> {
    match fs::remove_dir(directory.join(ENTRIES)) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => Err(StoreError::Setup {
            place: place.into(),
            reason: format!(
                "its entries are files: serve it as file:{place}, or move the database to a new directory with a base"
            ),
        }),
        Err(error) => Err(StoreError::Refused {
            what: "look for entries that are files".into(),
            place: place.into(),
            reason: error.to_string(),
        }),
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

    fn entry_bytes_max(&self) -> u64 {
        self.entry_bytes_max
    }

    fn append_at(&self, number: u64, bytes: &[u8]) -> Result<Appended, StoreError> {
        let appended = self.log.append(number, bytes);
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
