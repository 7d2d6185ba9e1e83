//! A closely coupled node's part below its [shell](super::shell): the machine of GEM locking, the global lock table, and
//! messages and pages across GEM.
//!
//! Every access to GEM is synchronous (GEM paper, section 2). So the machine's accesses to the global lock table are
//! done where they are asked for. The thread that runs the shell calls [`Shell::poll`] when mail has come. Pages come
//! from storage and from GEM, and a full buffer writes modified ones back.

use super::NodeError;
use super::close_member::CloseHere;
use super::coding;
use super::coupling::Coupling;
use super::gem::{Gem, PageBytes, slot_of, step};
use super::local::Local;
use super::mailbox::{Letter, Outbox};
use super::member::Member;
use super::recovery::Recovery;
use super::ring::Frame;
use super::shell::Shell;
use super::tables::JournalSource;
use super::work::Held;
use crate::lock_table::{self, LockTableError};
use crate::protocol::{
    AccessError, Counters, Entry, EntryStore, Epoch, GemLocking, GemOptions, Input, Message,
    NodeId, Output, PageId, PageSource, PageTransfer, Protocol, Psn, TransactionId, UpdateStrategy,
};
use sardonyx_base::hash::IntegerMap;
use sardonyx_storage::journal::JournalPosition;
use std::ops::Range;
use std::sync::Arc;

/// So many modified pages are written back at a time when the buffer is full.
pub const WRITE_BACK: usize = 16;

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

/// A closely coupled node's part of its shell.
#[derive(Debug)]
pub(super) struct Close {
    pub slot: usize,
    pub gem: Arc<Gem>,
    pub machine: GemLocking,
    /// Dropped, the node is as dead.
    entries: Option<lock_table::Node>,
    pub outbox: Outbox,
    pub update: UpdateStrategy,
    letter: Letter,
    /// The page that came with the message that the machine gets.
    pub arrived: Option<(TransactionId, PageId, usize)>,
    /// Frames with pages whose message is to be sent.
    puts: IntegerMap<(TransactionId, PageId), usize>,
    /// Pages that wait for a frame.
    waiting_puts: Vec<(TransactionId, PageId, Psn)>,
    /// Nodes of whose failure the machine knows.
    pub failed: Vec<NodeId>,
    pub recovery: Option<Recovery>,
}

fn has_left() -> NodeError {
    NodeError::Stopped {
        reason: "it has left".into(),
    }
}

impl Close {
    /// A shell with so many frames in its buffer.
    pub fn shell(
        gem: Arc<Gem>,
        entries: lock_table::Node,
        update: UpdateStrategy,
        read_authorisation: bool,
        frames: usize,
    ) -> Shell<Close> {
        let node = entries.node();
        let options = GemOptions {
            update,
            read_authorisation,
            page_transfer: PageTransfer::Gem,
            remembered_entries: update == UpdateStrategy::NoForce,
        };
        let close = Close {
            slot: slot_of(node),
            gem,
            machine: GemLocking::new(node, options),
            entries: Some(entries),
            outbox: Outbox::default(),
            update,
            letter: Letter::new(),
            arrived: None,
            puts: IntegerMap::default(),
            waiting_puts: Vec::new(),
            failed: Vec::new(),
            recovery: None,
        };
        Shell::new(Local::new(node, frames), close)
    }
}

impl Coupling for Close {
    type Here = CloseHere;

    fn handle(&mut self, input: Input, outputs: &mut Vec<Output>) -> Result<(), NodeError> {
        let entries = self.entries.as_mut().ok_or_else(has_left)?;
        self.machine
            .handle_with(&mut Stepping(entries), input, outputs)
            .map_err(|error| match error {
                AccessError::Foreign(_) => NodeError::Damaged {
                    what: "a message between nodes",
                },
                AccessError::Store(error) => error.into(),
            })
    }

    fn counters(&self) -> Counters {
        *self.machine.counters()
    }

    fn perform(shell: &mut Shell<Self>, output: Output) -> Result<(), NodeError> {
        match output {
            // Done for all couplings.
            Output::Granted { .. }
            | Output::Waiting { .. }
            | Output::Victim { .. }
            | Output::Supply { .. }
            | Output::Ended { .. } => {}
            // Done as they were asked for.
            Output::ReadEntry { .. } | Output::SwapEntry { .. } => {}
            // No node has an authority.
            Output::RecoverPart { .. } => {}
            Output::Send { to, message } => shell.send(to, &message),
            Output::PutPage {
                page,
                psn,
                transaction,
            } => {
                if let Some(copy) = shell.local.buffer.get(page) {
                    copy.pins += 1;
                }
                shell.coupling.waiting_puts.push((transaction, page, psn));
                shell.put_pages();
            }
            Output::DropPage {
                page, transaction, ..
            } => {
                if let Some((_, _, frame)) = shell.take_arrived(transaction, page) {
                    shell.coupling.gem.free_frame(frame, shell.local.node);
                }
            }
            Output::WriteBack { page, psn } => {
                shell.coupling.gem.apply(shell.local.node, u64::MAX)?;
                let stored = shell.coupling.gem.stored_psn(page)?;
                if stored < psn {
                    return Err(NodeError::VersionMissing {
                        page: page.0,
                        stored: stored.0,
                        redo: psn.0,
                    });
                }
                shell.let_go(page, stored);
                shell.tell_later(Input::WrittenBack { page, psn });
            }
            Output::Discard { page, psn } => shell.let_go(page, psn),
            Output::RecoverPage { page, node } => shell.recover_page(page, node)?,
            Output::EntryRecovered { page, node } => shell.entry_recovered(page, node),
        }
        Ok(())
    }

    fn fetch(
        shell: &mut Shell<Self>,
        transaction: TransactionId,
        held: Held,
        source: PageSource,
    ) -> Result<(), NodeError> {
        let (page, node, gem) = (held.page, shell.local.node, shell.coupling.gem.clone());
        let nowhere = Psn(u64::MAX);
        match source {
            PageSource::Storage => {
                let mut fill = |bytes: &mut PageBytes| gem.read_stored(page, bytes);
                let placed = shell.local.placed(transaction, held, Some(&mut fill))?;
                if let Some(work) = shell.local.transactions.get_mut(&transaction) {
                    work.fetched = placed;
                }
                placed
            }
            PageSource::Gem(_) => {
                let mut frame = shell.take_arrived(transaction, page).map(|at| at.2);
                let mut fill = |bytes: &mut PageBytes| {
                    let frame = frame.take();
                    let taken = frame.is_some_and(|frame| gem.take_page(frame, node, bytes));
                    Ok(if taken { held.psn } else { nowhere })
                };
                let placed = shell.local.placed(transaction, held, Some(&mut fill))?;
                if let Some(frame) = frame {
                    shell.coupling.gem.free_frame(frame, node);
                }
                placed
            }
            PageSource::Copy | PageSource::Message => {
                let mut fill = |_: &mut PageBytes| Ok(nowhere);
                shell.local.placed(transaction, held, Some(&mut fill))?
            }
        };
        Ok(())
    }

    fn make_room(shell: &mut Shell<Self>, request: &Input) -> Result<(), NodeError> {
        shell.local.buffer.shrink();
        let is_new = matches!(request, Input::Lock { cached: None, .. });
        if is_new && !shell.local.buffer.has_room() {
            shell.write_back(WRITE_BACK)?;
        }
        Ok(())
    }

    fn keeps_unstored(&self) -> bool {
        self.update == UpdateStrategy::NoForce
    }

    fn stops(&mut self, node: NodeId, reason: &NodeError) -> NodeError {
        tracing::error!(%reason, node = node.0, "a node has stopped");
        reason.of_a_stopped_node()
    }

    fn pool(shell: &Shell<Self>) -> usize {
        shell.coupling.slot
    }

    fn look(shell: &mut Shell<Self>) -> Result<bool, NodeError> {
        Ok(shell.coupling.gem.has_mail(shell.coupling.slot) && shell.poll()?)
    }

    fn make_durable(
        member: &Member<Self>,
        frame: Frame,
        ended: &mut bool,
    ) -> Result<(), NodeError> {
        CloseHere::make_durable(member, frame, ended)
    }

    fn journal_rows(
        member: &Member<Self>,
        journal: u16,
        range: Range<JournalPosition>,
    ) -> Result<Box<dyn JournalSource>, NodeError> {
        member.here.journal_rows(journal, range)
    }
}

impl Shell<Close> {
    /// The global lock table.
    pub fn entries(&mut self) -> Result<&mut lock_table::Node, NodeError> {
        self.coupling.entries.as_mut().ok_or_else(has_left)
    }

    /// The node is as dead from now on.
    pub fn leave(&mut self) {
        self.coupling.entries = None;
        if self.check().is_ok() {
            self.has_stopped_since(has_left());
        }
    }

    /// Writes modified pages back, at most so many.
    pub fn write_back(&mut self, pages: usize) -> Result<(), NodeError> {
        for (page, psn) in self.local.buffer.modified(pages) {
            if let Some(copy) = self.local.buffer.get(page) {
                copy.replacing = true;
            }
            self.feed(Input::Replace { page, psn })?;
        }
        Ok(())
    }

    /// Versions up to this one of a page are stored, or another node's to store.
    pub(super) fn let_go(&mut self, page: PageId, psn: Psn) {
        if let Some(copy) = self.local.buffer.get(page) {
            copy.replacing = false;
            copy.modified &= copy.psn > psn;
        }
    }

    pub(super) fn take_arrived(
        &mut self,
        transaction: TransactionId,
        page: PageId,
    ) -> Option<(TransactionId, PageId, usize)> {
        let arrived = self.coupling.arrived.take();
        arrived.filter(|arrived| (arrived.0, arrived.1) == (transaction, page))
    }

    fn send(&mut self, to: NodeId, message: &Message) {
        let mut frame = 0;
        if let Message::PageInGem {
            transaction, page, ..
        } = message
        {
            frame = self
                .coupling
                .puts
                .remove(&(*transaction, *page))
                .unwrap_or_default();
        }
        // A failed node gets nothing more; the requests that it awaited are recovered.
        if let Some(letter) = coding::encode(message, frame).filter(|_| self.coupling.gem.lives(to))
        {
            self.coupling
                .outbox
                .send(&self.coupling.gem, self.local.node, to, letter);
        } else {
            self.coupling.gem.free_frame(frame, to);
        }
    }

    /// Puts pages into GEM for other nodes, as far as there are frames.
    fn put_pages(&mut self) {
        for (transaction, page, psn) in std::mem::take(&mut self.coupling.waiting_puts) {
            let to = transaction.node();
            let copy = self.local.buffer.get(page).filter(|copy| copy.psn == psn);
            let Some(copy) = copy.filter(|_| self.coupling.gem.lives(to)) else {
                self.local.unpin(page);
                continue;
            };
            match self.coupling.gem.put_page(self.local.node, to, &copy.bytes) {
                Some(frame) => {
                    copy.pins = copy.pins.saturating_sub(1);
                    self.coupling.puts.insert((transaction, page), frame);
                    self.tell_later(Input::PagePut {
                        page,
                        psn,
                        transaction,
                    });
                }
                None => self.coupling.waiting_puts.push((transaction, page, psn)),
            }
        }
    }

    /// Receives messages from other nodes, and sends the ones for which there was no room. True if there was anything.
    pub fn poll(&mut self) -> Result<bool, NodeError> {
        self.check()?;
        let mut heard = false;
        if !self.coupling.waiting_puts.is_empty() {
            self.put_pages();
            self.feed_rest()?;
        }
        if !self.coupling.outbox.is_empty() {
            self.coupling
                .outbox
                .flush(&self.coupling.gem, self.local.node);
        }
        let mut bits = self.coupling.gem.take_mail_bits(self.coupling.slot);
        while bits != 0 {
            let from = bits.trailing_zeros() as usize;
            bits &= bits - 1;
            if from < self.coupling.gem.shape().slots {
                self.hear(from)?;
            }
            heard = true;
        }
        Ok(heard)
    }

    /// Hears all that the node of a slot has sent.
    pub(super) fn hear(&mut self, slot: usize) -> Result<(), NodeError> {
        let mut letter = std::mem::take(&mut self.coupling.letter);
        while let Some(from) = self
            .coupling
            .gem
            .receive(slot, self.local.node, &mut letter)
        {
            let Some((message, frame)) = coding::decode(&letter) else {
                let error = NodeError::Damaged {
                    what: "a message between nodes",
                };
                self.stop(&error);
                return Err(error);
            };
            if let Message::PageInGem {
                transaction, page, ..
            } = message
            {
                self.coupling.arrived = Some((transaction, page, frame));
            }
            self.feed(Input::Message {
                from,
                message,
                sent_in: Epoch::default(),
            })?;
        }
        self.coupling.letter = letter;
        Ok(())
    }

    /// Drops messages that wait for a frame and are for a failed node.
    pub(super) fn forget_puts_for(&mut self, node: NodeId) {
        let (gone, rest) = std::mem::take(&mut self.coupling.waiting_puts)
            .into_iter()
            .partition(|(transaction, ..)| transaction.node() == node);
        self.coupling.waiting_puts = rest;
        let gone: Vec<(TransactionId, PageId, Psn)> = gone;
        for (_, page, _) in gone {
            self.local.unpin(page);
        }
        self.coupling
            .puts
            .retain(|(transaction, _), _| transaction.node() != node);
    }
}
