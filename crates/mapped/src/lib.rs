//! Transactions on plain memory.

// The derive names this crate by its name, here too.
extern crate self as sardonyx_mapped;

pub mod collections;
pub mod heap;
pub mod memory;
pub mod place;
pub mod resident;

pub use heap::Heap;
pub use memory::{Memory, MemoryAccess};
pub use place::{P, Slice};
pub use resident::Resident;
