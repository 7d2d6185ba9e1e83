//! Lists of values in `IN (…)` and `= ANY (array)`. A value is compared with one after the other. A long list that is
//! the same for all rows of a statement becomes a set.
//!
//! Invariant: a set is kept with its list, so no other list has the same address meanwhile.

use super::arrays;
use super::{Environment, Expr};
use crate::error::SqlError;
use crate::hashing::{HashTable, hash_of};
use crate::rows::InputRow;
use crate::types::SqlType;
use sardonyx::schema::{Value, ValueRef};
use sardonyx_rows::condition::{compare, decided_by};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

/// Lists with more values than this are looked up in a set.
const COMPARED_MAX: usize = 8;

/// A list of values for a comparison.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct List {
    pub of: ListOf,
    /// True if the values are the same everywhere in one run of a statement.
    is_fixed: bool,
}

/// The parts of a list.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum ListOf {
    Items(Arc<[Expr]>),
    /// The elements of an array, with their type.
    Array(Arc<(Expr, SqlType)>),
}

/// Values without an order, found by their hash.
#[derive(Debug)]
pub(crate) struct ValueSet {
    table: HashTable,
    values: Vec<Value>,
    has_null: bool,
}

/// The sets of a statement's lists, made at their first use.
#[derive(Debug, Default)]
pub(crate) struct Lists(RefCell<HashMap<usize, KeptSet>>);

/// A list with the set of its values; none if the list itself is null.
type KeptSet = (ListOf, Option<Arc<ValueSet>>);

impl List {
    pub fn of_items(items: Vec<Expr>) -> List {
        List {
            is_fixed: items.iter().all(is_fixed),
            of: ListOf::Items(items.into()),
        }
    }

    pub fn of_array(array: Expr, element: SqlType) -> List {
        List {
            is_fixed: is_fixed(&array),
            of: ListOf::Array(Arc::new((array, element))),
        }
    }

    /// The number of its values, if it is known before they are computed.
    pub fn count(&self) -> Option<usize> {
        match &self.of {
            ListOf::Items(items) => Some(items.len()),
            ListOf::Array(_) => None,
        }
    }

    /// The expressions of its values.
    pub fn parts(&self) -> &[Expr] {
        match &self.of {
            ListOf::Items(items) => items,
            ListOf::Array(array) => std::slice::from_ref(&array.0),
        }
    }

    /// Replaces every column by another expression.
    pub fn replace_columns(&mut self, with: &dyn Fn(usize) -> Expr) {
        if self.is_fixed {
            return;
        }
        match &mut self.of {
            ListOf::Items(items) => {
                let items = Arc::make_mut(items).iter_mut();
                items.for_each(|item| item.replace_columns(with));
            }
            ListOf::Array(array) => Arc::make_mut(array).0.replace_columns(with),
        }
    }

    /// The values for a row; `None` if the list is a null array.
    ///
    /// # Errors
    /// An expression that cannot be computed.
    pub fn values(
        &self,
        row: &dyn InputRow,
        with: &Environment<'_>,
    ) -> Result<Option<Vec<Value>>, SqlError> {
        match &self.of {
            ListOf::Items(items) => {
                let mut values = Vec::with_capacity(items.len());
                for item in items.iter() {
                    values.push(item.evaluate(row, with)?.into_value());
                }
                Ok(Some(values))
            }
            ListOf::Array(array) => match array.0.evaluate(row, with)?.as_ref() {
                ValueRef::Text(text) => arrays::keys(text, array.1).map(Some),
                _ => Ok(None),
            },
        }
    }

    /// True if a value equals one of them; `None` if that is not known.
    ///
    /// # Errors
    /// An expression that cannot be computed.
    pub fn contains(
        &self,
        value: ValueRef<'_>,
        row: &dyn InputRow,
        with: &Environment<'_>,
    ) -> Result<Option<bool>, SqlError> {
        let is_long = match &self.of {
            ListOf::Items(items) => items.len() > COMPARED_MAX,
            // The text is not read again for each row.
            ListOf::Array(_) => true,
        };
        if let Some(lists) = with.lists.filter(|_| self.is_fixed && is_long) {
            return Ok(lists
                .set(self, row, with)?
                .and_then(|set| set.contains(value)));
        }
        if let ListOf::Items(items) = &self.of {
            let is = |item: &Expr| {
                let item = item.evaluate(row, with)?;
                Ok(compare(value, item.as_ref()).map(|order| order.is_eq()))
            };
            return decided_by(true, items.iter().map(is));
        }
        let values = self.values(row, with)?;
        Ok(values.and_then(|values| ValueSet::of(values).contains(value)))
    }
}

/// True if an expression has one value for all rows of a statement, in subqueries, too. A subquery without outer
/// columns is itself computed once.
fn is_fixed(expr: &Expr) -> bool {
    !expr.any(&|part| match part {
        Expr::Column(_) | Expr::Outer(_) | Expr::Before(_) => true,
        Expr::Call(function, _) => function.is_volatile() || function.gives_rows(),
        _ => false,
    })
}

impl ValueSet {
    pub fn of(values: Vec<Value>) -> ValueSet {
        let mut set = ValueSet {
            table: HashTable::default(),
            values: Vec::with_capacity(values.len()),
            has_null: false,
        };
        for value in values {
            set.add(value);
        }
        set
    }

    fn add(&mut self, value: Value) {
        if value == Value::Null {
            self.has_null = true;
        } else if !self.has(value.as_ref()) {
            self.table.push(hash_of(value.as_ref()));
            self.values.push(value);
        }
    }

    fn has(&self, value: ValueRef<'_>) -> bool {
        let mut same = self.table.found(hash_of(value));
        same.any(|at| compare(self.values[at].as_ref(), value).is_some_and(|order| order.is_eq()))
    }

    /// True if a value is in it; `None` if that is unknown.
    pub fn contains(&self, value: ValueRef<'_>) -> Option<bool> {
        if value == ValueRef::Null {
            // Even null is not in an empty list.
            return match self.values.is_empty() && !self.has_null {
                true => Some(false),
                false => None,
            };
        }
        match self.has(value) {
            true => Some(true),
            false if self.has_null => None,
            false => Some(false),
        }
    }
}

impl Lists {
    /// The set of a fixed list.
    fn set(
        &self,
        list: &List,
        row: &dyn InputRow,
        with: &Environment<'_>,
    ) -> Result<Option<Arc<ValueSet>>, SqlError> {
        let address = match &list.of {
            ListOf::Items(items) => Arc::as_ptr(items).addr(),
            ListOf::Array(array) => Arc::as_ptr(array).addr(),
        };
        if let Some((_, set)) = self.0.borrow().get(&address) {
            return Ok(set.clone());
        }
        let values = list.values(row, with)?;
        let set = values.map(|values| Arc::new(ValueSet::of(values)));
        let kept = (list.of.clone(), set.clone());
        self.0.borrow_mut().insert(address, kept);
        Ok(set)
    }
}
