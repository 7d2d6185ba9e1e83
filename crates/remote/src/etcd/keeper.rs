//! The keeper of a set of copies in etcd: its registers, and the few small objects that a set has there. It keeps no log:
//! an entry is refused.
//!
//! A register that was restored with etcd from an older state is refused, also if etcd's revision was raised meanwhile
//! (`--bump-revision`): a key's own revision never becomes less.

use super::client::{Client, Found};
use super::credentials::Credentials;
use super::error::EtcdError;
use super::http::Http;
use super::place::EtcdPlace;
use crate::options::{NO_LOG, RemoteOptions};
use sardonyx_base::sync::Mutex;
use sardonyx_storage::remote_log::objects::{ListedObject, RemoteObjects, check_object_name};
use sardonyx_storage::remote_log::store::{
    Appended, Listed, Register, RegisterVersion, RemoteStore, StoreError, StoredRegister, Swapped,
};
use std::collections::BTreeMap;

/// The most bytes of a value: etcd refuses requests of more than 1.5 MiB.
const VALUE_BYTES_MAX: usize = 1 << 20;

/// The registers under a name.
#[derive(Debug)]
pub(crate) struct EtcdKeeper {
    client: Client,
    /// For people.
    place: String,
    name: String,
    /// The newest revision of each register that was seen.
    seen: Mutex<BTreeMap<&'static str, i64>>,
}

impl EtcdKeeper {
    /// The registers at this place. Nothing is asked yet: conditional writes are etcd's own, so they need no probe.
    ///
    /// # Errors
    /// The credentials in the environment are wrong.
    pub fn open(place: &EtcdPlace, options: &RemoteOptions) -> Result<Self, StoreError> {
        let text = place.text();
        let credentials =
            Credentials::from(&text, place.tls, |name: &str| std::env::var(name).ok())?;
        let limit = options.register_limit().unwrap_or(options.request_limit);
        let http = Http::new(place.endpoints(), credentials, limit);
        Ok(Self::new(Client::over(Box::new(http)), &text, &place.name))
    }

    pub fn new(client: Client, place: &str, name: &str) -> Self {
        EtcdKeeper {
            client,
            place: place.into(),
            name: name.into(),
            seen: Mutex::default(),
        }
    }

    fn key(&self, register: Register) -> String {
        format!("{}/{}", self.name, register.name())
    }

    fn object(&self, name: &str) -> Result<String, StoreError> {
        check_object_name(&self.place, name)?;
        Ok(format!("{}/objects/{name}", self.name))
    }

    fn failed(&self, what: &str) -> impl FnOnce(EtcdError) -> StoreError {
        move |error| error.of_store(what, &self.place)
    }

    fn no_log(&self) -> StoreError {
        StoreError::Refused {
            what: "an entry".into(),
            place: self.place.clone(),
            reason: NO_LOG.into(),
        }
    }

    fn check_length(&self, what: &str, bytes: &[u8]) -> Result<(), StoreError> {
        match bytes.len() <= VALUE_BYTES_MAX {
            true => Ok(()),
            false => Err(StoreError::Refused {
                what: what.into(),
                place: self.place.clone(),
                reason: format!(
                    "it has {} bytes, and etcd takes {VALUE_BYTES_MAX}",
                    bytes.len()
                ),
            }),
        }
    }

    /// Notes the revision of a register, which was `before` or newer.
    fn note(&self, register: Register, before: i64, found: i64) -> Result<(), EtcdError> {
        if found < before {
            return Err(EtcdError::Restored {
                what: format!("the key {}", self.key(register)),
                seen: before,
                found,
            });
        }
        let mut seen = self.seen.lock();
        let newest = seen.entry(register.name()).or_default();
        *newest = found.max(*newest);
        Ok(())
    }

    fn seen(&self, register: Register) -> i64 {
        let seen = self.seen.lock();
        seen.get(register.name()).copied().unwrap_or(0)
    }
}

impl RemoteStore for EtcdKeeper {
    fn place(&self) -> String {
        self.place.clone()
    }

    /// A key is read from memory, and costs nothing. So hosts see a hand-over within milliseconds.
    fn is_near(&self) -> bool {
        true
    }

    fn entry_bytes_max(&self) -> u64 {
        0
    }

    fn append_at(&self, _: u64, _: &[u8]) -> Result<Appended, StoreError> {
        Err(self.no_log())
    }

    fn read(&self, _: u64) -> Result<Option<Vec<u8>>, StoreError> {
        Err(self.no_log())
    }

    fn list(&self, _: u64) -> Result<Vec<Listed>, StoreError> {
        Err(self.no_log())
    }

    fn remove(&self, _: &[u64]) -> Result<(), StoreError> {
        Err(self.no_log())
    }

    fn read_register(&self, register: Register) -> Result<Option<StoredRegister>, StoreError> {
        let what = format!("a read of the register {}", register.name());
        let before = self.seen(register);
        let found = self.client.get(&self.key(register)).and_then(|found| {
            // A key that was deleted has no revision; the users of a register decide what that means.
            if let Some(Found { revision, .. }) = &found {
                self.note(register, before, *revision)?;
            }
            Ok(found)
        });
        let found = found.map_err(self.failed(&what))?;
        Ok(found.map(|found| StoredRegister {
            bytes: found.value,
            version: RegisterVersion(found.revision.to_string()),
        }))
    }

    fn swap_register(
        &self,
        register: Register,
        expected: Option<&RegisterVersion>,
        bytes: &[u8],
    ) -> Result<Swapped, StoreError> {
        let what = format!("a replacement of the register {}", register.name());
        self.check_length(&what, bytes)?;
        let revision = match expected {
            None => 0,
            Some(RegisterVersion(version)) => match version.parse() {
                Ok(revision @ 1..) => revision,
                // No register here ever had it.
                _ => return Ok(Swapped::Conflict),
            },
        };
        let put = self
            .client
            .put_if(&self.key(register), revision, bytes, None);
        match put.map_err(self.failed(&what))? {
            true => Ok(Swapped::Ok),
            false => Ok(Swapped::Conflict),
        }
    }
}

impl RemoteObjects for EtcdKeeper {
    fn create_object(&self, name: &str, bytes: &[u8]) -> Result<Appended, StoreError> {
        let key = self.object(name)?;
        self.check_length("an object", bytes)?;
        let put = self.client.put_if(&key, 0, bytes, None);
        match put.map_err(self.failed("the creation of an object"))? {
            true => Ok(Appended::Ok),
            false => Ok(Appended::Conflict),
        }
    }

    fn read_object(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let found = self.client.get(&self.object(name)?);
        let found = found.map_err(self.failed("a read of an object"))?;
        Ok(found.map(|found| found.value))
    }

    fn list_objects(&self, folder: &str) -> Result<Vec<ListedObject>, StoreError> {
        let prefix = format!("{}/", self.object(folder)?);
        let found = self.client.list(&prefix);
        let found = found.map_err(self.failed("a list of objects"))?;
        let above = self.name.len() + "/objects/".len();
        let listed = found.into_iter().filter_map(|found| {
            let key = String::from_utf8(found.key).ok()?;
            Some(ListedObject {
                name: key.get(above..)?.into(),
                bytes: found.value.len() as u64,
            })
        });
        Ok(listed.collect())
    }

    fn remove_objects(&self, names: &[String]) -> Result<(), StoreError> {
        for name in names {
            let deleted = self.client.delete(&self.object(name)?);
            deleted.map_err(self.failed("a removal of an object"))?;
        }
        Ok(())
    }
}
