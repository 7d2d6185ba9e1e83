//! How a workload would run on closely or loosely coupled nodes, in virtual time.

#![forbid(unsafe_code)]

pub mod figures;
pub mod measurement;
pub mod outcome;
pub mod parameters;
pub mod search;
pub mod statistics;
