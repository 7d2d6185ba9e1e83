//! `CHECKPOINT`, `VACUUM`, `ANALYZE` and `REINDEX` of a session.

use super::Session;
use super::state::TransactionState;
use crate::class::Special;
use crate::error::SqlError;
use crate::maintenance::Maintenance;
use crate::prepared::Prepared;
use crate::result::{Complete, Outcome, Tag};
use sardonyx::low_level::Reached;

impl Session {
    /// Runs a statement of maintenance.
    pub(super) async fn maintain(&mut self, statement: &Prepared) -> Outcome {
        let special = statement.as_special();
        let word = special.map_or("", Special::word);
        if let Some(special) = special
            && let Err(error) = self.check_maintenance(special, statement.text())
        {
            self.state.fail();
            return Outcome::Failed(error);
        }
        if special == Some(Special::Checkpoint) {
            let tables = match self.database.tables_in_memory("CHECKPOINT") {
                Ok(tables) => tables.clone(),
                Err(error) => {
                    self.state.fail();
                    return Outcome::Failed(error);
                }
            };
            let taken = crate::blocking::unblocked(move || tables.checkpoint()).await;
            let taken = taken.and_then(|taken| Ok(taken?));
            if let Err(error) = taken {
                self.state.fail();
                return Outcome::Failed(error);
            }
        }
        Outcome::Done(Complete::of(Tag::plain(word)))
    }

    /// Checks that a statement of maintenance may run here, and that the named objects exist.
    fn check_maintenance(&self, special: Special, text: &str) -> Result<(), SqlError> {
        let maintenance = Maintenance::parse(special, text)?;
        let path = self.state.settings.path();
        if let TransactionState::Open(open) = &self.state.transaction
            && !open.is_implicit
        {
            maintenance.check_in_transaction()?;
        }
        if let Some(node) = self.database.node() {
            return self
                .database
                .look_at_node(&**node, &self.state.interrupt, |source, _| {
                    maintenance.check(source, path)
                });
        }
        match self.database.reach(Some(&self.state.interrupt))? {
            Reached::Turn(turn) => maintenance.check(&turn.view(), path),
            Reached::Committed(committed) => {
                maintenance.check(&&**committed.snapshot.space(), path)
            }
        }
    }
}
