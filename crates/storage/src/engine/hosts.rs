//! Databases that other hosts follow, or whose log is in a store, too: claiming and carrying the log, copies that follow it,
//! bases and clones, and guests that read a log beside its owner. A program that needs none of it does not compile it:
//! the feature `hosts`.

mod adopting;
mod append_error;
mod base;
mod claiming;
mod clone;
mod forks;
mod guest;
mod kinds;
mod lacking;
mod lagging;
mod receiving;
mod remote;
mod replica;
mod retention;

pub use append_error::AppendError;
#[cfg(test)]
pub(super) use base::create_empty;
pub use base::{check_base, get_base, newest_base, read_base, remove_base, usable_bases};
pub use claiming::{MANIFEST_OBJECT, follow_store, stored_manifest};
pub use clone::{CloneUntil, Cloned, clone_at, clone_or_undo};
pub use forks::{Fork, forks};
pub use guest::{Arrival, Guest, GuestError, Sight};
pub(super) use remote::Remote;
pub use replica::{Replica, ReplicaError};
pub use retention::{
    Deleted, KeepInStore, delete_past, entry_head, entry_time, known_hosts, list_log, oldest_kept,
};
