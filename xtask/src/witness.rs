//! What the torture runs have in common: a process that says what it was told is durable, a witness
//! that listens to it and kills it, and a recovery that is killed.
//!
//! A process says each acknowledgement in 16 bytes: whose it is (a worker's number), and how many that
//! one has now.

use anyhow::{Context, bail};
use sardonyx_workload::random::Random;
use std::io::Read;
use std::process::{ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Starts a process, listens to it, and kills it a moment after so many acknowledgements. Notes by
/// worker what it was told last.
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
        // After the kill, what stands in the pipe was still said by the living.
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

/// Starts a recovery and kills it at a random point; it may also be done before.
pub(crate) fn recover_and_die(command: &mut Command, random: &mut Random) -> anyhow::Result<()> {
    let mut child = command.stdout(Stdio::null()).spawn()?;
    std::thread::sleep(Duration::from_micros(random.below(60_000)));
    child.kill()?;
    child.wait()?;
    Ok(())
}

/// Listens to a process in a thread, for those who have several: notes by worker what it was told last.
#[derive(Debug)]
pub(crate) struct Listener(std::thread::JoinHandle<()>);

impl Listener {
    /// Listens to what a process tells. Counts only grow, so those of a worker's earlier lives are never undone.
    pub(crate) fn new(mut told: ChildStdout, acknowledged: Arc<[AtomicU64]>) -> Listener {
        Listener(std::thread::spawn(move || {
            let mut line = [0u8; 16];
            // After a kill, what stands in the pipe was still said by the living.
            while told.read_exact(&mut line).is_ok() {
                let word = |at: usize| u64::from_le_bytes(line[at..at + 8].try_into().expect("8"));
                acknowledged[word(0) as usize].fetch_max(word(8), Ordering::SeqCst);
            }
        }))
    }

    /// Returns when everything that the process has told is noted; it must have ended.
    pub(crate) fn end(self) -> anyhow::Result<()> {
        let heard = self.0.join();
        heard.map_err(|_| anyhow::anyhow!("a process told what no worker tells"))
    }
}
