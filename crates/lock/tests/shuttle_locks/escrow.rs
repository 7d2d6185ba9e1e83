//! Escrow: reservations keep an account between its bounds with any aborts, and waits for pending changes are
//! deadlocks exactly if nothing else may end them.

use super::{CHANGE, OBJECTS, Transaction, explore, in_space, run};
use sardonyx_base::sync::Mutex;
use sardonyx_base::sync::thread;
use sardonyx_lock::{Denied, Locks, Owner, Quantity, Reserved};
use std::sync::Arc;

/// The page of an escrow: the value, under a page lock that is a mutex here.
struct Account {
    value: Mutex<i64>,
}

const LOW: i64 = 0;
const HIGH: i64 = 10;

impl Account {
    /// One transaction: some changes, then commit, or abort with compensations. Gives up on the
    /// first change that is out of bounds or denied, and aborts.
    fn transact(&self, locks: &Locks, number: u64, changes: &[i64], commit: bool) -> i64 {
        let transaction = Transaction::new(locks, number);
        let owner = transaction.owner;
        let mut done = Vec::new();
        let mut whole = true;
        'changes: for &change in changes {
            loop {
                let token = {
                    let mut value = self.value.lock();
                    let quantity = Quantity {
                        value: *value,
                        change,
                        low: LOW,
                        high: HIGH,
                    };
                    match locks.try_reserve(owner, &OBJECTS, 1, quantity) {
                        Reserved::Granted { first } => {
                            assert_eq!(first, done.is_empty());
                            *value += change;
                            done.push(change);
                            break;
                        }
                        Reserved::MustWait(token) => token,
                        Reserved::OutOfBounds => {
                            whole = false;
                            break 'changes;
                        }
                    }
                };
                let asker = transaction.asker(owner, 1);
                if let Err(denied) = locks.wait_for_reservations(asker, &OBJECTS, 1, token) {
                    // Both may mean it here: as a subtransaction it holds nothing.
                    assert_eq!(denied, Denied::Deadlock);
                    whole = false;
                    break 'changes;
                }
            }
        }
        let sum = if commit && whole {
            done.iter().sum()
        } else {
            for change in done.into_iter().rev() {
                let mut value = self.value.lock();
                *value -= change;
                locks.adjust_reservation(owner, &OBJECTS, 1, -change);
            }
            0
        };
        locks.release_reservations(owner, [in_space(&OBJECTS, 1)]);
        sum
    }
}

#[test]
fn shuttle_escrow_keeps_its_bounds_and_loses_no_wake_up() {
    // Deposits that abort under withdrawals that count on them, and the other way round.
    let cases: [[(&[i64], bool); 3]; 5] = [
        [(&[6], false), (&[-4], true), (&[4], true)],
        [(&[3, 3], true), (&[-5], true), (&[-1, -1], false)],
        [(&[9], false), (&[9], true), (&[-9], true)],
        [(&[9], true), (&[-9], false), (&[9], true)],
        [(&[8, -8], true), (&[-3, 5], true), (&[5, -6], false)],
    ];
    for case in cases {
        explore(move || {
            let locks = Arc::new(Locks::new());
            let account = Arc::new(Account {
                value: Mutex::new(0),
            });
            let committed = Arc::new(Mutex::new(0));
            let bodies = (1..).zip(case).map(|(number, (changes, commit))| {
                let (account, committed) = (account.clone(), committed.clone());
                let body: Box<dyn FnOnce(&Locks) + Send> = Box::new(move |locks| {
                    let sum = account.transact(locks, number, changes, commit);
                    let mut committed = committed.lock();
                    *committed += sum;
                });
                body
            });
            run(&locks, bodies.collect());
            let value = *account.value.lock();
            assert_eq!(value, *committed.lock());
            assert!((LOW..=HIGH).contains(&value), "{value} is out of bounds");
        });
    }
}

/// T1 has a pending deposit and asks for T2's object; T2 asks for a withdrawal that depends on the
/// deposit. If `third` has a pending deposit too, T2 may go on after that one, so it is no deadlock.
fn cycle_through_a_pending_change(third: bool) {
    explore(move || {
        let locks = Arc::new(Locks::new());
        let account = Arc::new(Account {
            value: Mutex::new(0),
        });
        let quantity = |value, change| Quantity {
            value,
            change,
            low: LOW,
            high: HIGH,
        };
        let deposit = move |locks: &Locks, account: &Account, number| {
            let mut value = account.value.lock();
            let owner = Owner::transaction(number);
            let reserved = locks.try_reserve(owner, &OBJECTS, 1, quantity(*value, 5));
            assert_eq!(reserved, Reserved::Granted { first: true });
            *value += 5;
        };
        let account_of = || in_space(&OBJECTS, 1);
        let mut bodies: Vec<Box<dyn FnOnce(&Locks) + Send>> = Vec::new();
        if third {
            deposit(&locks, &account, 3);
            bodies.push(Box::new(move |locks| {
                thread::yield_now();
                locks.release_reservations(Owner::transaction(3), [account_of()]);
            }));
        }
        deposit(&locks, &account, 1);
        bodies.push(Box::new(move |locks| {
            let mut transaction = Transaction::new(locks, 1);
            transaction.object(1, 2, CHANGE).expect("the older goes on");
            locks.release_reservations(transaction.owner, [account_of()]);
            transaction.end();
        }));
        bodies.push(Box::new(move |locks| {
            let mut transaction = Transaction::new(locks, 2);
            transaction
                .object(1, 2, CHANGE)
                .expect("nothing to wait for");
            let changed = account.transact(locks, 2, &[-5], true);
            assert!(changed == -5 || !third, "a victim without a deadlock");
            transaction.end();
        }));
        run(&locks, bodies);
        let statistics = locks.statistics().objects;
        assert_eq!(statistics.restarts, 0);
        assert!(statistics.aborts <= u64::from(!third));
    });
}

#[test]
fn shuttle_a_cycle_through_a_pending_change_is_found() {
    cycle_through_a_pending_change(false);
}

#[test]
fn shuttle_a_wait_that_another_pending_change_may_end_is_no_deadlock() {
    cycle_through_a_pending_change(true);
}
