//! The end of a log that another process writes to, for readers of its journals, which may show nothing that a power
//! cut takes back. It is the end that the writer publishes ([`DurableEnd`]). It is that of the manifest from the last
//! opening or closing, if that is later or nothing is published.
//!
//! A look without news reads a block.

use crate::disk::Disk;
use crate::log::LogError;
use crate::log::published::DurableEnd;
use crate::manifest::Manifest;
use std::sync::Arc;

/// The end of a log that another process writes to.
#[derive(Debug)]
pub struct LogEndBeside {
    disk: Arc<dyn Disk>,
    manifest: Manifest,
    /// The group before which everything is durable.
    end: u64,
}

impl LogEndBeside {
    /// The end for the database of this manifest, which was read before.
    pub fn new(disk: &Arc<dyn Disk>, manifest: &Manifest) -> Self {
        LogEndBeside {
            disk: disk.clone(),
            manifest: manifest.clone(),
            end: manifest.log_end.group,
        }
    }

    /// Looks again: the number of the first group that is not known to be durable, or not there.
    ///
    /// # Errors
    /// The disk's.
    #[inline]
    pub fn look(&mut self) -> Result<u64, LogError> {
        let found = DurableEnd::read(&*self.disk)?;
        if let Some(found) = found.filter(|end| end.is_of(&self.manifest)) {
            self.end = self.end.max(found.position.group);
        }
        Ok(self.end)
    }
}
