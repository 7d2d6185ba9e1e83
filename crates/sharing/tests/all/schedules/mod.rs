//! Small schedules with every message and every access to the global lock table counted by hand.

mod across_gem;
mod authorisation;
mod cost;
mod deadlock;
mod gem;
mod gem_recovery;
mod primary_copy;
mod renewal;

use crate::world::{Machines, Progress, World};
use sardonyx_sharing::protocol::{
    GemOptions, LockMode, NodeId, PageId, PageTransfer, PrimaryCopyOptions, TransactionId,
    UpdateStrategy,
};

const READ: LockMode = LockMode::Read;
const WRITE: LockMode = LockMode::Write;

fn gem(update: UpdateStrategy, read_authorisation: bool) -> World {
    let options = GemOptions {
        update,
        read_authorisation,
        page_transfer: PageTransfer::Message,
        remembered_entries: false,
    };
    World::new(Machines::Gem(options), 3)
}

/// NOFORCE with pages across GEM, or with remembered entries.
fn gem_with(page_transfer: PageTransfer, remembered_entries: bool) -> World {
    let options = GemOptions {
        update: UpdateStrategy::NoForce,
        read_authorisation: false,
        page_transfer,
        remembered_entries,
    };
    World::new(Machines::Gem(options), 3)
}

/// Page p belongs to node p modulo 3. Authorisations are used without a copy of the page, too.
fn primary_copy(update: UpdateStrategy, read_optimisation: bool) -> World {
    let options = PrimaryCopyOptions {
        update,
        read_optimisation,
        authorised_without_copy: true,
        acknowledge_release: false,
        stored_at_commit: false,
    };
    World::new(Machines::PrimaryCopy(options), 3)
}

/// Page 7 in version 1, owned by node 0.
fn owned_by_node_0() -> World {
    owned_in(gem(UpdateStrategy::NoForce, false))
}

fn owned_in(mut world: World) -> World {
    let writer = run(&mut world, 0, &[(7, WRITE)]);
    world.advance(writer);
    world.settle();
    assert_eq!(world.entries[&PageId(7)].owner(), Some(NodeId(0)));
    world
}

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
