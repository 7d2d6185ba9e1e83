//! Primary copy locking: every message of requests, grants, releases and returned pages.

use super::cost::{NOTHING, messages, spent};
use super::{READ, WRITE, primary_copy, progress, run, waits};
use crate::world::{Machines, Progress, World};
use sardonyx_sharing::protocol::{NodeId, PageId, PrimaryCopyOptions, Psn, UpdateStrategy};

#[test]
fn primary_copy_a_remote_lock_is_request_grant_and_release() {
    let mut world = primary_copy(UpdateStrategy::NoForce, false);
    let reader = world.begin(0, &[(1, READ)]);
    assert_eq!(
        spent(&mut world, |world| world.advance(reader)),
        messages(2, 0)
    );
    assert_eq!(
        spent(&mut world, |world| world.advance(reader)),
        messages(1, 0)
    );
    assert_eq!(world.counters(0).remote, 1);
    // Own pages cost nothing.
    let local = world.begin(0, &[(0, WRITE)]);
    assert_eq!(spent(&mut world, |world| world.advance(local)), NOTHING);
    assert_eq!(spent(&mut world, |world| world.advance(local)), NOTHING);
    assert_eq!(world.counters(0).local, 1);
    world.check_at_rest();
}

#[test]
fn primary_copy_three_transactions_with_every_cost() {
    let mut world = primary_copy(UpdateStrategy::NoForce, false);
    // Two pages of node 1, one of node 2.
    let writer = world.begin(0, &[(1, WRITE), (4, WRITE), (2, READ), (1, READ)]);
    for _ in 0..3 {
        assert_eq!(
            spent(&mut world, |world| world.advance(writer)),
            messages(2, 0)
        );
    }
    assert_eq!(spent(&mut world, |world| world.advance(writer)), NOTHING);
    let reader = world.begin(2, &[(1, READ)]);
    assert_eq!(
        spent(&mut world, |world| world.advance(reader)),
        messages(1, 0)
    );
    assert!(waits(&mut world, reader));
    // One release to each authority; that to node 1 returns both pages. Node 1 grants the reader
    // its lock, with the page.
    assert_eq!(
        spent(&mut world, |world| world.advance(writer)),
        messages(1, 2)
    );
    assert_eq!(progress(&mut world, reader), Some(Progress::Ready));
    assert_eq!(
        spent(&mut world, |world| world.advance(reader)),
        messages(1, 0)
    );
    // The authority's own reader finds the returned page in its buffer.
    let local = world.begin(1, &[(4, READ)]);
    assert_eq!(spent(&mut world, |world| world.advance(local)), NOTHING);
    assert_eq!(progress(&mut world, local), Some(Progress::Ready));
    world.advance(local);
    world.settle();
    world.check_at_rest();
    let counters = [0, 1, 2].map(|node| world.counters(node));
    assert_eq!(counters.map(|node| node.remote), [3, 0, 1]);
    assert_eq!(counters.map(|node| node.local), [0, 1, 0]);
    assert_eq!(counters.map(|node| node.already_held), [1, 0, 0]);
    assert_eq!(counters.map(|node| node.conflicts), [0, 1, 0]);
    assert_eq!(counters.map(|node| node.page_requests), [0, 0, 0]);
}

#[test]
fn primary_copy_with_force_no_page_is_sent() {
    let mut world = primary_copy(UpdateStrategy::Force, false);
    let writer = run(&mut world, 0, &[(1, WRITE)]);
    assert_eq!(
        spent(&mut world, |world| world.advance(writer)),
        messages(1, 0)
    );
    let reader = world.begin(2, &[(1, READ)]);
    assert_eq!(
        spent(&mut world, |world| world.advance(reader)),
        messages(2, 0)
    );
    assert_eq!(progress(&mut world, reader), Some(Progress::Ready));
}

#[test]
fn primary_copy_a_valid_copy_needs_no_page() {
    let mut world = primary_copy(UpdateStrategy::NoForce, false);
    let writer = run(&mut world, 0, &[(1, WRITE)]);
    world.advance(writer);
    world.settle();
    let reader = world.begin(0, &[(1, READ)]);
    assert_eq!(
        spent(&mut world, |world| world.advance(reader)),
        messages(2, 0)
    );
    assert_eq!(world.counters(0).invalidations, 0);
    // Another node's old copy is found invalid, and the new one comes with the grant.
    let other = run(&mut world, 2, &[(1, READ)]);
    world.advance(other);
    world.advance(reader);
    world.settle();
    let second = run(&mut world, 0, &[(1, WRITE)]);
    world.advance(second);
    world.settle();
    let third = world.begin(2, &[(1, READ)]);
    assert_eq!(
        spent(&mut world, |world| world.advance(third)),
        messages(1, 1)
    );
    assert_eq!(world.counters(2).invalidations, 1);
}

#[test]
fn primary_copy_a_later_request_may_overtake_the_release_before_it() {
    let mut world = primary_copy(UpdateStrategy::NoForce, false);
    let first = run(&mut world, 0, &[(1, WRITE)]);
    world.advance(first);
    assert_eq!(
        progress(&mut world, first),
        None,
        "it has ended with its release sent"
    );
    let second = world.begin(0, &[(1, WRITE)]);
    world.advance(second);
    assert_eq!(world.events.len(), 2);
    // The request arrives first, and waits for the lock of the transaction that has ended.
    world.happen(1);
    assert_eq!(world.counters(1).conflicts, 1);
    world.settle();
    assert_eq!(progress(&mut world, second), Some(Progress::Ready));
}

#[test]
fn primary_copy_a_newer_version_is_written_after_an_older_one() {
    let mut world = primary_copy(UpdateStrategy::NoForce, false);
    let page = PageId(1);
    let writer = run(&mut world, 0, &[(1, WRITE)]);
    world.advance(writer);
    world.settle();
    world.evict(NodeId(1), page);
    let slow = world.events.pop().expect("the write is under way");
    // Version 2 comes back to the authority, which wants to write it too.
    let writer = run(&mut world, 0, &[(1, WRITE)]);
    world.advance(writer);
    world.settle();
    world.evict(NodeId(1), page);
    assert!(
        world.events.is_empty(),
        "two writes of a page: {:?}",
        world.events
    );
    world.events.push(slow);
    world.settle();
    assert_eq!(world.stored(page).psn, Psn(2));
    world.check_at_rest();
}

#[test]
fn primary_copy_only_the_authority_writes() {
    let mut world = primary_copy(UpdateStrategy::NoForce, false);
    let writer = run(&mut world, 0, &[(1, WRITE)]);
    world.advance(writer);
    world.evict(NodeId(0), PageId(1));
    assert!(
        !world.node(NodeId(0)).frames.contains_key(&PageId(1)),
        "it has been discarded"
    );
    world.settle();
    assert_eq!(world.stored(PageId(1)).psn, Psn(0));
    assert!(world.node(NodeId(1)).frames[&PageId(1)].dirty);
}

#[test]
fn primary_copy_an_acknowledged_release_costs_one_message_more() {
    let options = PrimaryCopyOptions {
        update: UpdateStrategy::NoForce,
        read_optimisation: false,
        authorised_without_copy: false,
        acknowledge_release: true,
        stored_at_commit: false,
    };
    let mut world = World::new(Machines::PrimaryCopy(options), 3);
    let reader = run(&mut world, 0, &[(1, READ)]);
    world.advance(reader);
    assert_eq!(progress(&mut world, reader), Some(Progress::Ending));
    assert_eq!(spent(&mut world, |_| ()), messages(1, 0));
    assert_eq!(progress(&mut world, reader), None);
}
