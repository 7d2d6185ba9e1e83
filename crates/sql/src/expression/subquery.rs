//! Subqueries in expressions: the question to a query, and the outer values that it asks for.

use super::{Comparison, Environment, Expr};
use crate::error::SqlError;
use crate::rows::InputRow;
use crate::types::SqlType;
use sardonyx::schema::Value;
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

/// A query in an expression, planned.
pub(crate) trait InnerQuery: Any + Debug + Send + Sync {
    /// The answer to a subquery's question, for a row.
    ///
    /// # Errors
    /// A value that cannot be computed; `21000` if the question is for a value and there are several rows.
    fn value(
        &self,
        subquery: &Subquery,
        row: &dyn InputRow,
        with: &Environment<'_>,
    ) -> Result<Value, SqlError>;

    /// The values of its rows, each once, for a test of equality with one of them.
    ///
    /// # Errors
    /// An expression that cannot be computed.
    fn equal_values(
        &self,
        subquery: &Subquery,
        with: &Environment<'_>,
    ) -> Result<Vec<Value>, SqlError>;

    /// The number of those values.
    ///
    /// # Errors
    /// An expression that cannot be computed.
    fn count_equal(&self, subquery: &Subquery, with: &Environment<'_>) -> Result<usize, SqlError>;

    /// True if another run may give another answer, or have an effect.
    fn is_volatile(&self) -> bool;

    /// True if it is a function that gives rows.
    fn gives_rows(&self) -> bool {
        false
    }

    /// The fields of its values, if they are rows whose fields are known.
    fn fields(&self) -> &[(String, SqlType)] {
        &[]
    }
}

/// A subquery in an expression.
#[derive(Clone, Debug)]
pub(crate) struct Subquery {
    pub question: Question,
    pub query: Arc<dyn InnerQuery>,
    /// The values that it asks for of the row around it.
    pub arguments: Vec<Expr>,
    /// Its number in the statement.
    pub number: usize,
}

/// The question to its rows.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Question {
    /// The value of the only row; null if there is none.
    Value,
    /// The value of the only row in this column; null if there is no row. All columns of one query have its number, so it
    /// runs once for them.
    Column(usize),
    /// True if there are rows.
    Exists,
    /// An array of the values of all rows, of this type.
    Array(SqlType),
    Compared(Box<Compared>),
}

/// A comparison of values with those of the rows: with any of them, or with all.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Compared {
    pub comparison: Comparison,
    pub is_all: bool,
    pub left: Vec<Expr>,
    /// The values of the subquery's rows.
    pub right: Vec<Expr>,
}

impl PartialEq for Subquery {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
            && self.arguments == other.arguments
            && self.question == other.question
    }
}

impl Subquery {
    /// The expressions over the row around it.
    pub fn parts(&self) -> impl Iterator<Item = &Expr> {
        let left = match &self.question {
            Question::Compared(compared) => compared.left.as_slice(),
            _ => &[],
        };
        left.iter().chain(&self.arguments)
    }

    /// The same, to change them.
    pub fn parts_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let left = match &mut self.question {
            Question::Compared(compared) => compared.left.as_mut_slice(),
            _ => &mut [],
        };
        left.iter_mut().chain(&mut self.arguments)
    }

    /// Its value for a row.
    ///
    /// # Errors
    /// As [`InnerQuery::value`].
    pub fn value(&self, row: &dyn InputRow, with: &Environment<'_>) -> Result<Value, SqlError> {
        self.query.value(self, row, with)
    }

    /// The column that must equal one of its values, if the question is equality and the values are the same for all
    /// rows.
    pub fn equal_column(&self) -> Option<usize> {
        let Question::Compared(compared) = &self.question else {
            return None;
        };
        let is_constant = self.arguments.iter().all(Expr::is_constant);
        match compared.left.as_slice() {
            [Expr::Column(column)] if compared.has_keys() && is_constant => Some(*column),
            _ => None,
        }
    }
}

impl Compared {
    /// True if keys of the rows answer it.
    pub fn has_keys(&self) -> bool {
        self.comparison == Comparison::Equal && !self.is_all
    }
}
