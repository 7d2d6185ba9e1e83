//! Of what a standby is made that has nothing, where the primary's log no longer reaches back to the beginning: all pages as
//! they are at the end of a group, from the primary's memory, and that group.
//!
//! The storage has no pages of its own beside those of who executes, so that is who gives them ([`SeedSource`]).

use crate::log::LogPosition;
use std::fmt::Debug;
use std::sync::Arc;

/// Why no seed is to be had.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{reason}")]
pub struct SeedError {
    reason: Arc<str>,
}

impl SeedError {
    /// For this reason.
    pub fn new(reason: impl ToString) -> SeedError {
        SeedError {
            reason: reason.to_string().into(),
        }
    }
}

/// Where all pages of an open database are to be had, as they are at one moment.
pub trait SeedSource: Send + Sync + Debug {
    /// All pages as they are at the end of a group, which is durable on return. Transactions go on meanwhile.
    ///
    /// # Errors
    /// [`SeedError`].
    fn pages(&self) -> Result<Box<dyn SeedPages>, SeedError>;
}

/// All pages of a database, as they were at the end of a group.
pub trait SeedPages: Send + Sync + Debug {
    /// Behind the group.
    fn position(&self) -> LogPosition;

    /// Their bytes.
    fn bytes(&self) -> u64;

    /// Reads bytes that are there.
    ///
    /// # Errors
    /// They are not to be had any more: too much has changed since.
    fn read(&self, offset: u64, into: &mut [u8]) -> Result<(), SeedError>;
}

/// The pages, and the group behind which they are, as it stands on disk.
#[derive(Debug)]
pub struct Seed {
    /// The pages.
    pub pages: Box<dyn SeedPages>,
    /// The group.
    pub last_group: Arc<[u8]>,
}
