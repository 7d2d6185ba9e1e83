//! Models of the lock manager under Shuttle. Threads run transactions against [`Locks`] under
//! thousands of schedules; a lost wake-up or an undetected deadlock shows as a deadlock of the
//! model, which Shuttle reports.
//!
//! ```text
//! RUSTFLAGS="--cfg shuttle" cargo test -p sardonyx-lock --test shuttle_locks
//! ```
#![cfg(shuttle)]

use sardonyx_base::sync::Mutex;
use sardonyx_base::sync::thread;
use sardonyx_lock::{
    Asker, Denied, EXCLUSIVE, Granted, LockSpace, Locks, Mode, Owner, PAGES, Quantity, Reserved,
    Resource, SHARED,
};
use shuttle::rand::{self, Rng};
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use std::sync::Arc;

static OBJECTS: LockSpace = LockSpace::new("objects", &[&[true, false], &[false, false]]);
const READ: Mode = Mode(0);
const CHANGE: Mode = Mode(1);

/// Some schedules of each kind: chosen at random, and with few but well-placed changes of thread.
fn explore(body: impl Fn() + Send + Sync + Clone + 'static) {
    let mut config = shuttle::Config::new();
    config.stack_size = 256 << 10;
    let random = RandomScheduler::new_from_seed(1, 3000);
    shuttle::Runner::new(random, config.clone()).run(body.clone());
    let few_changes = PctScheduler::new_from_seed(1, 3, 3000);
    shuttle::Runner::new(few_changes, config).run(body);
}

/// Runs these threads to their ends. Nothing may stay locked.
fn run(locks: &Arc<Locks>, bodies: Vec<Box<dyn FnOnce(&Locks) + Send>>) {
    let threads: Vec<_> = bodies
        .into_iter()
        .map(|body| {
            let locks = locks.clone();
            thread::spawn(move || body(&locks))
        })
        .collect();
    for thread in threads {
        thread.join().expect("a thread ends well");
    }
    assert!(locks.is_empty(), "something is left");
    assert!(locks.waiting().is_empty());
}

fn in_space(space: &'static LockSpace, object: u64) -> Resource {
    let space = space.number();
    Resource { space, object }
}

/// A transaction, as the engine runs one: what it holds until its end.
struct Transaction<'a> {
    locks: &'a Locks,
    owner: Owner,
    compensation: bool,
    objects: Vec<Resource>,
}

impl<'a> Transaction<'a> {
    fn new(locks: &'a Locks, number: u64) -> Self {
        Transaction {
            locks,
            owner: Owner::transaction(number),
            compensation: false,
            objects: Vec::new(),
        }
    }

    fn asker(&self, holder: Owner, k: u16) -> Asker {
        Asker {
            holder,
            waiter: self.owner.subtransaction(k),
            age: self.owner.number(),
            compensation: self.compensation,
        }
    }

    fn object(&mut self, k: u16, object: u64, mode: Mode) -> Result<Granted, Denied> {
        let asker = self.asker(self.owner, k);
        let granted = self.locks.request(asker, &OBJECTS, object, mode)?;
        if granted == Granted::New {
            self.objects.push(in_space(&OBJECTS, object));
        }
        Ok(granted)
    }

    fn page(&self, k: u16, page: u64, mode: Mode) -> Result<Granted, Denied> {
        let asker = self.asker(self.owner.subtransaction(k), k);
        self.locks.request(asker, &PAGES, page, mode)
    }

    /// Locks pages in turn for subtransaction `k`, starting over when told so, and lets go of them.
    fn pages(&self, k: u16, pages: &[(u64, Mode)]) -> Result<usize, Denied> {
        let mut restarts = 0;
        loop {
            let outcome = pages.iter().try_for_each(|&(page, mode)| {
                self.page(k, page, mode).map(|_| thread::yield_now())
            });
            let all = pages.iter().map(|&(page, _)| in_space(&PAGES, page));
            self.locks.release(self.owner.subtransaction(k), all);
            match outcome {
                Ok(()) => return Ok(restarts),
                Err(Denied::Restart) => restarts += 1,
                Err(Denied::Deadlock) => return Err(Denied::Deadlock),
            }
        }
    }

    fn end(self) {
        self.locks.release(self.owner, self.objects);
    }
}

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

/// A conversion that is granted at once passes those who wait, and may so close a cycle through a
/// sibling that waits, though nobody begins to wait.
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

/// Two compensations against each other: there is nobody else, so one restarts.
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

/// What an escrow's page has: the value, under a page lock that is a mutex here.
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

/// Modes of which some go beside others in one order only.
static ASYMMETRIC: LockSpace = LockSpace::new(
    "asymmetric",
    &[
        &[true, true, true, false],
        &[true, false, true, false],
        &[true, false, true, false],
        &[false, true, false, false],
    ],
);

/// What a subtransaction asks for, in this order.
type Program = Vec<(&'static LockSpace, u64, Mode)>;

fn any_program(random: &mut impl Rng, length: usize) -> Program {
    let request = |random: &mut dyn rand::RngCore| {
        if random.gen_range(0..3) == 0 {
            (&PAGES, random.gen_range(0..2), Mode(random.gen_range(0..2)))
        } else {
            (
                &ASYMMETRIC,
                random.gen_range(0..2),
                Mode(random.gen_range(0..4)),
            )
        }
    };
    (0..length).map(|_| request(random)).collect()
}

/// Executes a subtransaction until it is done or its transaction has to abort. If it has to restart
/// because it waited for an object, it waits for that without pages first, as [`Denied`] says.
fn subtransaction(
    locks: &Locks,
    transaction: u64,
    k: u16,
    program: &Program,
) -> Result<(), Denied> {
    let transaction = Transaction::new(locks, transaction);
    let own = transaction.owner.subtransaction(k);
    let request = |&(space, object, mode): &(&'static LockSpace, u64, Mode)| {
        let pages = space.number() == PAGES.number();
        let holder = if pages { own } else { transaction.owner };
        locks.request(transaction.asker(holder, k), space, object, mode)
    };
    'execution: loop {
        for wanted in program {
            let Err(denied) = request(wanted) else {
                continue;
            };
            locks.release(own, (0..2).map(|page| in_space(&PAGES, page)));
            if denied == Denied::Deadlock {
                return Err(denied);
            }
            if wanted.0.number() != PAGES.number() {
                let granted = request(wanted);
                assert_ne!(granted, Err(Denied::Restart), "it has no page to let go of");
                granted?;
            }
            continue 'execution;
        }
        locks.release(own, (0..2).map(|page| in_space(&PAGES, page)));
        return Ok(());
    }
}

/// Transactions of two siblings each that ask for anything in any order: all of them end, because
/// every deadlock is found. Transactions that were denied are run again.
#[test]
fn shuttle_whatever_is_asked_for_everybody_ends() {
    explore(|| {
        let locks = Arc::new(Locks::new());
        let transactions = (1..=3).map(|number| {
            let programs: [Program; 2] =
                std::array::from_fn(|_| any_program(&mut shuttle::rand::thread_rng(), 3));
            let locks = locks.clone();
            thread::spawn(move || {
                loop {
                    let sibling = {
                        let (locks, program) = (locks.clone(), programs[1].clone());
                        thread::spawn(move || subtransaction(&locks, number, 2, &program))
                    };
                    let first = subtransaction(&locks, number, 1, &programs[0]);
                    let second = sibling.join().expect("ends well");
                    let all = (0..2).map(|object| in_space(&ASYMMETRIC, object));
                    locks.release(Owner::transaction(number), all);
                    if first.and(second).is_ok() {
                        break;
                    }
                }
            })
        });
        let transactions: Vec<_> = transactions.collect();
        for transaction in transactions {
            transaction.join().expect("ends well");
        }
        assert!(locks.is_empty());
    });
}

/// Who asks for everything in one order is never in a deadlock, so nobody is denied.
#[test]
fn shuttle_who_keeps_to_one_order_is_never_denied() {
    explore(|| {
        let locks = Arc::new(Locks::new());
        let bodies = (1..=4).map(|number| {
            let mut program = any_program(&mut shuttle::rand::thread_rng(), 4);
            program.sort_by_key(|(space, object, _)| (space.number(), *object));
            program.dedup_by_key(|(space, object, _)| (space.number(), *object));
            let body: Box<dyn FnOnce(&Locks) + Send> = Box::new(move |locks| {
                let done = subtransaction(locks, number, 1, &program);
                assert_eq!(done, Ok(()), "{program:?}");
                let all = (0..2).map(|object| in_space(&ASYMMETRIC, object));
                locks.release(Owner::transaction(number), all);
            });
            body
        });
        run(&locks, bodies.collect());
        let statistics = locks.statistics();
        assert_eq!(statistics.pages.restarts + statistics.objects.restarts, 0);
    });
}
