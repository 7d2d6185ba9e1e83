//! Small schedules with every message and every access to the global lock table counted by hand.

mod world;

use sardonyx_sharing::protocol::{
    Counters, GemOptions, LockMode, Message, NodeId, Outcome, PageId, PrimaryCopyOptions, Psn,
    TransactionId, UpdateStrategy,
};
use world::random::Random;
use world::{Event, Machines, Progress, World};

const READ: LockMode = LockMode::Read;
const WRITE: LockMode = LockMode::Write;

fn gem(update: UpdateStrategy, read_authorisation: bool) -> World {
    let options = GemOptions {
        update,
        read_authorisation,
    };
    World::new(Machines::Gem(options), 3)
}

/// Page p belongs to node p modulo 3.
fn primary_copy(update: UpdateStrategy, read_optimisation: bool) -> World {
    let options = PrimaryCopyOptions {
        update,
        read_optimisation,
        authorised_without_copy: true,
        acknowledge_release: false,
    };
    World::new(Machines::PrimaryCopy(options), 3)
}

/// What it has cost, over all nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Cost {
    entry_reads: u64,
    entry_swaps: u64,
    short: u64,
    long: u64,
}

fn sum(world: &World, count: impl Fn(&Counters) -> u64) -> u64 {
    (0..3).map(|node| count(&world.counters(node))).sum()
}

fn cost(world: &World) -> Cost {
    Cost {
        entry_reads: sum(world, |counters| counters.entry_reads),
        entry_swaps: sum(world, |counters| counters.entry_swaps),
        short: sum(world, |counters| counters.short_messages),
        long: sum(world, |counters| counters.long_messages),
    }
}

/// What `act` costs, when all that follows has happened.
fn spent(world: &mut World, act: impl FnOnce(&mut World)) -> Cost {
    let before = cost(world);
    act(world);
    world.settle();
    let after = cost(world);
    Cost {
        entry_reads: after.entry_reads - before.entry_reads,
        entry_swaps: after.entry_swaps - before.entry_swaps,
        short: after.short - before.short,
        long: after.long - before.long,
    }
}

fn accesses(reads: u64, swaps: u64) -> Cost {
    Cost {
        entry_reads: reads,
        entry_swaps: swaps,
        ..Cost::default()
    }
}

fn messages(short: u64, long: u64) -> Cost {
    Cost {
        short,
        long,
        ..Cost::default()
    }
}

fn both(reads: u64, swaps: u64, short: u64, long: u64) -> Cost {
    Cost {
        entry_reads: reads,
        entry_swaps: swaps,
        short,
        long,
    }
}

const NOTHING: Cost = Cost {
    entry_reads: 0,
    entry_swaps: 0,
    short: 0,
    long: 0,
};

/// Lets a new transaction get its locks; the next `advance` commits it.
fn run(world: &mut World, node: u16, steps: &[(u64, LockMode)]) -> TransactionId {
    let transaction = world.begin(node, steps);
    for _ in steps {
        world.advance(transaction);
        world.settle();
    }
    transaction
}

fn progress(world: &mut World, transaction: TransactionId) -> Option<Progress> {
    let node = world.node(transaction.node());
    node.transactions
        .get(&transaction)
        .map(|state| state.progress)
}

fn waits(world: &mut World, transaction: TransactionId) -> bool {
    matches!(
        progress(world, transaction),
        Some(Progress::Locking(_, true))
    )
}

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
    // What is held already costs nothing.
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

/// Page 7 in version 1, owned by node 0.
fn owned_by_node_0() -> World {
    let mut world = gem(UpdateStrategy::NoForce, false);
    let writer = run(&mut world, 0, &[(7, WRITE)]);
    world.advance(writer);
    world.settle();
    assert_eq!(world.entries[&PageId(7)].owner(), Some(NodeId(0)));
    world
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
    // Now storage has it, and nobody is asked.
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
    // The writer waits for the node, which is told once.
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
    };
    let mut world = World::new(Machines::PrimaryCopy(options), 3);
    let reader = run(&mut world, 0, &[(1, READ)]);
    world.advance(reader);
    assert_eq!(progress(&mut world, reader), Some(Progress::Ending));
    assert_eq!(spent(&mut world, |_| ()), messages(1, 0));
    assert_eq!(progress(&mut world, reader), None);
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

/// Two transactions of different nodes that wait for each other; whoever suspects it, the younger
/// one is the victim.
fn deadlock(mut world: World, suspect_older: bool) -> World {
    let older = run(&mut world, 0, &[(1, WRITE)]);
    let filler = run(&mut world, 1, &[]);
    world.advance(filler);
    let younger = run(&mut world, 1, &[(2, WRITE)]);
    assert!(older.age() < younger.age());
    for (transaction, page) in [(older, 2), (younger, 1)] {
        let state = world
            .node(transaction.node())
            .transactions
            .get_mut(&transaction);
        state.expect("it runs").steps.push((PageId(page), WRITE));
        world.advance(transaction);
        world.settle();
        assert!(waits(&mut world, transaction));
    }
    world.suspect(if suspect_older { older } else { younger });
    world.settle();
    assert_eq!(world.victims, 1);
    assert_eq!(
        progress(&mut world, younger),
        None,
        "the younger one is the victim"
    );
    assert_eq!(progress(&mut world, older), Some(Progress::Ready));
    world.advance(older);
    world.settle();
    world.check_at_rest();
    assert_eq!(world.counters(1).deadlocks, 1);
    world
}

#[test]
fn gem_a_deadlock_over_two_nodes_costs_its_younger_member() {
    for suspect_older in [false, true] {
        let world = deadlock(gem(UpdateStrategy::NoForce, false), suspect_older);
        assert_eq!(sum(&world, |counters| counters.probes), 1);
    }
}

#[test]
fn primary_copy_a_deadlock_over_three_nodes_costs_its_younger_member() {
    for suspect_older in [false, true] {
        deadlock(primary_copy(UpdateStrategy::NoForce, false), suspect_older);
        deadlock(primary_copy(UpdateStrategy::NoForce, true), suspect_older);
    }
}

/// Two readers of one page on different nodes that both want to write it.
fn two_upgraders(mut world: World) {
    let older = run(&mut world, 0, &[(1, READ)]);
    let filler = run(&mut world, 2, &[]);
    world.advance(filler);
    let younger = run(&mut world, 2, &[(1, READ)]);
    for transaction in [older, younger] {
        let state = world
            .node(transaction.node())
            .transactions
            .get_mut(&transaction);
        state.expect("it runs").steps.push((PageId(1), WRITE));
        world.advance(transaction);
        world.settle();
        assert!(waits(&mut world, transaction));
    }
    world.suspect(older);
    world.settle();
    assert_eq!(progress(&mut world, younger), None);
    assert_eq!(progress(&mut world, older), Some(Progress::Ready));
    world.advance(older);
    world.settle();
    world.check_at_rest();
    assert_eq!(world.newest(PageId(1)).psn, Psn(1));
}

#[test]
fn two_readers_that_want_to_write_are_a_deadlock() {
    for authorised in [false, true] {
        two_upgraders(gem(UpdateStrategy::NoForce, authorised));
        two_upgraders(primary_copy(UpdateStrategy::NoForce, authorised));
    }
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

#[test]
fn a_transaction_that_waits_without_a_deadlock_is_no_victim() {
    for mut world in [
        gem(UpdateStrategy::NoForce, true),
        primary_copy(UpdateStrategy::NoForce, true),
    ] {
        let holder = run(&mut world, 0, &[(1, READ)]);
        let writer = run(&mut world, 2, &[(1, WRITE)]);
        assert!(waits(&mut world, writer));
        world.suspect(writer);
        world.suspect(holder);
        world.settle();
        assert_eq!(world.victims, 0);
        world.end(holder, Outcome::Aborted);
        world.settle();
        assert_eq!(progress(&mut world, writer), Some(Progress::Ready));
    }
}
