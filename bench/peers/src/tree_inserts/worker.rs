//! One worker: draws keys, inserts them, and says how long each insert took.
//!
//! A worker is a thread, or a process that speaks one line at a time with the one that measures: it
//! is told its task (JSON), answers `ready` when the tree is open, is told `go`, and answers with
//! its outcome (JSON). So no worker's opening is measured, and all begin together.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use super::engine::{Session, Sharing, TreeEngine, fill_value, key};
use crate::peer::{Failure, PeerError};

/// How long the inserts go on.
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

/// What one worker is to do.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Task {
    pub(super) engine: String,
    pub(super) directory: PathBuf,
    pub(super) value_bytes: usize,
    pub(super) seed: u64,
    /// Which keys: 1 for the first worker.
    pub(super) stream: u64,
    pub(super) budget: Budget,
}

/// What one worker did.
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
/// [`PeerError`] if the task is not one, the engine fails, or the other side is gone.
pub fn serve(
    engines: &[TreeEngine],
    mut input: impl BufRead,
    mut output: impl Write,
) -> Result<(), PeerError> {
    let broken = |error: &dyn std::fmt::Display| PeerError::Task {
        message: error.to_string(),
    };
    let mut line = String::new();
    input.read_line(&mut line).map_err(|error| broken(&error))?;
    let task: Task = serde_json::from_str(&line).map_err(|error| broken(&error))?;
    let engine = engines
        .iter()
        .find(|engine| engine.name == task.engine)
        .ok_or_else(|| broken(&format_args!("there is no engine {}", task.engine)))?;
    let failed = |operation| {
        move |source| PeerError::Engine {
            engine: engine.name,
            operation,
            source,
        }
    };
    let tree = (engine.open)(&task.directory, Sharing::Joining).map_err(failed("open the tree"))?;
    let mut session = tree.session().map_err(failed("open the tree"))?;
    let mut say = |line: &str| {
        writeln!(output, "{line}")
            .and_then(|()| output.flush())
            .map_err(|error| broken(&error))
    };
    say("ready")?;
    line.clear();
    input.read_line(&mut line).map_err(|error| broken(&error))?;
    if line != "go\n" {
        return Err(broken(&"was not told to go"));
    }
    let outcome = work(&task, session.as_mut()).map_err(failed("insert"))?;
    say(&serde_json::to_string(&outcome).map_err(|error| broken(&error))?)
}

/// The other side of a worker's process. It is ended when this is dropped.
pub(super) struct WorkerProcess {
    engine: &'static str,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl WorkerProcess {
    /// Starts the process and waits until it has opened the tree.
    pub(super) fn start(
        mut command: Command,
        engine: &'static str,
        task: &Task,
    ) -> Result<Self, PeerError> {
        let worker = |message: String| PeerError::Worker { engine, message };
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| worker(format!("could not be started: {error}")))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(worker("has no standard input and output".into()));
        };
        let mut process = WorkerProcess {
            engine,
            child,
            input: Some(input),
            output: BufReader::new(output),
        };
        let task = serde_json::to_string(task).map_err(|error| worker(error.to_string()))?;
        process.tell(&task)?;
        match process.hear()?.as_str() {
            "ready\n" => Ok(process),
            other => Err(process.failed(&format!("answered {other:?}"))),
        }
    }

    /// Lets it begin.
    pub(super) fn go(&mut self) -> Result<(), PeerError> {
        self.tell("go")
    }

    /// Waits for its end.
    pub(super) fn outcome(mut self) -> Result<Outcome, PeerError> {
        let line = self.hear()?;
        match serde_json::from_str(&line) {
            Ok(outcome) => Ok(outcome),
            Err(error) => Err(self.failed(&error.to_string())),
        }
    }

    fn tell(&mut self, line: &str) -> Result<(), PeerError> {
        let told = self.input.as_mut().map(|input| writeln!(input, "{line}"));
        match told {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) => Err(self.failed(&error.to_string())),
            None => Err(self.failed("has ended")),
        }
    }

    fn hear(&mut self) -> Result<String, PeerError> {
        let mut line = String::new();
        match self.output.read_line(&mut line) {
            Ok(0) => Err(self.failed("said nothing more")),
            Ok(_) => Ok(line),
            Err(error) => Err(self.failed(&error.to_string())),
        }
    }

    /// Ends it, and adds what it complained about.
    fn failed(&mut self, what: &str) -> PeerError {
        self.end();
        let mut complaint = String::new();
        if let Some(mut error) = self.child.stderr.take() {
            // A complaint that cannot be read is left out.
            let _ = std::io::Read::read_to_string(&mut error, &mut complaint);
        }
        PeerError::Worker {
            engine: self.engine,
            message: format!("{what}; {}", complaint.trim()),
        }
    }

    fn end(&mut self) {
        // Who waits to be told something sees the end of its input and goes.
        self.input = None;
        let _ = self.child.wait();
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        self.end();
    }
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
            assert!(matches!(error, PeerError::Task { .. }), "{error}");
        }
    }
}
