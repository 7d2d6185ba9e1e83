//! The session as others see it in `pg_stat_activity`: noted when it begins, and at the beginning and the end of a flight.

use super::state::{SessionState, TransactionState};
use super::{Session, SessionOptions};
use crate::activity::{Activity, Identity, OwnEntry};
use crate::database::Database;
use crate::result::Step;
use crate::running::now;

/// Adds a session to those that others see.
pub(super) fn enter(
    database: &Database,
    options: &SessionOptions,
    state: &SessionState,
    number: u64,
) -> OwnEntry {
    let identity = Identity {
        process: match options.process {
            0 => std::process::id(),
            process => process,
        },
        user: state.user.clone(),
        database: state.settings.database().into(),
        client: options.client,
        began: now(),
    };
    let application = state.settings.application();
    let sessions = database.sessions();
    let entry = sessions.enter(number, identity, application);
    entry.set_interrupt(state.interrupt.clone());
    entry
}

impl Session {
    /// Notes that statements begin, which arrived together.
    pub(super) fn show_beginning(&self, flight: &[Step]) {
        let texts = flight.iter().filter_map(|step| match step {
            Step::Execute { statement, .. } | Step::Copy { statement, .. } => {
                Some(statement.shared_text())
            }
            Step::Fail(_) | Step::Sync => None,
        });
        let is_between = matches!(self.state.transaction, TransactionState::Idle);
        self.entry.begin(texts, is_between);
    }

    /// Notes that they have run.
    pub(super) fn show_end(&self) {
        let (activity, transaction) = match &self.state.transaction {
            TransactionState::Open(open) if open.is_implicit => (Activity::Idle, None),
            TransactionState::Idle => (Activity::Idle, None),
            TransactionState::Open(open) => (Activity::InTransaction, Some(open.started.moment)),
            TransactionState::Failed(open) => {
                (Activity::InFailedTransaction, Some(open.started.moment))
            }
        };
        if self.state.settings.has_renamed() {
            self.entry
                .set_application(self.state.settings.application());
        }
        self.entry.end(activity, transaction);
    }
}
