//! Which rows may still be refused when they are told: a client that is told of an error takes it that all is undone
//! which belongs together with it.
//!
//! What ran is durable before its rows are told. So an answer may end in an error only if all up to the next Sync has
//! only read, and either was a transaction by itself, or is in one that is open still, and can fail now.
//!
//! Source: PostgreSQL's documentation, *Frontend/Backend Protocol*, "Extended Query" and "Canceling Requests in
//! Progress".

use super::answering::Reply;
use sardonyx_sql::{Outcome, TransactionStatus};

/// What stands between two Syncs, so far: it may have arrived in several flights.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Part {
    /// A statement was run.
    any: bool,
    /// One that does not only read.
    changes: bool,
}

impl Part {
    /// Whether a statement of it was run.
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
        // What stands before BEGIN is not in its transaction.
        let begins = statement.begins_transaction() && !self.any;
        self.changes |= !(begins || statement.only_reads());
        self.any = true;
    }

    /// Of each part of these replies whether its rows may be refused. The last one may have no end yet: this is it then.
    pub(super) fn may_fail(&mut self, replies: &[Reply], outcomes: &[Outcome]) -> Vec<bool> {
        let mut parts = Vec::new();
        let mut outcomes = outcomes.iter();
        for (index, reply) in replies.iter().enumerate() {
            self.take(reply);
            match reply {
                Reply::Executed(_) | Reply::Declared(_) | Reply::Failed => drop(outcomes.next()),
                Reply::Ready(_) => {
                    // A transaction that was open then: it may be over by now, unless nothing came behind.
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
