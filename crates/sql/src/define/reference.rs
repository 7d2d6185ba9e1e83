//! Foreign keys: compiled from a statement, and added to an existing table.

use super::columns::Constraint;
use super::create::constraint_exists;
use super::naming::chosen;
use super::validity;
use crate::declared::put_notes;
use crate::define_target::DefineTarget;
use crate::error::{SqlError, code};
use crate::names::{full_match_of, quoted};
use crate::on_commit::OnCommit;
use crate::path::{is_temporary, local};
use crate::relation::{ReferenceNotes, Relation};
use crate::search_path::SearchPath;
use crate::types::SqlType;
use crate::user_types::is_of_user;
use crate::violations::of_new_reference;
use sardonyx::schema::{ForeignKey, IndexDefinition, KeyPart, OnDelete, Type, Unchecked};

/// Adds a foreign key to a table. Rows that are there need not meet it if it is not valid.
///
/// # Errors
/// Invalid SQL; `23503` if a row refers to a missing row.
pub(super) fn add_foreign(
    tx: &mut dyn DefineTarget,
    table: &str,
    (constraint, is_valid): (&Constraint, bool),
    path: &SearchPath,
) -> Result<(), SqlError> {
    let Some(new) = reference_of(tx, table, constraint, path)? else {
        return Ok(());
    };
    let NewReference {
        relation,
        parent,
        key,
        notes: said,
        columns,
        ..
    } = &new;
    let name = &key.name;
    let is_noted = *said != ReferenceNotes::default();
    if is_noted || !is_valid {
        let mut notes = relation.notes.clone();
        notes.table.clone_from(&relation.name);
        if is_noted {
            notes.references.insert(name.clone(), *said);
        }
        if !is_valid {
            notes.not_valid.insert(name.clone());
        }
        put_notes(tx, relation.number, &notes)?;
    }
    for notes in relation.notes.triggers.values() {
        let mut with = relation.clone();
        let keys = &mut std::sync::Arc::make_mut(&mut with.schema).foreign_keys;
        keys.push(key.clone());
        super::trigger::refuse_actions(&with, notes)?;
    }
    validity::adding(tx, relation.number, is_valid, |tx| {
        let added = tx.add_reference(relation.number, key.clone());
        added.map_err(|error| of_new_reference(error.into(), (relation, parent), key))
    })?;
    if new.is_mixed() {
        let all = |what: &str| {
            let columns = columns
                .iter()
                .map(|column| format!("{} {what}", quoted(column)));
            columns.collect::<Vec<_>>().join(" AND ")
        };
        let condition = format!("({}) OR ({})", all("IS NULL"), all("IS NOT NULL"));
        validity::adding(tx, relation.number, is_valid, |tx| {
            Ok(tx.add_check(relation.number, &full_match_of(name), &condition)?)
        })?;
    }
    Ok(())
}

/// A new foreign key.
#[derive(Debug)]
pub(super) struct NewReference<'c> {
    relation: Relation,
    parent: Relation,
    pub key: ForeignKey,
    notes: ReferenceNotes,
    columns: &'c [String],
    /// The unique index of the parent's columns; `None` for the primary key.
    pub index: Option<String>,
}

impl NewReference<'_> {
    /// True if `MATCH FULL` adds a condition: all columns are null, or none is.
    pub fn is_mixed(&self) -> bool {
        self.notes.full && self.key.columns.len() > 1
    }
}

/// Compiles a constraint to a foreign key, if it is one.
///
/// # Errors
/// Invalid SQL.
pub(super) fn reference_of<'c>(
    tx: &dyn DefineTarget,
    table: &str,
    constraint: &'c Constraint,
    path: &SearchPath,
) -> Result<Option<NewReference<'c>>, SqlError> {
    let Constraint::Foreign {
        name,
        columns,
        table: to,
        referenced,
        on_delete,
        notes,
    } = constraint
    else {
        return Ok(None);
    };
    let source = tx.view();
    let relation = Relation::named(source, table)?;
    let parent = Relation::named(source, &path.find(source, to)?)?;
    if parent.notes.materialized.is_some() {
        let text = format!("referenced relation \"{}\" is not a table", parent.local());
        return Err(SqlError::new(code::WRONG_OBJECT_TYPE, text));
    }
    check_lives(&relation, &parent)?;
    // A reference would prevent the deletion of keys.
    crate::keyspace::check(source, &parent.name)?;
    let mut numbers = Vec::with_capacity(columns.len());
    let sets = matches!(on_delete, OnDelete::SetNull | OnDelete::SetDefault);
    for column in columns {
        let column = relation.column(column)?;
        if notes.on_update.is_some() && column.is_generated {
            return Err(SqlError::syntax(
                "invalid ON UPDATE action for foreign key constraint containing generated column",
            ));
        }
        if sets && column.is_generated {
            return Err(SqlError::syntax(
                "invalid ON DELETE action for foreign key constraint containing generated column",
            ));
        }
        numbers.push(column.number);
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
            code::INVALID_FOREIGN_KEY,
            "number of referencing and referenced columns for foreign key disagree",
        ));
    }
    let (index, numbers, there) = in_key_order(&parent, &numbers, &there)?;
    for pair in numbers.iter().zip(&there) {
        check_types(&relation, &parent, pair, name.as_ref())?;
    }
    let parts: Vec<&str> = columns.iter().map(String::as_str).collect();
    let name = chosen(name.as_ref(), local(table), &parts, "fkey", |name| {
        relation.has_constraint(name)
    });
    if relation.has_constraint(&name) {
        return Err(constraint_exists(&name, table));
    }
    let key = ForeignKey {
        name,
        columns: numbers,
        table: parent.number,
        referenced: there,
        on_delete: *on_delete,
        unchecked: Unchecked::default(),
    };
    Ok(Some(NewReference {
        relation,
        parent,
        key,
        notes: *notes,
        columns,
        index,
    }))
}

/// Checks that a table and its parent have the same lifetime.
fn check_lives(relation: &Relation, parent: &Relation) -> Result<(), SqlError> {
    let is_temporary = |relation: &Relation| is_temporary(relation.schema_name());
    let is_emptied = |relation: &Relation| relation.notes.on_commit == Some(OnCommit::DeleteRows);
    let (what, only) = match (is_temporary(relation), is_temporary(parent)) {
        (true, false) => ("temporary", "temporary"),
        (false, true) => ("permanent", "permanent"),
        _ if parent.number != relation.number && is_emptied(parent) && !is_emptied(relation) => {
            let text = "unsupported ON COMMIT and foreign key combination";
            return Err(SqlError::unsupported(text).detail(format!(
                "Table \"{}\" references \"{}\", but they do not have the same ON COMMIT setting.",
                relation.local(),
                parent.local()
            )));
        }
        _ => return Ok(()),
    };
    let text = format!("constraints on {what} tables may reference only {only} tables");
    Err(SqlError::new(code::INVALID_TABLE_DEFINITION, text))
}

/// Checks that a column can refer to another: both have one type, or are integers; or an integer or a `numeric` refers to a
/// `numeric`.
pub(super) fn check_types(
    relation: &Relation,
    parent: &Relation,
    (from, to): (&usize, &usize),
    name: Option<&String>,
) -> Result<(), SqlError> {
    let of = |relation: &Relation, number| relation.numbered_column(number).cloned();
    let (Some(from), Some(to)) = (of(relation, *from), of(parent, *to)) else {
        return Ok(());
    };
    let is_whole = |kind| matches!(kind, SqlType::Int2 | SqlType::Int4 | SqlType::Int8);
    let has_keys = from.spec.kind.has_keys() || to.spec.kind.has_keys();
    let is_own = |kind: SqlType| {
        has_keys
            || kind == SqlType::Json
            || kind.is_network()
            || kind.is_bits()
            || kind == SqlType::Timetz
            || kind.is_range()
            || is_of_user(kind.oid())
    };
    let is_one = from.spec.kind == to.spec.kind
        || from.spec.kind.is_network() && to.spec.kind.is_network()
        || !is_own(from.spec.kind) && !is_own(to.spec.kind);
    let is_decimal = |stored| matches!(stored, Type::Decimal { .. });
    let is_number = is_whole(from.spec.kind) && (is_whole(to.spec.kind) || is_decimal(to.stored))
        || is_decimal(from.stored) && is_decimal(to.stored);
    if from.stored == to.stored && is_one || is_number {
        return Ok(());
    }
    let name = name.cloned();
    let name = name.unwrap_or_else(|| format!("{}_{}_fkey", relation.local(), from.name));
    Err(SqlError::new(
        code::DATATYPE_MISMATCH,
        format!("foreign key constraint \"{name}\" cannot be implemented"),
    )
    .detail(format!(
        "Key columns \"{}\" and \"{}\" are of incompatible types: {} and {}.",
        from.name,
        to.name,
        from.spec.kind.name(),
        to.spec.kind.name()
    )))
}

/// A unique index, and two lists of columns.
type InOrder = (Option<String>, Vec<usize>, Vec<usize>);

/// Finds the unique index of the referenced columns, and puts the columns of both tables into the index's order. The
/// index is `None` for the primary key.
///
/// # Errors
/// `42830` if there is no such index.
fn in_key_order(
    parent: &Relation,
    columns: &[usize],
    referenced: &[usize],
) -> Result<InOrder, SqlError> {
    let unique = parent.schema.indexes.iter().filter(|index| index.unique);
    let mut keys = [&parent.schema.primary].into_iter().chain(unique);
    let is_it = |index: &&IndexDefinition| {
        let mut key = index.key.iter();
        index.key.len() == referenced.len() && key.all(|part| referenced.contains(&part.column))
    };
    let Some(key) = keys.find(is_it) else {
        let mut indexes = parent.schema.indexes.iter();
        if indexes.any(|index| index.deferrable && is_it(&index)) {
            return Err(SqlError::new(
                code::NOT_IN_PREREQUISITE_STATE,
                format!(
                    "cannot use a deferrable unique constraint for referenced table \"{}\"",
                    parent.local()
                ),
            ));
        }
        return Err(SqlError::new(
            code::INVALID_FOREIGN_KEY,
            format!(
                "there is no unique constraint matching given keys for referenced table \"{}\"",
                parent.local()
            ),
        ));
    };
    let place = |part: &KeyPart| referenced.iter().position(|column| *column == part.column);
    let places = key.key.iter().filter_map(place);
    let (columns, referenced) = places.map(|at| (columns[at], referenced[at])).unzip();
    let primary = &parent.schema.primary;
    let index = (!std::ptr::eq(key, primary)).then(|| key.name.clone());
    Ok((index, columns, referenced))
}
