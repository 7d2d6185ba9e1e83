//! The loop of the torture runs of one process: [`Kills`] with a progress bar, and its times.

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use sardonyx_base::random::Random;
use sardonyx_base::victims::{Killed, Kills, Subject};
use std::time::Duration;

/// A subject of a torture run.
pub(crate) trait Tortured: Subject<Error = anyhow::Error> {
    /// After a kill, so many of a hundred recoveries are killed.
    const RECOVERIES_PERCENT: u64;

    /// The progress in words.
    fn progress(&self) -> String;
}

/// Kills a subject's process so many times. Ends with an error at the first judgement that finds a fault.
pub(crate) fn torture<S: Tortured>(
    subject: &mut S,
    kills: u64,
    seed: u64,
) -> anyhow::Result<Killed> {
    let style = "{bar:30} {pos}/{len} kills, {msg}";
    let progress = ProgressBar::new(kills).with_style(ProgressStyle::with_template(style)?);
    let kills = Kills {
        recoveries_percent: S::RECOVERIES_PERCENT,
        moment: Duration::from_millis(3),
        recovery: Duration::from_millis(60),
        ..Kills::new(kills)
    };
    let killed = kills.run(&mut Random::new(seed), subject, |subject| {
        progress.inc(1);
        progress.set_message(subject.progress());
    });
    let killed =
        killed.with_context(|| format!("at kill {} of seed {seed}", progress.position() + 1))?;
    progress.finish_and_clear();
    Ok(killed)
}
