//! Ending the stages: what was submitted finishes, everything becomes durable, every ticket is answered,
//! and only when all threads have ended is the database's lock given back. The next opening of the
//! database then meets no thread that continues.

use crate::error::SerialError;
use crate::kernel::{Lanes, Shared};
use sardonyx_base::events;
use sardonyx_base::sync::thread::JoinHandle;
use sardonyx_storage::engine::Engine;
use sardonyx_storage::supervisor::join;
use std::sync::Arc;

/// The remaining work of a kernel without handles.
pub(crate) struct Closing {
    pub shared: Arc<Shared>,
    pub lanes: Lanes,
    /// The threads of the stages above the engine: for input, for output, for execution.
    pub threads: Vec<JoinHandle<()>>,
    pub engine: Engine,
    /// Called once when nothing more is appended, and everything is at the place where others continue.
    pub ended: Ended,
}

/// A call at the end of a log.
pub(crate) type Ended = Box<dyn FnOnce() + Send>;

impl Closing {
    /// Ends it, on a thread that is not one of the engine's.
    ///
    /// If each durable group is in a store, another host can continue when the end is marked, and need not wait for the
    /// records of this directory. Otherwise the store has the log's end only when the threads have ended.
    ///
    /// # Errors
    /// The error that closed the log.
    pub fn close(mut self) -> Result<(), SerialError> {
        self.engine.begin_to_close();
        let drained = self.drain_pipeline();
        let outcome = drained.and_then(|()| Ok(self.shared.pen.mark_end()?));
        match &outcome {
            Ok(()) => {
                if self.shared.log().has_remote_copy() {
                    std::mem::replace(&mut self.ended, Box::new(|| ()))();
                }
                self.end_in_order();
            }
            Err(error) => events::warn!(%error, "closing the database failed"),
        }
        // Its threads have ended when this returns; the lock goes with it.
        self.engine.stop();
        (self.ended)();
        outcome
    }

    /// Records the log's end, and stores the indexes for the next opening.
    fn end_in_order(&mut self) {
        if let Some(closed) = self.engine.record_end()
            && let Ok(mut held) = self.shared.pen.take()
        {
            let (space, _) = held.split();
            space.store_indexes(&**self.engine.disk(), closed);
        }
    }

    /// Closes the queues stage by stage, each after the one before it is done.
    fn drain_pipeline(&mut self) -> Result<(), SerialError> {
        let (inputs, outputs) = (self.lanes.input.len(), self.lanes.output.len());
        let mut threads = std::mem::take(&mut self.threads).into_iter();
        self.lanes.input.iter().for_each(|queue| queue.close());
        join(threads.by_ref().take(inputs));
        let output_threads: Vec<_> = threads.by_ref().take(outputs).collect();
        if let Some(execution) = &self.lanes.execution {
            execution.close();
        }
        join(threads);
        // The last groups may still be filling; the output threads wait for them.
        let held = self.shared.pen.take();
        let handed_over = held.map(|held| held.close_group());
        self.lanes.output.iter().for_each(|queue| queue.close());
        join(output_threads);
        handed_over?;
        Ok(())
    }
}
