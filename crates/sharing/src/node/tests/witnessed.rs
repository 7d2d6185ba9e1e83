//! Workers of nodes as processes that are killed at random points, and their acknowledgements, witnessed from outside.
//!
//! Each worker is this test binary again, with a test of its own.

use sardonyx_base::random::Random;
use sardonyx_base::victims::{Counts, Victim, Witness, WitnessError, acknowledge, begin};
use std::process::Command;
use std::time::Duration;

/// A worker without progress for so long hangs.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// Workers, and what they acknowledged.
pub struct Workers<S> {
    witness: Witness,
    victims: Vec<Victim>,
    command: S,
}

impl<S: Fn(usize) -> Command> Workers<S> {
    /// Starts so many workers by their commands.
    pub fn start(count: usize, command: S) -> Self {
        let witness = Witness::new(Counts::of_each());
        let start = |worker| witness.start(&mut command(worker)).unwrap();
        Workers {
            victims: (0..count).map(start).collect(),
            witness,
            command,
        }
    }

    /// Returns true when a worker has counted so many more, and false if it has ended before.
    pub fn goes_on(&self, worker: usize, more: u64) -> bool {
        let workers = [worker as u64];
        match (self.witness).goes_on(&self.victims[worker], workers, more, PATIENCE) {
            Ok(()) => true,
            Err(WitnessError::Ended(..)) => false,
            Err(error) => panic!("worker {worker}: {error}"),
        }
    }

    /// Kills a worker a moment later, wherever it is then, and starts it again.
    pub fn kill_soon(&mut self, worker: usize, random: &mut Random) {
        for _ in 0..random.below(400) {
            std::hint::spin_loop();
        }
        let status = self.victims[worker].end().unwrap();
        assert!(status.success() || status.code().is_none(), "{status}");
        self.witness.verdict().unwrap();
        let mut again = (self.command)(worker);
        self.victims[worker] = self.witness.start(&mut again).unwrap();
    }

    /// The process of a worker.
    pub fn victim(&self, worker: usize) -> &Victim {
        &self.victims[worker]
    }

    /// Waits until all have ended by themselves. Returns the number of transactions that each is known to have committed.
    pub fn hear_out(mut self) -> Vec<u64> {
        for victim in &mut self.victims {
            assert!(victim.wait().unwrap().success());
        }
        self.witness.verdict().unwrap();
        let workers = self.victims.len() as u64;
        self.witness.with(|counts| counts.first(workers))
    }
}

/// Works, and reports: `count` is what is there, `transfer` one transaction more.
pub fn work(
    worker: u64,
    count: u64,
    transactions: u64,
    mut transfer: impl FnMut(&mut Random) -> u64,
) {
    begin(worker, count).unwrap();
    let mut random = Random::stream(count, worker);
    for _ in 0..transactions {
        acknowledge(worker, transfer(&mut random)).unwrap();
    }
}
