//! A session on tables that another program has open: each of its statements reads a snapshot ([`super::reading`]).
//! Statements between two ends, and those of a transaction, read the same one. Statements that need more are refused
//! here, by name.
//!
//! Invariant: no statement of such a session reaches a serial call.

use super::Session;
use super::control::already_open;
use super::state::TransactionState;
use crate::class::Class;
use crate::error::SqlError;
use crate::prepared::Prepared;
use crate::result::{Complete, Outcome, Tag};
use sqlparser::ast::{Set, Statement, TransactionAccessMode, TransactionMode};

impl Session {
    /// The outcome of a statement that does not only read, or that would begin a transaction without `BEGIN`. `None` if
    /// it runs as anywhere.
    pub(super) fn handle_following(&mut self, statement: &Prepared) -> Option<Outcome> {
        match statement.class() {
            Class::Control | Class::Session => {
                if asks_to_write(statement) {
                    return Some(self.refuse(SqlError::no_read_write()));
                }
                let begins = matches!(
                    statement.statement(),
                    Some(Statement::StartTransaction { .. })
                );
                begins.then(|| self.go_on_as_begun(statement)).flatten()
            }
            // `LISTEN` is not supported on a follower, so there is nothing to end.
            Class::Write if matches!(statement.statement(), Some(Statement::UNLISTEN { .. })) => {
                Some(Outcome::Done(Complete::of(Tag::plain("UNLISTEN"))))
            }
            Class::Write | Class::Define | Class::Maintenance => {
                let followed = self.database.followed()?;
                let refused = followed.refused(&named(statement));
                Some(self.refuse(refused))
            }
            Class::Read | Class::Empty => None,
        }
    }

    fn refuse(&mut self, error: SqlError) -> Outcome {
        self.state.fail();
        Outcome::Failed(error)
    }

    /// `BEGIN` after statements without an end: they belong to the transaction.
    fn go_on_as_begun(&mut self, statement: &Prepared) -> Option<Outcome> {
        let TransactionState::Open(open) = &mut self.state.transaction else {
            return None;
        };
        let word = match statement.statement() {
            Some(Statement::StartTransaction { begin: false, .. }) => "START TRANSACTION",
            _ => "BEGIN",
        };
        let was_implicit = std::mem::replace(&mut open.is_implicit, false);
        let notice = (!was_implicit).then(already_open);
        let complete = Complete::of(Tag::plain(word)).with_notice(notice);
        Some(self.state.without_unwanted(Outcome::Done(complete)))
    }
}

/// True if a statement asks for a transaction that writes.
fn asks_to_write(statement: &Prepared) -> bool {
    let modes = match statement.statement() {
        Some(
            Statement::StartTransaction { modes, .. }
            | Statement::Set(Set::SetTransaction { modes, .. }),
        ) => modes,
        _ => return false,
    };
    modes.iter().any(|mode| {
        matches!(
            mode,
            TransactionMode::AccessMode(TransactionAccessMode::ReadWrite)
        )
    })
}

/// A statement in an error: its first word, if that names the operation.
fn named(statement: &Prepared) -> String {
    let text = statement.text().trim_start();
    let word = text.split(|c: char| !c.is_ascii_alphabetic()).next();
    let word = word.unwrap_or_default().to_ascii_uppercase();
    match word.as_str() {
        "" | "WITH" | "SELECT" | "EXPLAIN" | "EXECUTE" | "SET" => "a statement that writes".into(),
        _ => word,
    }
}
