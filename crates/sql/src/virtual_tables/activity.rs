//! `pg_stat_activity`: the sessions of the database; `pg_stat_database`: their number, and the counts of the engine. A
//! user without the right `own` sees the statements of its own sessions only.

use super::Contents::Rows;
use super::system::database_names;
use super::{OWNER, VirtualRows, VirtualTable, oid, text};
use crate::activity::{Activity, ClientAddress, Seen};
use crate::advisory::Key;
use crate::claiming::Counts;
use crate::error::SqlError;
use crate::expression::Environment;
use crate::expression::functions::address_of;
use crate::rights::Access;
use crate::source::Source;
use crate::types::SqlType::{Float8, Inet, Int4, Int8, Name, Oid, Text, Timestamptz};
use sardonyx::schema::Value;
use std::sync::Arc;

/// The text in the place of statements that the user may not see.
const HIDDEN: &str = "<insufficient privilege>";

pub(super) const TABLES: &[VirtualTable] = &[
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_stat_activity",
        oid: 12_020,
        columns: &[
            ("datid", Oid),
            ("datname", Name),
            ("pid", Int4),
            ("leader_pid", Int4),
            ("usesysid", Oid),
            ("usename", Name),
            ("application_name", Text),
            ("client_addr", Inet),
            ("client_hostname", Text),
            ("client_port", Int4),
            ("backend_start", Timestamptz),
            ("xact_start", Timestamptz),
            ("query_start", Timestamptz),
            ("state_change", Timestamptz),
            ("wait_event_type", Text),
            ("wait_event", Text),
            ("state", Text),
            ("backend_xid", Oid),
            ("backend_xmin", Oid),
            ("query_id", Int8),
            ("query", Text),
            ("backend_type", Text),
        ],
        contents: Rows(sessions),
    },
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_stat_database",
        oid: 12_202,
        columns: &[
            ("datid", Oid),
            ("datname", Name),
            ("numbackends", Int4),
            ("xact_commit", Int8),
            ("xact_rollback", Int8),
            ("blks_read", Int8),
            ("blks_hit", Int8),
            ("tup_returned", Int8),
            ("tup_fetched", Int8),
            ("tup_inserted", Int8),
            ("tup_updated", Int8),
            ("tup_deleted", Int8),
            ("conflicts", Int8),
            ("temp_files", Int8),
            ("temp_bytes", Int8),
            ("deadlocks", Int8),
            ("checksum_failures", Int8),
            ("checksum_last_failure", Timestamptz),
            ("blk_read_time", Float8),
            ("blk_write_time", Float8),
            ("session_time", Float8),
            ("active_time", Float8),
            ("idle_in_transaction_time", Float8),
            ("sessions", Int8),
            ("sessions_abandoned", Int8),
            ("sessions_fatal", Int8),
            ("sessions_killed", Int8),
            ("stats_reset", Timestamptz),
        ],
        contents: Rows(databases),
    },
];

/// The columns that are known, by their places; all others are null.
fn databases(_: &dyn Source, with: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let Some(database) = &with.context.database else {
        return Ok(VirtualRows::new());
    };
    let count = || Counts {
        committed: (database.tables()).map(|tables| tables.statistics().committed),
        sessions: database.advisory().sessions(),
    };
    let counts = match &with.context.claims {
        Some(claiming) => claiming.counts(count),
        None => count(),
    };
    let all = all_sessions(with);
    let connected = |name: &str| {
        let named = all.iter().filter(|seen| *seen.identity.database == *name);
        Value::Int(named.count() as i128)
    };
    let row = |number: u32, name: &str| {
        let mut row = vec![Value::Null; 28];
        let known = [
            (0, oid(number)),
            (1, text(name)),
            (2, connected(name)),
            (
                3,
                (counts.committed).map_or(Value::Null, |count| Value::Int(count.into())),
            ),
            (23, Value::Int(counts.sessions.into())),
            (27, Value::Timestamp(database.opened())),
        ];
        for (place, value) in known {
            if let Some(there) = row.get_mut(place) {
                *there = value;
            }
        }
        row
    };
    let names = database_names(&with.context.settings.borrow());
    let rows = names.into_iter();
    Ok(rows.map(|(number, name)| row(number, &name)).collect())
}

/// All sessions: those that the statement saw before, if it is run again.
fn all_sessions(with: &Environment<'_>) -> Arc<[Seen]> {
    let database = with.context.database.as_ref();
    let list = || database.map_or_else(Vec::new, |database| database.sessions().all());
    match &with.context.claims {
        Some(claiming) => claiming.sessions(list),
        None => list().into(),
    }
}

fn sessions(_: &dyn Source, with: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let Some(database) = &with.context.database else {
        return Ok(VirtualRows::new());
    };
    let all = all_sessions(with);
    let sees_all = with.context.rights.borrow().elsewhere() == Access::Define;
    let list = || database.advisory().awaited();
    let awaited = match &with.context.claims {
        Some(claiming) => claiming.awaited(list),
        None => list().into(),
    };
    let names = database_names(&with.context.settings.borrow());
    let number = |name: &str| {
        // There is one database, which clients connect to by any name: one that is not listed has no number.
        let mut names = names.iter();
        names
            .find(|(_, known)| known == name)
            .map(|(number, _)| *number)
    };
    let rows = all.iter().map(|seen| {
        let sees = sees_all || seen.identity.user == with.context.user;
        row_of(
            seen,
            number(&seen.identity.database),
            awaited.get(&seen.number),
            sees,
        )
    });
    Ok(rows.collect())
}

/// The type and the name of the event for which a session waits.
fn event(seen: &Seen, awaited: Option<&Key>) -> Option<(&'static str, &'static str)> {
    if seen.doing.is_unread {
        return Some(("Client", "ClientWrite"));
    }
    match (seen.doing.activity, awaited) {
        (Activity::Active, Some(Key::Table(_))) => Some(("Lock", "relation")),
        (Activity::Active, Some(Key::One(_) | Key::Two(..))) => Some(("Lock", "advisory")),
        (Activity::Active, None) => seen.doing.sleeps.then_some(("Timeout", "PgSleep")),
        _ => Some(("Client", "ClientRead")),
    }
}

fn row_of(seen: &Seen, number: Option<u32>, awaited: Option<&Key>, sees: bool) -> Vec<Value> {
    let (identity, doing) = (&seen.identity, &seen.doing);
    let null = || Value::Null;
    let shown = |value: Value| if sees { value } else { Value::Null };
    let moment = |moment: Option<i64>| shown(moment.map_or(Value::Null, Value::Timestamp));
    let port = match identity.client {
        ClientAddress::Remote(address) => Value::Int(address.port().into()),
        ClientAddress::Local => Value::Int(-1),
        ClientAddress::Program => Value::Null,
    };
    let event = event(seen, awaited);
    vec![
        number.map_or(Value::Null, oid),
        text(&identity.database),
        Value::Int(identity.process.into()),
        null(),
        oid(OWNER),
        text(&identity.user),
        text(&doing.application),
        shown(address_of(identity.client)),
        null(),
        shown(port),
        moment(Some(identity.began)),
        moment(doing.transaction),
        moment(doing.statement),
        moment(Some(doing.changed)),
        shown(event.map_or(Value::Null, |(kind, _)| text(kind))),
        shown(event.map_or(Value::Null, |(_, name)| text(name))),
        shown(text(match doing.is_unread {
            // The flight has run, and its rows are still sent.
            true => Activity::Active.name(),
            false => doing.activity.name(),
        })),
        null(),
        null(),
        null(),
        match sees {
            true => Value::Text(doing.text()),
            false => text(HIDDEN),
        },
        shown(text("client backend")),
    ]
}
