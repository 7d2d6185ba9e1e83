//! The witness: hears the reports of any number of victims, and waits for more of them.

use super::counts::Counts;
use super::report::Report;
use super::victim::Victim;
use std::io;
use std::process::Command;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use thiserror::Error;

/// The knowledge of a witness: [`Counts`], or a state of a run's own.
pub trait Hear: Send + 'static {
    /// Notes a report.
    ///
    /// # Errors
    /// The report cannot be true; those who wait get this text.
    fn hear(&mut self, report: Report) -> Result<(), String>;
}

/// A verdict of the witness.
#[derive(Error, Debug)]
pub enum WitnessError {
    /// A report cannot be true.
    #[error("{0}")]
    Untrue(String),
    /// A process ended by itself.
    #[error("process {0} ended by itself: {1}")]
    Ended(u32, String),
    /// No report came in time.
    #[error("nothing was acknowledged within {0:?}")]
    Silent(Duration),
    /// A process cannot be started.
    #[error("starting a process: {0}")]
    System(#[from] io::Error),
}

impl WitnessError {
    /// A process has closed its output: it has ended, or is about to.
    pub(super) fn closed(victim: &Victim) -> WitnessError {
        WitnessError::Ended(victim.id(), "it closed its output".into())
    }
}

struct Shared<S> {
    state: Mutex<(S, Option<String>)>,
    changed: Condvar,
}

/// The witness of a run.
pub struct Witness<S = Counts>(Arc<Shared<S>>);

impl<S> Clone for Witness<S> {
    fn clone(&self) -> Self {
        Witness(self.0.clone())
    }
}

impl<S: Hear + Default> Default for Witness<S> {
    fn default() -> Self {
        Witness::new(S::default())
    }
}

impl<S> std::fmt::Debug for Witness<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Witness")
    }
}

impl<S: Hear> Witness<S> {
    /// A witness who knows this.
    pub fn new(state: S) -> Self {
        Witness(Arc::new(Shared {
            state: Mutex::new((state, None)),
            changed: Condvar::new(),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, (S, Option<String>)> {
        let state = self.0.state.lock();
        state.unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a process, and listens to it.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(&self, command: &mut Command) -> io::Result<Victim> {
        let mut victim = Victim::start(command)?;
        self.listen(&mut victim)?;
        Ok(victim)
    }

    /// Listens to a process from now on.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn listen(&self, victim: &mut Victim) -> io::Result<()> {
        let witness = self.clone();
        victim.listen(move |report| {
            let mut state = witness.lock();
            if let Some(Err(text)) = report.map(|report| state.0.hear(report)) {
                state.1.get_or_insert(text);
            }
            drop(state);
            witness.0.changed.notify_all();
        })
    }

    /// Looks at, or changes, what is known.
    pub fn with<T>(&self, look: impl FnOnce(&mut S) -> T) -> T {
        look(&mut self.lock().0)
    }

    /// Returns the first answer of `wanted`, which is asked after each report and each end of a process; `None` if there
    /// is none until this moment.
    ///
    /// # Errors
    /// A report cannot be true.
    pub fn wait_until<T>(
        &self,
        until: Instant,
        mut wanted: impl FnMut(&S) -> Option<T>,
    ) -> Result<Option<T>, WitnessError> {
        let mut state = self.lock();
        loop {
            if let Some(text) = &state.1 {
                return Err(WitnessError::Untrue(text.clone()));
            }
            if let Some(answer) = wanted(&state.0) {
                return Ok(Some(answer));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            let waited = self.0.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Returns when all reports that came are true.
    ///
    /// # Errors
    /// One cannot be.
    pub fn verdict(&self) -> Result<(), WitnessError> {
        let text = self.lock().1.clone();
        text.map_or(Ok(()), |text| Err(WitnessError::Untrue(text)))
    }
}

impl Witness<Counts> {
    /// Returns when these workers, which a process has, have acknowledged so many more.
    ///
    /// # Errors
    /// The process ended by itself, or nothing came in this time; a report cannot be true.
    pub fn goes_on(
        &self,
        victim: &Victim,
        workers: impl IntoIterator<Item = u64> + Clone,
        more: u64,
        patience: Duration,
    ) -> Result<(), WitnessError> {
        let sum = |counts: &Counts| counts.sum(workers.clone());
        let wanted = self.with(|counts| sum(counts)) + more;
        let came = self.wait_until(Instant::now() + patience, |counts| {
            let is_done = sum(counts) >= wanted;
            (is_done || victim.is_silent()).then_some(is_done)
        })?;
        match came {
            Some(true) => Ok(()),
            Some(false) => Err(WitnessError::closed(victim)),
            None => Err(WitnessError::Silent(patience)),
        }
    }
}
