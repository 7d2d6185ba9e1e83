//! The end of a log that another process writes to, for readers of its journals, which may show nothing that a power
//! cut takes back. It is the end that the writer publishes ([`DurableEnd`]). It is that of the manifest from the last
//! opening or closing, if that is later or nothing is published.
//!
//! Of a database whose log is in a store, too, groups that only this directory has may be cut off. So it is the end of the
//! part that the store is known to have, as the writer publishes it, or as the file `STORE` has it. A database may be put
//! into a store while it is read: each look asks again.
//!
//! A look without news reads a block, and asks for a file.

use crate::disk::Disk;
use crate::log::published::DurableEnd;
use crate::manifest::Manifest;
use crate::remote_log::known::{Known, KnownError};
use std::sync::Arc;

/// The end of a log that another process writes to.
#[derive(Debug)]
pub struct LogEndBeside {
    disk: Arc<dyn Disk>,
    manifest: Manifest,
    /// The group before which everything is durable, and in the store if there is one.
    end: u64,
    /// It has been seen that there is a store.
    is_of_store: bool,
}

impl LogEndBeside {
    /// The end for the database of this manifest, which was read before.
    pub fn new(disk: &Arc<dyn Disk>, manifest: &Manifest) -> Self {
        LogEndBeside {
            disk: disk.clone(),
            manifest: manifest.clone(),
            end: 0,
            is_of_store: false,
        }
    }

    /// Looks again: the number of the first group that is not known to be durable, or not there.
    ///
    /// # Errors
    /// The disk's; the file `STORE` is damaged.
    #[inline]
    pub fn look(&mut self) -> Result<u64, KnownError> {
        let found = DurableEnd::read(&*self.disk)?;
        let found = found.filter(|end| end.is_of(&self.manifest));
        let end = match found.and_then(|end| end.stored_before) {
            Some(before) => {
                self.is_of_store = true;
                before
            }
            None => match Known::read(&*self.disk)? {
                Some(known) => {
                    self.is_of_store = true;
                    known.log.group
                }
                // It is being made anew.
                None if self.is_of_store => 0,
                None => {
                    let published = found.map_or(0, |end| end.position.group);
                    published.max(self.manifest.log_end.group)
                }
            },
        };
        self.end = self.end.max(end);
        Ok(self.end)
    }
}
