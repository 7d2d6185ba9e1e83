//! A host of a database whose log is in a store: the figures by which its operator sees that it follows, that the store
//! answers, and that something was cut off its log.
//!
//! The program that serves and follows in turn knows them ([`SeesHost`]); the metrics of both roles show them.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// A host at a moment.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Host {
    /// Its name; empty: a server that follows a program of its own host, and takes no turns with others.
    pub name: String,
    /// True if it serves the database.
    pub serves: bool,
    /// For how long it may still answer without a word of its store, in seconds; 0: it may not.
    pub lease_seconds: f64,
    /// The last entry of the store's log that it has; `None`: it serves, or has not begun to follow.
    pub entry: Option<u64>,
    /// For how long it has not known whether there is more, in the store or in the log of the program that it follows, in
    /// seconds; `None`: it serves, has not begun to follow, or cannot know.
    pub behind_seconds: Option<f64>,
    /// Files of transactions that were cut off its log and kept.
    pub forks: u64,
    /// The age of the newest base in the store, in seconds; `None`: this host makes no bases, or there is none yet.
    pub base_age_seconds: Option<f64>,
}

/// Sees the host that this program is.
#[derive(Clone)]
pub struct SeesHost(Arc<dyn Fn() -> Host + Send + Sync>);

impl SeesHost {
    /// By a question that is asked for each reader of metrics.
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
