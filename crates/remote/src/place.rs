//! The place of a log, as users write it.

use crate::copies::Copies;
use crate::directory::DirectoryLog;
use crate::encrypted::EncryptedLog;
#[cfg(any(feature = "etcd", feature = "nats"))]
use crate::host::is_plain_allowed;
use crate::options::{NO_LOG, RemoteOptions};
use crate::tcp::TcpLog;
use sardonyx_storage::remote_log::memory::MemoryStore;
use sardonyx_storage::remote_log::objects::RemotePlace;
use sardonyx_storage::remote_log::store::StoreError;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The logs in this process' memory, by their names.
static MEMORY: Mutex<BTreeMap<String, Arc<MemoryStore>>> = Mutex::new(BTreeMap::new());

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

/// The store itself. Each arm probes it beside the log, if `options.probe`; `tcp:` leaves that to its server, `copies:` to the
/// making of the set, and `memory:` needs none.
pub(crate) fn open_plain(
    place: &str,
    options: &RemoteOptions,
) -> Result<Arc<dyn RemotePlace>, StoreError> {
    // A text that does not begin as a place is not repeated: it may be a misplaced secret.
    let wrong = |place: &str, reason: &str| StoreError::Place {
        place: place.into(),
        reason: reason.into(),
    };
    let (scheme, rest) = place.split_once(':').unwrap_or_default();
    match scheme {
        "s3" => open_s3(rest, options),
        "nats" | "tls" => open_nats(scheme == "tls", rest, options),
        "tcp" => open_tcp(rest, options),
        "copies" => Ok(Copies::open(rest, options)?),
        "etcd" | "etcds" => Err(wrong(
            &format!("the place that begins with {scheme}:"),
            NO_LOG,
        )),
        "memory" if !rest.is_empty() => {
            let mut all = MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
            let new = || Arc::new(MemoryStore::named(place.into(), options.entry_bytes_max));
            Ok(all.entry(rest.into()).or_insert_with(new).clone())
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
            "places are s3://BUCKET/PREFIX, nats://HOST/STREAM, tcp://HOST:PORT, copies:KEEPER;COPY;COPY, \
             file:DIRECTORY, memory:NAME; a KEEPER may also be etcd://HOST:PORT/NAME",
        )),
    }
}

/// The keeper of a set of copies: any store, or an etcd.
pub(crate) fn open_keeper(
    place: &str,
    options: &RemoteOptions,
) -> Result<Arc<dyn RemotePlace>, StoreError> {
    match place.split_once(':').unwrap_or_default() {
        (scheme @ ("etcd" | "etcds"), rest) => open_etcd(scheme == "etcds", rest, options),
        _ => open_plain(place, options),
    }
}

/// Its server has probed the store.
fn open_tcp(rest: &str, options: &RemoteOptions) -> Result<Arc<dyn RemotePlace>, StoreError> {
    let address = rest.strip_prefix("//").unwrap_or(rest);
    Ok(Arc::new(TcpLog::open(address, options)?))
}

#[cfg(feature = "s3")]
fn open_s3(rest: &str, options: &RemoteOptions) -> Result<Arc<dyn RemotePlace>, StoreError> {
    let (bucket, prefix) = crate::s3::bucket_and_prefix(rest)?;
    let log = crate::s3::connect(bucket, prefix, options)?;
    if options.probe {
        let beside = log.for_probe();
        let probed = crate::probe::probe(&beside);
        beside.clear();
        probed?;
    }
    Ok(Arc::new(log))
}

#[cfg(not(feature = "s3"))]
fn open_s3(_: &str, _: &RemoteOptions) -> Result<Arc<dyn RemotePlace>, StoreError> {
    Err(missing_feature("s3:", "s3"))
}

#[cfg(feature = "nats")]
fn open_nats(
    tls: bool,
    rest: &str,
    options: &RemoteOptions,
) -> Result<Arc<dyn RemotePlace>, StoreError> {
    let place = crate::jetstream::place::JetStreamPlace::parse(tls, rest, is_plain_allowed())?;
    crate::jetstream::open(&place, options)
}

#[cfg(not(feature = "nats"))]
fn open_nats(tls: bool, _: &str, _: &RemoteOptions) -> Result<Arc<dyn RemotePlace>, StoreError> {
    let scheme = if tls { "tls:" } else { "nats:" };
    Err(missing_feature(scheme, "nats"))
}

#[cfg(feature = "etcd")]
fn open_etcd(
    tls: bool,
    rest: &str,
    options: &RemoteOptions,
) -> Result<Arc<dyn RemotePlace>, StoreError> {
    let place = crate::etcd::place::EtcdPlace::parse(tls, rest, is_plain_allowed())?;
    Ok(Arc::new(crate::etcd::keeper::EtcdKeeper::open(
        &place, options,
    )?))
}

#[cfg(not(feature = "etcd"))]
fn open_etcd(tls: bool, _: &str, _: &RemoteOptions) -> Result<Arc<dyn RemotePlace>, StoreError> {
    let scheme = if tls { "etcds:" } else { "etcd:" };
    Err(missing_feature(scheme, "etcd"))
}

/// The error for a scheme whose cargo feature this build lacks. The place itself is not shown: it may contain a secret.
#[cfg(not(all(feature = "etcd", feature = "s3", feature = "nats")))]
fn missing_feature(scheme: &str, feature: &str) -> StoreError {
    StoreError::Place {
        place: format!("the place that begins with {scheme}"),
        reason: format!(
            "this program was built without the feature `{feature}`: build it with `--features {feature}` or \
             `--features full`, or install the packaged program"
        ),
    }
}

#[cfg(all(test, not(all(feature = "etcd", feature = "s3", feature = "nats"))))]
mod tests {
    use super::*;

    #[test]
    fn a_scheme_without_its_feature_is_refused_by_the_features_name() {
        let places = [
            ("s3://bucket/hunter2", "s3", cfg!(feature = "s3")),
            ("nats://127.0.0.1/HUNTER2", "nats", cfg!(feature = "nats")),
            ("tls://127.0.0.1/HUNTER2", "nats", cfg!(feature = "nats")),
            (
                "copies:etcd://127.0.0.1/HUNTER2;file:a;file:b",
                "etcd",
                cfg!(feature = "etcd"),
            ),
        ];
        for (place, feature, _) in places.iter().filter(|(_, _, built)| !built) {
            let error = open(place, &RemoteOptions::default()).unwrap_err();
            assert!(matches!(error, StoreError::Place { .. }), "{error}");
            let error = error.to_string().to_lowercase();
            assert!(error.contains(&format!("--features {feature}")), "{error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
