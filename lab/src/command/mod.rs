//! The verbs that are not experiments of one module: the simulation, traces, and clusters of nodes.

pub mod cluster;
pub mod simulate;
pub mod trace;
