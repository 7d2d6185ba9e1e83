//! The reader: threads of its own on which queries are planned and run.
//!
//! Whoever asks waits for nothing but the answer. Queries are planned on a thread each, whose stack is deep enough for
//! whatever the SQL layer lets through; they are run by threads that stand behind all others of the process, one fewer
//! than there are processors, so that transactions go on.

use crate::error::told;
use crate::plan::{self, Planned};
use crate::rows::Running;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::GreedyMemoryPool;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::physical_plan::displayable;
use sardonyx_sql::{
    AnalyticDescription, AnalyticFuture, AnalyticQuery, AnalyticReader, AnalyticRows, SqlError,
    code,
};
use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

/// The stack of a thread that plans or runs: trees lean as deep as the SQL layer lets them, 1000 levels.
const STACK_BYTES: usize = 64 << 20;

/// What queries may take.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// The most memory of all queries together, as far as it grows with their rows: groups, sorted rows, joined tables.
    pub memory_bytes: usize,
    /// How many threads run queries; none: one fewer than there are processors.
    pub threads: Option<NonZeroUsize>,
    /// How many parts a query's work is cut into; none: as many as there are threads.
    pub partitions: Option<NonZeroUsize>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            memory_bytes: 1 << 30,
            threads: None,
            partitions: None,
        }
    }
}

/// Reads by DataFusion.
#[derive(Debug)]
pub struct DataFusionReader {
    /// There until it is dropped.
    runtime: Option<Runtime>,
    environment: Arc<RuntimeEnv>,
    partitions: usize,
}

impl DataFusionReader {
    /// A reader with threads of its own, which end when it is dropped.
    ///
    /// # Errors
    /// Its threads cannot be started.
    pub fn new(options: &Options) -> io::Result<Self> {
        let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let threads = options.threads.map(NonZeroUsize::get);
        let threads = threads.unwrap_or(processors.saturating_sub(1)).max(1);
        let runtime = Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_name("analytic read")
            .thread_stack_size(STACK_BYTES)
            .on_thread_start(stand_behind)
            .enable_time()
            .build()?;
        let disk = DiskManagerBuilder::default().with_mode(DiskManagerMode::Disabled);
        let environment = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(GreedyMemoryPool::new(options.memory_bytes)))
            .with_disk_manager_builder(disk)
            .build_arc()
            .map_err(io::Error::other)?;
        Ok(DataFusionReader {
            runtime: Some(runtime),
            environment,
            partitions: options.partitions.map_or(threads, NonZeroUsize::get),
        })
    }

    /// Plans on a thread of its own.
    fn planned(&self, query: AnalyticQuery) -> AnalyticFuture<'static, Planned> {
        let (environment, partitions) = (self.environment.clone(), self.partitions);
        let work = async move { plan::plan(&query, &environment, partitions).await };
        let answer = on_thread(Rank::Behind, work);
        Box::pin(async move {
            let answer = answer.map_err(|error| no_thread(&error))?;
            answer.await.map_err(|_| gave_up())?
        })
    }
}

impl Drop for DataFusionReader {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Whoever drops it may be a task of another runtime, which must not wait.
            runtime.shutdown_background();
        }
    }
}

/// Where a thread stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rank {
    /// Beside all others.
    Equal,
    /// Behind them.
    Behind,
}

/// Has this thread stand behind all others. Where that is not allowed it competes with them.
fn stand_behind() {
    let _ = sardonyx_base::priority::stand_behind_all();
}

/// Has work done on a thread of its own.
fn on_thread<T: Send + 'static>(
    rank: Rank,
    work: impl Future<Output = Result<T, SqlError>> + Send + 'static,
) -> io::Result<oneshot::Receiver<Result<T, SqlError>>> {
    let (answer, answered) = oneshot::channel();
    let begin = std::thread::Builder::new()
        .name("analytic plan".into())
        .stack_size(STACK_BYTES);
    begin.spawn(move || {
        if rank == Rank::Behind {
            stand_behind();
        }
        let runtime = Builder::new_current_thread().build();
        let _ = answer.send(match runtime {
            Ok(runtime) => runtime.block_on(work),
            Err(error) => Err(no_thread(&error)),
        });
    })?;
    Ok(answered)
}

fn no_thread(error: &io::Error) -> SqlError {
    let text = format!("no thread can be started for an analytic read: {error}");
    SqlError::new(code::INSUFFICIENT_RESOURCES, text)
}

/// That a task or a thread ended without an answer.
pub fn gave_up() -> SqlError {
    SqlError::new(code::INTERNAL, "an analytic read ended without an answer")
}

impl AnalyticReader for DataFusionReader {
    fn describe(&self, query: AnalyticQuery) -> Result<AnalyticDescription, SqlError> {
        let (environment, partitions) = (self.environment.clone(), self.partitions);
        let (answer, answered) = std::sync::mpsc::channel();
        // Somebody's thread waits.
        let sent = on_thread(Rank::Equal, async move {
            let _ = answer.send(plan::describe(&query, &environment, partitions).await);
            Ok(())
        });
        sent.map_err(|error| no_thread(&error))?;
        answered.recv().map_err(|_| gave_up())?
    }

    fn explain(&self, query: AnalyticQuery) -> AnalyticFuture<'static, Vec<String>> {
        let planned = self.planned(query);
        Box::pin(async move {
            let planned = planned.await?;
            let mut lines = vec!["DataFusion on a snapshot".to_string()];
            let plan = displayable(planned.plan.as_ref()).indent(false).to_string();
            lines.extend(plan.lines().map(|line| format!("  {line}")));
            Ok(lines)
        })
    }

    fn run(&self, query: AnalyticQuery) -> AnalyticFuture<'static, Box<dyn AnalyticRows>> {
        let interrupt = query.interrupt.clone();
        let planned = self.planned(query);
        let runtime = self
            .runtime
            .as_ref()
            .map(|runtime| runtime.handle().clone());
        Box::pin(async move {
            let runtime = runtime.ok_or_else(gave_up)?;
            let running = Running::begin(planned.await?, interrupt, &runtime);
            Ok(Box::new(running) as Box<dyn AnalyticRows>)
        })
    }
}

/// What a task says went wrong.
pub fn said(error: &datafusion::error::DataFusionError) -> SqlError {
    let mut error = told(error);
    if error.code == code::OUT_OF_MEMORY {
        error.hint = Some("Read fewer rows at once, or give analytic reads more memory.".into());
    }
    error
}
