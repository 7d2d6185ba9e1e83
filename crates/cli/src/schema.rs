//! `schema`: the tables as SQL would declare them.

use crate::space::{Found, look_at};
use crate::target::Target;
use sardonyx_command::exit::Exit;
use sardonyx_command::output::Output;
use sardonyx_sharing::node::{FrozenDefinition, FrozenTables};
use sardonyx_storage::catalogue::Kind;
use sardonyx_table::TableSpace;
use sardonyx_table::schema::{
    Column, ForeignKey, IndexDefinition, IndexKind, KeyPart, OnDelete, Schema, Type, Value,
};
use serde_json::json;
use std::fmt::Write as _;
use std::io::Write;

/// Print the tables as SQL would declare them (CREATE TABLE, CREATE INDEX).
///
/// Changes nothing; beside a program that has the database open it prints a state that the database was in
/// meanwhile. Journals and areas are comments. Unsigned integers are the next larger type with a condition.
///
/// Example: sardonyx schema bank.sdx
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    #[command(flatten)]
    target: Target,
}

impl Arguments {
    /// Prints them.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        let files = self.target.files(output)?;
        let tables = look_at(&files, |found| match found {
            Found::Tables(space) => Ok(declarations(space)),
            Found::OfNodes(tables) => declarations_of_nodes(tables),
        });
        let tables = tables?.unwrap_or_default();
        if output.is_json() {
            let tables = tables
                .iter()
                .map(|(name, sql)| json!({ "table": name, "sql": sql }));
            output.value(&tables.collect::<Vec<_>>())?;
            return Ok(Exit::Done);
        }
        for (number, (_, sql)) in tables.iter().enumerate() {
            write!(output, "{}{sql}", if number == 0 { "" } else { "\n" })?;
        }
        Ok(Exit::Done)
    }
}

/// Every table's name, and its declaration.
fn declarations(space: &TableSpace) -> Vec<(String, String)> {
    let definitions = space.definitions();
    let table_of = |number: u16| {
        let definition = definitions.get(usize::from(number))?;
        Some((&*definition.name, &**space.schema(number)?))
    };
    let mut declarations = Vec::new();
    for (number, definition) in definitions.iter().enumerate() {
        let name = &definition.name;
        let sql = match definition.kind {
            Kind::Dropped => continue,
            Kind::Journal => format!(
                "-- journal {}: rows of {} bytes\n",
                quoted(name),
                definition.record_bytes
            ),
            Kind::Area => format!("-- area {}\n", quoted(name)),
            Kind::Table { .. } => match space.schema(number as u16) {
                Some(schema) => declaration(name, schema, table_of),
                None => continue,
            },
        };
        // The engine's own tables are no business of a program's.
        if !name.starts_with("sardonyx.") && !name.starts_with('.') {
            declarations.push((name.clone(), sql));
        }
    }
    declarations
}

/// The same of nodes' tables.
fn declarations_of_nodes(tables: &mut FrozenTables) -> anyhow::Result<Vec<(String, String)>> {
    let all = tables.definitions()?.into_iter();
    let declared = all.map(|(name, definition)| {
        let sql = match definition {
            FrozenDefinition::Table(schema) => declaration(&name, &schema, |_| None),
            FrozenDefinition::Journal(bytes) => {
                format!("-- journal {}: rows of {bytes} bytes\n", quoted(&name))
            }
        };
        (name, sql)
    });
    Ok(declared.collect())
}

fn declaration<'s>(
    name: &str,
    schema: &Schema,
    table_of: impl Fn(u16) -> Option<(&'s str, &'s Schema)>,
) -> String {
    let mut parts: Vec<String> = schema
        .live_columns()
        .map(|(_, column)| column_sql(column))
        .collect();
    parts.push(format!(
        "PRIMARY KEY ({})",
        key(schema, &schema.primary.key)
    ));
    for foreign in &schema.foreign_keys {
        if let Some(table) = table_of(foreign.table) {
            parts.push(foreign_sql(schema, foreign, table));
        }
    }
    for (check, condition) in &schema.checks {
        parts.push(format!("CONSTRAINT {} CHECK ({condition})", quoted(check)));
    }
    let mut sql = format!(
        "CREATE TABLE {} (\n  {}\n);\n",
        quoted(name),
        parts.join(",\n  ")
    );
    if schema.primary.kind == IndexKind::Hash {
        let _ = writeln!(sql, "-- rows are found by a hash of the primary key");
    }
    for index in &schema.indexes {
        sql.push_str(&index_sql(name, schema, index));
    }
    sql
}

fn column_sql(column: &Column) -> String {
    let mut sql = format!("{} {}", quoted(&column.name), type_sql(column));
    if !column.is_nullable() {
        sql.push_str(" NOT NULL");
    }
    if column.default != Value::Null {
        let _ = write!(sql, " DEFAULT {}", literal(&column.default));
    }
    sql
}

fn type_sql(column: &Column) -> String {
    let unsigned = |sql: &str| format!("{sql} CHECK ({} >= 0)", quoted(&column.name));
    match column.kind {
        Type::Bool => "BOOLEAN".into(),
        Type::I8 | Type::I16 => "SMALLINT".into(),
        Type::I32 => "INTEGER".into(),
        Type::I64 => "BIGINT".into(),
        Type::I128 => "NUMERIC(39)".into(),
        Type::U8 => unsigned("SMALLINT"),
        Type::U16 => unsigned("INTEGER"),
        Type::U32 => unsigned("BIGINT"),
        Type::U64 => unsigned("NUMERIC(20)"),
        Type::U128 => unsigned("NUMERIC(39)"),
        Type::F32 => "REAL".into(),
        Type::F64 => "DOUBLE PRECISION".into(),
        Type::Decimal { scale } => format!("NUMERIC(38, {scale})"),
        Type::Text => "TEXT".into(),
        Type::Bytes => "BYTEA".into(),
        Type::Date => "DATE".into(),
        Type::Time => "TIME".into(),
        Type::Timestamp => "TIMESTAMP WITH TIME ZONE".into(),
        Type::Uuid => "UUID".into(),
        Type::Plain { bytes, .. } => format!("BYTEA /* {bytes} bytes of plain data */"),
        other => other.to_string(),
    }
}

fn literal(value: &Value) -> String {
    let text = value.to_string().replace('\'', "''");
    match value {
        Value::Bool(_) | Value::Int(_) | Value::U128(_) | Value::Decimal(..) => text,
        Value::Float(value) if value.is_finite() => text,
        Value::Bytes(_) => format!("'\\x{text}'"),
        Value::Date(_) => format!("DATE '{text}'"),
        Value::Time(_) => format!("TIME '{text}'"),
        Value::Timestamp(_) => format!("TIMESTAMP '{text}'"),
        _ => format!("'{text}'"),
    }
}

fn key(schema: &Schema, parts: &[KeyPart]) -> String {
    let columns = parts.iter().map(|part| {
        let order = if part.descending { " DESC" } else { "" };
        name_of(schema, part.column) + order
    });
    columns.collect::<Vec<_>>().join(", ")
}

/// The name of a column, in quotes if it needs some.
fn name_of(schema: &Schema, column: usize) -> String {
    let column = schema.columns.get(column);
    quoted(column.map_or("", |column| &column.name))
}

fn foreign_sql(
    schema: &Schema,
    foreign: &ForeignKey,
    (table, referenced): (&str, &Schema),
) -> String {
    let names = |schema: &Schema, columns: &[usize]| {
        let names = columns.iter().map(|column| name_of(schema, *column));
        names.collect::<Vec<_>>().join(", ")
    };
    let action = match foreign.on_delete {
        OnDelete::Cascade => "CASCADE",
        OnDelete::Restrict => "RESTRICT",
    };
    format!(
        "CONSTRAINT {} FOREIGN KEY ({}) REFERENCES {} ({}) ON DELETE {action}",
        quoted(&foreign.name),
        names(schema, &foreign.columns),
        quoted(table),
        names(referenced, &foreign.referenced),
    )
}

fn index_sql(table: &str, schema: &Schema, index: &IndexDefinition) -> String {
    let unique = if index.unique { "UNIQUE " } else { "" };
    let method = match index.kind {
        IndexKind::Hash => "hash",
        IndexKind::Ordered => "btree",
    };
    let (name, on) = (quoted(&index.name), quoted(table));
    format!(
        "CREATE {unique}INDEX {name} ON {on} USING {method} ({});\n",
        key(schema, &index.key)
    )
}

/// Words of SQL that tables and columns are likely to be named like; in quotes they are names.
const WORDS: [&str; 24] = [
    "all", "and", "any", "as", "asc", "by", "case", "check", "column", "default", "desc", "end",
    "from", "group", "in", "limit", "not", "null", "order", "primary", "table", "to", "user",
    "when",
];

/// A name, in quotes if it needs some.
fn quoted(name: &str) -> String {
    let plain = |character: char| {
        character.is_ascii_lowercase() || character.is_ascii_digit() || character == '_'
    };
    let is_plain = name.chars().all(plain) && !name.starts_with(|c: char| c.is_ascii_digit());
    match is_plain && !name.is_empty() && !WORDS.contains(&name) {
        true => name.to_string(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}
