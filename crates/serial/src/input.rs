//! The input stage: receives requests from clients, prepares them, and submits them to the
//! execution queue. It may be replicated; the batches of one client always go through the same
//! input thread, so their order is kept.
//!
//! Source: TPK paper, section 2, "Transaction Input and Output".

use crate::batch::Job;
use crate::queue::Queue;
use crate::stages::StageTime;
use sardonyx_storage::supervisor::Supervisor;
use std::collections::VecDeque;
use std::time::Instant;

/// Batches that wait before each stage, at most (I10).
pub const QUEUED_BATCHES_MAX: usize = 1024;

/// A batch, and the lane (the client) that it belongs to.
pub(crate) struct Submitted {
    pub job: Box<dyn Job>,
    pub lane: usize,
}

/// Prepares what comes until the queue is closed. The body of a thread.
pub(crate) fn run(
    input: &Queue<Submitted>,
    execution: &Queue<Submitted>,
    supervisor: &Supervisor,
    time: &StageTime,
) {
    let _refused = input.refused_afterwards();
    let mut batch = VecDeque::new();
    while input.take_all(&mut batch) {
        let started = Instant::now();
        for submitted in &mut batch {
            if supervisor.attempt(|| submitted.job.prepare()).is_none() {
                return;
            }
        }
        time.add_since(started);
        for submitted in batch.drain(..) {
            // The execution queue is closed only after this thread has ended, unless its own has died;
            // then the batch answers that.
            drop(execution.push(submitted));
        }
    }
}
