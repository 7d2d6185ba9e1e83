//! etcd, spoken to in JSON over HTTP (`/v3/kv/txn`, of etcd 3.4 and newer): the keeper of the registers of a log on
//! several places ([`Copies`](crate::Copies)), and the client of everything else that this workspace keeps in an etcd.
//!
//! etcd replicates and agrees; nothing here does. A register is a key, and its version is the key's `mod_revision`: a
//! transaction compares that and puts the value, at once.
//!
//! ```text
//! NAME/boundary, primary, copies, hosts       the registers
//! NAME/objects/…                              a few small objects: the identity of the set of copies
//! ```
//!
//! Hosts need no lease of etcd: the count in the register `primary` is their sign, as in any store
//! ([`sardonyx_storage::remote_log::primary`]). So a clock of etcd's servers decides nothing.
//!
//! - `http`: one request to one of several servers; `client`: keys that are read, and put by comparison;
//! - `credentials`: the identity of this process; `place`: `etcd://HOST:PORT[,HOST:PORT...]/NAME`;
//! - `keeper`: the registers.
//!
//! # The rules
//!
//! 1. A put is sent to one server. It is sent to another one only if the first cannot have received it. So a put without
//!    an answer is done at most once, now or later, and its caller reads back.
//! 2. Reads are linearizable, as etcd's are by default. So no answer shows an older revision of the cluster than an
//!    answer before the request did, nor an older revision of a key. An etcd that shows one was restored from an older
//!    state, and is refused, as is the answer of another cluster.

pub(crate) mod client;
pub(crate) mod credentials;
mod error;
pub(crate) mod http;
pub(crate) mod keeper;
pub(crate) mod place;

#[cfg(test)]
#[path = "../../tests/all/etcd/served.rs"]
#[allow(dead_code, reason = "registers of nodes need more of it")]
pub(crate) mod fake;
#[cfg(test)]
pub(crate) mod tests;

pub use client::{Client, Found};
pub use error::EtcdError;
pub use http::{bytes, number, text};
