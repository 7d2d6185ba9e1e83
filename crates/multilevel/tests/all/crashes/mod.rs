//! Crashes of the engine on the simulated disk. The machine stops at any step of the disk, also during recovery. Then
//! acknowledged transactions are there, others are not, nothing is there half or twice.
//!
//! - [`operations`]: operations that add unique powers of ten, and some that depend on each other;
//! - [`state`]: the whole content;
//! - [`model`]: the expected content of the database;
//! - [`schedule`]: steps of several transactions, run by one thread;
//! - [`world`]: the disk, its crashes, and the exhaustive exploration of them;
//! - the rest: themes.

mod model;
mod operations;
mod schedule;
mod state;
mod world;

mod aborts;
mod growth;
mod poison;
mod random;
mod siblings;
mod small;
mod spheres;
