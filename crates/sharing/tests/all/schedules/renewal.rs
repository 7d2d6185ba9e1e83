//! Primary copy locking with authorisations that are used only while the buffer has the page: a
//! reader without a copy joins current readers of its node, or renews the authorisation.
//!
//! Page 1 belongs to node 1; the readers run on node 0, the writers on node 2.

use super::cost::{NOTHING, messages, spent};
use super::{READ, WRITE, progress, run, waits};
use crate::world::{Event, Machines, Progress, World};
use sardonyx_sharing::protocol::{
    Message, NodeId, Outcome, PageId, PrimaryCopyOptions, TransactionId, UpdateStrategy,
};

const PAGE: PageId = PageId(1);

fn world() -> World {
    let options = PrimaryCopyOptions {
        update: UpdateStrategy::NoForce,
        read_optimisation: true,
        authorised_without_copy: false,
        acknowledge_release: false,
        stored_at_commit: false,
    };
    World::new(Machines::PrimaryCopy(options), 3)
}

/// Node 0 is authorised, its reader has ended, and its buffer has lost the page again.
fn authorised_without_copy() -> World {
    let mut world = world();
    let reader = run(&mut world, 0, &[(1, READ)]);
    world.advance(reader);
    world.evict(NodeId(0), PAGE);
    assert!(world.node(NodeId(0)).frames.is_empty());
    assert_eq!(world.counters(0).authorisations, 1);
    world
}

/// Node 2 changes the page, which then only its own and the authority's buffer have.
fn modify(world: &mut World) {
    let writer = run(world, 2, &[(1, WRITE)]);
    world.advance(writer);
    world.settle();
}

/// Node 2's writer asks; the revocation of node 0's authorisation stays on the way.
fn write_but_hold_back_the_revocation(world: &mut World) -> (TransactionId, Event) {
    let writer = world.begin(2, &[(1, WRITE)]);
    world.advance(writer);
    world.happen(0);
    let place = world.events.iter().position(|event| {
        let Event::Message { message, .. } = event else {
            return false;
        };
        matches!(message, Message::Revoke { .. })
    });
    let revocation = world
        .events
        .remove(place.expect("the authorisation is revoked"));
    (writer, revocation)
}

#[test]
fn a_reader_whose_page_has_left_the_buffer_renews_the_authorisation() {
    let mut world = world();
    // Request, and grant with the authorisation; the page is on storage.
    let first = world.begin(0, &[(1, READ)]);
    assert_eq!(
        spent(&mut world, |world| world.advance(first)),
        messages(2, 0)
    );
    assert_eq!(spent(&mut world, |world| world.advance(first)), NOTHING);
    // The buffer has the page.
    let second = world.begin(0, &[(1, READ)]);
    assert_eq!(spent(&mut world, |world| world.advance(second)), NOTHING);
    assert_eq!(spent(&mut world, |world| world.advance(second)), NOTHING);
    world.evict(NodeId(0), PAGE);
    // Request, which gives the authorisation up, and grant with a new one.
    let third = world.begin(0, &[(1, READ)]);
    assert_eq!(
        spent(&mut world, |world| world.advance(third)),
        messages(2, 0)
    );
    assert_eq!(progress(&mut world, third), Some(Progress::Ready));
    assert_eq!(spent(&mut world, |world| world.advance(third)), NOTHING);
    let fourth = world.begin(0, &[(1, READ)]);
    assert_eq!(spent(&mut world, |world| world.advance(fourth)), NOTHING);
    assert_eq!(spent(&mut world, |world| world.advance(fourth)), NOTHING);
    let counters = world.counters(0);
    assert_eq!(
        (counters.lock_requests, counters.remote, counters.authorised),
        (4, 2, 2)
    );
    assert_eq!((counters.authorisations, counters.revocations), (2, 1));
    assert_eq!(world.counters(1).conflicts, 0);
    // The authority knows the new one by its number: request, revocation, its answer, grant.
    let writer = world.begin(2, &[(1, WRITE)]);
    assert_eq!(
        spent(&mut world, |world| world.advance(writer)),
        messages(4, 0)
    );
    assert_eq!(progress(&mut world, writer), Some(Progress::Ready));
    assert_eq!(world.counters(0).revocations, 2);
    world.advance(writer);
    world.settle();
    world.check_at_rest();
}

#[test]
fn a_renewed_authorisation_comes_with_the_page_if_only_the_authority_has_it() {
    let mut world = world();
    modify(&mut world);
    for renewed in [0, 1] {
        let reader = world.begin(0, &[(1, READ)]);
        assert_eq!(
            spent(&mut world, |world| world.advance(reader)),
            messages(1, 1)
        );
        assert_eq!(spent(&mut world, |world| world.advance(reader)), NOTHING);
        let counters = world.counters(0);
        assert_eq!(
            (counters.authorisations, counters.revocations),
            (renewed + 1, renewed)
        );
        assert_eq!((counters.page_requests, counters.invalidations), (0, 0));
        world.evict(NodeId(0), PAGE);
    }
    world.check_at_rest();
}

#[test]
fn a_reader_without_a_copy_joins_current_readers() {
    for modified in [false, true] {
        let mut world = world();
        if modified {
            modify(&mut world);
        }
        let first = run(&mut world, 0, &[(1, READ)]);
        world.evict(NodeId(0), PAGE);
        assert!(world.node(NodeId(0)).frames.is_empty());
        // No lock message; a page that only the authority has is asked for and sent.
        let page = if modified { messages(1, 1) } else { NOTHING };
        let second = world.begin(0, &[(1, READ)]);
        assert_eq!(spent(&mut world, |world| world.advance(second)), page);
        assert_eq!(progress(&mut world, second), Some(Progress::Ready));
        // The first one's end leaves a reader, whom a third one joins.
        assert_eq!(spent(&mut world, |world| world.advance(first)), NOTHING);
        world.evict(NodeId(0), PAGE);
        let third = world.begin(0, &[(1, READ)]);
        assert_eq!(spent(&mut world, |world| world.advance(third)), page);
        assert_eq!(spent(&mut world, |world| world.advance(second)), NOTHING);
        assert_eq!(spent(&mut world, |world| world.advance(third)), NOTHING);
        let counters = world.counters(0);
        assert_eq!((counters.remote, counters.authorised), (1, 2));
        assert_eq!((counters.authorisations, counters.revocations), (1, 0));
        assert_eq!(counters.page_requests, if modified { 2 } else { 0 });
        world.check_at_rest();
    }
}

#[test]
fn a_renewing_request_that_crosses_the_revocation_stands_behind_the_writer() {
    let mut world = authorised_without_copy();
    let (writer, late) = write_but_hold_back_the_revocation(&mut world);
    let reader = world.begin(0, &[(1, READ)]);
    // The reader's request gives the authorisation up, which grants the writer its lock.
    assert_eq!(
        spent(&mut world, |world| world.advance(reader)),
        messages(2, 0)
    );
    assert_eq!(progress(&mut world, writer), Some(Progress::Ready));
    assert!(waits(&mut world, reader));
    assert_eq!(world.counters(0).revocations, 1);
    assert_eq!(world.counters(1).conflicts, 2);
    // The revocation finds nothing, and is not answered.
    world.events.push(late);
    assert_eq!(spent(&mut world, |_| ()), NOTHING);
    // Release and grant, both with the page; who has waited is not authorised.
    assert_eq!(
        spent(&mut world, |world| world.advance(writer)),
        messages(0, 2)
    );
    assert_eq!(progress(&mut world, reader), Some(Progress::Ready));
    assert_eq!(
        spent(&mut world, |world| world.advance(reader)),
        messages(1, 0)
    );
    // The next authorisation is not taken for the one that was revoked.
    for cost in [messages(2, 0), NOTHING] {
        let next = world.begin(0, &[(1, READ)]);
        assert_eq!(spent(&mut world, |world| world.advance(next)), cost);
        assert_eq!(spent(&mut world, |world| world.advance(next)), NOTHING);
    }
    assert_eq!(world.counters(0).authorisations, 2);
    world.check_at_rest();
}

#[test]
fn a_renewed_authorisation_is_not_revoked_by_the_news_for_the_one_before() {
    let mut world = authorised_without_copy();
    let (writer, late) = write_but_hold_back_the_revocation(&mut world);
    world.end(writer, Outcome::Aborted);
    // The reader renews when the writer's request has been taken back.
    world.settle();
    let reader = world.begin(0, &[(1, READ)]);
    world.advance(reader);
    world.settle();
    assert_eq!(progress(&mut world, reader), Some(Progress::Ready));
    assert_eq!(world.counters(0).authorisations, 2);
    world.events.push(late);
    assert_eq!(spent(&mut world, |_| ()), NOTHING);
    assert_eq!(spent(&mut world, |world| world.advance(reader)), NOTHING);
    assert_eq!(world.counters(0).revocations, 1);
    world.check_at_rest();
}

#[test]
fn of_two_early_revocations_the_newer_one_counts() {
    for newer_first in [false, true] {
        let mut world = authorised_without_copy();
        let (first, old) = write_but_hold_back_the_revocation(&mut world);
        let reader = world.begin(0, &[(1, READ)]);
        world.advance(reader);
        world.settle();
        world.advance(first);
        world.settle();
        world.advance(reader);
        world.settle();
        // The second authorisation's grant is overtaken by its revocation.
        let reader = world.begin(0, &[(1, READ)]);
        world.advance(reader);
        world.happen(0);
        let grant = world.events.pop().expect("the grant is on the way");
        let (second, new) = write_but_hold_back_the_revocation(&mut world);
        world.events = if newer_first {
            vec![new, old]
        } else {
            vec![old, new]
        };
        world.settle();
        world.events.push(grant);
        world.settle();
        assert_eq!(progress(&mut world, reader), Some(Progress::Ready));
        assert!(waits(&mut world, second));
        // The answer to the revocation, and the writer's grant.
        assert_eq!(
            spent(&mut world, |world| world.advance(reader)),
            messages(2, 0)
        );
        assert_eq!(progress(&mut world, second), Some(Progress::Ready));
        world.advance(second);
        world.settle();
        world.check_at_rest();
    }
}
