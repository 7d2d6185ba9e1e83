//! A session that another one ends, or the server: nothing of it runs any more, and its client is not waited for.

use super::Session;
use crate::activity::Unread;
use crate::error::SqlError;
use crate::result::{Outcome, Step};
use sardonyx_base::waiting::{Interrupt, Reason};
use std::collections::VecDeque;
use std::task::{Context, Poll};

/// The reason for which nothing more of a session is to run, if there is one.
pub(super) fn ends_all(interrupt: &Interrupt) -> Option<Reason> {
    let reason = interrupt.reason();
    reason.filter(|reason| matches!(reason, Reason::Disconnected | Reason::Shutdown))
}

impl Session {
    /// True if another session has ended it: its connection is to be closed.
    pub fn is_terminated(&self) -> bool {
        self.entry.is_terminated()
    }

    /// Polls for its end: ready once another session has ended it. One task waits at a time.
    pub fn terminated(&self) -> impl Fn(&mut Context<'_>) -> Poll<()> + Send + Sync + use<> {
        self.entry.terminated()
    }

    /// The session while its client does not read its answers.
    pub fn unread(&self) -> Unread {
        self.entry.unread()
    }

    /// Refuses the next steps if the session is ended, or its client has disconnected: nothing of it is to run any more. A step
    /// that ends a transaction whose statements have all run does end it.
    pub(super) fn refuse_if_ended(
        &mut self,
        steps: &mut VecDeque<Step>,
        mut skipping: bool,
        outcomes: &mut Vec<Outcome>,
    ) {
        let Some(reason) = ends_all(&self.state.interrupt) else {
            return;
        };
        let is_of_end = |outcome: &Outcome| matches!(outcome, Outcome::Failed(error) if error.interruption() == Some(reason));
        let mut is_told = outcomes.iter().any(is_of_end);
        if !is_told && matches!(steps.front(), None | Some(Step::Sync)) {
            return;
        }
        self.state.fail();
        for step in steps.drain(..) {
            outcomes.push(match step {
                Step::Sync => {
                    skipping = false;
                    Outcome::Synced(self.state.transaction.status())
                }
                _ if skipping || std::mem::replace(&mut is_told, true) => Outcome::Skipped,
                _ => Outcome::Failed(SqlError::interrupted(reason)),
            });
        }
    }
}
