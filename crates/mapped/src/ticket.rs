//! A committed transaction's claim to durability.

use crate::error::SegmentError;
use crate::participant::Participant;
use std::sync::Arc;

/// A committed transaction's claim to be on stable storage: to be waited for now, later or never. It
/// will be durable anyway, after all that was committed before it.
#[derive(Clone, Debug)]
#[must_use = "a transaction is durable only once its ticket was waited for"]
pub struct Ticket {
    participant: Arc<Participant>,
    position: Option<u64>,
}

impl Ticket {
    pub(crate) fn new(participant: Arc<Participant>, position: Option<u64>) -> Self {
        Ticket {
            participant,
            position,
        }
    }

    /// Returns when the transaction is on stable storage. At once, if it changed nothing, or if the
    /// segment has no log.
    ///
    /// # Errors
    /// [`SegmentError::Poisoned`] if the log failed: whether the transaction is there after a restart
    /// is not known.
    pub fn wait(&self) -> Result<(), SegmentError> {
        match self.position {
            Some(position) => self.participant.wait_durable(position),
            None => Ok(()),
        }
    }
}
