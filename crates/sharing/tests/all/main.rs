//! The tests of the protocols between nodes: one program, with a module for each matter. [`world`] has the network,
//! the storage and the transactions around the machines under test.

mod world;

mod channel;
mod exploration;
mod foreign;
mod interleavings;
mod membership;
mod schedules;
