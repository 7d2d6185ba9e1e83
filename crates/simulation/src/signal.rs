//! One process waits until another tells it something.
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

    /// Hands `value` to the process that waits or will wait; that process goes on at this instant,
    /// after what is already scheduled for it.
    ///
    /// # Panics
    /// If the signal fired before and nobody has received that value.
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
