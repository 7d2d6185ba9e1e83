//! A host of a database whose log is in a store. Its figures show the operator that it follows, that the store answers,
//! and that entries were cut off its log.
//!
//! The program that alternates between serving and following has them ([`SeesHost`]); the metrics of both roles show
//! them.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// The state of a host at a moment.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Host {
    /// The host's name; empty for a server that follows a program of its own host and takes no turns with others.
    pub name: String,
    /// True if it serves the database.
    pub serves: bool,
    /// The time for which it may still answer without contact to its store, in seconds; 0: it may not answer.
    pub lease_seconds: f64,
    /// The last entry of the store's log that it has; `None` if it serves, or has not begun to follow.
    pub entry: Option<u64>,
    /// The time for which the host has not known if there is more to follow, in the store or in the log of the followed
    /// program, in seconds. `None` if it serves, has not begun to follow, or cannot know.
    pub behind_seconds: Option<f64>,
    /// Files of transactions that were cut off its log and kept.
    pub forks: u64,
    /// The age of the newest base in the store, in seconds; before there is one, of the log's first entry. `None` if this host
    /// makes none, or the store has not answered yet.
    pub base_age_seconds: Option<f64>,
    /// The time for which a base has been due, in seconds; 0 if none is. `None` if this host makes none.
    pub base_due_seconds: Option<f64>,
}

/// Reads the state of this program's host.
#[derive(Clone)]
pub struct SeesHost(Arc<dyn Fn() -> Host + Send + Sync>);

impl SeesHost {
    /// A function that is called for each reader of metrics.
    pub fn new(sees: impl Fn() -> Host + Send + Sync + 'static) -> Self {
        SeesHost(Arc::new(sees))
    }

    /// The host now.
    pub fn see(&self) -> Host {
        (self.0)()
    }
}

impl fmt::Debug for SeesHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SeesHost").field(&self.see()).finish()
    }
}
