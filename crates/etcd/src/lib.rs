//! The membership, kept in etcd: the register of loosely coupled nodes
//! ([`Register`](sardonyx_sharing::node::loose::Register)) for nodes on several hosts.
//!
//! etcd replicates and agrees; nothing here does. Its client is the one of a log's registers
//! ([`sardonyx_remote::etcd`]), here without TLS, so by an address that only the nodes reach.
//!
//! ```text
//! PREFIX/view      the view; replaced by a transaction that compares its revision
//! PREFIX/next      the number of the next node; counted up likewise, so no number is given twice
//! PREFIX/node/N    where node N is, with its lease: gone when that runs out
//! ```
//!
//! A node counts as there as long as its lease lives. It takes its lease for shorter than etcd does: from the moment
//! before it asked for it. So when others take it for failed, it has stopped to acknowledge data that it has only
//! read. The fence of its log refuses its writes, for any clocks (I12).
//!
//! ```no_run
//! use sardonyx_etcd::{Etcd, EtcdOptions};
//! use sardonyx_sharing::node::NodeError;
//! use sardonyx_sharing::node::loose::{LooseNode, LooseOptions};
//!
//! let register = Etcd::new(EtcdOptions::new(["http://10.0.0.7:2379"], "bank"));
//! let node = LooseNode::join(Box::new(register), LooseOptions::new("10.0.0.9:7411".parse().unwrap()))?;
//! # Ok::<(), NodeError>(())
//! ```

#![cfg_attr(
    not(test),
    deny(clippy::print_stdout, clippy::unwrap_used, clippy::panic)
)]
#![forbid(unsafe_code)]

mod register;

pub use register::{Etcd, EtcdOptions};
pub use sardonyx_remote::etcd::EtcdError;
