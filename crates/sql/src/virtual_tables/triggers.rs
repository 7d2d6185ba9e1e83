//! `pg_trigger`, `pg_language`, and the rows of `pg_proc` for functions of users.

use super::Contents::Rows;
use super::{OWNER, VirtualRows, VirtualTable, number_of_schema, oid, schema_numbers, text};
use crate::error::SqlError;
use crate::expression::Environment;
use crate::path::kept;
use crate::relation::{Relation, is_own, table_oid, trigger_number};
use crate::routines::{Language, Returns, RoutineDefinition, all, other_owners, procedures};
use crate::source::Source;
use crate::types::SqlType::{
    self, Bool, Bytea, Int2, Int2Vector, Name, Oid, OneChar, Text, TextArray,
};
use crate::values::arrays::{array_of, vector_of};
use sardonyx::schema::{Value, ValueRef};

pub(super) const TABLES: &[VirtualTable] = &[
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_trigger",
        oid: 2620,
        columns: &[
            ("oid", Oid),
            ("tgrelid", Oid),
            ("tgparentid", Oid),
            ("tgname", Name),
            ("tgfoid", Oid),
            ("tgtype", Int2),
            ("tgenabled", OneChar),
            ("tgisinternal", Bool),
            ("tgconstrrelid", Oid),
            ("tgconstrindid", Oid),
            ("tgconstraint", Oid),
            ("tgdeferrable", Bool),
            ("tginitdeferred", Bool),
            ("tgnargs", Int2),
            ("tgattr", Int2Vector),
            ("tgargs", Bytea),
            ("tgqual", Text),
            ("tgoldtable", Name),
            ("tgnewtable", Name),
        ],
        contents: Rows(triggers),
    },
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_language",
        oid: 2612,
        columns: &[
            ("oid", Oid),
            ("lanname", Name),
            ("lanowner", Oid),
            ("lanispl", Bool),
            ("lanpltrusted", Bool),
            ("lanplcallfoid", Oid),
            ("laninline", Oid),
            ("lanvalidator", Oid),
            ("lanacl", TextArray),
        ],
        contents: Rows(languages),
    },
];

fn languages(_: &dyn Source, _: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let own = [Language::Sql, Language::Plpgsql];
    let own = own.map(|one| (one.oid(), one.name(), one == Language::Plpgsql));
    let all = [(12, "internal", false), (13, "c", false)]
        .into_iter()
        .chain(own);
    let rows = all.map(|(number, name, is_procedural)| {
        vec![
            oid(number),
            text(name),
            oid(OWNER),
            Value::Bool(is_procedural),
            Value::Bool(matches!(name, "sql" | "plpgsql")),
            oid(0),
            oid(0),
            oid(0),
            Value::Null,
        ]
    });
    Ok(rows.collect())
}

fn triggers(source: &dyn Source, _: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let mut rows = Vec::new();
    for (number, definition) in source.definitions().iter().enumerate() {
        if is_own(&definition.name) {
            continue;
        }
        let Ok(relation) = Relation::numbered(source, number as u16) else {
            continue;
        };
        for (place, (name, notes)) in relation.notes.triggers.iter().enumerate() {
            let events = notes.events();
            let bits = [
                (notes.statement.is_none(), 1),
                (notes.is_before, 2),
                (events.inserts, 4),
                (events.deletes, 8),
                (events.updates, 16),
                (events.truncates, 32),
            ];
            let bits = bits.iter().filter(|(is_set, _)| *is_set);
            let kind: i128 = bits.map(|(_, bit)| bit).sum();
            let numbers = notes.columns.iter().filter_map(|number| {
                let mut columns = relation.columns.iter();
                let place = columns.position(|column| column.number == *number)?;
                Some(ValueRef::Int(place as i128 + 1))
            });
            let arguments = notes.arguments.iter();
            let arguments = arguments.flat_map(|one| one.bytes().chain([0]));
            rows.push(vec![
                oid(trigger_number(relation.number, place)),
                oid(table_oid(relation.number)),
                oid(0),
                text(name),
                oid(notes.function),
                Value::Int(kind),
                text(if notes.is_off { "D" } else { "O" }),
                Value::Bool(false),
                oid(0),
                oid(0),
                oid(0),
                Value::Bool(false),
                Value::Bool(false),
                Value::Int(notes.arguments.len() as i128),
                vector_of(SqlType::Int2, numbers),
                Value::Bytes(arguments.collect()),
                notes.condition.as_deref().map_or(Value::Null, text),
                Value::Null,
                Value::Null,
            ]);
        }
    }
    Ok(rows)
}

/// The number of the type that a function returns.
fn result_of(definition: &RoutineDefinition) -> u32 {
    const TRIGGER: u32 = 2279;
    const RECORD: u32 = 2249;
    match &definition.returns {
        Returns::Void => SqlType::Void.oid(),
        Returns::Trigger => TRIGGER,
        Returns::Value(kind)
        | Returns::Rows(kind)
        | Returns::RowOfType(kind)
        | Returns::RowsOfType(kind) => *kind,
        Returns::Table(columns) => match &columns[..] {
            [(_, kind)] => *kind,
            _ => RECORD,
        },
        Returns::RowsOf(_) | Returns::RowOf(_) | Returns::Row(_) => RECORD,
    }
}

/// The rows of `pg_proc` for functions and procedures of users.
pub(super) fn functions(source: &dyn Source, user: &str) -> Result<VirtualRows, SqlError> {
    let others = other_owners(source, user)?;
    let mut functions = all(source)?;
    functions.extend(procedures(source)?);
    let schemas = schema_numbers(source)?;
    let mut rows = Vec::with_capacity(functions.len());
    for one in functions {
        let kinds: Vec<u32> = one
            .parameters
            .iter()
            .map(|parameter| parameter.kind)
            .collect();
        let number = |kind: &u32| ValueRef::Int((*kind).into());
        let arguments = one.all_arguments();
        let has_others = arguments.iter().any(|(.., mode)| *mode != "i");
        let all_kinds = arguments.iter().map(|(_, kind, _)| number(kind));
        let modes = arguments.iter().map(|(.., mode)| ValueRef::Text(mode));
        let names: Vec<&str> = arguments.iter().map(|(name, ..)| *name).collect();
        let has_names = names.iter().any(|name| !name.is_empty());
        let defaults = one
            .parameters
            .iter()
            .filter_map(|one| one.default.as_deref());
        let defaults: Vec<&str> = defaults.collect();
        let gives_rows = one.returns.gives_rows();
        let volatility = one.volatility.to_string();
        rows.push(vec![
            oid(one.number),
            text(&one.name),
            oid(number_of_schema(&schemas, &kept(&one.schema, &one.name))),
            oid(match one.is_definer {
                true => others.get(&one.owner).copied().unwrap_or(OWNER),
                false => OWNER,
            }),
            oid(one.language.oid()),
            Value::Float(100.0),
            Value::Float(if gives_rows { 1000.0 } else { 0.0 }),
            oid(0),
            oid(0),
            text(if one.is_procedure() { "p" } else { "f" }),
            Value::Bool(one.is_definer),
            Value::Bool(false),
            Value::Bool(one.is_strict),
            Value::Bool(gives_rows),
            text(&volatility),
            text("u"),
            Value::Int(kinds.len() as i128),
            Value::Int(defaults.len() as i128),
            oid(result_of(&one)),
            vector_of(Oid, kinds.iter().map(number)),
            match has_others {
                true => array_of(Oid, all_kinds),
                false => Value::Null,
            },
            match has_others {
                true => array_of(OneChar, modes),
                false => Value::Null,
            },
            match has_names {
                true => array_of(Text, names.iter().map(|name| ValueRef::Text(name))),
                false => Value::Null,
            },
            match defaults.is_empty() {
                true => Value::Null,
                false => text(&defaults.join(", ")),
            },
            Value::Null,
            text(&one.body),
            Value::Null,
            Value::Null,
            match &one.path {
                Some(path) => {
                    let set = format!("search_path={path}");
                    array_of(Text, [ValueRef::Text(&set)].into_iter())
                }
                None => Value::Null,
            },
            Value::Null,
        ]);
    }
    Ok(rows)
}
