//! A committed transaction's claim to durability.

use crate::awaiting::Awaiting;
use crate::error::SegmentError;
use crate::process_state::ProcessState;
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
    /// None, if the segment was closed before it was made.
    state: Option<Arc<ProcessState>>,
    position: Option<u64>,
}

impl Ticket {
    pub(crate) fn new(state: Option<Arc<ProcessState>>, position: Option<u64>) -> Self {
        Ticket { state, position }
    }

    /// Whether the transaction is durable, or never will be known to be; does not wait.
    pub fn is_done(&self) -> bool {
        match (self.position, &self.state) {
            (Some(position), Some(state)) => state.is_durable_now(position).is_some(),
            _ => true,
        }
    }

    /// Returns when the transaction is on stable storage. At once, if it changed nothing, or if the
    /// segment has no log.
    ///
    /// # Errors
    /// [`SegmentError::Poisoned`] if the log failed: whether the transaction is there after a restart
    /// is not known. [`SegmentError::NotDurableYet`] if a process that is stopped writes the log for all:
    /// wait again.
    pub fn wait(&self) -> Result<(), SegmentError> {
        match (self.position, &self.state) {
            (Some(position), Some(state)) => state.wait_durable(position),
            (Some(_), None) => Err(SegmentError::Closed),
            (None, _) => Ok(()),
        }
    }
}

impl Future for Ticket {
    type Output = Result<(), SegmentError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(position) = self.position else {
            return Poll::Ready(Ok(()));
        };
        let Some(state) = &self.state else {
            return Poll::Ready(Err(SegmentError::Closed));
        };
        if let Some(outcome) = state.is_durable_now(position) {
            return Poll::Ready(outcome);
        }
        match Awaiting::ask(state, position, context.waker()) {
            Ok(()) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}
