//! The crash world: lives of a database on the simulated disk, and a judge. A life may end by a crash of the machine, a
//! kill, a failed sync or a full disk. The judge compares the content after recovery with the submitted and the
//! acknowledged changes.
//!
//! Each way of running transactions gives a [`Subject`]: it recovers a database, submits changes to it, and observes its
//! content. The rest is the same for all, and is here once:
//!
//! - [`End`]: the end of a life, and the state that the next one finds;
//! - [`Walk`]: the steps of the disk at which a life ends, one after the other, until the end no longer comes;
//! - [`History`]: the changes that were submitted, in order, and how many of them are acknowledged. It is the judge;
//! - [`World`]: one subject, its disk and its history, through any number of lives.
//!
//! The judge's rule is one for all subjects: the content is that of the first `j` submitted changes, for a `j` that is not
//! below the number of acknowledged ones (I1, I4, I8). So each acknowledged change is there once and whole, any other one is
//! whole or absent, and their order is kept. Subjects count what redo makes idempotent, so that "once" can be seen.
//!
//! Seeds come from [`sardonyx_base::seeds`]. A failed world prints its name, which replays it (I11).
//!
//! For tests, with the feature `simulated-disk`.

#![allow(
    clippy::panic,
    clippy::print_stderr,
    reason = "a judge of tests: its verdict is a panic"
)]

mod end;
mod history;
mod walk;
mod world;

pub use end::End;
pub use history::{History, Lost};
pub use walk::Walk;
pub use world::{Stopped, Subject, World};
