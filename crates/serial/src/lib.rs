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
//! # A map, in an order of reading
//!
//! The holder of the *pen* ([`sardonyx_storage::pen`]) is the execution stage: it alone may change the tables and append
//! to the log. A *job* is the unit that goes through the stages. A *lane* is a number: jobs of one lane keep their order.
//! `docs/internals/serial.md` follows a batch through these modules; `docs/internals/log.md` has the pen.
//!
//! | module | subject |
//! | --- | --- |
//! | `kernel` | [`Kernel`]: starts the stages, and has the calls of clients |
//! | `procedure`, `batch`, `exchange` | the kinds of jobs: a procedure's batch, a closure, requests that arrive as bytes |
//! | `input`, `execution`, `output`, `queue` | the stages, and the queues between them |
//! | `ticket` | the client's handle, and the answer that a job owes it |
//! | `turn`, `steps` | the pen, for a caller that decides later what to do with it, such as a server; its transactions of one turn |
//! | `freezing` | checkpoints from snapshots of the live pages |
//! | `closing` | ends the stages in order, and gives the database's lock back |
//! | `shape`, `stages`, `error` | the layout on threads, the stages' busy times, errors |
//!
//! # Tests
//!
//! A kernel is tested through the public API, on whole databases: `crates/sardonyx/tests/all`. Modules to run after a
//! change here are `model`, `threadless`, `tickets`, `exchanges`, `nested`, `drops`, `deaths`, `failures` and `forks`. This
//! crate has the tests that need its parts: the death of each stage's thread (`deaths`), indexes stored at a close
//! (`tests/all`), and models of the queues.
//!
//! ```text
//! cargo test -p sardonyx-serial
//! cargo test -p sardonyx --test all nested
//! RUSTFLAGS="--cfg shuttle" CARGO_TARGET_DIR=target/shuttle cargo test -p sardonyx-serial --lib shuttle
//! ```
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
mod steps;
mod ticket;
mod turn;

pub use batch::Outcomes;
pub use error::{ProcedureError, SerialError};
pub use exchange::{Exchange, Owed};
pub use kernel::{Durability, Kernel};
pub use procedure::{Procedure, Registered, WeakRegistered};
pub use shape::Shape;
pub use stages::{StageTime, StageTimes};
pub use steps::Steps;
pub use ticket::{BatchTicket, Ticket};
pub use turn::{Committed, Turn};
