//! The program's own code that panics in unusual places: in the drop of arguments, outputs and errors, in the payload
//! of a panic, and in wakers. It reaches no thread of the engine: every submitted transaction is answered, later calls
//! work, and the close returns.

use crate::common::{Opened, PLANNED, hide_planned_panics, in_every_shape, options};
use sardonyx::procedures::{Procedure, TableSpace};
use sardonyx::{Error, Shape, Transaction};
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, RawWaker, RawWakerVTable, Waker};

/// Panics when it is dropped, but not where that would end the process.
#[derive(Debug)]
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("{PLANNED} in a drop");
        }
    }
}

/// The fault of a request of [`Bombs`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Refuse,
    PanicInCheck,
    PanicInPrefetch,
    PanicInLocate,
    DropLocated,
    Succeed,
    Fail,
    Panic,
}

const WAYS: [Way; 8] = [
    Way::Refuse,
    Way::PanicInCheck,
    Way::PanicInPrefetch,
    Way::PanicInLocate,
    Way::DropLocated,
    Way::Succeed,
    Way::Fail,
    Way::Panic,
];

/// Everything that it takes and gives is a [`Bomb`].
struct Bombs;

impl Procedure for Bombs {
    type Arguments = (Way, Bomb);
    type Output = Bomb;
    type Error = Bomb;
    type Located = Bomb;

    fn name(&self) -> &str {
        "bombs"
    }
    fn check(&self, (way, _): &(Way, Bomb)) -> Result<(), Bomb> {
        match way {
            Way::Refuse => Err(Bomb),
            Way::PanicInCheck => panic_any(Bomb),
            _ => Ok(()),
        }
    }
    fn prefetch(&self, _: sardonyx::procedures::Prefetch, (way, _): &(Way, Bomb), _: &TableSpace) {
        if *way == Way::PanicInPrefetch {
            panic_any(Bomb);
        }
    }
    fn locate(&self, (way, _): &(Way, Bomb), _: &TableSpace) -> Bomb {
        if *way == Way::PanicInLocate {
            panic_any(Bomb);
        }
        Bomb
    }
    fn execute(
        &self,
        (way, _): &(Way, Bomb),
        located: Bomb,
        _: &mut Transaction<'_>,
    ) -> Result<Bomb, Bomb> {
        if *way != Way::DropLocated {
            std::mem::forget(located);
        }
        match way {
            Way::Fail => Err(Bomb),
            Way::Panic => panic_any(Bomb),
            _ => Ok(Bomb),
        }
    }
}

fn open(shape: Shape) -> Opened {
    hide_planned_panics();
    let disk = SimulatedDisk::new(1, Faults::default());
    let opened = Opened::on(&disk, options(shape)).expect("opens");
    opened.put(1, 1).expect("durable");
    opened
}

/// Others go on, in each of the stages, and the close comes back.
fn all_is_well(opened: Opened, what: &str) {
    let items = opened.items;
    for lane in 0..2 {
        opened
            .put(1, lane)
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        let ticket = opened
            .database
            .transaction()
            .errors()
            .submit(move |transaction| {
                transaction.update(items, 1, |item| item.value += 1)?;
                Ok::<_, Error>(())
            });
        ticket.wait().expect("it ran").expect("no error");
        // Each lane's stage has finished its drops.
        let other = opened.database.register(Nothing(lane)).expect("the first");
        let ticket = opened
            .database
            .submit_batch(&other, vec![()], lane as usize);
        assert_eq!(ticket.wait().expect("it ran").len(), 1, "{what}");
    }
    opened.database.checkpoint().expect("completes");
    opened
        .database
        .close()
        .unwrap_or_else(|error| panic!("{what}: {error}"));
}

struct Nothing(u64);

impl Procedure for Nothing {
    type Arguments = ();
    type Output = ();
    type Error = ();
    type Located = ();

    fn name(&self) -> &str {
        ["nothing", "nothing, either"][self.0 as usize]
    }
    fn locate(&self, (): &(), _: &TableSpace) {}
    fn execute(&self, (): &(), (): (), _: &mut Transaction<'_>) -> Result<(), ()> {
        Ok(())
    }
}

/// Calls the program's own code on the program's own thread, where it may panic.
fn ours<T>(call: impl FnOnce() -> T) {
    if let Ok(value) = catch_unwind(AssertUnwindSafe(call)) {
        let _ = catch_unwind(AssertUnwindSafe(move || drop(value)));
    }
}

#[test]
fn whatever_a_batch_holds_may_panic_when_it_is_dropped() {
    in_every_shape(|shape| {
        for way in WAYS {
            for waited in [false, true] {
                let opened = open(shape);
                let bombs = opened.database.register(Bombs).expect("the first");
                for lane in 0..4 {
                    // Several: a second panic in one drop would end the process.
                    let arguments = (0..3).map(|_| (way, Bomb)).collect();
                    ours(|| {
                        let ticket = opened.database.submit_batch(&bombs, arguments, lane);
                        if waited {
                            let outcomes = ticket.wait().expect("it ran");
                            assert_eq!(outcomes.len(), 3);
                            outcomes.into_iter().for_each(std::mem::forget);
                        }
                    });
                }
                all_is_well(opened, &format!("{way:?}, waited: {waited}"));
            }
        }
    });
}

#[test]
fn whatever_a_closure_holds_gives_and_panics_with_may_panic_when_it_is_dropped() {
    in_every_shape(|shape| {
        for way in [Way::Succeed, Way::Fail, Way::Panic, Way::DropLocated] {
            for waited in [false, true] {
                let opened = open(shape);
                for _ in 0..3 {
                    let captured = (way == Way::DropLocated).then(|| Bomb);
                    ours(|| {
                        let ticket = opened.database.transaction().errors().submit(move |_| {
                            let _held = captured;
                            match way {
                                Way::Fail => Err(Bomb),
                                Way::Panic => panic_any(Bomb),
                                _ => Ok(Bomb),
                            }
                        });
                        if waited {
                            let outcome = ticket.wait();
                            let panicked = matches!(outcome, Err(Error::Panicked(_)));
                            let planned = [Way::Panic, Way::DropLocated].contains(&way);
                            assert_eq!(panicked, planned, "{outcome:?}");
                            std::mem::forget(outcome);
                        }
                    });
                }
                all_is_well(opened, &format!("{way:?}, waited: {waited}"));
            }
        }
    });
}

#[test]
fn what_a_refused_request_holds_may_panic_when_it_is_dropped() {
    in_every_shape(|shape| {
        let opened = open(shape);
        let bombs = opened.database.register(Bombs).expect("the first");
        // Inside a transaction everything is refused.
        let outcome = opened.database.run(|_| {
            let inner = &opened.database;
            ours(|| {
                inner.submit_batch(&bombs, vec![(Way::Succeed, Bomb), (Way::Succeed, Bomb)], 0)
            });
            let held = Bomb;
            ours(move || {
                inner.transaction().errors().submit(move |_| {
                    let _held = &held;
                    Ok::<_, Bomb>(())
                })
            });
            Ok::<_, Error>(())
        });
        outcome.expect("durable");
        all_is_well(opened, "refused");
    });
}

/// The place at which a waker panics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum In {
    Clone,
    Wake,
    Drop,
}

/// A waker that panics at a given place; its clones do, too.
fn panicking_waker(place: In) -> Waker {
    fn place_of(data: *const ()) -> In {
        match data as usize {
            1 => In::Clone,
            2 => In::Wake,
            _ => In::Drop,
        }
    }
    fn panic_in(data: *const (), here: In) {
        if place_of(data) == here && !std::thread::panicking() {
            panic!("{PLANNED} in a waker's {here:?}");
        }
    }
    static TABLE: RawWakerVTable = RawWakerVTable::new(
        |data| {
            panic_in(data, In::Clone);
            RawWaker::new(data, &TABLE)
        },
        |data| panic_in(data, In::Wake),
        |data| panic_in(data, In::Wake),
        |data| panic_in(data, In::Drop),
    );
    let data = match place {
        In::Clone => 1usize,
        In::Wake => 2,
        In::Drop => 3,
    };
    // SAFETY: the data is a number and nothing is owned, so any thread may do anything with it.
    unsafe { Waker::from_raw(RawWaker::new(std::ptr::without_provenance(data), &TABLE)) }
}

#[test]
fn a_waker_may_panic_wherever_it_is_called() {
    in_every_shape(|shape| {
        for place in [In::Clone, In::Wake, In::Drop] {
            let opened = open(shape);
            let items = opened.items;
            let opened = Arc::new(opened);
            let mut tickets = Vec::new();
            // Nothing is executed, nor written, before all are polled.
            let submitted = Arc::new(std::sync::Barrier::new(2));
            let held = {
                let (opened, submitted) = (opened.clone(), submitted.clone());
                std::thread::spawn(move || {
                    let outcome = opened.database.run(|_| {
                        if matches!(shape, Shape::Pipelined { .. }) {
                            submitted.wait();
                            submitted.wait();
                        }
                        Ok::<_, Error>(())
                    });
                    outcome.expect("durable");
                })
            };
            if matches!(shape, Shape::Pipelined { .. }) {
                submitted.wait();
            }
            for n in 0..6 {
                let ticket = opened
                    .database
                    .transaction()
                    .errors()
                    .submit(move |transaction| {
                        transaction.update(items, 1, |item| item.value += n)?;
                        Ok::<_, Error>(())
                    });
                tickets.push(ticket);
            }
            let mut kept = Vec::new();
            for (n, mut ticket) in tickets.into_iter().enumerate() {
                let waker = panicking_waker(place);
                let mut context = Context::from_waker(&waker);
                ours(|| Pin::new(&mut ticket).poll(&mut context).is_ready());
                // Some are still there when they are answered.
                match n % 2 {
                    0 => kept.push(ticket),
                    _ => ours(move || drop(ticket)),
                }
                ours(move || drop(waker));
            }
            if matches!(shape, Shape::Pipelined { .. }) {
                submitted.wait();
            }
            held.join().expect("ends");
            let opened = Arc::into_inner(opened).expect("nobody else has it");
            all_is_well(opened, &format!("{place:?}"));
            // Tickets that were ready when they were polled have been used.
            if matches!(shape, Shape::Pipelined { .. }) {
                for ticket in kept {
                    ticket.wait().expect("it ran").expect("no error");
                }
            }
        }
    });
}
