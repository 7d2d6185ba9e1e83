//! A place in a transaction to which it can go back: for an operation of several steps that fails half-way, which has
//! then done nothing.

use super::Transaction;
use crate::undo::{UndoPoint, undo_steps};
use sardonyx_base::error::Error;
use sardonyx_rows::{Savepoint, TableError};

impl Transaction<'_> {
    /// The state of the running transaction, to come [back](Transaction::undo_to) to.
    #[inline]
    pub(crate) fn undo_point(&self) -> UndoPoint {
        UndoPoint {
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

    /// Marks how far the transaction has come, to [go back](Transaction::rollback_to) there.
    #[inline]
    pub fn savepoint(&mut self) -> Savepoint {
        let point = self.undo_point();
        let marks = self.space.undo.marks();
        let savepoint = marks.push(point);
        self.held.mark(marks.len() - 1);
        savepoint
    }

    /// Undoes the transaction's changes since a savepoint. The savepoint stays; later ones do not.
    ///
    /// # Errors
    /// [`Error::Refused`](sardonyx_base::error::Error::Refused) if this transaction has no such savepoint, or not any
    /// more: then nothing is undone.
    #[inline]
    pub fn rollback_to(&mut self, savepoint: Savepoint) -> Result<(), Error> {
        let found = self.space.undo.marks().find(savepoint);
        let (position, point) = found.ok_or(TableError::NoSavepoint)?;
        self.undo_to(point);
        self.space.undo.marks().truncate(position + 1);
        self.held.return_to(position);
        Ok(())
    }

    /// Forgets a savepoint, and later ones. The changes since stay.
    ///
    /// # Errors
    /// [`Error::Refused`](sardonyx_base::error::Error::Refused) if this transaction has no such savepoint, or not any
    /// more.
    #[inline]
    pub fn release(&mut self, savepoint: Savepoint) -> Result<(), Error> {
        let marks = self.space.undo.marks();
        let (position, _) = marks.find(savepoint).ok_or(TableError::NoSavepoint)?;
        marks.truncate(position);
        self.held.release(position);
        Ok(())
    }

    /// Runs several steps of one operation: all are done, or none.
    pub(crate) fn whole<T, E>(
        &mut self,
        steps: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        let before = self.undo_point();
        let result = steps(self);
        if result.is_err() {
            self.undo_to(before);
        }
        result
    }

    /// Undoes the transaction's changes since a point: for an operation of several steps that failed half-way.
    #[cold]
    pub(crate) fn undo_to(&mut self, point: UndoPoint) {
        self.log.cut(point.log);
        undo_steps(self.space, point.steps);
        self.space.keeping.go_back(point.steps);
    }
}
