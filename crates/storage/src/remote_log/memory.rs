//! A store in this process' memory: for tests and for trying things out. Other stores replicate; this one ends with
//! the process.

use super::objects::{ListedObject, RemoteObjects, check_object_name};
use super::store::{
    Appended, LIST_MOST, Listed, Register, RegisterVersion, RemoteStore, StoreError,
    StoredRegister, Swapped,
};
use sardonyx_base::sync::Mutex;
use std::collections::{BTreeMap, HashMap};

/// A store in memory, for tests: a log, its registers and objects.
#[derive(Debug)]
pub struct MemoryStore {
    place: String,
    entry_bytes_max: u64,
    content: Mutex<Content>,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::named("memory".into(), ENTRY_BYTES_MAX)
    }
}

#[derive(Debug, Default)]
struct Content {
    entries: BTreeMap<u64, Vec<u8>>,
    registers: HashMap<Register, (u64, Vec<u8>)>,
    objects: BTreeMap<String, Vec<u8>>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty store whose errors name this place, and whose entries have at most so many bytes.
    pub fn named(place: String, entry_bytes_max: u64) -> Self {
        MemoryStore {
            place,
            entry_bytes_max,
            content: Mutex::default(),
        }
    }

    /// Counts the entries that are present.
    pub fn entries(&self) -> usize {
        self.content.lock().entries.len()
    }
}

/// The most bytes of an entry, unless configured.
const ENTRY_BYTES_MAX: u64 = 64 << 20;

impl RemoteStore for MemoryStore {
    fn is_near(&self) -> bool {
        true
    }

    fn place(&self) -> String {
        self.place.clone()
    }

    fn entry_bytes_max(&self) -> u64 {
        self.entry_bytes_max
    }

    fn append_at(&self, number: u64, bytes: &[u8]) -> Result<Appended, StoreError> {
        let mut content = self.content.lock();
        if content.entries.contains_key(&number) {
            return Ok(Appended::Conflict);
        }
        content.entries.insert(number, bytes.to_vec());
        Ok(Appended::Ok)
    }

    fn read(&self, number: u64) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.content.lock().entries.get(&number).cloned())
    }

    fn list(&self, from: u64) -> Result<Vec<Listed>, StoreError> {
        let content = self.content.lock();
        let listed = content.entries.range(from..).map(|(number, bytes)| Listed {
            number: *number,
            bytes: bytes.len() as u64,
        });
        Ok(listed.take(LIST_MOST).collect())
    }

    fn remove(&self, numbers: &[u64]) -> Result<(), StoreError> {
        let mut content = self.content.lock();
        numbers.iter().for_each(|number| {
            content.entries.remove(number);
        });
        Ok(())
    }

    fn read_register(&self, register: Register) -> Result<Option<StoredRegister>, StoreError> {
        let content = self.content.lock();
        let stored = content.registers.get(&register);
        Ok(stored.map(|(version, bytes)| StoredRegister {
            bytes: bytes.clone(),
            version: RegisterVersion(version.to_string()),
        }))
    }

    fn swap_register(
        &self,
        register: Register,
        expected: Option<&RegisterVersion>,
        bytes: &[u8],
    ) -> Result<Swapped, StoreError> {
        let mut content = self.content.lock();
        let found = content
            .registers
            .get(&register)
            .map(|(version, _)| *version);
        let is_expected = match (found, expected) {
            (None, None) => true,
            (Some(found), Some(expected)) => expected.0 == found.to_string(),
            _ => false,
        };
        if !is_expected {
            return Ok(Swapped::Conflict);
        }
        let next = found.map_or(1, |found| found + 1);
        content.registers.insert(register, (next, bytes.to_vec()));
        Ok(Swapped::Ok)
    }
}

impl RemoteObjects for MemoryStore {
    fn create_object(&self, name: &str, bytes: &[u8]) -> Result<Appended, StoreError> {
        check_object_name(&self.place, name)?;
        let mut content = self.content.lock();
        if content.objects.contains_key(name) {
            return Ok(Appended::Conflict);
        }
        content.objects.insert(name.into(), bytes.to_vec());
        Ok(Appended::Ok)
    }

    fn read_object(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        check_object_name(&self.place, name)?;
        Ok(self.content.lock().objects.get(name).cloned())
    }

    fn list_objects(&self, folder: &str) -> Result<Vec<ListedObject>, StoreError> {
        check_object_name(&self.place, folder)?;
        let folder = format!("{folder}/");
        let content = self.content.lock();
        let found = content.objects.range(folder.clone()..);
        let found = found.take_while(|(name, _)| name.starts_with(&folder));
        let listed = found.map(|(name, bytes)| ListedObject {
            name: name.clone(),
            bytes: bytes.len() as u64,
        });
        Ok(listed.collect())
    }

    fn remove_objects(&self, names: &[String]) -> Result<(), StoreError> {
        names
            .iter()
            .try_for_each(|name| check_object_name(&self.place, name))?;
        let mut content = self.content.lock();
        names.iter().for_each(|name| {
            content.objects.remove(name);
        });
        Ok(())
    }
}
