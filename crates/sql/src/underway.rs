//! The long statement that has the serial stage, and the state that others read while it runs.
//!
//! Invariant: the state is all that was committed when the statement began. As long as it is here nothing else can commit,
//! so it is the newest that there is; it goes before the statement commits.

use crate::database::Database;
use crate::error::SqlError;
use sardonyx::{Error, Snapshot, Turn};
use sardonyx_base::waiting::{Interrupt, Reason, interruptible, interruption};
use sardonyx_storage::log::LogError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A state of the tables.
#[derive(Clone, Debug)]
pub(crate) struct Committed {
    pub snapshot: Snapshot,
    /// What is in it is durable when this group is.
    pub group: u64,
    /// The version of the catalogue in it.
    pub version: u64,
}

/// How the tables can be read.
pub(crate) enum Reached<'d> {
    Turn(Turn<'d>),
    /// A long statement has the serial stage.
    Committed(Committed),
}

/// The long statement that runs, if there is one.
#[derive(Debug, Default)]
pub(crate) struct Underway {
    is_there: Arc<AtomicBool>,
    committed: Mutex<Option<Committed>>,
}

/// A long statement, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Begun<'u>(&'u Underway);

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        self.0.put(None);
    }
}

impl Underway {
    fn put(&self, committed: Option<Committed>) {
        let mut there = self
            .committed
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        self.is_there.store(committed.is_some(), Ordering::Release);
        *there = committed;
    }

    /// Whether there is a state to be read beside a long statement.
    pub fn is_there(&self) -> bool {
        self.is_there.load(Ordering::Acquire)
    }

    fn committed(&self) -> Option<Committed> {
        if !self.is_there() {
            return None;
        }
        let there = self
            .committed
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        there
            .clone()
            .filter(|committed| !committed.snapshot.is_ended())
    }
}

impl Database {
    /// Whether reads that need not see a transaction's own changes go on in another state than the serial stage has.
    pub(crate) fn has_long_statement(&self) -> bool {
        self.underway().is_there()
    }

    /// Waits for a turn of the serial stage.
    ///
    /// # Errors
    /// That the wait was interrupted; the engine's.
    pub(crate) fn turn(&self, interrupt: &Arc<Interrupt>) -> Result<Turn<'_>, SqlError> {
        Ok(interruptible(interrupt, None, || self.tables().turn())?)
    }

    /// Waits for a turn, or takes the state from before the long statement that has it.
    ///
    /// # Errors
    /// As [`Database::turn`].
    pub(crate) fn reach(&self, interrupt: &Arc<Interrupt>) -> Result<Reached<'_>, SqlError> {
        Ok(self.try_reach(interrupt)?)
    }

    /// The same.
    ///
    /// # Errors
    /// The engine's: [`Error::Nested`] inside of a serial call.
    pub(crate) fn try_reach(&self, interrupt: &Arc<Interrupt>) -> Result<Reached<'_>, Error> {
        loop {
            if let Some(committed) = self.underway().committed() {
                return Ok(Reached::Committed(committed));
            }
            // A state that was ended for want of memory is none: its statement is waited for.
            let elsewhere = match self.has_long_statement() {
                true => None,
                false => Some(&self.underway().is_there),
            };
            match interruptible(interrupt, elsewhere, || self.tables().turn()) {
                Ok(turn) => return Ok(Reached::Turn(turn)),
                Err(error) if is_elsewhere(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The newest state that can be had without waiting for a long statement. It may not be durable yet.
    ///
    /// # Errors
    /// As [`Database::turn`].
    pub(crate) fn committed(&self, interrupt: &Arc<Interrupt>) -> Result<Committed, SqlError> {
        // Before the state: a plan of a catalogue that changes meanwhile does not hold.
        let version = self.version();
        match self.reach(interrupt)? {
            Reached::Committed(committed) => Ok(committed),
            Reached::Turn(turn) => {
                let (snapshot, group) = turn.snapshot()?;
                Ok(Committed {
                    snapshot,
                    group,
                    version,
                })
            }
        }
    }

    /// Prepares a turn for a long statement, and lets others read meanwhile, until what is returned is dropped.
    pub(crate) fn set_out(&self, turn: &mut Turn<'_>) -> Begun<'_> {
        let version = self.version();
        // Without address space for a snapshot the others wait.
        if let Ok((snapshot, group)) = turn.set_out() {
            self.underway().put(Some(Committed {
                snapshot,
                group,
                version,
            }));
        }
        Begun(self.underway())
    }
}

/// Looks whether the statement is to end that runs on this thread: a procedure of a program that takes long asks from time
/// to time, and returns the error.
///
/// # Errors
/// Why it is: `57014` for a cancel request and at `statement_timeout`, `57P01` and `08006` at the end of the server and of
/// the connection.
pub fn check_interrupted() -> Result<(), SqlError> {
    match interruption() {
        None | Some(Reason::Elsewhere) => Ok(()),
        Some(reason) => Err(SqlError::interrupted(reason)),
    }
}

fn is_elsewhere(error: &Error) -> bool {
    matches!(
        error.downcast_ref(),
        Some(LogError::Interrupted(Reason::Elsewhere))
    )
}
