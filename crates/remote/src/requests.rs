//! Requests to a store run on a thread of the log's own, while the caller is blocked. The caller may be a task of
//! another runtime. A late answer counts as none: the request may still be done.

use sardonyx_storage::remote_log::store::StoreError;
use std::future::Future;
use std::sync::mpsc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// The runtime of a log's requests.
#[derive(Debug)]
pub(crate) struct Requests(Option<Runtime>);

/// A runtime that is dropped waits for its thread, and refuses to do so within another one.
impl Drop for Requests {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Requests {
    /// Starts the thread, for the log at this place.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(place: &str) -> Result<Requests, StoreError> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("sardonyx-remote")
            .enable_all()
            .build();
        let runtime = runtime.map_err(|error| StoreError::Place {
            place: place.into(),
            reason: format!("a thread for it cannot be started: {error}"),
        })?;
        Ok(Requests(Some(runtime)))
    }

    /// The request's result, if there is one within this time.
    pub fn wait<T: Send + 'static>(
        &self,
        limit: Duration,
        request: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let (answer, answered) = mpsc::sync_channel(1);
        self.0.as_ref()?.spawn(async move {
            if let Ok(result) = tokio::time::timeout(limit, request).await {
                // The caller may have stopped waiting.
                let _ = answer.send(result);
            }
        });
        // Without an answer the task ends, and with it its end of the channel.
        answered.recv().ok()
    }
}
