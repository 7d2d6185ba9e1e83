//! `CREATE TABLE`, `CREATE INDEX`, `CREATE SEQUENCE`.

use super::columns::{Constraint, Declared, check, declared, foreign, key_columns};
use super::skipped;
use crate::error::{SqlError, code};
use crate::names::{name_of, of_public};
use crate::relation::{
    ROW_NUMBER, Relation, TableNotes, is_own, kind, object, printed, put_notes, put_object,
};
use crate::result::{Complete, Tag};
use crate::sequences::Sequence;
use crate::source::Source;
use sardonyx::Transaction;
use sardonyx::schema::{ForeignKey, IndexDefinition, IndexKind, KeyPart, Schema, Type, Value};
use sqlparser::ast::{
    self, CreateIndex, CreateTable, Expr as Tree, ObjectName, SequenceOptions, TableConstraint,
};

/// The name of a new table.
pub(super) fn new_name(name: &ObjectName) -> Result<String, SqlError> {
    let name = of_public(name)?;
    check_not_own(&name)?;
    Ok(name)
}

fn check_not_own(name: &str) -> Result<(), SqlError> {
    match is_own(name) {
        true => Err(SqlError::new(
            code::INVALID_TABLE_DEFINITION,
            format!("the name \"{name}\" is one of the database's own"),
        )),
        false => Ok(()),
    }
}

/// Whether there is a table, view, index or sequence of a name.
///
/// # Errors
/// What cannot be read.
pub(super) fn is_taken(tx: &Transaction<'_>, name: &str) -> Result<bool, SqlError> {
    let source = Source::Live(tx.view());
    let is_sequence = object(&source, kind::SEQUENCE, name)?.is_some();
    Ok(source.table_named(name).is_some()
        || is_sequence
        || object(&source, kind::VIEW, name)?.is_some()
        || super::drop::index_named(&source, name).is_some())
}

/// Checks that a table may have a name.
///
/// # Errors
/// `42P16`, `42P07` if it may not.
pub(crate) fn check_new_name(tx: &Transaction<'_>, name: &str) -> Result<(), SqlError> {
    match is_taken(tx, name)? {
        true => Err(exists(name)),
        false => check_not_own(name),
    }
}

/// That there is something of this name.
pub(super) fn exists(name: &str) -> SqlError {
    SqlError::new(
        code::DUPLICATE_TABLE,
        format!("relation \"{name}\" already exists"),
    )
}

/// `CREATE TABLE`.
///
/// # Errors
/// What is wrong with it; what the engine says.
pub(super) fn table(tx: &mut Transaction<'_>, create: &CreateTable) -> Result<Complete, SqlError> {
    const WORD: &str = "CREATE TABLE";
    let refused = [
        (create.or_replace, "OR REPLACE"),
        (create.temporary, "TEMPORARY"),
        (create.query.is_some(), "AS"),
        (create.like.is_some(), "LIKE"),
        (create.inherits.is_some(), "INHERITS"),
        (
            create.partition_by.is_some() || create.partition_of.is_some(),
            "PARTITION",
        ),
    ];
    if let Some((_, what)) = refused.iter().find(|(is_there, _)| *is_there) {
        return Err(SqlError::unsupported(format!(
            "CREATE TABLE with {what} is not supported"
        )));
    }
    let name = new_name(&create.name)?;
    if is_taken(tx, &name)? {
        return match create.if_not_exists {
            true => {
                let message = format!("relation \"{name}\" already exists, skipping");
                Ok(skipped(WORD, code::DUPLICATE_TABLE, message))
            }
            false => Err(exists(&name)),
        };
    }
    let mut columns = Vec::with_capacity(create.columns.len());
    for column in &create.columns {
        columns.push(declared(column)?);
    }
    let mut constraints: Vec<Constraint> = Vec::new();
    for column in &mut columns {
        constraints.append(&mut column.constraints);
    }
    for constraint in &create.constraints {
        constraints.push(constraint_of(constraint)?);
    }
    let mut notes = TableNotes {
        table: name.clone(),
        ..TableNotes::default()
    };
    let schema = schema_of(&name, &mut columns, &constraints, &mut notes)?;
    let number = tx.create_table(&name, schema)?;
    for (place, column) in columns.iter_mut().enumerate() {
        if column.draws {
            let sequence = free_name(tx, &format!("{name}_{}_seq", column.name))?;
            let body = printed(&Sequence::new())?;
            put_object(tx, kind::SEQUENCE, &sequence, &body)?;
            column.notes.sequence = Some(sequence);
        }
        notes.columns.insert(place, column.notes.clone());
    }
    put_notes(tx, number, &notes)?;
    for constraint in &constraints {
        if let Constraint::Foreign { .. } = constraint {
            add_foreign(tx, &name, constraint)?;
        }
    }
    Ok(Complete::of(Tag::plain(WORD)))
}

/// A name that nothing has yet: this one, or with a number.
pub(super) fn free_name(tx: &Transaction<'_>, name: &str) -> Result<String, SqlError> {
    let mut free = name.to_string();
    let mut number = 0;
    while is_taken(tx, &free)? {
        number += 1;
        free = format!("{name}{number}");
    }
    Ok(free)
}

/// A constraint as it is declared.
///
/// # Errors
/// `0A000` for what is not supported.
pub(super) fn constraint_of(constraint: &TableConstraint) -> Result<Constraint, SqlError> {
    let name = |name: &Option<ast::Ident>| name.as_ref().map(name_of);
    Ok(match constraint {
        TableConstraint::PrimaryKey(key) => Constraint::Primary {
            name: name(&key.name),
            columns: key_columns(&key.columns)?,
        },
        TableConstraint::Unique(key) => Constraint::Unique {
            name: name(&key.name),
            columns: key_columns(&key.columns)?,
        },
        TableConstraint::ForeignKey(key) => {
            foreign(key, None, key.columns.iter().map(name_of).collect())?
        }
        TableConstraint::Check(condition) => check(condition, None),
        other => {
            return Err(SqlError::unsupported(format!(
                "the constraint {other} is not supported"
            )));
        }
    })
}

/// The engine's schema of a table.
fn schema_of(
    table: &str,
    columns: &mut [Declared],
    constraints: &[Constraint],
    notes: &mut TableNotes,
) -> Result<sardonyx::schema::SchemaBuilder, SqlError> {
    let mut primary = None;
    for constraint in constraints {
        if let Constraint::Primary { name, columns: key } = constraint {
            if primary.replace(key).is_some() {
                return Err(SqlError::new(
                    code::INVALID_TABLE_DEFINITION,
                    format!("multiple primary keys for table \"{table}\" are not allowed"),
                ));
            }
            notes.primary_name.clone_from(name);
        }
    }
    for (name, _) in primary.into_iter().flatten() {
        let column = columns.iter_mut().find(|column| column.name == *name);
        let column = column.ok_or_else(|| unknown_in_key(name))?;
        column.not_null = true;
    }
    let mut schema = Schema::new();
    for column in columns.iter() {
        if column.name == ROW_NUMBER {
            return Err(SqlError::new(
                code::INVALID_TABLE_DEFINITION,
                format!("the name \"{ROW_NUMBER}\" is one of the database's own"),
            ));
        }
        schema = schema.column(&column.name, column.spec.stored());
        if !column.not_null {
            schema = schema.nullable();
        }
        if column.default != Value::Null {
            schema = schema.default_value(column.default.clone());
        }
    }
    match primary {
        Some(key) => {
            let key: Vec<String> = key.iter().map(key_text).collect();
            schema = schema.primary_key(key.iter().map(String::as_str)).ordered();
        }
        None => {
            notes.hidden_key = true;
            schema = schema
                .column(ROW_NUMBER, Type::U64)
                .primary_key([ROW_NUMBER])
                .ordered();
        }
    }
    let mut taken: Vec<String> = Vec::new();
    for constraint in constraints {
        match constraint {
            Constraint::Unique { name, columns: key } => {
                for (name, _) in key {
                    if !columns.iter().any(|column| column.name == *name) {
                        return Err(unknown_in_key(name));
                    }
                }
                let name = constraint_name(table, name.as_ref(), key, "key", &mut taken);
                let key: Vec<String> = key.iter().map(key_text).collect();
                let key = key.iter().map(String::as_str);
                schema = schema.index(&name, key).ordered().unique();
                notes.constraints.push(name);
            }
            Constraint::Check { name, condition } => {
                let none: [(String, bool); 0] = [];
                let name = constraint_name(table, name.as_ref(), &none, "check", &mut taken);
                schema = schema.check(&name, condition);
            }
            Constraint::Primary { .. } | Constraint::Foreign { .. } => {}
        }
    }
    Ok(schema)
}

fn unknown_in_key(name: &str) -> SqlError {
    SqlError::new(
        code::UNKNOWN_COLUMN,
        format!("column \"{name}\" named in key does not exist"),
    )
}

/// A column of a key, as the engine's schemas are built.
fn key_text((name, descending): &(String, bool)) -> String {
    match descending {
        true => format!("{name} desc"),
        false => name.clone(),
    }
}

/// The name of a constraint, made of the table and its columns where none is given.
pub(super) fn constraint_name(
    table: &str,
    given: Option<&String>,
    columns: &[(String, bool)],
    suffix: &str,
    taken: &mut Vec<String>,
) -> String {
    let name = given.cloned().unwrap_or_else(|| {
        let mut parts = vec![table];
        parts.extend(columns.iter().map(|(name, _)| name.as_str()));
        let mut base = parts.join("_");
        // As long as a name may be.
        while base.len() + suffix.len() > 58 {
            base.pop();
        }
        let mut name = format!("{base}_{suffix}");
        let mut number = 0;
        while taken.contains(&name) {
            number += 1;
            name = format!("{base}_{suffix}{number}");
        }
        name
    });
    taken.push(name.clone());
    name
}

/// The key parts of columns by name.
pub(super) fn key_parts(
    relation: &Relation,
    columns: &[(String, bool)],
) -> Result<Vec<KeyPart>, SqlError> {
    let mut key = Vec::with_capacity(columns.len());
    for (name, descending) in columns {
        key.push(KeyPart {
            column: relation.column(name)?.number,
            descending: *descending,
        });
    }
    Ok(key)
}

/// Adds a reference to a table, and an index by which it is found who refers, if there is none.
///
/// # Errors
/// What is wrong with it; `23503` if a row refers to nothing.
pub(super) fn add_foreign(
    tx: &mut Transaction<'_>,
    table: &str,
    constraint: &Constraint,
) -> Result<(), SqlError> {
    let Constraint::Foreign {
        name,
        columns,
        table: to,
        referenced,
        on_delete,
    } = constraint
    else {
        return Ok(());
    };
    let source = Source::Live(tx.view());
    let relation = Relation::named(&source, table)?;
    let parent = Relation::named(&source, &of_public(to)?)?;
    // A row that refers to a key would keep it from being deleted.
    crate::keyspace::check(&source, &parent.name)?;
    let mut numbers = Vec::with_capacity(columns.len());
    for column in columns {
        numbers.push(relation.column(column)?.number);
    }
    let mut there = Vec::with_capacity(columns.len());
    for column in referenced {
        there.push(parent.column(column)?.number);
    }
    if referenced.is_empty() {
        there = parent.primary_columns();
    }
    if there.len() != numbers.len() || there.is_empty() {
        return Err(SqlError::new(
            "42830",
            "number of referencing and referenced columns for foreign key disagree",
        ));
    }
    let named: Vec<(String, bool)> = columns.iter().map(|name| (name.clone(), false)).collect();
    let mut taken: Vec<String> = Vec::new();
    taken.extend(
        relation
            .schema
            .foreign_keys
            .iter()
            .map(|key| key.name.clone()),
    );
    let name = constraint_name(table, name.as_ref(), &named, "fkey", &mut taken);
    let key = ForeignKey {
        name,
        columns: numbers,
        table: parent.number,
        referenced: there,
        on_delete: *on_delete,
    };
    tx.add_reference(relation.number, key)?;
    Ok(())
}

/// `CREATE INDEX`.
///
/// # Errors
/// What is wrong with it; `23505` if rows have one key.
pub(super) fn index(tx: &mut Transaction<'_>, create: &CreateIndex) -> Result<Complete, SqlError> {
    const WORD: &str = "CREATE INDEX";
    if create.predicate.is_some() || !create.include.is_empty() {
        return Err(SqlError::unsupported(
            "CREATE INDEX with WHERE or INCLUDE is not supported",
        ));
    }
    if create.nulls_distinct == Some(false) {
        return Err(SqlError::unsupported("NULLS NOT DISTINCT is not supported"));
    }
    let relation = Relation::named(&Source::Live(tx.view()), &of_public(&create.table_name)?)?;
    let columns = key_columns(&create.columns)?;
    let name = match &create.name {
        Some(name) => of_public(name)?,
        None => {
            let mut none = Vec::new();
            free_name(
                tx,
                &constraint_name(&relation.name, None, &columns, "idx", &mut none),
            )?
        }
    };
    if is_taken(tx, &name)? {
        return match create.if_not_exists {
            true => {
                let message = format!("relation \"{name}\" already exists, skipping");
                Ok(skipped(WORD, code::DUPLICATE_TABLE, message))
            }
            false => Err(exists(&name)),
        };
    }
    let definition = IndexDefinition {
        name,
        kind: IndexKind::Ordered,
        unique: create.unique,
        key: key_parts(&relation, &columns)?,
    };
    tx.create_index(relation.number, definition)?;
    Ok(Complete::of(Tag::plain(WORD)))
}

/// `CREATE SEQUENCE`.
///
/// # Errors
/// What is wrong with it.
pub(super) fn sequence(
    tx: &mut Transaction<'_>,
    name: &ObjectName,
    if_not_exists: bool,
    options: &[SequenceOptions],
) -> Result<Complete, SqlError> {
    const WORD: &str = "CREATE SEQUENCE";
    let name = new_name(name)?;
    if is_taken(tx, &name)? {
        return match if_not_exists {
            true => {
                let message = format!("relation \"{name}\" already exists, skipping");
                Ok(skipped(WORD, code::DUPLICATE_TABLE, message))
            }
            false => Err(exists(&name)),
        };
    }
    let mut sequence = Sequence::new();
    let mut start = None;
    for option in options {
        match option {
            SequenceOptions::IncrementBy(tree, _) => sequence.increment = whole(tree)?,
            SequenceOptions::StartWith(tree, _) => start = Some(whole(tree)?),
            SequenceOptions::MinValue(Some(tree)) => sequence.minimum = whole(tree)?,
            SequenceOptions::MaxValue(Some(tree)) => sequence.maximum = whole(tree)?,
            SequenceOptions::MinValue(None)
            | SequenceOptions::MaxValue(None)
            | SequenceOptions::Cache(_)
            | SequenceOptions::Cycle(false) => {}
            other => {
                return Err(SqlError::unsupported(format!("{other} is not supported")));
            }
        }
    }
    if sequence.increment == 0 {
        return Err(SqlError::new(
            code::INVALID_PARAMETER_VALUE,
            "INCREMENT must not be zero",
        ));
    }
    if sequence.increment < 0 && sequence.minimum == 1 {
        (sequence.minimum, sequence.maximum) = (i64::MIN, -1);
    }
    let first = if sequence.increment > 0 {
        sequence.minimum
    } else {
        sequence.maximum
    };
    sequence.start = start.unwrap_or(first);
    sequence.usable_to = sequence.start.into();
    put_object(tx, kind::SEQUENCE, &name, &printed(&sequence)?)?;
    Ok(Complete::of(Tag::plain(WORD)))
}

fn whole(tree: &Tree) -> Result<i64, SqlError> {
    let text = tree.to_string();
    text.parse()
        .map_err(|_| SqlError::syntax(format!("{text} is no whole number")))
}
