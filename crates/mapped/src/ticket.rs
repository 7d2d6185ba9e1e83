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
pub struct Ticket(Claim<ProcessState>);

impl Ticket {
    pub(crate) fn new(state: Arc<ProcessState>, position: Option<u64>) -> Self {
        Ticket(Claim::new(state, position))
    }

    /// Returns when the transaction is on stable storage. At once, if it changed nothing, or if the
    /// segment has no log.
    ///
    /// # Errors
    /// [`SegmentError::Poisoned`] if the log failed: whether the transaction is there after a restart
    /// is not known. [`SegmentError::NotDurableYet`] if a process that is stopped writes the log for all:
    /// wait again.
    pub fn wait(&self) -> Result<(), SegmentError> {
        self.0.wait()
    }
}

impl Future for Ticket {
    type Output = Result<(), SegmentError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll(context.waker())
    }
}
