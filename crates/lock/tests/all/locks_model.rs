//! The lock manager, driven by one thread for many owners, beside the lock table without threads: both grant the same.
//! If the table would queue, the manager refuses to wait.

use crate::oracle::LockTable;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use sardonyx_lock::{Answer, Asker, Granted, LockSpace, Locks, Mode, Owner, PAGES, Resource};

/// Reading and incrementing go with their like only.
static COUNTERS: LockSpace = LockSpace::new("counters", &[&[true, false], &[false, true]]);

/// Shared, update and exclusive: update comes beside readers, but admits none.
static UPDATED: LockSpace = LockSpace::new(
    "updated",
    &[
        &[true, true, false],
        &[false, false, false],
        &[false, false, false],
    ],
);

static SPACES: [&LockSpace; 3] = [&PAGES, &COUNTERS, &UPDATED];

#[derive(Clone, Debug)]
enum Step {
    Request {
        owner: u8,
        space: usize,
        object: u64,
        mode: u8,
    },
    Release {
        owner: u8,
        space: usize,
        object: u64,
    },
    ReleaseAll {
        owner: u8,
    },
}

const OWNERS: u8 = 6;
const OBJECTS: u64 = 3;

/// Transactions and subtransactions by turns.
fn owner(number: u8) -> Owner {
    let transaction = Owner::transaction(u64::from(number / 2) + 1);
    if number.is_multiple_of(2) {
        transaction
    } else {
        transaction.subtransaction(u16::from(number))
    }
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..OWNERS, 0..3_usize, 0..OBJECTS, 0..6_u8).prop_map(|(owner, space, object, dice)| {
            let mode = dice % SPACES[space].matrix().modes() as u8;
            Step::Request { owner, space, object, mode }
        }),
        1 => (0..OWNERS, 0..3_usize, 0..OBJECTS)
            .prop_map(|(owner, space, object)| Step::Release { owner, space, object }),
        1 => (0..OWNERS).prop_map(|owner| Step::ReleaseAll { owner }),
    ]
}

/// The tables without threads, one for each space.
struct Model(Vec<LockTable<u64, Owner>>);

impl Model {
    /// Asks without waiting.
    fn try_request(
        &mut self,
        owner: Owner,
        space: usize,
        object: u64,
        mode: Mode,
    ) -> Option<Granted> {
        let new = self.0[space].held(owner, object).is_empty();
        let mut after = self.0[space].clone();
        let granted = match after.request(owner, object, mode) {
            Answer::Waiting => return None,
            Answer::Held => Granted::Held,
            Answer::Granted if new => Granted::New,
            Answer::Granted => Granted::More,
        };
        self.0[space] = after;
        Some(granted)
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(5),
        ..ProptestConfig::with_cases(sardonyx_base::random::cases(400))
    })]

    #[test]
    fn the_manager_grants_what_the_tables_grant(steps in vec(step(), 1..80)) {
        let locks = Locks::new();
        let tables = SPACES.map(|space| LockTable::new(space.matrix().clone()));
        let mut model = Model(Vec::from(tables));
        let mut requests = [0, 0];
        let resource = |space: usize, object| Resource { space: SPACES[space].number(), object };
        for step in steps {
            match step {
                Step::Request { owner: number, space, object, mode } => {
                    let holder = owner(number);
                    let asker = Asker { holder, waiter: holder, age: 1, compensation: false };
                    let expected = model.try_request(holder, space, object, Mode(mode));
                    // A request that is granted at once does the same as one that may not wait.
                    let granted = if expected.is_some() && number % 3 == 0 {
                        locks.request(asker, SPACES[space], object, Mode(mode)).ok()
                    } else {
                        locks.try_request(asker, SPACES[space], object, Mode(mode))
                    };
                    prop_assert_eq!(granted, expected);
                    requests[usize::from(space > 0)] += 1;
                }
                Step::Release { owner: number, space, object } => {
                    locks.release(owner(number), [resource(space, object)]);
                    model.0[space].release(owner(number), object, &mut Vec::new());
                }
                Step::ReleaseAll { owner: number } => {
                    let all = (0..3).flat_map(|space| (0..OBJECTS).map(move |o| resource(space, o)));
                    locks.release(owner(number), all);
                    for table in &mut model.0 {
                        table.release_all(owner(number), &mut Vec::new());
                    }
                }
            }
            for owner in (0..OWNERS).map(owner) {
                for (space, table) in model.0.iter().enumerate() {
                    for object in 0..OBJECTS {
                        let held = locks.held(owner, SPACES[space], object);
                        prop_assert_eq!(held, table.held(owner, object));
                    }
                }
            }
            prop_assert_eq!(locks.is_empty(), model.0.iter().all(LockTable::is_empty));
        }
        let statistics = locks.statistics();
        prop_assert_eq!([statistics.pages.requests, statistics.objects.requests], requests);
        prop_assert_eq!(statistics.pages.waits + statistics.objects.waits, 0);
    }
}

#[test]
#[should_panic(expected = "the lock space \"counters\" has no mode 2")]
fn a_mode_that_the_space_has_not_is_refused() {
    let holder = Owner::transaction(1);
    let asker = Asker {
        holder,
        waiter: holder,
        age: 1,
        compensation: false,
    };
    let _ = Locks::new().try_request(asker, &COUNTERS, 1, Mode(2));
}

#[test]
#[should_panic(expected = "transaction numbers go from 1 to 2^48 - 1, and this is 281474976710656")]
fn a_transaction_number_that_is_too_large_is_refused() {
    let _ = Owner::transaction(1 << 48);
}
