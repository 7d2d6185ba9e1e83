//! Serial execution: one transaction at a time, everything around it in parallel.
//!
//! The five stages of the TPK paper's Figure 1, a module each:
//!
//! ```text
//!   clients ─▶ input ─▶ execution ─▶ (log queue) ─▶ logging ─▶ output ─▶ clients
//!                                                      └─▶ checkpointing ─▶ backup
//! ```
//!
//! - `input` takes batches of requests, or receives and decodes them (`exchange`), checks them, and puts them
//!   into the execution queue;
//! - `execution` runs them, all that wait at a time, and appends their redo records;
//! - logging is [`sardonyx_storage::log::writer`], checkpointing is
//!   [`sardonyx_storage::checkpoint`]: they are the same for every way of running transactions;
//! - `output` gives results to clients once they are durable.
//!
//! In the *pipelined* shape each stage has threads of its own; in the *coalesced* shape input, execution and
//! output run on the submitting thread ([`Shape`]). The results are the same.
//!
//! Source: TPK paper, sections 2 and 3.

#![cfg_attr(
    not(test),
    deny(
        clippy::dbg_macro,
        clippy::exit,
        clippy::panic,
        clippy::print_stderr,
        clippy::print_stdout,
        clippy::string_slice,
        clippy::todo,
        clippy::unimplemented,
        clippy::unwrap_used
    )
)]

mod batch;
mod closing;
#[cfg(all(test, not(shuttle)))]
mod deaths;
mod error;
mod exchange;
mod execution;
mod freezing;
mod input;
mod kernel;
mod output;
mod procedure;
mod queue;
mod shape;
mod stages;
mod ticket;
mod turn;

pub use batch::Outcomes;
pub use error::{ProcedureError, SerialError};
pub use exchange::{Exchange, Owed};
pub use kernel::{Durability, Kernel};
pub use procedure::{Procedure, Registered, WeakRegistered};
pub use shape::Shape;
pub use stages::{StageTime, StageTimes};
pub use ticket::{BatchTicket, Ticket};
pub use turn::{Committed, Turn};
