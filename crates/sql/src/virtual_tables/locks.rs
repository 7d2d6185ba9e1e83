//! `pg_locks`: the locks of all sessions on tables, on numbers (advisory locks), and on transactions' own numbers.

use super::Contents::Rows;
use super::{VirtualRows, VirtualTable, oid, text};
use crate::advisory::{Key, Listed, Locked};
use crate::claims::TableId;
use crate::error::SqlError;
use crate::expression::Environment;
use crate::lock_modes::TableMode;
use crate::relation::table_oid;
use crate::source::Source;
use crate::types::SqlType::{Bool, Int2, Int4, Int8, Oid, Text, Timestamptz};
use sardonyx::schema::Value;

/// The number of the database in the catalogue.
const DATABASE: u32 = 5;

pub(super) const TABLES: &[VirtualTable] = &[VirtualTable {
    schema: "pg_catalog",
    name: "pg_locks",
    oid: 12_027,
    columns: &[
        ("locktype", Text),
        ("database", Oid),
        ("relation", Oid),
        ("page", Int4),
        ("tuple", Int2),
        ("virtualxid", Text),
        ("transactionid", Int8),
        ("classid", Oid),
        ("objid", Oid),
        ("objsubid", Int2),
        ("virtualtransaction", Text),
        ("pid", Int4),
        ("mode", Text),
        ("granted", Bool),
        ("fastpath", Bool),
        ("waitstart", Timestamptz),
    ],
    contents: Rows(locks),
}];

fn locks(source: &dyn Source, with: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let Some(database) = &with.context.database else {
        return Ok(VirtualRows::new());
    };
    let list = || database.advisory().listed();
    let all = match &with.context.claims {
        Some(claiming) => claiming.locks(list),
        None => list().into(),
    };
    Ok(all.iter().filter_map(|lock| row_of(source, lock)).collect())
}

/// The row of a lock. `None` for a table that this state does not have: another transaction has created it.
fn row_of(source: &dyn Source, lock: &Listed) -> Option<Vec<Value>> {
    let mut row = vec![Value::Null; 16];
    let mut put = |place: usize, value: Value| {
        if let Some(there) = row.get_mut(place) {
            *there = value;
        }
    };
    let advisory = |class: u32, object: u32, sub: i128| {
        [
            (0, text("advisory")),
            (1, oid(DATABASE)),
            (7, oid(class)),
            (8, oid(object)),
            (9, Value::Int(sub)),
        ]
    };
    match lock.locked {
        Locked::Key(Key::Table(table)) => {
            if TableId::of(source.definitions(), table.number) != table {
                return None;
            }
            put(0, text("relation"));
            put(1, oid(DATABASE));
            put(2, oid(table_oid(table.number)));
        }
        Locked::Key(Key::One(key)) => {
            let key = key as u64;
            let values = advisory((key >> 32) as u32, key as u32, 1);
            values.into_iter().for_each(|(at, value)| put(at, value));
        }
        Locked::Key(Key::Two(class, object)) => {
            let values = advisory(class as u32, object as u32, 2);
            values.into_iter().for_each(|(at, value)| put(at, value));
        }
        Locked::Transaction => {
            put(0, text("transactionid"));
            put(6, Value::Int(lock.transaction.into()));
        }
    }
    put(
        10,
        Value::Text(format!("{}/{}", lock.session, lock.transaction)),
    );
    put(11, Value::Int(lock.process.into()));
    put(12, text(name_of(lock.mode)));
    put(13, Value::Bool(lock.waits_since.is_none()));
    put(14, Value::Bool(false));
    put(15, lock.waits_since.map_or(Value::Null, Value::Timestamp));
    Some(row)
}

fn name_of(mode: TableMode) -> &'static str {
    match mode {
        TableMode::AccessShare => "AccessShareLock",
        TableMode::RowShare => "RowShareLock",
        TableMode::RowExclusive => "RowExclusiveLock",
        TableMode::ShareUpdateExclusive => "ShareUpdateExclusiveLock",
        TableMode::Share => "ShareLock",
        TableMode::ShareRowExclusive => "ShareRowExclusiveLock",
        TableMode::Exclusive => "ExclusiveLock",
        TableMode::AccessExclusive => "AccessExclusiveLock",
    }
}
