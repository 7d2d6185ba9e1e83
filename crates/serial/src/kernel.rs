//! The kernel: the stages put together, and the calls that clients make.

use crate::batch::{Batch, Job, Outcomes, Single};
use crate::error::SerialError;
use crate::execution::{Ended, Execution};
use crate::input::{self, QUEUED_BATCHES_MAX, Submitted};
use crate::output::{self, Executed};
use crate::procedure::{Procedure, Registered};
use crate::queue::Queue;
use crate::shape::Shape;
use crate::stages::{StageTime, StageTimes};
use crate::ticket::{Acknowledger, BatchTicket, Delivery, Ticket};
use crate::turn::{Turn, Turns};
use sardonyx_storage::backbone::Backbone;
use sardonyx_storage::checkpoint::CheckpointStage;
use sardonyx_storage::log::commit::{GroupCommit, GroupSource};
use sardonyx_storage::log::filling::Filling;
use sardonyx_storage::log::writer::SealedGroup;
use sardonyx_storage::sync::atomic::{AtomicBool, Ordering};
use sardonyx_storage::sync::thread::{self, JoinHandle};
use sardonyx_table::{TableSpace, Transaction};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Instant;

/// Why a stage's thread always gets its turn.
const THREAD_OF_ITS_OWN: &str = "the stages' threads are not inside a transaction";

/// When a call returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Durability {
    /// When the transaction is on stable storage (I1).
    #[default]
    Durable,
    /// When it has run; it becomes durable soon after, in order. A crash before that loses it and
    /// everything after it, and nothing before it.
    Deferred,
}

/// Runs transactions serially on one storage backbone.
pub struct Kernel {
    shared: Arc<Shared>,
    backbone: Backbone,
    lanes: Lanes,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    execution: Turns,
    commit: Arc<GroupCommit>,
    checkpoint: Arc<CheckpointStage>,
    shape: Shape,
    closed: AtomicBool,
    input_time: StageTime,
    execution_time: StageTime,
    output_time: StageTime,
}

/// The queues between the threads of the pipelined shape; empty in the others.
#[derive(Default)]
struct Lanes {
    input: Vec<Arc<Queue<Submitted>>>,
    execution: Option<Arc<Queue<Submitted>>>,
    output: Vec<Arc<Queue<Executed>>>,
}

impl GroupSource for Shared {
    fn try_seal(&self) -> Option<SealedGroup> {
        self.execution.try_take()?.filling.try_seal()
    }
}

impl Shared {
    /// After letting go of the execution stage: nobody must be left waiting for a group that
    /// everyone takes for another's business.
    #[inline]
    fn after_execution(&self) {
        self.commit.after_execution(self);
        if self.shape == Shape::Threadless {
            self.checkpoint.pump();
        }
    }

    /// Closes the group being filled, whatever its policy, so that nobody waits for its time or its
    /// count. Returns the last group with a transaction.
    fn hand_over(&self) -> Result<u64, SerialError> {
        let mut execution = self.execution.take()?;
        let group = execution.filling.last_group();
        execution.filling.hand_over();
        drop(execution);
        self.after_execution();
        Ok(group)
    }

    /// Executes what comes until the queue is closed: the execution stage's thread.
    fn run_execution(&self, queue: &Queue<Submitted>, output: &[Arc<Queue<Executed>>]) {
        let mut batch = VecDeque::new();
        while queue.take_all(&mut batch) {
            for Submitted { mut job, lane } in batch.drain(..) {
                let started = Instant::now();
                let mut execution = match self.execution.take() {
                    // A transaction forked, and this is the child's copy of the thread.
                    Err(SerialError::Forked) => return,
                    turn => turn.expect(THREAD_OF_ITS_OWN),
                };
                let group = job.execute(&mut execution);
                let Ok(mut execution) = execution.still_ours() else {
                    return;
                };
                if self.commit.wants_group()
                    && let Some(group) = execution.filling.seal_if_wanted()
                {
                    self.commit.push(group);
                }
                drop(execution);
                self.execution_time.add_since(started);
                self.after_execution();
                // The output queues are closed only after this thread has ended.
                drop(output[lane % output.len()].push(Executed { job, group }));
            }
        }
    }
}

impl Acknowledger for Shared {
    fn is_durable(&self, group: u64) -> bool {
        self.commit.is_durable(group)
    }

    fn check(&self) -> Result<(), SerialError> {
        Ok(self.commit.check()?)
    }

    fn wait(&self, group: u64) -> Result<(), SerialError> {
        self.execution.check_not_nested()?;
        Ok(self.commit.wait(group, self)?)
    }

    fn poll(&self, group: u64, waker: &Waker) -> Poll<Result<(), SerialError>> {
        if self.shape == Shape::Threadless {
            // Nobody else would write it. Once more after the waker is registered: whoever holds the
            // execution stage now wakes it when letting go.
            loop {
                while !self.commit.is_durable(group) && self.commit.help(self) {}
                let outcome = self.commit.poll(group, waker);
                if outcome.is_ready() || !self.commit.help(self) {
                    return outcome.map_err(SerialError::from);
                }
            }
        }
        self.commit.poll(group, waker).map_err(SerialError::from)
    }
}

impl Kernel {
    /// Starts the stages on an opened backbone.
    pub fn start(space: TableSpace, filling: Filling, backbone: Backbone, shape: Shape) -> Kernel {
        let commit = backbone.commit().clone();
        let checkpoint = backbone.checkpoint().clone();
        let shared = Arc::new(Shared {
            execution: Turns::new(Execution::new(
                space,
                filling,
                commit.clone(),
                checkpoint.clone(),
            )),
            commit,
            checkpoint,
            shape,
            closed: AtomicBool::new(false),
            input_time: StageTime::default(),
            execution_time: StageTime::default(),
            output_time: StageTime::default(),
        });
        let mut kernel = Kernel {
            shared,
            backbone,
            lanes: Lanes::default(),
            threads: Vec::new(),
        };
        if shape.is_threaded() {
            kernel.backbone.start(kernel.shared.clone());
        }
        if let Shape::Pipelined {
            input_threads,
            output_threads,
        } = shape
        {
            kernel.start_pipeline(input_threads.max(1), output_threads.max(1));
        }
        kernel
    }

    fn start_pipeline(&mut self, input_threads: usize, output_threads: usize) {
        let execution = Arc::new(Queue::new(QUEUED_BATCHES_MAX));
        for n in 0..input_threads {
            let input = Arc::new(Queue::new(QUEUED_BATCHES_MAX));
            self.lanes.input.push(input.clone());
            let (shared, execution) = (self.shared.clone(), execution.clone());
            self.spawn(format!("input-{n}"), move || {
                input::run(&input, &execution, &shared.input_time)
            });
        }
        for n in 0..output_threads {
            let output = Arc::new(Queue::new(QUEUED_BATCHES_MAX));
            self.lanes.output.push(output.clone());
            let shared = self.shared.clone();
            self.spawn(format!("output-{n}"), move || {
                output::run(&output, |group| shared.wait(group), &shared.output_time)
            });
        }
        let (shared, output) = (self.shared.clone(), self.lanes.output.clone());
        self.lanes.execution = Some(execution.clone());
        self.spawn("execution".into(), move || {
            shared.run_execution(&execution, &output)
        });
    }

    fn spawn(&mut self, name: String, body: impl FnOnce() + Send + 'static) {
        let thread = thread::Builder::new().name(name).spawn(body);
        self.threads
            .push(thread.expect("the system can start a thread"));
    }

    /// Runs a closure as a transaction on the calling thread, in its turn.
    ///
    /// # Errors
    /// The closure's own, after undoing what it did; or the engine's, converted.
    ///
    /// # Panics
    /// With the closure's panic, after undoing what it did.
    pub fn run<T, E: From<SerialError>>(
        &self,
        durability: Durability,
        body: impl FnOnce(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let shared = &*self.shared;
        let mut execution = self.enter()?;
        execution.admit()?;
        let (ended, group) = execution.run(body);
        let mut execution = execution.still_ours()?;
        let sealed = match durability {
            Durability::Durable => execution.filling.seal_if_wanted(),
            Durability::Deferred => None,
        };
        drop(execution);
        match sealed {
            Some(sealed) => shared.commit.write_directly(sealed),
            None => shared.commit.after_execution(shared),
        }
        let fate = match durability {
            Durability::Durable => shared.wait(group),
            Durability::Deferred => Ok(()),
        };
        if shared.shape == Shape::Threadless {
            shared.checkpoint.pump();
        }
        match ended {
            Ended::Committed(value) => fate.map(|()| value).map_err(E::from),
            Ended::Aborted(error) => Err(error),
            Ended::Panicked(panic) => resume_unwind(panic),
            Ended::Forked => Err(SerialError::Forked.into()),
        }
    }

    /// Reads without changing anything. What it sees may not be durable yet.
    ///
    /// # Panics
    /// With the closure's panic; where [`Kernel::try_read`] is refused, with its error.
    pub fn read<T>(&self, body: impl FnOnce(&TableSpace) -> T) -> T {
        self.try_read(body)
            .unwrap_or_else(|refused| panic!("{refused}"))
    }

    /// Reads without changing anything. What it sees may not be durable yet.
    ///
    /// # Errors
    /// [`SerialError::Nested`] if called by a transaction's code on the database that runs it;
    /// [`SerialError::Forked`].
    ///
    /// # Panics
    /// With the closure's panic.
    pub fn try_read<T>(&self, body: impl FnOnce(&TableSpace) -> T) -> Result<T, SerialError> {
        let execution = self.shared.execution.take()?;
        let outcome = catch_unwind(AssertUnwindSafe(|| body(&execution.space)));
        // A child that the closure made has read what its parent had.
        if let Ok(execution) = execution.still_ours() {
            drop(execution);
            // Also after a panic: others may have left the group to us.
            self.shared.after_execution();
        }
        Ok(outcome.unwrap_or_else(|panic| resume_unwind(panic)))
    }

    /// Submits a closure as a transaction; the ticket tells when it is durable.
    ///
    /// # Errors
    /// When waited for: [`SerialError::Panicked`] if it panicked; the closure's own error is the
    /// inner one. Either way it was undone.
    pub fn submit<T, E>(
        &self,
        body: impl FnOnce(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
    ) -> Ticket<Result<T, E>>
    where
        T: Send + 'static,
        E: Send + 'static,
    {
        let delivery = Delivery::new();
        let mut job = Single::new(body, delivery.clone());
        if self.lanes.input.is_empty() {
            let executed = self.enter().and_then(|mut execution| {
                let group = job.execute(&mut execution);
                execution.still_ours().map(|_| group)
            });
            let group = match executed {
                Ok(group) => group,
                Err(error) => return self.refused(error),
            };
            self.shared.after_execution();
            // Delivered to ourselves: the ticket waits for the group.
            Box::new(job).deliver(Ok(()));
            return Ticket::executed(delivery_outcome(&delivery), group, self.shared.clone());
        }
        self.enqueue(Box::new(job), &delivery);
        Ticket::piped(delivery)
    }

    /// Submits a batch of requests of a procedure; each is a transaction of its own, and they run in
    /// the batch's order. `lane` tells clients apart: batches of one lane keep their order.
    pub fn submit_batch<P: Procedure>(
        &self,
        procedure: &Registered<P>,
        arguments: Vec<P::Arguments>,
        lane: usize,
    ) -> BatchTicket<P::Output, P::Error> {
        if self.lanes.input.is_empty() {
            return self.execute_batch(Batch::new(procedure.clone(), arguments, None));
        }
        let delivery: Arc<Delivery<Outcomes<P>>> = Delivery::new();
        let batch = Batch::new(procedure.clone(), arguments, Some(delivery.clone()));
        self.enqueue_in(Box::new(batch), lane, &delivery);
        Ticket::piped(delivery)
    }

    /// The coalesced shapes: input and execution on the caller's thread.
    fn execute_batch<P: Procedure>(&self, mut batch: Batch<P>) -> BatchTicket<P::Output, P::Error> {
        let started = Instant::now();
        batch.prepare();
        self.shared.input_time.add_since(started);
        let started = Instant::now();
        let executed = self.enter().and_then(|mut execution| {
            let group = batch.execute(&mut execution);
            Ok((group, execution.still_ours()?))
        });
        let group = match executed {
            Ok((group, mut execution)) => {
                if self.shared.shape.is_threaded()
                    && let Some(group) = execution.filling.seal_if_wanted()
                {
                    self.shared.commit.push(group);
                }
                group
            }
            Err(error) => return self.refused(error),
        };
        self.shared.execution_time.add_since(started);
        self.shared.after_execution();
        Ticket::executed(Ok(batch.into_outcomes()), group, self.shared.clone())
    }

    fn enter(&self) -> Result<Turn<'_>, SerialError> {
        if self.shared.closed.load(Ordering::Acquire) {
            return Err(SerialError::Closed);
        }
        self.shared.execution.take()
    }

    fn refused<T>(&self, error: SerialError) -> Ticket<T> {
        Ticket::executed(Err(error), 0, self.shared.clone())
    }

    fn enqueue<T>(&self, job: Box<dyn Job>, delivery: &Arc<Delivery<T>>) {
        self.enqueue_in(job, 0, delivery);
    }

    fn enqueue_in<T>(&self, job: Box<dyn Job>, lane: usize, delivery: &Arc<Delivery<T>>) {
        if let Err(forked) = self.shared.commit.process().check() {
            return delivery.deliver(Err(forked.into()));
        }
        let input = &self.lanes.input[lane % self.lanes.input.len()];
        if input.push(Submitted { job, lane }).is_err() {
            delivery.deliver(Err(SerialError::Closed));
        }
    }

    /// Registers a procedure.
    pub fn register<P: Procedure>(&self, procedure: P) -> Registered<P> {
        Registered(Arc::new(procedure))
    }

    /// Waits until everything that has run so far is durable.
    pub fn flush(&self) -> Result<(), SerialError> {
        let group = self.shared.hand_over()?;
        self.shared.wait(group)
    }

    /// Takes a checkpoint of everything that is durable now, and waits for it.
    pub fn take_checkpoint(&self) -> Result<(), SerialError> {
        self.flush()?;
        Ok(self.shared.checkpoint.take(self.shared.commit.durable())?)
    }

    /// The storage below.
    pub fn backbone(&self) -> &Backbone {
        &self.backbone
    }

    /// The time that each stage has been busy.
    pub fn stage_times(&self) -> StageTimes {
        StageTimes {
            input: self.shared.input_time.total(),
            execution: self.shared.execution_time.total(),
            logging: self.shared.commit.statistics().write_time,
            output: self.shared.output_time.total(),
            checkpoint: self.shared.checkpoint.busy_time(),
        }
    }

    /// Lets everything that was submitted finish, makes it durable, marks the log's end as clean,
    /// and stops the stages.
    ///
    /// # Errors
    /// The log's; [`SerialError::Forked`] in a child, where nothing is done.
    pub fn close(mut self) -> Result<(), SerialError> {
        self.stop(true)
    }

    fn stop(&mut self, clean: bool) -> Result<(), SerialError> {
        if self.shared.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        if let Err(forked) = self.shared.commit.process().check() {
            self.forget();
            return Err(forked.into());
        }
        self.drain_pipeline();
        let outcome = if clean { self.end_log() } else { Ok(()) };
        if clean && outcome.is_ok() {
            self.backbone.record_end();
        }
        self.backbone.stop();
        outcome
    }

    /// In a forked child: forgets the threads, which are not there, and what they share with this,
    /// whose locks may be taken for ever. It is memory only, and goes with the child.
    fn forget(&mut self) {
        self.threads.drain(..).for_each(std::mem::forget);
        std::mem::forget(self.shared.clone());
    }

    /// Makes everything durable, and marks the log's end with an empty group.
    fn end_log(&self) -> Result<(), SerialError> {
        self.flush()?;
        let mark = self.shared.execution.take()?.filling.seal_even_if_empty();
        let number = mark.header().number;
        self.shared.commit.write_directly(mark);
        self.shared.wait(number)
    }

    /// Closes the queues stage by stage, each after the one before it is done.
    fn drain_pipeline(&mut self) {
        let join = |threads: Vec<JoinHandle<()>>| {
            for thread in threads {
                // A stage's thread runs user code only under `catch_unwind`.
                thread.join().expect("a stage's thread does not panic");
            }
        };
        let (inputs, outputs) = (self.lanes.input.len(), self.lanes.output.len());
        let mut threads = std::mem::take(&mut self.threads).into_iter();
        self.lanes.input.iter().for_each(|queue| queue.close());
        join(threads.by_ref().take(inputs).collect());
        let output_threads: Vec<_> = threads.by_ref().take(outputs).collect();
        if let Some(execution) = &self.lanes.execution {
            execution.close();
        }
        join(threads.collect());
        // The last groups may still be filling; the output threads wait for them.
        self.shared.hand_over().expect(THREAD_OF_ITS_OWN);
        self.lanes.output.iter().for_each(|queue| queue.close());
        join(output_threads);
    }
}

impl Drop for Kernel {
    /// Closes cleanly if nobody did; errors are lost, so call [`Kernel::close`] to see them.
    fn drop(&mut self) {
        if let Err(error) = self.stop(true) {
            tracing::warn!(%error, "closing the database failed");
        }
    }
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kernel")
            .field("shape", &self.shared.shape)
            .finish_non_exhaustive()
    }
}

/// Takes what was delivered already.
fn delivery_outcome<T>(delivery: &Arc<Delivery<T>>) -> Result<T, SerialError> {
    Ticket::piped(delivery.clone()).wait()
}
