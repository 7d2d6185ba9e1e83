//! Lock tables.

#![forbid(unsafe_code)]
