//! Queues of page and object locks: none enters beside a writer, no wake-up is lost, and every deadlock has the one
//! victim that the rules name.

use super::{CHANGE, OBJECTS, READ, Transaction, explore, in_space, run};
use sardonyx_base::sync::Mutex;
use sardonyx_base::sync::thread;
use sardonyx_lock::{Denied, EXCLUSIVE, Granted, LockSpace, Locks, Mode, Owner, PAGES, SHARED};
use std::sync::Arc;

#[test]
fn shuttle_no_wake_up_is_lost_and_nobody_enters_beside_a_writer() {
    explore(|| {
        let locks = Arc::new(Locks::new());
        // Readers inside, or -1 for a writer.
        let inside = Arc::new(Mutex::new(0));
        let body = |number: u64, mode: Mode| {
            let inside = inside.clone();
            let body: Box<dyn FnOnce(&Locks) + Send> = Box::new(move |locks| {
                for _ in 0..2 {
                    let transaction = Transaction::new(locks, number);
                    transaction.page(1, 7, mode).expect("no deadlock");
                    {
                        let mut inside = inside.lock();
                        assert!(*inside == 0 || (*inside > 0 && mode == SHARED));
                        *inside += if mode == SHARED { 1 } else { -1 };
                    }
                    thread::yield_now();
                    *inside.lock() -= if mode == SHARED { 1 } else { -1 };
                    locks.release(transaction.owner.subtransaction(1), [in_space(&PAGES, 7)]);
                }
            });
            body
        };
        let modes = [EXCLUSIVE, SHARED, EXCLUSIVE, SHARED];
        run(
            &locks,
            (1..).zip(modes).map(|(n, mode)| body(n, mode)).collect(),
        );
        assert_eq!(locks.statistics().pages.requests, 8);
    });
}

#[test]
fn shuttle_pages_in_a_circle_end_with_restarts_only() {
    explore(|| {
        let locks = Arc::new(Locks::new());
        let body = |number: u64| {
            let body: Box<dyn FnOnce(&Locks) + Send> = Box::new(move |locks| {
                let transaction = Transaction::new(locks, number);
                let pages = [(number % 3, EXCLUSIVE), ((number + 1) % 3, EXCLUSIVE)];
                let restarts = transaction.pages(1, &pages).expect("pages only");
                assert!(number > 1 || restarts == 0, "the oldest was the victim");
            });
            body
        };
        run(&locks, (1..=3).map(body).collect());
        let statistics = locks.statistics();
        assert_eq!(statistics.pages.aborts, 0);
        assert!(statistics.pages.restarts <= 1);
    });
}

#[test]
fn shuttle_conversions_of_pages_restart_the_younger() {
    explore(|| {
        let locks = Arc::new(Locks::new());
        let body = |number: u64| {
            let body: Box<dyn FnOnce(&Locks) + Send> = Box::new(move |locks| {
                let transaction = Transaction::new(locks, number);
                let restarts = transaction.pages(1, &[(7, SHARED), (7, EXCLUSIVE)]);
                assert!(number > 1 || restarts == Ok(0));
            });
            body
        };
        run(&locks, (1..=3).map(body).collect());
        assert_eq!(locks.statistics().pages.aborts, 0);
    });
}

/// T1 has locked object 1 and asks for page 9; a subtransaction of T2 that has page 9 asks for
/// object 1. If both are so far, T2's has to restart, or no deadlock was there at all.
#[test]
fn shuttle_a_cycle_over_both_levels_has_exactly_one_victim() {
    explore(|| {
        let locks = Arc::new(Locks::new());
        let first: Box<dyn FnOnce(&Locks) + Send> = Box::new(|locks| {
            let mut transaction = Transaction::new(locks, 1);
            transaction
                .object(1, 1, CHANGE)
                .expect("the older one goes on");
            assert_eq!(transaction.pages(1, &[(9, EXCLUSIVE)]), Ok(0));
            transaction.end();
        });
        let second: Box<dyn FnOnce(&Locks) + Send> = Box::new(|locks| {
            let mut transaction = Transaction::new(locks, 2);
            let page = in_space(&PAGES, 9);
            loop {
                transaction
                    .page(1, 9, EXCLUSIVE)
                    .expect("holds nothing yet");
                let object = transaction.object(1, 1, CHANGE);
                locks.release(transaction.owner.subtransaction(1), [page]);
                match object {
                    Ok(_) => break transaction.end(),
                    Err(denied) => assert_eq!(denied, Denied::Restart),
                }
                // Not to run before the other has got the page: that is the engine's queueing.
                transaction
                    .object(2, 1, CHANGE)
                    .expect("holds nothing any more");
            }
        });
        run(&locks, vec![first, second]);
        let statistics = locks.statistics();
        assert!(statistics.objects.restarts <= 1);
        assert_eq!(statistics.pages.restarts + statistics.pages.aborts, 0);
        assert_eq!(statistics.objects.aborts, 0);
    });
}

/// The same, but each holds an object until its end: one of the two transactions aborts.
#[test]
fn shuttle_objects_in_a_circle_abort_exactly_the_younger() {
    explore(|| {
        let locks = Arc::new(Locks::new());
        let body = |number: u64| {
            let body: Box<dyn FnOnce(&Locks) + Send> = Box::new(move |locks| {
                let mut restarts = 0;
                loop {
                    let mut transaction = Transaction::new(locks, number);
                    let outcome = transaction
                        .object(1, number % 2, READ)
                        .and_then(|_| transaction.object(2, (number + 1) % 2, CHANGE));
                    transaction.end();
                    match outcome {
                        Ok(_) => break,
                        Err(denied) => assert_eq!(denied, Denied::Deadlock),
                    }
                    restarts += 1;
                    assert!(number == 2 && restarts == 1, "a second victim");
                }
            });
            body
        };
        run(&locks, vec![body(1), body(2)]);
        assert!(locks.statistics().objects.aborts <= 1);
    });
}

/// Two siblings each of two transactions: every wait of the victim's is ended, and siblings that
/// ask for the same object go on together, one of them with the new lock.
#[test]
fn shuttle_siblings_wait_as_one_and_are_denied_together() {
    fn attempt(locks: &Arc<Locks>, number: u64) -> Vec<Result<Granted, Denied>> {
        let own = number % 2;
        let first = Transaction::new(locks, number).object(1, own, CHANGE);
        let siblings = [(1, READ), (2, CHANGE)].map(|(k, mode)| {
            let locks = locks.clone();
            thread::spawn(move || Transaction::new(&locks, number).object(k, 1 - own, mode))
        });
        let siblings = siblings.map(|sibling| sibling.join().expect("ends well"));
        let both = (0..2).map(|object| in_space(&OBJECTS, object));
        locks.release(Owner::transaction(number), both);
        [&[first], &siblings[..]].concat()
    }
    explore(|| {
        let locks = Arc::new(Locks::new());
        let threads = [1, 2].map(|number| {
            let locks = locks.clone();
            thread::spawn(move || {
                let mut outcomes = attempt(&locks, number);
                if outcomes.iter().any(Result::is_err) {
                    assert_eq!(number, 2, "the older was the victim: {outcomes:?}");
                    outcomes = attempt(&locks, number);
                }
                let new = outcomes.iter().filter(|o| **o == Ok(Granted::New));
                assert_eq!(new.count(), 2, "each object is new once: {outcomes:?}");
                assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
            })
        });
        for thread in threads {
            thread.join().expect("a thread ends well");
        }
        assert!(locks.is_empty());
    });
}

/// A conversion that is granted at once passes the waiters. So it may close a cycle through a sibling that waits,
/// though no new wait begins.
#[test]
fn shuttle_a_conversion_that_passes_the_waiting_closes_no_cycle_unseen() {
    // Counting goes beside a held reservation, but admits no new one.
    static THREE: LockSpace = LockSpace::new(
        "three",
        &[
            &[true, true, true],
            &[true, false, true],
            &[true, false, true],
        ],
    );
    const LOOK: Mode = Mode(0);
    const RESERVE: Mode = Mode(1);
    const COUNT: Mode = Mode(2);
    explore(|| {
        let locks = Arc::new(Locks::new());
        let ask = |transaction: &Transaction, k, mode| {
            let asker = transaction.asker(transaction.owner, k);
            transaction.locks.request(asker, &THREE, 1, mode)
        };
        let object = || [in_space(&THREE, 1)];
        let page = || [in_space(&PAGES, 9)];
        let siblings = locks.clone();
        let first: Box<dyn FnOnce(&Locks) + Send> = Box::new(move |locks| {
            let transaction = Transaction::new(locks, 1);
            ask(&transaction, 1, LOOK).expect("goes with all");
            let sibling = thread::spawn(move || {
                let sibling = Transaction::new(&siblings, 1);
                assert_eq!(sibling.pages(2, &[(9, EXCLUSIVE)]), Ok(0));
            });
            ask(&transaction, 1, COUNT).expect("the oldest goes on");
            sibling.join().expect("ends well");
            locks.release(transaction.owner, object());
        });
        let second: Box<dyn FnOnce(&Locks) + Send> = Box::new(move |locks| {
            let transaction = Transaction::new(locks, 2);
            ask(&transaction, 1, RESERVE).expect("holds nothing");
            thread::yield_now();
            locks.release(transaction.owner, object());
        });
        let third: Box<dyn FnOnce(&Locks) + Send> = Box::new(move |locks| {
            let transaction = Transaction::new(locks, 3);
            loop {
                transaction.page(1, 9, EXCLUSIVE).expect("holds no page");
                let reserved = ask(&transaction, 1, RESERVE);
                locks.release(transaction.owner.subtransaction(1), page());
                match reserved {
                    Ok(_) => break locks.release(transaction.owner, object()),
                    Err(denied) => assert_eq!(denied, Denied::Restart),
                }
            }
        });
        run(&locks, vec![first, second, third]);
        assert!(locks.statistics().objects.restarts <= 1);
    });
}

/// Compensations are not chosen, even if they are the youngest.
#[test]
fn shuttle_a_compensation_goes_on() {
    explore(|| {
        let locks = Arc::new(Locks::new());
        let body = |number: u64, compensation: bool| {
            let body: Box<dyn FnOnce(&Locks) + Send> = Box::new(move |locks| {
                let mut transaction = Transaction::new(locks, number);
                transaction.compensation = compensation;
                let pages = [(number % 2, EXCLUSIVE), ((number + 1) % 2, EXCLUSIVE)];
                let restarts = transaction.pages(1, &pages).expect("pages only");
                assert!(
                    !compensation || restarts == 0,
                    "a compensation was the victim"
                );
            });
            body
        };
        run(&locks, vec![body(1, false), body(2, true)]);
    });
}

/// Two compensations against each other: there is no third party, so one restarts.
#[test]
fn shuttle_of_compensations_only_one_restarts() {
    explore(|| {
        let locks = Arc::new(Locks::new());
        let body = |number: u64| {
            let body: Box<dyn FnOnce(&Locks) + Send> = Box::new(move |locks| {
                let mut transaction = Transaction::new(locks, number);
                transaction.compensation = true;
                let pages = [(number % 2, EXCLUSIVE), ((number + 1) % 2, EXCLUSIVE)];
                transaction
                    .pages(1, &pages)
                    .expect("a compensation cannot abort");
            });
            body
        };
        run(&locks, vec![body(1), body(2)]);
        assert!(locks.statistics().pages.restarts <= 1);
    });
}
