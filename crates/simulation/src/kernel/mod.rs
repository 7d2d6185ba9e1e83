//! The event kernel: a virtual clock, pending events, and processes written as futures.
//!
//! A model of the GEM paper (section 3) is many small stories: a transaction waits for a processor,
//! computes, asks for a lock, waits for a disk. As `async` code each story reads from top to
//! bottom; the kernel interleaves them. It is single-threaded and knows no real time: the clock
//! jumps from event to event, and events of one instant happen in the order in which they were
//! scheduled. So a run is a function of its parameters and seed (invariant I11).
//!
//! - There are no wakers. A waiting place ([`Wait`], a station, a signal) notes the running process
//!   and schedules an event for it. So only combinators that poll all their children at every poll
//!   work inside a process; those that trust a waker to identify the ready child would sleep forever.
//! - The kernel that [`Kernel::new`] returned owns the processes; its clones are handles. Processes
//!   hold handles, so they could never be freed by counting; they are dropped with the owner.

mod heap;
mod process;
mod queue;
#[cfg(test)]
mod tests;
mod wait;

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use self::process::Processes;
use self::queue::{Due, EventQueue};
use crate::time::{Span, Time};

pub use self::wait::Wait;

/// No process runs.
const NOBODY: u32 = u32::MAX;

/// A run's clock, events and processes.
///
/// Clones are handles to the same run, made to be moved into processes. The processes belong to the
/// kernel that [`new`](Kernel::new) returned and are dropped with it.
///
/// ```
/// use sardonyx_simulation::kernel::Kernel;
/// use sardonyx_simulation::time::{Span, Time};
///
/// let kernel = Kernel::new();
/// let clock = kernel.clone();
/// kernel.spawn(async move {
///     clock.wait(Span::from_milliseconds(5.0)).await;
///     assert_eq!(clock.now(), Time::ZERO + Span::from_milliseconds(5.0));
/// });
/// kernel.run_until(Time::ZERO + Span::from_seconds(1.0));
/// assert_eq!(kernel.now().as_seconds(), 1.0);
/// ```
pub struct Kernel {
    core: Rc<Core>,
    owner: bool,
}

struct Core {
    now: Cell<Time>,
    dispatched: Cell<u64>,
    /// The slot of the process that runs.
    current: Cell<u32>,
    /// The owner was dropped: a new process would never be dropped.
    closed: Cell<bool>,
    queue: RefCell<EventQueue>,
    processes: RefCell<Processes>,
}

/// The process that runs, as something that waits remembers it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ProcessId(u32);

impl Kernel {
    /// A new run at [`Time::ZERO`], without processes.
    #[allow(clippy::new_without_default)] // A default that owns processes would surprise.
    pub fn new() -> Kernel {
        Kernel {
            core: Rc::new(Core {
                now: Cell::new(Time::ZERO),
                dispatched: Cell::new(0),
                current: Cell::new(NOBODY),
                closed: Cell::new(false),
                queue: RefCell::default(),
                processes: RefCell::default(),
            }),
            owner: true,
        }
    }

    /// The present instant of the run.
    #[inline]
    pub fn now(&self) -> Time {
        self.core.now.get()
    }

    /// The number of dispatched events: starts and resumptions of processes.
    pub fn events(&self) -> u64 {
        self.core.dispatched.get()
    }

    /// Starts a process at the present instant, after the events that are already scheduled for it.
    ///
    /// # Panics
    /// If the kernel that [`new`](Kernel::new) returned was dropped, or more than sixteen million
    /// processes live at once.
    pub fn spawn(&self, process: impl Future<Output = ()> + 'static) {
        let core = &self.core;
        assert!(
            !core.closed.get(),
            "the kernel that owns the processes was dropped"
        );
        let body = Box::pin(process);
        let born = core.queue.borrow().next_sequence();
        let slot = core.processes.borrow_mut().insert(body, born);
        self.schedule(self.now(), ProcessId(slot));
    }

    /// Waits for a length of virtual time, counted from the first poll.
    ///
    /// A wait of [`Span::ZERO`] lets everything go first that is scheduled for this instant.
    pub fn wait(&self, span: Span) -> Wait {
        Wait::new(self.clone(), span)
    }

    /// Dispatches all events up to and including those at `end`; the clock is then at `end`.
    ///
    /// Nothing happens if `end` is before the present instant. Processes that still wait stay, and
    /// go on with the next call.
    ///
    /// # Panics
    /// If called from a process. A panic of a process passes through.
    pub fn run_until(&self, end: Time) {
        let core = &*self.core;
        assert_eq!(
            core.current.get(),
            NOBODY,
            "a process cannot run its own kernel"
        );
        if end < self.now() {
            return;
        }
        let mut context = Context::from_waker(Waker::noop());
        while let Some(due) = core.next(end) {
            core.dispatch(due, &mut context);
        }
        core.now.set(end);
    }

    /// Drops every process and pending event; the clock stays.
    ///
    /// Dropping the kernel that [`new`](Kernel::new) returned does the same. A process that calls
    /// this goes on until it waits next, and is dropped then.
    pub fn clear(&self) {
        loop {
            let bodies = self.core.processes.borrow_mut().clear();
            // Values that a process drops may schedule events and even start processes: hence the
            // loop.
            if bodies.is_empty() {
                break;
            }
            drop(bodies);
        }
        self.core.queue.borrow_mut().clear();
    }

    /// The process that runs.
    ///
    /// # Panics
    /// If no process runs: a waiting future can be polled only within a process.
    #[inline]
    pub(crate) fn current(&self) -> ProcessId {
        let slot = self.core.current.get();
        assert_ne!(slot, NOBODY, "polled outside the processes of its kernel");
        ProcessId(slot)
    }

    /// True if `process` is the one that runs.
    #[inline]
    pub(crate) fn is_current(&self, process: ProcessId) -> bool {
        self.core.current.get() == process.0
    }

    /// Resumes `process` at `time`, after the events that are already scheduled for that instant.
    #[inline]
    pub(crate) fn schedule(&self, time: Time, process: ProcessId) {
        self.core
            .queue
            .borrow_mut()
            .schedule(self.now(), time, process.0);
    }
}

impl Core {
    /// Takes the next event up to `end` and sets the clock to it.
    #[inline]
    fn next(&self, end: Time) -> Option<Due> {
        let due = self.queue.borrow_mut().take(self.now.get(), end)?;
        self.now.set(due.time);
        Some(due)
    }

    /// Resumes the process that `due` names, if it still lives.
    #[inline]
    fn dispatch(&self, due: Due, context: &mut Context<'_>) {
        let Some((mut body, born)) = self.processes.borrow_mut().take(due.slot, due.sequence)
        else {
            return;
        };
        self.dispatched.set(self.dispatched.get() + 1);
        self.current.set(due.slot);
        let poll = body.as_mut().poll(context);
        // The body is dropped while it still counts as running, and while nothing is borrowed.
        match poll {
            Poll::Pending => {
                let cleared = self.processes.borrow_mut().put_back(due.slot, body, born);
                drop(cleared);
            }
            Poll::Ready(()) => {
                drop(body);
                self.processes.borrow_mut().retire(due.slot, born);
            }
        }
        self.current.set(NOBODY);
    }
}

impl Clone for Kernel {
    /// Another handle to the same run, which does not own its processes.
    #[inline]
    fn clone(&self) -> Kernel {
        Kernel {
            core: Rc::clone(&self.core),
            owner: false,
        }
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        if self.owner {
            self.clear();
            self.core.closed.set(true);
        }
    }
}
