//! Turns of the serial stage, for programs that serve clients: see [`sardonyx_serial::Turn`].

use super::{Begun, Tables};
use crate::error::{Typed, interruption};
use crate::ticket::{BatchTicket, Ticket};
use crate::{Error, Snapshot};
use sardonyx_base::waiting::{Interrupt, Reason, interruptible, let_others_run};
use sardonyx_serial::{Durability, Procedure, Registered, Steps};
use sardonyx_storage::log::writer::Gathering;
use sardonyx_table::{Transaction, View};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The time between two calls of `waits`.
pub(crate) const ASK_EVERY: Duration = Duration::from_millis(50);

/// The time between two looks of a thread that lets others go first.
const BETWEEN_LOOKS: Duration = Duration::from_micros(50);

/// Does work that may wait for a turn, and calls `waits` from time to time. `None` when that returns false.
pub(super) fn asking<T>(
    mut waits: impl FnMut() -> bool,
    mut work: impl FnMut(&Arc<Interrupt>) -> Result<T, Error>,
) -> Result<Option<T>, Error> {
    let interrupt = Arc::new(Interrupt::default());
    loop {
        interrupt.set_deadline(Some(Instant::now() + ASK_EVERY));
        match work(&interrupt) {
            Ok(done) => return Ok(Some(done)),
            Err(error) if interruption(&error) == Some(Reason::Timeout) => {
                if !waits() {
                    return Ok(None);
                }
            }
            Err(error) => return Err(error),
        }
    }
}

/// The serial stage, until this is used up or dropped.
#[derive(Debug)]
pub struct Turn<'t> {
    pub(super) tables: &'t Tables,
    pub(super) turn: sardonyx_serial::Turn<'t>,
}

impl Tables {
    /// Waits for a turn.
    ///
    /// # Errors
    /// [`Error::Nested`], [`Error::Forked`], [`Error::Closed`]; [`Error::Unavailable`] if the wait was interrupted
    /// ([`sardonyx_base::waiting`]).
    #[doc(hidden)]
    #[inline]
    pub fn turn(&self) -> Result<Turn<'_>, Error> {
        Ok(Turn {
            turn: self.kernel.turn()?,
            tables: self,
        })
    }

    /// Waits for a turn, and calls `waits` from time to time. `None` when that returns false.
    ///
    /// # Errors
    /// As [`Tables::turn`], except an interruption.
    #[doc(hidden)]
    pub fn turn_while(&self, waits: impl FnMut() -> bool) -> Result<Option<Turn<'_>>, Error> {
        asking(waits, |interrupt| {
            interruptible(interrupt, None, || self.turn())
        })
    }

    /// A turn, if no thread has one.
    ///
    /// # Errors
    /// As [`Tables::turn`], except an interruption.
    #[doc(hidden)]
    #[inline]
    pub fn try_turn(&self) -> Result<Option<Turn<'_>>, Error> {
        let turn = self.kernel.try_turn()?;
        Ok(turn.map(|turn| Turn { tables: self, turn }))
    }

    /// True if a thread waits for a turn.
    #[doc(hidden)]
    #[inline]
    pub fn has_waiting(&self) -> bool {
        !self.kernel.waited().are_over()
    }

    /// Lets the threads that wait for a turn now go first, for at most so long. A caller that takes many turns in
    /// sequence calls it between them; otherwise it would take the next turn before another thread is awake.
    #[doc(hidden)]
    #[inline]
    pub fn let_others_go_first(&self, at_most: Duration) {
        let waited = self.kernel.waited();
        let begin = Instant::now();
        while !waited.are_over() && begin.elapsed() < at_most {
            // A thread that was woken just now may need this processor.
            std::thread::sleep(BETWEEN_LOOKS);
        }
    }

    /// Has transactions whose tickets are awaited gather in groups while the program's threads have work. The caller reports
    /// when one of these threads rests.
    #[doc(hidden)]
    pub fn gather(&self) -> Gathering {
        self.kernel.gather()
    }

    /// Lets threads run that wait for this processor ([`sardonyx_base::waiting::let_others_run`]), unless the caller has a
    /// turn: others wait for its end. Returns true if it did.
    #[doc(hidden)]
    pub fn let_others_run(&self) -> bool {
        !self.kernel.is_inside() && let_others_run()
    }

    /// The ticket of a group of transactions, and all before it.
    #[doc(hidden)]
    #[inline]
    pub fn durable(&self, group: u64) -> Ticket<()> {
        Ticket::of_value(self.kernel.durable(group))
    }
}

impl Turn<'_> {
    /// The present tables.
    #[inline]
    pub fn view(&self) -> View<'_> {
        self.turn.space().view()
    }

    /// A snapshot of all that is committed, and the group with which that is durable. The turn is over.
    ///
    /// # Errors
    /// If there is no address space for it.
    #[inline]
    pub fn snapshot(self) -> Result<(Snapshot, u64), Error> {
        let (space, group) = self.turn.snapshot()?;
        Ok((self.tables.snapshot_of(space), group))
    }

    /// The ticket of all that is committed now. The turn is over.
    #[inline]
    pub fn all_durable(self) -> Ticket<()> {
        Ticket::of_value(self.turn.all_durable())
    }

    /// Runs a closure as a transaction: as [`RunOptions::run`].
    ///
    /// # Errors
    /// As [`RunOptions::run`].
    pub fn run<T, E: From<Error>>(
        self,
        durability: Durability,
        body: impl FnOnce(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let body = |transaction: &mut Transaction<'_>| body(transaction).map_err(Typed);
        let outcome = self.turn.run(durability, body);
        outcome.map_err(|Typed(error)| error)
    }

    /// The same; it returns when the closure has run, with the ticket of its durability. Unlike that of [`Turn::submit`],
    /// the closure need not be `Send`.
    ///
    /// # Errors
    /// As [`RunOptions::run`]. Once this has returned `Ok` the transaction is committed.
    pub fn run_later<T, E: From<Error>>(
        self,
        body: impl FnOnce(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Result<(T, Ticket<()>), E> {
        let body = |transaction: &mut Transaction<'_>| body(transaction).map_err(Typed);
        let (value, ticket) = self.turn.run_later(body).map_err(|Typed(error)| error)?;
        Ok((value, Ticket::of_value(ticket)))
    }

    /// Runs a closure as a transaction, and returns its ticket: as [`RunOptions::submit`].
    pub fn submit<T: Send, E: Send>(
        self,
        body: impl FnOnce(&mut Transaction<'_>) -> Result<T, E> + Send,
    ) -> Ticket<Result<T, E>> {
        Ticket::of_value(self.turn.submit(body))
    }

    /// Runs a batch of a procedure's requests, and returns its ticket: as [`Tables::submit_batch`]. It runs here and now
    /// in every shape; `begun` is of a turn that has [set out](Turn::set_out).
    #[inline]
    pub fn submit_batch<P: Procedure>(
        self,
        procedure: &Registered<P>,
        arguments: Vec<P::Arguments>,
        begun: Option<Begun<'_>>,
    ) -> BatchTicket<P::Output, P::Error> {
        let ended = || drop(begun);
        Ticket::of_value(self.turn.submit_batch(procedure, arguments, ended))
    }

    /// Runs steps, each as a transaction of its own; the ticket tells when all of them are durable. They run here and now in
    /// every shape. The turn is over.
    #[inline]
    pub fn run_steps<S: Steps>(self, steps: &mut S) -> Ticket<()> {
        Ticket::of_value(self.turn.run_steps(steps))
    }
}
