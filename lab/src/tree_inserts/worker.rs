//! One worker: draws keys, inserts them, and reports the time of each insert.
//!
//! A worker is a thread, or a process that exchanges lines with the measuring one: it reads its task (JSON), answers
//! `ready` when the tree is open, reads `go`, and answers with its outcome (JSON). So no worker's opening is measured,
//! and all begin together.

use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::engine::{Session, Sharing, TreeEngine, fill_value, key};
use crate::crew;
use crate::error::{ExperimentError, Failure};

/// The length of the inserts.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Budget {
    /// So many, all workers together.
    Inserts(u64),
    /// So many seconds, at least one insert by each worker.
    Seconds(f64),
}

impl Budget {
    /// The part of one of `workers`, counted from 0.
    pub(super) fn share(self, worker: u64, workers: u64) -> Self {
        match self {
            Budget::Inserts(all) => {
                Budget::Inserts(all / workers + u64::from(worker < all % workers))
            }
            seconds @ Budget::Seconds(_) => seconds,
        }
    }

    fn goes_on(self, inserts: u64, elapsed: Duration) -> bool {
        match self {
            Budget::Inserts(all) => inserts < all,
            Budget::Seconds(seconds) => inserts == 0 || elapsed.as_secs_f64() < seconds,
        }
    }
}

/// The task of one worker.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Task {
    pub(super) engine: String,
    pub(super) directory: PathBuf,
    pub(super) value_bytes: usize,
    pub(super) seed: u64,
    /// The stream of keys: 1 for the first worker.
    pub(super) stream: u64,
    pub(super) budget: Budget,
}

/// The outcome of one worker.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Outcome {
    pub(super) stream: u64,
    pub(super) elapsed_seconds: f64,
    /// The response time of each insert.
    pub(super) nanoseconds: Vec<u64>,
}

/// Inserts until the budget is used up.
pub(super) fn work(task: &Task, session: &mut dyn Session) -> Result<Outcome, Failure> {
    let mut value = vec![0; task.value_bytes];
    let mut nanoseconds = Vec::new();
    let start = Instant::now();
    while task
        .budget
        .goes_on(nanoseconds.len() as u64, start.elapsed())
    {
        let key = key(task.seed, task.stream, nanoseconds.len() as u64);
        fill_value(key, &mut value);
        let begin = Instant::now();
        session.insert(key, &value)?;
        nanoseconds.push(begin.elapsed().as_nanos() as u64);
    }
    Ok(Outcome {
        stream: task.stream,
        elapsed_seconds: start.elapsed().as_secs_f64(),
        nanoseconds,
    })
}

/// A worker's process: serves one task from `input` to `output`, with one of `engines`.
///
/// # Errors
/// [`ExperimentError`] if the task is not valid, the engine fails, or the other side has closed.
pub fn serve(
    engines: &[TreeEngine],
    input: impl BufRead,
    output: impl Write,
) -> Result<(), ExperimentError> {
    crew::serve(input, output, |task: Task, begin| {
        let engine = engines
            .iter()
            .find(|engine| engine.name == task.engine)
            .ok_or_else(|| ExperimentError::Task {
                message: format!("there is no engine {}", task.engine),
            })?;
        let failed = |operation| {
            move |source| ExperimentError::Engine {
                engine: engine.name,
                operation,
                source,
            }
        };
        let tree =
            (engine.open)(&task.directory, Sharing::Joining).map_err(failed("open the tree"))?;
        let mut session = tree.session().map_err(failed("open the tree"))?;
        begin()?;
        work(&task, session.as_mut()).map_err(failed("insert"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_to_the_budget() {
        let shares: Vec<_> = (0..3)
            .map(|worker| Budget::Inserts(11).share(worker, 3))
            .collect();
        let expected = [4, 4, 3].map(Budget::Inserts);
        assert_eq!(shares, expected);
        assert_eq!(Budget::Seconds(2.0).share(1, 3), Budget::Seconds(2.0));
    }

    #[test]
    fn a_time_of_zero_is_one_insert() {
        let none = Budget::Seconds(0.0);
        assert!(none.goes_on(0, Duration::ZERO) && !none.goes_on(1, Duration::ZERO));
        assert!(!Budget::Inserts(3).goes_on(3, Duration::ZERO));
    }

    #[test]
    fn what_is_no_task_is_refused() {
        for input in ["", "{}\n", "nonsense\n"] {
            let error = serve(&[], input.as_bytes(), Vec::new()).unwrap_err();
            assert!(matches!(error, ExperimentError::Task { .. }), "{error}");
        }
    }
}
