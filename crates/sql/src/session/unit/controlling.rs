//! `BEGIN`, `COMMIT`, `ROLLBACK` and savepoints within a unit.

use super::{End, Next, Unit, begin_word};
use crate::error::{SqlError, code};
use crate::prepared::Prepared;
use crate::result::{Complete, Outcome, Tag};
use crate::session::control;
use crate::write_target::WriteTarget;
use sqlparser::ast::Statement;

impl Unit {
    pub(super) fn control(
        &mut self,
        tx: &mut dyn WriteTarget,
        statement: &Prepared,
        implicit: &mut bool,
    ) -> Next {
        match statement.statement() {
            Some(Statement::StartTransaction { modes, begin, .. }) => {
                match control::begun(&mut self.state, begin_word(*begin), modes) {
                    Outcome::Failed(error) => self.failed(error, *implicit),
                    outcome => {
                        *implicit = false;
                        let outcome = self.state.without_unwanted(outcome);
                        self.outcomes.push(outcome);
                        Next::Go
                    }
                }
            }
            Some(Statement::Commit { chain: false, .. }) => {
                if let Err(error) = self.at_commit(tx) {
                    return self.failed(error, true);
                }
                let notice = control::unbegun(&self.state);
                self.state.end(true);
                self.done(Complete::of(Tag::plain("COMMIT")).with_notice(notice));
                Next::End(End::Commit, false)
            }
            Some(Statement::Rollback {
                chain: false,
                savepoint: None,
            }) => {
                let notice = control::unbegun(&self.state);
                self.state.end(false);
                self.done(Complete::of(Tag::plain("ROLLBACK")).with_notice(notice));
                Next::End(End::Undo, false)
            }
            Some(Statement::Rollback {
                savepoint: Some(_), ..
            }) if !*implicit => {
                // Later changes are undone with all; the next unit runs the remaining statements again.
                let outcome = control::without_data(&mut self.state, statement);
                let failed = matches!(outcome, Some(Outcome::Failed(_)));
                self.outcomes.extend(outcome);
                Next::End(End::Undo, failed)
            }
            _ if *implicit => {
                let error = SqlError::new(
                    code::NO_TRANSACTION,
                    "savepoints can only be used in transaction blocks",
                );
                self.failed(error, true)
            }
            _ => match control::without_data(&mut self.state, statement) {
                Some(Outcome::Failed(error)) => self.failed(error, false),
                Some(outcome) => {
                    self.outcomes.push(outcome);
                    Next::Go
                }
                None => Next::Go,
            },
        }
    }
}
