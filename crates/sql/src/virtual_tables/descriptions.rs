//! Comments in the catalogue: `pg_description`, and the functions that read it; extensions: `pg_extension` and
//! `pg_available_extensions`.

use super::Contents::Rows;
use super::constraints::constraint_numbers;
use super::functions::about;
use super::indexes::seen_indexes;
use super::information_schema::relations;
use super::{VirtualRows, VirtualTable, oid, schema_numbers, sequence_names, text, view_numbers};
use crate::error::SqlError;
use crate::expression::Environment;
use crate::extensions::KNOWN;
use crate::names::{COMMENT_OF_DATABASE, comment_name};
use crate::path::PUBLIC;
use crate::relation::{Relation, comment_of_schema, kind, object, objects, table_oid};
use crate::source::Source;
use crate::types::SqlType::{Bool, Int4, Name, Oid, OidArray, Text, TextArray};
use crate::user_types::UserTypes;
use crate::views::views;
use sardonyx::schema::Value;

/// Numbers of the catalogue's tables that comments are about.
const PG_CLASS: u32 = 1259;
const PG_CONSTRAINT: u32 = 2606;
const PG_TYPE: u32 = 1247;
const PG_NAMESPACE: u32 = 2615;
const PG_DATABASE: u32 = 1262;
/// The comment on the schema `public`, if it has no other.
const OF_PUBLIC: &str = "standard public schema";
/// The number of the database.
const THIS_DATABASE: u32 = 5;

pub(super) const TABLES: &[VirtualTable] = &[
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_description",
        oid: 2609,
        columns: &[
            ("objoid", Oid),
            ("classoid", Oid),
            ("objsubid", Int4),
            ("description", Text),
        ],
        contents: Rows(descriptions),
    },
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_shdescription",
        oid: 2396,
        columns: &[("objoid", Oid), ("classoid", Oid), ("description", Text)],
        contents: Rows(shared_descriptions),
    },
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_extension",
        oid: 3079,
        columns: &[
            ("oid", Oid),
            ("extname", Name),
            ("extowner", Oid),
            ("extnamespace", Oid),
            ("extrelocatable", Bool),
            ("extversion", Text),
            ("extconfig", OidArray),
            ("extcondition", TextArray),
        ],
        contents: Rows(extensions),
    },
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_available_extensions",
        oid: 12_022,
        columns: &[
            ("name", Name),
            ("default_version", Text),
            ("installed_version", Text),
            ("comment", Text),
        ],
        contents: Rows(available_extensions),
    },
];

/// The number of the first extension, above those of the catalogue itself: `pg_dump` leaves those out.
const FIRST_EXTENSION: u32 = 14 << 24;
/// The number of `public`, in which extensions are.
const PUBLIC_NUMBER: u32 = 2200;
/// The number of the owner of all objects.
const OWNER: u32 = 10;

fn extensions(source: &dyn Source, _: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let created = objects(source, kind::EXTENSION)?.into_iter().zip(0..);
    let rows = created.map(|((name, version), at)| {
        vec![
            oid(FIRST_EXTENSION + at),
            text(&name),
            oid(OWNER),
            oid(PUBLIC_NUMBER),
            Value::Bool(true),
            text(&version),
            Value::Null,
            Value::Null,
        ]
    });
    Ok(rows.collect())
}

fn available_extensions(source: &dyn Source, _: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let created = objects(source, kind::EXTENSION)?;
    let rows = KNOWN.iter().map(|known| {
        let created = created.iter().find(|(created, _)| created == known.name);
        let installed = created.map_or(Value::Null, |(_, version)| text(version));
        let comment = match known.lacks {
            Some(lacks) => format!("{}; {lacks}", known.about),
            None => known.about.to_string(),
        };
        vec![
            text(known.name),
            text(known.version),
            installed,
            text(&comment),
        ]
    });
    Ok(rows.collect())
}

/// A comment.
struct Description {
    class: u32,
    number: u32,
    /// The column, from 1; 0 for the whole.
    column: u32,
    text: String,
}

fn all(source: &dyn Source, with: &Environment<'_>) -> Result<Vec<Description>, SqlError> {
    let mut found = Vec::new();
    let mut add = |class, number, column, text: Option<&String>| {
        found.extend(text.map(|text| Description {
            class,
            number,
            column,
            text: text.clone(),
        }));
    };
    for relation in relations(source)? {
        let notes = &relation.notes;
        let number = table_oid(relation.number);
        for column in 0..=relation.columns.len() as u32 {
            add(PG_CLASS, number, column, comment_of(&relation, column));
        }
        if !notes.index_comments.is_empty() {
            for index in seen_indexes(&relation) {
                add(
                    PG_CLASS,
                    index.oid,
                    0,
                    notes.index_comments.get(&index.name),
                );
            }
        }
        if !notes.constraint_comments.is_empty() {
            for (name, number) in constraint_numbers(source, &relation)? {
                add(
                    PG_CONSTRAINT,
                    number,
                    0,
                    notes.constraint_comments.get(&name),
                );
            }
        }
    }
    let comment = |name: &str| object(source, kind::COMMENT, name);
    let numbers = view_numbers(source)?;
    for ((name, view), (_, number)) in views(source)?.into_iter().zip(numbers) {
        let of_view = comment(&comment_name(kind::VIEW, &name, None))?;
        add(PG_CLASS, number, 0, of_view.as_ref());
        for (at, column) in with
            .context
            .catalogue
            .view_columns(source, &view)?
            .iter()
            .enumerate()
        {
            let of_column = comment(&comment_name(kind::VIEW, &name, Some(&column.name)))?;
            add(PG_CLASS, number, at as u32 + 1, of_column.as_ref());
        }
    }
    for (name, number) in sequence_names(source)? {
        let of_sequence = comment(&comment_name(kind::SEQUENCE, &name, None))?;
        add(PG_CLASS, number, 0, of_sequence.as_ref());
    }
    for there in UserTypes::of(source)?.types.values() {
        add(PG_TYPE, there.oid, 0, there.comment.as_ref());
    }
    for (schema, number) in schema_numbers(source)? {
        let of_schema = comment(&comment_of_schema(&schema))?;
        // A new database has it there.
        let of_schema = of_schema.or((schema == PUBLIC).then(|| OF_PUBLIC.to_string()));
        add(PG_NAMESPACE, number, 0, of_schema.as_ref());
    }
    let of_database = comment(COMMENT_OF_DATABASE)?;
    add(PG_DATABASE, THIS_DATABASE, 0, of_database.as_ref());
    Ok(found)
}

fn descriptions(source: &dyn Source, with: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let all = all(source, with)?.into_iter();
    let own = all.filter(|one| one.class != PG_DATABASE);
    let rows = own.map(|one| {
        vec![
            oid(one.number),
            oid(one.class),
            Value::Int(one.column.into()),
            Value::Text(one.text),
        ]
    });
    Ok(rows.collect())
}

fn shared_descriptions(
    source: &dyn Source,
    with: &Environment<'_>,
) -> Result<VirtualRows, SqlError> {
    let all = all(source, with)?.into_iter();
    let shared = all.filter(|one| one.class == PG_DATABASE);
    let rows = shared.map(|one| vec![oid(one.number), oid(one.class), Value::Text(one.text)]);
    Ok(rows.collect())
}

/// The table with a number in `pg_class`.
fn table_of(source: &dyn Source, number: u32) -> Option<Relation> {
    let number = u16::try_from(number.checked_sub(table_oid(0))?).ok()?;
    Relation::numbered(source, number).ok()
}

/// The comment of a table, or of its column with a number from 1.
fn comment_of(relation: &Relation, column: u32) -> Option<&String> {
    let Some(at) = (column as usize).checked_sub(1) else {
        return relation.notes.comment.as_ref();
    };
    let column = relation.columns.get(at)?;
    relation.notes.columns.get(&column.number)?.comment.as_ref()
}

/// The comment of an object, or of a column of it; null if it has none. The catalogue that has the object may be named.
///
/// # Errors
/// An error of reading the tables.
pub(crate) fn description(
    source: &dyn Source,
    with: &Environment<'_>,
    (number, column): (u32, u32),
    catalogue: Option<&str>,
) -> Result<Value, SqlError> {
    if catalogue == Some("pg_proc") {
        let about = about(number).map(|about| Value::Text(about.to_string()));
        return Ok(about.unwrap_or(Value::Null));
    }
    let class = match catalogue {
        Some("pg_class") => Some(PG_CLASS),
        Some("pg_type") => Some(PG_TYPE),
        Some("pg_constraint") => Some(PG_CONSTRAINT),
        Some("pg_namespace") => Some(PG_NAMESPACE),
        Some("pg_database") => Some(PG_DATABASE),
        Some(_) => return Ok(Value::Null),
        None => None,
    };
    // A query asks so of each table: no other one is looked at.
    if class == Some(PG_CLASS)
        && let Some(relation) = table_of(source, number)
    {
        let comment = comment_of(&relation, column);
        return Ok(comment.map_or(Value::Null, |text| Value::Text(text.clone())));
    }
    let mut all = all(source, with)?.into_iter();
    let found = all.find(|one| {
        one.number == number && one.column == column && class.is_none_or(|class| class == one.class)
    });
    Ok(found.map_or(Value::Null, |one| Value::Text(one.text)))
}
