//! The C face of Sardonyx: tables, and transactions on plain memory, for programs in C and in languages that
//! call C.
//!
//! Two headers, both generated from this crate. `include/sardonyx.h` has opaque handles and error codes.
//! `include/libxac.h` has the names of the LIBXAC thesis' library, with which its figures 4-1, 4-3, 4-5 and
//! 4-6 compile and run as printed.
//!
//! Invariants: no panic leaves the library (`boundary`). A null, closed, forked or wrong handle is an error
//! code and never undefined behaviour, as long as the library once returned the pointer (`handle`). After an
//! error that is not about the call itself the transaction is over, and the header names those errors.

// The names are those of C.
#![allow(non_camel_case_types, non_snake_case)]

mod boundary;
pub mod cursor;
pub mod follower;
pub mod handle;
pub mod heap;
pub mod options;
pub mod schema;
pub mod segment;
pub mod session;
pub mod snapshot;
pub mod statement;
pub mod status;
pub mod table_transaction;
pub mod tables;
pub mod transaction;
pub mod view;
pub mod xac;
