//! One log for several processes, without a server.
//!
//! The processes of a database share memory (made by whoever runs transactions, not here) in which
//! committed transactions leave their redo records. **Whoever waits first writes for all:** under a
//! robust lock it takes everything that is published and not yet durable, and writes it as one
//! commit group. If it is killed at any instruction, the next holder of the lock writes that group
//! again.
//!
//! - [`SharedLogState`]: what the processes must know of the log, as atomics in shared memory;
//! - [`LogLeader`]: writes groups, one leader at a time;
//! - [`open_first`], [`join`]: who recovers the database, and who comes after;
//! - [`Custody`]: what one process at a time does for all: prepares segments, follows the durable
//!   log *from disk*, applies it to DB', writes the sliding backup, frees segments;
//! - [`Custodian`]: its threads, and who takes over when that process dies.
//!
//! The log, the backup and the manifest are those of every database, and so are recovery and the
//! standby: such a directory opens with [`crate::backbone::Backbone`], and the other way round.
//!
//! Invariants: I1, I2, I4, I5, I6, I7, I9, I10; each part says how.

mod custodian;
mod custody;
mod error;
#[cfg(test)]
mod exploration;
mod leader;
#[cfg(test)]
mod mortal;
mod opening;
mod preparing;
mod state;
mod text;

pub use custodian::{Custodian, SharedMemory};
pub use custody::{Custody, CustodyError};
pub use error::SharedLogError;
pub use leader::LogLeader;
pub use opening::{CUSTODIAN_FILE, FirstLock, FirstOpening, OPENING_FILE, OpeningLock, SharedLock};
pub use opening::{join, lock_opening, open_first};
pub use state::{SharedEnd, SharedLogState};
pub use text::TEXT_BYTES_MAX;
