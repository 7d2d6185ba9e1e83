//! A store of the world, as one process has it: each request is a turn, and may go wrong.

use super::state::Target;
use super::world::World;
use crate::copies::members::{Open, Wait};
use crate::copies::time::Time;
use sardonyx_storage::remote_log::objects::{ListedObject, RemoteObjects, RemotePlace};
use sardonyx_storage::remote_log::store::{
    Appended, Listed, Register, RegisterVersion, RemoteStore, StoreError, StoredRegister, Swapped,
};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A process' life.
#[derive(Clone)]
pub(super) struct Asker {
    pub world: Arc<World>,
    pub client: usize,
    pub life: u64,
}

impl fmt::Debug for Asker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} in life {}", self.client, self.life)
    }
}

/// A store that a process has opened.
#[derive(Debug)]
pub(super) struct Handle {
    pub asker: Asker,
    pub target: Target,
    /// The life of the place's content, when it was opened.
    pub store_life: u64,
}

pub(super) fn unclear(target: Target) -> StoreError {
    StoreError::Unclear {
        what: "a request".into(),
        place: format!("{target:?}"),
        reason: "it is so in this run".into(),
    }
}

impl Handle {
    fn call<T>(
        &self,
        act: impl Fn(&dyn RemotePlace) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.asker.world.request(self, act)
    }
}

impl RemoteStore for Handle {
    fn place(&self) -> String {
        format!("{:?}", self.target)
    }

    fn entry_bytes_max(&self) -> u64 {
        1000
    }

    fn append_at(&self, number: u64, bytes: &[u8]) -> Result<Appended, StoreError> {
        let bytes = bytes.to_vec();
        self.call(move |store| store.append_at(number, &bytes))
    }

    fn read(&self, number: u64) -> Result<Option<Vec<u8>>, StoreError> {
        self.call(move |store| store.read(number))
    }

    fn list(&self, from: u64) -> Result<Vec<Listed>, StoreError> {
        self.call(move |store| store.list(from))
    }

    fn remove(&self, numbers: &[u64]) -> Result<(), StoreError> {
        let numbers = numbers.to_vec();
        self.call(move |store| store.remove(&numbers))
    }

    fn read_register(&self, register: Register) -> Result<Option<StoredRegister>, StoreError> {
        self.call(move |store| store.read_register(register))
    }

    fn swap_register(
        &self,
        register: Register,
        expected: Option<&RegisterVersion>,
        bytes: &[u8],
    ) -> Result<Swapped, StoreError> {
        let (expected, bytes) = (expected.cloned(), bytes.to_vec());
        self.call(move |store| store.swap_register(register, expected.as_ref(), &bytes))
    }
}

impl RemoteObjects for Handle {
    fn create_object(&self, name: &str, bytes: &[u8]) -> Result<Appended, StoreError> {
        let (name, bytes) = (name.to_string(), bytes.to_vec());
        self.call(move |store| store.create_object(&name, &bytes))
    }

    fn read_object(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let name = name.to_string();
        self.call(move |store| store.read_object(&name))
    }

    fn list_objects(&self, folder: &str) -> Result<Vec<ListedObject>, StoreError> {
        let folder = folder.to_string();
        self.call(move |store| store.list_objects(&folder))
    }

    fn remove_objects(&self, names: &[String]) -> Result<(), StoreError> {
        let names = names.to_vec();
        self.call(move |store| store.remove_objects(&names))
    }
}

impl Open for Asker {
    fn open(&self, place: &str, _: Wait) -> Result<Arc<dyn RemotePlace>, StoreError> {
        self.world.open(self, place)
    }
}

impl Time for Asker {
    fn elapsed(&self) -> Duration {
        self.world.clock()
    }

    fn pause(&self, time: Duration) {
        self.world.pause(self.client, time);
    }
}
