//! Transactions that a program begins and ends by hand.

use super::Tables;
use super::turn::asking;
use crate::inside::Inside;
use crate::ticket::Ticket;
use crate::{Durability, Error};
use sardonyx_rows::{TableError, TransactionEnded};
use sardonyx_serial::Kernel;
use sardonyx_storage::store::SnapshotEnded;
use sardonyx_table::{LeftRows, OpenRows, OpenTransactions, Transaction};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Weak};

/// The defaults: the most open transactions, the bytes that they keep together, and the changed rows of one.
pub(crate) const OPEN_TRANSACTIONS_MAX: [usize; 3] = [10_000, 1 << 30, 500_000];

/// A transaction that a program begins and ends by hand: [`Tables::begin`].
///
/// It has the verbs of a [`Transaction`] on records and rows ([`OpenRows`]), and sees the state of its begin and its
/// own changes. It holds no stage, no thread and no lock, so other transactions continue, however long it lives. It
/// can wait for a user or another service, be kept in a struct, and be held across an `.await`. One thread after
/// another can use it.
///
/// At its commit, the serial stage, which runs one transaction at a time, compares its reads with the current state, by
/// values. These are rows by their keys, missing rows, ranges of indexes with their whole content, and the reads of
/// constraints. If nothing differs, its changes are made as if it had run at that moment: transactions are
/// serializable. Otherwise the commit returns [`Error::Conflict`], with a [`Conflict`](crate::errors::Conflict) that
/// names the table and the key. Then nothing was changed; run the transaction again ([`Tables::retry`] does that). A
/// transaction that changed nothing never conflicts.
///
/// Dropping it undoes it. The memory of all open transactions of a database is bounded
/// ([`Options::open_transactions_bytes_max`](crate::Options::open_transactions_bytes_max),
/// [`open_transactions_max`](crate::Options::open_transactions_max),
/// [`open_transaction_rows_max`](crate::Options::open_transaction_rows_max),
/// [`snapshot_bytes_max`](crate::Options::snapshot_bytes_max)); a transaction that was ended at a bound returns
/// [`TransactionEnded`](crate::errors::TransactionEnded) or [`SnapshotEnded`](crate::errors::SnapshotEnded): run it
/// again. After the database was closed, its verbs return [`Error::Closed`], in a forked child [`Error::Forked`].
///
/// Changes of the schema, and journals, are for closures ([`Tables::run`]). If the schema of a table that it used is changed
/// meanwhile, its commit is a conflict.
///
/// ```
/// use sardonyx::{Error, Tables, record};
///
/// record! {
///     #[table("accounts", key = id)]
///     struct Account { id: u64, balance: i64 }
/// }
///
/// # fn main() -> Result<(), Error> {
/// # let directory = tempfile::tempdir().unwrap();
/// let bank = Tables::open(directory.path().join("bank.sdx"))?;
/// let accounts = bank.table::<Account>()?;
/// bank.run(|tx| tx.insert(accounts, &Account { id: 1, balance: 100 }))?;
///
/// let mut tx = bank.begin()?;
/// let before = tx.get(accounts, 1)?.map_or(0, |account| account.balance);
/// // Other transactions go on, however long this takes.
/// tx.update(accounts, 1, |account| account.balance = before - 30)?;
/// tx.commit()?; // on stable storage when this returns
///
/// // One that meets another is run again.
/// let mut tx = bank.begin()?;
/// tx.update(accounts, 1, |account| account.balance += 1)?;
/// bank.run(|tx| tx.update(accounts, 1, |account| account.balance += 1))?;
/// assert!(tx.commit().unwrap_err().is_conflict());
/// bank.retry(|tx| tx.update(accounts, 1, |account| account.balance += 1))?;
/// # assert_eq!(bank.begin()?.get(accounts, 1)?.map(|account| account.balance), Some(72));
/// # Ok(())
/// # }
/// ```
#[must_use = "a transaction that is dropped has no effect: commit it"]
pub struct OpenTransaction {
    rows: OpenRows,
    kernel: Weak<Kernel>,
    /// Everything that it saw is durable with this group.
    group: u64,
}

impl OpenTransaction {
    /// Ends it, and returns when it is on stable storage.
    ///
    /// # Errors
    /// [`Error::Conflict`] if something that it read was changed meanwhile: run it again. [`Error::Limit`] if it was
    /// ended at a bound, or is too large; [`Error::Full`], [`Error::Closed`], [`Error::Forked`]; [`Error::Nested`] inside
    /// a transaction of this database. Then it had no effect, except with [`Error::Poisoned`]: its outcome is known only
    /// after a restart.
    #[inline]
    pub fn commit(self) -> Result<(), Error> {
        self.commit_with(Durability::Durable)
    }

    /// Like [`OpenTransaction::commit`], with a choice of when to return.
    ///
    /// # Errors
    /// The errors of [`OpenTransaction::commit`].
    #[inline]
    pub fn commit_with(self, durability: Durability) -> Result<(), Error> {
        let (rows, kernel) = (self.rows, upgraded(&self.kernel));
        rows.check()?;
        let kernel = kernel?;
        match (rows.has_changes(), durability) {
            (true, _) => {
                let mut left = LeftRows::default();
                kernel.run(durability, |tx| rows.install(tx, &mut left))
            }
            // It saw one state, which is durable with its group.
            (false, Durability::Durable) => Ticket::of_value(kernel.durable(self.group)).wait(),
            (false, Durability::Deferred) => Ok(()),
        }
    }

    /// Ends it, and does not wait: the ticket can be waited for or awaited, as that of [`Tables::submit`]. It reports a
    /// conflict, too. The transaction's memory is freed when the ticket is answered or dropped.
    #[inline]
    pub fn commit_later(self) -> Ticket<()> {
        let (rows, kernel) = (self.rows, upgraded(&self.kernel));
        let kernel = match rows.check().and(kernel) {
            Ok(kernel) => kernel,
            Err(error) => return Ticket::refused(error),
        };
        match rows.has_changes() {
            // Its memory goes with the ticket: to free it takes long, and the stage has no time for that.
            true => Ticket::of_installed(kernel.submit(|tx| {
                let mut left = LeftRows::default();
                match rows.install(tx, &mut left) {
                    Ok(()) => Ok(((), left)),
                    Err(error) => Err(Box::new((error, left))),
                }
            })),
            false => Ticket::of_value(kernel.durable(self.group)),
        }
    }

    /// Like [`OpenTransaction::commit`], for bindings: calls `waits` from time to time, and returns `None` when it
    /// returns false; then the transaction had no effect. One that changed nothing takes no turn.
    ///
    /// # Errors
    /// The errors of [`OpenTransaction::commit`]; [`Error::Nested`] if it would wait, and the thread is inside of another
    /// transaction.
    #[doc(hidden)]
    pub fn commit_while(
        self,
        tables: &Tables,
        inside: &Inside,
        waits: impl FnMut() -> bool,
    ) -> Result<Option<()>, Error> {
        self.rows.check()?;
        if !self.rows.has_changes() {
            return tables.durable(self.group).wait_while(inside, waits);
        }
        inside.check_outside()?;
        let Some(turn) = tables.turn_while(waits)? else {
            return Ok(None);
        };
        let mut left = LeftRows::default();
        let ended = turn.run(Durability::Durable, |tx| self.rows.install(tx, &mut left));
        ended.map(Some)
    }

    /// Ends it in a closure's transaction that has done nothing yet, and that continues. Its memory is put into `left`, which
    /// the caller drops behind the closure.
    ///
    /// # Errors
    /// The errors of [`OpenTransaction::commit`]: then give the closure's transaction up.
    #[doc(hidden)]
    #[inline]
    pub fn install(self, tx: &mut Transaction<'_>, left: &mut LeftRows) -> Result<(), Error> {
        self.rows.install(tx, left)
    }

    /// Ends it without effect, as dropping it does.
    #[inline]
    pub fn rollback(self) {}
}

/// True if other transactions prevented the commit, so that a repetition may succeed.
#[doc(hidden)]
#[inline]
pub fn is_to_run_again(error: &Error) -> bool {
    error.is_conflict()
        || error.downcast_ref::<SnapshotEnded>().is_some()
        || matches!(
            error.downcast_ref(),
            Some(TransactionEnded::Displaced { .. } | TransactionEnded::Outgrown { .. })
        )
}

/// True if a transaction was to change more rows than its commit may install.
#[doc(hidden)]
#[inline]
pub fn is_too_many(error: &Error) -> bool {
    matches!(error.downcast_ref(), Some(TableError::TooManyRows { .. }))
}

#[inline]
fn upgraded(kernel: &Weak<Kernel>) -> Result<Arc<Kernel>, Error> {
    let closed = || Error::Closed(TransactionEnded::Closed.into());
    kernel.upgrade().ok_or_else(closed)
}

/// The verbs on records and rows.
impl Deref for OpenTransaction {
    type Target = OpenRows;

    #[inline]
    fn deref(&self) -> &OpenRows {
        &self.rows
    }
}

impl DerefMut for OpenTransaction {
    #[inline]
    fn deref_mut(&mut self) -> &mut OpenRows {
        &mut self.rows
    }
}

impl fmt::Debug for OpenTransaction {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenTransaction")
            .field("has_changes", &self.rows.has_changes())
            .finish_non_exhaustive()
    }
}

/// Transactions that are begun and ended by hand.
impl Tables {
    /// The number of times that [`Tables::retry`] runs a closure beside the serial stage.
    pub const RETRIES_ASIDE: usize = 5;

    /// Begins a transaction that is ended by hand, in the state that is committed now. It takes some microseconds, and
    /// delays no other transaction: see [`OpenTransaction`].
    ///
    /// # Errors
    /// [`Error::Nested`] inside a transaction of this database, [`Error::Closed`], [`Error::Forked`]; [`Error::Full`] if the
    /// process has no address space for a snapshot.
    #[inline]
    pub fn begin(&self) -> Result<OpenTransaction, Error> {
        let committed = self.committed(None)?;
        Ok(self.opened(committed.snapshot.open()?, committed.group))
    }

    /// The same for bindings: calls `waits` from time to time while it waits for the stage, and returns `None` when it
    /// returns false.
    ///
    /// # Errors
    /// The errors of [`Tables::begin`].
    #[doc(hidden)]
    pub fn begin_while(
        &self,
        waits: impl FnMut() -> bool,
    ) -> Result<Option<OpenTransaction>, Error> {
        let committed = asking(waits, |interrupt| self.committed(Some(interrupt)))?;
        let opened = committed.map(|committed| {
            let rows = committed.snapshot.open()?;
            Ok(self.opened(rows, committed.group))
        });
        opened.transpose()
    }

    /// Runs a closure as a transaction that blocks no other one, and returns when it is on stable storage. It runs up to
    /// [`Tables::RETRIES_ASIDE`] times as an [`OpenTransaction`], again after a conflict or an end at a bound. Then it
    /// runs once more in the serial stage, where no conflict is possible and others wait for it. So it ends. One that changes
    /// too many rows runs there at once. Effects of the closure beside the transaction may happen several times.
    ///
    /// # Errors
    /// The error that the closure returned, after everything it did was undone; the errors of [`Tables::run`], except a
    /// conflict.
    ///
    /// # Panics
    /// With the closure's panic, after everything it did was undone.
    pub fn retry<T>(
        &self,
        mut body: impl FnMut(&mut OpenTransaction) -> Result<T, Error>,
    ) -> Result<T, Error> {
        for _ in 0..Tables::RETRIES_ASIDE {
            let mut transaction = self.begin()?;
            let ended = body(&mut transaction).and_then(|value| {
                transaction.commit()?;
                Ok(value)
            });
            match ended {
                Err(error) if is_to_run_again(&error) => {}
                // The stage has no bound on its rows.
                Err(error) if is_too_many(&error) => break,
                ended => return ended,
            }
        }
        // It is freed behind the stage.
        let mut left = LeftRows::default();
        self.run(|tx| {
            let mut transaction = self.begin_in(tx)?;
            match body(&mut transaction) {
                Ok(value) => transaction.install(tx, &mut left).map(|()| value),
                Err(error) => {
                    left = transaction.rows.let_go();
                    Err(error)
                }
            }
        })
    }

    /// Begins one in a closure's transaction that has done nothing yet, and into which it is
    /// [installed](OpenTransaction::install).
    ///
    /// # Errors
    /// [`Error::Refused`] if that one has done something; [`Error::Full`] if there is no address space for a snapshot.
    #[doc(hidden)]
    #[inline]
    pub fn begin_in(&self, tx: &mut Transaction<'_>) -> Result<OpenTransaction, Error> {
        let rows = tx.open_rows()?;
        Ok(self.with_rows(rows.begun_in_stage(&self.open), 0))
    }

    #[inline]
    fn opened(&self, rows: OpenRows, group: u64) -> OpenTransaction {
        self.with_rows(rows.begun_among(&self.open), group)
    }

    #[inline]
    fn with_rows(&self, rows: OpenRows, group: u64) -> OpenTransaction {
        OpenTransaction {
            rows,
            kernel: Arc::downgrade(&self.kernel),
            group,
        }
    }
}

/// The open transactions of a database, with the bounds of its options.
#[inline]
pub(super) fn none(kernel: &Kernel, bounds: [usize; 3]) -> Arc<OpenTransactions> {
    OpenTransactions::new(kernel.engine().process(), bounds)
}
