//! Transactions on plain memory: ordinary loads and stores between begin and commit, made atomic,
//! isolated and durable, for several processes at once.

#![cfg_attr(
    not(test),
    deny(
        clippy::dbg_macro,
        clippy::exit,
        clippy::panic,
        clippy::print_stderr,
        clippy::print_stdout,
        clippy::string_slice,
        clippy::todo,
        clippy::unimplemented,
        clippy::unwrap_used
    )
)]

// The derive names this crate by its name, here too.
extern crate self as sardonyx_mapped;

mod awaiting;
mod conflicts;
mod difference;
mod error;
#[cfg(test)]
mod exploration;
mod group;
pub mod heap;
mod here;
pub mod leftovers;
pub mod mechanism;
pub mod memory;
mod opening;
mod options;
pub mod place;
#[cfg(feature = "planted-faults")]
#[doc(hidden)]
pub mod planted;
#[cfg(not(feature = "planted-faults"))]
mod planted;
mod process_state;
mod segment;
mod session;
mod shared;
pub mod spread;
mod ticket;
mod transaction;
mod version_keeper;
mod view;

pub use conflicts::{Conflicts, PageConflicts};
pub use error::{RunError, SegmentError};
pub use heap::Heap;
pub use mechanism::{Access, MechanismKind};
pub use memory::{Memory, MemoryAccess};
pub use options::Options;
pub use place::{P, Slice};
pub use sardonyx_base::resident::{self, Resident};
pub use segment::{Segment, Statistics};
pub use session::{Begin, Savepoint, Session};
pub use shared::stopped::StoppedProcess;
pub use shared::versions::SlowReader;
pub use spread::Spread;
pub use ticket::Ticket;
pub use transaction::{Snapshot, Transaction};
