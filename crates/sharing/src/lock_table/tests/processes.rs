//! Several processes change the same entries, and are killed at any instruction.
//!
//! Each change of a shared page counts its PSN and its version, and leaves or takes a lock, so that chains grow and
//! shrink. Then the process counts on a page of its own. So with any timing, the shared pages have the changes that the
//! processes counted, and at most one more for each killed process.
//!
//! Another process is this test binary again, with `child` as its test.

use super::reader;
use crate::lock_table::{Node, Segment, SegmentOptions};
use crate::protocol::mode::PAGE_LOCKS;
use crate::protocol::{Entry, EntryStore, LockMode, NodeId, PageId, Psn};
use sardonyx_base::random::Random;
use sardonyx_base::victims::{Victim, test_program};
use std::path::Path;

const OPTIONS: SegmentOptions = SegmentOptions {
    identity: 15,
    page_bytes: 4096,
    entries: 200,
    overflow: 2000,
};
const PAGES: u64 = 3;
const WORKERS: usize = 3;
const KILLS: u64 = 12;
const TABLE: &str = "SARDONYX_TEST_LOCK_TABLE";
const SLOT: &str = "SARDONYX_TEST_SLOT";
/// Changes before a worker that is not killed leaves.
const CHANGES: u64 = 3000;
/// The first of the pages on which processes count: one for each life of a slot.
const OWN: u64 = 1000;

fn own_page(node: NodeId) -> PageId {
    PageId(OWN + u64::from(node.0))
}

/// Changes an entry by a function until no other node was faster.
fn change(store: &mut Node, page: PageId, mut by: impl FnMut(&mut Entry)) {
    loop {
        let mut entry = store.read(page).expect("it can be read");
        assert_eq!(entry.psn.0, entry.version, "half a change");
        let expected = entry.version;
        by(&mut entry);
        entry.version += 1;
        entry.psn = Psn(entry.psn.0 + 1);
        if store.swap(page, expected, entry).expect("there is room") {
            return;
        }
    }
}

fn let_go(entry: &mut Entry, node: NodeId) {
    let mine = |owner: &crate::protocol::entry::LockOwner| owner.node() == node;
    let holders = entry.queue.holders().iter().map(|holder| holder.owner);
    for owner in holders.filter(mine).collect::<Vec<_>>() {
        entry.queue.release(&PAGE_LOCKS, owner, &mut Vec::new());
    }
}

#[test]
fn child() {
    let Some(path) = std::env::var_os(TABLE) else {
        return;
    };
    let slot = std::env::var(SLOT).unwrap().parse().unwrap();
    let segment = Segment::join(Path::new(&path), OPTIONS).expect("it is there");
    let mut node = segment.join_node(slot).expect("the slot is free");
    let me = node.node();
    let mut random = Random::stream(15, u64::from(me.0));
    for _ in 0..CHANGES {
        let page = PageId(random.below(PAGES));
        let number = 1 + random.below(8);
        let drops = random.below(6) == 0;
        change(&mut node, page, |entry| {
            let mode = LockMode::Read.mode();
            entry.queue.request(&PAGE_LOCKS, reader(me, number), mode);
            if drops {
                let_go(entry, me);
            }
        });
        change(&mut node, own_page(me), |_| {});
    }
    for page in (0..PAGES).map(PageId) {
        change(&mut node, page, |entry| let_go(entry, me));
        change(&mut node, own_page(me), |_| {});
    }
    node.leave().expect("no entry names it");
}

fn start(path: &Path, slot: usize) -> Victim {
    let mut command = test_program(&child).unwrap();
    command.env(TABLE, path).env(SLOT, slot.to_string());
    Victim::start(&mut command).unwrap()
}

#[test]
fn processes_killed_at_any_instruction_leave_whole_entries_and_no_cell_is_lost() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let path = directory.path().join("table");
    let segment = Segment::create(Some(&path), OPTIONS).unwrap();
    let mut recoverer = segment.join_node(63).unwrap();
    let mut random = Random::new(15);
    let mut workers: Vec<Victim> = (0..WORKERS).map(|slot| start(&path, slot)).collect();
    let mut lives = [0; WORKERS];
    let psn = |page: PageId| segment.table().read(page).unwrap().psn.0;
    let (mut died, mut counted) = (0, 0);
    for _ in 0..KILLS {
        let slot = random.below(WORKERS as u64) as usize;
        let node = NodeId(lives[slot] * 64 + slot as u16);
        let enough = random.below(CHANGES / 2);
        while psn(own_page(node)) < enough && workers[slot].ended().unwrap().is_none() {
            std::thread::yield_now();
        }
        let status = workers[slot].end().unwrap();
        assert!(status.success() || status.code().is_none(), "{status}");
        // It may have ended well before, and left; it may not have joined.
        for dead in segment.find_dead() {
            assert_eq!(usize::from(dead.0 % 64), slot);
            for page in recoverer.pages() {
                let names = recoverer.read(page).unwrap().is_locked_by(dead);
                if names {
                    change(&mut recoverer, page, |entry| let_go(entry, dead));
                    counted += 1;
                }
            }
            segment.table().forget(dead).unwrap();
            died += 1;
        }
        lives[slot] = segment.table().slot_state(slot).0 as u16;
        workers[slot] = start(&path, slot);
    }
    for worker in &mut workers {
        assert!(worker.wait().unwrap().success());
    }
    let shared: u64 = (0..PAGES).map(|page| psn(PageId(page))).sum();
    let own = recoverer.pages().into_iter().filter(|page| page.0 >= OWN);
    counted += own.map(psn).sum::<u64>();
    println!("{shared} changes, {counted} counted, {died} died");
    assert!((counted..=counted + died).contains(&shared));
    for page in recoverer.pages() {
        let entry = recoverer.read(page).unwrap();
        assert!(entry.queue.is_free() && entry.psn.0 == entry.version);
    }
    recoverer.leave().unwrap();
    assert_eq!(segment.table().nodes(), []);
    let census = segment.table().census();
    let used = census.beside.iter().sum::<usize>();
    assert_eq!(used, 0, "cells of nobody");
    assert_eq!(census.used, segment.table().pages().len());
    assert_eq!(census.free + census.used, segment.table().shape().cells());
}
