//! One process waits for a value from another.
//!
//! A signal carries one value at a time from one process to one other: the grant of a lock, the
//! reply to a message, the end of an asynchronous write. It may fire before the other waits; the
//! value then lies there.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use crate::kernel::{Kernel, ProcessId};

/// Carries a value from the process that fires to the process that waits.
///
/// Clones are the same signal. When its value was received it may be used again.
///
/// ```
/// use sardonyx_simulation::kernel::Kernel;
/// use sardonyx_simulation::signal::Signal;
/// use sardonyx_simulation::time::{Span, Time};
///
/// let kernel = Kernel::new();
/// let granted = Signal::new(&kernel);
/// let (clock, grant) = (kernel.clone(), granted.clone());
/// kernel.spawn(async move {
///     clock.wait(Span::from_milliseconds(2.0)).await;
///     grant.fire("page 17");
/// });
/// let clock = kernel.clone();
/// kernel.spawn(async move {
///     assert_eq!(granted.wait().await, "page 17");
///     assert_eq!(clock.now().as_seconds(), 0.002);
/// });
/// kernel.run_until(Time::ZERO + Span::from_seconds(1.0));
/// assert_eq!(kernel.events(), 4);
/// ```
pub struct Signal<T> {
    shared: Rc<Shared<T>>,
}

struct Shared<T> {
    kernel: Kernel,
    state: RefCell<State<T>>,
}

enum State<T> {
    Quiet,
    Awaited(ProcessId),
    Fired(T),
}

/// Resolves to the value with which a [`Signal`] fires. Made by [`Signal::wait`].
///
/// Dropped half-way, the signal can be waited for again.
#[must_use = "nothing waits until it is awaited"]
pub struct Fired<T> {
    shared: Rc<Shared<T>>,
    waiting: bool,
}

impl<T> Signal<T> {
    /// A signal that has not fired.
    pub fn new(kernel: &Kernel) -> Self {
        Signal {
            shared: Rc::new(Shared {
                kernel: kernel.clone(),
                state: RefCell::new(State::Quiet),
            }),
        }
    }

    /// Hands `value` to the process that waits or will wait. That process goes on at this instant, after the events
    /// that are already scheduled for it.
    ///
    /// # Panics
    /// If the signal fired before and that value was not received.
    pub fn fire(&self, value: T) {
        let before = self.shared.state.replace(State::Fired(value));
        match before {
            State::Quiet => {}
            State::Awaited(process) => {
                self.shared
                    .kernel
                    .schedule(self.shared.kernel.now(), process);
            }
            State::Fired(_) => panic!("a signal fired again before its value was received"),
        }
    }

    /// Waits until the signal fires; resolves at once if it already has.
    ///
    /// # Panics
    /// When awaited while another process waits for the same signal.
    pub fn wait(&self) -> Fired<T> {
        Fired {
            shared: Rc::clone(&self.shared),
            waiting: false,
        }
    }
}

impl<T> Clone for Signal<T> {
    fn clone(&self) -> Self {
        Signal {
            shared: Rc::clone(&self.shared),
        }
    }
}

impl<T> Future for Fired<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<T> {
        let before = self.shared.state.replace(State::Quiet);
        match before {
            State::Fired(value) => {
                self.waiting = false;
                return Poll::Ready(value);
            }
            State::Awaited(_) if !self.waiting => panic!("two processes wait for one signal"),
            State::Quiet | State::Awaited(_) => {}
        }
        self.waiting = true;
        let process = self.shared.kernel.current();
        self.shared.state.replace(State::Awaited(process));
        Poll::Pending
    }
}

impl<T> Drop for Fired<T> {
    fn drop(&mut self) {
        if !self.waiting {
            return;
        }
        let mut state = self.shared.state.borrow_mut();
        if matches!(*state, State::Awaited(_)) {
            *state = State::Quiet;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::time::{Span, Time};

    fn run(kernel: &Kernel) {
        kernel.run_until(Time::ZERO + Span::from_seconds(10.0));
    }

    #[test]
    fn a_value_that_is_there_already_is_received_at_once() {
        let kernel = Kernel::new();
        let signal = Signal::new(&kernel);
        signal.fire(7);
        let received = Rc::new(RefCell::new(Vec::new()));
        let (notes, again) = (Rc::clone(&received), signal.clone());
        kernel.spawn(async move {
            for _ in 0..2 {
                let value = again.wait().await;
                notes.borrow_mut().push(value);
            }
        });
        run(&kernel);
        assert_eq!((received.borrow().clone(), kernel.events()), (vec![7], 1));
        // Received once, it can be used again.
        signal.fire(8);
        kernel.run_until(kernel.now());
        assert_eq!(*received.borrow(), [7, 8]);
    }

    #[test]
    fn whoever_fires_goes_on_before_who_waits() {
        let kernel = Kernel::new();
        let signal = Signal::new(&kernel);
        let order = Rc::new(RefCell::new(Vec::new()));
        let (notes, waited) = (Rc::clone(&order), signal.clone());
        kernel.spawn(async move {
            let value = waited.wait().await;
            notes.borrow_mut().push(value);
        });
        let notes = Rc::clone(&order);
        kernel.spawn(async move {
            signal.fire("received");
            notes.borrow_mut().push("fired");
        });
        let notes = Rc::clone(&order);
        kernel.spawn(async move { notes.borrow_mut().push("scheduled before") });
        run(&kernel);
        assert_eq!(*order.borrow(), ["fired", "scheduled before", "received"]);
    }

    #[test]
    fn a_wait_that_is_dropped_leaves_the_signal_to_others() {
        let kernel = Kernel::new();
        let signal = Signal::new(&kernel);
        let received = Rc::new(RefCell::new(None));
        let (clock, dropped) = (kernel.clone(), signal.clone());
        kernel.spawn(async move {
            let mut wait = Box::pin(dropped.wait());
            std::future::poll_fn(|context| {
                assert!(wait.as_mut().poll(context).is_pending());
                Poll::Ready(())
            })
            .await;
            drop(wait);
            clock.wait(Span::from_seconds(5.0)).await;
        });
        let (notes, waited) = (Rc::clone(&received), signal.clone());
        kernel.spawn(async move {
            let value = waited.wait().await;
            *notes.borrow_mut() = Some(value);
        });
        let clock = kernel.clone();
        kernel.spawn(async move {
            clock.wait(Span::from_seconds(1.0)).await;
            signal.fire(3);
        });
        run(&kernel);
        assert_eq!(*received.borrow(), Some(3));
    }

    #[test]
    fn lost_values_and_second_waiters_are_faults() {
        let kernel = Kernel::new();
        let signal = Signal::new(&kernel);
        signal.fire(1);
        assert!(catch_unwind(AssertUnwindSafe(|| signal.fire(2))).is_err());

        let kernel = Kernel::new();
        let signal = Signal::<u32>::new(&kernel);
        for _ in 0..2 {
            let signal = signal.clone();
            kernel.spawn(async move {
                signal.wait().await;
            });
        }
        assert!(catch_unwind(AssertUnwindSafe(|| run(&kernel))).is_err());
    }
}
