//! Threads for long or waiting work, awaited by a task of any runtime. The awaiting thread serves other tasks
//! meanwhile.
//!
//! Threads of low priority read many rows. Those reads compete for processors with the stage, the log and short
//! requests. While others want all processors, such a thread gets about a thirtieth of one (nice 15), so it always makes
//! progress. A thread that wakes up does not always displace one of lower priority: it may wait for the next tick of the
//! clock, and a payment wakes several threads. So these threads also yield each 100 microseconds ([`let_others_run`]). A
//! thread cannot raise its priority again. So they are separate, and run nothing that others wait for.
//!
//! Invariant: at most the number of threads of [`Threads`] run at once, however many clients ask. Further work waits in
//! the order of its arrival.

use crate::error::{SqlError, code};
use std::cell::Cell;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// The time for which an idle thread waits for work.
const IDLE: Duration = Duration::from_secs(10);

type Work = Box<dyn FnOnce() + Send>;

#[derive(Debug)]
struct Shared<T> {
    state: Mutex<State<T>>,
}

#[derive(Debug)]
struct State<T> {
    result: Option<T>,
    /// It has ended, with or without a result.
    ended: bool,
    waker: Option<Waker>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The result, once it exists.
#[derive(Debug)]
pub(crate) struct Unblocked<T>(Arc<Shared<T>>);

/// Marks the work as ended, also if it unwinds.
struct Ending<T>(Arc<Shared<T>>);

impl<T> Drop for Ending<T> {
    fn drop(&mut self) {
        let waker = {
            let mut state = locked(&self.0.state);
            state.ended = true;
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// Pairs the work with the future of its result.
fn awaited<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> (Work, Unblocked<T>) {
    let shared = Arc::new(Shared {
        state: Mutex::new(State {
            result: None,
            ended: false,
            waker: None,
        }),
    });
    let ending = Ending(shared.clone());
    let work = move || {
        let result = work();
        locked(&ending.0.state).result = Some(result);
    };
    (Box::new(work), Unblocked(shared))
}

/// Runs a function that waits, without delaying the task that awaits it.
pub(crate) fn unblocked<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Unblocked<T> {
    let (work, unblocked) = awaited(work);
    // Without a thread the work is dropped, and so it has ended.
    let _ = std::thread::Builder::new().spawn(work);
    unblocked
}

impl<T> Future for Unblocked<T> {
    /// An error (`53000`) if it ended without a result: there was no thread for it, or it unwound.
    type Output = Result<T, SqlError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = locked(&self.0.state);
        match state.result.take() {
            Some(result) => Poll::Ready(Ok(result)),
            None if state.ended => Poll::Ready(Err(SqlError::new(
                code::INSUFFICIENT_RESOURCES,
                "there was no thread to run this, or it ended early",
            )
            .hint("Try again; the server's limit of threads may be too low."))),
            None => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// The priority of threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Priority {
    /// The priority of the thread that starts them.
    Same,
    Low,
}

/// The difference of that priority to the usual one, in `nice`'s units.
const LOW: i32 = 15;

/// A thread of low priority yields after this time.
const LOW_RUNS_FOR: Duration = Duration::from_micros(100);

thread_local! {
    /// When the thread last yielded, if it has low priority.
    static LOW_SINCE: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Yields the processor if the calling thread has low priority and has not yielded for a while. Returns false on other
/// threads.
pub(crate) fn let_others_run() -> bool {
    let Some(since) = LOW_SINCE.get() else {
        return false;
    };
    if since.elapsed() >= LOW_RUNS_FOR {
        std::thread::yield_now();
        LOW_SINCE.set(Some(Instant::now()));
    }
    true
}

impl Priority {
    /// Sets it for the calling thread.
    fn take(self) {
        if self == Priority::Low {
            LOW_SINCE.set(Some(Instant::now()));
            // The call names no process: Linux keeps priorities by thread. A system that refuses leaves the priority
            // unchanged.
            let _ = rustix::process::setpriority_process(None, LOW);
        }
    }
}

/// Threads that are started when they are needed, up to a bound, and end when they have no work.
#[derive(Debug)]
pub(crate) struct Threads(Arc<Queue>);

struct Queue {
    most: usize,
    priority: Priority,
    state: Mutex<QueueState>,
    more: Condvar,
}

#[derive(Default)]
struct QueueState {
    waiting: VecDeque<Work>,
    running: usize,
    idle: usize,
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "at most {} threads", self.most)
    }
}

impl Threads {
    /// Threads of a priority, at most `most` at once.
    pub fn new(most: usize, priority: Priority) -> Threads {
        Threads(Arc::new(Queue {
            most: most.max(1),
            priority,
            state: Mutex::default(),
            more: Condvar::new(),
        }))
    }

    /// Runs a function on one of them.
    pub fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Unblocked<T> {
        let (work, unblocked) = awaited(work);
        let begins = {
            let mut state = locked(&self.0.state);
            state.waiting.push_back(work);
            let begins = state.waiting.len() > state.idle && state.running < self.0.most;
            state.running += usize::from(begins);
            begins
        };
        self.0.more.notify_one();
        if begins {
            begin(&self.0);
        }
        unblocked
    }
}

/// Starts a thread, which is counted already.
fn begin(queue: &Arc<Queue>) {
    let own = queue.clone();
    if std::thread::Builder::new()
        .spawn(move || {
            own.priority.take();
            Running(own).work();
        })
        .is_ok()
    {
        return;
    }
    let dropped = {
        let mut state = locked(&queue.state);
        state.running -= 1;
        match state.running {
            // No thread is left to run the waiting work: dropping it makes each caller see that it ended.
            0 => std::mem::take(&mut state.waiting),
            _ => VecDeque::new(),
        }
    };
    drop(dropped);
}

/// A thread, counted while it runs.
struct Running(Arc<Queue>);

impl Running {
    fn work(self) {
        while let Some(work) = self.next() {
            work();
        }
    }

    fn next(&self) -> Option<Work> {
        let mut state = locked(&self.0.state);
        loop {
            if let Some(work) = state.waiting.pop_front() {
                return Some(work);
            }
            state.idle += 1;
            let waited = self.0.more.wait_timeout(state, IDLE);
            let (there, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = there;
            state.idle -= 1;
            if timeout.timed_out() && state.waiting.is_empty() {
                return None;
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let begins = {
            let mut state = locked(&self.0.state);
            state.running -= 1;
            // Work may have arrived after the thread's last look, or the work unwound.
            let begins = !state.waiting.is_empty() && state.idle == 0;
            state.running += usize::from(begins);
            begins
        };
        if begins {
            begin(&self.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::getpriority_process;

    fn priority_of_one(threads: &Threads) -> i32 {
        let asked = threads.run(|| getpriority_process(None).unwrap_or(-1));
        sardonyx_base::parking::wait(asked).expect("it ran")
    }

    #[test]
    fn only_threads_of_low_priority_have_one() {
        let own = getpriority_process(None).expect("the thread has a priority");
        assert_eq!(priority_of_one(&Threads::new(2, Priority::Same)), own);
        let low = Threads::new(2, Priority::Low);
        assert_eq!(priority_of_one(&low), own.max(LOW));
        let yields = |threads: &Threads| {
            sardonyx_base::parking::wait(threads.run(let_others_run)).expect("it ran")
        };
        assert!(yields(&low));
        assert!(!yields(&Threads::new(2, Priority::Same)) && !let_others_run());
        assert_eq!(getpriority_process(None), Ok(own));
    }
}
