//! The kernel: the stages put together, and the calls that clients make.

use crate::batch::{Batch, Job, Single};
use crate::closing::Closing;
use crate::error::SerialError;
use crate::exchange::{Exchange, Exchanged, Owed};
use crate::execution::{Ended, Execution};
use crate::input::{self, QUEUED_BATCHES_MAX, Submitted};
use crate::output::{self, Executed};
use crate::procedure::{Procedure, Registered};
use crate::queue::Queue;
use crate::shape::Shape;
use crate::stages::{StageTime, StageTimes};
use crate::ticket::{BatchTicket, Ticket, owed};
use sardonyx_base::sync::Mutex;
use sardonyx_base::sync::atomic::{AtomicBool, Ordering};
use sardonyx_base::sync::thread::JoinHandle;
use sardonyx_rows::TableError;
use sardonyx_storage::engine::Engine;
use sardonyx_storage::engine_view::EngineView;
use sardonyx_storage::log::writer::LogWriter;
use sardonyx_storage::pen::{Held, Pen};
use sardonyx_storage::supervisor::Supervisor;
use sardonyx_table::{SpaceSnapshot, TableSpace, Transaction};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Weak};
use std::time::Instant;

/// The moment at which a call returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Durability {
    /// When the transaction is on stable storage (I1).
    #[default]
    Durable,
    /// When it has run; it becomes durable soon after, in order. A crash before that loses it and all after it.
    ///
    /// In the shapes with threads, a logging thread writes it within a millisecond
    /// ([`DEFERRED_TIME_MAX`](sardonyx_storage::log::policy::DEFERRED_TIME_MAX)), or as soon as the disk is free then;
    /// earlier, if another transaction waits for the disk. With the TPK paper's parameters, it is written when its
    /// group is closed. In [`Shape::Threadless`] no thread does so. It is written with the next call that waits for
    /// durability, by [`Kernel::flush`], by a checkpoint, by closing or dropping the database. A call also writes it
    /// that leaves as much as [`DEFERRED_TRANSACTIONS_MAX`](sardonyx_storage::log::policy::DEFERRED_TRANSACTIONS_MAX)
    /// transactions or [`DEFERRED_BYTES_MAX`](sardonyx_storage::log::policy::DEFERRED_BYTES_MAX) bytes unwritten. The
    /// same holds for a submitted one whose ticket is not waited for.
    Deferred,
}

/// The way in which a transaction's thread releases the pen.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Release {
    /// The thread has the group written, and waits until that is durable.
    Force,
    /// Another thread waits for the group: it is written as soon as the disk is free.
    HandOn,
    /// No thread waits: the group may be written later.
    PutOff,
}

impl Release {
    #[inline]
    pub fn of(durability: Durability) -> Self {
        match durability {
            Durability::Durable => Release::Force,
            Durability::Deferred => Release::PutOff,
        }
    }
}

/// Runs transactions serially on one storage engine.
pub struct Kernel {
    pub(crate) shared: Arc<Shared>,
    engine: EngineView,
    lanes: Lanes,
    /// `None` once the kernel is closed. Locked while it is being closed, and while a call waits for a checkpoint, which
    /// needs the threads.
    open: Mutex<Option<Open>>,
}

/// The parts of an open kernel alone.
struct Open {
    engine: Engine,
    /// The threads of the stages above the engine: for input, for output, for execution.
    threads: Vec<JoinHandle<()>>,
}

pub(crate) struct Shared {
    /// The right to append, and the tables (I8): a transaction runs while its thread holds it.
    pub pen: Pen<TableSpace>,
    supervisor: Arc<Supervisor>,
    shape: Shape,
    pub closed: AtomicBool,
    input_time: StageTime,
    execution_time: StageTime,
    pub output_time: StageTime,
}

/// The queues between the threads of the pipelined shape; empty in the others.
#[derive(Clone, Default)]
pub(crate) struct Lanes {
    pub input: Vec<Arc<Queue<Submitted>>>,
    pub execution: Option<Arc<Queue<Submitted>>>,
    pub output: Vec<Arc<Queue<Executed>>>,
}

impl Shared {
    pub fn log(&self) -> &Arc<LogWriter> {
        self.pen.log()
    }

    /// The body of the execution stage's thread: executes all jobs until the queue is closed.
    fn run_execution(&self, queue: &Queue<Submitted>, output: &[Arc<Queue<Executed>>]) {
        let _refused = queue.refused_afterwards();
        let mut batch = VecDeque::new();
        while queue.take_all(&mut batch) {
            for Submitted { mut job, lane } in batch.drain(..) {
                let executed = self.supervisor.attempt(|| {
                    let started = Instant::now();
                    let group = self.execute(self.pen.take_inside()?, &mut *job)?;
                    self.execution_time.add_since(started);
                    Ok::<_, SerialError>(group)
                });
                // The stage has died; or a transaction forked, and this is the child's copy of the thread.
                let Some(Ok(group)) = executed else {
                    return;
                };
                // The output queues are closed after this thread has ended, or when their own threads have died. In
                // that case dropping the job answers its ticket.
                drop(output[lane % output.len()].push(Executed { job, group }));
            }
        }
    }

    /// Executes a job, and ensures that its appended records are written. Returns the group to wait for.
    pub fn execute<J: Job + ?Sized>(
        &self,
        held: Held<'_, TableSpace>,
        job: &mut J,
    ) -> Result<u64, SerialError> {
        self.execute_then(held, job, || {})
    }

    /// As [`Shared::execute`]; `ended` is called before another thread gets the pen.
    #[inline]
    fn execute_then<J: Job + ?Sized>(
        &self,
        mut held: Held<'_, TableSpace>,
        job: &mut J,
        ended: impl FnOnce(),
    ) -> Result<u64, SerialError> {
        let group = job.execute(&mut Execution::of(&mut held));
        ended();
        held.still_ours()?.hand_on();
        Ok(group)
    }
}

impl Lanes {
    /// Starts the threads of the stages, for input, for output, for execution, and the queues between.
    fn start_pipeline(
        &mut self,
        shared: &Arc<Shared>,
        input_threads: usize,
        output_threads: usize,
    ) -> Vec<JoinHandle<()>> {
        let supervisor = &shared.supervisor;
        let mut threads = Vec::new();
        let execution = Arc::new(Queue::new(QUEUED_BATCHES_MAX));
        for n in 0..input_threads {
            let input = Arc::new(Queue::new(QUEUED_BATCHES_MAX));
            self.input.push(input.clone());
            let (shared, execution) = (shared.clone(), execution.clone());
            threads.push(supervisor.spawn(format!("input-{n}"), move || {
                input::run(&input, &execution, &shared.supervisor, &shared.input_time)
            }));
        }
        for n in 0..output_threads {
            let output = Arc::new(Queue::new(QUEUED_BATCHES_MAX));
            self.output.push(output.clone());
            let shared = shared.clone();
            threads.push(supervisor.spawn(format!("output-{n}"), move || {
                let wait = |group| Ok(shared.log().wait(group)?);
                output::run(&output, wait, &shared.supervisor, &shared.output_time)
            }));
        }
        let (shared, output) = (shared.clone(), self.output.clone());
        self.execution = Some(execution.clone());
        threads.push(supervisor.spawn("execution", move || {
            shared.run_execution(&execution, &output)
        }));
        threads
    }
}

impl Kernel {
    /// Starts the stages on an opened engine.
    pub fn start(space: TableSpace, mut engine: Engine, shape: Shape) -> Kernel {
        let shared = Arc::new(Shared {
            pen: engine.pen(space),
            supervisor: engine.supervisor().clone(),
            shape,
            closed: AtomicBool::new(false),
            input_time: StageTime::default(),
            execution_time: StageTime::default(),
            output_time: StageTime::default(),
        });
        let pages: Weak<Shared> = Arc::downgrade(&shared);
        engine.checkpoint().set_pages(pages);
        engine.start();
        let (mut lanes, mut threads) = (Lanes::default(), Vec::new());
        if let Shape::Pipelined {
            input_threads,
            output_threads,
        } = shape
        {
            let (input, output) = (input_threads.max(1), output_threads.max(1));
            threads = lanes.start_pipeline(&shared, input, output);
        }
        Kernel {
            shared,
            engine: EngineView::of(&engine),
            lanes,
            open: Mutex::new(Some(Open { engine, threads })),
        }
    }

    /// Runs a closure as a transaction on the calling thread, in its turn.
    ///
    /// # Errors
    /// The closure's own error, when its changes are undone; or the engine's, converted.
    ///
    /// # Panics
    /// With the closure's panic, when its changes are undone.
    pub fn run<T, E: From<SerialError>>(
        &self,
        durability: Durability,
        body: impl FnOnce(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        Self::run_held(self.take()?, Release::of(durability), body).map(|(value, _)| value)
    }

    /// Runs a closure as a transaction in this turn. Returns the closure's value, and the transaction's group.
    pub(crate) fn run_held<T, E: From<SerialError>>(
        mut held: Held<'_, TableSpace>,
        release: Release,
        body: impl FnOnce(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Result<(T, u64), E> {
        let mut execution = Execution::of(&mut held);
        if let Err(error) = execution.admit() {
            // The conversion is the caller's code.
            drop(held);
            return Err(E::from(error));
        }
        let (ended, group) = execution.run(body);
        let held = held.still_ours().map_err(SerialError::from)?;
        let fate = match release {
            Release::Force => held.force(group).map_err(SerialError::from),
            Release::HandOn => {
                held.hand_on();
                Ok(())
            }
            Release::PutOff => {
                held.put_off();
                Ok(())
            }
        };
        match ended {
            Ended::Committed(value) => fate.map(|()| (value, group)).map_err(E::from),
            Ended::Aborted(error) => Err(error),
            Ended::Panicked(panic) => resume_unwind(panic),
            Ended::Forked => Err(SerialError::Forked.into()),
        }
    }

    /// Reads without changing anything. The data read may not be durable yet.
    ///
    /// # Errors
    /// [`SerialError::Nested`] if called by code that the database itself runs; [`SerialError::Forked`].
    ///
    /// # Panics
    /// With the closure's panic.
    pub fn try_read<T>(&self, body: impl FnOnce(&TableSpace) -> T) -> Result<T, SerialError> {
        let held = self.take()?;
        let outcome = catch_unwind(AssertUnwindSafe(|| body(&held)));
        // In a child that the closure forked, the pen is the parent's: not an error, since nothing was changed.
        drop(held.still_ours());
        Ok(outcome.unwrap_or_else(|panic| resume_unwind(panic)))
    }

    /// A snapshot of all tables, as they are committed now. It may not be durable yet.
    ///
    /// # Errors
    /// [`SerialError::Nested`] if called by code that the database itself runs; [`SerialError::Forked`];
    /// [`SerialError::Closed`]; if there is no address space for it.
    #[inline]
    pub fn snapshot(&self) -> Result<Arc<SpaceSnapshot>, SerialError> {
        let mut held = self.take()?;
        let snapshot = frozen(&mut held);
        held.put_off();
        Ok(snapshot?)
    }

    /// A snapshot at the end of a commit group, and the group's number. The snapshot has the changes of this group and
    /// all before it, and no others; they are durable on return.
    ///
    /// # Errors
    /// As [`Kernel::snapshot`]; the error that poisoned the log.
    #[inline]
    pub fn snapshot_at_group(&self) -> Result<(Arc<SpaceSnapshot>, u64), SerialError> {
        let mut held = self.take()?;
        let snapshot = frozen(&mut held);
        let group = held.close_group();
        self.shared.pen.wait(group)?;
        Ok((snapshot?, group))
    }

    /// Submits a closure as a transaction. The ticket is complete when the transaction is durable.
    ///
    /// # Errors
    /// From the ticket: [`SerialError::Panicked`] if the closure panicked; the closure's own error is the inner one. In
    /// both cases the transaction was undone.
    pub fn submit<T, E>(
        &self,
        body: impl FnOnce(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
    ) -> Ticket<Result<T, E>>
    where
        T: Send + 'static,
        E: Send + 'static,
    {
        if self.lanes.input.is_empty() {
            let mut job = Single::new(body, None);
            return match self.execute_here(&mut job) {
                Ok(group) => Ticket::executed(job.into_outcome(), group, self.shared.log()),
                Err(error) => self.refused(error),
            };
        }
        if let Err(error) = self.shared.log().check_caller() {
            return self.refused(error.into());
        }
        let (ticket, answer) = owed(self.shared.log());
        self.enqueue(Box::new(Single::new(body, Some(answer))), 0);
        ticket
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
            return self.execute_batch(procedure, arguments, || self.take(), || {});
        }
        if let Err(error) = self.shared.log().check_caller() {
            return self.refused(error.into());
        }
        let (ticket, answer) = owed(self.shared.log());
        let batch = Batch::new(procedure.clone(), arguments, Some(answer));
        self.enqueue(Box::new(batch), lane);
        ticket
    }

    /// Submits an exchange, whose requests are received on the input stage and answered on the output stage. Without
    /// such stages it is received and executed on the calling thread, in its turn. The caller owes the answer, and may
    /// give it on another thread. `lane` as in [`Kernel::submit_batch`].
    pub fn submit_exchange<X: Exchange>(
        &self,
        procedure: &Registered<X::Procedure>,
        exchange: X,
        lane: usize,
    ) -> Option<Owed<X>> {
        let mut job = Exchanged::new(procedure.clone(), exchange, self.shared.log());
        if let Err(error) = self.shared.log().check_caller() {
            job.deliver(Err(error.into()));
            return None;
        }
        if !self.lanes.input.is_empty() {
            self.enqueue(Box::new(job), lane);
            return None;
        }
        match self.execute_timed(&mut job, || self.take(), || {}) {
            Ok(group) => Some(Owed::new(job, group, &self.shared)),
            Err(error) => {
                job.deliver(Err(error));
                None
            }
        }
    }

    /// The coalesced shapes: input and execution on the caller's thread.
    #[inline]
    pub(crate) fn execute_batch<'k, P: Procedure>(
        &'k self,
        procedure: &Registered<P>,
        arguments: Vec<P::Arguments>,
        take: impl FnOnce() -> Result<Held<'k, TableSpace>, SerialError>,
        ended: impl FnOnce(),
    ) -> BatchTicket<P::Output, P::Error> {
        let mut batch = Batch::new(procedure.clone(), arguments, None);
        match self.execute_timed(&mut batch, take, ended) {
            Ok(group) => Ticket::executed(Ok(batch.into_outcomes()), group, self.shared.log()),
            Err(error) => self.refused(error),
        }
    }

    /// Input and execution on the caller's thread, each timed.
    #[inline]
    fn execute_timed<'k>(
        &'k self,
        job: &mut impl Job,
        take: impl FnOnce() -> Result<Held<'k, TableSpace>, SerialError>,
        ended: impl FnOnce(),
    ) -> Result<u64, SerialError> {
        let started = Instant::now();
        job.prepare();
        self.shared.input_time.add_since(started);
        self.execute_prepared(job, take, ended)
    }

    /// Execution on the caller's thread, timed with the wait for the pen.
    #[inline]
    pub(crate) fn execute_prepared<'k>(
        &'k self,
        job: &mut impl Job,
        take: impl FnOnce() -> Result<Held<'k, TableSpace>, SerialError>,
        ended: impl FnOnce(),
    ) -> Result<u64, SerialError> {
        let started = Instant::now();
        let group = self.shared.execute_then(take()?, job, ended)?;
        self.shared.execution_time.add_since(started);
        Ok(group)
    }

    /// Executes on the caller's thread.
    fn execute_here(&self, job: &mut impl Job) -> Result<u64, SerialError> {
        self.shared.execute(self.take()?, job)
    }

    pub(crate) fn take(&self) -> Result<Held<'_, TableSpace>, SerialError> {
        let held = self.shared.pen.take()?;
        // With the pen: after the log's end was marked nothing may be appended.
        self.check_open()?;
        Ok(held)
    }

    #[inline]
    pub(crate) fn try_take(&self) -> Result<Option<Held<'_, TableSpace>>, SerialError> {
        let held = self.shared.pen.try_take()?;
        self.check_open()?;
        Ok(held)
    }

    /// Checks that calls are answered.
    ///
    /// # Errors
    /// [`SerialError::Forked`], [`SerialError::Closed`].
    pub fn check(&self) -> Result<(), SerialError> {
        self.shared.log().process().check()?;
        self.check_open()
    }

    #[inline]
    fn check_open(&self) -> Result<(), SerialError> {
        match self.shared.closed.load(Ordering::Acquire) {
            false => Ok(()),
            true => Err(SerialError::Closed),
        }
    }

    pub(crate) fn refused<T>(&self, error: SerialError) -> Ticket<T> {
        Ticket::refused(error, self.shared.log())
    }

    /// Puts a job into its lane's input queue. If the input stage has ended, the queue returns the job, and dropping it
    /// answers its ticket.
    pub(crate) fn enqueue(&self, job: Box<dyn Job>, lane: usize) {
        let input = &self.lanes.input[lane % self.lanes.input.len()];
        drop(input.push(Submitted { job, lane }));
    }

    /// Makes the handle by which batches of the procedure are submitted.
    pub fn register<P: Procedure>(&self, procedure: P) -> Registered<P> {
        Registered(Arc::new(procedure))
    }

    /// Waits until everything that has run so far is durable.
    #[inline]
    pub fn flush(&self) -> Result<(), SerialError> {
        self.check()?;
        Ok(self.shared.pen.flush()?)
    }

    /// Takes a checkpoint of everything that is durable now, and waits for it.
    #[inline]
    pub fn checkpoint(&self) -> Result<(), SerialError> {
        self.flush()?;
        let open = self.open.lock();
        if open.is_none() {
            return Err(SerialError::Closed);
        }
        let pen = &self.shared.pen;
        Ok(pen.checkpoint().take(pen.log().durable())?)
    }

    /// Read access to the storage: sizes, statistics, the log's state.
    pub fn engine(&self) -> &EngineView {
        &self.engine
    }

    /// The busy times since the database was opened.
    #[inline]
    pub fn stage_times(&self) -> StageTimes {
        StageTimes {
            input: self.shared.input_time.total(),
            execution: self.shared.execution_time.total(),
            logging: self.shared.log().statistics().write_time,
            output: self.shared.output_time.total(),
            checkpoint: self.shared.pen.checkpoint().busy_time(),
        }
    }

    /// Lets everything that was submitted finish, makes it durable, marks the log's end as clean,
    /// and stops the stages. Once it is closed, this does nothing, and every other call is refused
    /// ([`SerialError::Closed`]).
    ///
    /// # Errors
    /// The error that closed the log. [`SerialError::Nested`] inside a transaction of this database, or on one of the
    /// engine's threads. Another thread closes it then, as soon as submitted work has ended, unless one is closing it
    /// already. After that it can be opened again. [`SerialError::Forked`] in a child, where nothing is done.
    pub fn close(&self) -> Result<(), SerialError> {
        self.close_then(|| ())
    }

    /// As [`Kernel::close`]. `ended` is called once when nothing more is appended and another host can continue: before
    /// the rest of the close where each durable group is in a store, and after it otherwise. If the database is closed, or
    /// another thread closes it after a call from inside of a transaction, it is called at once. It is dropped without a
    /// call in a child.
    ///
    /// # Errors
    /// As [`Kernel::close`].
    pub fn close_then(&self, ended: impl FnOnce() + Send + 'static) -> Result<(), SerialError> {
        self.shared.log().process().check()?;
        let inside = self.shared.log().check_caller().is_err();
        let mut open = match inside {
            // Its holder may wait for this thread.
            true => self.open.try_lock().ok_or(SerialError::Nested)?,
            false => self.open.lock(),
        };
        let Some(Open { engine, threads }) = open.take() else {
            ended();
            return Ok(());
        };
        self.shared.closed.store(true, Ordering::Release);
        let closing = Closing {
            shared: self.shared.clone(),
            engine,
            lanes: self.lanes.clone(),
            threads,
            ended: Box::new(ended),
        };
        let closed = self.shared.supervisor.end(closing, inside, Closing::close);
        closed.unwrap_or(Err(SerialError::Nested))
    }
}

impl Drop for Kernel {
    /// Closes cleanly unless it was closed, as [`Kernel::close`], which returns errors.
    fn drop(&mut self) {
        if self.shared.log().process().is_current() {
            // The error was logged, and returned to the calls that met it.
            let _ = self.close();
            return;
        }
        // The child has no copy of the threads, and a thread may have held a lock of the shared state at the fork. So
        // the child leaves the memory to its end.
        std::mem::forget(self.shared.clone());
        let open = self.open.try_lock();
        if let Some(Open { threads, .. }) = open.and_then(|mut open| open.take()) {
            threads.into_iter().for_each(std::mem::forget);
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

#[inline]
pub(crate) fn frozen(held: &mut Held<'_, TableSpace>) -> Result<Arc<SpaceSnapshot>, TableError> {
    let (space, mut appending) = held.split();
    // Beginning undoes a transaction that was leaked.
    space.begin(appending.builder()).abort();
    space.snapshot()
}
