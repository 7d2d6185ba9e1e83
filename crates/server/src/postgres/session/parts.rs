//! Decides which rows may still fail while they are sent. After an error, a client assumes that everything since the
//! last Sync was undone.
//!
//! A statement is durable before its rows are sent. So an answer may end in an error only if everything up to the next
//! Sync only reads. It must also be a transaction of its own, or belong to an open transaction that can still fail.
//!
//! Source: PostgreSQL's documentation, *Frontend/Backend Protocol*, "Extended Query" and "Canceling Requests in
//! Progress".

use super::answering::Reply;
use sardonyx_sql::{Outcome, TransactionStatus};

/// The statements between two Syncs so far; they may have arrived in several flights.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Part {
    /// A statement was run.
    any: bool,
    /// A statement ran that does not only read.
    changes: bool,
}

impl Part {
    /// Returns true if a statement of the part has run.
    pub(super) fn has_begun(&self) -> bool {
        self.any
    }

    fn take(&mut self, reply: &Reply) {
        if let Reply::Declared(_) = reply {
            self.any = true;
        }
        let Reply::Executed(execution) = reply else {
            return;
        };
        let statement = &execution.statement;
        // Statements before BEGIN are not in its transaction.
        let begins = statement.begins_transaction() && !self.any;
        self.changes |= !(begins || statement.only_reads());
        self.any = true;
    }

    /// For each part of these replies, true if its rows may fail. The last part may have no end yet: then this is its
    /// end.
    pub(super) fn may_fail(&mut self, replies: &[Reply], outcomes: &[Outcome]) -> Vec<bool> {
        let mut parts = Vec::new();
        let mut outcomes = outcomes.iter();
        for (index, reply) in replies.iter().enumerate() {
            self.take(reply);
            match reply {
                Reply::Executed(_) | Reply::Declared(_) | Reply::Failed => drop(outcomes.next()),
                Reply::Ready(_) => {
                    // A transaction that was open then may be over by now, unless no statement came after it.
                    let is_over = matches!(
                        outcomes.next(),
                        Some(Outcome::Synced(TransactionStatus::Idle))
                    );
                    let is_last = index + 1 == replies.len();
                    parts.push(!self.changes && (is_over || is_last));
                    *self = Part::default();
                }
                _ => {}
            }
        }
        if !matches!(replies.last(), Some(Reply::Ready(_))) {
            parts.push(!self.changes);
        }
        parts
    }
}
