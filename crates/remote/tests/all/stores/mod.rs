//! Stores for tests: one that loses and doubles, and ones that cannot keep a log.

pub mod rules;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use sardonyx_base::random::Random;
use std::fmt;
use std::sync::{Arc, Mutex};

/// The fault of a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    Nothing,
    /// Conditions are taken and ignored.
    IgnoresConditions,
    /// Creates rightly, and replaces any version.
    IgnoresVersions,
    /// Right for one after the other; of those that create one of the first race, two win.
    LetsTwoCreate,
    /// The same for those that replace.
    LetsTwoReplace,
    /// Refuses all writes, and shows their content.
    Refuses,
    /// Never answers to writes or reads.
    Silent,
}

/// A store in memory, with a fault, and by a seed: answers that are lost, requests that are done twice, or after others.
#[derive(Debug)]
pub struct Wrapped {
    inner: Arc<InMemory>,
    fault: Fault,
    random: Option<Mutex<Random>>,
    late: Mutex<Vec<(Path, PutPayload, PutOptions)>>,
    let_two: Mutex<u64>,
}

impl Wrapped {
    pub fn new(fault: Fault) -> Arc<Self> {
        Self::with(Arc::new(InMemory::new()), fault, None)
    }

    pub fn flaky(inner: Arc<InMemory>, seed: u64) -> Arc<Self> {
        Self::with(inner, Fault::Nothing, Some(Mutex::new(Random::new(seed))))
    }

    fn with(inner: Arc<InMemory>, fault: Fault, random: Option<Mutex<Random>>) -> Arc<Self> {
        Arc::new(Wrapped {
            inner,
            fault,
            random,
            late: Mutex::default(),
            let_two: Mutex::default(),
        })
    }

    fn drawn(&self, below: u64) -> u64 {
        let random = self.random.as_ref();
        random.map_or(u64::MAX, |random| random.lock().unwrap().below(below))
    }

    async fn put_as_the_fault_says(
        &self,
        path: &Path,
        payload: PutPayload,
        mut options: PutOptions,
    ) -> Result<PutResult> {
        let overwrites = match (self.fault, &options.mode) {
            (Fault::Refuses, _) => {
                return Err(Error::PermissionDenied {
                    path: path.to_string(),
                    source: "the key hunter2 has no rights".into(),
                });
            }
            (Fault::Silent, _) => std::future::pending().await,
            (Fault::IgnoresConditions, _) => true,
            (Fault::IgnoresVersions, PutMode::Update(_)) => true,
            // The second to come loses the first race rightly, if it were not for this.
            (Fault::LetsTwoCreate, PutMode::Create) => self.is_second_of(path, "100"),
            (Fault::LetsTwoReplace, PutMode::Update(_)) => {
                payload.iter().any(|bytes| bytes.starts_with(b"0-")) && self.is_second_of(path, "")
            }
            _ => false,
        };
        if overwrites {
            options.mode = PutMode::Overwrite;
        }
        self.inner.put_opts(path, payload, options).await
    }

    fn is_second_of(&self, path: &Path, ending: &str) -> bool {
        let is_it = path.as_ref().ends_with(ending);
        let mut come = self.let_two.lock().unwrap();
        *come += u64::from(is_it);
        is_it && *come == 2
    }

    /// Some of the kept requests arrive.
    async fn deliver_late(&self) {
        while self.drawn(3) == 0 {
            let late = self.late.lock().unwrap().pop();
            let Some((path, payload, options)) = late else {
                return;
            };
            let _ = self.inner.put_opts(&path, payload, options).await;
        }
    }
}

fn lost<T>() -> Result<T> {
    Err(Error::Generic {
        store: "flaky",
        source: "the connection broke".into(),
    })
}

impl fmt::Display for Wrapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.fault)
    }
}

#[async_trait]
impl ObjectStore for Wrapped {
    async fn put_opts(
        &self,
        path: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        self.deliver_late().await;
        match self.drawn(8) {
            0 => lost(),
            1 => {
                let _ = self.inner.put_opts(path, payload, options).await;
                lost()
            }
            2 => {
                let _ = self
                    .inner
                    .put_opts(path, payload.clone(), options.clone())
                    .await;
                self.inner.put_opts(path, payload, options).await
            }
            3 => {
                self.late
                    .lock()
                    .unwrap()
                    .push((path.clone(), payload, options));
                lost()
            }
            _ => self.put_as_the_fault_says(path, payload, options).await,
        }
    }

    async fn put_multipart_opts(
        &self,
        path: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(path, options).await
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        self.deliver_late().await;
        match self.drawn(8) {
            _ if self.fault == Fault::Silent => std::future::pending().await,
            0 => lost(),
            _ => self.inner.get_opts(path, options).await,
        }
    }

    fn delete_stream(
        &self,
        paths: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(paths)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}
