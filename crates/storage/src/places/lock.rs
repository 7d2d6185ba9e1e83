//! The locks of the directories elsewhere, held together with that of the database's own.

use crate::disk::{DiskError, DiskLock};

/// The locks of all directories elsewhere; empty, if there are none.
#[derive(Debug, Default)]
pub(crate) struct PlaceLocks(pub(super) Vec<Box<dyn DiskLock>>);

impl PlaceLocks {
    /// True if all of the database is in its own directory.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// These and the lock of the database's own directory in one.
    pub fn with(self, home: Box<dyn DiskLock>) -> Box<dyn DiskLock> {
        match self.0.is_empty() {
            true => home,
            false => Box::new(AllLocks { places: self, home }),
        }
    }
}

/// All locks of a database.
#[derive(Debug)]
struct AllLocks {
    // Released first: the holder of the one at home has the right to these.
    places: PlaceLocks,
    home: Box<dyn DiskLock>,
}

impl DiskLock for AllLocks {
    fn share(&mut self) -> Result<bool, DiskError> {
        for lock in &mut self.places.0 {
            if !lock.share()? {
                return Ok(false);
            }
        }
        self.home.share()
    }
}
