//! A place in a transaction to which it can go back: for an operation of several steps that fails half-way, which has
//! then done nothing.

use super::Transaction;
use crate::undo::undo_steps;
use sardonyx_base::error::Error;
use sardonyx_rows::TableError;
use sardonyx_storage::log::seal::LogMark;

/// A point in a running transaction to roll back to: see [`Transaction::roll_back_to`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Savepoint {
    steps: usize,
    log: LogMark,
}

/// A savepoint of a running transaction: see [`Transaction::return_to`]. Its number belongs to that transaction alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Marked {
    number: u64,
    /// The number of its open transaction; 0 for a transaction of the serial stage, one of which runs at a time.
    of: u64,
}

impl Marked {
    /// The one with this number among those of an open transaction; `of` is 0 for the transaction of another store.
    #[inline]
    pub fn numbered(number: u64, of: u64) -> Self {
        Marked { number, of }
    }

    /// Returns `None` for a mark of another transaction.
    #[inline]
    pub fn number(self, of: u64) -> Option<u64> {
        (self.of == of).then_some(self.number)
    }
}

impl Transaction<'_> {
    /// The state of the running transaction, to come [back](Transaction::roll_back_to) to.
    #[inline]
    pub(crate) fn savepoint(&self) -> Savepoint {
        Savepoint {
            steps: self.space.undo.len(),
            log: self.log.mark(),
        }
    }

    /// The number of steps that would undo it: the changes so far of rows, of entries of indexes, and of bytes.
    #[doc(hidden)]
    #[inline]
    pub fn changes(&self) -> usize {
        self.space.undo.len()
    }

    /// Marks how far the transaction has come, to [return](Transaction::return_to) there.
    #[inline]
    pub fn mark(&mut self) -> Marked {
        let savepoint = self.savepoint();
        let marks = self.space.undo.marks();
        let number = marks.push(savepoint);
        self.held.mark(marks.len() - 1);
        Marked::numbered(number, 0)
    }

    /// Undoes the transaction's changes since a mark. The mark stays; later ones do not.
    ///
    /// # Errors
    /// [`Error::Refused`](sardonyx_base::error::Error::Refused) if this transaction has no such mark, or not any more:
    /// then nothing is undone.
    #[inline]
    pub fn return_to(&mut self, mark: Marked) -> Result<(), Error> {
        let number = mark.number(0).ok_or(TableError::NoMark)?;
        let found = self.space.undo.marks().find(number);
        let (position, savepoint) = found.ok_or(TableError::NoMark)?;
        self.roll_back_to(savepoint);
        self.space.undo.marks().truncate(position + 1);
        self.held.return_to(position);
        Ok(())
    }

    /// Forgets a mark, and later ones. The changes since stay.
    ///
    /// # Errors
    /// [`Error::Refused`](sardonyx_base::error::Error::Refused) if this transaction has no such mark, or not any more.
    #[inline]
    pub fn release(&mut self, mark: Marked) -> Result<(), Error> {
        let marks = self.space.undo.marks();
        let found = mark.number(0).and_then(|number| marks.find(number));
        let (position, _) = found.ok_or(TableError::NoMark)?;
        marks.truncate(position);
        self.held.release(position);
        Ok(())
    }

    /// Runs several steps of one operation: all are done, or none.
    pub(crate) fn whole<T, E>(
        &mut self,
        steps: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        let before = self.savepoint();
        let result = steps(self);
        if result.is_err() {
            self.roll_back_to(before);
        }
        result
    }

    /// Undoes the transaction's changes since the savepoint: for an operation of several steps that failed half-way.
    #[cold]
    pub(crate) fn roll_back_to(&mut self, savepoint: Savepoint) {
        self.log.cut(savepoint.log);
        undo_steps(self.space, savepoint.steps);
        self.space.keeping.go_back(savepoint.steps);
    }
}
