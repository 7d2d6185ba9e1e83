//! Statements that begin and end transactions, and parts of them.

use super::state::{Reading, SessionState, TransactionState};
use crate::error::{SqlError, code};
use crate::names::name_of;
use crate::prepared::Prepared;
use crate::result::{Complete, Notice, Outcome, Tag};
use sqlparser::ast::{
    Statement, TransactionAccessMode, TransactionIsolationLevel, TransactionMode,
};

fn done(word: &'static str, notice: Option<Notice>) -> Outcome {
    Outcome::Done(Complete::of(Tag::plain(word)).with_notice(notice))
}

fn no_transaction() -> Option<Notice> {
    Some(Notice::warning(
        code::NO_TRANSACTION,
        "there is no transaction in progress",
    ))
}

/// True if the modes of `BEGIN` allow no writes.
///
/// # Errors
/// None of the isolation levels is refused: all are serializable.
pub(super) fn is_read_only(modes: &[TransactionMode], otherwise: bool) -> bool {
    let mut read_only = otherwise;
    for mode in modes {
        match mode {
            TransactionMode::AccessMode(TransactionAccessMode::ReadOnly) => read_only = true,
            TransactionMode::AccessMode(TransactionAccessMode::ReadWrite) => read_only = false,
            TransactionMode::IsolationLevel(
                TransactionIsolationLevel::Serializable
                | TransactionIsolationLevel::RepeatableRead
                | TransactionIsolationLevel::ReadCommitted
                | TransactionIsolationLevel::ReadUncommitted
                | TransactionIsolationLevel::Snapshot,
            ) => {}
        }
    }
    read_only
}

/// The level of isolation in the modes of a transaction, if they have one. All transactions are serializable, which
/// includes it.
pub(super) fn isolation(modes: &[TransactionMode]) -> Option<&'static str> {
    let mut levels = modes.iter().filter_map(|mode| match mode {
        TransactionMode::IsolationLevel(level) => Some(match level {
            TransactionIsolationLevel::Serializable => "serializable",
            TransactionIsolationLevel::RepeatableRead | TransactionIsolationLevel::Snapshot => {
                "repeatable read"
            }
            TransactionIsolationLevel::ReadCommitted => "read committed",
            TransactionIsolationLevel::ReadUncommitted => "read uncommitted",
        }),
        TransactionMode::AccessMode(_) => None,
    });
    levels.next_back()
}

/// Begins, ends, marks; `None` if that needs a serial call: the commit of a transaction that wrote.
pub(super) fn without_data(state: &mut SessionState, statement: &Prepared) -> Option<Outcome> {
    let outcome = match statement.statement()? {
        Statement::StartTransaction { modes, begin, .. } => {
            let word = if *begin { "BEGIN" } else { "START TRANSACTION" };
            if state.transaction.is_implicit_and_writes() {
                // The unit that continues it makes it an explicit one.
                return None;
            }
            if let TransactionState::Idle = state.transaction {
                state.begin_implicit();
            }
            begun(state, word, modes)
        }
        Statement::Commit { chain: true, .. } | Statement::Rollback { chain: true, .. } => {
            Outcome::Failed(SqlError::unsupported("AND CHAIN is not supported"))
        }
        Statement::Commit { .. } => match &state.transaction {
            TransactionState::Idle => done("COMMIT", no_transaction()),
            TransactionState::Failed(_) => {
                state.end(false);
                done("ROLLBACK", None)
            }
            TransactionState::Open(open) => {
                if matches!(open.reading, Reading::Live) && !open.history.is_empty() {
                    return None;
                }
                let notice = unbegun(state);
                state.end(true);
                done("COMMIT", notice)
            }
        },
        Statement::Rollback {
            savepoint: None, ..
        } => match &state.transaction {
            TransactionState::Idle => done("ROLLBACK", no_transaction()),
            _ => {
                let notice = unbegun(state);
                state.end(false);
                done("ROLLBACK", notice)
            }
        },
        Statement::Rollback {
            savepoint: Some(name),
            ..
        } => to_savepoint(state, &name_of(name)),
        Statement::Savepoint { name } => {
            let name = name_of(name);
            let (settings, claims) = (state.settings.clone(), state.claims.mark());
            in_open(state, "SAVEPOINT", |open| open.save(name, settings, claims))
        }
        Statement::ReleaseSavepoint { name } => {
            let name = name_of(name);
            in_open(state, "RELEASE", |open| open.release(&name))
        }
        _ => return None,
    };
    if let Outcome::Failed(_) = outcome {
        state.fail();
    }
    Some(outcome)
}

/// `BEGIN` in an open transaction.
pub(super) fn begun(
    state: &mut SessionState,
    word: &'static str,
    modes: &[TransactionMode],
) -> Outcome {
    match state.go_on_as_begun(modes) {
        Ok(is_begun) => done(word, (!is_begun).then(already_open)),
        Err(error) => Outcome::Failed(error),
    }
}

/// The warning at the end of a transaction that no client began.
pub(super) fn unbegun(state: &SessionState) -> Option<Notice> {
    match state.transaction.is_implicit() {
        true => no_transaction(),
        false => None,
    }
}

fn already_open() -> Notice {
    Notice::warning(
        code::ACTIVE_TRANSACTION,
        "there is already a transaction in progress",
    )
}

fn in_open(
    state: &mut SessionState,
    word: &'static str,
    act: impl FnOnce(&mut super::state::OpenTransaction) -> Result<(), SqlError>,
) -> Outcome {
    match &mut state.transaction {
        TransactionState::Open(open) if !open.is_implicit => match act(open) {
            Ok(()) => done(word, None),
            Err(error) => Outcome::Failed(error),
        },
        _ => Outcome::Failed(SqlError::new(
            code::NO_TRANSACTION,
            match word {
                "RELEASE" => "RELEASE SAVEPOINT can only be used in transaction blocks".into(),
                word => format!("{word} can only be used in transaction blocks"),
            },
        )),
    }
}

/// Goes back to a savepoint: undoes the changes since.
pub(super) fn to_savepoint(state: &mut SessionState, name: &str) -> Outcome {
    if state.transaction.is_implicit() {
        // It ends as one that failed.
        state.fail();
    }
    match std::mem::take(&mut state.transaction) {
        TransactionState::Idle => Outcome::Failed(SqlError::new(
            code::NO_TRANSACTION,
            "ROLLBACK TO SAVEPOINT can only be used in transaction blocks",
        )),
        TransactionState::Open(mut open) | TransactionState::Failed(mut open) => {
            match open.return_to(name) {
                Ok(settings) => {
                    state.settings.return_to(settings);
                    state.claims.return_to(open.kept_claims());
                    state.transaction = TransactionState::Open(open);
                    done("ROLLBACK", None)
                }
                Err(error) => {
                    state.transaction = TransactionState::Failed(open);
                    Outcome::Failed(error)
                }
            }
        }
    }
}
