//! `ALTER COLUMN … TYPE … USING`: each row gets a new value, converted from the old one or computed from the row.
//!
//! In the engine, the column is replaced by one with another number. Indexes, references and conditions on it are
//! dropped before, and created again afterwards, so all of them are checked for the new values. If the new type
//! represents all old values by the same bytes, as a longer `varchar` does, only the declaration changes.

use super::checks;
use super::columns::check_column_type;
use super::constraint::{contains_nulls, notes_of_column};
use super::default::default_of;
use super::generated::check_not_read;
use super::index::{WrittenIndex, make};
use super::numbered::with_numbered_rows;
use super::validity;
use crate::checks::value_of_row;
use crate::declared::put_notes;
use crate::define_target::DefineTarget;
use crate::error::{SqlError, code};
use crate::expression::{
    Compiler, Expr, Parameters, Use, crosses_zone, declared_expression, scope_of_columns,
    writes_intervals,
};
use crate::indexed::named_columns;
use crate::names::quoted;
use crate::parse::parse_expression;
use crate::relation::{ColumnNotes, DefaultValue, Relation, RelationColumn, TableNotes};
use crate::types::{SqlType, TypeSpec};
use crate::user_types::TypeNames;
use crate::values::cast::{Coercion, can_cast, stored};
use crate::values::intervals::IntervalStyle;
use crate::values::zones::SessionZone;
use crate::violations::of_new_reference;
use sardonyx::schema::{ForeignKey, IndexDefinition, Schema, Unchecked, Value};
use sardonyx_rows::TableError;
use sqlparser::ast::Expr as Tree;
use std::collections::BTreeSet;

/// Changes the type of a column.
///
/// # Errors
/// `42804` if there is no cast; evaluation errors; violated constraints; on nodes `0A000` for columns of a primary key that
/// was declared with the table.
pub(super) fn retype_column(
    tx: &mut dyn DefineTarget,
    relation: &Relation,
    column: &RelationColumn,
    (to, dimensions, using): (TypeSpec, u8, Option<&Tree>),
    names: &TypeNames,
) -> Result<(), SqlError> {
    let name = &column.name;
    // A failed index build may have left columns that are computed from this one.
    tx.drop_unused_columns(relation.number)?;
    let relation = &Relation::numbered(tx.view(), relation.number)?;
    check_not_read(relation, column.number, name)?;
    super::trigger::check_column(relation, column.number)?;
    check_column_type(name, to.kind)?;
    if column.is_generated {
        return Err(SqlError::unsupported(
            "ALTER COLUMN TYPE of a generated column is not supported",
        ));
    }
    let keeps = using.is_none() && column.stored == to.stored() && to.holds_all_of(column.spec);
    let value = new_value(relation, column, (to, using), names)?;
    let default = new_default(column, to, names)?;
    if keeps && !is_read(relation, column.number) {
        let mut notes = relation.notes.clone();
        notes.table.clone_from(&relation.name);
        let of = notes_of_column(&mut notes, column);
        of.kind = to.kind.oid();
        of.modifier = to.modifier;
        of.collation = to.collation.noted();
        of.dimensions = dimensions;
        let checks = checks::take(tx, relation, column.number)?;
        put_notes(tx, relation.number, &notes)?;
        return checks::put(tx, relation.number, checks);
    }
    let numbered;
    let primary = &relation.schema.primary.key;
    let relation = match primary.iter().any(|part| part.column == column.number) {
        // The engine finds rows by the column.
        true => {
            numbered = with_numbered_rows(tx, relation)?;
            &numbered
        }
        false => relation,
    };
    let taken = take(tx, relation, column.number)?;
    let listed = Relation::numbered(tx.view(), relation.number)?.notes.listed;
    let checks = checks::take(tx, relation, column.number)?;
    let retyped = Retyped::new(relation, column, value, to);
    // Declared limits are those of the old type.
    let mut failed = None;
    let mut compute = |row: &[Value]| {
        retyped.of_row(row).map_err(|error| {
            failed = Some(error);
            TableError::UnknownHandle {
                number: relation.number,
            }
        })
    };
    // Rows keep what they violate in other columns.
    let is_valid = relation.notes.not_valid.is_empty();
    let changed = validity::adding(tx, relation.number, is_valid, |tx| {
        Ok(tx.retype_column(relation.number, name, to.stored(), &mut compute))
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    changed?;
    let new = relation.schema.columns.len();
    let mut notes = relation.notes.clone();
    notes.table.clone_from(&relation.name);
    // Indexes that read the column are listed again with its new number.
    notes.listed = listed;
    renumber(&mut notes, column, new);
    let of = notes.columns.entry(new).or_default();
    of.kind = to.kind.oid();
    of.modifier = to.modifier;
    of.collation = to.collation.noted();
    of.dimensions = dimensions;
    of.default = default;
    put_notes(tx, relation.number, &notes)?;
    put(tx, relation, (column.number, new), taken)?;
    checks::put(tx, relation.number, checks)
}

/// The values that a column gets by a change of its type.
#[derive(Clone, Debug)]
pub(crate) struct Retyped {
    /// The column's name.
    name: String,
    /// The column's number before.
    number: usize,
    value: Expr,
    to: TypeSpec,
    /// The error of a value that is null, if none may be.
    nulls: Option<SqlError>,
}

impl PartialEq for Retyped {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
            && self.number == other.number
            && self.value == other.value
            && self.to == other.to
            && self.nulls.is_some() == other.nulls.is_some()
    }
}

impl Retyped {
    fn new(relation: &Relation, column: &RelationColumn, value: Expr, to: TypeSpec) -> Self {
        Retyped {
            name: column.name.clone(),
            number: column.number,
            value,
            to,
            nulls: (column.not_null).then(|| contains_nulls(relation, &column.name)),
        }
    }

    /// The values of a statement that changes a column's type. The relation is the table before.
    ///
    /// # Errors
    /// Invalid SQL.
    pub(super) fn of_statement(
        relation: &Relation,
        column: &RelationColumn,
        (to, using): (TypeSpec, Option<&Tree>),
        names: &TypeNames,
    ) -> Result<Self, SqlError> {
        let value = new_value(relation, column, (to, using), names)?;
        Ok(Retyped::new(relation, column, value, to))
    }

    /// True if the values are computed from one that another change makes, or the change is of the same column.
    pub(super) fn is_after(&self, other: &Retyped) -> bool {
        self.number == other.number || self.reads(other.number)
    }

    /// The number of the column with these values in the schema that the statement makes. `None` if the change rewrites
    /// no row.
    pub(super) fn place_in(&self, schema: &Schema) -> Option<usize> {
        let place = schema.column(&self.name)?;
        (place != self.number).then_some(place)
    }

    fn reads(&self, number: usize) -> bool {
        let mut reads = false;
        self.value.walk(&mut |part| {
            reads = reads || matches!(part, Expr::Column(read) if *read == number);
        });
        reads
    }

    /// The value for a row, given by its columns' numbers.
    ///
    /// # Errors
    /// The value cannot be computed, or is null and may not be.
    pub fn of_row(&self, row: &[Value]) -> Result<Value, SqlError> {
        let value = value_of_row(&self.value, row)?;
        match (stored(value, self.to)?, &self.nulls) {
            (Value::Null, Some(error)) => Err(error.clone()),
            (value, _) => Ok(value),
        }
    }
}

/// True if an index's expression or condition reads a column.
fn is_read(relation: &Relation, column: usize) -> bool {
    relation.schema.generated_of(column).next().is_some()
}

/// Moves the notes of a column to its new number, and keeps its position.
fn renumber(notes: &mut TableNotes, column: &RelationColumn, new: usize) {
    let before = notes.columns.remove(&column.number);
    let before = before.unwrap_or_else(|| ColumnNotes {
        not_null: column.not_null,
        ..ColumnNotes::default()
    });
    let place = before.place.unwrap_or(column.number);
    notes.columns.insert(
        new,
        ColumnNotes {
            place: Some(place),
            ..before
        },
    );
}

/// The new value of a column in a row.
fn new_value(
    relation: &Relation,
    column: &RelationColumn,
    (to, using): (TypeSpec, Option<&Tree>),
    names: &TypeNames,
) -> Result<Expr, SqlError> {
    let name = &column.name;
    let Some(tree) = using else {
        let from = column.spec;
        if !can_cast(from.kind, to.kind, Coercion::Assignment) {
            let text = format!(
                "column \"{name}\" cannot be cast automatically to type {}",
                to.kind.name()
            );
            let hint = format!(
                "You might need to specify \"USING {}::{}\".",
                quoted(name),
                to.to_sql()
            );
            return Err(SqlError::new(code::DATATYPE_MISMATCH, text).hint(hint));
        }
        check_zone(from.kind, to.kind, names)?;
        let value = Box::new(Expr::Column(column.number));
        return Ok(Expr::Cast(value, from.kind, to, false));
    };
    let columns = named_columns(relation);
    let (typed, _) = declared_expression(
        tree,
        &relation.name,
        &columns,
        (Use::Transform, None),
        names,
    )?;
    let kind = typed.kind();
    let scope = scope_of_columns(&relation.name, &columns);
    let mut parameters = Parameters::default();
    let coerced = Compiler::new(&scope, &mut parameters).coerce(typed, to, Coercion::Assignment);
    let expr = coerced.map_err(|error| match error.code {
        code::DATATYPE_MISMATCH | code::CANNOT_COERCE => SqlError::new(
            code::DATATYPE_MISMATCH,
            format!(
                "result of USING clause for column \"{name}\" cannot be cast automatically to type {}",
                to.kind.name()
            ),
        )
        .hint("You might need to add an explicit cast."),
        _ => error,
    })?;
    check_zone(kind, to.kind, names)?;
    let mut checked = Ok(());
    expr.walk(&mut |part| {
        if let (Expr::Cast(_, from, to, _), Ok(())) = (part, &checked) {
            checked = check_zone(*from, to.kind, names);
        }
    });
    checked?;
    Ok(expr)
}

/// Rejects casts that depend on the session's time zone, or on its style of intervals: rows are rewritten without a session.
fn check_zone(from: SqlType, to: SqlType, names: &TypeNames) -> Result<(), SqlError> {
    let has_style = |zone: &SessionZone| zone.style() != IntervalStyle::default();
    if writes_intervals(from, to) && names.zone().is_some_and(has_style) {
        return Err(SqlError::unsupported(format!(
            "a cast from {} to {} is supported with IntervalStyle postgres only",
            from.name(),
            to.name()
        )));
    }
    match crosses_zone(from, to) {
        false => Ok(()),
        true => Err(SqlError::unsupported(format!(
            "a cast from {} to {} depends on the session's time zone",
            from.name(),
            to.name()
        ))
        .hint("Write USING … AT TIME ZONE with the name of a zone.")),
    }
}

/// The default of a column, converted to another type; `None` if it has none.
fn new_default(
    column: &RelationColumn,
    to: TypeSpec,
    names: &TypeNames,
) -> Result<Option<String>, SqlError> {
    let text = match &column.default {
        _ if column.sequence.is_some() => return Ok(None),
        DefaultValue::Expression(text) => text.clone(),
        DefaultValue::Value(Value::Null) => return Ok(None),
        DefaultValue::Value(value) => {
            let text = crate::text::text_of(column.spec.kind, value.as_ref());
            let text = text.unwrap_or_default().replace('\'', "''");
            format!("'{text}'::{}", column.spec.to_sql())
        }
    };
    match default_of(&parse_expression(&text)?, to, names) {
        Ok(_) => Ok(Some(text)),
        Err(error) if error.code == code::DATATYPE_MISMATCH => Err(SqlError::new(
            code::DATATYPE_MISMATCH,
            format!(
                "default for column \"{}\" cannot be cast automatically to type {}",
                column.name,
                to.kind.name()
            ),
        )),
        Err(error) => Err(error),
    }
}

/// The dropped indexes and references on a column.
struct Taken {
    indexes: Vec<WrittenIndex>,
    /// Indexes in the catalogue alone.
    listed: Vec<WrittenIndex>,
    /// References, with the numbers of their tables.
    references: Vec<(u16, ForeignKey)>,
}

/// Drops the indexes and references on a column.
fn take(tx: &mut dyn DefineTarget, relation: &Relation, column: usize) -> Result<Taken, SqlError> {
    let mut references = Vec::new();
    let mut tables = BTreeSet::from_iter(tx.view().referring(relation.number));
    tables.insert(relation.number);
    for number in tables {
        let Some(schema) = tx.view().schema(number) else {
            continue;
        };
        for key in &schema.foreign_keys {
            let refers = number == relation.number && key.columns.contains(&column);
            let is_referred = key.table == relation.number && key.referenced.contains(&column);
            if refers || is_referred {
                references.push((number, key.clone()));
            }
        }
    }
    for (number, key) in &references {
        tx.drop_reference(*number, &key.name)?;
    }
    let schema = &relation.schema;
    let read: Vec<usize> = schema.generated_of(column).collect();
    let included = |index: &IndexDefinition| {
        let included = relation.notes.included.get(&index.name);
        included.is_some_and(|columns| columns.contains(&column))
    };
    let mut indexes = Vec::new();
    for index in &schema.indexes {
        let mut key = index.key.iter();
        let names = key.any(|part| part.column == column || read.contains(&part.column));
        if names || included(index) {
            indexes.push(WrittenIndex::there(relation, index)?);
            tx.drop_index(relation.number, &index.name)?;
        }
    }
    Ok(Taken {
        indexes,
        listed: take_listed(tx, relation.number, column)?,
        references,
    })
}

/// Removes the indexes in the catalogue alone that read a column.
fn take_listed(
    tx: &mut dyn DefineTarget,
    number: u16,
    column: usize,
) -> Result<Vec<WrittenIndex>, SqlError> {
    let relation = Relation::numbered(tx.view(), number)?;
    let mut notes = relation.notes.clone();
    let mut taken = Vec::new();
    for (name, index) in &relation.notes.listed {
        if index.reads(column) {
            taken.push(WrittenIndex::listed_there(&relation, name, index)?);
            notes.listed.remove(name);
        }
    }
    if !taken.is_empty() {
        put_notes(tx, number, &notes)?;
    }
    Ok(taken)
}

/// Creates indexes and references again, for the column's new number.
fn put(
    tx: &mut dyn DefineTarget,
    relation: &Relation,
    (old, new): (usize, usize),
    taken: Taken,
) -> Result<(), SqlError> {
    for index in &taken.indexes {
        let relation = Relation::numbered(tx.view(), relation.number)?;
        make(tx, &relation, index.of(&relation, None)?)?;
    }
    for index in &taken.listed {
        let relation = Relation::numbered(tx.view(), relation.number)?;
        index.listed(&relation, None)?.list(tx, &relation)?;
    }
    let moved = |columns: Vec<usize>| -> Vec<usize> {
        let columns = columns.into_iter();
        columns
            .map(|column| if column == old { new } else { column })
            .collect()
    };
    for (number, key) in taken.references {
        let own = number == relation.number;
        let other = key.table == relation.number;
        let key = ForeignKey {
            columns: if own { moved(key.columns) } else { key.columns },
            referenced: if other {
                moved(key.referenced)
            } else {
                key.referenced
            },
            // As in PostgreSQL, whose triggers are made again.
            unchecked: Unchecked::default(),
            ..key
        };
        let child = Relation::numbered(tx.view(), number)?;
        let parent = Relation::numbered(tx.view(), key.table)?;
        let types = key.columns.iter().zip(&key.referenced);
        for pair in types {
            super::reference::check_types(&child, &parent, pair, Some(&key.name))?;
        }
        let is_valid = !child.notes.not_valid.contains(&key.name);
        validity::adding(tx, number, is_valid, |tx| {
            let added = tx.add_reference(number, key.clone());
            added.map_err(|error| of_new_reference(error.into(), (&child, &parent), &key))
        })?;
    }
    Ok(())
}
