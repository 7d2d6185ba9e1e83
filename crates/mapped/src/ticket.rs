//! A committed transaction's claim to durability.

use crate::error::SegmentError;
use crate::process_state::ProcessState;
use sardonyx_storage::ticket::Claim;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A committed transaction's claim to be on stable storage: to be waited for now, later or never. It
/// will be durable anyway, after all that was committed before it.
///
/// It can be awaited: it is a future, of any runtime.
#[derive(Clone, Debug)]
#[must_use = "a transaction is durable only once its ticket was waited for"]
pub struct Ticket {
    /// None, if the segment was closed before it was made, or nothing was changed.
    claim: Option<Claim<ProcessState>>,
    /// True if it was requested of a closed segment.
    closed: bool,
}

impl Ticket {
    pub(crate) fn new(state: Option<Arc<ProcessState>>, position: Option<u64>) -> Self {
        Ticket {
            closed: state.is_none() && position.is_some(),
            claim: state.map(|state| Claim::new(state, position)),
        }
    }

    /// True if the transaction is durable, or never will be known to be; does not wait.
    pub fn is_done(&self) -> bool {
        self.claim.as_ref().is_none_or(Claim::is_settled)
    }

    /// Returns when the transaction is on stable storage. At once, if it changed nothing, or if the
    /// segment has no log.
    ///
    /// # Errors
    /// [`SegmentError::Poisoned`] if the log failed: whether the transaction is there after a restart
    /// is not known. [`SegmentError::NotDurableYet`] if a process that is stopped writes the log for all:
    /// wait again. [`SegmentError::Closed`] if the segment was closed before the ticket was asked for.
    pub fn wait(&self) -> Result<(), SegmentError> {
        match &self.claim {
            Some(claim) => claim.wait(),
            None if self.closed => Err(SegmentError::Closed),
            None => Ok(()),
        }
    }
}

impl Future for Ticket {
    type Output = Result<(), SegmentError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &self.claim {
            Some(claim) => claim.poll(context.waker()),
            None if self.closed => Poll::Ready(Err(SegmentError::Closed)),
            None => Poll::Ready(Ok(())),
        }
    }
}
