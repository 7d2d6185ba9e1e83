//! A session's private view of the segment: ordinary memory at an address of its own.

pub mod bitmap;
pub mod fault;
pub mod kernel;
mod lagging;
mod memory;

pub use memory::{CHUNK_PAGES, View, ViewKind};
