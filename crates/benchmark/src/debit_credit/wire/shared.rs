//! The state that all connections of a server share: its limits, closed connections, and the counts of answers.

use super::server::{Limits, Stop};
use crate::debit_credit::requests::Scale;
use crate::debit_credit::run::{Outcome, Progress};
use crate::responses::Responses;
use rustix::event::epoll;
use rustix::fd::OwnedFd;
use sardonyx::Error;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The number of visits on their way.
#[derive(Debug, Default)]
pub(super) struct Visits {
    count: Mutex<usize>,
    none: Condvar,
}

impl Visits {
    fn count(&self) -> MutexGuard<'_, usize> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn enter(&self) {
        *self.count() += 1;
    }

    pub fn leave(&self) {
        let mut count = self.count();
        *count -= 1;
        if *count == 0 {
            self.none.notify_all();
        }
    }

    /// Waits until all have been answered.
    pub fn wait_for_none(&self) {
        let mut count = self.count();
        while *count > 0 {
            count = self
                .none
                .wait(count)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The state that connections share.
#[derive(Debug)]
pub(super) struct Shared {
    pub epoll: OwnedFd,
    pub limits: Limits,
    pub scale: Scale,
    pub visits: Visits,
    pub stop: Stop,
    progress: Arc<Progress>,
    /// Connections that are closed but still in the server's table.
    gone: Mutex<Vec<u16>>,
    failure: Mutex<Option<Error>>,
    first: OnceLock<Instant>,
    /// A part for each output thread, so that they do not wait for each other.
    tallies: Vec<Mutex<Tally>>,
}

/// The counts of answers.
#[derive(Debug, Default)]
struct Tally {
    committed: u64,
    refused: u64,
    responses: Responses,
    /// The number of each client's answered requests.
    acknowledged: BTreeMap<u16, u64>,
    last: Option<Instant>,
}

impl Shared {
    /// The state for connections that `output_threads` threads answer.
    ///
    /// # Errors
    /// The system's error.
    pub fn new(
        (limits, scale): (Limits, Scale),
        output_threads: usize,
        stop: Stop,
        progress: Arc<Progress>,
    ) -> io::Result<Self> {
        Ok(Shared {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            limits,
            scale,
            visits: Visits::default(),
            stop,
            progress,
            gone: Mutex::default(),
            failure: Mutex::default(),
            first: OnceLock::new(),
            tallies: (0..output_threads.max(1))
                .map(|_| Mutex::default())
                .collect(),
        })
    }

    /// Counts received requests.
    pub fn received(&self, count: usize) {
        if count > 0 {
            self.first.get_or_init(Instant::now);
        }
    }

    /// Counts `count` more answers to a client, `next` in all.
    pub fn answered(&self, client: u16, next: u64, (count, committed): (u64, u64), came: Instant) {
        let now = Instant::now();
        let tally = &self.tallies[usize::from(client) % self.tallies.len()];
        let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
        tally.committed += committed;
        tally.refused += count - committed;
        tally.responses.record_n(now - came, count);
        tally.acknowledged.insert(client, next);
        tally.last = Some(now);
        drop(tally);
        self.progress.add_committed(committed);
    }

    /// The first reason ends the service.
    pub fn fail(&self, error: Error) {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.get_or_insert(error);
        drop(failure);
        self.stop.stop();
    }

    pub fn gone(&self, client: u16) {
        let mut gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        gone.push(client);
        drop(gone);
        self.stop.wake();
    }

    /// Connections that were closed since the last call.
    pub fn take_gone(&self) -> Vec<u16> {
        std::mem::take(&mut *self.gone.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The reason why the service cannot continue, if there is one.
    pub fn take_failure(&self) -> Option<Error> {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.take()
    }

    /// The outcome for so many clients.
    pub fn outcome(&self, clients: u64) -> Outcome {
        let mut outcome = Outcome {
            acknowledged: vec![0; clients as usize],
            ..Outcome::default()
        };
        let mut last = None;
        for tally in &self.tallies {
            let tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
            outcome.committed += tally.committed;
            outcome.refused += tally.refused;
            outcome.responses.merge(&tally.responses);
            for (client, count) in &tally.acknowledged {
                outcome.acknowledged[usize::from(*client)] = *count;
            }
            last = last.max(tally.last);
        }
        let first = self.first.get();
        outcome.elapsed = match (first, last) {
            (Some(first), Some(last)) => last.saturating_duration_since(*first),
            _ => Duration::ZERO,
        };
        outcome
    }
}
