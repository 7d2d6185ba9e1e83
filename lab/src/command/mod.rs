//! The verbs that are not experiments of one module: the simulation, traces, and nodes as processes.

pub mod cluster;
pub mod node;
pub mod simulate;
pub mod trace;
