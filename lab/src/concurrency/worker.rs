//! One process of the tests: its transactions on its page.

use super::{Mechanism, Test, open};
use crate::crew::{self, now_nanoseconds};
use crate::error::ExperimentError;
use sardonyx_mapped::{Access, MemoryAccess, P, Segment, Slice, Transaction};
use std::hint::black_box;
use std::io::{BufRead, Write};
use std::path::PathBuf;

pub(super) const PAGE_BYTES: usize = 4096;

/// Integers of a page.
pub(super) const INTEGERS: usize = PAGE_BYTES / size_of::<i32>();

/// The task of one process.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Task {
    pub mechanism: Mechanism,
    pub test: Test,
    pub advice: bool,
    pub transactions: u64,
    pub page: u64,
    /// The segment's name, if it is not in a directory.
    pub name: String,
    pub directory: Option<PathBuf>,
}

/// The times of its transactions, by the system's monotonic clock.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Outcome {
    pub began: u64,
    pub ended: u64,
    pub conflicts: u64,
}

pub(super) fn integer(page: u64, place: usize) -> P<i32> {
    P::from_offset(page * PAGE_BYTES as u64 + (place * size_of::<i32>()) as u64)
}

/// A worker's process: does the task from `input`, and reports to `output`.
///
/// # Errors
/// [`ExperimentError::Task`] if `input` has no task; the segment's errors.
pub fn serve(input: impl BufRead, output: impl Write) -> Result<(), ExperimentError> {
    crew::serve(input, output, |task: Task, begin| {
        let segment = open(task.mechanism, &task.name, task.directory.as_deref())?;
        // The view exists, and the code has run once, before the clock runs; nothing is changed.
        drop(segment.snapshot()?);
        begin()?;
        let began = now_nanoseconds();
        for _ in 0..task.transactions {
            segment.run(|tx| increment(tx, &task))?;
        }
        let ended = now_nanoseconds();
        Ok(Outcome {
            began,
            ended,
            conflicts: conflicts(&segment),
        })
    })
}

fn conflicts(segment: &Segment) -> u64 {
    segment.statistics().conflicts
}

/// Figures 4-5 and 4-6.
fn increment(tx: &mut Transaction<'_>, task: &Task) -> Result<(), ExperimentError> {
    if task.advice {
        let start = integer(task.page, 0).offset();
        tx.touch(start..start + PAGE_BYTES as u64, Access::Write)?;
    }
    if task.test == Test::A {
        *tx.get_mut(integer(task.page, 0))? += 1;
        return Ok(());
    }
    // For the mechanism that needs announced writes: the whole page, once.
    let all = Slice {
        start: integer(task.page, 0),
        length: INTEGERS as u64,
    };
    let integers = tx.slice_mut(all)?;
    for _ in 0..task.test.times() {
        for integer in integers.iter_mut() {
            *integer += 1;
        }
        // So that the compiler does not merge the thousand loops.
        black_box(&mut *integers);
    }
    Ok(())
}
