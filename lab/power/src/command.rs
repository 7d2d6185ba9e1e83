//! Other programs, each with a limit: a mount or an unmount that hangs must be an error, not the end of
//! the run.

use anyhow::{Context, bail, ensure};
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The time limit of programs that only set something up or take it down.
pub const QUICK: Duration = Duration::from_secs(60);
/// The interval of checks for their end.
const LOOK: Duration = Duration::from_millis(2);

/// The output of a program.
#[derive(Debug)]
pub struct Said {
    pub status: ExitStatus,
    /// Its standard output.
    pub output: String,
    /// Its standard error output.
    pub errors: String,
}

/// Returns true if a program is installed.
pub fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path);
    let system = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(Into::into);
    places
        .chain(system)
        .any(|place| place.join(program).is_file())
}

/// Runs a program to its end.
///
/// # Errors
/// It cannot be started, or is not done in time; then it has been killed.
pub fn run(command: &mut Command, limit: Duration) -> anyhow::Result<Said> {
    let name = name(command);
    // Its output goes to files: a full pipe without a reader would stop it.
    let (mut output, mut errors) = (anonymous_file()?, anonymous_file()?);
    command
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(errors.try_clone()?)
        .process_group(0);
    let mut child = command
        .spawn()
        .with_context(|| format!("starting {name}"))?;
    let Some(status) = wait(&mut child, limit, &|| {})? else {
        kill(&child);
        // If the kernel holds it, this does not wait for ever.
        wait(&mut child, QUICK, &|| {})?;
        bail!("{name} was not done after {} s", limit.as_secs());
    };
    let text = |file: &mut std::fs::File| -> anyhow::Result<String> {
        let mut bytes = Vec::new();
        std::io::Seek::rewind(file)?;
        file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).trim().to_string())
    };
    Ok(Said {
        status,
        output: text(&mut output)?,
        errors: text(&mut errors)?,
    })
}

/// As [`run`], for a program that must succeed; returns its output.
///
/// # Errors
/// As [`run`], and if it fails.
pub fn must(command: &mut Command) -> anyhow::Result<String> {
    let said = run(command, QUICK)?;
    let name = name(command);
    ensure!(
        said.status.success(),
        "{name}: {}: {}{}",
        said.status,
        said.errors,
        said.output
    );
    Ok(said.output)
}

/// Waits for a child's end, and calls `meanwhile` repeatedly; `None` if the time ran out.
///
/// # Errors
/// It is not our child any more.
pub fn wait(
    child: &mut Child,
    limit: Duration,
    meanwhile: &dyn Fn(),
) -> anyhow::Result<Option<ExitStatus>> {
    let end = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() > end {
            return Ok(None);
        }
        meanwhile();
        std::thread::sleep(LOOK);
    }
}

/// Kills a child and all of its process group, which it leads.
pub fn kill(child: &Child) {
    if let Some(group) = Pid::from_raw(child.id() as i32) {
        // They may have ended.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// A command in its typed form.
pub fn name(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let program = program.file_name().unwrap_or(program.as_os_str());
    let words = command.get_args().map(|word| word.to_string_lossy());
    let words: Vec<_> = words.collect();
    format!("{} {}", program.to_string_lossy(), words.join(" "))
}

fn anonymous_file() -> anyhow::Result<std::fs::File> {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    Ok(rustix::fs::memfd_create("said", flags)?.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_says_is_returned_and_one_that_hangs_is_killed() {
        let mut shell = Command::new("sh");
        let said = run(shell.args(["-c", "echo said; echo no >&2; exit 3"]), QUICK).unwrap();
        assert_eq!((said.output.as_str(), said.errors.as_str()), ("said", "no"));
        assert_eq!(said.status.code(), Some(3));
        assert!(must(Command::new("sh").args(["-c", "exit 1"])).is_err());
        let limit = Duration::from_millis(20);
        let error = run(Command::new("sleep").arg("1000"), limit).unwrap_err();
        assert!(error.to_string().contains("sleep 1000"), "{error}");
        assert!(is_there("sh") && !is_there("no-such-program"));
    }
}
