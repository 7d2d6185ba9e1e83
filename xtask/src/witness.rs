//! The common part of the torture runs: a process that reports its acknowledged transactions, a witness that reads the
//! reports and kills it, and a recovery that is killed.
//!
//! A process writes each acknowledgement in 16 bytes: the worker's number, and that worker's count now.

use anyhow::{Context, bail};
use sardonyx_workload::random::Random;
use std::io::Read;
use std::process::{ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Starts a process, reads its reports, and kills it a moment after so many acknowledgements. Notes the last count of
/// each worker.
pub(crate) fn live_and_die(
    command: &mut Command,
    life: u64,
    mut until_kill: u64,
    random: &mut Random,
    acknowledged: &mut [u64],
) -> anyhow::Result<()> {
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let mut told = child.stdout.take().context("a pipe")?;
    let (mut line, mut killed) = ([0u8; 16], false);
    loop {
        if until_kill == 0 && !killed {
            std::thread::sleep(Duration::from_micros(random.below(3000)));
            child.kill()?;
            killed = true;
        }
        // Acknowledgements that are in the pipe after the kill were written before it.
        match told.read_exact(&mut line) {
            Ok(()) => {}
            Err(_) if killed => break,
            Err(error) => {
                let status = child.wait()?;
                bail!("life {life} ended by itself: {status}: {error}");
            }
        }
        until_kill = until_kill.saturating_sub(1);
        let word = |at: usize| u64::from_le_bytes(line[at..at + 8].try_into().expect("8"));
        acknowledged[word(0) as usize] = word(8);
    }
    child.wait()?;
    Ok(())
}

/// Starts a recovery and kills it at a random point; it may also end before.
pub(crate) fn recover_and_die(command: &mut Command, random: &mut Random) -> anyhow::Result<()> {
    let mut child = command.stdout(Stdio::null()).spawn()?;
    std::thread::sleep(Duration::from_micros(random.below(60_000)));
    child.kill()?;
    child.wait()?;
    Ok(())
}

/// Reads a process' reports in a thread, for runs with several processes: notes the last count of each worker.
#[derive(Debug)]
pub(crate) struct Listener(std::thread::JoinHandle<()>);

impl Listener {
    /// Reads the reports of a process. Counts only grow, so those of a worker's earlier lives are never undone.
    pub(crate) fn new(mut told: ChildStdout, acknowledged: Arc<[AtomicU64]>) -> Listener {
        Listener(std::thread::spawn(move || {
            let mut line = [0u8; 16];
            // Acknowledgements that are in the pipe after a kill were written before it.
            while told.read_exact(&mut line).is_ok() {
                let word = |at: usize| u64::from_le_bytes(line[at..at + 8].try_into().expect("8"));
                acknowledged[word(0) as usize].fetch_max(word(8), Ordering::SeqCst);
            }
        }))
    }

    /// Returns when all reports of the process are noted; it must have ended.
    pub(crate) fn end(self) -> anyhow::Result<()> {
        let heard = self.0.join();
        heard.map_err(|_| anyhow::anyhow!("a process sent something other than an acknowledgement"))
    }
}
