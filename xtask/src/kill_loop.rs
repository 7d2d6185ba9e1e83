//! The loop of the torture runs, [`Kills`], with a progress bar and a report.

use anyhow::{Context, ensure};
use indicatif::{ProgressBar, ProgressStyle};
use sardonyx_base::random::Random;
use sardonyx_base::victims::{Kills, Subject};
use std::time::Instant;

/// A subject of a torture run.
pub(crate) trait Tortured: Subject<Error = anyhow::Error> {
    /// The kind of the acknowledged things: transactions, numbers.
    const ACKNOWLEDGED: &'static str;

    /// The number of acknowledged ones, of all databases.
    fn acknowledged(&self) -> u64;

    /// Further lines of the report.
    fn findings(&self) -> Vec<(&'static str, u64)>;

    /// The last line of the report.
    fn verdict(&self) -> &'static str;
}

/// Runs so many events. Ends with an error at the first judgement that finds a fault.
pub(crate) fn torture<S: Tortured>(subject: &mut S, kills: Kills, seed: u64) -> anyhow::Result<()> {
    ensure!(
        kills.events > 0 && !subject.events().is_empty(),
        "there is no event: nothing would be judged"
    );
    let style = "{bar:30} {pos}/{len} events, {msg} acknowledged, {eta} left";
    let progress = ProgressBar::new(kills.events).with_style(ProgressStyle::with_template(style)?);
    let began = Instant::now();
    let run = kills.run(&mut Random::new(seed), subject, |subject| {
        progress.inc(1);
        progress.set_message(subject.acknowledged().to_string());
    });
    let killed = match run {
        Ok(killed) => killed,
        Err(failed) => {
            let (event, name) = (failed.event, failed.name);
            return Err(failed.error)
                .with_context(|| format!("event {event} of seed {seed} ({name})"));
        }
    };
    progress.finish_and_clear();
    let line = |name: &str, count: u64| println!("{name:<42} {count:>8}");
    for (name, count) in killed.events {
        line(name, count);
    }
    if kills.recoveries_percent > 0 {
        line("recoveries killed", killed.recoveries);
    }
    for (name, count) in subject.findings() {
        line(name, count);
    }
    line(
        &format!("{} acknowledged", S::ACKNOWLEDGED),
        subject.acknowledged(),
    );
    line("databases", killed.databases);
    line("seconds", began.elapsed().as_secs());
    println!("verdict: {}", subject.verdict());
    Ok(())
}
