//! The effects that only a death between the steps of a swap can show, and the bounds.

#[cfg(not(shuttle))]
mod processes;
#[cfg(not(shuttle))]
mod segment;
#[cfg(shuttle)]
mod shuttle;

use super::layout::{OWNERS_MAX, RESERVE};
use super::*;
use crate::protocol::entry::LockOwner;
use crate::protocol::mode::PAGE_LOCKS;
use crate::protocol::{Entry, EntryStore, LockMode, NodeId, PageId, Psn, TransactionId};
use sardonyx_base::random::Random;
use std::sync::Arc;

type Memory = Box<[AtomicU64]>;

fn table(entries: usize, overflow: usize) -> Arc<LockTable<Memory>> {
    let shape = Shape::new(entries, overflow).unwrap();
    let words = (0..shape.words()).map(|_| AtomicU64::new(0)).collect();
    Arc::new(LockTable::new(words, shape))
}

fn reader(node: NodeId, number: u64) -> LockOwner {
    LockOwner::Transaction(TransactionId::new(node, number))
}

/// The entry with so many readers more.
fn with_readers(mut entry: Entry, node: NodeId, first: u64, readers: u64) -> Entry {
    for number in first..first + readers {
        let mode = LockMode::Read.mode();
        entry.queue.request(&PAGE_LOCKS, reader(node, number), mode);
    }
    entry.version += 1;
    entry
}

/// Every cell is free, in an entry, or in the hands of a node that knows it.
fn account(table: &LockTable<Memory>, nodes: &[&TableNode<Memory>]) {
    let census = table.census();
    let beside: usize = nodes.iter().map(|node| node.beside()).sum();
    assert_eq!(census.beside.iter().sum::<usize>(), beside, "{census:?}");
    assert_eq!(census.free + census.used + beside, table.shape().cells());
}

/// The step at which the node dies.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Death {
    Before,
    Built,
    Published,
    /// Some of the old chain's cells are collected.
    Collecting(usize),
    Collected,
}

#[test]
fn a_death_between_any_steps_leaves_the_old_entry_or_the_new_one_and_loses_no_cell() {
    let page = PageId(7);
    let deaths = [
        Death::Before,
        Death::Built,
        Death::Published,
        Death::Collecting(1),
        Death::Collecting(2),
        Death::Collected,
    ];
    for (old_readers, new_readers) in [(0, 1), (2, 1), (9, 4), (14, 0), (3, 20)] {
        for death in deaths {
            let table = table(10, 10);
            let mut lives = TableNode::join(table.clone(), 0).unwrap();
            let mut dies = TableNode::join(table.clone(), 5).unwrap();
            let old = with_readers(Entry::default(), lives.node(), 1, old_readers);
            assert!(lives.swap(page, 0, old.clone()).unwrap());
            account(&table, &[&lives, &dies]);
            let new = with_readers(old.clone(), lives.node(), 100, new_readers);
            let mut happened = old.clone();
            if death != Death::Before {
                let built = dies.build(page, old.version(), &new).unwrap().unwrap();
                if death != Death::Built {
                    assert!(dies.publish(&built));
                    happened = new;
                    match death {
                        Death::Collecting(cells) => dies.collect_some(&built, cells),
                        Death::Collected => dies.collect(&built),
                        _ => {}
                    }
                }
            }
            let node = dies.node();
            drop(dies);
            assert_eq!(lives.read(page).unwrap(), happened, "{death:?}");
            assert!(table.fail(node) && !table.fail(node));
            table.forget(node).unwrap();
            account(&table, &[&lives]);
            assert!(matches!(
                table.forget(node),
                Err(LockTableError::UnknownNode { .. })
            ));
            let again = TableNode::join(table.clone(), 5).unwrap();
            assert_eq!(again.node(), NodeId(64 + 5), "another life");
            assert_eq!(lives.read(page).unwrap(), happened);
            account(&table, &[&lives, &again]);
        }
    }
}

#[test]
fn a_slow_collector_and_a_recovery_take_no_cell_twice() {
    // Node 0 has swapped and not collected yet; node 5 was about to swap the same entry, and dies.
    let (page, table) = (PageId(3), table(10, 10));
    let mut slow = TableNode::join(table.clone(), 0).unwrap();
    let mut dies = TableNode::join(table.clone(), 5).unwrap();
    let old = with_readers(Entry::default(), slow.node(), 1, 9);
    assert!(slow.swap(page, 0, old.clone()).unwrap());
    let new = with_readers(old.clone(), slow.node(), 20, 1);
    let beaten = dies.build(page, old.version(), &new).unwrap().unwrap();
    let built = slow.build(page, old.version(), &new).unwrap().unwrap();
    assert!(slow.publish(&built) && !dies.publish(&beaten));
    let node = dies.node();
    drop(dies);
    table.fail(node);
    table.forget(node).unwrap();
    // The cells are used elsewhere before the slow one comes to them.
    let mut other = TableNode::join(table.clone(), 6).unwrap();
    let elsewhere = with_readers(Entry::default(), slow.node(), 40, 30);
    assert!(other.swap(PageId(4), 0, elsewhere.clone()).unwrap());
    slow.collect(&built);
    account(&table, &[&slow, &other]);
    assert_eq!(slow.read(page).unwrap(), new);
    assert_eq!(slow.read(PageId(4)).unwrap(), elsewhere);
}

#[test]
fn what_is_full_is_refused_and_locks_can_still_be_given_back() {
    let table = table(4, 0);
    let nodes: Vec<_> = (0..layout::NODES)
        .map(|slot| TableNode::join(table.clone(), slot).unwrap())
        .collect();
    // Every node has its reserve, and there are four cells beside.
    assert!(nodes.iter().all(|node| node.beside() == RESERVE));
    let mut nodes = nodes.into_iter();
    let mut node = nodes.next().unwrap();
    let locked = 4;
    for page in (0..locked).map(PageId) {
        let entry = with_readers(Entry::default(), node.node(), 1, 1);
        assert!(node.swap(page, 0, entry).unwrap());
    }
    for page in [PageId(0), PageId(locked)] {
        let before = node.read(page).unwrap();
        let grown = with_readers(before.clone(), node.node(), 2, 3);
        let refused = node.swap(page, before.version(), grown).unwrap_err();
        assert!(matches!(refused, LockTableError::Full { .. }), "{refused}");
        assert_eq!(node.read(page).unwrap(), before);
    }
    for page in (0..locked).map(PageId) {
        let mut entry = node.read(page).unwrap();
        let (expected, owner) = (entry.version(), reader(node.node(), 1));
        entry.queue.release(&PAGE_LOCKS, owner, &mut Vec::new());
        entry.version += 1;
        assert!(node.swap(page, expected, entry).unwrap());
    }
    let all: Vec<_> = nodes.collect();
    account(&table, &all.iter().chain([&node]).collect::<Vec<_>>());
    node.leave().unwrap();
}

#[test]
fn a_full_directory_is_refused() {
    let table = table(4, 0);
    let mut node = TableNode::join(table.clone(), 0).unwrap();
    for page in (0..8).map(PageId) {
        let entry = with_readers(Entry::default(), node.node(), 1, 1);
        assert!(node.swap(page, 0, entry).unwrap());
    }
    let entry = with_readers(Entry::default(), node.node(), 1, 1);
    let refused = node.swap(PageId(8), 0, entry).unwrap_err();
    assert!(matches!(refused, LockTableError::Full { .. }), "{refused}");
    assert_eq!(node.read(PageId(8)).unwrap(), Entry::default());
    account(&table, &[&node]);
}

#[test]
fn an_entry_has_so_many_owners_and_no_more() {
    let table = table(4, 600);
    let mut node = TableNode::join(table, 0).unwrap();
    let page = PageId(0);
    let full = with_readers(Entry::default(), node.node(), 1, OWNERS_MAX as u64);
    assert!(node.swap(page, 0, full.clone()).unwrap());
    assert_eq!(node.read(page).unwrap(), full);
    let one_more = with_readers(full.clone(), node.node(), 1 << 40, 1);
    let refused = node.swap(page, 1, one_more).unwrap_err();
    assert!(matches!(refused, LockTableError::TooManyOwners { .. }));
    assert_eq!(node.read(page).unwrap(), full);
    let named = node.node();
    assert!(matches!(
        node.leave(),
        Err(LockTableError::StillNamed { node, page: PageId(0) }) if node == named
    ));
}

#[test]
fn entries_of_nodes_that_are_not_there_and_pages_without_number_are_refused() {
    let table = table(4, 0);
    let mut node = TableNode::join(table.clone(), 0).unwrap();
    let stranger = Entry {
        version: 1,
        owner: Some(NodeId(9)),
        ..Entry::default()
    };
    let refused = node.swap(PageId(0), 0, stranger).unwrap_err();
    assert!(matches!(
        refused,
        LockTableError::UnknownNode { node: NodeId(9) }
    ));
    let refused = node
        .swap(PageId(u64::MAX), 0, Entry::default())
        .unwrap_err();
    assert!(matches!(refused, LockTableError::NoPage { .. }));
    assert!(matches!(
        TableNode::join(table.clone(), 0),
        Err(LockTableError::SlotTaken { slot: 0, .. })
    ));
    assert!(matches!(
        TableNode::join(table, 64),
        Err(LockTableError::NoSlot { slot: 64 })
    ));
}

#[test]
fn random_entries_come_back_as_they_were() {
    let table = table(40, 200);
    let mut nodes: Vec<_> = (0..8)
        .map(|slot| TableNode::join(table.clone(), slot * 9).unwrap())
        .collect();
    let names: Vec<NodeId> = nodes.iter().map(TableNode::node).collect();
    let mut memory = std::collections::BTreeMap::<PageId, Entry>::new();
    let mut random = Random::new(15);
    for step in 0..20_000 {
        let page = PageId(random.below(30) * 1000);
        let by = random.below(8) as usize;
        let mut entry = nodes[by].read(page).unwrap();
        assert_eq!(entry, memory.read(page).unwrap(), "{step}");
        let expected = entry.version();
        change(&mut entry, &names, &mut random, step);
        // Sometimes the expected entry is old.
        let expected = expected + u64::from(random.below(10) == 0);
        let swapped = nodes[by].swap(page, expected, entry.clone()).unwrap();
        assert_eq!(swapped, memory.swap(page, expected, entry).unwrap());
    }
    account(&table, &nodes.iter().collect::<Vec<_>>());
    let mut pages = nodes[0].pages();
    pages.sort_unstable();
    assert!(pages.into_iter().eq(memory.keys().copied()));
}

fn change(entry: &mut Entry, nodes: &[NodeId], random: &mut Random, step: u64) {
    let node = nodes[random.below(nodes.len() as u64) as usize];
    let owner = reader(node, (1 << 48) - 1 - random.below(30));
    let mode = [LockMode::Read, LockMode::Read, LockMode::Write][random.below(3) as usize];
    match random.below(9) {
        0..4 => {
            entry.queue.request(&PAGE_LOCKS, owner, mode.mode());
        }
        4 => {
            entry.queue.release(&PAGE_LOCKS, owner, &mut Vec::new());
        }
        5 => {
            entry.queue.cancel(&PAGE_LOCKS, owner, &mut Vec::new());
        }
        6 => {
            entry.psn = Psn(entry.psn.0.wrapping_mul(3).wrapping_add(step));
            entry.owner = Some(node).filter(|_| random.below(2) == 0);
            entry.revoking = random.below(2) == 0;
        }
        7 => {
            entry.writing = Some(node).filter(|_| random.below(2) == 0);
            if entry.next_writers.contains(&node) {
                entry.next_writers.retain(|other| *other != node);
            } else {
                entry.next_writers.push(node);
            }
        }
        _ => {
            let all: Vec<_> = entry.queue.holders().iter().map(|h| h.owner).collect();
            for owner in all {
                entry.queue.release(&PAGE_LOCKS, owner, &mut Vec::new());
            }
        }
    }
    entry.version += 1;
}
