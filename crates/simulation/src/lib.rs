//! How a workload would run on closely or loosely coupled nodes, in virtual time.

#![forbid(unsafe_code)]

pub mod parameters;
