//! A toy shell around the protocols' machines: nodes with page buffers, transactions that read and
//! change page contents, a network, a global lock table and a storage whose writes take time.
//!
//! Everything under way is an [`Event`] in a pool. The driver picks one after another: in order for
//! a schedule written by hand, or at random, which lets messages overtake each other and everything
//! happen between any two steps of anything else. The world knows the truth (what was committed,
//! who holds what) and checks every grant, read and write against it.

#![allow(dead_code, reason = "each test uses its part of the world")]

mod event;
mod failures;
mod machine;
mod network;
pub mod random;
mod state;
mod steps;
mod storage;
mod table;
mod transactions;

pub use event::{Event, Letter};
pub use failures::Recovery;
pub use machine::{Machine, Machines};
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
    /// Every lock that a transaction has been told of.
    pub locks: BTreeMap<(PageId, TransactionId), LockMode>,
    /// Pages in GEM on their way: by who put them there, for whom, and which.
    pub slots: BTreeMap<(NodeId, TransactionId, PageId), Version>,
    /// The page cache in GEM and what is in it, if there is one.
    pub cache: Option<(PageCache, BTreeMap<PageId, Version>)>,
    /// By page: who has forced a change to storage that is not committed.
    forced: BTreeMap<PageId, TransactionId>,
    /// By node and page: the newest version that it has committed.
    logs: BTreeMap<(NodeId, PageId), Version>,
    /// Failed nodes, and whether they have been recovered.
    pub failed: BTreeMap<NodeId, bool>,
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
        let node = |number| Node {
            machine: Machine::new(machines, NodeId(number), nodes),
            frames: BTreeMap::new(),
            transactions: BTreeMap::new(),
            started: 0,
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
            forced: BTreeMap::new(),
            logs: BTreeMap::new(),
            failed: BTreeMap::new(),
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
        self.check_table();
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

    /// Pages that have been changed.
    pub fn changed_pages(&self) -> BTreeSet<PageId> {
        self.truth.keys().copied().collect()
    }
}

fn carried(pages: &[(PageId, Version)], page: PageId) -> Version {
    let found = pages.iter().find(|(carried, _)| *carried == page);
    found.expect("the message carries the page").1
}
