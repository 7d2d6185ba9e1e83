//! Processes that are killed, and the witness of what they acknowledged.
//!
//! A [`Victim`] runs transactions and reports each acknowledgement to the process that started it, by a line that is
//! written whole. The [`Witness`] is that process. It reads the reports of any number of victims, so it knows from
//! outside how many transactions of each worker are acknowledged. After a kill the database is opened again, and
//! [`Counts::settle`] judges what is found: each acknowledged transaction, and at most those that were under way. This is
//! the rule of the crash world (`sardonyx_storage::crashes`), for processes of the operating system.
//!
//! - [`Report`]: a line of a victim; [`acknowledge`], [`begin`] and [`say`] write one;
//! - [`Victim`]: a process, which ends with its handle at the latest;
//! - [`Witness`], [`Counts`]: the acknowledgements, and the judge;
//! - [`Life`]: one victim from its start to its kill;
//! - [`Subject`], [`Kills`]: the loop of databases, events, killed recoveries and judgements, of all torture runs;
//! - [`test_program`]: the victim is a test of the same program.
//!
//! A kill leaves the system's page cache intact, so the death of a machine is tested by simulated disks and power cuts.
//! The moment of a kill follows from a count of acknowledgements and a seed; the operating system decides the rest.
//!
//! For tests and long runs: the product kills no process.

mod counts;
mod kills;
mod life;
mod program;
mod report;
mod victim;
mod witness;

pub use counts::{Counts, Lost};
pub use kills::{Failed, Killed, Kills, Subject};
pub use life::Life;
pub use program::{path_of, test_program};
pub use report::{Report, Reports, acknowledge, begin, say};
pub use victim::Victim;
pub use witness::{Hear, Witness, WitnessError};

use crate::random::Random;
use std::time::Duration;

/// A moment before this one.
fn drawn(random: &mut Random, most: Duration) -> Duration {
    let most = u64::try_from(most.as_micros()).unwrap_or(u64::MAX);
    Duration::from_micros(random.below(most.max(1)))
}

#[cfg(test)]
mod tests;
