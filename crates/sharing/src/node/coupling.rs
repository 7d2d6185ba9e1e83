//! The difference between closely and loosely coupled nodes, below one [shell](super::shell) and one
//! [member](super::member). It consists of the protocol's machine, the ways to other nodes and to storage, and their
//! needs of the process.
//!
//! Everything else is written once. A coupling is known at compile time: no call of a transaction is dispatched at run
//! time because of it.

use super::NodeError;
use super::member::Member;
use super::ring::Frame;
use super::shell::Shell;
use super::tables::JournalSource;
use super::work::Held;
use crate::protocol::{Counters, Input, NodeId, Output, PageSource, TransactionId};
use sardonyx_storage::journal::JournalPosition;
use std::fmt::Debug;
use std::ops::Range;
use std::time::Duration;

/// A way in which nodes are coupled: its parts of a node's shell.
pub(in crate::node) trait Coupling: Debug + Send + Sized + 'static {
    /// The process' part for a node that runs.
    type Here: Debug + Send + Sync;

    /// Gives the machine an input, and appends its outputs.
    ///
    /// # Errors
    /// The machine has an unanswered question: the node stops.
    fn handle(&mut self, input: Input, outputs: &mut Vec<Output>) -> Result<(), NodeError>;

    /// The machine's counts.
    fn counters(&self) -> Counters;

    /// Performs an output of this coupling's machine.
    ///
    /// # Errors
    /// The node stops.
    fn perform(shell: &mut Shell<Self>, output: Output) -> Result<(), NodeError>;

    /// A transaction has its lock, and its page is elsewhere: it comes into the buffer, now or later.
    ///
    /// # Errors
    /// The node stops.
    fn fetch(
        shell: &mut Shell<Self>,
        transaction: TransactionId,
        held: Held,
        source: PageSource,
    ) -> Result<(), NodeError>;

    /// Makes room in the buffer for a transaction's request.
    ///
    /// # Errors
    /// Why the node does not go on.
    #[inline]
    fn make_room(_shell: &mut Shell<Self>, _request: &Input) -> Result<(), NodeError> {
        Ok(())
    }

    /// True if storage has not the versions that a transaction has committed, so that their copies stay.
    fn keeps_unstored(&self) -> bool;

    /// The node stops. Returns the error that its users get from now on.
    fn stops(&mut self, node: NodeId, reason: &NodeError) -> NodeError;

    /// The pool from which the node takes pages.
    fn pool(shell: &Shell<Self>) -> usize;

    /// A thread waits for the others: looks whether something has come. Returns whether other transactions may go on.
    ///
    /// # Errors
    /// Why the node does not go on.
    #[inline]
    fn look(_shell: &mut Shell<Self>) -> Result<bool, NodeError> {
        Ok(false)
    }

    /// The longest wait for a lock and its page; `None`: the awaited node is recovered or fenced.
    #[inline]
    fn patience(_here: &Self::Here) -> Option<Duration> {
        None
    }

    /// Makes a transaction durable. From when it cannot be undone any more, `ended` is set.
    ///
    /// # Errors
    /// It did not happen, unless `ended` is set: then its outcome is unknown.
    fn make_durable(member: &Member<Self>, frame: Frame, ended: &mut bool)
    -> Result<(), NodeError>;

    /// Checks that the node may acknowledge data that it has only read.
    ///
    /// # Errors
    /// Why not.
    #[inline]
    fn check_read(_member: &Member<Self>) -> Result<(), NodeError> {
        Ok(())
    }

    /// See [`Runs::journal_rows`](super::running::Runs::journal_rows).
    ///
    /// # Errors
    /// The errors of the log's readers.
    fn journal_rows(
        member: &Member<Self>,
        journal: u16,
        range: Range<JournalPosition>,
    ) -> Result<Box<dyn JournalSource>, NodeError>;
}
