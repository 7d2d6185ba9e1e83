//! A toy shell around the protocols' machines. It has nodes with page buffers, and transactions that read and change
//! page contents. A network, a global lock table and a storage, whose writes take time, connect them.
//!
//! Everything under way is an [`Event`] in a pool. The driver picks one after another, in order for a schedule written
//! by hand, or at random. At random, messages overtake each other, and everything may happen between any two steps of
//! anything else. The world knows the truth (the committed state, the holders of locks) and checks every grant, read
//! and write against it.
//!
//! A commit writes byte ranges to the log of its node (`logs`), and is durable with that. How they come to storage is
//! one of two [`Keeper`]s' business: the nodes write whole pages, or a checkpointer merges all logs into its pages and
//! no node writes any.

mod event;
mod failures;
mod logs;
mod machine;
mod members;
mod network;
pub mod random;
mod state;
mod steps;
mod storage;
mod table;
mod transactions;

pub use event::{Event, Letter};
pub use failures::Recovery;
pub use logs::{Keeper, Logs, Planted};
pub use machine::{Divided, Machine, Machines};
pub use members::{Members, ViewEvent};
pub use state::{Node, Progress, Transaction, Version};
pub use table::SharedTable;

use sardonyx_sharing::page_cache::PageCache;
use sardonyx_sharing::protocol::channel::Channel;
use sardonyx_sharing::protocol::{Counters, Entry, LockMode, NodeId, PageId, TransactionId};
use std::collections::{BTreeMap, BTreeSet};

/// The nodes, what is under way between them, and the truth.
#[derive(Clone, Debug)]
pub struct World {
    pub machines: Machines,
    pub nodes: Vec<Node>,
    pub events: Vec<Event>,
    pub entries: BTreeMap<PageId, Entry>,
    /// The same in shared memory, if the machines are to use that.
    pub table: Option<SharedTable>,
    pub storage: BTreeMap<PageId, Version>,
    /// The newest committed version of each page.
    pub truth: BTreeMap<PageId, Version>,
    /// Every lock that a transaction knows to be granted.
    pub locks: BTreeMap<(PageId, TransactionId), LockMode>,
    /// Pages in GEM on their way: by who put them there, for whom, and which.
    pub slots: BTreeMap<(NodeId, TransactionId, PageId), Version>,
    /// The page cache in GEM and what is in it, if there is one.
    pub cache: Option<(PageCache, BTreeMap<PageId, Version>)>,
    /// The nodes' logs, and who brings to storage what is in them.
    pub logs: Logs,
    /// Events that wait until storage has a version or all of a log.
    pub awaiting: Vec<Event>,
    /// Failed nodes, and whether they have been recovered.
    pub failed: BTreeMap<NodeId, bool>,
    /// Nodes whose processes have ended.
    pub dead: BTreeSet<NodeId>,
    /// Nodes that do nothing for a while, and know nothing of it.
    pub stopped: BTreeSet<NodeId>,
    /// The membership, if the nodes determine it themselves. Else all nodes are notified at once, and a failed node is
    /// dead.
    pub members: Option<Members>,
    pub recovery: Option<Recovery>,
    pub committed: u64,
    pub victims: u64,
    /// Everything that happened, folded into a number.
    pub fingerprint: u64,
    /// If the network is bad: each node's end of its connection with each other.
    pub channels: Option<BTreeMap<(NodeId, NodeId), Channel<Letter>>>,
    /// Prints what happens.
    pub verbose: bool,
}

impl World {
    pub fn new(machines: Machines, nodes: u16) -> Self {
        let node = |number| {
            let divided = Divided::Fixed(nodes);
            Node::new(Machine::new(machines, NodeId(number), divided))
        };
        World {
            machines,
            nodes: (0..nodes).map(node).collect(),
            events: Vec::new(),
            entries: BTreeMap::new(),
            table: None,
            storage: BTreeMap::new(),
            truth: BTreeMap::new(),
            locks: BTreeMap::new(),
            slots: BTreeMap::new(),
            cache: None,
            logs: Logs::new(nodes),
            awaiting: Vec::new(),
            failed: BTreeMap::new(),
            dead: BTreeSet::new(),
            stopped: BTreeSet::new(),
            members: None,
            recovery: None,
            committed: 0,
            victims: 0,
            fingerprint: 0,
            channels: None,
            verbose: false,
        }
    }

    pub fn node(&mut self, node: NodeId) -> &mut Node {
        &mut self.nodes[usize::from(node.0)]
    }

    pub fn counters(&self, node: u16) -> Counters {
        *self.nodes[usize::from(node)].machine.protocol().counters()
    }

    pub fn newest(&self, page: PageId) -> Version {
        self.truth.get(&page).copied().unwrap_or_default()
    }

    pub fn stored(&self, page: PageId) -> Version {
        let in_gem = self.cache.iter().find_map(|(_, pages)| pages.get(&page));
        let stored = in_gem.or_else(|| self.storage.get(&page));
        stored.copied().unwrap_or_default()
    }

    fn transaction(&mut self, transaction: TransactionId) -> Option<&mut Transaction> {
        self.node(transaction.node())
            .transactions
            .get_mut(&transaction)
    }

    /// Nothing may be left when all transactions have ended.
    pub fn check_at_rest(&self) {
        assert!(self.events.is_empty());
        assert!(self.awaiting.is_empty(), "never come: {:?}", self.awaiting);
        self.check_table();
        self.check_members();
        for (number, node) in self.nodes.iter().enumerate() {
            if self.failed.contains_key(&NodeId(number as u16)) {
                continue;
            }
            assert!(
                node.transactions.is_empty(),
                "node {number} has {:?}",
                node.transactions
            );
            assert!(
                node.machine.protocol().is_idle(),
                "node {number}: {:?}",
                node.machine
            );
        }
        for (page, entry) in &self.entries {
            assert!(entry.is_idle(), "{page:?}: {entry:?}");
        }
        if let Some((cache, pages)) = &self.cache {
            assert!(cache.is_settled(), "{cache:?}");
            for (page, version) in pages {
                assert_eq!(self.storage.get(page), Some(version), "the disk's {page:?}");
            }
        }
        assert!(self.locks.is_empty());
        assert!(self.slots.is_empty(), "left in GEM: {:?}", self.slots);
        let pinned = self.nodes.iter().flat_map(|node| node.frames.values());
        assert_eq!(pinned.map(|frame| frame.pins).sum::<u32>(), 0);
    }
}

fn carried(pages: &[(PageId, Version)], page: PageId) -> Version {
    let found = pages.iter().find(|(carried, _)| *carried == page);
    found.expect("the message carries the page").1
}
