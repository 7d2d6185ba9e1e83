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
//! standby: such a directory opens with [`crate::engine::Engine`], and the other way round.
//!
//! Invariants: I1, I2, I4, I5, I6, I7, I9, I10; each part says how.
//!
//! ```
//! use sardonyx_storage::engine::StorageOptions;
//! use sardonyx_storage::disk::{Disk, Faults, SimulatedDisk};
//! use sardonyx_storage::log::seal::GroupBuilder;
//! use sardonyx_storage::page::Address;
//! use sardonyx_storage::shared::{LogLeader, SharedLogState, join, lock_opening, open_first};
//! use std::sync::Arc;
//!
//! let disk: Arc<dyn Disk> = Arc::new(SimulatedDisk::new(1, Faults::default()));
//! let options = StorageOptions { segment_bytes: 32 << 20, ..StorageOptions::default() };
//!
//! // The first process recovers, makes the shared memory, and lets the others in.
//! let opening = lock_opening(&disk)?;
//! let first = open_first(&disk, &options)?.expect("nobody has it open");
//! let state = SharedLogState::zeroed();
//! first.initialise(&state);
//! let (incarnation, manifest) = (first.incarnation(), first.manifest);
//! let _lock = first.lock.share()?;
//! drop(opening);
//!
//! // Another one joins, and writes for all.
//! let (joined, _other_lock) = join(&disk)?;
//! assert_eq!(joined.incarnation, state.incarnation());
//! let mut leader = LogLeader::new(disk.clone(), &joined, joined.incarnation);
//! let mut records = GroupBuilder::with_capacity(4096);
//! records.push_write(Address(0), b"durable");
//! records.end_transaction();
//! let end = leader.write_group(&state, 1, &[records.payload()], 1)?;
//! assert_eq!((state.end().position, state.durable_tail()), (end, 1));
//! # assert_eq!((incarnation, manifest), (joined.incarnation, joined.clone()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod custodian;
mod custody;
mod error;
#[cfg(test)]
mod exploration;
#[cfg(test)]
mod failures;
mod leader;
#[cfg(test)]
mod mortal;
mod opening;
mod state;
mod text;
#[cfg(test)]
mod world;

pub use custodian::{Custodian, SharedMemory};
pub use custody::{Custody, CustodyError};
pub use error::SharedLogError;
pub use leader::LogLeader;
#[cfg(test)]
pub(crate) use mortal::unless_killed;
pub use opening::{CUSTODIAN_FILE, FirstLock, FirstOpening, OPENING_FILE, OpeningLock, SharedLock};
pub use opening::{join, lock_opening, open_first, record_end};
pub use state::{SharedEnd, SharedLogState};
pub use text::TEXT_BYTES_MAX;
