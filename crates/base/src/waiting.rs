//! Waits that may take long: a thread of a runtime steps aside for them, and an [`Interrupt`] ends them.
//!
//! A server runs many tasks on few threads. A task that waits for the serial stage, or runs a long statement in it, must
//! not keep the other tasks of its thread waiting. So the server gives each of its threads a way to step aside
//! ([`set_step_aside`]), and calls that may take long are made inside [`aside`]. Other threads have none: they just wait.
//!
//! Invariant: a request to cancel ends one statement, and is used up then; a lost client and the end of the server are
//! not.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// A thread that waits looks so often whether its wait was interrupted.
pub const BETWEEN_LOOKS: Duration = Duration::from_millis(25);

/// Waits a little before a transaction that has lost against another is run again, longer each time: the winner should
/// have ended by then.
pub fn back_off(attempt: u32) {
    for _ in 0..1_u32 << attempt.min(10) {
        std::hint::spin_loop();
    }
    if attempt > 3 {
        std::thread::yield_now();
    }
}

/// Runs a closure while the tasks of this thread go on elsewhere.
pub type StepAside = fn(&mut dyn FnMut());

thread_local! {
    static STEP_ASIDE: Cell<Option<StepAside>> = const { Cell::new(None) };
    static SCOPE: RefCell<Option<Scope>> = const { RefCell::new(None) };
}

/// The interrupts of the waits of a thread.
struct Scope {
    interrupt: Arc<Interrupt>,
    elsewhere: Option<Arc<AtomicBool>>,
}

/// The calling thread steps aside in this way from now on.
pub fn set_step_aside(step_aside: StepAside) {
    STEP_ASIDE.set(Some(step_aside));
}

/// The number of threads of this process that step aside now.
pub fn count_aside() -> usize {
    ASIDE.load(Ordering::Relaxed)
}

static ASIDE: AtomicUsize = AtomicUsize::new(0);

/// Runs what may take long; the thread steps aside if it can.
pub fn aside<T>(work: impl FnOnce() -> T) -> T {
    struct Counted;
    impl Drop for Counted {
        fn drop(&mut self) {
            ASIDE.fetch_sub(1, Ordering::Relaxed);
        }
    }
    let Some(step_aside) = STEP_ASIDE.get() else {
        return work();
    };
    ASIDE.fetch_add(1, Ordering::Relaxed);
    let _counted = Counted;
    let (mut work, mut result) = (Some(work), None);
    step_aside(&mut || result = work.take().map(|work| work()));
    match (result, work) {
        (Some(result), _) => result,
        // A way to step aside that does not run the work leaves it to the caller.
        (None, Some(work)) => work(),
        (None, None) => unreachable!("work that was taken has a result"),
    }
}

static LONG: AtomicUsize = AtomicUsize::new(0);

/// As [`aside`], for what is known to take long: others that wait step aside soon ([`has_long`]).
pub fn long<T>(work: impl FnOnce() -> T) -> T {
    struct Counted;
    impl Drop for Counted {
        fn drop(&mut self) {
            LONG.fetch_sub(1, Ordering::Relaxed);
        }
    }
    LONG.fetch_add(1, Ordering::Relaxed);
    let _counted = Counted;
    aside(work)
}

/// True while this process runs work that is known to take long.
pub fn has_long() -> bool {
    LONG.load(Ordering::Relaxed) > 0
}

/// A thread that computes for long lets others run this often.
const RUNS_FOR: Duration = Duration::from_millis(1);

thread_local! {
    /// When the thread last let others run.
    static YIELDED: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Lets threads run that wait for this processor, if the caller has not done so for a millisecond. Work that takes long and
/// that no other thread waits for calls it often.
///
/// A thread that wakes up does not always displace the one that runs. It may wait for the next tick of the system's clock,
/// some milliseconds later. Several such waits are in the way of a small transaction: its client's, its session's, the log's.
/// A thread that yields more often than this would get less than its share beside programs that never do. A thread that
/// holds what others wait for does not call it.
///
/// Returns true if it let them run now.
pub fn let_others_run() -> bool {
    let now = Instant::now();
    let is_due = |since: Instant| now.saturating_duration_since(since) >= RUNS_FOR;
    let is_due = YIELDED.get().is_none_or(is_due);
    if is_due {
        std::thread::yield_now();
        YIELDED.set(Some(Instant::now()));
    }
    is_due
}

/// Why a statement is to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// Its client, or another one that knows its secret, requested it.
    Request,
    /// Its time limit is over.
    Timeout,
    /// Its client has disconnected.
    Disconnected,
    /// The server ends.
    Shutdown,
    /// The awaited thing can be had in another way.
    Elsewhere,
    /// It has walked over more rows than its caller lets it, which runs it in another way.
    TooLong,
}

const REQUEST: u8 = 1;
const DISCONNECTED: u8 = 2;
const SHUTDOWN: u8 = 3;

/// Tells what runs, or waits for its turn, that it is to end.
#[derive(Debug, Default)]
pub struct Interrupt {
    /// 0 for none; a greater reason replaces a smaller one.
    reason: AtomicU8,
    /// In nanoseconds since [`start`]; 0 for none.
    deadline: AtomicU64,
    /// One more than the rows over which the statement may still walk; 0 without a bound.
    rows_left: AtomicU64,
}

/// The moment from which deadlines are counted.
fn start() -> Instant {
    static START: OnceLock<Instant> = OnceLock::new();
    *START.get_or_init(Instant::now)
}

fn nanoseconds(until: Instant) -> u64 {
    let since = until.saturating_duration_since(start());
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX).max(1)
}

impl Interrupt {
    /// Asks for the end of the statement that runs.
    pub fn request(&self) {
        self.reason.fetch_max(REQUEST, Ordering::Relaxed);
    }

    /// The client has disconnected: nothing of it is to run any more.
    pub fn disconnect(&self) {
        self.reason.fetch_max(DISCONNECTED, Ordering::Relaxed);
    }

    /// The server ends: nothing more is to run.
    pub fn shut_down(&self) {
        self.reason.fetch_max(SHUTDOWN, Ordering::Relaxed);
    }

    /// Takes back a request that came for what is over.
    pub fn forget_request(&self) {
        if self.reason.load(Ordering::Relaxed) != REQUEST {
            return;
        }
        // It fails where something greater came meanwhile.
        let _ = self
            .reason
            .compare_exchange(REQUEST, 0, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Sets or removes the time limit.
    pub fn set_deadline(&self, until: Option<Instant>) {
        self.deadline
            .store(until.map_or(0, nanoseconds), Ordering::Relaxed);
    }

    /// Sets a bound on the rows over which is walked ([`Interrupt::walked`]).
    pub fn set_rows_max(&self, rows: u64) {
        self.rows_left
            .store(rows.saturating_add(1), Ordering::Relaxed);
    }

    /// Returns true if there is such a bound.
    pub fn has_rows_max(&self) -> bool {
        self.rows_left.load(Ordering::Relaxed) > 0
    }

    /// Removes the bound. Returns true if it was reached.
    pub fn take_rows_max(&self) -> bool {
        let left = self.rows_left.load(Ordering::Relaxed);
        if left > 0 {
            self.rows_left.store(0, Ordering::Relaxed);
        }
        left == 1
    }

    /// Notes rows over which a statement has walked. Returns [`Reason::TooLong`] if it may walk over no more, or as
    /// [`Interrupt::take`]. One thread at a time walks.
    #[inline]
    pub fn walked(&self, rows: u64) -> Option<Reason> {
        let is_beyond = self.count_rows(rows);
        self.take().or(is_beyond.then_some(Reason::TooLong))
    }

    /// Notes such rows. Returns true if there is a bound, and it is reached.
    #[inline]
    pub fn count_rows(&self, rows: u64) -> bool {
        let left = self.rows_left.load(Ordering::Relaxed);
        if left == 0 {
            return false;
        }
        let left = left.saturating_sub(rows).max(1);
        self.rows_left.store(left, Ordering::Relaxed);
        left == 1
    }

    /// True if nothing is to be looked at: the cheap question.
    #[inline]
    fn is_quiet(&self) -> bool {
        self.reason.load(Ordering::Relaxed) == 0 && self.deadline.load(Ordering::Relaxed) == 0
    }

    /// Why what runs is to end, if it is.
    #[inline]
    pub fn reason(&self) -> Option<Reason> {
        if self.is_quiet() {
            return None;
        }
        match self.reason.load(Ordering::Relaxed) {
            REQUEST => Some(Reason::Request),
            DISCONNECTED => Some(Reason::Disconnected),
            SHUTDOWN => Some(Reason::Shutdown),
            _ => {
                let deadline = self.deadline.load(Ordering::Relaxed);
                let is_over = deadline != 0 && nanoseconds(Instant::now()) >= deadline;
                is_over.then_some(Reason::Timeout)
            }
        }
    }

    /// The same; a request is taken back, since it ends one statement.
    #[inline]
    pub fn take(&self) -> Option<Reason> {
        let reason = self.reason();
        if reason == Some(Reason::Request) {
            self.forget_request();
        }
        reason
    }
}

/// Runs something whose waits this interrupt ends, and the flag where there is one ([`Reason::Elsewhere`]).
pub fn interruptible<T>(
    interrupt: &Arc<Interrupt>,
    elsewhere: Option<&Arc<AtomicBool>>,
    work: impl FnOnce() -> T,
) -> T {
    struct Before(Option<Scope>);
    impl Drop for Before {
        fn drop(&mut self) {
            SCOPE.set(self.0.take());
        }
    }
    let is_there =
        |scope: &Scope| Arc::ptr_eq(&scope.interrupt, interrupt) && scope.elsewhere.is_none();
    // Most waits are inside of their flight, whose interrupt is the same.
    if elsewhere.is_none() && SCOPE.with_borrow(|scope| scope.as_ref().is_some_and(is_there)) {
        return work();
    }
    let scope = Scope {
        interrupt: interrupt.clone(),
        elsewhere: elsewhere.cloned(),
    };
    let _before = Before(SCOPE.replace(Some(scope)));
    work()
}

/// As [`interruptible`], of a future, on whichever thread it is polled.
pub async fn interruptible_future<F: Future>(interrupt: Arc<Interrupt>, future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|context| interruptible(&interrupt, None, || future.as_mut().poll(context))).await
}

/// The interrupt of the calling thread, if it runs inside of [`interruptible`].
pub fn current() -> Option<Arc<Interrupt>> {
    SCOPE.with_borrow(|scope| scope.as_ref().map(|scope| scope.interrupt.clone()))
}

/// True if the calling thread can step aside, or its waits can be interrupted.
pub fn is_observed() -> bool {
    STEP_ASIDE.get().is_some() || SCOPE.with_borrow(Option::is_some)
}

/// Notes rows over which the calling thread has walked. Returns the reason to end, if there is one ([`Interrupt::walked`]).
pub fn walked(rows: u64) -> Option<Reason> {
    SCOPE.with_borrow(|scope| scope.as_ref()?.interrupt.walked(rows))
}

/// The reason to end the wait of the calling thread, if there is one.
pub fn interruption() -> Option<Reason> {
    SCOPE.with_borrow(|scope| {
        let scope = scope.as_ref()?;
        let elsewhere = scope.elsewhere.as_ref();
        let elsewhere = elsewhere.is_some_and(|flag| flag.load(Ordering::Acquire));
        let reason = scope.interrupt.take();
        reason.or(elsewhere.then_some(Reason::Elsewhere))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_ends_one_statement_and_the_rest_is_not_taken_back() {
        let interrupt = Interrupt::default();
        assert_eq!(interrupt.take(), None);
        interrupt.request();
        assert_eq!(interrupt.take(), Some(Reason::Request));
        assert_eq!(interrupt.take(), None);
        interrupt.request();
        interrupt.forget_request();
        assert_eq!(interrupt.take(), None);
        interrupt.disconnect();
        interrupt.request();
        interrupt.forget_request();
        assert_eq!(interrupt.take(), Some(Reason::Disconnected));
        interrupt.shut_down();
        assert_eq!(interrupt.take(), Some(Reason::Shutdown));
        assert_eq!(interrupt.take(), Some(Reason::Shutdown));
    }

    #[test]
    fn a_thread_lets_others_run_at_first_and_at_most_once_a_millisecond() {
        // A new thread: this one may have let others run already.
        let thread = std::thread::spawn(|| {
            let begin = Instant::now();
            assert!(let_others_run());
            let again = (0..10_000).filter(|_| let_others_run()).count();
            assert!(again as u128 <= begin.elapsed().as_millis());
        });
        thread.join().unwrap();
    }

    #[test]
    fn a_deadline_is_over_until_it_is_removed() {
        let interrupt = Interrupt::default();
        interrupt.set_deadline(Some(Instant::now() + Duration::from_secs(3600)));
        assert_eq!(interrupt.take(), None);
        interrupt.set_deadline(Some(start()));
        assert_eq!(interrupt.take(), Some(Reason::Timeout));
        assert_eq!(interrupt.take(), Some(Reason::Timeout));
        interrupt.set_deadline(None);
        assert_eq!(interrupt.take(), None);
    }

    #[test]
    fn a_walk_ends_beyond_its_bound_on_rows_and_a_request_ends_it_before() {
        let interrupt = Arc::new(Interrupt::default());
        assert_eq!(interrupt.walked(1_000_000), None);
        interrupt.set_rows_max(1000);
        assert_eq!(interrupt.walked(600), None);
        assert_eq!(interrupt.walked(0), None);
        let walked = interruptible(&interrupt, None, || walked(399));
        assert_eq!(walked, None);
        assert!(!interrupt.count_rows(0));
        assert_eq!(interrupt.walked(1), Some(Reason::TooLong));
        assert_eq!(interrupt.walked(0), Some(Reason::TooLong));
        interrupt.request();
        assert_eq!(interrupt.walked(1), Some(Reason::Request));
        assert!(interrupt.take_rows_max());
        assert_eq!(interrupt.walked(1_000_000), None);
        assert!(!interrupt.take_rows_max());
    }

    #[test]
    fn waits_know_the_interrupt_of_the_innermost_scope() {
        let (outer, inner) = (Arc::new(Interrupt::default()), Arc::default());
        assert!(!is_observed());
        let elsewhere = Arc::default();
        interruptible(&outer, None, || {
            interruptible(&inner, Some(&elsewhere), || {
                outer.request();
                assert_eq!(interruption(), None);
                elsewhere.store(true, Ordering::Release);
                assert_eq!(interruption(), Some(Reason::Elsewhere));
            });
            assert_eq!(interruption(), Some(Reason::Request));
        });
        assert!(!is_observed());
    }

    #[test]
    fn work_runs_once_with_a_way_to_step_aside_and_without() {
        assert_eq!(aside(|| 1), 1);
        let beside = std::thread::spawn(|| {
            set_step_aside(|work| work());
            let with = aside(|| 2);
            set_step_aside(|_| {});
            (with, aside(|| 3), is_observed())
        });
        assert_eq!(beside.join().expect("it does not panic"), (2, 3, true));
    }
}
