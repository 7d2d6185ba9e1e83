//! A transaction from its beginning to its end, on a node of any coupling: run again if it was chosen to end a deadlock,
//! undone unless it commits.

use super::NodeError;
use super::local::Local;
use super::observer::{Committed, Observer};
use super::tables::{JournalSource, Known, empty_dropped};
use super::transaction::Transaction;
use crate::protocol::{LockMode, PageId, TransactionId};
use sardonyx_base::sync::futex::{Condvar, MutexGuard};
use sardonyx_base::waiting;
use sardonyx_storage::journal::JournalPosition;
use std::fmt::Debug;
use std::ops::Range;
use std::time::Instant;

/// A call on a node's buffer and transactions while no other thread uses them.
pub(super) type AtLocal<'a> = &'a mut dyn FnMut(&mut Local) -> Result<(), NodeError>;

/// A node on which transactions run, with any coupling.
pub(super) trait Runs: Debug + Sync {
    /// Checks that the node continues. Does not wait for the shell's lock, with which pages are read and written, unless it
    /// has stopped.
    ///
    /// # Errors
    /// Why it does not.
    fn check_runs(&self) -> Result<(), NodeError>;

    /// Begins a transaction.
    ///
    /// # Errors
    /// Why the node does not go on.
    fn begin(&self) -> Result<TransactionId, NodeError>;

    /// Makes a transaction durable and gives its locks back. From when it cannot be undone any more, `ended` is set.
    ///
    /// # Errors
    /// As [`Node::run`](super::Node::run).
    fn commit(&self, transaction: TransactionId, ended: &mut bool) -> Result<(), NodeError>;

    /// Undoes a transaction and gives its locks back. If the node has stopped its locks are recovered by others.
    fn undo(&self, transaction: TransactionId);

    /// A transaction is run again.
    fn runs_again(&self);

    /// Waits until a transaction has a lock and the page, and then does something with it.
    ///
    /// # Errors
    /// [`NodeError::Deadlock`]: it was chosen to end one. [`NodeError::TimedOut`], [`NodeError::Interrupted`]: it is to be
    /// undone. Else why it was refused; it may go on without.
    fn with_page(
        &self,
        transaction: TransactionId,
        page: PageId,
        mode: LockMode,
        then: AtLocal<'_>,
    ) -> Result<(), NodeError>;

    /// Does something that needs no lock.
    ///
    /// # Errors
    /// Why the node does not go on.
    fn with_local(&self, then: AtLocal<'_>) -> Result<(), NodeError>;

    /// The pool from which it takes pages: small, and best no other node's that lives.
    fn slot(&self) -> usize;

    /// Pages that there may be.
    fn pages(&self) -> u64;

    fn database(&self) -> u64;

    /// The most bytes of redo records of a transaction.
    fn transaction_bytes_max(&self) -> usize;

    /// The tables that it has read of.
    fn known(&self) -> &Known;

    /// The observer of the pages that its transactions refer to.
    fn observer(&self) -> Option<&dyn Observer>;

    /// The rows of a journal at the positions of a range that are durable now, of all nodes.
    ///
    /// # Errors
    /// As [`TableNode::journal_range`](super::TableNode::journal_range).
    fn journal_rows(
        &self,
        journal: u16,
        range: Range<JournalPosition>,
    ) -> Result<Box<dyn JournalSource>, NodeError>;
}

/// Checks that no request, time limit or lost client asks this thread to end its wait.
///
/// # Errors
/// [`NodeError::Interrupted`].
pub(super) fn check_interruption() -> Result<(), NodeError> {
    match waiting::interruption() {
        Some(reason) => Err(NodeError::Interrupted(reason)),
        None => Ok(()),
    }
}

/// Sleeps until a shell has changed, or it is time to look. The transaction that gives up by an error is to be undone:
/// the protocol takes back its requests.
///
/// # Errors
/// [`NodeError::Interrupted`].
pub(super) fn wait_for_change<S>(
    changed: &Condvar,
    shell: &mut MutexGuard<'_, S>,
    until: Option<Instant>,
) -> Result<(), NodeError> {
    let look = waiting::is_observed().then(|| Instant::now() + waiting::BETWEEN_LOOKS);
    check_interruption()?;
    match look.into_iter().chain(until).min() {
        Some(until) => drop(changed.wait_until(shell, until)),
        None => changed.wait(shell),
    }
    Ok(())
}

/// Runs a closure in a transaction.
///
/// # Errors
/// The closure's, and those of [`Runs`].
pub(super) fn run<R, E: From<NodeError>>(
    node: &dyn Runs,
    mut work: impl FnMut(&mut Transaction<'_>) -> Result<R, E>,
) -> Result<R, E> {
    loop {
        let number = node.begin()?;
        let mut ending = Ending {
            node,
            number,
            ended: false,
        };
        let mut transaction = Transaction::new(node, number);
        let done = work(&mut transaction).and_then(|done| {
            // The program may have held references and not checked them. The check may take locks.
            transaction.check_held()?;
            Ok(done)
        });
        if transaction.is_victim {
            drop(ending);
            node.runs_again();
            std::thread::yield_now();
            continue;
        }
        let done = done?;
        // Even if the closure ignores that, it is not committed by halves.
        if let Some(failed) = transaction.failed {
            return Err(failed.into());
        }
        ending.commit()?;
        if let Some(observer) = node.observer() {
            observer.committed(&Committed {
                kind: transaction.kind,
                references: &transaction.references,
            });
        }
        let drops = transaction.used.drops;
        // One that has only read gives its locks back here.
        drop(ending);
        if drops {
            // The next call that drops something releases the rest.
            let _ = empty_dropped(node);
        }
        return Ok(done);
    }
}

/// Undoes a transaction unless it commits.
struct Ending<'a> {
    node: &'a dyn Runs,
    number: TransactionId,
    ended: bool,
}

impl Ending<'_> {
    fn commit(&mut self) -> Result<(), NodeError> {
        self.node.commit(self.number, &mut self.ended)
    }
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.node.undo(self.number);
        }
    }
}
