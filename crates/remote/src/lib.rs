//! Logs in stores that others keep ([`sardonyx_storage::remote_log`]): object stores with the S3 API, NATS JetStream,
//! another host over TCP, a directory, memory.
//!
//! The store replicates, except under `copies:`, where this crate writes each entry to every copy. A store must create an
//! object under a name only if none exists, also under concurrency. It must replace one only if it is still the one that was
//! read. A store is probed ([`probe`]) when it is opened, or by the server that keeps it; copies, when their set is made. One
//! that does otherwise is refused, since there two owners would acknowledge (I12).
//!
//! A store implements `RemoteStore` and `RemoteObjects`, and has an arm in `place::open_plain`, which probes it. `stable`,
//! `names`, `requests`, `several`, `variables` and `shown` are shared by stores.
//!
//! | place | where the log is | for |
//! | --- | --- | --- |
//! | `s3://BUCKET/PREFIX` | an object store; endpoint, region and credentials from the environment, as AWS's tools have them | several hosts |
//! | `nats://HOST[:PORT][,HOST...]/STREAM[/PREFIX]` | a stream of NATS JetStream, also as `tls://`; credentials from the environment, as NATS's tools have them | several hosts, where an object store is too slow |
//! | `tcp://HOST:PORT` | another host, which runs a [`StoreServer`] (`sardonyx store serve`) | two hosts and nothing else |
//! | `copies:KEEPER;COPY;COPY` | every COPY; KEEPER, a store or `etcd://HOST:PORT[,HOST:PORT...]/NAME`, has the register of those that count ([`Copies`]) | two hosts or more, each of which may be lost |
//! | `file:DIRECTORY` | a directory | one host, or a file system of the network |
//! | `memory:NAME` | this process | trying things out |
//!
//! `s3:` needs the cargo feature `s3`, `nats:` and `tls:` the feature `nats`, `etcd:` and `etcds:` the feature `etcd`; all
//! are on by default. In a build without one of them [`open`] refuses such a place and names the feature.
//!
//! With [`Keys`] everything is encrypted before it goes there ([`EncryptedLog`]).
//!
//! No store repeats a change that may have been done: the caller reads back first.
//!
//! # NATS JetStream
//!
//! The stream is made if it is absent. It is in files, without limits, and deletes nothing by itself. It has three
//! replicas if the servers are a cluster; one server alone causes a warning. An existing stream with another
//! configuration is refused, and the error names the change. Several logs can be in it, under prefixes. Servers are of
//! version 2.12 or newer, and **sync before they answer**: `jetstream { sync_interval: always }` in their
//! configuration. No client can see if they do, and by default they do not. Then servers that lose power together lose
//! acknowledged entries.
//!
//! A server's `max_payload` (1 MiB by default) limits a message, not an entry: larger entries are stored in parts, and
//! cost one more round.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `NATS_CREDS`, `NATS_NKEY` | a file of credentials; a file with an nkey's seed |
//! | `NATS_USER`, `NATS_PASSWORD`; `NATS_TOKEN` | a user; a token |
//! | `NATS_CA`; `NATS_CERT`, `NATS_KEY` | certificates of authorities instead of the system's; one's own, and its key |
//! | `SARDONYX_STORE_ALLOW_PLAIN=true` | `nats://` to other hosts, without TLS, in a network that cannot be tapped |
//!
//! # TCP
//!
//! | variable | its meaning |
//! | --- | --- |
//! | `SARDONYX_STORE_TLS` | a directory with `ca.pem`, `cert.pem` and `key.pem`: both ends show that the CA has signed them |
//! | `SARDONYX_STORE_TOKEN_FILE` | a file with the token that the server asks for |
//! | `SARDONYX_STORE_ALLOW_PLAIN=true` | other hosts without TLS, in a network that cannot be tapped |
//!
//! # etcd
//!
//! An etcd of version 3.4 or newer keeps the registers of `copies:`, and no log. All servers of its cluster are named.
//! `etcds://` uses TLS, which other hosts need unless `SARDONYX_STORE_ALLOW_PLAIN` is `true`.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `ETCDCTL_CACERT` | certificates of authorities instead of the system's |
//! | `ETCDCTL_CERT`, `ETCDCTL_KEY` | one's own certificate, and its key |
//! | `ETCDCTL_USER`, `ETCDCTL_PASSWORD` | a user; or `ETCDCTL_USER` alone as `NAME:PASSWORD` |
//!
//! # Example
//!
//! ```
//! use sardonyx_remote::{RemoteOptions, open};
//! use sardonyx_storage::remote_log::entry::{Entry, EntryBuilder};
//! use sardonyx_storage::remote_log::position::EntryPosition;
//! use sardonyx_storage::remote_log::RemoteLogError;
//! use sardonyx_storage::remote_log::shell::{Follower, Patience, RemoteWriter};
//!
//! let store = open("memory:bank", &RemoteOptions::default())?;
//! let apply = |_: &Entry| Ok::<_, RemoteLogError>(());
//! let mut log = RemoteWriter::claim(store.clone(), 7, EntryPosition::START, Patience::default(), apply)?;
//! let mut entry = EntryBuilder::new();
//! entry.push(b"commit groups");
//! log.append(entry)?; // It is durable.
//!
//! let mut other = Follower::new(store, 7, EntryPosition::START, Patience::default());
//! other.next_entry()?.expect("the fence of the first epoch");
//! assert_eq!(other.next_entry()?.expect("the entry").payload(), b"commit groups");
//! # Ok::<(), RemoteLogError>(())
//! ```

#![cfg_attr(
    not(test),
    deny(
        clippy::dbg_macro,
        clippy::exit,
        clippy::panic,
        clippy::print_stderr,
        clippy::print_stdout,
        clippy::string_slice,
        clippy::todo,
        clippy::unimplemented,
        clippy::unwrap_used
    )
)]
#![forbid(unsafe_code)]

mod copies;
#[cfg(test)]
mod damaging;
mod directory;
mod encrypted;
#[cfg(feature = "etcd")]
pub mod etcd;
mod host;
#[cfg(feature = "s3")]
mod http;
#[cfg(feature = "nats")]
mod jetstream;
mod names;
#[cfg(feature = "s3")]
mod objects;
mod options;
mod place;
pub mod probe;
#[cfg(any(feature = "s3", feature = "nats"))]
mod requests;
#[cfg(test)]
#[path = "../tests/all/stores/rules.rs"]
mod rules;
#[cfg(feature = "s3")]
mod s3;
mod served;
#[cfg(any(feature = "s3", feature = "nats"))]
mod several;
#[cfg(any(feature = "etcd", feature = "s3", feature = "nats"))]
mod shown;
mod stable;
mod tcp;
#[cfg(any(feature = "etcd", feature = "nats"))]
mod variables;

pub use copies::{
    Copies, CopiesHealth, CopyRecord, KnownState, LackingBase, PlacesChange, PutBack,
    PutBackOutcome, SetRecord, Standing, StateName, change_copies, copies_health, copies_of,
    put_back, raise_copies_version,
};
pub use directory::DirectoryLog;
pub use encrypted::{ENCRYPTION_BYTES, EncryptedLog, Keys};
#[cfg(feature = "s3")]
pub use objects::ObjectLog;
pub use options::{KEYS_VARIABLE, RemoteOptions};
pub use place::open;
pub use served::ServedLog;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub use tcp::fuzzing;
pub use tcp::{StoreServer, StoreServerError, TLS_VARIABLE, TOKEN_FILE_VARIABLE, TcpLog};
