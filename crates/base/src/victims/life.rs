//! One process that submits transactions until it is killed.

use super::counts::Counts;
use super::victim::Victim;
use super::witness::{Hear, Witness, WitnessError};
use super::{Report, drawn};
use crate::random::Random;
use std::process::Command;
use std::time::{Duration, Instant};

/// A life, and its end.
#[derive(Debug)]
pub struct Life {
    /// The process.
    pub command: Command,
    /// It is killed after so many reports of acknowledgements.
    pub reports: u64,
    /// It is killed at most so much later than the last of them.
    pub moment: Duration,
    /// A life without a report for so long hangs.
    pub patience: Duration,
}

impl Life {
    /// A process that is killed up to 3 ms after so many reports.
    pub fn new(command: Command, reports: u64) -> Life {
        Life {
            command,
            reports,
            moment: Duration::from_millis(3),
            patience: Duration::from_secs(600),
        }
    }

    /// Runs it until it is killed; its reports are added to the counts.
    ///
    /// # Errors
    /// It cannot be started, ended by itself, hangs, or reports what cannot be true.
    pub fn end(mut self, counts: &mut Counts, random: &mut Random) -> Result<(), WitnessError> {
        let counted = std::mem::take(counts);
        let witness = Witness::new(Reported {
            counts: counted,
            reports: 0,
        });
        let mut victim = witness.start(&mut self.command)?;
        self.wait_for_reports(&witness, &victim)?;
        std::thread::sleep(drawn(random, self.moment));
        if let Some(status) = victim.ended()? {
            return Err(WitnessError::Ended(victim.id(), status.to_string()));
        }
        victim.end()?;
        witness.verdict()?;
        *counts = witness.with(|state| std::mem::take(&mut state.counts));
        Ok(())
    }

    fn wait_for_reports(
        &self,
        witness: &Witness<Reported>,
        victim: &Victim,
    ) -> Result<(), WitnessError> {
        let mut heard = 0;
        loop {
            let until = Instant::now() + self.patience;
            let came = witness.wait_until(until, |state| {
                let is_wanted = state.reports >= self.reports || victim.is_silent();
                (is_wanted || state.reports > heard).then_some(state.reports)
            })?;
            heard = came.ok_or(WitnessError::Silent(self.patience))?;
            if heard >= self.reports {
                return Ok(());
            }
            if victim.is_silent() {
                return Err(WitnessError::closed(victim));
            }
        }
    }
}

/// The counts, and the number of reports of this life.
struct Reported {
    counts: Counts,
    reports: u64,
}

impl Hear for Reported {
    fn hear(&mut self, report: Report) -> Result<(), String> {
        self.reports += u64::from(matches!(report, Report::Acknowledged { .. }));
        self.counts.hear(report)
    }
}
