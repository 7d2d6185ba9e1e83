//! Turns of the serial stage, for programs that serve clients: see [`sardonyx_serial::Turn`].

use super::Tables;
use crate::error::Typed;
use crate::ticket::Ticket;
use crate::{Error, Snapshot};
use sardonyx_serial::Durability;
use sardonyx_table::{Transaction, View};

/// The serial stage, until this is used up or dropped.
#[derive(Debug)]
pub struct Turn<'t> {
    tables: &'t Tables,
    turn: sardonyx_serial::Turn<'t>,
}

impl Tables {
    /// Waits for a turn.
    ///
    /// # Errors
    /// [`Error::Nested`], [`Error::Forked`], [`Error::Closed`]; [`Error::Unavailable`] if the wait was interrupted
    /// ([`sardonyx_base::waiting`]).
    #[doc(hidden)]
    pub fn turn(&self) -> Result<Turn<'_>, Error> {
        Ok(Turn {
            turn: self.kernel.turn()?,
            tables: self,
        })
    }

    /// Tells when a group of transactions, and all before it, is durable.
    #[doc(hidden)]
    pub fn durable(&self, group: u64) -> Ticket<()> {
        Ticket::of_value(self.kernel.durable(group))
    }
}

impl Turn<'_> {
    /// The tables as they are now.
    pub fn view(&self) -> View<'_> {
        self.turn.space().view()
    }

    /// Prepares for a transaction that may take long: a snapshot of all that is committed before it, and the group with
    /// which that is durable.
    ///
    /// # Errors
    /// If there is no address space for a snapshot; the turn is as it was.
    pub fn set_out(&mut self) -> Result<(Snapshot, u64), Error> {
        let (space, group) = self.turn.set_out()?;
        Ok((self.tables.snapshot_of(space), group))
    }

    /// A snapshot of all that is committed, and the group with which that is durable. The turn is over.
    ///
    /// # Errors
    /// If there is no address space for it.
    pub fn snapshot(self) -> Result<(Snapshot, u64), Error> {
        let (space, group) = self.turn.snapshot()?;
        Ok((self.tables.snapshot_of(space), group))
    }

    /// Runs a closure as a transaction: as [`Tables::try_run_with`].
    ///
    /// # Errors
    /// As [`Tables::try_run_with`].
    pub fn try_run<T, E: From<Error>>(
        self,
        durability: Durability,
        body: impl FnOnce(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let body = |transaction: &mut Transaction<'_>| body(transaction).map_err(Typed);
        let outcome = self.turn.run(durability, body);
        outcome.map_err(|Typed(error)| error)
    }

    /// Runs a closure as a transaction; the ticket tells when it is durable: as [`Tables::try_submit`].
    pub fn try_submit<T: Send, E: Send>(
        self,
        body: impl FnOnce(&mut Transaction<'_>) -> Result<T, E> + Send,
    ) -> Ticket<Result<T, E>> {
        Ticket::of_value(self.turn.submit(body))
    }
}
