//! The choice of a log in a store, below the options of a database: the store, and the place at which transactions are
//! durable.

#[cfg(feature = "hosts")]
use crate::remote_log::objects::RemotePlace;
#[cfg(feature = "hosts")]
use crate::remote_log::shell::Patience;
#[cfg(feature = "hosts")]
use std::sync::Arc;

/// The place at which a transaction is durable when it is acknowledged.
#[cfg(feature = "hosts")]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DurableAt {
    /// Here. The store follows a moment behind: a takeover by another host may lose transactions that it lacks.
    Local,
    /// Here and in the store: no acknowledged transaction is lost with either of them.
    #[default]
    Both,
    /// In the store. A group is written here before, but a sync of this disk is not waited for: it follows. After a
    /// power cut the store has groups that the log here lacks, and the next opening takes them from there.
    Remote,
}

/// A log in a store.
#[cfg(feature = "hosts")]
#[derive(Clone, Debug)]
pub struct RemoteLog {
    /// Keeps the entries of the log; other hosts read them there.
    pub store: Arc<dyn RemotePlace>,
    /// The place at which a transaction is durable when it is acknowledged.
    pub durable_at: DurableAt,
    /// The time for which the store is asked again, when the database is opened and closed. While it is open, an
    /// append to the log is repeated until there is an answer.
    pub patience: Patience,
}

#[cfg(feature = "hosts")]
impl RemoteLog {
    /// In this store, durable there and here.
    pub fn new(store: Arc<dyn RemotePlace>) -> Self {
        RemoteLog {
            store,
            durable_at: DurableAt::default(),
            patience: Patience::default(),
        }
    }
}

/// A log in a store: none, without the feature `hosts`.
#[cfg(not(feature = "hosts"))]
#[derive(Clone, Debug)]
pub enum RemoteLog {}
