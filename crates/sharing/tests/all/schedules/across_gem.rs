//! GEM locking: pages that go from node to node across GEM, and write-backs with remembered entries.

use super::cost::{accesses, both, cost, messages, spent};
use super::{READ, WRITE, gem_with, owned_in, progress, run};
use crate::world::random::Random;
use crate::world::{Event, Progress};
use sardonyx_sharing::protocol::{NodeId, Outcome, PageId, PageTransfer, Psn};

#[test]
fn gem_an_owner_puts_the_page_into_gem_and_two_short_messages_go() {
    let mut world = owned_in(gem_with(PageTransfer::Gem, false));
    let reader = world.begin(1, &[(7, READ)]);
    let asked = spent(&mut world, |world| world.advance(reader));
    assert_eq!(asked, both(1, 1, 2, 0));
    assert_eq!(progress(&mut world, reader), Some(Progress::Ready));
    assert!(world.slots.is_empty(), "its place is free again");
    let counters = world.counters(1);
    assert_eq!((counters.page_requests, counters.page_misses), (1, 0));
}

#[test]
fn gem_a_page_put_for_a_transaction_that_has_ended_is_dropped() {
    let mut world = owned_in(gem_with(PageTransfer::Gem, false));
    let writer = run(&mut world, 0, &[(7, WRITE)]);
    let reader = world.begin(1, &[(7, READ)]);
    world.advance(reader);
    world.settle();
    // The writer's end wakes the reader, which asks for the page and is aborted meanwhile.
    world.advance(writer);
    while !world
        .events
        .iter()
        .any(|event| matches!(event, Event::PutPage { .. }))
    {
        world.happen(0);
    }
    world.end(reader, Outcome::Aborted);
    world.settle();
    assert!(world.slots.is_empty());
    world.check_at_rest();
}

#[test]
fn gem_a_node_that_fails_between_putting_and_saying_so_leaves_nothing_in_gem() {
    let mut world = owned_in(gem_with(PageTransfer::Gem, false));
    let reader = world.begin(1, &[(7, READ)]);
    world.advance(reader);
    while !world
        .events
        .iter()
        .any(|event| matches!(event, Event::PutPage { .. }))
    {
        world.happen(0);
    }
    world.fail(NodeId(0), &mut Random::new(0));
    world.recover(NodeId(2), 8);
    world.settle();
    assert!(world.slots.is_empty());
    assert_eq!(progress(&mut world, reader), Some(Progress::Ready));
    assert_eq!(world.stored(PageId(7)).psn, Psn(1));
}

#[test]
fn gem_a_write_back_with_remembered_entries_is_two_entry_accesses() {
    let mut world = owned_in(gem_with(PageTransfer::Message, true));
    let page = PageId(7);
    let written = spent(&mut world, |world| world.evict(NodeId(0), page));
    assert_eq!(written, accesses(0, 2));
    assert_eq!(world.entries[&page].owner(), None);
    assert_eq!(world.stored(page).psn, Psn(1));
    // And the page is free: the next one reads it from storage.
    let reader = world.begin(1, &[(7, READ)]);
    assert_eq!(
        spent(&mut world, |world| world.advance(reader)),
        accesses(1, 1)
    );
}

#[test]
fn gem_a_remembered_entry_that_has_changed_is_read_and_the_older_version_is_not_written() {
    let mut world = owned_in(gem_with(PageTransfer::Message, true));
    let page = PageId(7);
    let writer = run(&mut world, 1, &[(7, WRITE)]);
    world.advance(writer);
    world.settle();
    // Node 0 still believes that it owns version 1: its swap fails, and the entry says no.
    let before = cost(&world);
    world.evict(NodeId(0), page);
    world.settle();
    let after = cost(&world);
    assert_eq!(after.entry_reads - before.entry_reads, 1);
    assert_eq!(after.entry_swaps - before.entry_swaps, 1);
    assert_eq!(world.stored(page).psn, Psn(0));
    assert_eq!(world.entries[&page].owner(), Some(NodeId(1)));
    assert_eq!(spent(&mut world, |_| {}), messages(0, 0));
}
