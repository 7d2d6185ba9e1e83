//! A node without threads, of any coupling: its transactions' requests, the protocol's machine, and the machine's
//! outputs.
//!
//! A request is either answered when [`Shell::lock`] returns, or waits for another node. Nothing here waits: the thread that
//! runs it is one of a [`Member`](super::member::Member), or a test, one step of a node at a time.
//!
//! Invariants: the protocol's demands on its shell ([`crate::protocol`]). A copy that a request names stays until that
//! is answered. A modified page stays until its version is stored or another node answers for it. A page at work
//! stays, and is given to no other node. An error that leaves the machine with an unanswered question stops the node:
//! it is then as dead, and its locks are recovered by others.

use super::NodeError;
use super::coupling::Coupling;
use super::local::Local;
use super::work::{Held, Progress};
use crate::protocol::{
    Input, LockMode, NodeId, Outcome, Output, PageId, PageSource, TransactionId,
};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A node without threads.
#[derive(Debug)]
pub(in crate::node) struct Shell<C> {
    pub local: Local,
    pub coupling: C,
    inputs: VecDeque<Input>,
    outputs: Vec<Output>,
    stopped: Option<NodeError>,
    /// Set when the node has stopped: known without the shell's lock.
    pub has_stopped: Arc<AtomicBool>,
    pub victims: u64,
}

impl<C: Coupling> Shell<C> {
    pub fn new(local: Local, coupling: C) -> Self {
        Shell {
            local,
            coupling,
            inputs: VecDeque::new(),
            outputs: Vec::new(),
            stopped: None,
            has_stopped: Arc::default(),
            victims: 0,
        }
    }

    pub fn node(&self) -> NodeId {
        self.local.node
    }

    /// True if the node continues.
    ///
    /// # Errors
    /// Why it does not.
    #[inline]
    pub fn check(&self) -> Result<(), NodeError> {
        match &self.stopped {
            None => Ok(()),
            Some(reason) => Err(reason.clone()),
        }
    }

    /// The node goes on no more.
    pub fn stop(&mut self, reason: &NodeError) {
        if self.stopped.is_none() {
            let node = self.local.node;
            self.stopped = Some(self.coupling.stops(node, reason));
            self.has_stopped.store(true, Ordering::SeqCst);
        }
    }

    /// More is known of the reason for which the node has stopped.
    pub fn has_stopped_since(&mut self, reason: NodeError) {
        self.stopped = Some(reason);
        self.has_stopped.store(true, Ordering::SeqCst);
    }

    /// Gives the machine an input, and performs its outputs until there are none.
    ///
    /// # Errors
    /// The node has stopped.
    pub fn feed(&mut self, input: Input) -> Result<(), NodeError> {
        self.check()?;
        self.inputs.push_back(input);
        self.feed_rest()
    }

    /// Gives the machine an input when it is done with the present one.
    pub fn tell_later(&mut self, input: Input) {
        self.inputs.push_back(input);
    }

    /// Feeds the machine the inputs that were deferred.
    ///
    /// # Errors
    /// The node has stopped.
    pub fn feed_rest(&mut self) -> Result<(), NodeError> {
        let fed = self.feed_all();
        fed.inspect_err(|error| self.stop(error))
    }

    fn feed_all(&mut self) -> Result<(), NodeError> {
        while let Some(input) = self.inputs.pop_front() {
            let supplied = match &input {
                Input::Supplied { page, copy, .. } => copy.map(|_| *page),
                _ => None,
            };
            let mut outputs = std::mem::take(&mut self.outputs);
            self.coupling.handle(input, &mut outputs)?;
            for output in outputs.drain(..) {
                self.perform(output)?;
            }
            self.outputs = outputs;
            if let Some(page) = supplied {
                self.local.unpin(page);
            }
        }
        Ok(())
    }

    fn perform(&mut self, output: Output) -> Result<(), NodeError> {
        match output {
            Output::Granted {
                transaction,
                page,
                mode,
                psn,
                source,
            } => {
                let held = Held { page, mode, psn };
                match source {
                    PageSource::Copy => self.local.placed(transaction, held, None).map(drop)?,
                    elsewhere => C::fetch(self, transaction, held, elsewhere)?,
                }
            }
            Output::Waiting { transaction, .. } => {
                let waits = Progress::Locking { waits: true };
                self.local.note(transaction, waits);
            }
            Output::Victim { transaction } => {
                self.victims += 1;
                self.local.note(transaction, Progress::Victim);
            }
            Output::Supply { page, transaction } => {
                let copy = self.local.supply(page);
                self.inputs.push_back(Input::Supplied {
                    page,
                    transaction,
                    copy,
                });
            }
            Output::Ended { .. } => {}
            other => C::perform(self, other)?,
        }
        Ok(())
    }

    pub fn begin(&mut self) -> TransactionId {
        self.local.begin()
    }

    /// Asks for a lock. The result, now or later, is in the transaction's progress.
    ///
    /// # Errors
    /// The node has stopped.
    pub fn lock(
        &mut self,
        transaction: TransactionId,
        page: PageId,
        mode: LockMode,
    ) -> Result<(), NodeError> {
        let Some(input) = self.local.ask(transaction, page, mode) else {
            return Ok(());
        };
        C::make_room(self, &input)?;
        self.feed(input)
    }

    /// Ends a transaction: committed when it is durable (and, with FORCE, stored), else undone. Its locks are given
    /// back.
    ///
    /// # Errors
    /// The node has stopped.
    pub fn end(&mut self, transaction: TransactionId, outcome: Outcome) -> Result<(), NodeError> {
        let unstored = self.coupling.keeps_unstored();
        match self.local.end(transaction, outcome, unstored) {
            Some(input) => self.feed(input),
            None => Ok(()),
        }
    }

    /// Looks for deadlocks among waiting transactions: to be called again and again.
    ///
    /// # Errors
    /// The node has stopped.
    pub fn suspect(&mut self) -> Result<(), NodeError> {
        for transaction in self.local.waiting() {
            self.feed(Input::Suspect { transaction })?;
        }
        Ok(())
    }
}
