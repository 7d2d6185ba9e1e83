//! Several nodes on one database.
//!
//! [`protocol`] has the rules by which nodes share pages: locks over all nodes, and buffers in
//! which nobody reads an old version. They are state machines; the simulation runs them in virtual
//! time.

#![forbid(unsafe_code)]

pub mod protocol;
