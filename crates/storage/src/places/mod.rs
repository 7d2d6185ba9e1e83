//! The places of a database's parts. The log and the backup may be in directories elsewhere, on disks of their own;
//! each stripe of the backup, too.
//!
//! The database's own directory names them in the file `PLACES`, so that every process that opens or reads it finds all
//! of it. Its manifest has a flag for such a file. Each directory elsewhere names, in its file `OWNER`, its
//! database it belongs and which part it has. Both carry the same random **mark**, made when the database was made. A
//! copy of the database, one that follows it, and one made again under the same identity have other marks.
//!
//! ```text
//! bank.sdx/   MANIFEST  PLACES  LOCK  journal/…
//! /fast/      OWNER  LOCK  log/0000000000000000.log …
//! /disk1/     OWNER  LOCK  backup/stripe-000
//! /disk2/     OWNER  LOCK  backup/stripe-001
//! ```
//!
//! The files of a directory elsewhere have the same names as at home. So one directory can have several parts, and a
//! part can be moved by moving its directory. [`PlacedDisk`] finds the disk of each name; the layers above do not know
//! of it.
//!
//! Invariants:
//! - a directory is taken for a part only if its `OWNER` matches. One that is absent, empty or another's is
//!   an error that names it ([`PlacesError`]), and never a new log or an empty backup;
//! - a directory belongs to one database. It is claimed only if it is empty, and while its `LOCK` is held;
//! - `PLACES` is stable before the first `OWNER`, every `OWNER` before the first file of its part, and all
//!   of them before the manifest. So the claims of an interrupted creation are known to the next one, which releases
//!   them;
//! - a process that has the database open holds the `LOCK` of each of its directories, in the same way as its own: a
//!   copy of the home directory alone cannot be opened beside it.
//!
//! Source: TPK paper, section 4: the log and the checkpoint are on disks of their own.

mod claim;
mod error;
mod find;
mod lock;
mod owner;
mod placed;
mod record;

pub use error::PlacesError;
pub use find::{Place, find_for_reading, listed};
pub use placed::PlacedDisk;

pub(crate) use claim::{clear_parts, make, refuse_others};
pub(crate) use find::{Hold, find};
pub(crate) use lock::PlaceLocks;

use record::Places;
use std::path::PathBuf;

/// The file with the places of the parts, in the database's own directory.
pub const PLACES_FILE: &str = "PLACES";

/// The file with the database to which a directory elsewhere belongs.
pub const OWNER_FILE: &str = "OWNER";

/// Directories for a database's log and its checkpoints (the backup), other than its own.
///
/// For a new database these directories are made, or must be empty. For an existing one they are the new places of
/// directories that were moved; without them the places have not changed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Directories {
    /// The log's.
    pub log: Option<PathBuf>,
    /// The backup's: stripe `k` is in number `k` modulo their count. At most as many as there are stripes.
    pub backup: Vec<PathBuf>,
}

impl Directories {
    /// True if all is in the database's own directory.
    pub fn is_empty(&self) -> bool {
        self.log.is_none() && self.backup.is_empty()
    }

    /// Checks that a database with so many stripes can have these.
    ///
    /// # Errors
    /// [`PlacesError::Count`], [`PlacesError::Path`].
    pub fn check(&self, stripes: u32) -> Result<(), PlacesError> {
        if self.backup.len() > stripes as usize {
            return Err(PlacesError::Count {
                found: self.backup.len(),
                expected: format!("at most one for each of the {stripes} stripes"),
            });
        }
        Places::of(self, 0, 0).map(|_| ())
    }
}
