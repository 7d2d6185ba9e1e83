//! Constraints, indexes and sequences in the catalogue: `pg_constraint`, `pg_sequence`, and their definitions as SQL.

use super::Contents::Rows;
use super::domain_checks;
use super::indexes::{SeenIndex, index_referred, seen_indexes, table_of_index};
use super::information_schema::relations;
use super::{VirtualRows, VirtualTable, number_of_schema, oid, schema_numbers, text};
use crate::error::SqlError;
use crate::expression::shown_casts::as_array;
use crate::expression::{Environment, shown_check};
use crate::index_names::shown_expression;
use crate::names::{is_hidden_check, quoted};
use crate::path::{written, written_whole};
use crate::relation::{
    ReferenceNotes, Relation, UpdateAction, is_own, kind, objects, parsed, table_oid,
};
use crate::search_path::SearchPath;
use crate::sequences::Sequence;
use crate::source::Source;
use crate::types::SqlType::{Bool, Int2Array, Int4, Int8, Name, Oid, OidArray, OneChar, Text};
use sardonyx::schema::{OnDelete, Value};
use sardonyx_rows::condition::Check;

pub(super) const TABLES: &[VirtualTable] = &[
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_constraint",
        oid: 2606,
        columns: &[
            ("oid", Oid),
            ("conname", Name),
            ("connamespace", Oid),
            ("contype", OneChar),
            ("condeferrable", Bool),
            ("condeferred", Bool),
            ("convalidated", Bool),
            ("conrelid", Oid),
            ("contypid", Oid),
            ("conindid", Oid),
            ("conparentid", Oid),
            ("confrelid", Oid),
            ("confupdtype", OneChar),
            ("confdeltype", OneChar),
            ("confmatchtype", OneChar),
            ("conislocal", Bool),
            ("coninhcount", Int4),
            ("connoinherit", Bool),
            ("conkey", Int2Array),
            ("confkey", Int2Array),
            ("conpfeqop", OidArray),
            ("conppeqop", OidArray),
            ("conffeqop", OidArray),
            ("confdelsetcols", Int2Array),
            ("conexclop", OidArray),
            ("conbin", Text),
        ],
        contents: Rows(constraints),
    },
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_sequence",
        oid: 2224,
        columns: &[
            ("seqrelid", Oid),
            ("seqtypid", Oid),
            ("seqstart", Int8),
            ("seqincrement", Int8),
            ("seqmax", Int8),
            ("seqmin", Int8),
            ("seqcache", Int8),
            ("seqcycle", Bool),
        ],
        contents: Rows(sequences),
    },
];

/// A constraint of a table.
pub(crate) struct Constraint {
    pub oid: u32,
    pub name: String,
    /// `p`, `u`, `f`, `c`, as in the catalogue.
    pub letter: &'static str,
    table: u16,
    index: u32,
    pub referenced: u16,
    deletes: &'static str,
    notes: ReferenceNotes,
    columns: Vec<usize>,
    referenced_columns: Vec<usize>,
    /// The definition in SQL, without its name.
    pub definition: String,
    /// The condition of `CHECK`.
    condition: Option<String>,
    /// False if rows of earlier times need not meet it.
    pub is_valid: bool,
}

impl Constraint {
    /// The definition, with `NOT VALID`.
    pub fn whole_definition(&self) -> String {
        format!("{}{}", self.definition, self.validity())
    }

    fn validity(&self) -> &'static str {
        if self.is_valid { "" } else { " NOT VALID" }
    }

    /// The definition as PostgreSQL shows it. It may be another one, which programs without SQL do not test.
    fn seen_definition(&self, relation: &Relation) -> String {
        let kind_of = |name: &str| relation.column(name).ok().map(|column| column.spec.kind);
        let condition = self.condition.as_ref();
        match condition.and_then(|condition| as_array(condition, &kind_of)) {
            Some(seen) => format!("CHECK (({seen}))"),
            None => self.definition.clone(),
        }
    }
}

/// The number of a table's constraint.
fn constraint_oid(table: u16, at: usize) -> u32 {
    FIRST_CONSTRAINT + u32::from(table) * OF_TABLE + at as u32
}

/// The first number of tables' constraints, and the numbers that each table has.
const FIRST_CONSTRAINT: u32 = 1 << 26;
const OF_TABLE: u32 = 512;

/// The table of a constraint's number. One with more constraints than numbers has those of the next tables, too.
fn table_of_constraint(number: u32) -> Option<u16> {
    let table = number.checked_sub(FIRST_CONSTRAINT)? / OF_TABLE;
    u16::try_from(table).ok()
}

pub(super) fn sequence_oid(at: usize) -> u32 {
    (1 << 25) + at as u32
}

pub(super) fn names_of(relation: &Relation, columns: &[usize]) -> String {
    let names = columns
        .iter()
        .map(|column| match relation.numbered_column(*column) {
            Some(column) => quoted(&column.name),
            None => shown_expression(relation, *column).unwrap_or_default(),
        });
    names.collect::<Vec<_>>().join(", ")
}

/// The columns' numbers in the catalogue, from 1.
fn numbers_of(relation: &Relation, columns: &[usize]) -> Value {
    let numbers = columns.iter().map(|column| {
        let mut columns = relation.columns.iter();
        let at = columns.position(|there| there.number == *column);
        Some(at.map_or(0, |at| at + 1).to_string())
    });
    Value::Text(crate::values::arrays::written(numbers))
}

/// The constraints of a table.
///
/// # Errors
/// An error of reading the tables.
pub(crate) fn constraints_of(
    source: &dyn Source,
    relation: &Relation,
) -> Result<Vec<Constraint>, SqlError> {
    let mut found: Vec<Constraint> = Vec::new();
    let table = relation.number;
    let mut add = |mut constraint: Constraint| {
        constraint.oid = constraint_oid(table, found.len());
        constraint.is_valid = !relation.notes.not_valid.contains(&constraint.name);
        found.push(constraint);
    };
    let plain = |name: &str, letter, definition: String| Constraint {
        oid: 0,
        name: name.to_string(),
        letter,
        table,
        index: 0,
        referenced: 0,
        deletes: "a",
        notes: ReferenceNotes::default(),
        columns: Vec::new(),
        referenced_columns: Vec::new(),
        definition,
        condition: None,
        is_valid: true,
    };
    let when = |is_so: bool, text: &'static str| if is_so { text } else { "" };
    for index in seen_indexes(relation) {
        let is_unique = relation.notes.constraints.contains(&index.name);
        let (letter, word) = match (index.primary, is_unique) {
            (true, _) => ("p", "PRIMARY KEY"),
            (false, true) => ("u", "UNIQUE"),
            (false, false) => continue,
        };
        let columns: Vec<usize> = index.columns.iter().map(|(column, _)| *column).collect();
        let notes = relation.reference_notes(&index.name);
        let definition = format!(
            "{word}{} ({}){}{}",
            when(index.nulls_equal, " NULLS NOT DISTINCT"),
            names_of(relation, &columns),
            when(notes.deferrable, " DEFERRABLE"),
            when(notes.deferred, " INITIALLY DEFERRED"),
        );
        add(Constraint {
            index: index.oid,
            notes,
            columns,
            ..plain(&index.name, letter, definition)
        });
    }
    for key in &relation.schema.foreign_keys {
        let other = Relation::numbered(source, key.table)?;
        let notes = relation.reference_notes(&key.name);
        let (deletes, on_delete) = match key.on_delete {
            OnDelete::Cascade => ("c", " ON DELETE CASCADE"),
            OnDelete::SetNull => ("n", " ON DELETE SET NULL"),
            OnDelete::SetDefault => ("d", " ON DELETE SET DEFAULT"),
            OnDelete::Restrict if notes.delete_restricts => ("r", " ON DELETE RESTRICT"),
            OnDelete::Restrict => ("a", ""),
        };
        let on_update = match notes.on_update {
            Some(UpdateAction::Cascade) => " ON UPDATE CASCADE",
            Some(UpdateAction::SetNull) => " ON UPDATE SET NULL",
            Some(UpdateAction::SetDefault) => " ON UPDATE SET DEFAULT",
            None if notes.update_restricts => " ON UPDATE RESTRICT",
            None => "",
        };
        let definition = format!(
            "FOREIGN KEY ({}) REFERENCES {}({}){}{on_update}{on_delete}{}{}",
            names_of(relation, &key.columns),
            written(&other.name),
            names_of(&other, &key.referenced),
            when(notes.full, " MATCH FULL"),
            when(notes.deferrable, " DEFERRABLE"),
            when(notes.deferred, " INITIALLY DEFERRED"),
        );
        add(Constraint {
            index: index_referred(&other, key).map_or(0, |index| index.oid),
            referenced: key.table,
            deletes,
            notes,
            columns: key.columns.clone(),
            referenced_columns: key.referenced.clone(),
            ..plain(&key.name, "f", definition)
        });
    }
    let enums = relation.enums();
    let checks = relation.schema.checks.iter();
    for (name, condition) in checks.filter(|(name, _)| !is_hidden_check(name)) {
        let read = Check::parse(condition, &relation.schema);
        let condition = shown_check(condition, &relation.schema, &enums);
        let definition = format!("CHECK (({condition}))");
        add(Constraint {
            condition: Some(condition),
            columns: read.map_or_else(|_| Vec::new(), |check| check.columns().to_vec()),
            ..plain(name, "c", definition)
        });
    }
    Ok(found)
}

fn constraints(source: &dyn Source, _: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let mut rows = domain_checks::rows(source)?;
    let schemas = schema_numbers(source)?;
    for relation in relations(source)? {
        for constraint in constraints_of(source, &relation)? {
            let is_foreign = constraint.letter == "f";
            let letter = |letter: &str| text(if is_foreign { letter } else { " " });
            let other = match is_foreign {
                true => Some(Relation::numbered(source, constraint.referenced)?),
                false => None,
            };
            rows.push(vec![
                oid(constraint.oid),
                text(&constraint.name),
                oid(number_of_schema(&schemas, &relation.name)),
                text(constraint.letter),
                Value::Bool(constraint.notes.deferrable),
                Value::Bool(constraint.notes.deferred),
                Value::Bool(constraint.is_valid),
                oid(table_oid(constraint.table)),
                oid(0),
                oid(constraint.index),
                oid(0),
                oid(if is_foreign {
                    table_oid(constraint.referenced)
                } else {
                    0
                }),
                letter(match constraint.notes.on_update {
                    Some(UpdateAction::Cascade) => "c",
                    Some(UpdateAction::SetNull) => "n",
                    Some(UpdateAction::SetDefault) => "d",
                    None if constraint.notes.update_restricts => "r",
                    None => "a",
                }),
                letter(constraint.deletes),
                letter(if constraint.notes.full { "f" } else { "s" }),
                Value::Bool(true),
                Value::Int(0),
                // Inheriting tables would have conditions only.
                Value::Bool(constraint.letter != "c"),
                numbers_of(&relation, &constraint.columns),
                other.map_or(Value::Null, |other| {
                    numbers_of(&other, &constraint.referenced_columns)
                }),
                Value::Null,
                Value::Null,
                Value::Null,
                Value::Null,
                Value::Null,
                match constraint.letter {
                    "c" => Value::Text(constraint.seen_definition(&relation)),
                    _ => Value::Null,
                },
            ]);
        }
    }
    Ok(rows)
}

/// The names and numbers of a table's constraints.
///
/// # Errors
/// An error of reading the tables.
pub(super) fn constraint_numbers(
    source: &dyn Source,
    relation: &Relation,
) -> Result<Vec<(String, u32)>, SqlError> {
    let constraints = constraints_of(source, relation)?.into_iter();
    Ok(constraints.map(|there| (there.name, there.oid)).collect())
}

/// The definition of a constraint by its number; null if there is none.
///
/// # Errors
/// An error of reading the tables.
pub(crate) fn constraint_definition(source: &dyn Source, number: u32) -> Result<Value, SqlError> {
    if let Some(table) = table_of_constraint(number) {
        // Of many tables, each constraint is asked for: only its own table is looked at.
        if let Ok(relation) = Relation::numbered(source, table)
            && let Some(found) = definition_in(source, &relation, number)?
        {
            return Ok(found);
        }
        for relation in &relations(source)? {
            if let Some(found) = definition_in(source, relation, number)? {
                return Ok(found);
            }
        }
        return Ok(Value::Null);
    }
    let mut of_domains = domain_checks::all(source)?.into_iter();
    let found = of_domains.find(|there| there.number == number);
    Ok(found.map_or(Value::Null, |there| Value::Text(there.definition)))
}

/// The definition of a table's constraint of a number.
fn definition_in(
    source: &dyn Source,
    relation: &Relation,
    number: u32,
) -> Result<Option<Value>, SqlError> {
    let constraints = constraints_of(source, relation)?.into_iter();
    let found = { constraints }.find(|there| there.oid == number);
    Ok(found.map(|constraint| {
        let seen = constraint.seen_definition(relation);
        Value::Text(seen + constraint.validity())
    }))
}

/// The columns of an index, as SQL.
fn columns_of(relation: &Relation, index: &SeenIndex) -> String {
    let columns = index.columns.iter().zip(&index.classes);
    let columns = columns.map(|((column, descending), class)| {
        let name = names_of(relation, &[*column]);
        // An expression is within the parentheses that an index's grammar has around it.
        let name = match name.starts_with('(') {
            true => format!("({name})"),
            false => name,
        };
        let name = match class {
            Some(class) => format!("{name} {class}"),
            None => name,
        };
        let other = relation.notes.other_nulls.get(&index.name);
        let order = match (
            descending,
            other.is_some_and(|other| other.contains(column)),
        ) {
            (false, false) => "",
            (false, true) => " NULLS FIRST",
            (true, false) => " DESC",
            (true, true) => " DESC NULLS LAST",
        };
        name + order
    });
    columns.collect::<Vec<_>>().join(", ")
}

/// The statement that makes an index.
pub(super) fn definition_of(relation: &Relation, index: &SeenIndex) -> String {
    let condition = condition_of(index);
    definition_on(&written_whole(&relation.name), condition, relation, index)
}

/// An index's condition as its statement has it.
fn condition_of(index: &SeenIndex) -> Option<String> {
    let condition = index.condition.as_ref();
    condition.map(|text| format!("({text})"))
}

/// The same, on a table of a written name, with a written condition.
fn definition_on(
    table: &str,
    condition: Option<String>,
    relation: &Relation,
    index: &SeenIndex,
) -> String {
    let unique = if index.unique { "UNIQUE " } else { "" };
    format!(
        "CREATE {unique}INDEX {} ON {table} USING {} {}",
        quoted(&index.name),
        index.method.name(),
        parts_of(condition, relation, index)
    )
}

/// The columns of an index, and the clauses behind them.
fn parts_of(condition: Option<String>, relation: &Relation, index: &SeenIndex) -> String {
    let columns = columns_of(relation, index);
    let included = match index.included.is_empty() {
        true => String::new(),
        false => format!(" INCLUDE ({})", names_of(relation, &index.included)),
    };
    let condition = condition.map_or_else(String::new, |text| format!(" WHERE {text}"));
    let nulls = match index.nulls_equal {
        true => " NULLS NOT DISTINCT",
        false => "",
    };
    format!("({columns}){included}{nulls}{condition}")
}

/// The statements that make a table's indexes, without those of constraints, on another table.
pub(crate) fn own_indexes_on(relation: &Relation, other: &Relation) -> Vec<String> {
    let indexes = seen_indexes(relation).into_iter();
    let own =
        indexes.filter(|index| !index.primary && !relation.notes.constraints.contains(&index.name));
    own.map(|index| {
        let unique = if index.unique { "UNIQUE " } else { "" };
        let parts = parts_of(condition_of(&index), relation, &index);
        format!(
            "CREATE {unique}INDEX ON {} USING {} {parts}",
            written_whole(&other.name),
            index.method.name()
        )
    })
    .collect()
}

/// The statements that make a table's indexes, without those of constraints.
pub(crate) fn own_indexes(relation: &Relation) -> Vec<String> {
    let indexes = seen_indexes(relation).into_iter();
    let own =
        indexes.filter(|index| !index.primary && !relation.notes.constraints.contains(&index.name));
    own.map(|index| definition_of(relation, &index) + ";")
        .collect()
}

/// The statement that makes the index of a number, or the name of one of its columns, from 1; null if there is none. With
/// a path, it is written for people: without a schema that the path has, and without outer parentheses.
///
/// # Errors
/// An error of reading the tables.
pub(crate) fn index_definition(
    source: &dyn Source,
    number: u32,
    column: usize,
    path: Option<&SearchPath>,
) -> Result<Value, SqlError> {
    let Some(Ok(relation)) = table_of_index(number).map(|table| Relation::numbered(source, table))
    else {
        return Ok(Value::Null);
    };
    let indexes = seen_indexes(&relation);
    let index = indexes.iter().find(|index| index.oid == number);
    let Some(index) = index.filter(|_| !is_own(&relation.name)) else {
        return Ok(Value::Null);
    };
    Ok(match column.checked_sub(1) {
        None => Value::Text(match path {
            None => definition_of(&relation, index),
            Some(path) => {
                let table = path.written(source, &relation.name)?;
                definition_on(&table, index.condition.clone(), &relation, index)
            }
        }),
        Some(at) => match index.columns.get(at) {
            Some((column, _)) => Value::Text(names_of(&relation, &[*column])),
            None => Value::Null,
        },
    })
}

/// The sequences' names, in the order of their numbers.
///
/// # Errors
/// An error of reading the tables.
pub(crate) fn sequence_names(source: &dyn Source) -> Result<Vec<(String, u32)>, SqlError> {
    let objects = objects(source, kind::SEQUENCE)?;
    let names = objects.into_iter().enumerate();
    Ok(names
        .map(|(at, (name, _))| (name, sequence_oid(at)))
        .collect())
}

fn sequences(source: &dyn Source, _: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let mut rows = Vec::new();
    for (at, (_, body)) in objects(source, kind::SEQUENCE)?.into_iter().enumerate() {
        let sequence: Sequence = parsed(&body)?;
        let int = |value: i64| Value::Int(value.into());
        rows.push(vec![
            oid(sequence_oid(at)),
            oid(sequence.kind().oid()),
            int(sequence.start),
            int(sequence.increment),
            int(sequence.maximum),
            int(sequence.minimum),
            int(1),
            Value::Bool(sequence.cycles),
        ]);
    }
    Ok(rows)
}
