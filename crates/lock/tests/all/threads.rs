//! The lock manager with threads of the operating system: a waiter is granted its lock, or denied.

use sardonyx_lock::{
    Asker, Denied, EXCLUSIVE, Granted, LockSpace, Locks, Mode, Owner, PAGES, Quantity, Reserved,
    Resource, SHARED, VictimRule,
};
use std::thread;

static OBJECTS: LockSpace = LockSpace::new("objects", &[&[true, false], &[false, false]]);
const READ: Mode = Mode(0);
const CHANGE: Mode = Mode(1);

fn page(object: u64) -> Resource {
    let space = PAGES.number();
    Resource { space, object }
}

fn object(object: u64) -> Resource {
    let space = OBJECTS.number();
    Resource { space, object }
}

/// A subtransaction that asks for pages.
fn for_page(transaction: u64, k: u16) -> Asker {
    let owner = Owner::transaction(transaction).subtransaction(k);
    Asker {
        holder: owner,
        waiter: owner,
        age: transaction,
        compensation: false,
    }
}

/// A subtransaction that asks for objects, for its transaction.
fn for_object(transaction: u64, k: u16) -> Asker {
    Asker {
        holder: Owner::transaction(transaction),
        ..for_page(transaction, k)
    }
}

/// Lets others run until so many wait.
fn until_waiting(locks: &Locks, count: usize) {
    while locks.waiting().len() < count {
        thread::yield_now();
    }
}

#[test]
fn who_waits_goes_on_when_the_lock_is_given_back() {
    let locks = Locks::new();
    let (one, other) = (for_page(1, 1), for_page(2, 1));
    assert_eq!(locks.request(one, &PAGES, 3, EXCLUSIVE), Ok(Granted::New));
    thread::scope(|scope| {
        let waiter = scope.spawn(|| locks.request(other, &PAGES, 3, SHARED));
        until_waiting(&locks, 1);
        let waiting = &locks.waiting()[0];
        assert_eq!((waiting.space, waiting.object), ("pages", 3));
        assert_eq!(waiting.mode, Some(SHARED));
        assert_eq!(waiting.blockers, [one.holder]);
        locks.release(one.holder, [page(3)]);
        assert_eq!(waiter.join().unwrap(), Ok(Granted::New));
    });
    let pages = locks.statistics().pages;
    assert_eq!((pages.requests, pages.waits), (2, 1));
    assert!(!pages.wait_time.is_zero());
    locks.release(other.holder, [page(3)]);
    assert!(locks.is_empty());
}

#[test]
fn of_two_conversions_of_transactions_the_younger_aborts() {
    let locks = Locks::new();
    let (older, younger) = (for_object(1, 1), for_object(2, 1));
    locks.request(older, &OBJECTS, 5, READ).unwrap();
    locks.request(younger, &OBJECTS, 5, READ).unwrap();
    thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let outcome = locks.request(younger, &OBJECTS, 5, CHANGE);
            locks.release(younger.holder, [object(5)]);
            outcome
        });
        until_waiting(&locks, 1);
        assert_eq!(locks.request(older, &OBJECTS, 5, CHANGE), Ok(Granted::More));
        assert_eq!(waiter.join().unwrap(), Err(Denied::Deadlock));
    });
    assert_eq!(locks.statistics().objects.aborts, 1);
}

#[test]
fn a_cycle_over_both_levels_ends_with_a_restart_of_who_holds_the_page() {
    let locks = Locks::new();
    // The subtransaction of 2 holds a page and waits for an object of 1; that of 1 for the page.
    locks
        .request(for_object(1, 1), &OBJECTS, 5, CHANGE)
        .unwrap();
    locks.request(for_page(2, 1), &PAGES, 9, EXCLUSIVE).unwrap();
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            let denied = locks.request(for_object(2, 1), &OBJECTS, 5, CHANGE);
            assert_eq!(denied, Err(Denied::Restart));
            locks.release(for_page(2, 1).holder, [page(9)]);
            locks.request(for_object(2, 1), &OBJECTS, 5, CHANGE)
        });
        until_waiting(&locks, 1);
        let granted = locks.request(for_page(1, 1), &PAGES, 9, EXCLUSIVE);
        assert_eq!(granted, Ok(Granted::New));
        locks.release(for_page(1, 1).holder, [page(9)]);
        locks.release(Owner::transaction(1), [object(5)]);
        assert_eq!(other.join().unwrap(), Ok(Granted::New));
    });
    assert_eq!(locks.statistics().objects.restarts, 1);
}

#[test]
fn who_depends_on_a_pending_change_goes_on_when_it_is_decided() {
    let locks = Locks::new();
    let quantity = |value, change| Quantity {
        value,
        change,
        low: 0,
        high: 100,
    };
    let (one, other) = (for_object(1, 1), for_object(2, 1));
    let deposit = locks.try_reserve(one.holder, &OBJECTS, 5, quantity(0, 100));
    assert_eq!(deposit, Reserved::Granted { first: true });
    let withdrawal = locks.try_reserve(other.holder, &OBJECTS, 5, quantity(100, -1));
    let Reserved::MustWait(token) = withdrawal else {
        panic!("{withdrawal:?}");
    };
    thread::scope(|scope| {
        let waiter = scope.spawn(|| locks.wait_for_reservations(other, &OBJECTS, 5, token));
        until_waiting(&locks, 1);
        assert_eq!(locks.waiting()[0].blockers, [one.holder]);
        locks.release_reservations(one.holder, [object(5)]);
        assert_eq!(waiter.join().unwrap(), Ok(()));
    });
    assert_eq!(
        locks.wait_for_reservations(other, &OBJECTS, 5, token),
        Ok(())
    );
    let withdrawal = locks.try_reserve(other.holder, &OBJECTS, 5, quantity(100, -1));
    assert_eq!(withdrawal, Reserved::Granted { first: true });
    let too_much = locks.try_reserve(one.holder, &OBJECTS, 5, quantity(99, -101));
    assert_eq!(too_much, Reserved::OutOfBounds);
}

#[test]
fn a_restart_is_preferred_to_an_abort_of_a_younger_one() {
    let locks = Locks::new();
    // The subtransaction of 1, the older, holds a page and waits for an object of 2.
    locks
        .request(for_object(2, 1), &OBJECTS, 5, CHANGE)
        .unwrap();
    locks.request(for_page(1, 1), &PAGES, 9, EXCLUSIVE).unwrap();
    thread::scope(|scope| {
        let older = scope.spawn(|| {
            let denied = locks.request(for_object(1, 1), &OBJECTS, 5, READ);
            locks.release(for_page(1, 1).holder, [page(9)]);
            denied
        });
        until_waiting(&locks, 1);
        let granted = locks.request(for_page(2, 1), &PAGES, 9, EXCLUSIVE);
        assert_eq!(granted, Ok(Granted::New));
        assert_eq!(older.join().unwrap(), Err(Denied::Restart));
    });
    let statistics = locks.statistics();
    assert_eq!(statistics.objects.restarts, 1);
    assert_eq!(statistics.objects.aborts + statistics.pages.aborts, 0);
}

#[test]
fn a_sibling_that_waits_for_the_same_object_keeps_its_place_when_one_is_denied() {
    let locks = Locks::new();
    locks
        .request(for_object(1, 1), &OBJECTS, 5, CHANGE)
        .unwrap();
    locks.request(for_page(2, 1), &PAGES, 9, EXCLUSIVE).unwrap();
    thread::scope(|scope| {
        let with_page = scope.spawn(|| {
            let denied = locks.request(for_object(2, 1), &OBJECTS, 5, READ);
            locks.release(for_page(2, 1).holder, [page(9)]);
            denied
        });
        let sibling = scope.spawn(|| locks.request(for_object(2, 2), &OBJECTS, 5, CHANGE));
        until_waiting(&locks, 2);
        let behind = scope.spawn(|| locks.request(for_object(3, 1), &OBJECTS, 5, READ));
        until_waiting(&locks, 3);
        // Now 1 waits for the page: only the sibling that has it is in the cycle.
        let granted = locks.request(for_page(1, 1), &PAGES, 9, EXCLUSIVE);
        assert_eq!(granted, Ok(Granted::New));
        assert_eq!(with_page.join().unwrap(), Err(Denied::Restart));
        let waiting = locks.waiting();
        let waiters: Vec<Owner> = waiting.iter().map(|waiting| waiting.asker.waiter).collect();
        assert_eq!(waiters, [for_page(2, 2).waiter, for_page(3, 1).waiter]);
        locks.release(Owner::transaction(1), [object(5)]);
        assert_eq!(sibling.join().unwrap(), Ok(Granted::New));
        locks.release(Owner::transaction(2), [object(5)]);
        assert_eq!(behind.join().unwrap(), Ok(Granted::New));
    });
}

#[test]
fn all_waiting_siblings_of_a_transaction_that_must_abort_are_told() {
    let locks = Locks::new();
    for number in 1..=3 {
        let asker = for_object(number, 1);
        locks.request(asker, &OBJECTS, number, CHANGE).unwrap();
    }
    thread::scope(|scope| {
        let in_the_cycle = scope.spawn(|| locks.request(for_object(2, 1), &OBJECTS, 1, READ));
        // 3 does not wait for anybody, so this one is in no cycle.
        let beside_it = scope.spawn(|| locks.request(for_object(2, 2), &OBJECTS, 3, READ));
        until_waiting(&locks, 2);
        let older = scope.spawn(|| locks.request(for_object(1, 1), &OBJECTS, 2, READ));
        assert_eq!(in_the_cycle.join().unwrap(), Err(Denied::Deadlock));
        assert_eq!(beside_it.join().unwrap(), Err(Denied::Deadlock));
        locks.release(Owner::transaction(2), [object(2)]);
        assert_eq!(older.join().unwrap(), Ok(Granted::New));
    });
    assert_eq!(locks.statistics().objects.aborts, 1);
}

#[test]
fn one_wait_that_closes_two_cycles_has_two_victims() {
    let locks = Locks::new();
    locks.request(for_page(1, 1), &PAGES, 1, EXCLUSIVE).unwrap();
    for number in 2..=3 {
        locks
            .request(for_page(number, 1), &PAGES, 9, SHARED)
            .unwrap();
    }
    thread::scope(|scope| {
        let victims = [2, 3].map(|number| {
            let locks = &locks;
            scope.spawn(move || {
                let asker = for_page(number, 1);
                let outcome = locks.request(asker, &PAGES, 1, SHARED);
                locks.release(asker.holder, [page(9)]);
                outcome
            })
        });
        until_waiting(&locks, 2);
        let granted = locks.request(for_page(1, 1), &PAGES, 9, EXCLUSIVE);
        assert_eq!(granted, Ok(Granted::New));
        for victim in victims {
            assert_eq!(victim.join().unwrap(), Err(Denied::Restart));
        }
    });
    assert_eq!(locks.statistics().pages.restarts, 2);
}

#[test]
fn who_is_ahead_in_the_queue_of_an_object_is_not_restarted_for_that() {
    let locks = Locks::new();
    for number in [1, 3] {
        let asker = for_object(number, 1);
        locks.request(asker, &OBJECTS, 5, READ).unwrap();
    }
    locks.request(for_page(2, 1), &PAGES, 9, EXCLUSIVE).unwrap();
    thread::scope(|scope| {
        let conversion = scope.spawn(|| locks.request(for_object(3, 1), &OBJECTS, 5, CHANGE));
        until_waiting(&locks, 1);
        let behind = scope.spawn(|| {
            let denied = locks.request(for_object(2, 1), &OBJECTS, 5, READ);
            locks.release(for_page(2, 1).holder, [page(9)]);
            denied
        });
        until_waiting(&locks, 2);
        // 1 waits for the page of 2, which waits behind the conversion of 3, which waits for 1. The youngest is 3, but
        // it has no page to release, and its conversion would come again first.
        let granted = locks.request(for_page(1, 1), &PAGES, 9, EXCLUSIVE);
        assert_eq!(granted, Ok(Granted::New));
        assert_eq!(behind.join().unwrap(), Err(Denied::Restart));
        locks.release(Owner::transaction(1), [object(5)]);
        assert_eq!(conversion.join().unwrap(), Ok(Granted::More));
    });
}

#[test]
fn who_has_to_go_first_only_is_waited_for_alone_and_not_its_siblings() {
    // Update comes beside readers, but admits none; the third mode goes with all but itself.
    static UPDATED: LockSpace = LockSpace::new(
        "updated",
        &[
            &[true, true, true],
            &[false, false, true],
            &[true, true, false],
        ],
    );
    const SHARED: Mode = Mode(0);
    const UPDATE: Mode = Mode(1);
    const APART: Mode = Mode(2);
    let locks = Locks::new();
    let ask = |number, mode| locks.request(for_object(number, 1), &UPDATED, 5, mode);
    let release = |number| {
        let space = UPDATED.number();
        let resource = Resource { space, object: 5 };
        locks.release(Owner::transaction(number), [resource]);
    };
    ask(1, UPDATE).unwrap();
    ask(5, APART).unwrap();
    thread::scope(|scope| {
        let mut waiting = Vec::new();
        for (number, mode) in [(2, SHARED), (3, UPDATE), (4, APART)] {
            waiting.push(scope.spawn(move || ask(number, mode)));
            until_waiting(&locks, waiting.len());
        }
        let blockers = |number: u64| {
            let all = locks.waiting().into_iter();
            let mut of_it = all.filter(|waiting| waiting.asker.holder.number() == number);
            of_it.next().expect("it waits").blockers
        };
        let blockers = [2, 3, 4].map(blockers);
        for number in [1, 5] {
            release(number);
        }
        for waiting in waiting {
            assert_eq!(waiting.join().unwrap(), Ok(Granted::New));
        }
        let [of_reader, of_update, apart] = blockers;
        assert_eq!(of_reader, [Owner::transaction(1)]);
        // When the reader before it has its lock, it admits the update.
        let reader = for_object(2, 1).waiter;
        assert_eq!(of_update, [Owner::transaction(1), reader]);
        assert_eq!(apart, [Owner::transaction(5)]);
    });
}

/// Three transactions in a ring, which the request of the second closes. Returns the number of the one that has to
/// abort.
fn victim_of_three(rule: VictimRule) -> u64 {
    let locks = Locks::with_victims(rule);
    // A transaction that locks pages itself, to its end.
    let alone = |number| Asker {
        holder: Owner::transaction(number),
        waiter: Owner::transaction(number),
        age: number,
        compensation: false,
    };
    for number in 1..=3 {
        locks
            .request(alone(number), &PAGES, number, EXCLUSIVE)
            .unwrap();
    }
    let ask = |number: u64| {
        let wanted = number % 3 + 1;
        let outcome = locks.request(alone(number), &PAGES, wanted, SHARED);
        locks.release(alone(number).holder, [page(number), page(wanted)]);
        (number, outcome)
    };
    let outcomes = thread::scope(|scope| {
        let first = scope.spawn(|| ask(1));
        until_waiting(&locks, 1);
        let third = scope.spawn(|| ask(3));
        until_waiting(&locks, 2);
        [ask(2), first.join().unwrap(), third.join().unwrap()]
    });
    assert!(locks.is_empty());
    let denied = outcomes.iter().filter(|(_, outcome)| outcome.is_err());
    let denied: Vec<u64> = denied.map(|(number, _)| *number).collect();
    assert_eq!(denied.len(), 1, "{outcomes:?}");
    denied[0]
}

#[test]
fn the_victim_is_whom_the_rule_names() {
    assert_eq!(victim_of_three(VictimRule::Youngest), 3);
    assert_eq!(victim_of_three(VictimRule::Oldest), 1);
    assert_eq!(victim_of_three(VictimRule::Requester), 2);
    let chosen = |seed| victim_of_three(VictimRule::Random { seed });
    let of_seeds: Vec<u64> = (0..12).map(chosen).collect();
    assert_eq!(of_seeds, (0..12).map(chosen).collect::<Vec<_>>());
    for number in 1..=3 {
        assert!(of_seeds.contains(&number), "{of_seeds:?}");
    }
}
