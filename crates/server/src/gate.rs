//! The gate before the serial stage: flights wait here, as tasks, when many threads wait for the stage already.
//!
//! A thread that waits for the serial stage steps aside, and another one serves in its place
//! ([`sardonyx_base::waiting`]). Without the gate, thousands of clients waiting for one long statement would need
//! thousands of threads.
//!
//! Invariant: once [`ASIDE_MAX`] threads have stepped aside, at most as many flights pass. An interrupted flight
//! passes, since it no longer waits, and so does one that is answered during the long statement.

use sardonyx_base::waiting::{self, interruptible_future};
use sardonyx_sql::Interrupt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::sleep;

/// This many waiting threads are enough to keep the serial stage busy.
const ASIDE_MAX: usize = 64;
/// The time between two checks of a waiting flight for an interrupt.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub struct Gate(Semaphore);

impl Default for Gate {
    fn default() -> Self {
        Gate(Semaphore::new(ASIDE_MAX))
    }
}

impl Gate {
    /// Returns true if flights wait here.
    pub fn is_narrow() -> bool {
        waiting::count_aside() >= ASIDE_MAX
    }

    /// Serves a client until it is interrupted; if the flight waits, after it has passed the gate.
    pub async fn pass<T>(
        &self,
        interrupt: &Arc<Interrupt>,
        waits: bool,
        serving: impl Future<Output = T>,
    ) -> T {
        let _permit = match waits {
            true => self.permit(interrupt).await,
            false => None,
        };
        interruptible_future(interrupt.clone(), serving).await
    }

    async fn permit(&self, interrupt: &Interrupt) -> Option<tokio::sync::SemaphorePermit<'_>> {
        tokio::select! {
            permit = self.0.acquire() => permit.ok(),
            () = async {
                while interrupt.reason().is_none() {
                    sleep(BETWEEN_LOOKS).await;
                }
            } => None,
        }
    }
}
