//! Independent replications of many points, on all cores, until their intervals are narrow enough.
//!
//! A point is one setting of the parameters: one dot of a figure of the GEM paper. Each replication
//! of it runs with its own seed. A point is done at the first count of replications at which the
//! 95% interval of its figure is narrow enough. That count is decided on the replications in the
//! order of their numbers, never in the order in which threads happened to finish them. So the
//! result does not depend on threads or timing (invariant I11). Replications beyond the decided
//! count, run in the hope that they would be needed, are dropped.
//!
//! The time of a replication is unknown, so nothing is dealt out in advance: every thread takes the
//! next replication from one shared plan whenever it has none.

mod schedule;

use std::any::Any;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use self::schedule::{Job, Schedule};

/// The number of replications to run, and of threads.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The half-width of the 95% interval, relative to the mean, at which a point is done: 0.02 for
    /// ±2%. Zero runs `most` replications, unless all give the same.
    pub precision: f64,
    /// Replications of a point before the precision is looked at. Below two there is no interval.
    pub least: u32,
    /// Replications of a point after which it is done in any case.
    pub most: u32,
    /// Threads; zero for as many as there are cores.
    pub threads: usize,
}

/// The progress of a plan, after another replication has finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Of the whole plan, finished or not.
    pub points: usize,
    /// Points whose intervals are narrow enough, or that have the most replications.
    pub points_done: usize,
    /// Replications that have finished.
    pub replications: u64,
    /// Replications that will have been finished at the end, estimated from the intervals so far.
    pub expected: u64,
}

/// Runs replications of every point until each is done; returns the replications of each point, in
/// order of their numbers.
///
/// `run` is called with a point and the number of a replication, from which it must derive its
/// seed; `figure` is the figure whose interval decides. `progress` is called after every
/// replication, from one thread at a time.
///
/// ```
/// use sardonyx_simulation::replicate::{Plan, replicate};
/// use sardonyx_workload::random::Random;
///
/// let plan = Plan { precision: 0.02, least: 10, most: 1_000, threads: 2 };
/// let run = |&sides: &u64, replication: u32| {
///     let mut random = Random::new(u64::from(replication));
///     (0..100).map(|_| random.below(sides) + 1).sum::<u64>() as f64 / 100.0
/// };
/// let dice = replicate(&[6, 20], &plan, run, |&mean| mean, |_| {});
/// assert!(dice.iter().all(|replications| replications.len() < 1_000));
/// ```
///
/// # Panics
/// If `run`, `figure` or `progress` panics: with the panic of the first point and replication among
/// those that did, once the replications under way have ended.
pub fn replicate<P: Sync, R: Send>(
    points: &[P],
    plan: &Plan,
    run: impl Fn(&P, u32) -> R + Sync,
    figure: impl Fn(&R) -> f64 + Sync,
    progress: impl Fn(Progress) + Sync,
) -> Vec<Vec<R>> {
    let cores = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = if plan.threads == 0 {
        cores()
    } else {
        plan.threads
    };
    let board = Board {
        state: Mutex::new(State {
            schedule: Schedule::new(points.len(), plan),
            failure: None,
        }),
        changed: Condvar::new(),
    };
    let work = || {
        while let Some(job) = board.next() {
            let attempt = AssertUnwindSafe(|| {
                let result = run(&points[job.point], job.replication);
                let value = figure(&result);
                let mut state = board.lock();
                state.schedule.finish(job, result, value);
                progress(state.schedule.progress());
            });
            match catch_unwind(attempt) {
                Ok(()) => board.changed.notify_all(),
                Err(panic) => board.fail(job, panic),
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let state = board
        .state
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    match state.failure {
        Some((_, panic)) => resume_unwind(panic),
        None => state.schedule.into_results(),
    }
}

/// The state that the threads share.
struct Board<R> {
    state: Mutex<State<R>>,
    /// A replication has finished or failed: there may be new work, or none any more.
    changed: Condvar,
}

struct State<R> {
    schedule: Schedule<R>,
    failure: Option<(Job, Box<dyn Any + Send>)>,
}

impl<R> Board<R> {
    /// A panic of `progress` poisons the lock; it is reported as a failure, so the poison is not
    /// needed.
    fn lock(&self) -> MutexGuard<'_, State<R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for something to do; absent when all is done or something failed.
    fn next(&self) -> Option<Job> {
        let mut state = self.lock();
        loop {
            if state.failure.is_some() || state.schedule.is_done() {
                return None;
            }
            if let Some(job) = state.schedule.take() {
                return Some(job);
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn fail(&self, job: Job, panic: Box<dyn Any + Send>) {
        let mut state = self.lock();
        if state.failure.as_ref().is_none_or(|(first, _)| job < *first) {
            state.failure = Some((job, panic));
        }
        drop(state);
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests;
