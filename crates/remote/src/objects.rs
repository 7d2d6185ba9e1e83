//! A log in an object store: an object for each entry, created only if absent, and one for each register.
//!
//! ```text
//! PREFIX/entry/00000000000000000001          an entry; 20 decimal digits
//! PREFIX/boundary, primary, copies, hosts    the registers
//! PREFIX/object/NAME                         the objects beside the log
//! PREFIX/probe/RANDOM/...                    while the store is probed
//! ```
//!
//! Requests block the caller (`requests`). A late answer counts as none: the request may still be done.

use crate::names::{name_of, number_of};
use crate::options::RemoteOptions;
use crate::requests::Requests;
use crate::several;
use crate::shown::shown;
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt, stream};
use object_store::path::Path;
use object_store::{
    Error, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, UpdateVersion,
};
use sardonyx_base::random::system_random;
use sardonyx_storage::remote_log::objects::{ListedObject, RemoteObjects, check_object_name};
use sardonyx_storage::remote_log::store::{
    Appended, LIST_MOST, Listed, Register, RegisterVersion, RemoteStore, StoreError,
    StoredRegister, Swapped,
};
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

/// A log in an object store.
pub struct ObjectLog {
    store: Arc<dyn ObjectStore>,
    prefix: String,
    place: String,
    request_limit: Duration,
    register_limit: Duration,
    entry_bytes_max: u64,
    requests: Arc<Requests>,
    secrets: Vec<String>,
}

/// Without the state of the store's client.
impl fmt::Debug for ObjectLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("ObjectLog");
        text.field("place", &self.place).finish_non_exhaustive()
    }
}

impl ObjectLog {
    /// The log under this prefix, called so in errors. Nothing is asked yet; the store should be
    /// [probed](crate::probe::probe).
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn new(
        store: Arc<dyn ObjectStore>,
        prefix: &str,
        place: String,
        options: &RemoteOptions,
    ) -> Result<ObjectLog, StoreError> {
        let requests = Arc::new(Requests::start(&place)?);
        Ok(ObjectLog {
            store,
            prefix: prefix.into(),
            place,
            request_limit: options.request_limit,
            register_limit: options.register_limit().unwrap_or(options.request_limit),
            entry_bytes_max: options.entry_bytes_max,
            requests,
            secrets: Vec::new(),
        })
    }

    /// Shows none of these texts in errors.
    pub(crate) fn without(mut self, secrets: Vec<String>) -> ObjectLog {
        self.secrets = secrets;
        self.secrets.retain(|secret| !secret.is_empty());
        self
    }

    /// Another log in the same store, under an unused prefix.
    pub fn for_probe(&self) -> ObjectLog {
        ObjectLog {
            store: self.store.clone(),
            prefix: format!("{}/probe/{:016x}", self.prefix, system_random()),
            place: self.place.clone(),
            requests: self.requests.clone(),
            secrets: self.secrets.clone(),
            ..*self
        }
    }

    /// Deletes the whole log: that of a probe. Parts that cannot be deleted stay, with a warning.
    pub fn clear(&self) {
        let prefix = Path::from(self.prefix.as_str());
        let found = self
            .store
            .list(Some(&prefix))
            .map(|meta| Ok(meta?.location));
        let deleted = self.ask("list and delete", delete(self.store.clone(), found.boxed()));
        if let Err(error) = deleted {
            tracing::warn!(%error, prefix = self.prefix, "the objects of a probe are not deleted");
        }
    }

    fn entry(&self, number: u64) -> Path {
        Path::from(format!("{}/entry/{}", self.prefix, name_of(number)))
    }

    fn register(&self, register: Register) -> Path {
        Path::from(format!("{}/{}", self.prefix, register.name()))
    }

    fn object(&self, name: &str) -> Result<Path, StoreError> {
        check_object_name(&self.place, name)?;
        Ok(Path::from(format!("{}/object/{name}", self.prefix)))
    }

    /// Creates an object that is to exist once.
    fn create(&self, what: &str, path: Path, bytes: &[u8]) -> Result<Appended, StoreError> {
        let payload = PutPayload::from(bytes.to_vec());
        let put = put(self.store.clone(), path, payload, PutMode::Create);
        match self.ask(what, put)? {
            true => Ok(Appended::Ok),
            false => Ok(Appended::Conflict),
        }
    }

    fn read_at(&self, what: &str, path: Path) -> Result<Option<Vec<u8>>, StoreError> {
        let store = self.store.clone();
        let read = async move { store.get(&path).await?.bytes().await };
        match self.try_ask(self.request_limit, what, read)? {
            Ok(bytes) => Ok(Some(bytes.to_vec())),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.error(what, &error)),
        }
    }

    fn remove_at(&self, what: &str, paths: Vec<Path>) -> Result<(), StoreError> {
        let paths = stream::iter(paths.into_iter().map(Ok)).boxed();
        self.ask(what, delete(self.store.clone(), paths))
    }

    /// Waits for an answer.
    fn ask<T: Send + 'static>(
        &self,
        what: &str,
        request: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.try_ask(self.request_limit, what, request)?
            .map_err(|error| self.error(what, &error))
    }

    /// Waits so long for an answer; the store's own errors are for the caller to judge.
    fn try_ask<T: Send + 'static>(
        &self,
        limit: Duration,
        what: &str,
        request: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<Result<T, Error>, StoreError> {
        self.requests
            .wait(limit, request)
            .ok_or_else(|| StoreError::Unclear {
                what: what.into(),
                place: self.place.clone(),
                reason: format!("none came within {limit:?}"),
            })
    }

    fn error(&self, what: &str, error: &Error) -> StoreError {
        let (what, place) = (what.to_string(), self.place.clone());
        let reason = shown(error, &self.secrets);
        match error {
            Error::NotFound { .. }
            | Error::InvalidPath { .. }
            | Error::NotSupported { .. }
            | Error::NotImplemented { .. }
            | Error::PermissionDenied { .. }
            | Error::Unauthenticated { .. }
            | Error::UnknownConfigurationKey { .. } => StoreError::Refused {
                what,
                place,
                reason,
            },
            _ => StoreError::Unclear {
                what,
                place,
                reason,
            },
        }
    }
}

/// Writes an object; returns whether its condition held.
async fn put(
    store: Arc<dyn ObjectStore>,
    path: Path,
    payload: PutPayload,
    mode: PutMode,
) -> Result<bool, Error> {
    let put = store.put_opts(&path, payload, PutOptions::from(mode)).await;
    match put {
        Ok(_) => Ok(true),
        Err(
            Error::AlreadyExists { .. } | Error::Precondition { .. } | Error::NotModified { .. },
        ) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Deletes objects; absent ones count as deleted.
async fn delete(
    store: Arc<dyn ObjectStore>,
    paths: BoxStream<'static, Result<Path, Error>>,
) -> Result<(), Error> {
    let mut deleted = store.delete_stream(paths);
    while let Some(deleted) = deleted.next().await {
        match deleted {
            Ok(_) | Err(Error::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The entries of a list's first page; `None` if they are not in order.
async fn page(
    list: impl Stream<Item = Result<ObjectMeta, Error>>,
) -> Result<Option<Vec<Listed>>, Error> {
    let mut listed: Vec<Listed> = Vec::new();
    let mut list = std::pin::pin!(list);
    while let Some(meta) = list.next().await {
        let meta = meta?;
        let Some(number) = meta.location.filename().and_then(number_of) else {
            continue;
        };
        if listed.last().is_some_and(|last| last.number >= number) {
            return Ok(None);
        }
        listed.push(Listed {
            number,
            bytes: meta.size,
        });
        if listed.len() == LIST_MOST {
            break;
        }
    }
    Ok(Some(listed))
}

impl RemoteStore for ObjectLog {
    fn place(&self) -> String {
        self.place.clone()
    }

    fn entry_bytes_max(&self) -> u64 {
        self.entry_bytes_max
    }

    fn append_at(&self, number: u64, bytes: &[u8]) -> Result<Appended, StoreError> {
        self.create(&format!("create entry {number}"), self.entry(number), bytes)
    }

    fn read(&self, number: u64) -> Result<Option<Vec<u8>>, StoreError> {
        self.read_at(&format!("read entry {number}"), self.entry(number))
    }

    fn read_several(&self, numbers: &[u64]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        several::read_several(self, numbers, several::AT_ONCE)
    }

    fn list(&self, from: u64) -> Result<Vec<Listed>, StoreError> {
        let what = format!("list entries from {from}");
        let folder = Path::from(format!("{}/entry", self.prefix));
        let list = match from.checked_sub(1) {
            None => self.store.list(Some(&folder)),
            Some(before) => self
                .store
                .list_with_offset(Some(&folder), &self.entry(before)),
        };
        let listed = self.ask(&what, page(list))?;
        listed.ok_or_else(|| StoreError::Unsuitable {
            place: self.place.clone(),
            reason: "its lists are not in the order of the names".into(),
        })
    }

    fn remove(&self, numbers: &[u64]) -> Result<(), StoreError> {
        let paths = numbers.iter().map(|number| self.entry(*number)).collect();
        self.remove_at("delete entries", paths)
    }

    fn read_register(&self, register: Register) -> Result<Option<StoredRegister>, StoreError> {
        let what = format!("read the register `{}`", register.name());
        let (store, path) = (self.store.clone(), self.register(register));
        let found = self.try_ask(self.register_limit, &what, async move {
            let found = store.get(&path).await?;
            let version = found.meta.e_tag.clone();
            Ok((found.bytes().await?, version))
        })?;
        match found {
            Ok((bytes, Some(version))) => Ok(Some(StoredRegister {
                bytes: bytes.to_vec(),
                version: RegisterVersion(version),
            })),
            Ok((_, None)) => Err(StoreError::Unsuitable {
                place: self.place.clone(),
                reason: "it gives objects no ETag, so none can be replaced by condition".into(),
            }),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.error(&what, &error)),
        }
    }

    fn swap_register(
        &self,
        register: Register,
        expected: Option<&RegisterVersion>,
        bytes: &[u8],
    ) -> Result<Swapped, StoreError> {
        let mode = match expected {
            None => PutMode::Create,
            Some(expected) => PutMode::Update(UpdateVersion {
                e_tag: Some(expected.0.clone()),
                version: None,
            }),
        };
        let payload = PutPayload::from(bytes.to_vec());
        let put = put(self.store.clone(), self.register(register), payload, mode);
        let what = format!("replace the register `{}`", register.name());
        match self.try_ask(self.register_limit, &what, put)? {
            Ok(true) => Ok(Swapped::Ok),
            Ok(false) => Ok(Swapped::Conflict),
            Err(error) => Err(self.error(&what, &error)),
        }
    }
}

impl RemoteObjects for ObjectLog {
    fn create_object(&self, name: &str, bytes: &[u8]) -> Result<Appended, StoreError> {
        self.create(&format!("create {name}"), self.object(name)?, bytes)
    }

    fn read_object(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.read_at(&format!("read {name}"), self.object(name)?)
    }

    fn list_objects(&self, folder: &str) -> Result<Vec<ListedObject>, StoreError> {
        let path = self.object(folder)?;
        let before = Path::from(format!("{}/object", self.prefix));
        let list = self.store.list(Some(&path));
        let listed = async move {
            let mut listed = Vec::new();
            let mut list = list;
            while let Some(meta) = list.next().await {
                let meta = meta?;
                let Some(parts) = meta.location.prefix_match(&before) else {
                    continue;
                };
                let parts: Vec<_> = parts.map(|part| part.as_ref().to_string()).collect();
                listed.push(ListedObject {
                    name: parts.join("/"),
                    bytes: meta.size,
                });
            }
            listed.sort_by(|a, b| a.name.cmp(&b.name));
            Ok(listed)
        };
        self.ask(&format!("list {folder}"), listed)
    }

    fn remove_objects(&self, names: &[String]) -> Result<(), StoreError> {
        let paths = names.iter().map(|name| self.object(name));
        self.remove_at("delete objects", paths.collect::<Result<_, _>>()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use object_store::memory::InMemory;

    #[test]
    fn what_a_store_says_is_shown_short_and_without_secrets() {
        let options = RemoteOptions::default();
        let log = ObjectLog::new(Arc::new(InMemory::new()), "bank", "here".into(), &options);
        let log = log.unwrap().without(vec!["hunter2".into(), String::new()]);
        let error = Error::PermissionDenied {
            path: "bank".into(),
            source: format!("hunter2\nis no key {}", "x".repeat(1000)).into(),
        };
        let shown = log.error("read entry 1", &error);
        assert!(matches!(shown, StoreError::Refused { .. }));
        let text = shown.to_string();
        assert!(
            text.contains("*** is no key xxx") && text.len() < 700,
            "{text}"
        );
        assert!(!format!("{log:?} {:?}", log.for_probe()).contains("hunter2"));
    }
}
