//! The long transaction that has the serial stage, and the state that others read while it runs.
//!
//! Invariant: the state is all that was committed when the transaction began. As long as it exists, nothing else can
//! commit, so it is the newest. It is removed before the transaction commits.

use super::{Tables, Turn};
use crate::error::interruption;
use crate::{Error, Snapshot};
use sardonyx_base::waiting::{self, Interrupt, Reason, interruptible};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A state of the tables.
#[derive(Clone, Debug)]
pub struct Committed {
    /// The state.
    pub snapshot: Snapshot,
    /// It is durable when this group is: [`Tables::durable`].
    pub group: u64,
    /// The catalogue's version in it: [`Tables::catalogue_version`].
    pub version: u64,
}

/// The ways to read the tables.
#[derive(Debug)]
pub enum Reached<'t> {
    /// The call has the serial stage.
    Turn(Turn<'t>),
    /// A long transaction has the serial stage.
    Committed(Committed),
}

/// The long transaction that runs, if there is one.
#[derive(Debug, Default)]
pub(super) struct Underway {
    is_there: Arc<AtomicBool>,
    committed: Mutex<Option<Committed>>,
    /// The catalogue's version.
    pub version: AtomicU64,
}

/// A long transaction. Its state is no longer read when this is dropped, which is before it commits.
#[derive(Debug)]
pub struct Begun<'t>(&'t Underway);

impl Drop for Begun<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.put(None);
    }
}

impl Underway {
    #[inline]
    fn put(&self, committed: Option<Committed>) {
        let mut there = self
            .committed
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        self.is_there.store(committed.is_some(), Ordering::Release);
        *there = committed;
    }

    #[inline]
    fn is_there(&self) -> bool {
        self.is_there.load(Ordering::Acquire)
    }

    /// The state, unless it was ended for want of memory.
    #[inline]
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

#[doc(hidden)]
impl Tables {
    /// True if a long transaction has the serial stage, and there is a state to read beside it.
    #[inline]
    pub fn has_long(&self) -> bool {
        self.underway.is_there()
    }

    /// Waits for a turn, or takes the state from before the long transaction that has it. `interrupt` ends the wait; if
    /// none is given, the one of the thread's waits.
    ///
    /// # Errors
    /// As [`Tables::turn`].
    #[inline]
    pub fn reach(&self, interrupt: Option<&Arc<Interrupt>>) -> Result<Reached<'_>, Error> {
        if let Some(turn) = self.try_turn()? {
            return Ok(Reached::Turn(turn));
        }
        self.reach_beside(interrupt)
    }

    /// The same, while another thread has the stage.
    #[cold]
    fn reach_beside(&self, interrupt: Option<&Arc<Interrupt>>) -> Result<Reached<'_>, Error> {
        let interrupt = interrupt.cloned().or_else(waiting::current);
        let interrupt = interrupt.unwrap_or_default();
        loop {
            if let Some(committed) = self.underway.committed() {
                return Ok(Reached::Committed(committed));
            }
            // A state that was ended for want of memory does not count: its transaction is waited for.
            let elsewhere = match self.has_long() {
                true => None,
                false => Some(&self.underway.is_there),
            };
            match interruptible(&interrupt, elsewhere, || self.turn()) {
                Ok(turn) => return Ok(Reached::Turn(turn)),
                Err(error) if interruption(&error) == Some(Reason::Elsewhere) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The newest state available without waiting for a long transaction. It may not be durable yet.
    ///
    /// # Errors
    /// As [`Tables::reach`]; if there is no address space for a snapshot.
    #[inline]
    pub fn committed(&self, interrupt: Option<&Arc<Interrupt>>) -> Result<Committed, Error> {
        // Before the state: a plan of a catalogue that changes meanwhile does not hold.
        let version = self.catalogue_version();
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

    /// The version of the catalogue, and of all else by which programs plan their statements.
    #[inline]
    pub fn catalogue_version(&self) -> u64 {
        self.underway.version.load(Ordering::Acquire)
    }

    /// Notes that the catalogue has changed, or is about to, or that this was undone.
    #[inline]
    pub fn catalogue_changed(&self) {
        self.underway.version.fetch_add(1, Ordering::AcqRel);
    }
}

impl<'t> Turn<'t> {
    /// Has earlier transactions written while the turn goes on: for one that may take long, beside which no other reads.
    #[inline]
    pub fn hand_over(&mut self) {
        self.turn.hand_over();
    }

    /// The state in which the turn's transaction begins. Earlier transactions are written.
    ///
    /// # Errors
    /// If there is no address space for a snapshot.
    #[inline]
    pub fn before(&mut self) -> Result<Snapshot, Error> {
        let (space, _) = self.turn.set_out()?;
        Ok(self.tables.snapshot_of(space))
    }

    /// Prepares for a transaction that may take long. Earlier transactions are written, and others read their state until
    /// the returned value is dropped.
    #[inline]
    pub fn set_out(&mut self) -> Begun<'t> {
        let tables = self.tables;
        let version = tables.catalogue_version();
        // Without address space for a snapshot the others wait.
        if let Ok((space, group)) = self.turn.set_out() {
            tables.underway.put(Some(Committed {
                snapshot: tables.snapshot_of(space),
                group,
                version,
            }));
        }
        Begun(&tables.underway)
    }
}
