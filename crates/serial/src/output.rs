//! The output stage: takes executed requests, and gives their results to the clients once their
//! commit group, and so every earlier one, is durable (I1). It may be replicated; a client's results
//! always come through the same output thread, in order.
//!
//! Source: TPK paper, section 2, "Transaction Input and Output".

use crate::batch::Job;
use crate::error::SerialError;
use crate::queue::Queue;
use crate::stages::StageTime;
use sardonyx_storage::supervisor::Supervisor;
use std::collections::VecDeque;
use std::time::Instant;

/// An executed batch, and the group to wait for.
pub(crate) struct Executed {
    pub job: Box<dyn Job>,
    pub group: u64,
}

/// Delivers what comes until the queue is closed. The body of a thread.
pub(crate) fn run(
    output: &Queue<Executed>,
    wait: impl Fn(u64) -> Result<(), SerialError>,
    supervisor: &Supervisor,
    time: &StageTime,
) {
    let _refused = output.refused_afterwards();
    let mut batch = VecDeque::new();
    while output.take_all(&mut batch) {
        for Executed { job, group } in &mut batch {
            let delivered = supervisor.attempt(|| {
                let fate = wait(*group);
                let started = Instant::now();
                job.deliver(fate);
                time.add_since(started);
            });
            if delivered.is_none() {
                return;
            }
        }
        batch.clear();
    }
}
