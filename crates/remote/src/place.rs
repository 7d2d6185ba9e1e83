//! Where a log is, as users write it.

use crate::directory::DirectoryLog;
use crate::encrypted::{EncryptedLog, Keys};
use crate::jetstream::place::{ALLOW_PLAIN_VARIABLE, JetStreamPlace};
use crate::objects::ObjectLog;
use crate::{jetstream, probe, s3};
use object_store::memory::InMemory;
use sardonyx_storage::remote_log::objects::RemotePlace;
use sardonyx_storage::remote_log::store::StoreError;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How a store is used.
#[derive(Clone, Debug)]
pub struct RemoteOptions {
    /// For so long an answer to one request is waited for.
    pub request_limit: Duration,
    /// The most bytes of an entry.
    pub entry_bytes_max: u64,
    /// Whether the store is probed when it is opened. Only who knows that it has been may leave it out.
    pub probe: bool,
    /// With these everything is encrypted before it goes there.
    pub keys: Option<Keys>,
}

/// The environment's variable that names a file of keys ([`Keys::of_file`]).
pub const KEYS_VARIABLE: &str = "SARDONYX_STORE_KEYS";

impl RemoteOptions {
    /// The defaults, with the keys of the file that [`KEYS_VARIABLE`] names, if it does.
    ///
    /// # Errors
    /// The file is wrong.
    pub fn from_environment() -> Result<Self, StoreError> {
        let file = std::env::var_os(KEYS_VARIABLE);
        let keys = file.map(|file| Keys::of_file(file.as_ref())).transpose()?;
        Ok(RemoteOptions {
            keys,
            ..RemoteOptions::default()
        })
    }
}

impl Default for RemoteOptions {
    /// 10 s, 64 MiB, probed.
    fn default() -> Self {
        RemoteOptions {
            request_limit: Duration::from_secs(10),
            entry_bytes_max: 64 << 20,
            probe: true,
            keys: None,
        }
    }
}

/// The logs in this process' memory, by their names.
static MEMORY: Mutex<BTreeMap<String, Arc<InMemory>>> = Mutex::new(BTreeMap::new());

/// The store of the log at this place, probed.
///
/// # Errors
/// The place cannot be understood; the store cannot be reached, refuses, or cannot keep a log.
pub fn open(place: &str, options: &RemoteOptions) -> Result<Arc<dyn RemotePlace>, StoreError> {
    let store = open_plain(place, options)?;
    Ok(match &options.keys {
        Some(keys) => Arc::new(EncryptedLog::new(store, keys.clone())),
        None => store,
    })
}

fn open_plain(place: &str, options: &RemoteOptions) -> Result<Arc<dyn RemotePlace>, StoreError> {
    // What does not begin as a place is not repeated: it may be a secret that went astray.
    let wrong = |place: &str, reason: &str| StoreError::Place {
        place: place.into(),
        reason: reason.into(),
    };
    let (scheme, rest) = place.split_once(':').unwrap_or_default();
    match scheme {
        "s3" => {
            let (bucket, prefix) = s3::bucket_and_prefix(rest)?;
            let log = s3::connect(bucket, prefix, options)?;
            probed(log, options)
        }
        "nats" | "tls" => {
            let allowed =
                std::env::var(ALLOW_PLAIN_VARIABLE).is_ok_and(|allowed| allowed == "true");
            let place = JetStreamPlace::parse(scheme == "tls", rest, allowed)?;
            jetstream::open(&place, options)
        }
        "memory" if !rest.is_empty() => {
            let mut all = MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
            let store = all.entry(rest.into()).or_default().clone();
            probed(ObjectLog::new(store, rest, place.into(), options)?, options)
        }
        "memory" => Err(wrong(place, "give it a name, as in memory:bank")),
        "file" if !rest.is_empty() => {
            let log = DirectoryLog::open(rest.as_ref(), options)?;
            if options.probe {
                log.probe()?;
            }
            Ok(Arc::new(log))
        }
        "file" => Err(wrong(
            place,
            "give it a directory, as in file:/mnt/logs/bank",
        )),
        _ => Err(wrong(
            "what was given",
            "places are s3://BUCKET/PREFIX, nats://HOST/STREAM, file:DIRECTORY, memory:NAME",
        )),
    }
}

fn probed(log: ObjectLog, options: &RemoteOptions) -> Result<Arc<dyn RemotePlace>, StoreError> {
    if options.probe {
        let beside = log.for_probe();
        let probed = probe::probe(&beside);
        beside.clear();
        probed?;
    }
    Ok(Arc::new(log))
}
