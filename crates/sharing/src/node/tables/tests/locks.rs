//! The locks of verbs: which pages they want for writing at once, and what needs no lock.

use super::super::Seat;
use super::place::{Place, on_both, options};
use super::verbs::{Account, account};
use crate::node::{Committed, NodeError, NodeOptions, Nodes, Observer, TableNode};
use crate::protocol::LockMode;
use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The pages of the last transaction in the order of their uses.
#[derive(Debug, Default)]
struct Last(Mutex<Vec<(u64, LockMode)>>);

impl Observer for Last {
    fn committed(&self, transaction: &Committed<'_>) {
        *self.0.lock().unwrap() = transaction.references.to_vec();
    }
}

impl Last {
    /// The pages locked for writing, of which none was locked for reading first: two that do so are a deadlock.
    fn written(&self) -> BTreeSet<u64> {
        let (mut first, mut written) = (BTreeMap::new(), BTreeSet::new());
        for (page, mode) in mem::take(&mut *self.0.lock().unwrap()) {
            let first = *first.entry(page).or_insert(mode);
            if mode == LockMode::Write {
                assert_eq!(first, LockMode::Write, "page {page} was read first");
                written.insert(page);
            }
        }
        written
    }
}

#[test]
fn retain_locks_leaves_for_writing_at_once() -> Result<(), NodeError> {
    let (directory, memory) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let last = Arc::new(Last::default());
    let observed = NodeOptions {
        observer: Some(last.clone()),
        ..options(memory.path())
    };
    let nodes = Nodes::open(directory.path(), observed)?;
    let node = nodes.join()?;
    let accounts = node.table::<Account>()?;
    node.run(|tx| (0..600).try_for_each(|id| tx.insert(accounts, &account(id, 0))))?;
    assert_eq!(node.run(|tx| tx.retain(accounts, |_| true))?, 0);
    let leaves = last.written();
    assert!(leaves.len() > 2, "{leaves:?}");
    let few = node.run(|tx| tx.retain(accounts, |account| account.id % 60 > 0))?;
    assert_eq!((few, last.written()), (10, leaves));
    Ok(())
}

on_both!(a_node_says_that_it_runs_while_its_pages_are_at_work);

fn a_node_says_that_it_runs_while_its_pages_are_at_work<P: Place>() -> Result<(), NodeError> {
    let place = P::new();
    let node = &place.join()?;
    let (told, hears) = channel();
    let mut heard = None;
    std::thread::scope(|scope| {
        node.member().0.with_local(&mut |_| {
            let told = told.clone();
            scope.spawn(move || told.send(node.check_runs()));
            // With the lock it would wait as long.
            heard = hears.recv_timeout(Duration::from_secs(30)).ok();
            Ok(())
        })
    })?;
    assert!(matches!(heard, Some(Ok(()))), "{heard:?}");
    Ok(())
}
