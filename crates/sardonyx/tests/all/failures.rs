//! An error or a panic inside a transaction undoes that transaction, reaches its caller, and harms no other: in a
//! closure, anywhere in a batch, and in each of a procedure's stages (I8).

use crate::common;
use crate::common::{Item, Opened, PLANNED, hide_planned_panics, in_every_shape, options};
use sardonyx::procedures::{Prefetch, Procedure, ProcedureError, Registered, TableSpace};
use sardonyx::{Error, Shape, Table, Transaction};
use sardonyx_rows::TableError;
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The place at which a request fails.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    No,
    CheckRefuses,
    CheckPanics,
    PrefetchPanics,
    LocatePanics,
    ExecuteFails,
    ExecutePanics,
    UpdatePanics,
}

const FAULTS: [Fault; 7] = [
    Fault::CheckRefuses,
    Fault::CheckPanics,
    Fault::PrefetchPanics,
    Fault::LocatePanics,
    Fault::ExecuteFails,
    Fault::ExecutePanics,
    Fault::UpdatePanics,
];

/// Adds 1 to an item, and fails at a given place.
struct Increment(Table<Item>);

impl Procedure for Increment {
    type Arguments = (u64, Fault);
    type Output = u64;
    type Error = &'static str;
    type Located = u64;

    fn name(&self) -> &str {
        "increment"
    }

    fn check(&self, (_, fault): &(u64, Fault)) -> Result<(), &'static str> {
        match fault {
            Fault::CheckPanics => panic!("{PLANNED} in check"),
            Fault::CheckRefuses => Err("refused"),
            _ => Ok(()),
        }
    }

    fn prefetch(&self, what: Prefetch, (id, fault): &(u64, Fault), space: &TableSpace) {
        assert!(
            *fault != Fault::PrefetchPanics,
            "{PLANNED} in prefetch of {id}"
        );
        space.prefetch(what, self.0, *id);
    }

    fn locate(&self, (id, fault): &(u64, Fault), _: &TableSpace) -> u64 {
        assert!(
            !matches!(fault, Fault::CheckRefuses | Fault::CheckPanics),
            "what was refused is not located"
        );
        assert!(*fault != Fault::LocatePanics, "{PLANNED} in locate of {id}");
        *id
    }

    fn execute(
        &self,
        (_, fault): &(u64, Fault),
        id: u64,
        transaction: &mut Transaction<'_>,
    ) -> Result<u64, &'static str> {
        let mut value = 0;
        let changed = transaction.update(self.0, id, |item| {
            item.value += 1;
            value = item.value;
            assert!(*fault != Fault::UpdatePanics, "{PLANNED} in update");
        });
        let changed = changed.map_err(|_| "update")?;
        assert!(changed.is_some(), "item {id} is there");
        let fresh = Item::new(1000 + id + value, 0);
        transaction.insert(self.0, &fresh).map_err(|_| "insert")?;
        assert!(*fault != Fault::ExecutePanics, "{PLANNED} in execute");
        match fault {
            Fault::ExecuteFails => Err("failed"),
            _ => {
                let deleted = transaction.delete(self.0, fresh.id);
                deleted.map_err(|_| "delete").map(|_| value)
            }
        }
    }
}

fn opened(shape: Shape) -> (SimulatedDisk, Opened, Registered<Increment>) {
    hide_planned_panics();
    let disk = SimulatedDisk::new(1, Faults::default());
    let opened = Opened::on(&disk, options(shape)).expect("opens");
    for id in 0..4 {
        opened.put(id, 0).expect("durable");
    }
    let items = opened.items;
    let procedure = opened.database.register(Increment(items)).expect("first");
    (disk, opened, procedure)
}

fn assert_is_of(fault: Fault, outcome: &Result<u64, ProcedureError<&'static str>>) {
    let panic_in = |place: &str| match outcome {
        Err(ProcedureError::Panicked(what)) => {
            assert!(what.starts_with(PLANNED) && what.contains(place), "{what}")
        }
        other => panic!("{fault:?}: {other:?}"),
    };
    let aborted_as = |why: &str| match outcome {
        Err(ProcedureError::Aborted(what)) => assert_eq!(*what, why),
        other => panic!("{fault:?}: {other:?}"),
    };
    match fault {
        Fault::No => assert!(outcome.is_ok(), "{outcome:?}"),
        Fault::CheckRefuses => aborted_as("refused"),
        Fault::ExecuteFails => aborted_as("failed"),
        Fault::CheckPanics => panic_in("in check"),
        Fault::PrefetchPanics => panic_in("in prefetch"),
        Fault::LocatePanics => panic_in("in locate"),
        Fault::ExecutePanics => panic_in("in execute"),
        Fault::UpdatePanics => panic_in("in update"),
    }
}

#[test]
fn i8_a_fault_anywhere_in_a_batch_undoes_its_request_alone() {
    in_every_shape(|shape| {
        let (disk, opened, procedure) = opened(shape);
        let mut done = 0;
        for fault in FAULTS {
            // First, last, in the middle, and in another chunk of those located together.
            for (length, faulty) in [(1, vec![0]), (3, vec![0, 2]), (200, vec![1, 70, 199])] {
                let arguments: Vec<_> = (0..length)
                    .map(|n| {
                        (
                            n % 4,
                            if faulty.contains(&n) {
                                fault
                            } else {
                                Fault::No
                            },
                        )
                    })
                    .collect();
                let ticket = opened
                    .database
                    .submit_batch(&procedure, arguments.clone(), 0);
                let outcomes = ticket.wait().expect("the batch ran");
                assert_eq!(outcomes.len(), arguments.len());
                for ((_, fault), outcome) in arguments.iter().zip(&outcomes) {
                    assert_is_of(*fault, outcome);
                    done += u64::from(outcome.is_ok());
                }
                let sum: u64 = (0..4).map(|id| opened.get(id).expect("there")).sum();
                assert_eq!(sum, done, "{shape:?} {fault:?}");
            }
        }
        assert_eq!(opened.contents().expect("readable").items.len(), 4);
        opened.database.close().expect("closes");
        let opened = Opened::on(&disk, options(shape)).expect("opens");
        let items = opened.contents().expect("readable").items;
        assert_eq!((items.len(), items.values().sum::<u64>()), (4, done));
    });
}

#[test]
fn a_call_reports_its_own_fault_and_the_next_call_works() {
    in_every_shape(|shape| {
        let (_disk, opened, procedure) = opened(shape);
        for fault in FAULTS {
            let outcome = opened.database.call(&procedure, (1, fault));
            assert_is_of(fault, &outcome.expect("it ran"));
            let outcome = opened.database.call(&procedure, (1, Fault::No));
            assert_is_of(Fault::No, &outcome.expect("it ran"));
        }
        assert_eq!(opened.get(1), Some(FAULTS.len() as u64));
    });
}

#[test]
fn i8_nobody_sees_what_an_aborted_closure_did() {
    in_every_shape(|shape| {
        let (disk, opened, _) = opened(shape);
        let before = opened.contents().expect("readable");
        let (items, notes) = (opened.items, opened.notes);
        let spoil = move |transaction: &mut Transaction<'_>| -> Result<(), Error> {
            for id in 100..140 {
                transaction.insert(items, &Item::new(id, 1))?;
            }
            transaction.delete(items, 0)?;
            transaction.update(items, 1, |item| item.value = 77)?;
            transaction.append(
                notes,
                &common::Note {
                    account: 1,
                    amount: 1,
                },
            )?;
            // Seen by itself.
            assert_eq!(transaction.count(items).expect("read"), 43);
            Ok(())
        };
        let outcome: Result<(), Error> = opened.database.run(|transaction| {
            spoil(transaction)?;
            Err(Error::other("no"))
        });
        assert!(matches!(outcome, Err(Error::Other(why)) if why.to_string() == "no"));
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            opened.database.run(|transaction| -> Result<(), Error> {
                spoil(transaction)?;
                panic!("{PLANNED}");
            })
        }));
        assert!(panicked.is_err(), "the caller gets the panic");
        let ticket = opened.database.transaction().errors().submit(
            move |transaction| -> Result<(), String> {
                spoil(transaction).map_err(|e| e.to_string())?;
                Err("no".to_string())
            },
        );
        assert_eq!(ticket.wait().expect("it ran"), Err("no".to_string()));
        let ticket = opened.database.transaction().errors().submit(
            move |transaction| -> Result<(), String> {
                spoil(transaction).map_err(|e| e.to_string())?;
                panic!("{PLANNED}");
            },
        );
        assert!(
            matches!(ticket.wait(), Err(Error::Panicked(cause)) if cause.to_string().ends_with(PLANNED))
        );
        assert_eq!(opened.contents().expect("readable"), before, "{shape:?}");
        opened.put(0, 5).expect("others go on");
        let after = opened.contents().expect("readable");
        drop(opened);
        let opened = Opened::on(&disk, options(shape)).expect("opens");
        assert_eq!(opened.contents().expect("readable"), after);
    });
}

#[test]
fn others_go_on_while_some_fail_and_panic() {
    in_every_shape(|shape| {
        let (_disk, opened, procedure) = opened(shape);
        let done: u64 = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4usize)
                .map(|client| {
                    let (opened, procedure) = (&opened, &procedure);
                    scope.spawn(move || {
                        let mut done = 0;
                        for n in 0..60 {
                            let fault = match (client, n % 2) {
                                (0 | 1, 0) => FAULTS[n / 2 % FAULTS.len()],
                                _ => Fault::No,
                            };
                            let arguments = vec![(client as u64, fault), (3, Fault::No)];
                            let batch = opened.database.submit_batch(procedure, arguments, client);
                            let outcomes = batch.wait().expect("it ran");
                            assert_is_of(fault, &outcomes[0]);
                            assert_is_of(Fault::No, &outcomes[1]);
                            done += outcomes.iter().filter(|one| one.is_ok()).count() as u64;
                        }
                        done
                    })
                })
                .collect();
            threads.into_iter().map(|t| t.join().expect("ends")).sum()
        });
        let sum: u64 = (0..4).map(|id| opened.get(id).expect("there")).sum();
        assert_eq!(sum, done);
    });
}

#[test]
fn a_panic_while_reading_harms_nobody() {
    in_every_shape(|shape| {
        let (_disk, opened, _) = opened(shape);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            opened
                .database
                .read(|_| -> Result<(), Error> { panic!("{PLANNED}") })
                .expect("reads")
        }));
        assert!(panicked.is_err());
        opened.put(1, 9).expect("durable");
        assert_eq!(opened.get(1), Some(9));
    });
}

#[test]
fn an_operation_that_fails_has_done_nothing_and_the_transaction_may_go_on() {
    in_every_shape(|shape| {
        let (_disk, opened, _) = opened(shape);
        let items = opened.items;
        let outcome = opened.database.run(|transaction| {
            let error = transaction.insert(items, &Item::new(1, 5)).unwrap_err();
            assert!(matches!(error, Error::Duplicate(_)), "{error}");
            let error = transaction
                .update(items, 1, |item| item.id = 9)
                .unwrap_err();
            assert!(matches!(error, Error::Refused(_)), "{error}");
            let row = transaction.find(items, 2).expect("there");
            transaction.delete(items, 2)?;
            let error = transaction.set(row, common::VALUE, 1).unwrap_err();
            assert!(matches!(error, Error::Refused(_)), "{error}");
            transaction.update(items, 1, |item| item.value = 6)?;
            Ok::<_, Error>(())
        });
        outcome.expect("durable");
        assert_eq!((opened.get(1), opened.get(2)), (Some(6), None));
        // Too many changes for one transaction: the log of eight segments has room for five of it.
        let outcome: Result<(), Error> = opened.database.run(|transaction| {
            for id in 0..20_000 {
                transaction.insert(items, &Item::new(5000 + id, 0))?;
            }
            Ok(())
        });
        let error = outcome.expect_err("too large");
        let Some(&TableError::TransactionTooLarge { bytes, limit }) = error.downcast_ref() else {
            panic!("{error}")
        };
        assert!(bytes > limit && limit == 5 * common::SEGMENT_BYTES as usize - 64);
        assert_eq!(opened.get(5000), None);
        opened.put(3, 3).expect("others go on");
    });
}
