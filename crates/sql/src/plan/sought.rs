//! The values with which the columns of an index are sought: one for each column, or several. Their combinations are
//! keys in the order of the index.

use super::key::key_value;
use crate::error::SqlError;
use crate::expression::{Environment, Expr, List, Subquery};
use crate::rows::Values;
use sardonyx::schema::{KeyPart, Type, Value};
use sardonyx_rows::condition::compare;
use std::cmp::Ordering;

/// The estimated number of values of an array or a query.
pub(crate) const UNKNOWN_COUNT: usize = 128;

/// The values that a column must equal.
#[derive(Clone, Debug)]
pub(crate) enum Sought {
    One(Expr),
    Any(List),
    /// One of the values of a query.
    Query(Box<Subquery>),
}

/// The number of values of a list, as an upper bound or an estimate.
pub(crate) fn count_of(list: &List) -> usize {
    list.count().unwrap_or(UNKNOWN_COUNT)
}

impl Sought {
    /// The number of values, as an upper bound or an estimate.
    pub fn count(&self) -> usize {
        match self {
            Sought::One(_) => 1,
            Sought::Any(list) => count_of(list),
            Sought::Query(_) => UNKNOWN_COUNT,
        }
    }

    /// True if `is_so` accepts a part of it.
    pub fn any(&self, is_so: &dyn Fn(&Expr) -> bool) -> bool {
        match self {
            Sought::One(expr) => expr.any(is_so),
            Sought::Any(list) => list.parts().iter().any(|part| part.any(is_so)),
            Sought::Query(query) => query.arguments.iter().any(|part| part.any(is_so)),
        }
    }
}

/// A column of a key, with the values that it must equal.
#[derive(Clone, Debug)]
pub(crate) struct KeyColumn {
    pub sought: Sought,
    pub kind: Type,
    pub descending: bool,
}

impl KeyColumn {
    pub fn new(sought: Sought, part: &KeyPart, kind: Type) -> KeyColumn {
        KeyColumn {
            sought,
            kind,
            descending: part.descending,
        }
    }
}

/// True if all columns have one value each.
pub(crate) fn is_single(key: &[KeyColumn]) -> bool {
    key.iter().all(|column| column.sought.count() == 1)
}

/// Calls `each` with every key that the columns may have, once each, in the order of the index or against it, until
/// `each` returns false.
///
/// # Errors
/// Evaluation errors; errors of `each`.
pub(crate) fn each_key(
    columns: &[KeyColumn],
    backward: bool,
    with: &Environment<'_>,
    each: &mut dyn FnMut(Vec<Value>) -> Result<bool, SqlError>,
) -> Result<(), SqlError> {
    if let Some(key) = only_key(columns, with)? {
        return match key {
            Some(key) => each(key).map(drop),
            None => Ok(()),
        };
    }
    let mut choices = Vec::with_capacity(columns.len());
    for column in columns {
        let values = column.values(backward, with)?;
        if values.is_empty() {
            return Ok(());
        }
        choices.push(values);
    }
    let mut places = vec![0; choices.len()];
    loop {
        with.context.look_at_row()?;
        let key = choices.iter().zip(&places);
        let key = key.map(|(values, place)| values[*place].clone());
        if !each(key.collect())? || !advance(&mut places, &choices) {
            return Ok(());
        }
    }
}

/// Advances to the next combination: the last column changes fastest. Returns true if there is one.
fn advance(places: &mut [usize], choices: &[Vec<Value>]) -> bool {
    for (place, values) in places.iter_mut().zip(choices).rev() {
        *place += 1;
        if *place < values.len() {
            return true;
        }
        *place = 0;
    }
    false
}

/// The key of columns with one value each; `None` inside if a value is not valid for its column; `None` if there are
/// several keys.
///
/// # Errors
/// Evaluation errors.
pub(crate) fn only_key(
    columns: &[KeyColumn],
    with: &Environment<'_>,
) -> Result<Option<Option<Vec<Value>>>, SqlError> {
    let mut key = Vec::with_capacity(columns.len() + 1);
    for column in columns {
        let Sought::One(part) = &column.sought else {
            return Ok(None);
        };
        match key_value(part.constant(with)?, column.kind) {
            Some(value) => key.push(value),
            None => return Ok(Some(None)),
        }
    }
    Ok(Some(Some(key)))
}

impl KeyColumn {
    /// The distinct values of the column, in order.
    fn values(&self, backward: bool, with: &Environment<'_>) -> Result<Vec<Value>, SqlError> {
        let said = match &self.sought {
            Sought::One(part) => vec![part.constant(with)?],
            Sought::Any(list) => list.values(&Values(&[]), with)?.unwrap_or_default(),
            Sought::Query(query) => query.query.equal_values(query, with)?,
        };
        let values = said.into_iter();
        let mut values: Vec<Value> = values
            .filter_map(|value| key_value(value, self.kind))
            .collect();
        let order = |a: &Value, b: &Value| compare(a.as_ref(), b.as_ref());
        values.sort_unstable_by(|a, b| order(a, b).unwrap_or(Ordering::Equal));
        values.dedup_by(|a, b| order(a, b).is_some_and(Ordering::is_eq));
        if self.descending != backward {
            values.reverse();
        }
        Ok(values)
    }
}
