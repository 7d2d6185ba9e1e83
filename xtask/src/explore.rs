//! Crash exploration over a range of seeds, on all processors.

use anyhow::bail;
use clap::Args;
use indicatif::ProgressBar;
use sardonyx_lab::crashes::exploration::{Plan, explore};
use std::sync::atomic::{AtomicU64, Ordering};

/// Options of `explore`.
#[derive(Args)]
pub struct Explore {
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    first: u64,
    /// The number of seeds.
    #[arg(long, default_value_t = 10_000)]
    seeds: u64,
    /// Crashes and recoveries for each seed.
    #[arg(long, default_value_t = 4)]
    lives: u32,
    /// Transactions in each life.
    #[arg(long, default_value_t = 80)]
    transactions: u32,
}

impl Explore {
    /// Runs it; ends with an error at the first failure.
    pub fn run(&self) -> anyhow::Result<()> {
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let (next, progress) = (AtomicU64::new(0), ProgressBar::new(self.seeds));
        let crashes = AtomicU64::new(0);
        let failure = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..workers)
                .map(|_| {
                    scope.spawn(|| {
                        loop {
                            let n = next.fetch_add(1, Ordering::Relaxed);
                            if n >= self.seeds {
                                return None;
                            }
                            match explore(self.plan(self.first + n)) {
                                Ok(explored) => {
                                    crashes.fetch_add(explored.crashes, Ordering::Relaxed)
                                }
                                Err(what) => {
                                    next.store(self.seeds, Ordering::Relaxed);
                                    return Some(what);
                                }
                            };
                            progress.inc(1);
                        }
                    })
                })
                .collect();
            threads
                .into_iter()
                .find_map(|t| t.join().expect("an explorer does not panic"))
        });
        progress.finish_and_clear();
        if let Some(what) = failure {
            bail!("{what}");
        }
        println!(
            "{} seeds, {} crashes, nothing lost",
            self.seeds,
            crashes.into_inner()
        );
        Ok(())
    }

    fn plan(&self, seed: u64) -> Plan {
        Plan {
            seed,
            crash_at_step: (!seed.is_multiple_of(3)).then_some(1 + seed.wrapping_mul(31) % 600),
            kill_at_step: seed
                .is_multiple_of(3)
                .then_some(1 + seed.wrapping_mul(37) % 600),
            fail_sync_at: seed.is_multiple_of(17).then_some(1 + seed % 90),
            lives: self.lives,
            transactions: self.transactions,
        }
    }
}
