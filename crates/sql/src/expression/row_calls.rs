//! Calls of set-returning functions, compiled: each extends the rows of its query by a value, and gives as many rows as
//! it has values. Calls side by side run together; a call whose arguments are of others runs in the rows that these give.
//!
//! While expressions are compiled it is not known how many columns there will be, so the value of a call has a place
//! from [`SETS`] on until the query around it is planned.
//!
//! Source: PostgreSQL's documentation, 38.5.9 (SQL functions returning sets), as of version 10.

use super::window::FIRST;
use super::{Expr, Typed};
use crate::types::SqlType;

/// The place of the first call's value while expressions are compiled: no row has so many columns. Those of window
/// functions are from [`FIRST`] on.
pub(crate) const SETS: usize = FIRST >> 1;

/// The number of a call, if a place is that of its value while expressions are compiled.
pub(crate) fn number_of(place: usize) -> Option<usize> {
    (SETS..FIRST).contains(&place).then(|| place - SETS)
}

/// A call of a set-returning function.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct RowCall {
    pub expr: Expr,
    pub kind: SqlType,
    /// The number of calls within each other that its arguments have.
    pub level: usize,
}

/// The calls of a query while it is compiled.
#[derive(Debug, Default)]
pub(crate) struct RowCalls {
    pub calls: Vec<RowCall>,
}

impl RowCalls {
    /// The place of a call's value. Two calls that are written the same are one, as in PostgreSQL.
    pub fn add(&mut self, called: Typed) -> Typed {
        let mut level = 0;
        called.expr.walk(&mut |part| {
            if let Expr::Column(place) = part
                && let Some(call) = number_of(*place).and_then(|number| self.calls.get(number))
            {
                level = level.max(call.level + 1);
            }
        });
        let call = RowCall {
            kind: called.kind(),
            expr: called.expr,
            level,
        };
        let found = self.calls.iter().position(|there| *there == call);
        let number = found.unwrap_or_else(|| {
            self.calls.push(call);
            self.calls.len() - 1
        });
        Typed {
            expr: Expr::Column(SETS + number),
            spec: called.spec,
        }
    }
}
