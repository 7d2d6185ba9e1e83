//! The loop of kills: a life, its kill, recoveries that are killed, and a judgement; then the next life.

use super::counts::Counts;
use super::victim::Victim;
use super::witness::{Witness, WitnessError};
use crate::random::Random;
use std::io;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A way of running transactions whose process is killed again and again.
pub trait Subject {
    /// Its errors.
    type Error: From<WitnessError> + From<io::Error>;

    /// The next life: it opens the database, submits transactions until it is killed, and reports the acknowledged ones.
    ///
    /// # Errors
    /// The life cannot begin.
    fn submit(&mut self, random: &mut Random) -> Result<Life, Self::Error>;

    /// A process that only recovers; it may be killed, or end before.
    ///
    /// # Errors
    /// It cannot be started.
    fn recover(&mut self, random: &mut Random) -> Result<Command, Self::Error>;

    /// Opens the database, and judges its content; the counts are [settled](Counts::settle), or cleared.
    ///
    /// # Errors
    /// An acknowledged transaction is missing, or one is there twice or in part.
    fn observe(&mut self, random: &mut Random, counts: &mut Counts) -> Result<(), Self::Error>;
}

/// A life, and its end.
#[derive(Debug)]
pub struct Life {
    /// The process.
    pub command: Command,
    /// It is killed after so many reports of acknowledgements.
    pub reports: u64,
}

/// The number and the moments of kills.
#[derive(Clone, Copy, Debug)]
pub struct Kills {
    /// The number of lives.
    pub lives: u64,
    /// After a kill a recovery is killed in so many of a hundred cases, and then another one in as many.
    pub recoveries_percent: u64,
    /// A life is killed at most so much later than its last report.
    pub moment: Duration,
    /// A recovery is killed within this time.
    pub recovery: Duration,
    /// A life without a report for so long hangs.
    pub patience: Duration,
}

/// The counts of a run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Killed {
    /// Lives.
    pub lives: u64,
    /// Killed recoveries.
    pub recoveries: u64,
}

impl Kills {
    /// So many lives, killed at their last report; no recovery is killed.
    pub fn new(lives: u64) -> Kills {
        Kills {
            lives,
            recoveries_percent: 0,
            moment: Duration::ZERO,
            recovery: Duration::ZERO,
            patience: Duration::from_secs(600),
        }
    }

    /// Runs the loop; `progress` is called after each judgement.
    ///
    /// # Errors
    /// The errors of the subject; a life ended by itself, hangs, or reports what cannot be true.
    pub fn run<S: Subject>(
        &self,
        random: &mut Random,
        subject: &mut S,
        mut progress: impl FnMut(&S),
    ) -> Result<Killed, S::Error> {
        let (mut counts, mut killed) = (Counts::default(), Killed::default());
        for _ in 0..self.lives {
            let life = subject.submit(random)?;
            counts = self.live(life, random, counts)?;
            while random.chance(self.recoveries_percent, 100) {
                let mut command = subject.recover(random)?;
                let mut child = command.stdout(Stdio::null()).spawn()?;
                std::thread::sleep(drawn(random, self.recovery));
                child.kill()?;
                child.wait()?;
                killed.recoveries += 1;
            }
            subject.observe(random, &mut counts)?;
            killed.lives += 1;
            progress(subject);
        }
        Ok(killed)
    }

    /// Runs a life until it is killed.
    fn live(
        &self,
        life: Life,
        random: &mut Random,
        counts: Counts,
    ) -> Result<Counts, WitnessError> {
        let Life {
            mut command,
            reports,
        } = life;
        let witness = Witness::new(Reported { counts, reports: 0 });
        let mut victim = witness.start(&mut command)?;
        self.wait_for(&witness, &victim, reports)?;
        std::thread::sleep(drawn(random, self.moment));
        if let Some(status) = victim.ended()? {
            return Err(WitnessError::Ended(victim.id(), status.to_string()));
        }
        victim.end()?;
        witness.verdict()?;
        Ok(witness.with(|state| std::mem::take(&mut state.counts)))
    }

    fn wait_for(
        &self,
        witness: &Witness<Reported>,
        victim: &Victim,
        reports: u64,
    ) -> Result<(), WitnessError> {
        let mut heard = 0;
        loop {
            let until = Instant::now() + self.patience;
            let came = witness.wait_until(until, |state| {
                let is_wanted = state.reports >= reports || victim.is_silent();
                (is_wanted || state.reports > heard).then_some(state.reports)
            })?;
            heard = came.ok_or(WitnessError::Silent(self.patience))?;
            if heard >= reports {
                return Ok(());
            }
            if victim.is_silent() {
                return Err(WitnessError::closed(victim));
            }
        }
    }
}

/// A moment before this one.
fn drawn(random: &mut Random, most: Duration) -> Duration {
    let most = u64::try_from(most.as_micros()).unwrap_or(u64::MAX);
    Duration::from_micros(random.below(most.max(1)))
}

/// The counts, and the number of reports of this life.
struct Reported {
    counts: Counts,
    reports: u64,
}

impl super::Hear for Reported {
    fn hear(&mut self, report: super::Report) -> Result<(), String> {
        self.reports += u64::from(matches!(report, super::Report::Acknowledged { .. }));
        self.counts.hear(report)
    }
}
