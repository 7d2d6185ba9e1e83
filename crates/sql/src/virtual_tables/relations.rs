//! Tables of `pg_catalog` on tables and their columns: `pg_class`, `pg_attribute`, `pg_attrdef`, `pg_tables`.

use super::Contents::{Query, Rows};
use super::indexes::{HEAP, seen_indexes};
use super::information_schema::{default_text, relations};
use super::system::row_type_oid;
use super::views::seen_views;
use super::{
    INFORMATION_SCHEMA, OWNER, PG_CATALOG, VirtualRows, VirtualTable, number_of_schema, oid,
    schema_numbers, text,
};
use crate::error::SqlError;
use crate::expression::Environment;
use crate::index_names::{expression_column, shown_generated};
use crate::names::is_hidden_check;
use crate::path::{is_temporary, local, schema_of};
use crate::relation::table_oid;
use crate::source::Source;
use crate::types::SqlType::{Bool, Float4, Int2, Int4, Name, Oid, OneChar, Text, TextArray};
use crate::types::{TypeSpec, functions};
use crate::user_types::UserTypes;
use sardonyx::schema::Value;
pub(super) const TABLES: &[VirtualTable] = &[
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_class",
        oid: 1259,
        columns: &[
            ("oid", Oid),
            ("relname", Name),
            ("relnamespace", Oid),
            ("reltype", Oid),
            ("reloftype", Oid),
            ("relowner", Oid),
            ("relam", Oid),
            ("relfilenode", Oid),
            ("reltablespace", Oid),
            ("relpages", Int4),
            ("reltuples", Float4),
            ("relallvisible", Int4),
            ("reltoastrelid", Oid),
            ("relhasindex", Bool),
            ("relisshared", Bool),
            ("relpersistence", OneChar),
            ("relkind", OneChar),
            ("relnatts", Int2),
            ("relchecks", Int2),
            ("relhasrules", Bool),
            ("relhastriggers", Bool),
            ("relhassubclass", Bool),
            ("relrowsecurity", Bool),
            ("relforcerowsecurity", Bool),
            ("relispopulated", Bool),
            ("relreplident", OneChar),
            ("relispartition", Bool),
            ("relrewrite", Oid),
            ("relfrozenxid", Oid),
            ("relminmxid", Oid),
            ("relacl", TextArray),
            ("reloptions", TextArray),
            ("relpartbound", Text),
        ],
        contents: Rows(classes),
    },
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_attribute",
        oid: 1249,
        columns: &[
            ("attrelid", Oid),
            ("attname", Name),
            ("atttypid", Oid),
            ("attstattarget", Int4),
            ("attlen", Int2),
            ("attnum", Int2),
            ("attndims", Int4),
            ("attcacheoff", Int4),
            ("atttypmod", Int4),
            ("attbyval", Bool),
            ("attalign", OneChar),
            ("attstorage", OneChar),
            ("attcompression", OneChar),
            ("attnotnull", Bool),
            ("atthasdef", Bool),
            ("atthasmissing", Bool),
            ("attidentity", OneChar),
            ("attgenerated", OneChar),
            ("attisdropped", Bool),
            ("attislocal", Bool),
            ("attinhcount", Int4),
            ("attcollation", Oid),
            ("attacl", TextArray),
            ("attoptions", TextArray),
            ("attfdwoptions", TextArray),
            ("attmissingval", TextArray),
        ],
        contents: Rows(attributes),
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
        contents: Rows(defaults),
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
            ("hasrules", Bool),
            ("hastriggers", Bool),
            ("rowsecurity", Bool),
        ],
        contents: Query(PG_TABLES),
    },
];

const PG_TABLES: &str = "
    select n.nspname, c.relname, pg_get_userbyid(c.relowner), null::name, c.relhasindex, c.relhasrules,
        c.relhastriggers, c.relrowsecurity
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.relkind = 'r'";

struct Class<'a> {
    oid: u32,
    name: &'a str,
    namespace: u32,
    kind: &'a str,
    /// The number of an index's access method.
    method: u32,
    rows: f64,
    columns: usize,
    checks: usize,
    has_indexes: bool,
    is_temporary: bool,
    /// A materialized view without its rows.
    is_unpopulated: bool,
    is_secured: bool,
    /// True if it refers to others, or others to it: those are kept by triggers there.
    refers: bool,
}

fn class(of: &Class<'_>) -> Vec<Value> {
    let no = || Value::Bool(false);
    vec![
        oid(of.oid),
        text(of.name),
        oid(of.namespace),
        oid(match of.kind {
            "r" | "m" | "v" => row_type_oid(of.oid),
            // Its number is the second behind that of the type.
            "c" => of.oid - 2,
            _ => 0,
        }),
        oid(0),
        oid(OWNER),
        oid(match of.kind {
            "r" | "m" => HEAP,
            "i" => of.method,
            _ => 0,
        }),
        oid(if matches!(of.kind, "v" | "c") {
            0
        } else {
            of.oid
        }),
        oid(0),
        Value::Int(1),
        Value::Float(of.rows),
        Value::Int(0),
        oid(0),
        Value::Bool(of.has_indexes),
        no(),
        text(if of.is_temporary { "t" } else { "p" }),
        text(of.kind),
        Value::Int(of.columns as i128),
        Value::Int(of.checks as i128),
        // A view is a rule there.
        Value::Bool(matches!(of.kind, "v" | "m")),
        Value::Bool(of.refers),
        no(),
        Value::Bool(of.is_secured),
        no(),
        Value::Bool(!of.is_unpopulated),
        text(if matches!(of.kind, "r" | "m") {
            "d"
        } else {
            "n"
        }),
        no(),
        oid(0),
        oid(0),
        oid(0),
        Value::Null,
        Value::Null,
        Value::Null,
    ]
}

fn classes(source: &dyn Source, with: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let mut rows = Vec::new();
    let relations = relations(source)?;
    let keys = relations.iter().flat_map(|relation| {
        let keys = relation.schema.foreign_keys.iter();
        keys.flat_map(|key| [relation.number, key.table])
    });
    let referring: Vec<u16> = keys.collect();
    let schemas = schema_numbers(source)?;
    for relation in &relations {
        let indexes = seen_indexes(relation);
        rows.push(class(&Class {
            oid: table_oid(relation.number),
            name: relation.local(),
            namespace: number_of_schema(&schemas, &relation.name),
            kind: if relation.notes.materialized.is_some() {
                "m"
            } else {
                "r"
            },
            method: 0,
            // The rows of a table of nodes are unknown, as in PostgreSQL before an analysis.
            rows: match source.knows_counts() {
                true => source.count(relation.number)? as f64,
                false => -1.0,
            },
            columns: relation.columns.len(),
            checks: (relation.schema.checks.iter())
                .filter(|(name, _)| !is_hidden_check(name))
                .count(),
            has_indexes: !indexes.is_empty(),
            refers: referring.contains(&relation.number),
            is_temporary: is_temporary(relation.schema_name()),
            is_unpopulated: relation.notes.unpopulated,
            is_secured: relation.notes.row_security,
        }));
        for index in indexes {
            rows.push(class(&Class {
                oid: index.oid,
                name: &index.name,
                namespace: number_of_schema(&schemas, &relation.name),
                kind: "i",
                method: index.method.numbers().0,
                rows: 0.0,
                columns: index.columns.len(),
                checks: 0,
                has_indexes: false,
                refers: false,
                is_temporary: is_temporary(relation.schema_name()),
                is_unpopulated: false,
                is_secured: false,
            }));
        }
    }
    for (name, number) in &super::constraints::sequence_names(source)? {
        rows.push(class(&Class {
            oid: *number,
            name: local(name),
            namespace: number_of_schema(&schemas, name),
            kind: "S",
            method: 0,
            rows: 1.0,
            columns: 3,
            checks: 0,
            has_indexes: false,
            refers: false,
            is_temporary: is_temporary(schema_of(name)),
            is_unpopulated: false,
            is_secured: false,
        }));
    }
    for view in &seen_views(source, with)? {
        rows.push(class(&Class {
            oid: view.oid,
            name: local(&view.name),
            namespace: number_of_schema(&schemas, &view.name),
            kind: "v",
            method: 0,
            rows: 0.0,
            columns: view.columns.len(),
            checks: 0,
            has_indexes: false,
            refers: false,
            is_temporary: is_temporary(schema_of(&view.name)),
            is_unpopulated: false,
            is_secured: false,
        }));
    }
    let types = UserTypes::of(source)?;
    for (name, there) in &types.types {
        if let Some(fields) = &there.fields {
            rows.push(class(&Class {
                oid: there.class_oid(),
                name: local(name),
                namespace: number_of_schema(&schemas, name),
                kind: "c",
                method: 0,
                rows: 0.0,
                columns: fields.len(),
                checks: 0,
                has_indexes: false,
                refers: false,
                is_temporary: false,
                is_unpopulated: false,
                is_secured: false,
            }));
        }
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
            method: 0,
            rows: 0.0,
            columns: table.columns.len(),
            checks: 0,
            has_indexes: false,
            refers: false,
            is_temporary: false,
            is_unpopulated: false,
            is_secured: false,
        }));
    }
    Ok(rows)
}

fn attributes(source: &dyn Source, with: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let mut rows = Vec::new();
    for relation in relations(source)? {
        for (at, column) in relation.columns.iter().enumerate() {
            let number = table_oid(relation.number);
            let mut row = plain_attribute(number, at, &column.name, column.spec);
            row[ATTNOTNULL] = Value::Bool(column.not_null);
            let noted = relation.notes.columns.get(&column.number);
            row[ATTNDIMS] = Value::Int(noted.map_or(0, |noted| noted.dimensions).into());
            if let Some(domain) = column.domain {
                row[ATTTYPID] = oid(domain);
            }
            let has_default = column.is_generated
                || (column.identity.is_none() && default_text(source, with, column)?.is_some());
            row[ATTHASDEF] = Value::Bool(has_default);
            row[ATTGENERATED] = text(if column.is_generated { "s" } else { "" });
            row[ATTIDENTITY] = text(column.identity.map_or(String::new(), String::from).as_str());
            rows.push(row);
        }
        for index in seen_indexes(&relation) {
            let columns = index.columns.iter().map(|(column, _)| *column);
            let columns = columns.chain(index.included.iter().copied());
            for (at, column) in columns.enumerate() {
                if let Some(column) = relation.numbered_column(column) {
                    rows.push(plain_attribute(index.oid, at, &column.name, column.spec));
                } else if let Some((name, spec)) = expression_column(&relation, column) {
                    rows.push(plain_attribute(index.oid, at, &name, spec));
                }
            }
        }
    }
    for view in seen_views(source, with)? {
        for (at, column) in view.columns.iter().enumerate() {
            rows.push(plain_attribute(view.oid, at, &column.name, column.spec));
        }
    }
    let types = UserTypes::of(source)?;
    for there in types.types.values() {
        let fields = types.fields_of(there).unwrap_or_default();
        for (at, field) in fields.iter().enumerate() {
            let class = there.class_oid();
            rows.push(plain_attribute(class, at, &field.name, field.spec));
        }
    }
    Ok(rows)
}

/// Places of `pg_attribute` in which a table's columns differ from each other.
const ATTNDIMS: usize = 6;
const ATTNOTNULL: usize = 13;
const ATTHASDEF: usize = 14;
const ATTIDENTITY: usize = 16;
const ATTGENERATED: usize = 17;
const ATTTYPID: usize = 2;

/// A column that can be null and has no default, as all of an index and a view are.
fn plain_attribute(relation: u32, at: usize, name: &str, spec: TypeSpec) -> Vec<Value> {
    let (is_by_value, align, storage) = functions::layout(spec.kind);
    vec![
        oid(relation),
        text(name),
        oid(spec.kind.oid()),
        Value::Int(-1),
        Value::Int(spec.kind.size().into()),
        Value::Int(at as i128 + 1),
        Value::Int(0),
        Value::Int(-1),
        Value::Int(spec.modifier.into()),
        Value::Bool(is_by_value),
        text(align),
        text(storage),
        text(""),
        Value::Bool(false),
        Value::Bool(false),
        Value::Bool(false),
        text(""),
        text(""),
        Value::Bool(false),
        Value::Bool(true),
        Value::Int(0),
        oid(functions::collation(spec)),
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
    ]
}

fn defaults(source: &dyn Source, with: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let mut rows = Vec::new();
    for relation in relations(source)? {
        for (at, column) in relation.columns.iter().enumerate() {
            let text = match column.is_generated {
                true => shown_generated(&relation, column.number),
                false => default_text(source, with, column)?,
            };
            if let (Some(default), None) = (text, column.identity) {
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
