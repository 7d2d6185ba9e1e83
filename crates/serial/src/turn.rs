//! A turn: the serial stage, held by one thread that has not yet decided what to run.
//!
//! [`Kernel::run`] and [`Kernel::submit`] own their closure while they wait for the stage. If a server's wait is
//! interrupted, the server needs its closure back, to do something else with it. So it takes the turn first.
//!
//! Transactions run one at a time, so others wait for their turn while a long one runs. They must not wait for the disk
//! or for reads as well: [`Turn::set_out`] has earlier transactions written, and returns a snapshot for reads.

use crate::batch::Single;
use crate::error::SerialError;
use crate::kernel::{Durability, Kernel, Release, frozen};
use crate::procedure::{Procedure, Registered};
use crate::steps::{Stepping, Steps};
use crate::ticket::{BatchTicket, Ticket};
use sardonyx_storage::log::writer::Gathering;
#[cfg(doc)]
use sardonyx_storage::log::writer::LogWriter;
use sardonyx_storage::pen::{Held, Waited};
use sardonyx_table::{SpaceSnapshot, TableSpace, Transaction};
use std::sync::Arc;

/// The serial stage, until this is used up or dropped.
#[derive(Debug)]
pub struct Turn<'k> {
    kernel: &'k Kernel,
    held: Held<'k, TableSpace>,
}

/// A snapshot, and the group that must be durable before anything of it is acknowledged ([`Kernel::durable`]).
pub type Committed = (Arc<SpaceSnapshot>, u64);

impl Kernel {
    /// Takes the pen, and waits for it if another thread has it.
    ///
    /// # Errors
    /// [`SerialError::Nested`], [`SerialError::Forked`], [`SerialError::Closed`]. If the wait was interrupted
    /// ([`sardonyx_base::waiting`]): [`SerialError::Log`].
    pub fn turn(&self) -> Result<Turn<'_>, SerialError> {
        Ok(Turn {
            held: self.take()?,
            kernel: self,
        })
    }

    /// A turn, if the stage is free.
    ///
    /// # Errors
    /// As [`Kernel::turn`], but for an interruption.
    #[inline]
    pub fn try_turn(&self) -> Result<Option<Turn<'_>>, SerialError> {
        let held = self.try_take()?;
        Ok(held.map(|held| Turn { kernel: self, held }))
    }

    /// The threads that have waited for a turn up to now.
    pub fn waited(&self) -> Waited<'_> {
        self.shared.pen.waited()
    }

    /// Has groups gather while the program's threads have work: see [`LogWriter::gather`].
    pub fn gather(&self) -> Gathering {
        self.shared.log().gather()
    }

    /// True if the calling thread has the stage, or is one of the engine's.
    pub fn is_inside(&self) -> bool {
        self.shared.log().check_caller().is_err()
    }

    /// Tells when a group, and all before it, is durable.
    pub fn durable(&self, group: u64) -> Ticket<()> {
        Ticket::executed(Ok(()), group, self.shared.log())
    }
}

impl<'k> Turn<'k> {
    /// The tables as they are now.
    pub fn space(&self) -> &TableSpace {
        &self.held
    }

    /// Prepares for a transaction that may take long: the open group is written while it runs, and the snapshot has all
    /// that is committed before it.
    ///
    /// # Errors
    /// If there is no address space for a snapshot; the turn is as it was.
    #[inline]
    pub fn set_out(&mut self) -> Result<Committed, SerialError> {
        let snapshot = frozen(&mut self.held);
        self.held.hand_over_group();
        Ok((snapshot?, self.held.last_group()))
    }

    /// Has the open group written while the turn goes on, if there is a buffer for the next one. Without that, earlier
    /// transactions are written when the turn is over.
    #[inline]
    pub fn hand_over(&mut self) {
        let _ = self.held.try_hand_over_group();
    }

    /// A snapshot of all that is committed now. The turn is over.
    ///
    /// # Errors
    /// If there is no address space for it.
    #[inline]
    pub fn snapshot(mut self) -> Result<Committed, SerialError> {
        let snapshot = frozen(&mut self.held);
        let group = self.held.last_group();
        self.held.put_off();
        Ok((snapshot?, group))
    }

    /// Tells when all that is committed now is durable. The turn is over.
    #[inline]
    pub fn all_durable(self) -> Ticket<()> {
        let group = self.held.last_group();
        self.held.hand_on();
        self.kernel.durable(group)
    }

    /// Runs a closure as a transaction: see [`Kernel::run`].
    ///
    /// # Errors
    /// As [`Kernel::run`].
    ///
    /// # Panics
    /// As [`Kernel::run`].
    pub fn run<T, E: From<SerialError>>(
        self,
        durability: Durability,
        body: impl FnOnce(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        Kernel::run_held(self.held, Release::of(durability), body).map(|(value, _)| value)
    }

    /// Runs a closure as a transaction, and returns when that has run; the ticket tells when it is durable. The closure may
    /// have what no other thread may, unlike that of [`Turn::submit`].
    ///
    /// # Errors
    /// As [`Kernel::run`]. Once this has returned `Ok` the transaction is committed.
    ///
    /// # Panics
    /// As [`Kernel::run`].
    pub fn run_later<T, E: From<SerialError>>(
        self,
        body: impl FnOnce(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Result<(T, Ticket<()>), E> {
        let (value, group) = Kernel::run_held(self.held, Release::HandOn, body)?;
        Ok((value, self.kernel.durable(group)))
    }

    /// Runs a closure as a transaction; the ticket tells when it is durable: see [`Kernel::submit`]. It runs here and now in
    /// every shape.
    pub fn submit<T, E>(
        self,
        body: impl FnOnce(&mut Transaction<'_>) -> Result<T, E> + Send,
    ) -> Ticket<Result<T, E>>
    where
        T: Send,
        E: Send,
    {
        let mut job = Single::new(body, None);
        match self.kernel.shared.execute(self.held, &mut job) {
            Ok(group) => Ticket::executed(job.into_outcome(), group, self.kernel.shared.log()),
            Err(error) => self.kernel.refused(error),
        }
    }

    /// Runs a batch of a procedure's requests; the ticket tells when all of it is durable: see
    /// [`Kernel::submit_batch`]. It runs here and now in every shape. `ended` is called when it has run, before others
    /// have the stage.
    #[inline]
    pub fn submit_batch<P: Procedure>(
        self,
        procedure: &Registered<P>,
        arguments: Vec<P::Arguments>,
        ended: impl FnOnce(),
    ) -> BatchTicket<P::Output, P::Error> {
        let Turn { kernel, held } = self;
        kernel.execute_batch(procedure, arguments, || Ok(held), ended)
    }

    /// Runs steps, each as a transaction of its own; the ticket tells when all of them are durable. They run here and now in
    /// every shape.
    #[inline]
    pub fn run_steps<S: Steps>(self, steps: &mut S) -> Ticket<()> {
        let Turn { kernel, held } = self;
        match kernel.execute_prepared(&mut Stepping(steps), || Ok(held), || {}) {
            Ok(group) => kernel.durable(group),
            Err(error) => kernel.refused(error),
        }
    }
}
