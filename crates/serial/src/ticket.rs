//! Tickets: what a client holds between submitting and being told "durable".
//!
//! A ticket can be waited for by a thread ([`Ticket::wait`]), awaited by a task (it is a future), or
//! asked ([`Ticket::is_done`]). Dropping it changes nothing: the transaction takes its course.

use crate::error::SerialError;
use sardonyx_storage::process::Process;
use sardonyx_storage::sync::{Condvar, Mutex};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// The place where the output stage puts a result.
#[derive(Debug)]
pub(crate) struct Delivery<T> {
    /// In another process nobody will deliver, and the lock may be taken for ever.
    process: Process,
    state: Mutex<State<T>>,
    delivered: Condvar,
}

#[derive(Debug)]
struct State<T> {
    outcome: Option<Result<T, SerialError>>,
    done: bool,
    waker: Option<Waker>,
}

impl<T> Delivery<T> {
    pub fn new() -> Arc<Self> {
        let state = State {
            outcome: None,
            done: false,
            waker: None,
        };
        Arc::new(Delivery {
            process: Process::current(),
            state: Mutex::new(state),
            delivered: Condvar::new(),
        })
    }

    pub fn deliver(&self, outcome: Result<T, SerialError>) {
        if !self.process.is_current() {
            return;
        }
        let mut state = self.state.lock();
        state.outcome = Some(outcome);
        state.done = true;
        let waker = state.waker.take();
        drop(state);
        self.delivered.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// Says whether a group is durable; what a ticket asks when there is no output stage.
pub(crate) trait Acknowledger: Send + Sync {
    fn is_durable(&self, group: u64) -> bool;
    fn check(&self) -> Result<(), SerialError>;
    fn wait(&self, group: u64) -> Result<(), SerialError>;
    fn poll(&self, group: u64, waker: &Waker) -> Poll<Result<(), SerialError>>;
}

enum Source<T> {
    /// Executed; becomes durable with a group.
    Executed {
        outcome: Option<Result<T, SerialError>>,
        group: u64,
        log: Arc<dyn Acknowledger>,
    },
    /// On its way through the pipeline.
    Piped(Arc<Delivery<T>>),
}

/// The result of one transaction, once it is durable.
pub struct Ticket<T>(Source<T>);

/// The results of a batch, in the order of its requests, once all of it is durable.
pub type BatchTicket<O, E> = Ticket<Vec<Result<O, crate::ProcedureError<E>>>>;

impl<T> Ticket<T> {
    pub(crate) fn executed(
        outcome: Result<T, SerialError>,
        group: u64,
        log: Arc<dyn Acknowledger>,
    ) -> Self {
        Ticket(Source::Executed {
            outcome: Some(outcome),
            group,
            log,
        })
    }

    pub(crate) fn piped(delivery: Arc<Delivery<T>>) -> Self {
        Ticket(Source::Piped(delivery))
    }

    /// Whether the result is there and durable, or has failed; does not wait.
    pub fn is_done(&self) -> bool {
        match &self.0 {
            Source::Executed { group, log, .. } => log.is_durable(*group) || log.check().is_err(),
            Source::Piped(delivery) => !delivery.process.is_current() || delivery.state.lock().done,
        }
    }

    /// Waits until the transaction is durable.
    ///
    /// # Errors
    /// The transaction's error, or the log's: then its fate is unknown (I7). In a forked child
    /// [`SerialError::Forked`], whatever the parent is told.
    pub fn wait(self) -> Result<T, SerialError> {
        match self.0 {
            Source::Executed {
                mut outcome,
                group,
                log,
            } => {
                log.wait(group)?;
                outcome.take().expect("a ticket is used once")
            }
            Source::Piped(delivery) => {
                delivery.process.check()?;
                let mut state = delivery.state.lock();
                while !state.done {
                    delivery.delivered.wait(&mut state);
                }
                state.outcome.take().expect("a ticket is used once")
            }
        }
    }
}

impl<T> Unpin for Ticket<T> {}

impl<T> Future for Ticket<T> {
    type Output = Result<T, SerialError>;

    /// # Panics
    /// If polled again after it was ready.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Source::Executed {
                outcome,
                group,
                log,
            } => match log.poll(*group, context.waker()) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
                Poll::Ready(Ok(())) => Poll::Ready(
                    outcome
                        .take()
                        .expect("a ticket is not polled after it was ready"),
                ),
            },
            Source::Piped(delivery) => {
                delivery.process.check().map_err(SerialError::from)?;
                let mut state = delivery.state.lock();
                if !state.done {
                    state.waker = Some(context.waker().clone());
                    return Poll::Pending;
                }
                let outcome = state.outcome.take();
                Poll::Ready(outcome.expect("a ticket is not polled after it was ready"))
            }
        }
    }
}

impl<T> std::fmt::Debug for Ticket<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ticket")
            .field("done", &self.is_done())
            .finish_non_exhaustive()
    }
}
