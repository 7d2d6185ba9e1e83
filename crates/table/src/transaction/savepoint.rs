//! A place in a transaction to which it can go back: for an operation of several steps that fails half-way, which has
//! then done nothing.

use super::Transaction;
use crate::undo::undo_step;
use sardonyx_base::error::Error;
use sardonyx_storage::log::seal::LogMark;

/// How far a running transaction had come: see [`Transaction::roll_back_to`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Savepoint {
    steps: usize,
    log: LogMark,
}

impl Transaction<'_> {
    /// The state of the running transaction, to come [back](Transaction::roll_back_to) to.
    pub(crate) fn savepoint(&self) -> Savepoint {
        Savepoint {
            steps: self.space.undo.len(),
            log: self.log.mark(),
        }
    }

    /// Runs several steps of one operation: all are done, or none.
    pub(crate) fn whole<T>(
        &mut self,
        steps: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let before = self.savepoint();
        let result = steps(self);
        if result.is_err() {
            self.roll_back_to(before);
        }
        result
    }

    /// Undoes what the transaction did since the savepoint: for an operation of several steps that failed
    /// half-way.
    #[cold]
    pub(crate) fn roll_back_to(&mut self, savepoint: Savepoint) {
        self.log.cut(savepoint.log);
        while self.space.undo.len() > savepoint.steps {
            let step = self.space.undo.pop().expect("there are more");
            undo_step(self.space, step);
        }
    }
}
