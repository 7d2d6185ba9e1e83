//! The tests of TLS between the processes of a database: one program, with a module for each matter.

mod common;

mod connections;
mod files;
mod nodes;
mod store;
