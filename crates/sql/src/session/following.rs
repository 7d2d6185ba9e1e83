//! A session on tables that another program has open: each of its statements reads a snapshot ([`super::reading`]).
//! Statements between two ends, and those of a transaction, read the same one. Statements that need more are refused
//! here, by name.
//!
//! Invariant: no statement of such a session reaches a serial call.

use super::Session;
use crate::class::Class;
use crate::error::SqlError;
use crate::prepared::Prepared;
use crate::result::{Complete, Outcome, Tag};
use sqlparser::ast::{Set, Statement, TransactionAccessMode, TransactionMode};

impl Session {
    /// The outcome of a statement that does not only read; `None` if it runs as anywhere.
    pub(super) fn handle_following(&mut self, statement: &Prepared) -> Option<Outcome> {
        match statement.class() {
            Class::Control | Class::Session => {
                if asks_to_write(statement) {
                    return Some(self.refuse(SqlError::no_read_write()));
                }
                None
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
    let text = statement.own_text().trim_start();
    let word = text.split(|c: char| !c.is_ascii_alphabetic()).next();
    let word = word.unwrap_or_default().to_ascii_uppercase();
    match word.as_str() {
        "" | "WITH" | "SELECT" | "EXPLAIN" | "EXECUTE" | "SET" => "a statement that writes".into(),
        _ => word,
    }
}
