//! "Is it durable?", asked of any log, and the claim that asks it.
//!
//! Every log numbers its appended entries: the log of one process by groups, the log of a shared segment by bytes of
//! its ring. Everything up to a position is durable, or nothing after it is (I1). So a transaction keeps only a
//! position, by which it can ask, wait, or be woken.

use crate::log::LogError;
use crate::log::writer::LogWriter;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// A log that reports when its appended entries are on stable storage.
pub trait DurableLog: Send + Sync {
    /// The reason why that will never be known.
    type Error;

    /// True if everything up to this position is on stable storage.
    fn is_durable(&self, position: u64) -> bool;

    /// Checks that the log is sound.
    ///
    /// # Errors
    /// The error that closed it (I7).
    fn check(&self) -> Result<(), Self::Error>;

    /// Waits until everything up to this position is on stable storage.
    ///
    /// # Errors
    /// The error that closed the log: the fate of appended records is unknown then. An error, too, if
    /// the calling thread would wait for itself.
    fn wait_durable(&self, position: u64) -> Result<(), Self::Error>;

    /// As [`DurableLog::wait_durable`], for a task, which is woken when there is an answer.
    fn poll_durable(
        self: &Arc<Self>,
        position: u64,
        waker: &Waker,
    ) -> Poll<Result<(), Self::Error>>;
}

impl DurableLog for LogWriter {
    type Error = LogError;

    fn is_durable(&self, group: u64) -> bool {
        LogWriter::is_durable(self, group)
    }

    fn check(&self) -> Result<(), LogError> {
        LogWriter::check(self)
    }

    fn wait_durable(&self, group: u64) -> Result<(), LogError> {
        self.process().check()?;
        if LogWriter::is_durable(self, group) {
            return Ok(());
        }
        self.holder.check()?;
        self.wait(group)
    }

    fn poll_durable(self: &Arc<Self>, group: u64, waker: &Waker) -> Poll<Result<(), LogError>> {
        self.process().check()?;
        if LogWriter::is_durable(self, group) {
            return Poll::Ready(Ok(()));
        }
        self.holder.check_polling()?;
        if self.drive().has_threads() {
            return self.poll(group, waker);
        }
        // No other thread would write it. Once more after the waker is registered: the pen's holder wakes it when it
        // releases the pen.
        loop {
            while !LogWriter::is_durable(self, group) && self.step() {}
            let outcome = self.poll(group, waker);
            if outcome.is_ready() || !self.step() {
                return outcome;
            }
        }
    }
}

/// The claim of something appended to be on stable storage: to be waited for now, later or never. It
/// will be durable anyway, after all that was appended before it.
#[derive(Debug)]
pub struct Claim<L> {
    log: Arc<L>,
    /// None if nothing was appended.
    position: Option<u64>,
}

impl<L> Clone for Claim<L> {
    fn clone(&self) -> Self {
        Claim {
            log: self.log.clone(),
            position: self.position,
        }
    }
}

impl<L: DurableLog> Claim<L> {
    /// A claim to be durable up to a position; to nothing, if there is none.
    pub fn new(log: Arc<L>, position: Option<u64>) -> Self {
        Claim { log, position }
    }

    /// True if it is durable, or will never be known to be; does not wait.
    pub fn is_settled(&self) -> bool {
        self.position
            .is_none_or(|position| self.log.is_durable(position) || self.log.check().is_err())
    }

    /// Waits until it is durable.
    ///
    /// # Errors
    /// As [`DurableLog::wait_durable`].
    pub fn wait(&self) -> Result<(), L::Error> {
        match self.position {
            Some(position) => self.log.wait_durable(position),
            None => Ok(()),
        }
    }

    /// As [`Claim::wait`], for a task.
    ///
    /// # Errors
    /// As [`DurableLog::poll_durable`].
    pub fn poll(&self, waker: &Waker) -> Poll<Result<(), L::Error>> {
        match self.position {
            Some(position) => self.log.poll_durable(position, waker),
            None => Poll::Ready(Ok(())),
        }
    }
}
