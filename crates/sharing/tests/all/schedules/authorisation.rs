//! Read authorisations of both protocols: what they save, and how they end.

use super::cost::{NOTHING, accesses, both, messages, spent};
use super::{READ, WRITE, gem, primary_copy, progress, run, waits};
use crate::world::{Event, Progress, World};
use sardonyx_sharing::protocol::{Message, NodeId, PageId, Psn, UpdateStrategy};

#[test]
fn gem_authorised_readers_cost_nothing_until_a_writer_comes() {
    let mut world = gem(UpdateStrategy::NoForce, true);
    let first = world.begin(0, &[(7, READ)]);
    assert_eq!(
        spent(&mut world, |world| world.advance(first)),
        accesses(1, 1)
    );
    let second = world.begin(0, &[(7, READ)]);
    assert_eq!(spent(&mut world, |world| world.advance(second)), NOTHING);
    assert_eq!(spent(&mut world, |world| world.advance(first)), NOTHING);
    // The writer waits for the node, which receives one message.
    let writer = world.begin(1, &[(7, WRITE)]);
    assert_eq!(
        spent(&mut world, |world| world.advance(writer)),
        both(1, 1, 1, 0)
    );
    assert!(waits(&mut world, writer));
    // No reader comes before it any more.
    let third = world.begin(0, &[(7, READ)]);
    assert_eq!(
        spent(&mut world, |world| world.advance(third)),
        accesses(1, 1)
    );
    assert!(waits(&mut world, third));
    // The last reader's end gives the authorisation back and wakes the writer.
    assert_eq!(
        spent(&mut world, |world| world.advance(second)),
        both(1, 1, 1, 0)
    );
    assert_eq!(progress(&mut world, writer), Some(Progress::Ready));
    world.advance(writer);
    world.settle();
    assert_eq!(progress(&mut world, third), Some(Progress::Ready));
    let counters = world.counters(0);
    assert_eq!(
        (
            counters.authorised,
            counters.authorisations,
            counters.revocations
        ),
        (1, 1, 1)
    );
}

#[test]
fn primary_copy_authorised_readers_cost_nothing_until_a_writer_comes() {
    let mut world = primary_copy(UpdateStrategy::NoForce, true);
    let first = world.begin(0, &[(1, READ)]);
    assert_eq!(
        spent(&mut world, |world| world.advance(first)),
        messages(2, 0)
    );
    let second = world.begin(0, &[(1, READ)]);
    assert_eq!(spent(&mut world, |world| world.advance(second)), NOTHING);
    assert_eq!(spent(&mut world, |world| world.advance(first)), NOTHING);
    let writer = world.begin(2, &[(1, WRITE)]);
    // The request and the revocation.
    assert_eq!(
        spent(&mut world, |world| world.advance(writer)),
        messages(2, 0)
    );
    assert!(waits(&mut world, writer));
    let third = world.begin(0, &[(1, READ)]);
    assert_eq!(
        spent(&mut world, |world| world.advance(third)),
        messages(1, 0)
    );
    assert!(waits(&mut world, third));
    // The answer to the revocation and the grant.
    assert_eq!(
        spent(&mut world, |world| world.advance(second)),
        messages(2, 0)
    );
    assert_eq!(progress(&mut world, writer), Some(Progress::Ready));
    let counters = world.counters(0);
    assert_eq!(
        (
            counters.authorised,
            counters.authorisations,
            counters.revocations
        ),
        (1, 1, 1)
    );
}

#[test]
fn primary_copy_a_victim_gives_back_the_read_lock_that_was_registered() {
    let mut world = primary_copy(UpdateStrategy::NoForce, true);
    let [older, younger] = [0, 0].map(|node| run(&mut world, node, &[(1, READ)]));
    // Both read under node 0's authorisation and want to write; the news that their read locks are
    // registered, and the revocation, stay on the way.
    for transaction in [younger, older] {
        let state = world.node(NodeId(0)).transactions.get_mut(&transaction);
        state.expect("it runs").steps.push((PageId(1), WRITE));
        world.advance(transaction);
        settle_but_news(&mut world);
    }
    world.suspect(older);
    settle_but_news(&mut world);
    assert_eq!(world.victims, 1);
    assert_eq!(progress(&mut world, younger), None);
    world.settle();
    assert_eq!(progress(&mut world, older), Some(Progress::Ready));
    world.advance(older);
    world.settle();
    world.check_at_rest();
}

/// Lets everything happen but the arrival of registrations and revocations.
fn settle_but_news(world: &mut World) {
    let news = |event: &Event| {
        let Event::Message { message, .. } = event else {
            return false;
        };
        matches!(message, Message::Registered { .. } | Message::Revoke { .. })
    };
    while let Some(place) = world.events.iter().position(|event| !news(event)) {
        world.happen(place);
    }
}

#[test]
fn gem_a_grant_that_overtakes_the_news_of_its_request_is_released_in_the_entry() {
    let mut world = gem(UpdateStrategy::NoForce, true);
    // Both nodes are authorised to read.
    let reader = run(&mut world, 0, &[(7, READ)]);
    world.advance(reader);
    let writer = run(&mut world, 1, &[(7, READ), (7, READ)]);
    let state = world.node(NodeId(1)).transactions.get_mut(&writer);
    state.expect("it runs").steps.push((PageId(7), WRITE));
    world.advance(writer);
    for _ in 0..3 {
        world.happen(0);
    }
    let late = world.events.pop().expect("the news of the swap");
    // Node 0 gives its authorisation up with a request of its own, and so grants the waiting one.
    let other = run(&mut world, 0, &[(7, WRITE)]);
    assert_eq!(progress(&mut world, writer), Some(Progress::Ready));
    world.advance(writer);
    world.events.push(late);
    world.settle();
    assert_eq!(progress(&mut world, other), Some(Progress::Ready));
    world.advance(other);
    world.settle();
    world.check_at_rest();
    assert_eq!(world.newest(PageId(7)).psn, Psn(2));
}
