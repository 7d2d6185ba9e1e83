//! Tests of nodes. One is a world of nodes in one thread: a seed chooses the order of everything, and a node may die
//! at any step. Others are processes that are killed.

pub mod bank;
mod coding;
mod exploration;
pub(super) mod mortal;
pub mod processes;
pub mod witnessed;
pub mod world;
