//! Several nodes on one database.

#![forbid(unsafe_code)]

pub mod protocol;
