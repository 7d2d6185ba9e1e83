//! A session's private view of the segment: ordinary memory at an address of its own.

pub mod bitmap;
mod fault;
pub mod handler;
mod lagging;
pub mod linux;
mod memory;
mod ready;
mod turn;

pub use memory::{CHUNK_PAGES, View, ViewKind};
