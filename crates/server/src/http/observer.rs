//! The state, read once for all clients that ask at the same time.
//!
//! Reading takes a turn of the serial stage. However many clients ask, one thread reads at a time, and at most once in
//! [`FRESH`]. A client that would wait for a long transaction gives up after [`PATIENCE`]; the reading continues, and
//! the next client gets its result.

use crate::lease::Lease;
use crate::metrics::Metrics;
use crate::state::{Observed, Readiness, State};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, watch};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;

/// The time for which a state is given to all clients.
pub const FRESH: Duration = Duration::from_millis(100);
/// The time that a client waits for a state.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// Reads states.
#[derive(Debug)]
pub struct Observer {
    observed: Observed,
    metrics: Arc<Metrics>,
    started: Instant,
    stop: watch::Receiver<bool>,
    lease: Lease,
    latest: Mutex<Latest>,
}

#[derive(Debug, Default)]
struct Latest {
    state: Option<(Instant, Arc<State>)>,
    /// The reading in progress, which any client may wait for.
    reading: Option<JoinHandle<State>>,
}

impl Observer {
    /// The observer of a server that starts now, and stops when `stop` says so.
    pub fn new(
        observed: Observed,
        metrics: Arc<Metrics>,
        stop: watch::Receiver<bool>,
        lease: Lease,
    ) -> Self {
        Observer {
            observed,
            metrics,
            started: Instant::now(),
            stop,
            lease,
            latest: Mutex::default(),
        }
    }

    /// The readiness of the server. Does not wait.
    pub fn readiness(&self) -> Readiness {
        self.observed.readiness(self.is_stopping())
    }

    /// The server's counts.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Returns true if the server is stopping.
    pub fn is_stopping(&self) -> bool {
        *self.stop.borrow()
    }

    /// Reports when the server is to stop.
    pub fn stop(&self) -> watch::Receiver<bool> {
        self.stop.clone()
    }

    /// The state, at most [`FRESH`] old; `None` if it was not read in time.
    pub async fn state(&self) -> Option<Arc<State>> {
        timeout(PATIENCE, self.read()).await.ok().flatten()
    }

    async fn read(&self) -> Option<Arc<State>> {
        let mut latest = self.latest.lock().await;
        if let Some((read_at, state)) = &latest.state
            && read_at.elapsed() < FRESH
        {
            return Some(state.clone());
        }
        let before = latest.state.as_ref().map(|(_, state)| state.clone());
        let reading = latest.reading.get_or_insert_with(|| self.begin(before));
        let state = reading.await;
        latest.reading = None;
        let state = Arc::new(state.ok()?);
        latest.state = Some((Instant::now(), state.clone()));
        Some(state)
    }

    fn begin(&self, before: Option<Arc<State>>) -> JoinHandle<State> {
        let (observed, metrics) = (self.observed.clone(), self.metrics.clone());
        let (started, is_stopping) = (self.started, self.is_stopping());
        let host = self.lease.host().cloned();
        spawn_blocking(move || State {
            host: observed.host(host.map(|host| host.see())),
            ..State::read(&observed, &metrics, started, is_stopping, before.as_deref())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sardonyx::Tables;

    #[test]
    fn who_asks_while_a_transaction_runs_gives_up_and_the_next_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let tables = Arc::new(Tables::open(directory.path().join("x.sdx")).unwrap());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let (_stop, stopped) = watch::channel(false);
        let observed = Observed::Tables(tables.clone());
        let observer = Observer::new(observed, Arc::default(), stopped, Lease::default());
        let (began, wait_for_begin) = std::sync::mpsc::channel();
        let (end, wait_for_end) = std::sync::mpsc::channel::<()>();
        let long = std::thread::spawn(move || {
            tables.run(|_| {
                began.send(()).unwrap();
                let _ = wait_for_end.recv();
                Ok(())
            })
        });
        wait_for_begin.recv().unwrap();
        // One poll, and the client gives up.
        let nothing = runtime.block_on(async {
            tokio::select! {
                biased;
                state = observer.read() => state,
                () = std::future::ready(()) => None,
            }
        });
        assert_eq!(nothing, None);
        end.send(()).unwrap();
        long.join().unwrap().unwrap();
        let state = runtime.block_on(observer.read()).unwrap();
        let same = runtime.block_on(observer.read()).unwrap();
        assert!(Arc::ptr_eq(&state, &same));
    }
}
