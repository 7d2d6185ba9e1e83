//! A query that runs: a task computes batches, and its client takes them as values.

use crate::plan::Planned;
use crate::reader::{gave_up, said};
use crate::values::values_of;
use datafusion::arrow::array::RecordBatch;
use datafusion::error::Result;
use datafusion::physical_plan::execute_stream;
use futures_util::StreamExt;
use sardonyx_sql::{AnalyticFuture, AnalyticRows, Interrupt, ResultColumn, SqlError, Value};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::AbortHandle;

/// How often is looked whether a query was cancelled.
const LOOK: Duration = Duration::from_millis(20);
/// Portions that wait for their client.
const PORTIONS: usize = 2;

/// Rows; none at the end. A task that ends without saying so has failed.
type Portion = std::result::Result<Option<Vec<Value>>, SqlError>;

/// The rows of a query that runs.
#[derive(Debug)]
pub struct Running {
    columns: Arc<[ResultColumn]>,
    portions: Receiver<Portion>,
    task: AbortHandle,
}

impl Running {
    /// Begins.
    pub fn begin(planned: Planned, interrupt: Arc<Interrupt>, runtime: &Handle) -> Running {
        let (give, portions) = channel(PORTIONS);
        let columns = planned.columns.clone();
        let computed = {
            let give = give.clone();
            runtime.spawn(async move {
                let end = match compute(planned, &give).await {
                    Ok(()) => Ok(None),
                    Err(error) => Err(said(&error)),
                };
                let _ = give.send(end).await;
            })
        };
        let task = computed.abort_handle();
        let watched = computed.abort_handle();
        runtime.spawn(async move {
            while !watched.is_finished() && !give.is_closed() {
                if let Some(reason) = interrupt.take() {
                    watched.abort();
                    let _ = give.send(Err(SqlError::interrupted(reason))).await;
                    break;
                }
                tokio::time::sleep(LOOK).await;
            }
        });
        Running {
            columns,
            portions,
            task,
        }
    }
}

/// Computes all rows; ends where nobody takes them.
async fn compute(planned: Planned, give: &Sender<Portion>) -> Result<()> {
    let mut batches = execute_stream(planned.plan, planned.state.task_ctx())?;
    while let Some(batch) = batches.next().await {
        let values = rows_of(&batch?, &planned.columns)?;
        if give.send(Ok(Some(values))).await.is_err() {
            break;
        }
    }
    Ok(())
}

/// The values of a batch, row after row.
fn rows_of(batch: &RecordBatch, columns: &[ResultColumn]) -> Result<Vec<Value>> {
    let arrays = batch.columns().iter().zip(columns);
    let arrays = arrays.map(|(array, column)| Ok(values_of(array, column.spec)?.into_iter()));
    let mut arrays = arrays.collect::<Result<Vec<_>>>()?;
    let mut values = Vec::with_capacity(batch.num_rows() * arrays.len());
    for _ in 0..batch.num_rows() {
        values.extend(arrays.iter_mut().filter_map(Iterator::next));
    }
    Ok(values)
}

impl AnalyticRows for Running {
    fn columns(&self) -> &Arc<[ResultColumn]> {
        &self.columns
    }

    fn next(&mut self) -> AnalyticFuture<'_, Option<Vec<Value>>> {
        Box::pin(async move {
            let portion = self.portions.recv().await;
            portion.unwrap_or_else(|| Err(gave_up()))
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}
