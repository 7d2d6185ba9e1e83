//! `fuzz`: arbitrary bytes for the decoders, on stable Rust. See the crate `sardonyx-fuzz`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use sardonyx_fuzz::driver::{Until, fuzz};
use sardonyx_fuzz::{TARGETS, Target, target};

#[derive(clap::Args)]
pub struct Fuzz {
    /// The targets' names; all if none is named. `--list` shows them.
    targets: Vec<String>,
    /// Shows the targets and ends.
    #[arg(long)]
    list: bool,
    /// The seed of the inputs.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The number of the first input.
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// The number of inputs for each target.
    #[arg(long, conflicts_with = "seconds")]
    runs: Option<u64>,
    /// The time for each target.
    #[arg(long)]
    seconds: Option<u64>,
    /// The directory for an input that made a target panic.
    #[arg(long, default_value = "target/fuzz")]
    save: PathBuf,
}

impl Fuzz {
    pub fn run(self) -> anyhow::Result<()> {
        if self.list {
            for target in TARGETS {
                println!("{:<22}{}", target.name, target.what);
            }
            return Ok(());
        }
        for target in self.chosen()? {
            let until = match (self.runs, self.seconds) {
                (Some(runs), _) => Until::Runs(runs),
                (None, Some(seconds)) => Until::Time(Duration::from_secs(seconds)),
                (None, None) => Until::Runs(target.runs),
            };
            match fuzz(target, self.seed, self.first, until) {
                Ok(report) => println!(
                    "{:<22}{:>10} inputs in {:.1} s",
                    target.name,
                    report.runs,
                    report.time.as_secs_f64()
                ),
                Err(failure) => {
                    let name = format!("{}-{}-{}", target.name, failure.seed, failure.number);
                    let file = self.save.join(name);
                    std::fs::create_dir_all(&self.save)
                        .and_then(|()| std::fs::write(&file, &failure.input))
                        .with_context(|| format!("saving the input in {}", file.display()))?;
                    bail!("{failure}\nthe input: {}", file.display());
                }
            }
        }
        Ok(())
    }

    fn chosen(&self) -> anyhow::Result<Vec<&'static Target>> {
        if self.targets.is_empty() {
            return Ok(TARGETS.iter().collect());
        }
        let names = self.targets.iter();
        names
            .map(|name| {
                target(name).with_context(|| {
                    format!("no target is called {name}: `cargo xtask fuzz --list` shows them")
                })
            })
            .collect()
    }
}
