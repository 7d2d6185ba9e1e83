//! `abuse`: the seeded abuse of the public API (`crates/sardonyx/tests/all/abuse.rs`) for as many seeds as you give.
//! The test has everything; this runs it with other seeds than the few of every test run.

use anyhow::{Context, ensure};
use clap::Args;
use std::process::Command;

#[derive(Args)]
pub struct Abuse {
    /// The number of sequences.
    #[arg(long, default_value_t = 1000)]
    seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    first: u64,
}

impl Abuse {
    pub fn run(self) -> anyhow::Result<()> {
        let end = self.first.saturating_add(self.seeds);
        let status = Command::new(env!("CARGO"))
            .args(["test", "-p", "sardonyx", "--test", "all", "abuse::"])
            .args(["--", "--nocapture"])
            .env("SARDONYX_ABUSE_SEEDS", format!("{}..{end}", self.first))
            .status()
            .context("cargo cannot be run")?;
        ensure!(status.success(), "a sequence went wrong: its seed is above");
        println!(
            "{} sequences, from seed {}: all as acknowledged",
            self.seeds, self.first
        );
        Ok(())
    }
}
