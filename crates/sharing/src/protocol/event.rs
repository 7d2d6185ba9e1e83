//! The inputs and outputs of a node's machine.

use super::membership::View;
use super::{
    Entry, Epoch, LockMode, Message, NodeId, Outcome, PageId, PageSource, Psn, TransactionId,
};

/// The shell's inputs to a node's machine.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Input {
    /// A transaction of this node wants a lock; it waits for one at a time. A lock already held in
    /// a sufficient mode is granted at once, without cost. The exception is a page that has left
    /// the buffer: it is asked for.
    Lock {
        /// The transaction that wants it.
        transaction: TransactionId,
        /// On what.
        page: PageId,
        /// The least mode that suffices.
        mode: LockMode,
        /// The version that the node's buffer has of the page, if any. That copy must stay in the
        /// buffer (it may become newer) until the lock is granted or the transaction has ended.
        cached: Option<Psn>,
    },
    /// A transaction has ended: all its locks are to be released.
    End {
        /// The ended one.
        transaction: TransactionId,
        /// Committed or aborted.
        outcome: Outcome,
    },
    /// A message has come. If it returns pages ([`Message::returned_pages`]), they are in this node's buffer, as
    /// modified copies, before the machine gets it.
    Message {
        /// The sender.
        from: NodeId,
        /// As the sender's machine gave it out.
        message: Message,
        /// The newest epoch that its sender knew when it was sent; the receiver knows that one, too
        /// ([`super::membership::Admission`]). Zero if no node can fail and no authority moves.
        sent_in: Epoch,
    },
    /// [`Output::ReadEntry`] is done.
    EntryRead {
        /// The page of the entry.
        page: PageId,
        /// The entry; a page never locked has the default one.
        entry: Box<Entry>,
    },
    /// [`Output::SwapEntry`] is done.
    EntrySwapped {
        /// The page of the entry.
        page: PageId,
        /// True if the entry was still the expected one and so was replaced.
        swapped: bool,
    },
    /// The answer to [`Output::Supply`].
    Supplied {
        /// As asked.
        page: PageId,
        /// As asked.
        transaction: TransactionId,
        /// The version that the buffer has (`None`: no copy).
        copy: Option<Psn>,
    },
    /// [`Output::PutPage`] is done.
    PagePut {
        /// As asked.
        page: PageId,
        /// As asked.
        psn: Psn,
        /// As asked.
        transaction: TransactionId,
    },
    /// The buffer wants to write its modified copy to storage (NOFORCE). Answered, possibly later,
    /// by [`Output::WriteBack`] or [`Output::Discard`]. Not for a page that an active transaction
    /// has modified. The copy stays in the buffer until [`Input::WrittenBack`] or the discard.
    Replace {
        /// The page of the copy.
        page: PageId,
        /// The copy's version.
        psn: Psn,
    },
    /// The write that [`Output::WriteBack`] allowed has reached storage.
    WrittenBack {
        /// The page of the copy.
        page: PageId,
        /// The version written.
        psn: Psn,
    },
    /// A transaction has waited for a lock for long: look for a deadlock. To be repeated as long as
    /// it waits: one deadlock may hide another.
    Suspect {
        /// The waiting one.
        transaction: TransactionId,
    },
    /// A node has failed. It is fenced: nothing that it does reaches GEM, storage or a log any
    /// more (primary copy: when it is recovered). Its locks stay until its log has been recovered; who needs a page from it waits. If it
    /// comes back it does so under a new [`NodeId`], before or after the recovery.
    NodeFailed {
        /// The failed one.
        node: NodeId,
    },
    /// Primary copy: the node knows this view from now on. An input for each view that it adopts, before any message of
    /// that epoch. Of skipped views, only the last is an input. Parts of the lock authority may have moved: their
    /// former locks are declared to the new authorities.
    Assigned(Box<View>),
    /// [`Output::RecoverPart`] is done.
    PartRecovered {
        /// As asked.
        part: u16,
        /// As asked.
        since: Epoch,
        /// The versions that its pages have on storage, of those that were ever changed.
        versions: Vec<(PageId, Psn)>,
    },
    /// GEM: free this page from a failed node, when every other node knows of its failure. One node, the reader of the
    /// failed node's log, gets this for every entry of the global lock table. If that node fails too, another gets it,
    /// from the beginning and for both. Answered by [`Output::EntryRecovered`], perhaps after [`Output::RecoverPage`].
    Recover {
        /// The page of the entry.
        page: PageId,
        /// The failed node.
        node: NodeId,
    },
    /// [`Output::RecoverPage`] is done.
    PageRecovered {
        /// The page that was brought to storage.
        page: PageId,
        /// The failed node.
        node: NodeId,
        /// The version that storage has now: the newest that the failed node has committed, or a newer one.
        psn: Psn,
    },
    /// GEM: every entry is free from the failed node. Primary copy: its log is closed, so that what it may have
    /// committed is in there, and every node refuses its messages. Every node gets it. Its [`NodeId`] is not used
    /// again.
    NodeRecovered {
        /// The failed node.
        node: NodeId,
    },
}

/// The requests of a node's machine to the shell.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Output {
    /// Send a message, with the pages that it carries ([`Message::carried_pages`]) from the node's
    /// buffer as they are now.
    Send {
        /// To whom.
        to: NodeId,
        /// Pages are added from the buffer.
        message: Message,
    },
    /// Read an entry of the global lock table (one GEM entry access).
    ReadEntry {
        /// The page of the entry.
        page: PageId,
    },
    /// Replace an entry of the global lock table if its version ([`Entry::version`]) is still
    /// `expected` (one GEM entry access: Compare&Swap).
    SwapEntry {
        /// The page of the entry.
        page: PageId,
        /// The version that was read.
        expected: u64,
        /// The entry to be there then; its version is another.
        entry: Box<Entry>,
    },
    /// The transaction has its lock, and may read version `psn` from `source`.
    Granted {
        /// The holder.
        transaction: TransactionId,
        /// On what.
        page: PageId,
        /// The granted mode.
        mode: LockMode,
        /// The newest committed version.
        psn: Psn,
        /// The place of the page.
        source: PageSource,
    },
    /// The transaction, one of this node, has to wait for a lock (then [`Input::Suspect`] is due after a while). Also
    /// given when its request was sent to another node, where it may have to wait.
    Waiting {
        /// The waiting one.
        transaction: TransactionId,
        /// For what.
        page: PageId,
    },
    /// The transaction is a deadlock's victim: abort it, and end it with [`Outcome::Aborted`]. Its waiting request is
    /// removed.
    Victim {
        /// The one to abort.
        transaction: TransactionId,
    },
    /// All locks of an ended transaction are released as far as this node can see.
    Ended {
        /// The ended one.
        transaction: TransactionId,
    },
    /// Say by [`Input::Supplied`] which version of the page the buffer has (of a page that a
    /// transaction is modifying: the version that it modifies). If it has one, it must stay there
    /// until the message that carries it has been sent or the lock has been granted.
    Supply {
        /// The page whose copy is wanted.
        page: PageId,
        /// For whom, of this or another node.
        transaction: TransactionId,
    },
    /// GEM: write the buffer's copy, which is in this version, into GEM for a transaction of
    /// another node, and answer by [`Input::PagePut`]; until then it stays in the buffer. The place
    /// in GEM is this node's, this transaction's and this page's. It is freed when the transaction
    /// has read it ([`PageSource::Gem`]), or by [`Output::DropPage`]. So it is when the
    /// transaction's node has failed, or this one before it sent [`Message::PageInGem`].
    PutPage {
        /// The page to put into GEM.
        page: PageId,
        /// The version.
        psn: Psn,
        /// For whom.
        transaction: TransactionId,
    },
    /// GEM: the page that this node has put into GEM for the transaction will not be read: free its place.
    DropPage {
        /// The page whose place is freed.
        page: PageId,
        /// For whom it was put there.
        transaction: TransactionId,
        /// The node that put it there.
        from: NodeId,
    },
    /// The buffer may write its copy to storage now: the committed version that it has, which is
    /// this or a newer one.
    WriteBack {
        /// The page to write.
        page: PageId,
        /// The version of [`Input::Replace`], to be named in [`Input::WrittenBack`].
        psn: Psn,
    },
    /// The buffer's copy of this version need not and must not be written: another node has a newer
    /// one, or the page's owner has this one. The buffer may drop it.
    Discard {
        /// The page not to write.
        page: PageId,
        /// The version not to write.
        psn: Psn,
    },
    /// Bring the newest version that the failed node has committed to storage, if storage has not got this or a newer
    /// one. Its byte ranges may be in the logs of several nodes ([`crate::redo`]). The failed one's is closed before it
    /// is read to its end. No other node writes the page until [`Input::PageRecovered`].
    RecoverPage {
        /// The page to bring to storage.
        page: PageId,
        /// The failed node.
        node: NodeId,
    },
    /// Primary copy: bring every page of this part to storage as committed, as far as redo was durable in any node's
    /// log at this request. Answer by [`Input::PartRecovered`].
    RecoverPart {
        /// This node has taken it over.
        part: u16,
        /// From which epoch on this node has the authority for it.
        since: Epoch,
    },
    /// [`Input::Recover`] is done: the page is free from the failed node.
    EntryRecovered {
        /// The page of the entry.
        page: PageId,
        /// The failed node.
        node: NodeId,
    },
}
