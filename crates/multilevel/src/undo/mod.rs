//! The undo log at the object level (L1): which operations of unfinished transactions would have to be
//! compensated after a crash. It is in pages of the database, in an area of its own.
//!
//! The DASDBS paper keeps two logs, of redo at the page level and of undo at the object level. It owes
//! proofs of their order ("the L1 undo log must be forced before the L0 log I/O"). Here an undo entry
//! is bytes in a page like any other. The redo records of these bytes are in the same unit of the one
//! log as the redo records of the operation's effect. So an undo entry is durable if and only if the
//! effect is. Checkpoints copy the area with everything else, so the log need not be kept for the sake
//! of a long transaction. After a crash, the remaining undo is read from the pages that the redo pass
//! restored. This is I6 in a simpler form, I2 by construction.
//!
//! - `format`: the bytes of the area's pages;
//! - `entry`: the bytes of entries;
//! - `area`: the slots, one for each running transaction that has an entry in the log.
//!
//! Source: DASDBS paper, section 2 (Figures 2 to 4), and section 5: "combining the L1 log and the L0
//! log into a single physical file".

pub(crate) mod area;
pub(crate) mod entry;
pub(crate) mod format;

/// The undo area's name in the catalogue.
pub const UNDO_AREA: &str = ".undo";

/// The reason why the undo area cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the undo area is damaged at page {page}, offset {offset}: {reason}")]
pub struct UndoDamage {
    /// The page's number in the database.
    pub page: u64,
    /// The offset in the page, in bytes.
    pub offset: usize,
    /// The fault there.
    pub reason: String,
}
