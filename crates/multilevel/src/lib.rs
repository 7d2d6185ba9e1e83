//! Multi-level transactions: operations on objects, with semantic locks until the end of the
//! transaction and page locks until the end of the operation.
//!
//! Source: Hasse & Weikum, *A Performance Evaluation of Multi-Level Transaction Management* (paper
//! 003), section 2.

pub mod index;
pub mod operation;
pub mod pages;
pub mod plain;

pub use operation::{Inverse, LockRequests, Operation, Recorded};
pub use pages::{Area, Page, Pages, Stop};
pub use plain::PlainPages;
pub use sardonyx_lock::{LockSpace, Mode};
pub use sardonyx_storage::page::{PAGE_SIZE, PageId};

mod changes;
mod frames;
pub mod undo;
