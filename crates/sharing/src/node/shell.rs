//! A node without threads: the protocol's machine, and all that it asks for. It answers from the global lock
//! table, keeps the buffer, sends and receives messages and pages across GEM, and reads stored pages.
//!
//! Every access to GEM is synchronous (GEM paper, section 2), so a request is either answered when
//! [`Shell::lock`] returns, or waits for another node. Nothing here waits: the thread that runs it (one of a
//! [`Node`](super::Node), or a test, one step of a node at a time) calls [`Shell::poll`] when mail has come.
//!
//! Invariants: what the protocol asks of its shell ([`crate::protocol`]). A copy that a request names stays
//! until that is answered. A modified page stays until its version is stored or another node answers for it. A
//! page at work stays, and is given to no other node. An error that leaves the machine with an unanswered
//! question stops the node: it is then as dead, and its locks are recovered by others.

use super::NodeError;
use super::coding;
use super::gem::{Gem, slot_of, step};
use super::local::Local;
use super::mailbox::{Letter, Outbox};
use super::recovery::Recovery;
use super::work::{Held, Progress};
use crate::lock_table::{self, LockTableError};
use crate::protocol::{
    AccessError, Entry, EntryStore, Epoch, GemLocking, GemOptions, Input, Message, NodeId, Output,
    PageId, PageTransfer, Psn, TransactionId, UpdateStrategy,
};
use sardonyx_base::hash::IntegerMap;
use std::collections::VecDeque;
use std::sync::Arc;

/// The global lock table; a node may die before and after it changes an entry.
struct Stepping<'a>(&'a mut lock_table::Node);

impl EntryStore for Stepping<'_> {
    type Error = LockTableError;

    fn read(&mut self, page: PageId) -> Result<Entry, LockTableError> {
        self.0.read(page)
    }

    fn swap(&mut self, page: PageId, expected: u64, entry: Entry) -> Result<bool, LockTableError> {
        step();
        let swapped = self.0.swap(page, expected, entry);
        step();
        swapped
    }

    fn update(
        &mut self,
        page: PageId,
        entry: &mut Entry,
        mut of: impl FnMut(&mut Entry) -> bool,
    ) -> Result<bool, LockTableError> {
        let updated = self.0.update(page, entry, |entry| {
            let changed = of(entry);
            step();
            changed
        });
        step();
        updated
    }

    fn pages(&self) -> Vec<PageId> {
        self.0.pages()
    }
}

/// A node without threads.
#[derive(Debug)]
pub(super) struct Shell {
    pub node: NodeId,
    pub slot: usize,
    pub gem: Arc<Gem>,
    pub machine: GemLocking,
    /// Dropped, the node is as dead.
    entries: Option<lock_table::Node>,
    pub local: Local,
    pub outbox: Outbox,
    pub(super) update: UpdateStrategy,
    inputs: VecDeque<Input>,
    outputs: Vec<Output>,
    letter: Letter,
    /// The page that came with the message that the machine gets.
    pub(super) arrived: Option<(TransactionId, PageId, usize)>,
    /// Frames with pages whose message is to be sent.
    puts: IntegerMap<(TransactionId, PageId), usize>,
    /// Pages that wait for a frame.
    waiting_puts: Vec<(TransactionId, PageId, Psn)>,
    /// Nodes of whose failure the machine knows.
    pub(super) failed: Vec<NodeId>,
    pub(super) recovery: Option<Recovery>,
    stopped: Option<NodeError>,
    pub victims: u64,
}

impl Shell {
    pub fn new(
        gem: Arc<Gem>,
        entries: lock_table::Node,
        update: UpdateStrategy,
        read_authorisation: bool,
        frames: usize,
    ) -> Self {
        let node = entries.node();
        let options = GemOptions {
            update,
            read_authorisation,
            page_transfer: PageTransfer::Gem,
            remembered_entries: update == UpdateStrategy::NoForce,
        };
        Shell {
            node,
            slot: slot_of(node),
            gem,
            machine: GemLocking::new(node, options),
            entries: Some(entries),
            local: Local::new(node, frames),
            outbox: Outbox::default(),
            update,
            inputs: VecDeque::new(),
            outputs: Vec::new(),
            letter: Letter::new(),
            arrived: None,
            puts: IntegerMap::default(),
            waiting_puts: Vec::new(),
            failed: Vec::new(),
            recovery: None,
            stopped: None,
            victims: 0,
        }
    }

    pub fn update(&self) -> UpdateStrategy {
        self.update
    }

    /// True if the node continues.
    ///
    /// # Errors
    /// Why it does not.
    pub fn check(&self) -> Result<(), NodeError> {
        match &self.stopped {
            None => Ok(()),
            Some(reason) => Err(NodeError::Stopped {
                reason: reason.to_string(),
            }),
        }
    }

    /// The global lock table.
    pub fn entries(&mut self) -> Result<&mut lock_table::Node, NodeError> {
        self.entries.as_mut().ok_or(NodeError::Stopped {
            reason: "it has left".into(),
        })
    }

    /// The node is as dead from now on.
    pub fn leave(&mut self) {
        self.entries = None;
        self.stopped.get_or_insert(NodeError::Stopped {
            reason: "it has left".into(),
        });
    }

    /// The node goes on no more.
    pub fn stop(&mut self, reason: NodeError) {
        if self.stopped.is_none() {
            tracing::error!(%reason, node = self.node.0, "a node has stopped");
            self.stopped = Some(reason);
        }
    }

    /// Tells the machine something, and does what it asks until it asks nothing more.
    pub fn feed(&mut self, input: Input) -> Result<(), NodeError> {
        self.check()?;
        self.inputs.push_back(input);
        let fed = self.feed_all();
        if let Err(error) = &fed {
            self.stop(error.clone());
        }
        fed
    }

    /// Gives the machine an input when it is done with the present one.
    pub(super) fn tell_later(&mut self, input: Input) {
        self.inputs.push_back(input);
    }

    fn feed_all(&mut self) -> Result<(), NodeError> {
        while let Some(input) = self.inputs.pop_front() {
            let supplied = match &input {
                Input::Supplied { page, copy, .. } => copy.map(|_| *page),
                _ => None,
            };
            let mut outputs = std::mem::take(&mut self.outputs);
            let Some(entries) = &mut self.entries else {
                return Err(NodeError::Stopped {
                    reason: "it has left".into(),
                });
            };
            self.machine
                .handle_with(&mut Stepping(entries), input, &mut outputs)
                .map_err(|error| match error {
                    AccessError::Foreign(_) => NodeError::Damaged {
                        what: "a message between nodes",
                    },
                    AccessError::Store(error) => error.into(),
                })?;
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
            // Done as they were asked for.
            Output::ReadEntry { .. } | Output::SwapEntry { .. } => {}
            // No node has an authority.
            Output::RecoverPart { .. } => {}
            Output::Granted {
                transaction,
                page,
                mode,
                psn,
                source,
            } => self.granted(transaction, Held { page, mode, psn }, source)?,
            Output::Waiting { transaction, .. } => {
                let waits = Progress::Locking { waits: true };
                self.local.note(transaction, waits);
            }
            Output::Victim { transaction } => {
                self.victims += 1;
                self.local.note(transaction, Progress::Victim);
            }
            Output::Ended { .. } => {}
            Output::Send { to, message } => self.send(to, &message),
            Output::Supply { page, transaction } => {
                let copy = self.local.supply(page);
                self.inputs.push_back(Input::Supplied {
                    page,
                    transaction,
                    copy,
                });
            }
            Output::PutPage {
                page,
                psn,
                transaction,
            } => {
                if let Some(copy) = self.local.buffer.get(page) {
                    copy.pins += 1;
                }
                self.waiting_puts.push((transaction, page, psn));
                self.put_pages();
            }
            Output::DropPage {
                page, transaction, ..
            } => {
                if let Some((_, _, frame)) = self.take_arrived(transaction, page) {
                    self.gem.free_frame(frame, self.node);
                }
            }
            Output::WriteBack { page, psn } => {
                self.gem.apply(self.node, u64::MAX)?;
                let stored = self.gem.stored_psn(page)?;
                if stored < psn {
                    return Err(NodeError::VersionMissing {
                        page: page.0,
                        stored: stored.0,
                        redo: psn.0,
                    });
                }
                self.let_go(page, stored);
                self.inputs.push_back(Input::WrittenBack { page, psn });
            }
            Output::Discard { page, psn } => self.let_go(page, psn),
            Output::RecoverPage { page, node } => self.recover_page(page, node)?,
            Output::EntryRecovered { page, node } => self.entry_recovered(page, node),
        }
        Ok(())
    }

    fn send(&mut self, to: NodeId, message: &Message) {
        let mut frame = 0;
        if let Message::PageInGem {
            transaction, page, ..
        } = message
        {
            frame = self.puts.remove(&(*transaction, *page)).unwrap_or_default();
        }
        // A failed node gets nothing more; the requests that it awaited are recovered.
        if let Some(letter) = coding::encode(message, frame).filter(|_| self.gem.lives(to)) {
            self.outbox.send(&self.gem, self.node, to, letter);
        } else {
            self.gem.free_frame(frame, to);
        }
    }

    /// Puts pages into GEM for other nodes, as far as there are frames.
    fn put_pages(&mut self) {
        for (transaction, page, psn) in std::mem::take(&mut self.waiting_puts) {
            let to = transaction.node();
            let copy = self.local.buffer.get(page).filter(|copy| copy.psn == psn);
            let Some(copy) = copy.filter(|_| self.gem.lives(to)) else {
                self.local.unpin(page);
                continue;
            };
            match self.gem.put_page(self.node, to, &copy.bytes) {
                Some(frame) => {
                    copy.pins = copy.pins.saturating_sub(1);
                    self.puts.insert((transaction, page), frame);
                    self.inputs.push_back(Input::PagePut {
                        page,
                        psn,
                        transaction,
                    });
                }
                None => self.waiting_puts.push((transaction, page, psn)),
            }
        }
    }

    /// Hears what other nodes have sent, and sends what there was no room for. Returns whether there was
    /// anything.
    pub fn poll(&mut self) -> Result<bool, NodeError> {
        self.check()?;
        let mut heard = false;
        if !self.waiting_puts.is_empty() {
            self.put_pages();
            let fed = self.feed_all();
            if let Err(error) = &fed {
                self.stop(error.clone());
            }
            fed?;
        }
        if !self.outbox.is_empty() {
            self.outbox.flush(&self.gem, self.node);
        }
        let mut bits = self.gem.take_mail_bits(self.slot);
        while bits != 0 {
            let from = bits.trailing_zeros() as usize;
            bits &= bits - 1;
            if from < self.gem.shape().slots {
                self.hear(from)?;
            }
            heard = true;
        }
        Ok(heard)
    }

    /// Hears all that the node of a slot has sent.
    pub(super) fn hear(&mut self, slot: usize) -> Result<(), NodeError> {
        let mut letter = std::mem::take(&mut self.letter);
        while let Some(from) = self.gem.receive(slot, self.node, &mut letter) {
            let Some((message, frame)) = coding::decode(&letter) else {
                let error = NodeError::Damaged {
                    what: "a message between nodes",
                };
                self.stop(error.clone());
                return Err(error);
            };
            if let Message::PageInGem {
                transaction, page, ..
            } = message
            {
                self.arrived = Some((transaction, page, frame));
            }
            self.feed(Input::Message {
                from,
                message,
                sent_in: Epoch::default(),
            })?;
        }
        self.letter = letter;
        Ok(())
    }

    /// Drops messages that wait for a frame and are for a failed node.
    pub(super) fn forget_puts_for(&mut self, node: NodeId) {
        let (gone, rest) = std::mem::take(&mut self.waiting_puts)
            .into_iter()
            .partition(|(transaction, ..)| transaction.node() == node);
        self.waiting_puts = rest;
        let gone: Vec<(TransactionId, PageId, Psn)> = gone;
        for (_, page, _) in gone {
            self.local.unpin(page);
        }
        self.puts
            .retain(|(transaction, _), _| transaction.node() != node);
    }
}
