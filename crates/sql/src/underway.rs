//! Reads beside a long statement in the serial stage, and the interruption of running statements.

use crate::database::Database;
use crate::error::SqlError;
#[cfg(doc)]
use crate::followed::Followed;
#[cfg(doc)]
use sardonyx::Tables;
use sardonyx::low_level::{Committed, Reached, Turn};
use sardonyx_base::waiting::{Interrupt, Reason, interruptible, interruption};
use std::sync::Arc;

impl Database {
    /// True if a long transaction has the serial stage of the tables, if they have one.
    pub fn has_long(&self) -> bool {
        self.tables().is_some_and(|tables| tables.has_long())
    }

    /// True if reads that need not see a transaction's own changes continue in another state than the serial stage's.
    pub(crate) fn has_long_statement(&self) -> bool {
        self.has_long()
    }

    /// Waits for a turn of the serial stage.
    ///
    /// # Errors
    /// An interruption of the wait; the engine's.
    pub(crate) fn turn(&self, interrupt: &Arc<Interrupt>) -> Result<Turn<'_>, SqlError> {
        let tables = self.tables_in_memory("a turn of the serial stage")?;
        Ok(interruptible(interrupt, None, || tables.turn())?)
    }

    /// Waits for a turn, or takes the state from before the long statement that has it. For tables that are followed,
    /// takes the newest state. `interrupt`: as for [`Tables::reach`].
    ///
    /// # Errors
    /// As [`Database::turn`]; as [`Followed::committed`].
    pub(crate) fn reach(
        &self,
        interrupt: Option<&Arc<Interrupt>>,
    ) -> Result<Reached<'_>, SqlError> {
        if let Some(followed) = self.followed() {
            return followed.committed(interrupt).map(Reached::Committed);
        }
        let tables = self.tables_in_memory("a turn of the serial stage")?;
        Ok(tables.reach(interrupt)?)
    }

    /// The newest state that does not need to wait for a long statement. It may not be durable yet
    /// ([`Database::durable`]).
    ///
    /// # Errors
    /// As [`Database::reach`].
    pub(crate) fn committed(&self, interrupt: &Arc<Interrupt>) -> Result<Committed, SqlError> {
        if let Some(followed) = self.followed() {
            return followed.committed(Some(interrupt));
        }
        Ok(self
            .tables_in_memory("a snapshot")?
            .committed(Some(interrupt))?)
    }

    /// Waits until such a state is durable.
    ///
    /// # Errors
    /// The log's.
    pub(crate) async fn durable(&self, committed: &Committed) -> Result<(), SqlError> {
        match self.tables() {
            Some(tables) => Ok(tables.durable(committed.group).await?),
            // Only durable changes of a followed database are seen.
            None => Ok(()),
        }
    }
}

/// Checks if the statement on this thread has to end. A procedure of a program that takes long calls this from time to
/// time, and returns the error.
///
/// # Errors
/// The reason: `57014` for a cancel request and at `statement_timeout`, `57P01` and `08006` at the end of the server
/// and of the connection.
pub fn check_interrupted() -> Result<(), SqlError> {
    match interruption() {
        None | Some(Reason::Elsewhere) => Ok(()),
        Some(reason) => Err(SqlError::interrupted(reason)),
    }
}
