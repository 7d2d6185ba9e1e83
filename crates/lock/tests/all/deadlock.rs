//! The choice of a victim beside the definition of a deadlock: a set of waits of which each waits
//! for another of the set, looked for among all subsets.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use sardonyx_lock::deadlock::{Blocked, Edge, victim};
use sardonyx_lock::{Asker, Denied, Owner, VictimRule};

fn owner(transaction: u64, k: u16) -> Owner {
    let transaction = Owner::transaction(transaction);
    if k == 0 {
        transaction
    } else {
        transaction.subtransaction(k)
    }
}

fn edge() -> impl Strategy<Value = Edge> {
    (1..5_u64, 0..3_u16, any::<bool>()).prop_map(|(transaction, k, restart_helps)| Edge {
        to: owner(transaction, k),
        restart_helps: restart_helps && k > 0,
    })
}

fn waits() -> impl Strategy<Value = Vec<Blocked>> {
    let wait = (
        1..5_u64,
        1..3_u16,
        any::<bool>(),
        any::<bool>(),
        vec(edge(), 0..3),
    );
    let wait = wait.prop_map(|(transaction, k, compensation, any, edges)| Blocked {
        asker: Asker {
            holder: owner(transaction, 0),
            waiter: owner(transaction, k),
            age: transaction,
            compensation,
        },
        any,
        edges: edges.into(),
    });
    vec(wait, 0..8).prop_map(|mut waits| {
        waits.sort_by_key(|wait| wait.asker.waiter);
        waits
    })
}

fn rule() -> impl Strategy<Value = VictimRule> {
    (any::<u64>(), 0..4_usize).prop_map(|(seed, place)| VictimRule::all(seed)[place])
}

/// Returns true if an edge leads to an owner that this wait keeps from ending.
fn leads_to(edge: &Edge, wait: &Blocked) -> bool {
    let waiter = wait.asker.waiter;
    edge.to == waiter || edge.to == waiter.transaction_of()
}

/// Returns true if none of the set can end before another of it has.
fn closed(waits: &[Blocked], set: u32) -> bool {
    let members = || (0..waits.len()).filter(|place| set >> place & 1 == 1);
    members().all(|place| {
        let held_up = |edge: &Edge| members().any(|other| leads_to(edge, &waits[other]));
        let wait = &waits[place];
        if wait.any {
            !wait.edges.is_empty() && wait.edges.iter().all(held_up)
        } else {
            wait.edges.iter().any(held_up)
        }
    })
}

/// All that are in deadlocks or wait for one: the union of all closed sets.
fn stuck(waits: &[Blocked]) -> u32 {
    (1..1_u32 << waits.len())
        .filter(|set| closed(waits, *set))
        .fold(0, |all, set| all | set)
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(11),
        ..ProptestConfig::with_cases(sardonyx_base::random::cases(1500))
    })]

    /// There is a victim exactly if there is a deadlock. It is in one, and its outcome resolves it. Without the
    /// victims, all can end.
    #[test]
    fn victims_are_found_exactly_in_deadlocks(
        mut waits in waits(),
        first in 1..5_u64,
        rule in rule(),
    ) {
        loop {
            let stuck = stuck(&waits);
            let found = victim(&waits, owner(first, 0), rule);
            prop_assert_eq!(found, victim(&waits, owner(first, 0), rule));
            prop_assert_eq!(found.is_some(), stuck != 0);
            let Some(found) = found else { break };
            prop_assert!(stuck >> found.place & 1 == 1, "the victim can end by itself");
            let chosen = &waits[found.place];
            let waiting_for_it = (0..waits.len())
                .filter(|place| stuck >> place & 1 == 1)
                .flat_map(|place| &waits[place].edges)
                .filter(|edge| leads_to(edge, chosen));
            let restart = |edge: &Edge| edge.to == chosen.asker.waiter && edge.restart_helps;
            let mut kinds = waiting_for_it.map(restart);
            let restarted = found.denied == Denied::Restart;
            prop_assert!(kinds.any(|restart| restart == restarted), "it does not help");
            waits.remove(found.place);
        }
    }

    /// In a cycle of two the preference is as documented.
    #[test]
    fn the_victim_of_a_cycle_is_the_one_to_be_preferred(
        compensations in any::<[bool; 2]>(),
        directly in any::<[bool; 2]>(),
        ages in (0..3_u64, 0..3_u64),
        first in 1..3_u64,
    ) {
        let ages = [ages.0, ages.1];
        let waits: Vec<Blocked> = (0..2)
            .map(|place| {
                let (number, other) = (place as u64 + 1, 2 - place as u64);
                // True if the edge into the other one is to its subtransaction.
                let direct = directly[1 - place];
                Blocked {
                    asker: Asker {
                        holder: owner(number, 1),
                        waiter: owner(number, 1),
                        age: ages[place],
                        compensation: compensations[place],
                    },
                    any: false,
                    edges: [Edge {
                        to: owner(other, u16::from(direct)),
                        restart_helps: direct,
                    }].into_iter().collect(),
                }
            })
            .collect();
        let found = victim(&waits, owner(first, 0), VictimRule::Youngest).expect("a cycle");
        let (place, other) = (found.place, 1 - found.place);
        prop_assert_eq!(found.denied == Denied::Restart, directly[place]);
        let rank = |place: usize| {
            let age = u64::MAX - ages[place];
            (compensations[place], !directly[place], age, 2 - place)
        };
        prop_assert!(rank(place) < rank(other));
    }

    /// In a cycle of any length each rule chooses its own victim, even if others wait.
    #[test]
    fn each_rule_chooses_as_it_says_among_those_of_whom_the_same_is_asked(
        ages in vec(0..4_u64, 2..8),
        compensations in vec(any::<bool>(), 8),
        restarts in vec(any::<bool>(), 8),
        requester in 0..8_usize,
        seed in any::<u64>(),
    ) {
        let waits = ring(&ages, &compensations, &restarts);
        let members = waits.len();
        let requester = requester % (members + 1);
        let asked = |place: usize| (compensations[place], !restarts[place]);
        let least = (0..members).map(asked).min().expect("at least two");
        // By hand: all that need the mildest outcome, the oldest first.
        let mut eligible: Vec<usize> = (0..members).filter(|p| asked(*p) == least).collect();
        eligible.sort_by_key(|place| (ages[*place], *place));
        let chosen = |rule| {
            victim(&waits, owner(requester as u64 + 1, 0), rule).map(|victim| victim.place)
        };
        prop_assert_eq!(chosen(VictimRule::Oldest), eligible.first().copied());
        prop_assert_eq!(chosen(VictimRule::Youngest), eligible.last().copied());
        let expected = match eligible.contains(&requester) {
            true => Some(requester),
            false => eligible.last().copied(),
        };
        prop_assert_eq!(chosen(VictimRule::Requester), expected);
        let random = chosen(VictimRule::Random { seed }).expect("a cycle");
        prop_assert!(eligible.contains(&random));
    }
}

/// Waits in a ring, each for the next; `restarts` is true if a restart of the nth helps.
fn ring(ages: &[u64], compensations: &[bool], restarts: &[bool]) -> Vec<Blocked> {
    let wait = |place: usize| {
        let number = place as u64 + 1;
        let next = (place + 1) % ages.len();
        let edge = Edge {
            to: owner(next as u64 + 1, u16::from(restarts[next])),
            restart_helps: restarts[next],
        };
        Blocked {
            asker: Asker {
                holder: owner(number, 1),
                waiter: owner(number, 1),
                age: ages[place],
                compensation: compensations[place],
            },
            any: false,
            edges: [edge].into_iter().collect(),
        }
    };
    (0..ages.len()).map(wait).collect()
}

/// Over many seeds each member of a ring is chosen about as often, whosever request closed it.
#[test]
fn the_random_rule_prefers_nobody() {
    let waits = ring(&[5, 1, 4, 2], &[false; 4], &[false; 4]);
    let choice = |requester, seed| {
        let rule = VictimRule::Random { seed };
        let victim = victim(&waits, owner(requester, 0), rule);
        victim.expect("a cycle").place
    };
    let mut chosen = [0; 4];
    for seed in 0..4_000 {
        let place = choice(1 + seed % 4, seed);
        chosen[place] += 1;
        assert_eq!(place, choice(1, seed), "the requester decided");
    }
    let evenly = chosen.iter().all(|count| (850..1150).contains(count));
    assert!(evenly, "{chosen:?}");
}
