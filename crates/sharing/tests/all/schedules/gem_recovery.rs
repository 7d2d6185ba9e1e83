//! GEM locking when nodes fail: recovery beside slow writes and late news.

use super::{READ, WRITE, owned_by_node_0, progress, run};
use crate::world::Progress;
use crate::world::random::Random;
use sardonyx_sharing::protocol::{NodeId, PageId, Psn};

#[test]
fn gem_a_recovery_waits_for_an_older_version_that_is_being_written() {
    let mut world = owned_by_node_0();
    let page = PageId(7);
    world.evict(NodeId(0), page);
    for _ in 0..4 {
        world.happen(0);
    }
    let slow = world.events.pop().expect("the write is under way");
    let writer = run(&mut world, 1, &[(7, WRITE)]);
    world.advance(writer);
    world.settle();
    world.fail(NodeId(1), &mut Random::new(0));
    world.recover(NodeId(2), 8);
    world.settle();
    assert_eq!(
        world.stored(page).psn,
        Psn(0),
        "the recovery writes while node 0 does"
    );
    world.events.push(slow);
    world.settle();
    assert_eq!(world.stored(page).psn, Psn(2));
    assert!(world.recovery.is_none());
    let reader = run(&mut world, 0, &[(7, READ)]);
    assert_eq!(progress(&mut world, reader), Some(Progress::Ready));
}

#[test]
fn gem_an_owner_that_has_been_recovered_meanwhile_is_not_waited_for() {
    let mut world = owned_by_node_0();
    let reader = world.begin(1, &[(7, READ)]);
    world.advance(reader);
    for _ in 0..3 {
        world.happen(0);
    }
    // The reader's lock is in the entry, and its node does not know yet; it has read of node 0.
    let late = world.events.pop().expect("the news of the swap");
    world.fail(NodeId(0), &mut Random::new(0));
    world.recover(NodeId(2), 8);
    world.settle();
    assert!(world.recovery.is_none());
    world.events.push(late);
    world.settle();
    assert_eq!(progress(&mut world, reader), Some(Progress::Ready));
}
