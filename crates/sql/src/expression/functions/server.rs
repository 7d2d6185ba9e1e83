//! Functions that monitors ask about the server: its log, its copies, sizes of databases, and sessions that wait.

use super::definition::*;
use super::session::is_in_recovery;
use crate::error::{SqlError, code};
use crate::expression::Environment;
use crate::names::DATABASE;
use crate::types::SqlType;
use crate::values::arrays::array_of;
use sardonyx::schema::Value;

pub(super) static TABLE: &[Definition] = functions! {
    pg_blocking_pids(INT4) -> INTS, |_, _| Ok(array_of(SqlType::Int4, std::iter::empty())), "empty: sessions that others wait for are not listed", volatile;
    pg_current_wal_flush_lsn() -> TEXT, |_, _| Ok(Value::Null), "null: SQL does not number the log", volatile;
    pg_current_wal_insert_lsn() -> TEXT, |_, _| Ok(Value::Null), "null: SQL does not number the log", volatile;
    pg_current_wal_lsn() -> TEXT, |_, _| Ok(Value::Null), "null: SQL does not number the log", volatile;
    pg_database_size(NAME) -> INT8, size_of_named, "0: sizes are not counted", volatile;
    pg_database_size(OID) -> INT8, size_of_numbered, "0: sizes are not counted; null of another database", volatile;
    pg_is_wal_replay_paused() -> BOOL, is_paused, "false; an error unless the server follows the database", volatile;
    pg_last_wal_receive_lsn() -> TEXT, |_, _| Ok(Value::Null), "null: SQL does not number the log", volatile;
    pg_last_wal_replay_lsn() -> TEXT, |_, _| Ok(Value::Null), "null: SQL does not number the log", volatile;
    pg_last_xact_replay_timestamp() -> TIMESTAMPTZ, |_, _| Ok(Value::Null), "null: SQL does not know the times of replayed transactions", volatile;
};

fn size_of_named(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let name = a.text(0);
    match name == DATABASE || name == with.context.settings.borrow().database() {
        true => int(0),
        false => Err(SqlError::new(
            "3D000",
            format!("database \"{name}\" does not exist"),
        )),
    }
}

/// The numbers are those of `pg_database`.
fn size_of_numbered(a: Arguments<'_>, _: &Environment<'_>) -> Answer {
    match a.oid(0) {
        Some(5 | 6) => int(0),
        _ => Ok(Value::Null),
    }
}

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
