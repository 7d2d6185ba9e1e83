//! The judges of victims' files, as processes of their own: for runs that kill the victims elsewhere, such as the power
//! cuts of `torture-power`.
//!
//! A judge gets the number of acknowledged transactions of each worker. It fails if one is missing, found twice or
//! found in part. Otherwise it prints the counts that are taken as acknowledged from then on.

use crate::mapped_torture;
use crate::multilevel_torture::{self, Met, verify_sound};
use crate::multilevel_victim::StrategyName;
use crate::torture;
use crate::victim;
use clap::Args;
use sardonyx_base::victims::Counts;
use sardonyx_storage::manifest::MANIFEST_FILE;
use std::path::PathBuf;

/// The common arguments of judges.
#[derive(Args)]
struct Told {
    /// The numbers of acknowledged transactions of the workers, by commas.
    #[arg(long, value_delimiter = ',', num_args = 0..)]
    acknowledged: Vec<u64>,
}

/// Judges the files of `victim`.
#[derive(Args)]
pub struct Judge {
    path: PathBuf,
    #[command(flatten)]
    setting: victim::Setting,
    /// As for the victim; it has no effect here.
    #[arg(long)]
    deferred: bool,
    #[command(flatten)]
    told: Told,
}

/// Judges the files of `multilevel-victim`.
#[derive(Args)]
pub struct MultilevelJudge {
    path: PathBuf,
    #[arg(long)]
    life: u64,
    #[arg(long)]
    strategy: Option<StrategyName>,
    #[command(flatten)]
    told: Told,
}

/// Judges the files of `mapped-victim`.
#[derive(Args)]
pub struct MappedJudge {
    #[command(flatten)]
    setting: mapped_torture::Setting,
    #[command(flatten)]
    told: Told,
}

impl Judge {
    /// Verifies the files, opens the database, and checks for every transaction.
    pub fn run(&self) -> anyhow::Result<()> {
        let acknowledged = &self.told.acknowledged;
        // Killed during its creation, it may be less than a database. With a follower, the log here is not complete:
        // the follower's directory is a whole database.
        let whole = self.setting.follower.as_ref().unwrap_or(&self.path);
        if acknowledged.iter().any(|told| *told > 0) && whole.join(MANIFEST_FILE).exists() {
            verify_sound(whole)?;
        }
        torture::check(&self.path, &self.setting, acknowledged)?;
        self.told.print()
    }
}

impl MultilevelJudge {
    /// As [`Judge::run`]; the workers continue after the found transactions.
    pub fn run(&mut self) -> anyhow::Result<()> {
        let (mut counts, workers) = self.told.counts()?;
        let (judged, met) = ((&mut counts, workers), &mut Met::default());
        multilevel_torture::check(&self.path, self.life, self.strategy, judged, met)?;
        self.told.acknowledged = counts.first(workers);
        self.told.print()
    }
}

impl MappedJudge {
    /// As [`Judge::run`].
    pub fn run(&self) -> anyhow::Result<()> {
        let (mut counts, workers) = self.told.counts()?;
        self.setting.judge(&mut counts, workers)?;
        self.told.print()
    }
}

impl Told {
    /// The counts, and the number of workers.
    fn counts(&self) -> anyhow::Result<(Counts, u64)> {
        let (mut counts, mut workers) = (Counts::default(), 0);
        for &count in &self.acknowledged {
            counts.settle(workers, count, count)?;
            workers += 1;
        }
        Ok((counts, workers))
    }

    fn print(&self) -> anyhow::Result<()> {
        let words: Vec<_> = self.acknowledged.iter().map(u64::to_string).collect();
        println!("{}", words.join(","));
        Ok(())
    }
}
