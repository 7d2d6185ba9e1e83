//! A deleted row, and the rows that refer to it: they prevent the deletion, are deleted with it, or refer to nothing,
//! or to their defaults, from then on.

use super::ConstrainedRows;
use super::held::Why;
use super::references::{Referred, check_interruption, referred, refuse_or_hold};
use crate::error::TableError;
use crate::row::{RowError, RowWriter, same};
use crate::schema::{DeclaredDefault, OnDelete, Schema, Value};
use std::collections::BTreeMap;

/// Rows, each with the columns that are set of it and their values: none of a row that is deleted.
type Rows<P> = BTreeMap<(u16, P), Vec<(usize, Value)>>;

/// Deletes a row and the rows that are deleted with it, and sets the columns of those that are to refer to something
/// else. Does nothing if one of them prevents it.
///
/// # Errors
/// [`TableError::Referenced`]; of rows whose columns are set, those of
/// [`WriteRows::update_row`](crate::WriteRows::update_row); that the transaction is too large.
#[cold]
pub fn delete_row<S: ConstrainedRows>(
    store: &mut S,
    table: u16,
    at: S::Place,
) -> Result<(), TableError> {
    delete_all(store, vec![(table, at)])
}

/// The same of several rows, each given once.
fn delete_all<S: ConstrainedRows>(
    store: &mut S,
    mut going: Vec<(u16, S::Place)>,
) -> Result<(), TableError> {
    let mut known: Rows<S::Place> = going.iter().map(|row| (row.clone(), Vec::new())).collect();
    let (mut staying, mut setting) = (Vec::new(), Vec::new());
    let mut next = 0;
    // Each referring row is found once, also in a circle.
    while let Some((table, at)) = going.get(next).cloned() {
        check_interruption(next)?;
        next += 1;
        for referred in referred(store, table, at, &|_| true)? {
            match referred.reference().on_delete {
                OnDelete::Restrict => staying.push(referred),
                OnDelete::SetNull | OnDelete::SetDefault => {
                    let values = values_of(store, &referred)?;
                    match is_same(&referred, &values) {
                        true => staying.push(referred),
                        false => setting.push((referred, values)),
                    }
                }
                OnDelete::Cascade => {
                    for at in referred.rows(store)? {
                        if known
                            .insert((referred.by, at.clone()), Vec::new())
                            .is_none()
                        {
                            going.push((referred.by, at));
                        }
                    }
                }
            }
        }
    }
    for referred in staying {
        if store.held().holds() {
            refuse_or_hold(store, &referred, Why::DELETED)?;
            continue;
        }
        let mut rows = referred.rows(store)?.into_iter();
        if rows.any(|at| !known.contains_key(&(referred.by, at))) {
            return Err(referred.refused(store));
        }
    }
    let set = set_of(store, &setting, &known)?;
    store.whole(|store| {
        let mut going = going.into_iter().rev();
        going.try_for_each(|(table, at)| store.delete_alone(table, at))?;
        set_columns(store, set)
    })
}

/// References to a row that was deleted: the rows that refer so are still to follow it ([`follow`]).
#[derive(Debug, Default)]
pub struct Followers(Vec<Referred>);

/// Deletes a row. Rows that would be deleted with it, or changed, stay as they are until [`follow`]: a statement that
/// changes rows in several ways calls it at its end, as PostgreSQL does. The caller holds references.
///
/// # Errors
/// [`TableError::Referenced`] if references are not held; that the transaction is too large.
#[cold]
pub fn delete_before_others<S: ConstrainedRows>(
    store: &mut S,
    table: u16,
    at: S::Place,
) -> Result<Followers, TableError> {
    let mut followers = Vec::new();
    for referred in referred(store, table, at.clone(), &|_| true)? {
        let stays = match referred.reference().on_delete {
            OnDelete::Restrict => true,
            OnDelete::SetNull | OnDelete::SetDefault => {
                let values = values_of(store, &referred)?;
                is_same(&referred, &values)
            }
            OnDelete::Cascade => false,
        };
        match stays {
            true => refuse_or_hold(store, &referred, Why::DELETED)?,
            false => followers.push(referred),
        }
    }
    store.delete_alone(table, at)?;
    Ok(Followers(followers))
}

/// Deletes or changes the rows that refer to a deleted row now.
///
/// # Errors
/// The errors of [`delete_row`].
#[cold]
pub fn follow<S: ConstrainedRows>(
    store: &mut S,
    Followers(followers): Followers,
) -> Result<(), TableError> {
    for (number, referred) in followers.into_iter().enumerate() {
        check_interruption(number)?;
        match referred.reference().on_delete {
            OnDelete::Restrict => {}
            OnDelete::Cascade => {
                let rows = referred.rows(store)?.into_iter();
                let rows = rows.map(|at| (referred.by, at)).collect();
                delete_all(store, rows)?;
            }
            OnDelete::SetNull | OnDelete::SetDefault => {
                let values = values_of(store, &referred)?;
                let set = set_of(store, &[(referred, values)], &Rows::new())?;
                set_columns(store, set)?;
            }
        }
    }
    Ok(())
}

fn set_columns<S: ConstrainedRows>(store: &mut S, set: Rows<S::Place>) -> Result<(), TableError> {
    for (number, ((table, at), values)) in set.into_iter().enumerate() {
        check_interruption(number)?;
        let mut change = RowWriter::default();
        for (column, value) in &values {
            change.set(*column, value.as_ref());
        }
        store.update_row(table, at, &change)?;
    }
    Ok(())
}

/// The columns to set of rows that refer so and are not deleted: each row once, however often it refers.
fn set_of<S: ConstrainedRows>(
    store: &S,
    setting: &[(Referred, Vec<(usize, Value)>)],
    going: &Rows<S::Place>,
) -> Result<Rows<S::Place>, TableError> {
    let mut set = Rows::new();
    for (referred, values) in setting {
        let rows = referred.rows(store)?.into_iter();
        let rows = rows.map(|at| (referred.by, at));
        for row in rows.filter(|row| !going.contains_key(row)) {
            // If a column is set twice, the last value wins: `RowWriter::set` replaces the one before.
            let columns: &mut Vec<(usize, Value)> = set.entry(row).or_default();
            columns.extend_from_slice(values);
        }
    }
    Ok(set)
}

/// True if the columns would keep their values, so that the rows still refer to the deleted row.
fn is_same(referred: &Referred, values: &[(usize, Value)]) -> bool {
    let mut columns = values.iter().zip(&referred.values);
    columns.all(|((column, value), there)| {
        let kind = referred.schema.columns[*column].kind;
        *value != Value::Null && same(kind, there.as_ref(), value.as_ref())
    })
}

/// The values that the columns of a reference get.
fn values_of<S: ConstrainedRows>(
    store: &mut S,
    referred: &Referred,
) -> Result<Vec<(usize, Value)>, TableError> {
    let (schema, reference) = (&*referred.schema, referred.reference());
    let columns = reference.columns.iter();
    if reference.on_delete == OnDelete::SetNull {
        return Ok(columns.map(|&column| (column, Value::Null)).collect());
    }
    let computed = store.computed_defaults(referred.by, &others(schema, &reference.columns))?;
    let mut values = Vec::with_capacity(reference.columns.len());
    for &column in columns {
        let mut computed = computed.iter();
        let found = computed.find(|(number, _)| *number == column);
        let declared = schema.declared(column);
        let declared = declared.and_then(|declared| declared.default.as_ref());
        values.push(match (found, declared) {
            (Some(found), _) => found.clone(),
            (None, Some(DeclaredDefault::Value(value))) => (column, value.clone()),
            (None, None) => (column, schema.columns[column].default.clone()),
            (None, Some(_)) => {
                let table = store.name_of(referred.by);
                return Err(RowError::not_computed_here(schema, &table, column).into());
            }
        });
    }
    Ok(values)
}

/// A row that sets all columns but these.
fn others<'s>(schema: &'s Schema, columns: &[usize]) -> RowWriter<'s> {
    let mut row = RowWriter::new(schema.columns.len());
    for (number, column) in schema.live_columns() {
        if !columns.contains(&number) {
            row.set(number, column.default.as_ref());
        }
    }
    row
}
