//! GEM locking: every access to the global lock table, every page request, every write-back.

use super::cost::{NOTHING, accesses, both, cost, spent, sum};
use super::{READ, WRITE, gem, owned_by_node_0, progress, run, waits};
use crate::world::{Event, Progress};
use sardonyx_sharing::protocol::{NodeId, PageId, Psn, UpdateStrategy};

#[test]
fn gem_a_request_and_a_release_are_two_entry_accesses_each() {
    let mut world = gem(UpdateStrategy::NoForce, false);
    let reader = world.begin(0, &[(7, READ)]);
    assert_eq!(
        spent(&mut world, |world| world.advance(reader)),
        accesses(1, 1)
    );
    assert_eq!(
        spent(&mut world, |world| world.advance(reader)),
        accesses(1, 1)
    );
    world.check_at_rest();
}

#[test]
fn gem_three_transactions_with_every_cost() {
    let mut world = gem(UpdateStrategy::NoForce, false);
    let writer = world.begin(0, &[(7, WRITE), (7, READ)]);
    assert_eq!(
        spent(&mut world, |world| world.advance(writer)),
        accesses(1, 1)
    );
    // A lock that is held already costs nothing.
    assert_eq!(spent(&mut world, |world| world.advance(writer)), NOTHING);
    let reader = world.begin(1, &[(7, READ)]);
    assert_eq!(
        spent(&mut world, |world| world.advance(reader)),
        accesses(1, 1)
    );
    assert!(waits(&mut world, reader));
    // The release wakes the reader, which requests the page from its owner.
    let release = spent(&mut world, |world| world.advance(writer));
    assert_eq!(release, both(1, 1, 2, 1));
    assert_eq!(progress(&mut world, reader), Some(Progress::Ready));
    assert_eq!(
        spent(&mut world, |world| world.advance(reader)),
        accesses(1, 1)
    );
    // The owner still has the newest copy.
    let again = world.begin(0, &[(7, READ)]);
    assert_eq!(
        spent(&mut world, |world| world.advance(again)),
        accesses(1, 1)
    );
    assert_eq!(
        spent(&mut world, |world| world.advance(again)),
        accesses(1, 1)
    );
    world.check_at_rest();
    let counters = [world.counters(0), world.counters(1)];
    assert_eq!(counters.map(|node| node.lock_requests), [3, 1]);
    assert_eq!(counters.map(|node| node.global), [2, 1]);
    assert_eq!(counters.map(|node| node.already_held), [1, 0]);
    assert_eq!(counters.map(|node| node.conflicts), [0, 1]);
    assert_eq!(counters.map(|node| node.page_requests), [0, 1]);
    assert_eq!(counters.map(|node| node.invalidations), [0, 0]);
}

#[test]
fn gem_an_invalidated_copy_is_found_at_the_grant_and_asked_for() {
    let mut world = gem(UpdateStrategy::NoForce, false);
    let reader = run(&mut world, 1, &[(7, READ)]);
    world.advance(reader);
    let writer = run(&mut world, 0, &[(7, WRITE)]);
    world.advance(writer);
    world.settle();
    assert_eq!(world.newest(PageId(7)).psn, Psn(1));
    let second = world.begin(1, &[(7, READ)]);
    assert_eq!(
        spent(&mut world, |world| world.advance(second)),
        both(1, 1, 1, 1)
    );
    assert_eq!(world.counters(1).invalidations, 1);
    assert_eq!(world.counters(1).page_requests, 1);
}

#[test]
fn gem_with_force_the_page_comes_from_storage_without_a_message() {
    let mut world = gem(UpdateStrategy::Force, false);
    let writer = run(&mut world, 0, &[(7, WRITE)]);
    world.advance(writer);
    world.settle();
    assert_eq!(world.stored(PageId(7)).psn, Psn(1));
    let reader = world.begin(1, &[(7, READ)]);
    assert_eq!(
        spent(&mut world, |world| world.advance(reader)),
        accesses(1, 1)
    );
    assert_eq!(progress(&mut world, reader), Some(Progress::Ready));
}

#[test]
fn gem_an_entry_that_changed_is_read_again() {
    let mut world = gem(UpdateStrategy::NoForce, false);
    let one = world.begin(0, &[(7, READ)]);
    let two = world.begin(1, &[(7, WRITE)]);
    world.advance(one);
    world.advance(two);
    // In order, both read the entry before either swaps.
    world.settle();
    assert_eq!(cost(&world), accesses(3, 3));
    assert_eq!(sum(&world, |counters| counters.swap_failures), 1);
    assert!(waits(&mut world, two));
    world.advance(one);
    world.settle();
    assert_eq!(progress(&mut world, two), Some(Progress::Ready));
}

#[test]
fn gem_the_owner_marks_the_entry_and_adapts_it_after_the_write() {
    let mut world = owned_by_node_0();
    let page = PageId(7);
    world.evict(NodeId(0), page);
    for _ in 0..4 {
        world.happen(0);
    }
    assert!(
        matches!(world.events[..], [Event::WriteStorage(..)]),
        "{:?}",
        world.events
    );
    assert_eq!(world.entries[&page].owner(), Some(NodeId(0)));
    assert!(!world.entries[&page].is_idle());
    world.settle();
    assert_eq!(world.entries[&page].owner(), None);
    assert_eq!(cost(&world), accesses(4, 4));
    // Now storage has it, and no node is asked.
    world.evict(NodeId(0), page);
    let reader = world.begin(1, &[(7, READ)]);
    assert_eq!(
        spent(&mut world, |world| world.advance(reader)),
        accesses(1, 1)
    );
}

#[test]
fn gem_a_page_that_its_owner_has_just_written_out_is_read_from_storage() {
    let mut world = owned_by_node_0();
    let page = PageId(7);
    let reader = world.begin(1, &[(7, READ)]);
    world.advance(reader);
    for _ in 0..4 {
        world.happen(0);
    }
    assert!(
        matches!(world.events[..], [Event::Message { .. }]),
        "{:?}",
        world.events
    );
    // While the page request travels, the page is written and dropped.
    world.evict(NodeId(0), page);
    while world.events.len() > 1 || !matches!(world.events[0], Event::Message { .. }) {
        world.happen(1);
    }
    world.evict(NodeId(0), page);
    assert!(!world.node(NodeId(0)).frames.contains_key(&page));
    world.settle();
    assert_eq!(world.counters(1).page_misses, 1);
    assert_eq!(progress(&mut world, reader), Some(Progress::Ready));
}

#[test]
fn gem_a_newer_version_is_written_after_an_older_one() {
    let mut world = owned_by_node_0();
    let page = PageId(7);
    world.evict(NodeId(0), page);
    for _ in 0..4 {
        world.happen(0);
    }
    // Node 0's write of version 1 is slow. Node 1 makes version 2 and wants to write it too.
    let slow = world.events.pop().expect("the write is under way");
    let writer = run(&mut world, 1, &[(7, WRITE)]);
    world.advance(writer);
    world.settle();
    let before = cost(&world);
    world.evict(NodeId(1), page);
    world.settle();
    assert_eq!(
        world.stored(page).psn,
        Psn(0),
        "node 1 writes while node 0 does"
    );
    world.events.push(slow);
    world.settle();
    assert_eq!(world.stored(page).psn, Psn(2));
    assert_eq!(world.entries[&page].owner(), None);
    // Two tries and the adapting of node 1, the adapting of node 0, and one message.
    let after = cost(&world);
    assert_eq!(after.entry_reads - before.entry_reads, 4);
    assert_eq!(after.short - before.short, 1);
    world.check_at_rest();
}
