//! Everything that can be under way.

use super::Version;
use sardonyx_sharing::protocol::channel::Packet;
use sardonyx_sharing::protocol::{Entry, Input, Message, NodeId, PageId, Psn, TransactionId};

/// A message, and the pages that it carries.
pub type Letter = (Message, Vec<(PageId, Version)>);

/// Something under way.
#[derive(Clone, Debug)]
pub enum Event {
    Message {
        from: NodeId,
        to: NodeId,
        message: Message,
        pages: Vec<(PageId, Version)>,
    },
    /// On a bad network: a message with its pages, or an acknowledgement.
    Packet {
        from: NodeId,
        to: NodeId,
        packet: Packet<Letter>,
    },
    /// An access to the global lock table, not yet done.
    ReadEntry(NodeId, PageId),
    SwapEntry(NodeId, PageId, u64, Entry),
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
}

impl Event {
    /// The node whose doing it is.
    pub(super) fn actor(&self) -> NodeId {
        match *self {
            Event::Message { from: node, .. }
            | Event::Packet { from: node, .. }
            | Event::ReadEntry(node, _)
            | Event::SwapEntry(node, ..)
            | Event::EntryDone(node, _)
            | Event::Supply(node, ..)
            | Event::PutPage { node, .. }
            | Event::Destage(node, ..)
            | Event::WriteStorage(node, ..)
            | Event::RecoverPage(node, ..) => node,
            Event::ReadStorage(transaction, _)
            | Event::ReadGem(transaction, ..)
            | Event::ReadDisk(transaction, ..)
            | Event::ForceStorage(transaction, _) => transaction.node(),
        }
    }
}
