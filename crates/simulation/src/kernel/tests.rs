//! The order of events, and the ownership of processes.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::*;
use crate::server::Server;
use crate::signal::Signal;

fn seconds(seconds: f64) -> Span {
    Span::from_seconds(seconds)
}

/// Notes names in the order in which they happen.
#[derive(Clone, Default)]
struct Journal(Rc<RefCell<Vec<String>>>);

impl Journal {
    fn note(&self, name: impl Into<String>) {
        self.0.borrow_mut().push(name.into());
    }

    fn read(&self) -> Vec<String> {
        self.0.borrow().clone()
    }
}

/// Counts how often it is dropped.
struct Tracked(Rc<Cell<u32>>);

impl Drop for Tracked {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

#[test]
fn events_of_one_instant_happen_in_order_of_scheduling() {
    let kernel = Kernel::new();
    let journal = Journal::default();
    for name in 0..100 {
        let (clock, journal) = (kernel.clone(), journal.clone());
        kernel.spawn(async move {
            // Half of them come to second 2 in two steps, scheduled later than the others' one.
            if name % 2 == 0 {
                clock.wait(seconds(1.0)).await;
                clock.wait(seconds(1.0)).await;
            } else {
                clock.wait(seconds(2.0)).await;
            }
            journal.note(name.to_string());
        });
    }
    kernel.run_until(Time::ZERO + seconds(2.0));
    let odd = (0..100).filter(|name| name % 2 == 1);
    let even = (0..100).filter(|name| name % 2 == 0);
    let expected: Vec<String> = odd.chain(even).map(|name| name.to_string()).collect();
    assert_eq!(journal.read(), expected);
}

#[test]
fn a_wait_of_nothing_lets_the_others_of_its_instant_go_first() {
    let kernel = Kernel::new();
    let journal = Journal::default();
    for name in ["one", "two"] {
        let (clock, journal) = (kernel.clone(), journal.clone());
        kernel.spawn(async move {
            clock.wait(seconds(1.0)).await;
            journal.note(name);
            clock.wait(Span::ZERO).await;
            journal.note(format!("{name} again"));
        });
    }
    kernel.run_until(Time::ZERO + seconds(1.0));
    assert_eq!(journal.read(), ["one", "two", "one again", "two again"]);
}

#[test]
fn a_run_stops_after_the_events_of_its_end_and_goes_on_later() {
    let kernel = Kernel::new();
    let steps = Rc::new(Cell::new(0));
    let (clock, counted) = (kernel.clone(), Rc::clone(&steps));
    kernel.spawn(async move {
        loop {
            clock.wait(seconds(1.0)).await;
            counted.set(counted.get() + 1);
        }
    });
    kernel.run_until(Time::ZERO + seconds(3.0));
    assert_eq!((steps.get(), kernel.now()), (3, Time::ZERO + seconds(3.0)));
    kernel.run_until(Time::ZERO + seconds(3.5));
    assert_eq!((steps.get(), kernel.now()), (3, Time::ZERO + seconds(3.5)));
    kernel.run_until(Time::ZERO + seconds(1.0));
    assert_eq!(
        kernel.now(),
        Time::ZERO + seconds(3.5),
        "the clock never goes back"
    );
    kernel.run_until(Time::ZERO + seconds(4.0));
    assert_eq!((steps.get(), kernel.events()), (4, 5));
}

#[test]
fn dropping_the_kernel_drops_processes_that_hold_handles_to_it() {
    let drops = Rc::new(Cell::new(0));
    let kernel = Kernel::new();
    let server = Server::new(&kernel, 1);
    let signal = Signal::<Tracked>::new(&kernel);
    let tracked = |_: u32| Tracked(Rc::clone(&drops));
    for place in 0..3 {
        // One is served, two wait.
        let (clock, server, tracked) = (kernel.clone(), server.clone(), tracked(place));
        kernel.spawn(async move {
            let _held = tracked;
            server.serve(seconds(9.0)).await;
            clock.wait(seconds(9.0)).await;
        });
    }
    let (server_again, held) = (server.clone(), tracked(3));
    let idle = Server::new(&kernel, 1);
    let idle_again = idle.clone();
    kernel.spawn(async move {
        let _held = held;
        let _permit = idle_again.acquire().await;
        let _never = server_again.acquire().await;
    });
    let (clock, silent, held) = (kernel.clone(), signal.clone(), tracked(4));
    kernel.spawn(async move {
        let _held = held;
        let value = silent.wait().await;
        clock.wait(seconds(1.0)).await;
        drop(value);
    });
    kernel.run_until(Time::ZERO + seconds(1.0));
    assert_eq!(drops.get(), 0);
    let handle = kernel.clone();
    let weak = Rc::downgrade(&kernel.core);
    drop(kernel);
    assert_eq!(drops.get(), 5);
    assert_eq!(server.statistics().abandoned, 4);
    drop((server, idle, signal));
    assert_eq!(
        weak.strong_count(),
        1,
        "only the handle below keeps the core"
    );
    assert!(
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| handle.spawn(async {}))).is_err()
    );
}

#[test]
fn a_cleared_kernel_is_empty_and_usable() {
    let drops = Rc::new(Cell::new(0));
    let kernel = Kernel::new();
    for _ in 0..4 {
        let (clock, held) = (kernel.clone(), Tracked(Rc::clone(&drops)));
        kernel.spawn(async move {
            let _held = held;
            clock.wait(seconds(1.0)).await;
        });
    }
    // The last one clears the kernel while it runs itself.
    let (clock, held) = (kernel.clone(), Tracked(Rc::clone(&drops)));
    kernel.spawn(async move {
        let _held = held;
        clock.clear();
        clock.wait(seconds(1.0)).await;
    });
    kernel.run_until(Time::ZERO + seconds(0.5));
    assert_eq!(drops.get(), 5);
    let done = Rc::new(Cell::new(false));
    let (clock, flag) = (kernel.clone(), Rc::clone(&done));
    kernel.spawn(async move {
        clock.wait(seconds(1.0)).await;
        flag.set(true);
    });
    kernel.run_until(Time::ZERO + seconds(1.4));
    assert!(
        !done.get(),
        "no event of a dropped process resumes a new one"
    );
    kernel.run_until(Time::ZERO + seconds(1.5));
    assert!(done.get());
}

#[test]
fn an_abandoned_wait_does_not_resume_the_next_process_of_its_slot() {
    let kernel = Kernel::new();
    let journal = Journal::default();
    let clock = kernel.clone();
    kernel.spawn(async move {
        let mut abandoned = Box::pin(clock.wait(seconds(1.0)));
        std::future::poll_fn(|context| {
            assert!(abandoned.as_mut().poll(context).is_pending());
            Poll::Ready(())
        })
        .await;
    });
    kernel.run_until(Time::ZERO);
    let before = kernel.events();
    let (clock, notes) = (kernel.clone(), journal.clone());
    kernel.spawn(async move {
        clock.wait(seconds(2.0)).await;
        notes.note("two");
    });
    kernel.run_until(Time::ZERO + seconds(2.0));
    assert_eq!(journal.read(), ["two"]);
    assert_eq!(kernel.events() - before, 2, "started once, resumed once");
}

#[test]
fn slots_are_used_again() {
    let kernel = Kernel::new();
    let clock = kernel.clone();
    kernel.spawn(async move {
        for _ in 0..1_000 {
            clock.spawn(async {});
            clock.wait(seconds(1.0)).await;
        }
    });
    kernel.run_until(Time::ZERO + seconds(1_000.0));
    assert_eq!(kernel.core.processes.borrow().slots(), 2);
}

#[test]
fn a_panic_of_a_process_passes_through_and_the_kernel_can_still_be_dropped() {
    let drops = Rc::new(Cell::new(0));
    let kernel = Kernel::new();
    let held = Tracked(Rc::clone(&drops));
    let clock = kernel.clone();
    kernel.spawn(async move {
        let _held = held;
        clock.wait(seconds(1.0)).await;
    });
    kernel.spawn(async { panic!("a fault of the model") });
    let run = || kernel.run_until(Time::ZERO + seconds(0.5));
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err());
    drop(kernel);
    assert_eq!(drops.get(), 1);
}
