//! The locks of the ordered index, judged by their purpose. Transactions run side by side and are not made to wait.
//! Their results, and the contents that they leave, equal those of the same transactions one after the other in the
//! order of their commits. Aborted ones leave nothing.
//!
//! Locks are granted by a real lock table; a transaction that would have to wait does not take the step. All histories
//! of a few operations over a few keys are tried, from all contents, and many longer ones at random. Planted errors
//! show that the judge works. With any one exclusion taken out of the matrix, or without the lock that protects a
//! split gap, it finds a history that is wrong.

mod action;
#[path = "../../../../lock/tests/oracle/mod.rs"]
mod oracle;
mod world;

use crate::common::Numbers;
use action::{Action, Model, actions, all_contents, few_actions};
use sardonyx_base::random::stride;
use sardonyx_lock::Compatibility;
use sardonyx_multilevel::index::locks::{COMPATIBLE, INDEX_KEYS};
use world::{Inherit, Locks, Width, World};

/// Ends the transactions in one of all ways and judges; `Some` is how it was wrong.
fn all_ends(world: &World, transactions: &[u8]) -> Option<String> {
    for choice in 0..1_u32 << transactions.len() {
        for backwards in [false, true] {
            let mut world = world.clone();
            let mut order: Vec<_> = transactions.iter().enumerate().collect();
            if backwards {
                order.reverse();
            }
            for (place, &transaction) in order {
                world.end(transaction, choice >> place & 1 == 1);
            }
            if !world.is_serial() {
                let (initial, committed) = (&world.initial, &world.committed);
                let left = world.contents();
                return Some(format!(
                    "{initial:?}: committed {committed:?}, left {left:?}"
                ));
            }
        }
    }
    None
}

/// All histories of these many operations by the transactions given, one after the other.
fn all_histories(world: &World, schedule: &[u8], keys: u8, depth: usize) -> Option<String> {
    let Some(&transaction) = schedule.get(depth) else {
        let mut transactions = schedule.to_vec();
        transactions.sort_unstable();
        transactions.dedup();
        return all_ends(world, &transactions);
    };
    let of = if schedule.len() > 2 {
        few_actions
    } else {
        actions
    };
    for action in of(keys, depth as u8 + 1) {
        let mut world = world.clone();
        // A transaction that has to wait does nothing here: a shorter schedule has that history.
        if world.act(transaction, action) {
            let wrong = all_histories(&world, schedule, keys, depth + 1);
            if wrong.is_some() {
                return wrong.map(|wrong| format!("{transaction}: {action:?}; {wrong}"));
            }
        }
    }
    None
}

fn matrix() -> Compatibility {
    INDEX_KEYS.matrix().clone()
}

/// All histories on one of `each` contents at the beginning.
fn exhaust_part(keys: u8, schedule: &[u8], width: Width, inherit: Inherit, each: usize) {
    for initial in all_contents(keys).step_by(each) {
        let world = World::new(width, &initial, Locks::new(&matrix(), inherit));
        let wrong = all_histories(&world, schedule, keys, 0);
        assert_eq!(wrong, None, "not serializable");
    }
}

#[test]
fn all_pairs_of_operations_over_five_keys() {
    exhaust_part(5, &[1, 2], Width(1), Inherit::Exactly, stride(5));
}

#[test]
fn all_pairs_of_operations_over_six_keys_in_several_leaves() {
    exhaust_part(6, &[1, 2], Width(900), Inherit::Exactly, stride(13));
}

#[test]
fn all_histories_of_three_operations_over_three_keys() {
    let each = stride(5);
    for schedule in [[1, 1, 2], [1, 2, 1], [1, 2, 3]] {
        exhaust_part(3, &schedule, Width(1), Inherit::Exactly, each);
    }
    exhaust_part(3, &[1, 1, 2], Width(900), Inherit::Always, each);
}

/// A random history of three transactions, begun anew as they end. `Some` if it was wrong.
fn random_history(seed: u64, width: Width, locks: Locks) -> Option<String> {
    const KEYS: u8 = 6;
    let mut random = Numbers::new(seed);
    let bits = random.index(1 << KEYS);
    let initial = all_contents(KEYS).nth(bits).expect("contents");
    let mut world = World::new(width, &initial, locks);
    let mut history = Vec::new();
    let mut aborting = [false; 3];
    for step in 0..8 + random.index(24) {
        let transaction = random.index(3);
        let (number, abort) = (transaction as u8, &mut aborting[transaction]);
        match random.index(10) {
            _ if *abort => *abort = world.abort_step(number),
            0 => world.commit(number),
            1 => *abort = world.abort_step(number),
            _ => {
                let choice = actions(KEYS, step as u8 + 1);
                let action = choice[random.index(choice.len())];
                if world.act(number, action) {
                    history.push((number, action));
                }
            }
        }
    }
    for (transaction, aborting) in aborting.into_iter().enumerate() {
        world.end(transaction as u8, !aborting && random.index(2) == 0);
    }
    world.index.check(&world.pages).unwrap();
    let wrong = !world.is_serial();
    wrong.then(|| {
        format!(
            "seed {seed}: {initial:?}: {history:?}; {:?}",
            world.contents()
        )
    })
}

fn random_histories(count: u64, width: Width, locks: &Locks) -> Option<String> {
    (0..count).find_map(|seed| random_history(seed, width, locks.clone()))
}

/// Few histories, or many if the environment asks for more seeds.
fn cases(few: u64, many: u64) -> u64 {
    crate::seeds().map_or(few, |seeds| seeds.max(many))
}

#[test]
fn random_histories_of_three_transactions() {
    for inherit in [Inherit::Exactly, Inherit::Always] {
        let locks = Locks::new(&matrix(), inherit);
        assert_eq!(
            random_histories(cases(1_500, 30_000), Width(1), &locks),
            None
        );
        assert_eq!(
            random_histories(cases(400, 6_000), Width(900), &locks),
            None
        );
    }
}

#[test]
fn keys_that_stand_for_one_object_by_chance_cost_waits_only() {
    for objects in 1..5 {
        let mut locks = Locks::new(&matrix(), Inherit::Exactly);
        locks.objects = objects;
        assert_eq!(
            random_histories(cases(1_200, 5_000), Width(1), &locks),
            None
        );
    }
}

#[test]
fn several_transactions_insert_side_by_side_and_readers_of_other_gaps_do_not_wait() {
    let initial = Model::from([(1, 100), (9, 100)]);
    let mut world = World::new(Width(1), &initial, Locks::new(&matrix(), Inherit::Exactly));
    // Into one gap, above and below uncommitted insertions of others.
    for (transaction, key) in [
        (1, 5),
        (2, 4),
        (3, 6),
        (1, 3),
        (2, 7),
        (3, 2),
        (1, 10),
        (2, 11),
    ] {
        assert!(
            world.act(transaction, Action::Insert(key, transaction)),
            "{transaction} {key}"
        );
    }
    assert!(world.act(4, Action::Put(9, 4)), "the next key's value");
    assert!(
        world.act(5, Action::Get(1)) && world.act(5, Action::Get(0)),
        "other gaps"
    );
    assert!(world.act(5, Action::Get(8)), "what is left of the gap");
    assert!(
        !world.act(1, Action::Insert(8, 1)),
        "which has been read now"
    );
    assert!(!world.act(5, Action::Get(6)), "what is not committed");
    // A reader of a gap is compatible with a deletion below it, but cannot read the range that the deletion adds to
    // it.
    let mut world = World::new(Width(1), &initial, Locks::new(&matrix(), Inherit::Exactly));
    assert!(world.act(1, Action::Get(4)) && world.act(2, Action::Delete(1)));
    assert!(!world.act(1, Action::Get(4)) && !world.act(1, Action::Insert(4, 1)));
    // A reader of the gap itself keeps the others out of both its parts.
    let mut world = World::new(Width(1), &initial, Locks::new(&matrix(), Inherit::Exactly));
    assert!(world.act(1, Action::Get(4)) && world.act(1, Action::Insert(6, 1)));
    assert!(!world.act(2, Action::Insert(5, 2)) && !world.act(2, Action::Insert(7, 2)));
}

#[test]
fn without_the_lock_on_the_lower_part_of_a_split_gap_it_is_not_serializable() {
    let locks = Locks::new(&matrix(), Inherit::Never);
    assert!(random_histories(60_000, Width(1), &locks).is_some());
}

/// The matrix with one request admitted.
fn with_admitted(held: usize, requested: usize) -> Compatibility {
    let mut rows = COMPATIBLE;
    rows[held][requested] = true;
    let rows: Vec<&[bool]> = rows.iter().map(|row| &row[..]).collect();
    Compatibility::new(&rows).unwrap()
}

#[test]
fn every_exclusion_is_needed() {
    let mut needless = Vec::new();
    for (held, row) in COMPATIBLE.iter().enumerate() {
        for (requested, _) in row
            .iter()
            .enumerate()
            .filter(|(_, compatible)| !**compatible)
        {
            let locks = Locks::new(&with_admitted(held, requested), Inherit::Exactly);
            if random_histories(60_000, Width(1), &locks).is_none() {
                needless.push((held, requested));
            }
        }
    }
    assert_eq!(needless, []);
}
