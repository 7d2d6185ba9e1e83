//! Threads that run transactions until the window is closed, and their findings.

use super::engine::{Counters, Engine, EngineFailure};
use super::expected::Expected;
use super::operation::{Surroundings, Visit};
use super::processors::wake_promptly;
use super::window::{Phase, Seen, Until, Window};
use crate::complex_objects::workload::{ComplexObjectError, Generator, Mix, References};
use crate::responses::{Responses, Summary};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    /// Threads: the degree of multiprogramming.
    pub(super) threads: usize,
    pub(super) mix: Mix,
    pub(super) until: Until,
    /// The time without an ended transaction, although those in deadlocks are restarted, after which the run is over.
    pub(super) patience: Duration,
    /// Each thread draws its transactions from a stream of its own.
    pub(super) seed: u64,
}

/// The findings of the threads within the window.
pub(super) struct Found {
    pub(super) seen: Seen<(Counters, (u64, u64))>,
    /// From the first begin of a transaction until its commit is acknowledged, with all restarts. Zeros if none ended.
    pub(super) response: Summary,
}

/// The reason why there are no findings.
#[derive(Debug, thiserror::Error)]
pub(super) enum LoadFailure {
    #[error(transparent)]
    Workload(#[from] ComplexObjectError),
    #[error(transparent)]
    Engine(#[from] EngineFailure),
    #[error("the run ended before anything was measured")]
    Nothing,
}

/// The seed of a thread's generator.
pub(super) fn seed_of_thread(seed: u64, thread: usize) -> u64 {
    seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(thread as u64)
}

/// Runs the load. Committed changes are added to `expected`, within the window and outside.
pub(super) fn run(
    engine: &impl Engine,
    surroundings: &Surroundings,
    references: &References,
    load: &Load,
    expected: &Expected,
) -> Result<Found, LoadFailure> {
    let look = || (engine.counters(), surroundings.processors.worked());
    let window = Window::new(load.until, load.patience, look);
    let failed = AtomicBool::new(false);
    let work = |thread| -> Result<Responses, LoadFailure> {
        wake_promptly();
        let seed = seed_of_thread(load.seed, thread);
        let mut generator = Generator::new(references, load.mix, seed)?;
        let mut responses = Responses::new();
        while !failed.load(Ordering::Relaxed) && !window.is_closed() {
            let transaction = generator.transaction();
            let visit = |request| Visit {
                surroundings,
                request,
            };
            let visits: Vec<_> = transaction.operations.iter().map(visit).collect();
            let began = Instant::now();
            // After the measurement, a transaction that ends in a deadlock need not be restarted.
            let go_on = || !failed.load(Ordering::Relaxed) && !window.is_over(look);
            match engine.transact(&visits, &go_on) {
                Err(EngineFailure::GivenUp) => break,
                outcome => outcome?,
            }
            let took = began.elapsed();
            expected.add(&transaction);
            if window.completed(look) == Phase::Within {
                responses.record_n(took, 1);
            }
        }
        Ok(responses)
    };
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let start = |thread| {
            let (work, failed) = (&work, &failed);
            scope.spawn(move || {
                let outcome = work(thread);
                failed.fetch_or(outcome.is_err(), Ordering::Relaxed);
                outcome
            })
        };
        let threads: Vec<_> = (0..load.threads).map(start).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).collect()
    });
    let mut responses = Responses::new();
    for outcome in outcomes {
        responses.merge(&outcome?);
    }
    Ok(Found {
        seen: window.seen().ok_or(LoadFailure::Nothing)?,
        response: responses.summary().unwrap_or_default(),
    })
}
