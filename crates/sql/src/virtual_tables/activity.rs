//! `pg_stat_activity`: the session that reads it. SQL does not know other sessions, which are the server's.

use super::Contents::Rows;
use super::{OWNER, VirtualRows, VirtualTable, oid, text};
use crate::error::SqlError;
use crate::expression::Environment;
use crate::source::Source;
use crate::types::SqlType::{Int4, Int8, Name, Oid, Text, Timestamptz};
use sardonyx::schema::Value;

pub(super) const TABLES: &[VirtualTable] = &[VirtualTable {
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
        ("client_addr", Text),
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
}];

fn sessions(_: &dyn Source, with: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let context = with.context;
    let application = context.settings.borrow().get("application_name")?;
    let null = || Value::Null;
    Ok(vec![vec![
        oid(5),
        text(context.settings.borrow().database()),
        Value::Int(context.process().into()),
        null(),
        oid(OWNER),
        text(&context.user),
        Value::Text(application),
        null(),
        null(),
        null(),
        null(),
        Value::Timestamp(context.transaction.moment),
        Value::Timestamp(context.statement_started),
        Value::Timestamp(context.statement_started),
        null(),
        null(),
        text("active"),
        null(),
        null(),
        null(),
        null(),
        text("client backend"),
    ]])
}
