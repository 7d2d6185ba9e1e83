//! Processes that each do a part of an experiment, and begin together.
//!
//! A worker's process and the measuring one exchange lines. The worker reads its task (JSON), opens everything and
//! answers `ready`. Then it reads `go` with an instant of the system's monotonic clock, waits for that instant, and
//! answers with its outcome (JSON). So no opening is measured, and all begin at the same time, however the lines were
//! delivered.

use crate::ending::Companion;
use crate::error::ExperimentError;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// The time between the naming of the common instant and that instant: enough for the lines to arrive.
const NOTICE_NANOSECONDS: u64 = 5_000_000;

/// The last part of waiting is not slept.
const AWAKE_NANOSECONDS: u64 = 1_000_000;

/// A worker's process: a program that, called with these arguments, serves the experiment.
#[derive(Clone, Debug)]
pub struct Program {
    /// The executable.
    pub path: PathBuf,
    pub arguments: Vec<String>,
}

/// The system's monotonic clock, which all processes read alike, in nanoseconds.
pub(crate) fn now_nanoseconds() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The other side of a worker's process, which is ended when this is dropped.
pub(crate) struct Member {
    who: String,
    child: Child,
    /// `None` if the system gives no handle of it: then it ends with its input.
    _companion: Option<Companion>,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

/// Gives each task to a process, lets them begin together, and waits for all; in the order of the tasks. `who` names
/// them in errors.
pub(crate) fn run_together<T: Serialize, O: DeserializeOwned + Send>(
    program: &Program,
    who: &str,
    tasks: &[T],
) -> Result<Vec<O>, ExperimentError> {
    let start = |task| Member::start(program, who, task);
    let mut members = tasks.iter().map(start).collect::<Result<Vec<_>, _>>()?;
    // All receive their tasks before any is waited for, so that they open together.
    for member in &mut members {
        member.ready()?;
    }
    let instant = now_nanoseconds() + NOTICE_NANOSECONDS;
    for member in &mut members {
        member.tell(&format!("go {instant}"))?;
    }
    // Read at once by a thread each: a process that has sent everything ends, and none waits for its reader.
    std::thread::scope(|scope| {
        let readers: Vec<_> = members
            .into_iter()
            .map(|member| scope.spawn(move || member.outcome()))
            .collect();
        let join = |reader: std::thread::ScopedJoinHandle<'_, _>| {
            reader
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        readers.into_iter().map(join).collect()
    })
}

impl Member {
    fn start(program: &Program, who: &str, task: &impl Serialize) -> Result<Self, ExperimentError> {
        let failed = |message: String| ExperimentError::Worker {
            who: who.into(),
            message,
        };
        let mut child = Command::new(&program.path)
            .args(&program.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| failed(format!("could not be started: {error}")))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed("has no standard input and output".into()));
        };
        let mut member = Member {
            who: who.into(),
            _companion: Companion::new(child.id()).ok(),
            child,
            input: Some(input),
            output: BufReader::new(output),
        };
        let task = serde_json::to_string(task).map_err(|error| failed(error.to_string()))?;
        member.tell(&task)?;
        Ok(member)
    }

    fn ready(&mut self) -> Result<(), ExperimentError> {
        match self.hear()?.as_str() {
            "ready\n" => Ok(()),
            other => Err(self.failed(&format!("answered {other:?}"))),
        }
    }

    fn outcome<O: DeserializeOwned>(mut self) -> Result<O, ExperimentError> {
        let line = self.hear()?;
        serde_json::from_str(&line).map_err(|error| self.failed(&error.to_string()))
    }

    fn tell(&mut self, line: &str) -> Result<(), ExperimentError> {
        match self.input.as_mut().map(|input| writeln!(input, "{line}")) {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) => Err(self.failed(&error.to_string())),
            None => Err(self.failed("has ended")),
        }
    }

    fn hear(&mut self) -> Result<String, ExperimentError> {
        let mut line = String::new();
        match self.output.read_line(&mut line) {
            Ok(0) => Err(self.failed("said nothing more")),
            Ok(_) => Ok(line),
            Err(error) => Err(self.failed(&error.to_string())),
        }
    }

    /// Ends it, and adds its messages to the error.
    fn failed(&mut self, what: &str) -> ExperimentError {
        self.end();
        let mut complaint = String::new();
        if let Some(mut error) = self.child.stderr.take() {
            // A message that cannot be read is left out.
            let _ = error.read_to_string(&mut complaint);
        }
        ExperimentError::Worker {
            who: self.who.clone(),
            message: format!("{what}; {}", complaint.trim()),
        }
    }

    fn end(&mut self) {
        // A process that waits for a line sees the end of its input and ends.
        self.input = None;
        let _ = self.child.wait();
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.end();
    }
}

/// The worker's side: reads its task, opens with `open`, waits for the common instant, and sends the result of `work`.
pub(crate) fn serve<T: DeserializeOwned, O: Serialize>(
    mut input: impl BufRead,
    mut output: impl Write,
    work: impl FnOnce(T, &mut dyn FnMut() -> Result<(), ExperimentError>) -> Result<O, ExperimentError>,
) -> Result<(), ExperimentError> {
    let broken = |error: &dyn std::fmt::Display| ExperimentError::Task {
        message: error.to_string(),
    };
    let mut line = String::new();
    input.read_line(&mut line).map_err(|error| broken(&error))?;
    let task: T = serde_json::from_str(&line).map_err(|error| broken(&error))?;
    let mut begin = || {
        say(&mut output, "ready").map_err(|error| broken(&error))?;
        let mut line = String::new();
        input.read_line(&mut line).map_err(|error| broken(&error))?;
        let instant = line.trim_end().strip_prefix("go ").map(str::parse);
        match instant {
            Some(Ok(instant)) => {
                wait_until(instant);
                Ok(())
            }
            _ => Err(broken(&"did not receive `go`")),
        }
    };
    let outcome = work(task, &mut begin)?;
    let outcome = serde_json::to_string(&outcome).map_err(|error| broken(&error))?;
    say(&mut output, &outcome).map_err(|error| broken(&error))
}

fn say(output: &mut impl Write, line: &str) -> std::io::Result<()> {
    writeln!(output, "{line}")?;
    output.flush()
}

/// Returns at that instant of [`now_nanoseconds`], or at once if it has passed.
fn wait_until(instant: u64) {
    let left = instant.saturating_sub(now_nanoseconds());
    std::thread::sleep(Duration::from_nanos(left.saturating_sub(AWAKE_NANOSECONDS)));
    while now_nanoseconds() < instant {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn echo(input: &str) -> Result<String, ExperimentError> {
        let mut output = Vec::new();
        serve(input.as_bytes(), &mut output, |number: u64, begin| {
            begin()?;
            Ok(number + 1)
        })?;
        Ok(String::from_utf8(output).unwrap())
    }

    #[test]
    fn a_worker_is_ready_then_waits_then_answers() {
        let instant = now_nanoseconds() + 2_000_000;
        assert_eq!(echo(&format!("41\ngo {instant}\n")).unwrap(), "ready\n42\n");
        assert!(now_nanoseconds() >= instant);
    }

    #[test]
    fn what_is_no_task_and_no_start_is_refused() {
        for input in [
            "",
            "{}\n",
            "nonsense\n",
            "41\n",
            "41\nstop\n",
            "41\ngo soon\n",
        ] {
            let error = echo(input).unwrap_err();
            assert!(
                matches!(error, ExperimentError::Task { .. }),
                "{input:?}: {error}"
            );
        }
    }

    #[test]
    fn a_program_that_is_not_there_or_says_something_else_is_an_error() {
        let program = |path: &str, arguments: &[&str]| Program {
            path: path.into(),
            arguments: arguments.iter().map(|&argument| argument.into()).collect(),
        };
        let said = |program: Program| {
            let outcome = run_together::<u64, u64>(&program, "a test", &[1]);
            outcome.unwrap_err().to_string()
        };
        let missing = said(program("/missing/program", &[]));
        assert!(missing.contains("could not be started"), "{missing}");
        let silent = said(program("/bin/sh", &["-c", "read task; echo why >&2"]));
        assert!(silent.contains("said nothing more; why"), "{silent}");
        let other = said(program("/bin/sh", &["-c", "read task; echo 7; read go"]));
        assert!(other.contains("answered \"7\\n\""), "{other}");
    }
}
