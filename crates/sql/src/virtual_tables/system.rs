//! Tables of `pg_catalog` on what is no table: `pg_namespace`, `pg_type`, `pg_database`, `pg_settings`, `pg_roles`.

use super::Contents::Rows;
use super::{INFORMATION_SCHEMA, OWNER, PG_CATALOG, PUBLIC, VirtualRows, VirtualTable, oid, text};
use crate::error::SqlError;
use crate::expression::Environment;
use crate::relation::ARRAY_INPUT;
use crate::source::Source;
use crate::types::SqlType::{self, Bool, Int2, Int4, Name, Oid, OneChar, Text, TextArray};
use sardonyx::schema::Value;

pub(super) const TABLES: &[VirtualTable] = &[
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_namespace",
        oid: 2615,
        columns: &[
            ("oid", Oid),
            ("nspname", Name),
            ("nspowner", Oid),
            ("nspacl", Text),
        ],
        contents: Rows(namespaces),
    },
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_type",
        oid: 1247,
        columns: &[
            ("oid", Oid),
            ("typname", Name),
            ("typnamespace", Oid),
            ("typowner", Oid),
            ("typlen", Int2),
            ("typtype", OneChar),
            ("typcategory", OneChar),
            ("typrelid", Oid),
            ("typelem", Oid),
            ("typarray", Oid),
            ("typbasetype", Oid),
            ("typnotnull", Bool),
            ("typtypmod", Int4),
            ("typdelim", OneChar),
            ("typcollation", Oid),
            ("typdefault", Text),
            ("typinput", Oid),
        ],
        contents: Rows(types),
    },
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_database",
        oid: 1262,
        columns: &[
            ("oid", Oid),
            ("datname", Name),
            ("datdba", Oid),
            ("encoding", Int4),
            ("datistemplate", Bool),
            ("datallowconn", Bool),
            ("datcollate", Name),
            ("datctype", Name),
            ("datlocprovider", OneChar),
            ("daticulocale", Text),
            ("datacl", TextArray),
            ("dattablespace", Oid),
        ],
        contents: Rows(databases),
    },
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_settings",
        oid: 12_002,
        columns: &[("name", Text), ("setting", Text)],
        contents: Rows(settings),
    },
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_roles",
        oid: 12_003,
        columns: &[
            ("oid", Oid),
            ("rolname", Name),
            ("rolsuper", Bool),
            ("rolcanlogin", Bool),
            ("rolinherit", Bool),
            ("rolcreaterole", Bool),
            ("rolcreatedb", Bool),
            ("rolreplication", Bool),
            ("rolbypassrls", Bool),
            ("rolconnlimit", Int4),
            ("rolvaliduntil", SqlType::Timestamptz),
        ],
        contents: Rows(roles),
    },
];

fn namespaces(_: &dyn Source, _: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let all = [
        (PG_CATALOG, "pg_catalog"),
        (PUBLIC, "public"),
        (INFORMATION_SCHEMA, "information_schema"),
    ];
    let rows = all.map(|(number, name)| vec![oid(number), text(name), oid(OWNER), Value::Null]);
    Ok(rows.into())
}

fn types(_: &dyn Source, _: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let rows = SqlType::all().map(|kind| {
        vec![
            oid(kind.oid()),
            text(kind.internal_name()),
            oid(PG_CATALOG),
            oid(OWNER),
            Value::Int(kind.size().into()),
            text("b"),
            text(kind.category().encode_utf8(&mut [0; 4])),
            oid(0),
            oid(kind.element().map_or(0, SqlType::oid)),
            oid(match kind.array().element() {
                Some(element) if element == kind => kind.array().oid(),
                _ => 0,
            }),
            oid(0),
            Value::Bool(false),
            Value::Int(-1),
            text(","),
            oid(0),
            Value::Null,
            // Clients ask thereby which types are arrays. No other function has a number.
            oid(match kind {
                SqlType::Int2Vector | SqlType::OidVector => 0,
                kind => kind.element().map_or(0, |_| ARRAY_INPUT),
            }),
        ]
    });
    Ok(rows.collect())
}

fn databases(_: &dyn Source, _: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    Ok(vec![vec![
        oid(5),
        text("sardonyx"),
        oid(OWNER),
        Value::Int(6),
        Value::Bool(false),
        Value::Bool(true),
        text("C"),
        text("C"),
        text("c"),
        Value::Null,
        Value::Null,
        oid(0),
    ]])
}

fn settings(_: &dyn Source, with: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let settings = with.context.settings.borrow().all();
    let rows = settings
        .into_iter()
        .map(|(name, value)| vec![Value::Text(name), Value::Text(value)]);
    Ok(rows.collect())
}

fn roles(_: &dyn Source, with: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    Ok(vec![vec![
        oid(OWNER),
        text(&with.context.user),
        Value::Bool(true),
        Value::Bool(true),
        Value::Bool(true),
        Value::Bool(false),
        Value::Bool(false),
        Value::Bool(false),
        Value::Bool(false),
        Value::Int(-1),
        Value::Null,
    ]])
}
