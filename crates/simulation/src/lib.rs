//! The run of a workload on closely or loosely coupled nodes, in virtual time.

#![forbid(unsafe_code)]

pub mod experiment;
pub mod figures;
pub mod kernel;
pub mod load;
pub mod measurement;
pub mod model;
pub mod outcome;
pub mod parameters;
pub mod queueing;
pub mod replicate;
pub mod report;
pub mod search;
pub mod server;
pub mod signal;
pub mod statements;
pub mod statistics;
pub mod sweep;
pub mod text_file;
pub mod time;
