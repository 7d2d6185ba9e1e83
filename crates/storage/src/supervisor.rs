//! The threads of an open database: all are started here, and the death of one of them is reported once.
//!
//! A thread of the engine that panics leaves its work half done, and others would wait for it for ever. These are
//! clients for their tickets, stages for their queues, the close for the thread. So the code that opened the database
//! gets its death as a [`LogError::ThreadDied`]: the log is poisoned with it, and every waiting thread is woken (I7).
//! Threads are never ended otherwise than by returning, so joining one of them always comes back.
//!
//! The program's code runs on these threads: closures, procedures, wakers, and the drop of its values. It may hold the
//! database's last handle. Closing it there would wait for the thread that closes. So the closing code asks
//! [`Supervisor::end`] to do it, which takes a thread of its own for that.

use crate::log::LogError;
use sardonyx_base::events;
use sardonyx_base::sync::Mutex;
use sardonyx_base::sync::thread::{self, JoinHandle};
use sardonyx_base::user_code::{caught, message_of};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    /// The supervisor of the calling thread; 0 if it has none.
    static SUPERVISOR: Cell<u64> = const { Cell::new(0) };
}

/// A supervisor's number: never used again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SupervisorNumber(u64);

impl SupervisorNumber {
    /// A number for a supervisor to be ([`Supervisor::numbered`]).
    pub fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        SupervisorNumber(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// True if the calling thread is one of this supervisor's. In a model all threads are one and cannot be
    /// distinguished.
    #[inline]
    pub fn is_own_thread(self) -> bool {
        !cfg!(shuttle) && SUPERVISOR.get() == self.0
    }
}

/// The work of a thread.
type Body = Box<dyn FnOnce() + Send>;

/// Starts a thread without a supervisor. Boxed, so that the code that starts one is compiled once, not for each body.
pub(crate) fn start(name: String, body: Body) -> std::io::Result<JoinHandle<()>> {
    thread::Builder::new().name(name).spawn(body)
}

/// Runs the same on so many threads, this one among them.
pub(crate) fn on_threads<T: Send>(threads: usize, work: impl Fn() -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads)
            .map(|_| sardonyx_base::signals::spawn_scoped(scope, &work))
            .collect();
        let mut results = vec![work()];
        for other in others {
            results.push(
                other
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            );
        }
        results
    })
}

/// Starts the threads of one database, and is notified of their deaths.
pub struct Supervisor {
    number: SupervisorNumber,
    died: Box<dyn Fn(LogError) + Send + Sync>,
}

impl Supervisor {
    /// `died` is called with a [`LogError::ThreadDied`] when a thread has died, on that thread.
    pub fn new(died: impl Fn(LogError) + Send + Sync + 'static) -> Arc<Supervisor> {
        Self::numbered(SupervisorNumber::next(), died)
    }

    /// As [`Supervisor::new`], with a number that others know already.
    pub fn numbered(
        number: SupervisorNumber,
        died: impl Fn(LogError) + Send + Sync + 'static,
    ) -> Arc<Supervisor> {
        Arc::new(Supervisor {
            number,
            died: Box::new(died),
        })
    }

    /// Identifies it among those of the process.
    pub fn number(&self) -> SupervisorNumber {
        self.number
    }

    /// Starts a thread.
    ///
    /// # Panics
    /// If the system cannot start one.
    pub fn spawn(
        self: &Arc<Self>,
        name: impl Into<String>,
        body: impl FnOnce() + Send + 'static,
    ) -> JoinHandle<()> {
        let started = self.try_spawn(name, body);
        started.expect("the system can start a thread")
    }

    /// Starts a thread.
    ///
    /// # Errors
    /// If the system cannot start one.
    pub fn try_spawn(
        self: &Arc<Self>,
        name: impl Into<String>,
        body: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<JoinHandle<()>> {
        self.start(name.into(), Box::new(body))
    }

    fn start(self: &Arc<Self>, name: String, body: Body) -> std::io::Result<JoinHandle<()>> {
        let supervisor = self.clone();
        let watched = move || {
            SUPERVISOR.set(supervisor.number.0);
            supervisor.attempt(body);
        };
        start(name, Box::new(watched))
    }

    /// Does a part of a thread's work. If it panics, that is reported as the thread's death before anything else
    /// happens, and the thread is to end; nothing is returned then.
    #[inline]
    pub fn attempt<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        if cfg!(shuttle) {
            // A panic is the model's finding.
            return Some(work());
        }
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(value) => Some(value),
            Err(payload) => {
                self.tell(message_of(payload));
                None
            }
        }
    }

    #[cold]
    fn tell(&self, message: String) {
        let error = LogError::thread_died(&message);
        events::error!(%error, "a thread of the engine panicked");
        caught(|| (self.died)(error));
    }

    /// True if the calling thread is one of this supervisor's.
    #[inline]
    pub fn is_own_thread(&self) -> bool {
        self.number.is_own_thread()
    }

    /// Ends something that waits for this supervisor's threads: here, and returns its result; or on a thread of its
    /// own, if `elsewhere`, and returns nothing. The latter is for a thread that would wait for itself.
    pub fn end<T: Send + 'static, R>(
        self: &Arc<Self>,
        ended: T,
        elsewhere: bool,
        end: impl FnOnce(T) -> R + Send + 'static,
    ) -> Option<R> {
        if !elsewhere {
            return Some(end(ended));
        }
        // Kept apart from the closure, so that it is not ended here after all if no thread can be had.
        let place = Arc::new(Mutex::new(Some(ended)));
        let at_closing = place.clone();
        let closing = move || {
            let ended = at_closing.lock().take();
            if let Some(ended) = ended {
                caught(move || drop(end(ended)));
            }
        };
        if let Err(error) = start("closing".into(), Box::new(closing)) {
            events::error!(%error, "no thread to close the database on: it stays open");
            std::mem::forget(place.lock().take());
        }
        None
    }
}

/// The threads of an open database that run now: all are started here.
#[derive(Debug)]
pub struct Threads {
    supervisor: Arc<Supervisor>,
    started: Vec<JoinHandle<()>>,
}

impl Threads {
    /// A set without threads.
    pub fn new(supervisor: Arc<Supervisor>) -> Threads {
        Threads {
            supervisor,
            started: Vec::new(),
        }
    }

    /// The supervisor that starts them.
    pub fn supervisor(&self) -> &Arc<Supervisor> {
        &self.supervisor
    }

    /// Starts one.
    ///
    /// # Panics
    /// If the system cannot start it.
    pub fn spawn(&mut self, name: impl Into<String>, body: impl FnOnce() + Send + 'static) {
        self.started.push(self.supervisor.spawn(name, body));
    }

    /// Waits until they have ended, after a request to end, and drops `held`, of which no other reference may remain.
    /// On one of them that is done by a thread of its own.
    pub fn end<T: Send + 'static>(&mut self, held: T) {
        let own = self.supervisor.is_own_thread();
        let ended = (std::mem::take(&mut self.started), held);
        self.supervisor.end(ended, own, |(threads, held)| {
            join(threads);
            drop(held);
        });
    }

    /// In a forked child: they are not there.
    pub fn forget(&mut self) {
        self.started.drain(..).for_each(std::mem::forget);
    }
}

/// Waits for the end of threads that a supervisor started.
pub fn join(threads: impl IntoIterator<Item = JoinHandle<()>>) {
    for thread in threads {
        // Its death was reported when it died.
        let _ = thread.join();
    }
}

impl std::fmt::Debug for Supervisor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Supervisor").field(&self.number.0).finish()
    }
}
