//! A test of a value with each element of an array: `x operator ANY (array)` and `ALL`, for operators that do not compare.
//!
//! The value and the array are computed once for a row. The test is an expression of its own, over a row of the value
//! and an element, so that it takes no copy of either.

use super::{Environment, Expr, arrays};
use crate::error::SqlError;
use crate::rows::InputRow;
use crate::types::SqlType;
use sardonyx::schema::ValueRef;
use sardonyx_rows::condition::decided_by;

/// The place of the value in the row of the test.
pub(crate) const VALUE: usize = 0;
/// The place of the element.
pub(crate) const ELEMENT: usize = 1;

/// `ANY` or `ALL` of a test.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Each {
    pub value: Expr,
    pub elements: Elements,
    /// The test. Its columns are [`VALUE`] and [`ELEMENT`].
    pub test: Expr,
    pub is_all: bool,
    /// The operator, as `EXPLAIN` shows it.
    pub symbol: String,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Elements {
    /// The elements of `ARRAY[…]`, of which no array is made.
    Items(Vec<Expr>),
    /// An array, with the type of its elements.
    Array(Expr, SqlType),
}

impl Elements {
    pub fn parts(&self) -> &[Expr] {
        match self {
            Elements::Items(items) => items,
            Elements::Array(array, _) => std::slice::from_ref(array),
        }
    }

    pub fn parts_mut(&mut self) -> &mut [Expr] {
        match self {
            Elements::Items(items) => items,
            Elements::Array(array, _) => std::slice::from_mut(array),
        }
    }
}

/// The row of the test.
struct Pair<'v>([ValueRef<'v>; 2]);

impl InputRow for Pair<'_> {
    fn value(&self, place: usize) -> Result<ValueRef<'_>, SqlError> {
        Ok(self.0.get(place).copied().unwrap_or(ValueRef::Null))
    }
}

impl Each {
    /// True if the test is so of any element, or of all; `None` if that is unknown.
    ///
    /// # Errors
    /// Errors of the expressions.
    pub fn truth(
        &self,
        row: &dyn InputRow,
        with: &Environment<'_>,
    ) -> Result<Option<bool>, SqlError> {
        let value = self.value.evaluate(row, with)?;
        let met = |element: ValueRef<'_>| {
            with.context.look_at_row()?;
            let pair = Pair([value.as_ref(), element]);
            self.test.truth(&pair, with)
        };
        match &self.elements {
            Elements::Items(items) => {
                // Each is computed, as those of an array are: an error of a later one is an error.
                let mut elements = Vec::with_capacity(items.len());
                for item in items {
                    elements.push(item.evaluate(row, with)?);
                }
                decided_by(
                    !self.is_all,
                    elements.iter().map(|element| met(element.as_ref())),
                )
            }
            Elements::Array(array, kind) => {
                let array = array.evaluate(row, with)?;
                let ValueRef::Text(text) = array.as_ref() else {
                    return Ok(None);
                };
                let elements = arrays::values(text, *kind)?;
                decided_by(
                    !self.is_all,
                    elements.iter().map(|element| met(element.as_ref())),
                )
            }
        }
    }
}
