//! Tests that see the room from inside.

mod coding;
mod links;
mod partitions;
pub mod processes;
pub mod proxy;
mod questions;
mod together;
