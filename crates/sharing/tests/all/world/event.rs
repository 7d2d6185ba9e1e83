//! Everything that can be under way.

use super::{Version, ViewEvent};
use sardonyx_sharing::protocol::channel::Packet;
use sardonyx_sharing::protocol::{
    Entry, Epoch, Input, Message, NodeId, PageId, Psn, TransactionId,
};
use std::collections::BTreeMap;

/// A message, the pages that it carries, and the newest epoch that its sender knew.
pub type Letter = (Message, Vec<(PageId, Version)>, Epoch);

/// Something under way.
#[derive(Clone, Debug)]
pub enum Event {
    Message {
        from: NodeId,
        to: NodeId,
        message: Message,
        pages: Vec<(PageId, Version)>,
        /// The newest epoch that its sender knew.
        sent_in: Epoch,
    },
    /// On a bad network: a message with its pages, or an acknowledgement.
    Packet {
        from: NodeId,
        to: NodeId,
        packet: Packet<Letter>,
    },
    /// An access to the global lock table, not yet done.
    ReadEntry(NodeId, PageId),
    SwapEntry(NodeId, PageId, u64, Box<Entry>),
    /// One that is done, and its node does not know.
    EntryDone(NodeId, Input),
    Supply(NodeId, PageId, TransactionId),
    /// A node writes a page into GEM for another's transaction.
    PutPage {
        node: NodeId,
        page: PageId,
        transaction: TransactionId,
        version: Version,
    },
    /// A transaction reads the page that this node has put into GEM for it.
    ReadGem(TransactionId, PageId, NodeId),
    ReadStorage(TransactionId, PageId),
    /// A page is not in the cache, and its disk has this version.
    ReadDisk(TransactionId, PageId, Version),
    /// A node brings a page from the cache to its disk.
    Destage(NodeId, PageId, Version),
    WriteStorage(NodeId, PageId, Psn, Version),
    ForceStorage(TransactionId, PageId),
    /// A node brings a page of a failed one to storage.
    RecoverPage(NodeId, PageId, NodeId),
    /// A node that has got a part of the lock authority has all of that brought to storage that was in the logs then.
    RecoverPart {
        node: NodeId,
        part: u16,
        since: Epoch,
        /// The last group of each log.
        ends: BTreeMap<NodeId, u64>,
    },
    /// A node writes a commit group to its log.
    WriteGroup(NodeId),
    /// A node closes a failed one's log.
    Fence(NodeId, NodeId),
    /// Something of who takes part.
    View(NodeId, ViewEvent),
    /// The checkpointer takes the next group of a log, and applies it to the pages.
    Consume(NodeId),
}

impl Event {
    /// The node whose doing it is; none if it is the checkpointer's.
    pub(super) fn actor(&self) -> Option<NodeId> {
        let node = match *self {
            Event::Message { from: node, .. }
            | Event::Packet { from: node, .. }
            | Event::ReadEntry(node, _)
            | Event::SwapEntry(node, ..)
            | Event::EntryDone(node, _)
            | Event::Supply(node, ..)
            | Event::PutPage { node, .. }
            | Event::Destage(node, ..)
            | Event::RecoverPart { node, .. }
            | Event::WriteStorage(node, ..)
            | Event::WriteGroup(node)
            | Event::Fence(node, _)
            | Event::View(node, _)
            | Event::RecoverPage(node, ..) => node,
            Event::ReadStorage(transaction, _)
            | Event::ReadGem(transaction, ..)
            | Event::ReadDisk(transaction, ..)
            | Event::ForceStorage(transaction, _) => transaction.node(),
            Event::Consume(_) => return None,
        };
        Some(node)
    }
}
