//! The entries of the world: in its own memory, or also in a global lock table in shared memory. Each node uses the
//! table as a process of its own would. Then the machines see the table's entries.

use super::World;
use sardonyx_sharing::lock_table::{LockTable, Shape, TableNode};
use sardonyx_sharing::protocol::{Entry, EntryStore, NodeId, PageId};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

type Memory = Box<[AtomicU64]>;

/// A global lock table, and the nodes on it.
#[derive(Clone)]
pub struct SharedTable {
    table: Arc<LockTable<Memory>>,
    nodes: Rc<RefCell<BTreeMap<NodeId, TableNode<Memory>>>>,
}

impl fmt::Debug for SharedTable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SharedTable")
    }
}

impl SharedTable {
    pub fn new(nodes: usize) -> Self {
        let shape = Shape::new(8, 64).expect("a small one");
        let memory: Memory = (0..shape.words()).map(|_| AtomicU64::new(0)).collect();
        let table = Arc::new(LockTable::new(memory, shape));
        let join = |slot| {
            let node = TableNode::join(table.clone(), slot).expect("the slot is free");
            (node.node(), node)
        };
        let nodes = Rc::new(RefCell::new((0..nodes).map(join).collect()));
        SharedTable { table, nodes }
    }

    /// Every cell is free, in an entry, or with a node that lives (or has failed and is not recovered).
    fn check(&self) {
        let nodes = self.nodes.borrow();
        let census = self.table.census();
        for (node, at) in nodes.iter() {
            assert_eq!(census.beside[usize::from(node.0)], at.beside(), "{node:?}");
        }
        let beside: usize = census.beside.iter().sum();
        let all = census.free + census.used + beside;
        assert_eq!(all, self.table.shape().cells());
        let there = |slot: usize| self.table.nodes().contains(&NodeId(slot as u16));
        let mut beside = census.beside.iter().enumerate();
        assert!(beside.all(|(slot, &cells)| cells == 0 || there(slot)));
    }
}

impl World {
    pub(super) fn read_entry(&mut self, node: NodeId, page: PageId) -> Entry {
        let Ok(kept) = self.entries.read(page);
        let Some(shared) = &self.table else {
            return kept;
        };
        let mut nodes = shared.nodes.borrow_mut();
        let node = nodes.get_mut(&node).expect("who reads lives");
        let entry = node.read(page).expect("it can be read");
        assert!(entry.says_the_same(&kept), "{entry:?} is not {kept:?}");
        entry
    }

    pub(super) fn swap_entry(
        &mut self,
        node: NodeId,
        page: PageId,
        expected: u64,
        entry: Entry,
    ) -> bool {
        let Ok(swapped) = self.entries.swap(page, expected, entry.clone());
        if let Some(shared) = &self.table {
            let mut nodes = shared.nodes.borrow_mut();
            let node = nodes.get_mut(&node).expect("who swaps lives");
            let too = node.swap(page, expected, entry).expect("there is room");
            assert_eq!(too, swapped);
        }
        swapped
    }

    /// The node's process is dead.
    pub(super) fn fail_in_table(&self, node: NodeId) {
        if let Some(shared) = &self.table {
            shared.nodes.borrow_mut().remove(&node);
            assert!(shared.table.fail(node));
        }
    }

    /// No entry names the node any more.
    pub(super) fn forget_in_table(&self, node: NodeId) {
        if let Some(shared) = &self.table {
            shared.table.forget(node).expect("no entry names it");
            shared.check();
        }
    }

    pub(super) fn check_table(&self) {
        let Some(shared) = &self.table else { return };
        shared.check();
        for (&page, kept) in &self.entries {
            let entry = shared.table.read(page).expect("it can be read");
            assert!(entry.says_the_same(kept), "{entry:?} is not {kept:?}");
        }
    }
}
