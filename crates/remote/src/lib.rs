//! Logs in stores that others keep ([`sardonyx_storage::remote_log`]): object stores with the S3 API, a directory, memory.
//!
//! The store replicates; nothing here does. It must create an object under a name only if there is none, and replace one
//! only if it is still the one that was read, also when several ask at once. [`open`] tries that out ([`probe`]) and
//! refuses a store that does otherwise, since there two owners would acknowledge (I12).
//!
//! | place | where the log is | for |
//! | --- | --- | --- |
//! | `s3://BUCKET/PREFIX` | an object store; endpoint, region and credentials from the environment, as AWS's tools have them | several hosts |
//! | `file:DIRECTORY` | a directory | one host, or a file system of the network |
//! | `memory:NAME` | this process | trying things out |
//!
//! No request is repeated here, nor by the object store's client: who asks reads back first.
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
//! let mut standby = Follower::new(store, 7, EntryPosition::START, Patience::default());
//! standby.next_entry()?.expect("the fence of the first epoch");
//! assert_eq!(standby.next_entry()?.expect("the entry").payload(), b"commit groups");
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

mod directory;
mod names;
mod objects;
mod place;
pub mod probe;
mod s3;

pub use directory::DirectoryLog;
pub use objects::ObjectLog;
pub use place::{RemoteOptions, open};
