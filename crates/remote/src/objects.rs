//! A log in an object store: an object for each entry, created only if there is none, and one for the boundary.
//!
//! ```text
//! PREFIX/entry/00000000000000000001    an entry; 20 decimal digits
//! PREFIX/boundary                      the boundary
//! PREFIX/probe/RANDOM/...              while the store is probed
//! ```
//!
//! Requests run on a thread of the log's own and block the caller, who may be a task of another runtime. An answer that
//! does not come in time is none: the request may still be done.

use crate::names::{name_of, number_of};
use crate::place::RemoteOptions;
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt, stream};
use object_store::path::Path;
use object_store::{
    Error, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, UpdateVersion,
};
use sardonyx_base::random::system_random;
use sardonyx_storage::remote_log::store::{
    Appended, BoundaryVersion, LIST_MOST, Listed, RemoteStore, StoreError, StoredBoundary, Swapped,
};
use std::fmt;
use std::future::Future;
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// The most that is shown of what a store says.
const REASON_CHARS_MAX: usize = 400;

/// A log in an object store.
pub struct ObjectLog {
    store: Arc<dyn ObjectStore>,
    prefix: String,
    place: String,
    request_limit: Duration,
    entry_bytes_max: u64,
    requests: Arc<Requests>,
    secrets: Vec<String>,
}

/// Where requests run.
#[derive(Debug)]
struct Requests(Option<Runtime>);

/// A runtime that is dropped waits for its thread, and refuses to do so within another one.
impl Drop for Requests {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Requests {
    /// The request's result, if there is one within this time.
    fn wait<T: Send + 'static>(
        &self,
        limit: Duration,
        request: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let (answer, answered) = mpsc::sync_channel(1);
        self.0.as_ref()?.spawn(async move {
            if let Ok(result) = tokio::time::timeout(limit, request).await {
                // Nobody may wait any more.
                let _ = answer.send(result);
            }
        });
        // Without an answer the task ends, and with it its end of the channel.
        answered.recv().ok()
    }
}

/// Without what the store's client knows.
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
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("sardonyx-remote")
            .enable_all()
            .build()
            .map_err(|error| StoreError::Place {
                place: place.clone(),
                reason: format!("a thread for it cannot be started: {error}"),
            })?;
        Ok(ObjectLog {
            store,
            prefix: prefix.into(),
            place,
            request_limit: options.request_limit,
            entry_bytes_max: options.entry_bytes_max,
            requests: Arc::new(Requests(Some(runtime))),
            secrets: Vec::new(),
        })
    }

    /// Shows none of these texts in errors.
    pub(crate) fn without(mut self, secrets: Vec<String>) -> ObjectLog {
        self.secrets = secrets;
        self.secrets.retain(|secret| !secret.is_empty());
        self
    }

    /// Another log in the same store, under a prefix that nobody uses.
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

    /// Deletes the whole log: that of a probe. What cannot be deleted stays, and a warning says so.
    pub fn clear(&self) {
        let prefix = Path::from(self.prefix.as_str());
        let found = self
            .store
            .list(Some(&prefix))
            .map(|meta| Ok(meta?.location));
        let deleted = self.ask("list and delete", delete(self.store.clone(), found.boxed()));
        if let Err(error) = deleted {
            tracing::warn!(%error, prefix = self.prefix, "what a probe left is not deleted");
        }
    }

    fn entry(&self, number: u64) -> Path {
        Path::from(format!("{}/entry/{}", self.prefix, name_of(number)))
    }

    fn boundary(&self) -> Path {
        Path::from(format!("{}/boundary", self.prefix))
    }

    /// Waits for an answer.
    fn ask<T: Send + 'static>(
        &self,
        what: &str,
        request: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.try_ask(what, request)?
            .map_err(|error| self.error(what, &error))
    }

    /// Waits for an answer; the store's own errors are for the caller to judge.
    fn try_ask<T: Send + 'static>(
        &self,
        what: &str,
        request: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<Result<T, Error>, StoreError> {
        let limit = self.request_limit;
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
        let reason = self.shown(error);
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

    /// What the store says, without secrets and not endless.
    fn shown(&self, error: &Error) -> String {
        let mut text = error.to_string();
        let mut source = std::error::Error::source(error);
        while let Some(cause) = source {
            let more = cause.to_string();
            if !text.contains(&more) {
                text = format!("{text}: {more}");
            }
            source = cause.source();
        }
        for secret in &self.secrets {
            text = text.replace(secret, "***");
        }
        text = text.replace(['\n', '\r'], " ");
        match text.char_indices().nth(REASON_CHARS_MAX) {
            Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
            None => text,
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

/// Deletes objects; those that are not there are none the less deleted.
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
        let payload = PutPayload::from(bytes.to_vec());
        let put = put(
            self.store.clone(),
            self.entry(number),
            payload,
            PutMode::Create,
        );
        match self.ask(&format!("create entry {number}"), put)? {
            true => Ok(Appended::Ok),
            false => Ok(Appended::Conflict),
        }
    }

    fn read(&self, number: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let what = format!("read entry {number}");
        let (store, path) = (self.store.clone(), self.entry(number));
        let read = async move { store.get(&path).await?.bytes().await };
        let found = self.try_ask(&what, read)?;
        match found {
            Ok(bytes) => Ok(Some(bytes.to_vec())),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.error(&what, &error)),
        }
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
        let paths: Vec<_> = numbers
            .iter()
            .map(|number| Ok(self.entry(*number)))
            .collect();
        let paths = stream::iter(paths).boxed();
        self.ask("delete entries", delete(self.store.clone(), paths))
    }

    fn read_boundary(&self) -> Result<Option<StoredBoundary>, StoreError> {
        let what = "read the boundary";
        let (store, path) = (self.store.clone(), self.boundary());
        let found = self.try_ask(what, async move {
            let found = store.get(&path).await?;
            let version = found.meta.e_tag.clone();
            Ok((found.bytes().await?, version))
        })?;
        match found {
            Ok((bytes, Some(version))) => Ok(Some(StoredBoundary {
                bytes: bytes.to_vec(),
                version: BoundaryVersion(version),
            })),
            Ok((_, None)) => Err(StoreError::Unsuitable {
                place: self.place.clone(),
                reason: "it gives objects no ETag, so none can be replaced by condition".into(),
            }),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.error(what, &error)),
        }
    }

    fn swap_boundary(
        &self,
        expected: Option<&BoundaryVersion>,
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
        let put = put(self.store.clone(), self.boundary(), payload, mode);
        match self.ask("replace the boundary", put)? {
            true => Ok(Swapped::Ok),
            false => Ok(Swapped::Conflict),
        }
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
