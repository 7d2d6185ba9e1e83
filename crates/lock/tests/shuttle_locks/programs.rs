//! Programs of requests drawn at random, by transactions with siblings: all end, and none is denied without need.

use super::{Transaction, explore, in_space, run};
use sardonyx_base::sync::thread;
use sardonyx_lock::{Denied, LockSpace, Locks, Mode, Owner, PAGES};
use shuttle::rand::{self, Rng};
use std::sync::Arc;

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

/// The requests of a subtransaction, in this order.
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

/// Executes a subtransaction until it is done or its transaction has to abort. If it has to restart because it waited
/// for an object, it waits for that without pages first, as [`Denied`] requires.
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

/// A transaction that asks for everything in one order is never in a deadlock, so none is denied.
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
