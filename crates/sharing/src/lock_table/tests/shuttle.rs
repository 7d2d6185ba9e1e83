//! Models: nodes that change one entry at once, with overflow chains, while another node's death is
//! recovered. Shuttle runs the nodes, as threads, under thousands of schedules.

use super::{Memory, reader, with_readers};
use crate::lock_table::{LockTable, Shape, TableNode};
use crate::protocol::mode::PAGE_LOCKS;
use crate::protocol::{Entry, EntryStore, NodeId, PageId, Psn};
use sardonyx_base::sync::atomic::AtomicU64;
use sardonyx_base::sync::thread;
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use std::sync::Arc;

const PAGE: PageId = PageId(1);
const CHANGES: u64 = 3;

/// Counts on the page, and leaves (by even turns) or takes away four locks.
fn count(node: &mut TableNode<Memory>, turn: u64) {
    loop {
        let mut entry = node.read(PAGE).expect("it can be read");
        assert_eq!(entry.psn.0, entry.version(), "half a change");
        let (expected, me) = (entry.version(), node.node());
        entry.psn = Psn(entry.psn.0 + 1);
        entry = match turn % 2 {
            0 => with_readers(entry, me, 1, 4),
            _ => without(entry, me),
        };
        if node.swap(PAGE, expected, entry).expect("there is room") {
            return;
        }
    }
}

fn without(mut entry: Entry, node: NodeId) -> Entry {
    for number in 1..5 {
        entry
            .queue
            .release(&PAGE_LOCKS, reader(node, number), &mut Vec::new());
    }
    entry.version += 1;
    entry
}

fn explore(body: impl Fn() + Send + Sync + Clone + 'static) {
    let mut config = shuttle::Config::new();
    config.stack_size = 512 << 10;
    config.max_steps = shuttle::MaxSteps::None;
    let random = RandomScheduler::new_from_seed(1, 300);
    shuttle::Runner::new(random, config.clone()).run(body.clone());
    let few_changes = PctScheduler::new_from_seed(1, 3, 300);
    shuttle::Runner::new(few_changes, config).run(body);
}

/// A table with few cells, so that they are used again soon: it has only the nodes' reserves.
fn table() -> Arc<LockTable<Memory>> {
    let shape = Shape {
        directory: 8,
        cells: SMALL,
    };
    let words = (0..shape.words()).map(|_| AtomicU64::new(0)).collect();
    Arc::new(LockTable::new(words, shape))
}

/// Cells of the model's table.
const SMALL: usize = 24;

#[test]
fn shuttle_i9_nodes_change_one_entry_and_none_sees_half_a_change() {
    explore(|| {
        let table = table();
        let nodes: Vec<_> = (0..3)
            .map(|slot| TableNode::join_with(table.clone(), slot, 3).unwrap())
            .collect();
        let threads: Vec<_> = nodes
            .into_iter()
            .map(|mut node| {
                thread::spawn(move || {
                    (0..CHANGES).for_each(|turn| count(&mut node, turn));
                    node
                })
            })
            .collect();
        let nodes: Vec<_> = threads.into_iter().map(|t| t.join().unwrap()).collect();
        assert_eq!(nodes[0].table().read(PAGE).unwrap().psn.0, 3 * CHANGES);
        super::account(&table, &nodes.iter().collect::<Vec<_>>());
    });
}

#[test]
fn shuttle_i9_the_cells_of_a_dead_node_are_freed_once_while_others_change_the_entry() {
    explore(|| {
        let table = table();
        let mut dies = TableNode::join_with(table.clone(), 5, 3).unwrap();
        count(&mut dies, 0);
        // It lets its locks go, and dies before it has collected the cells.
        let mut entry = dies.read(PAGE).unwrap();
        let (expected, node) = (entry.version(), dies.node());
        entry.psn = Psn(entry.psn.0 + 1);
        let entry = without(entry, node);
        let built = dies.build(PAGE, expected, &entry).unwrap().unwrap();
        let died = thread::spawn(move || {
            if dies.publish(&built) {
                dies.collect_some(&built, 1);
            }
            dies
        });
        let others: Vec<_> = (0..2)
            .map(|slot| TableNode::join_with(table.clone(), slot, 3).unwrap())
            .collect();
        let threads: Vec<_> = others
            .into_iter()
            .map(|mut node| {
                thread::spawn(move || {
                    (0..CHANGES).for_each(|turn| count(&mut node, turn));
                    node
                })
            })
            .collect();
        drop(died.join().unwrap());
        table.fail(node);
        // The recovery takes the dead node's locks out, and then its cells.
        let mut recoverer = TableNode::join_with(table.clone(), 9, 3).unwrap();
        loop {
            let entry = recoverer.read(PAGE).unwrap();
            let mut freed = without(entry.clone(), node);
            freed.psn = Psn(freed.psn.0 + 1);
            if recoverer.swap(PAGE, entry.version(), freed).unwrap() {
                break;
            }
        }
        table.forget(node).unwrap();
        let mut nodes: Vec<_> = threads.into_iter().map(|t| t.join().unwrap()).collect();
        nodes.push(recoverer);
        super::account(&table, &nodes.iter().collect::<Vec<_>>());
    });
}
