//! Tickets: a client's handles between submitting and the acknowledgement.
//!
//! A ticket can be waited for by a thread ([`Ticket::wait`]), awaited by a task (it is a future), or
//! asked ([`Ticket::is_done`]). Dropping it changes nothing: the transaction takes its course.
//!
//! Whatever becomes of a request, its ticket is answered. Its carrier through the stages holds an
//! [`Answer`], and one that is dropped without having been given gives the reason. The program's values
//! and wakers are dropped, cloned and woken without a lock held, and on the engine's threads their panics
//! are caught.

use crate::error::SerialError;
use sardonyx_base::process::Process;
use sardonyx_base::sync::{Condvar, Mutex};
use sardonyx_base::user_code::{discard, wake};
use sardonyx_storage::log::writer::LogWriter;
use sardonyx_storage::ticket::Claim;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// The place where the output stage puts a result.
#[derive(Debug)]
struct Delivery<T> {
    /// In another process no thread will deliver, and the lock may be taken for ever.
    process: Process,
    state: Mutex<State<T>>,
    delivered: Condvar,
}

#[derive(Debug)]
struct State<T> {
    outcome: Option<Result<T, SerialError>>,
    done: bool,
    /// The ticket was dropped.
    unwanted: bool,
    waker: Option<Waker>,
}

/// A ticket for the client, and its other half for the job that answers it.
pub(crate) fn owed<T>(log: &Arc<LogWriter>) -> (Ticket<T>, Answer<T>) {
    let state = State {
        outcome: None,
        done: false,
        unwanted: false,
        waker: None,
    };
    let delivery = Arc::new(Delivery {
        process: Process::current(),
        state: Mutex::new(state),
        delivered: Condvar::new(),
    });
    let receiver = Receiver(delivery.clone());
    let answer = Answer {
        delivery: Some(delivery),
        log: log.clone(),
    };
    (Ticket(Source::Piped(receiver, log.clone())), answer)
}

/// The answer that is owed to a ticket. If it is dropped, it says what closed the log, or that the
/// database was closed.
pub(crate) struct Answer<T> {
    delivery: Option<Arc<Delivery<T>>>,
    log: Arc<LogWriter>,
}

impl<T> Answer<T> {
    /// Answers. Returns the outcome if it is not wanted any more.
    pub fn give(mut self, outcome: Result<T, SerialError>) -> Option<Result<T, SerialError>> {
        self.delivery.take()?.deliver(outcome)
    }
}

impl<T> Drop for Answer<T> {
    fn drop(&mut self) {
        if let Some(delivery) = self.delivery.take() {
            let closed = self.log.check().err();
            let error = closed.map_or(SerialError::Closed, SerialError::from);
            discard(delivery.deliver(Err(error)));
        }
    }
}

impl<T> Delivery<T> {
    fn deliver(&self, outcome: Result<T, SerialError>) -> Option<Result<T, SerialError>> {
        if !self.process.is_current() {
            return Some(outcome);
        }
        let mut state = self.state.lock();
        if state.unwanted {
            return Some(outcome);
        }
        state.outcome = Some(outcome);
        state.done = true;
        let waker = state.waker.take();
        drop(state);
        self.delivered.notify_all();
        if let Some(waker) = waker {
            wake(waker);
        }
        None
    }
}

/// The receiver of an answer; when it is dropped, the answer is not wanted any more.
#[derive(Debug)]
struct Receiver<T>(Arc<Delivery<T>>);

impl<T> Receiver<T> {
    fn is_done(&self) -> bool {
        !self.0.process.is_current() || self.0.state.lock().done
    }

    fn wait(&self, log: &LogWriter) -> Result<T, SerialError> {
        self.0.process.check()?;
        let mut state = self.0.state.lock();
        if !state.done {
            log.check_caller()?;
        }
        while !state.done {
            self.0.delivered.wait(&mut state);
        }
        state.outcome.take().expect("a ticket is used once")
    }

    fn poll(&self, log: &LogWriter, waker: &Waker) -> Poll<Result<T, SerialError>> {
        self.0.process.check().map_err(SerialError::from)?;
        let mut new = None;
        loop {
            let mut state = self.0.state.lock();
            if state.done {
                let outcome = state.outcome.take();
                drop(state);
                return Poll::Ready(outcome.expect("a ticket is not polled after it was ready"));
            }
            if let Err(error) = log.check_polling_caller() {
                return Poll::Ready(Err(error.into()));
            }
            if state.waker.as_ref().is_some_and(|old| old.will_wake(waker)) {
                return Poll::Pending;
            }
            if new.is_some() {
                let old = std::mem::replace(&mut state.waker, new);
                drop(state);
                drop(old);
                return Poll::Pending;
            }
            // It is the program's code: not under our lock.
            drop(state);
            new = Some(waker.clone());
        }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        if !self.0.process.is_current() {
            return;
        }
        let mut state = self.0.state.lock();
        state.unwanted = true;
        let (outcome, waker) = (state.outcome.take(), state.waker.take());
        drop(state);
        discard(waker);
        drop(outcome);
    }
}

enum Source<T> {
    /// Executed; becomes durable with a group.
    Executed {
        outcome: Option<Result<T, SerialError>>,
        claim: Claim<LogWriter>,
    },
    /// On its way through the pipeline.
    Piped(Receiver<T>, Arc<LogWriter>),
}

/// The result of one transaction, once it is durable.
pub struct Ticket<T>(Source<T>);

/// The results of a batch, in the order of its requests, once all of it is durable.
pub type BatchTicket<O, E> = Ticket<Vec<Result<O, crate::ProcedureError<E>>>>;

impl<T> Ticket<T> {
    pub(crate) fn executed(
        outcome: Result<T, SerialError>,
        group: u64,
        log: &Arc<LogWriter>,
    ) -> Self {
        Ticket(Source::Executed {
            outcome: Some(outcome),
            claim: Claim::new(log.clone(), Some(group)),
        })
    }

    /// It did not run.
    pub(crate) fn refused(error: SerialError, log: &Arc<LogWriter>) -> Self {
        Ticket(Source::Executed {
            outcome: Some(Err(error)),
            claim: Claim::new(log.clone(), None),
        })
    }

    /// True if the result is complete and durable, or has failed; does not wait.
    pub fn is_done(&self) -> bool {
        match &self.0 {
            Source::Executed { claim, .. } => claim.is_settled(),
            Source::Piped(receiver, _) => receiver.is_done(),
        }
    }

    /// Waits until the transaction is durable.
    ///
    /// # Errors
    /// The transaction's error, or the log's: then its fate is unknown (I7). [`SerialError::Nested`] if it
    /// is not durable yet and this is called inside a transaction of the same database, or on one of its
    /// engine's threads. The transaction takes its course, but is not to be waited for there. In a forked
    /// child [`SerialError::Forked`], whatever the parent gets.
    pub fn wait(self) -> Result<T, SerialError> {
        match self.0 {
            Source::Executed { mut outcome, claim } => {
                claim.wait()?;
                outcome.take().expect("a ticket is used once")
            }
            Source::Piped(receiver, log) => receiver.wait(&log),
        }
    }
}

impl<T> Unpin for Ticket<T> {}

impl<T> Future for Ticket<T> {
    type Output = Result<T, SerialError>;

    /// As [`Ticket::wait`]; inside a transaction it is ready, with [`SerialError::Nested`], instead of
    /// pending.
    ///
    /// # Panics
    /// If polled again after it was ready.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Source::Executed { outcome, claim } => match claim.poll(context.waker()) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(Err(error)) => Poll::Ready(Err(error.into())),
                Poll::Ready(Ok(())) => Poll::Ready(
                    outcome
                        .take()
                        .expect("a ticket is not polled after it was ready"),
                ),
            },
            Source::Piped(receiver, log) => receiver.poll(log, context.waker()),
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
