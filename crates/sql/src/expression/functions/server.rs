//! Functions that monitors ask about the server: its log and its copies.

use super::definition::*;
use super::session::is_in_recovery;
use crate::error::{SqlError, code};
use crate::expression::Environment;
use sardonyx::schema::Value;

pub(super) static TABLE: &[Definition] = functions! {
    pg_current_wal_flush_lsn() -> TEXT, |_, _| Ok(Value::Null), "null: SQL does not number the log", volatile;
    pg_current_wal_insert_lsn() -> TEXT, |_, _| Ok(Value::Null), "null: SQL does not number the log", volatile;
    pg_current_wal_lsn() -> TEXT, |_, _| Ok(Value::Null), "null: SQL does not number the log", volatile;
    pg_is_wal_replay_paused() -> BOOL, is_paused, "false; an error unless the server follows the database", volatile;
    pg_last_wal_receive_lsn() -> TEXT, |_, _| Ok(Value::Null), "null: SQL does not number the log", volatile;
    pg_last_wal_replay_lsn() -> TEXT, |_, _| Ok(Value::Null), "null: SQL does not number the log", volatile;
    pg_last_xact_replay_timestamp() -> TIMESTAMPTZ, |_, _| Ok(Value::Null), "null: SQL does not know the times of replayed transactions", volatile;
};

fn is_paused(_: Arguments<'_>, with: &Environment<'_>) -> Answer {
    match is_in_recovery(with)? {
        Value::Bool(true) => Ok(Value::Bool(false)),
        _ => Err(SqlError::new(
            code::NOT_IN_PREREQUISITE_STATE,
            "recovery is not in progress",
        )
        .hint("Recovery control functions can only be executed during recovery.")),
    }
}
