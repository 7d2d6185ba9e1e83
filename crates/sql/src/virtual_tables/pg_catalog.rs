//! `pg_catalog`: what PostgreSQL's clients ask of tables, columns, types and indexes.

use super::information_schema::{default_text, relations};
use super::{VirtualRows, VirtualTable};
use crate::error::SqlError;
use crate::expression::Environment;
use crate::plan::select::table_oid;
use crate::source::Source;
use crate::types::SqlType;
use sardonyx::schema::Value;

const PG_CATALOG: u32 = 11;
pub(super) const PUBLIC: u32 = 2200;
const INFORMATION_SCHEMA: u32 = 13_000;
const OWNER: u32 = 10;
/// The function that reads arrays.
const ARRAY_INPUT: u32 = 750;

use SqlType::{Bool, Int2, Int4, Name, Oid, OneChar, Text, TextArray};

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
        rows: namespaces,
    },
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_class",
        oid: 1259,
        columns: &[
            ("oid", Oid),
            ("relname", Name),
            ("relnamespace", Oid),
            ("reltype", Oid),
            ("relowner", Oid),
            ("relam", Oid),
            ("reltuples", SqlType::Float4),
            ("relhasindex", Bool),
            ("relkind", OneChar),
            ("relnatts", Int2),
            ("relchecks", Int2),
            ("relhasrules", Bool),
            ("relhastriggers", Bool),
            ("relrowsecurity", Bool),
            ("relforcerowsecurity", Bool),
            ("relispartition", Bool),
            ("relpersistence", OneChar),
            ("relreplident", OneChar),
            ("reloftype", Oid),
            ("reltablespace", Oid),
            ("reltoastrelid", Oid),
            ("reloptions", TextArray),
            ("relpartbound", Text),
            ("relacl", TextArray),
            ("relpages", Int4),
        ],
        rows: classes,
    },
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_attribute",
        oid: 1249,
        columns: &[
            ("attrelid", Oid),
            ("attname", Name),
            ("atttypid", Oid),
            ("attlen", Int2),
            ("attnum", Int2),
            ("atttypmod", Int4),
            ("attnotnull", Bool),
            ("atthasdef", Bool),
            ("attidentity", OneChar),
            ("attgenerated", OneChar),
            ("attisdropped", Bool),
            ("attcollation", Oid),
            ("attndims", Int4),
            ("attinhcount", Int4),
            ("attislocal", Bool),
            ("attstorage", OneChar),
            ("attstattarget", Int4),
            ("attcompression", OneChar),
            ("attacl", TextArray),
            ("attoptions", TextArray),
        ],
        rows: attributes,
    },
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_attrdef",
        oid: 2604,
        columns: &[
            ("oid", Oid),
            ("adrelid", Oid),
            ("adnum", Int2),
            ("adbin", Text),
        ],
        rows: defaults,
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
        rows: types,
    },
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_index",
        oid: 2610,
        columns: &[
            ("indexrelid", Oid),
            ("indrelid", Oid),
            ("indnatts", Int2),
            ("indisunique", Bool),
            ("indisprimary", Bool),
            ("indisvalid", Bool),
            ("indkey", SqlType::Int2Vector),
            ("indnkeyatts", Int2),
            ("indisclustered", Bool),
            ("indisreplident", Bool),
            ("indisexclusion", Bool),
            ("indimmediate", Bool),
            ("indisready", Bool),
            ("indislive", Bool),
            ("indnullsnotdistinct", Bool),
            ("indclass", SqlType::OidVector),
            ("indoption", SqlType::Int2Vector),
            ("indpred", Text),
            ("indexprs", Text),
        ],
        rows: indexes,
    },
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_indexes",
        oid: 12_000,
        columns: &[
            ("schemaname", Name),
            ("tablename", Name),
            ("indexname", Name),
            ("tablespace", Name),
            ("indexdef", Text),
        ],
        rows: index_definitions,
    },
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_tables",
        oid: 12_001,
        columns: &[
            ("schemaname", Name),
            ("tablename", Name),
            ("tableowner", Name),
            ("tablespace", Name),
            ("hasindexes", Bool),
        ],
        rows: tables,
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
        rows: databases,
    },
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_settings",
        oid: 12_002,
        columns: &[("name", Text), ("setting", Text)],
        rows: settings,
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
        rows: roles,
    },
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_am",
        oid: 2601,
        columns: &[("oid", Oid), ("amname", Name), ("amtype", OneChar)],
        rows: access_methods,
    },
];

const HEAP: u32 = 2;
const BTREE: u32 = 403;

fn access_methods(_: &Source<'_>, _: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    Ok(vec![
        vec![oid(HEAP), text("heap"), text("t")],
        vec![oid(BTREE), text("btree"), text("i")],
    ])
}

pub(super) fn text(text: &str) -> Value {
    Value::Text(text.to_string())
}

pub(super) fn oid(oid: u32) -> Value {
    Value::Int(oid.into())
}

/// The number of a table's index: the primary key's first.
pub(super) fn index_oid(table: u16, index: usize) -> u32 {
    (1 << 24) + u32::from(table) * 64 + index as u32
}

fn namespaces(_: &Source<'_>, _: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let all = [
        (PG_CATALOG, "pg_catalog"),
        (PUBLIC, "public"),
        (INFORMATION_SCHEMA, "information_schema"),
    ];
    let rows = all.map(|(number, name)| vec![oid(number), text(name), oid(OWNER), Value::Null]);
    Ok(rows.into())
}

struct Class<'a> {
    oid: u32,
    name: &'a str,
    namespace: u32,
    kind: &'a str,
    rows: f64,
    columns: usize,
    checks: usize,
    has_indexes: bool,
    /// Whether it refers to others, or others to it: those are kept by triggers there.
    refers: bool,
}

fn class(of: &Class<'_>) -> Vec<Value> {
    let no = Value::Bool(false);
    vec![
        oid(of.oid),
        text(of.name),
        oid(of.namespace),
        oid(0),
        oid(OWNER),
        oid(match of.kind {
            "r" => HEAP,
            "i" => BTREE,
            _ => 0,
        }),
        Value::Float(of.rows),
        Value::Bool(of.has_indexes),
        text(of.kind),
        Value::Int(of.columns as i128),
        Value::Int(of.checks as i128),
        no.clone(),
        Value::Bool(of.refers),
        no.clone(),
        no.clone(),
        no,
        text("p"),
        text("d"),
        oid(0),
        oid(0),
        oid(0),
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Int(1),
    ]
}

fn classes(source: &Source<'_>, _: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let mut rows = Vec::new();
    let relations = relations(source)?;
    let keys = relations.iter().flat_map(|relation| {
        let keys = relation.schema.foreign_keys.iter();
        keys.flat_map(|key| [relation.number, key.table])
    });
    let referring: Vec<u16> = keys.collect();
    for relation in &relations {
        let indexes = seen_indexes(relation);
        rows.push(class(&Class {
            oid: table_oid(relation.number),
            name: &relation.name,
            namespace: PUBLIC,
            kind: "r",
            rows: source.count(relation.number)? as f64,
            columns: relation.columns.len(),
            checks: relation.schema.checks.len(),
            has_indexes: !indexes.is_empty(),
            refers: referring.contains(&relation.number),
        }));
        for index in indexes {
            rows.push(class(&Class {
                oid: index.oid,
                name: &index.name,
                namespace: PUBLIC,
                kind: "i",
                rows: 0.0,
                columns: index.columns.len(),
                checks: 0,
                has_indexes: false,
                refers: false,
            }));
        }
    }
    for (name, number) in &super::constraints::sequence_names(source)? {
        rows.push(class(&Class {
            oid: *number,
            name,
            namespace: PUBLIC,
            kind: "S",
            rows: 1.0,
            columns: 3,
            checks: 0,
            has_indexes: false,
            refers: false,
        }));
    }
    for table in super::all() {
        let is_pg = table.schema == "pg_catalog";
        rows.push(class(&Class {
            oid: table.oid,
            name: table.name,
            namespace: if is_pg {
                PG_CATALOG
            } else {
                INFORMATION_SCHEMA
            },
            kind: "v",
            rows: 0.0,
            columns: table.columns.len(),
            checks: 0,
            has_indexes: false,
            refers: false,
        }));
    }
    Ok(rows)
}

fn attributes(source: &Source<'_>, _: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let mut rows = Vec::new();
    for relation in relations(source)? {
        for (at, column) in relation.columns.iter().enumerate() {
            rows.push(vec![
                oid(table_oid(relation.number)),
                text(&column.name),
                oid(column.spec.kind.oid()),
                Value::Int(column.spec.kind.size().into()),
                Value::Int(at as i128 + 1),
                Value::Int(column.spec.modifier.into()),
                Value::Bool(column.not_null),
                Value::Bool(column.identity.is_none() && default_text(column).is_some()),
                text(column.identity.map_or(String::new(), String::from).as_str()),
                text(""),
                Value::Bool(false),
                oid(0),
                Value::Int(0),
                Value::Int(0),
                Value::Bool(true),
                text("p"),
                Value::Int(-1),
                text(""),
                Value::Null,
                Value::Null,
            ]);
        }
        for index in seen_indexes(&relation) {
            for (at, (column, _)) in index.columns.iter().enumerate() {
                if let Some(column) = relation.numbered_column(*column) {
                    rows.push(index_attribute(index.oid, at, column));
                }
            }
        }
    }
    Ok(rows)
}

/// A column of an index, as one of a table's.
fn index_attribute(index: u32, at: usize, column: &crate::relation::RelationColumn) -> Vec<Value> {
    vec![
        oid(index),
        text(&column.name),
        oid(column.spec.kind.oid()),
        Value::Int(column.spec.kind.size().into()),
        Value::Int(at as i128 + 1),
        Value::Int(column.spec.modifier.into()),
        Value::Bool(false),
        Value::Bool(false),
        text(""),
        text(""),
        Value::Bool(false),
        oid(0),
        Value::Int(0),
        Value::Int(0),
        Value::Bool(true),
        text("p"),
        Value::Int(-1),
        text(""),
        Value::Null,
        Value::Null,
    ]
}

fn defaults(source: &Source<'_>, _: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let mut rows = Vec::new();
    for relation in relations(source)? {
        for (at, column) in relation.columns.iter().enumerate() {
            if let (Some(default), None) = (default_text(column), column.identity) {
                let table = table_oid(relation.number);
                rows.push(vec![
                    oid(table * 1024 + at as u32),
                    oid(table),
                    Value::Int(at as i128 + 1),
                    Value::Text(default),
                ]);
            }
        }
    }
    Ok(rows)
}

fn types(_: &Source<'_>, _: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let rows = SqlType::all().map(|kind| {
        let category = match kind {
            SqlType::Bool => "B",
            kind if kind.is_number() => "N",
            SqlType::Unknown | SqlType::Void => "X",
            kind if kind.is_text() => "S",
            SqlType::Date | SqlType::Time | SqlType::Timestamp | SqlType::Timestamptz => "D",
            kind if kind.element().is_some() => "A",
            _ => "U",
        };
        vec![
            oid(kind.oid()),
            text(kind.internal_name()),
            oid(PG_CATALOG),
            oid(OWNER),
            Value::Int(kind.size().into()),
            text("b"),
            text(category),
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

/// The number that PostgreSQL has for a function, of those that clients name as `regproc`.
pub(crate) fn function_number(name: &str) -> Option<u32> {
    match name.strip_prefix("pg_catalog.").unwrap_or(name) {
        "array_in" => Some(ARRAY_INPUT),
        _ => None,
    }
}

/// An index as clients see it.
pub(super) struct SeenIndex {
    pub oid: u32,
    pub name: String,
    pub columns: Vec<(usize, bool)>,
    pub unique: bool,
    pub primary: bool,
}

pub(super) fn seen_indexes(relation: &crate::relation::Relation) -> Vec<SeenIndex> {
    let primary = relation.primary_constraint();
    let mut seen = Vec::new();
    let columns = |key: &[sardonyx::schema::KeyPart]| {
        key.iter()
            .map(|part| (part.column, part.descending))
            .collect()
    };
    if let (Some(name), false) = (&primary, relation.notes.hidden_key) {
        seen.push(SeenIndex {
            oid: index_oid(relation.number, 0),
            name: name.clone(),
            columns: columns(&relation.schema.primary.key),
            unique: true,
            primary: true,
        });
    }
    for (at, index) in relation.schema.indexes.iter().enumerate() {
        seen.push(SeenIndex {
            oid: index_oid(relation.number, at + 1),
            name: index.name.clone(),
            columns: columns(&index.key),
            unique: index.unique,
            primary: relation.notes.primary_index.as_ref() == Some(&index.name),
        });
    }
    seen
}

fn indexes(source: &Source<'_>, _: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let mut rows = Vec::new();
    for relation in relations(source)? {
        for index in seen_indexes(&relation) {
            let places = index.columns.iter().map(|(column, _)| {
                let mut columns = relation.columns.iter();
                let at = columns.position(|there| there.number == *column);
                at.map_or(0, |at| at + 1).to_string()
            });
            let (yes, no) = (Value::Bool(true), Value::Bool(false));
            let count = index.columns.len();
            let vector = |words: &mut dyn Iterator<Item = &'static str>| {
                Value::Text(words.collect::<Vec<_>>().join(" "))
            };
            let order = |(_, descending): &(usize, bool)| if *descending { "3" } else { "0" };
            rows.push(vec![
                oid(index.oid),
                oid(table_oid(relation.number)),
                Value::Int(index.columns.len() as i128),
                Value::Bool(index.unique),
                Value::Bool(index.primary),
                Value::Bool(true),
                Value::Text(places.collect::<Vec<_>>().join(" ")),
                Value::Int(count as i128),
                no.clone(),
                no.clone(),
                no.clone(),
                yes.clone(),
                yes.clone(),
                yes,
                no,
                vector(&mut std::iter::repeat_n("0", count)),
                vector(&mut index.columns.iter().map(order)),
                Value::Null,
                Value::Null,
            ]);
        }
    }
    Ok(rows)
}

fn index_definitions(source: &Source<'_>, _: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let mut rows = Vec::new();
    for relation in relations(source)? {
        for index in seen_indexes(&relation) {
            rows.push(vec![
                text("public"),
                text(&relation.name),
                text(&index.name),
                Value::Null,
                Value::Text(super::constraints::definition_of(&relation, &index)),
            ]);
        }
    }
    Ok(rows)
}

fn tables(source: &Source<'_>, with: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let relations = relations(source)?;
    let rows = relations.iter().map(|relation| {
        vec![
            text("public"),
            text(&relation.name),
            text(&with.context.user),
            Value::Null,
            Value::Bool(!seen_indexes(relation).is_empty()),
        ]
    });
    Ok(rows.collect())
}

fn databases(_: &Source<'_>, _: &Environment<'_>) -> Result<VirtualRows, SqlError> {
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

fn settings(_: &Source<'_>, with: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let settings = with.context.settings.borrow().all();
    let rows = settings
        .into_iter()
        .map(|(name, value)| vec![Value::Text(name), Value::Text(value)]);
    Ok(rows.collect())
}

fn roles(_: &Source<'_>, with: &Environment<'_>) -> Result<VirtualRows, SqlError> {
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
