//! Tickets of transactions: a program waits for durability by them, or awaits it.

use crate::Error;
use crate::inside::Inside;
use crate::tables::ASK_EVERY;
use sardonyx_serial::ProcedureError;
use sardonyx_table::LeftRows;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A transaction's result, once it is on stable storage. A thread waits for it, a task of any runtime awaits it (it is a
/// future), or a program polls it. Dropping it has no effect: the transaction runs, and becomes durable in its turn.
pub struct Ticket<T = ()>(Source<T>);

/// The results of a batch, in the order of its requests, once all of it is durable.
pub type BatchTicket<O, E> = Ticket<Vec<Result<O, ProcedureError<E>>>>;

/// The result of an open transaction, with the memory that it left.
type Left<T> = Result<(T, LeftRows), Box<(Error, LeftRows)>>;

type Installed<T> = sardonyx_serial::Ticket<Left<T>>;

/// The same without the memory, which is freed here.
fn without_memory<T>(ended: Left<T>) -> Result<T, Error> {
    ended.map(|(value, _)| value).map_err(|ended| ended.0)
}

enum Source<T> {
    /// A ticket of tables: the value itself.
    Value(sardonyx_serial::Ticket<T>),
    /// A ticket of tables: a closure's result.
    Outcome(sardonyx_serial::Ticket<Result<T, Error>>),
    /// A ticket of an open transaction: its value or error, and the memory that it left.
    Installed(Installed<T>),
    /// Nothing was run; the error, until it is returned.
    Refused(Option<Error>),
    /// A ticket of memory, whose transaction has run: the value, until it is returned.
    #[cfg(feature = "memory")]
    Memory(sardonyx_mapped::Ticket, Option<T>),
}

impl<T> Ticket<T> {
    pub(crate) fn of_value(ticket: sardonyx_serial::Ticket<T>) -> Self {
        Ticket(Source::Value(ticket))
    }

    pub(crate) fn of_outcome(ticket: sardonyx_serial::Ticket<Result<T, Error>>) -> Self {
        Ticket(Source::Outcome(ticket))
    }

    pub(crate) fn of_installed(ticket: Installed<T>) -> Self {
        Ticket(Source::Installed(ticket))
    }

    pub(crate) fn refused(error: Error) -> Self {
        Ticket(Source::Refused(Some(error)))
    }

    #[cfg(feature = "memory")]
    pub(crate) fn of_memory(ticket: sardonyx_mapped::Ticket, value: T) -> Self {
        Ticket(Source::Memory(ticket, Some(value)))
    }

    /// True if the result is ready and durable, or has failed; does not wait.
    pub fn is_done(&self) -> bool {
        match &self.0 {
            Source::Value(ticket) => ticket.is_done(),
            Source::Outcome(ticket) => ticket.is_done(),
            Source::Installed(ticket) => ticket.is_done(),
            Source::Refused(_) => true,
            #[cfg(feature = "memory")]
            Source::Memory(ticket, _) => ticket.is_done(),
        }
    }

    /// Waits until the transaction is durable.
    ///
    /// # Errors
    /// The transaction's error, or the log's: then its outcome is unknown ([`Error::Poisoned`]). [`Error::Nested`] if
    /// it is not durable yet and this is called inside a transaction of the same database, or on one of its engine's
    /// threads. The transaction runs, but cannot be waited for there. [`Error::Unavailable`] if a stopped process
    /// writes the log for all. In a forked child always [`Error::Forked`].
    pub fn wait(self) -> Result<T, Error> {
        match self.0 {
            Source::Value(ticket) => Ok(ticket.wait()?),
            Source::Outcome(ticket) => ticket.wait()?,
            Source::Installed(ticket) => without_memory(ticket.wait()?),
            Source::Refused(error) => Err(error.expect("a ticket is used once")),
            #[cfg(feature = "memory")]
            Source::Memory(ticket, value) => {
                ticket.wait()?;
                Ok(value.expect("a ticket is used once"))
            }
        }
    }

    /// Like [`Ticket::wait`]; calls `waits` from time to time, and returns `None` when it returns false.
    ///
    /// # Errors
    /// The errors of [`Ticket::wait`]; [`Error::Nested`] if it would wait, and the thread is inside of a transaction.
    pub(crate) fn wait_while(
        mut self,
        inside: &Inside,
        mut waits: impl FnMut() -> bool,
    ) -> Result<Option<T>, Error> {
        let waker = sardonyx_base::parking::waker();
        let mut context = Context::from_waker(&waker);
        loop {
            if let Poll::Ready(outcome) = Pin::new(&mut self).poll(&mut context) {
                return outcome.map(Some);
            }
            // The group may be written only when that transaction ends.
            inside.check_outside()?;
            std::thread::park_timeout(ASK_EVERY);
            if !waits() {
                return Ok(None);
            }
        }
    }
}

impl<T> Unpin for Ticket<T> {}

impl<T> Future for Ticket<T> {
    type Output = Result<T, Error>;

    /// As [`Ticket::wait`]; inside a transaction it is ready, with [`Error::Nested`], instead of pending.
    ///
    /// # Panics
    /// If polled again after it was ready.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Source::Value(ticket) => Pin::new(ticket).poll(context).map_err(Error::from),
            Source::Outcome(ticket) => Pin::new(ticket).poll(context).map(|outcome| outcome?),
            Source::Installed(ticket) => {
                let ended = Pin::new(ticket).poll(context);
                ended.map(|ended| without_memory(ended?))
            }
            Source::Refused(error) => {
                let error = error.take();
                Poll::Ready(Err(
                    error.expect("a ticket is not polled after it was ready")
                ))
            }
            #[cfg(feature = "memory")]
            Source::Memory(ticket, value) => Pin::new(ticket).poll(context).map(|durable| {
                durable?;
                Ok(value
                    .take()
                    .expect("a ticket is not polled after it was ready"))
            }),
        }
    }
}

impl<T> fmt::Debug for Ticket<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket")
            .field("done", &self.is_done())
            .finish_non_exhaustive()
    }
}
