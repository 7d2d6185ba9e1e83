//! Why a text is no condition on a table's rows.

#![allow(missing_docs, reason = "the text of each error names its fields")]

/// The error of a condition, with its place in the text, in bytes from the beginning.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConditionError {
    /// Something else is expected there.
    #[error("at {at} of the condition: {expected} is expected, not {found}")]
    Syntax {
        /// The place in the text.
        at: usize,
        /// The tokens that are valid there.
        expected: &'static str,
        /// The token that was found.
        found: String,
    },
    /// It is no condition that every program tests, and this program does not speak SQL.
    #[error(
        "{plain}; any other condition is SQL, which this program does not speak: a program in Rust calls \
         `sardonyx_sql::enforce_checks` first, and the libraries of C and Python are built with their feature `sql`"
    )]
    NeedsSql {
        /// The error of the part of SQL that every program tests.
        plain: Box<ConditionError>,
    },
    /// It is no condition of SQL either.
    #[error("in SQL: {reason} ({code})")]
    Sql {
        /// SQLSTATE.
        code: &'static str,
        reason: String,
    },
    /// The table has no such column.
    #[error("at {at} of the condition: there is no column {column:?}")]
    UnknownColumn {
        /// The place in the text.
        at: usize,
        /// Its name.
        column: String,
    },
    /// Values of these types have no order.
    #[error("at {at} of the condition: {left} cannot be compared with {right}")]
    Incomparable {
        /// The place of the second.
        at: usize,
        /// The first, with its type.
        left: String,
        /// The second, with its type.
        right: String,
    },
    /// Something is no condition by itself, or no text for `like`.
    #[error("at {at} of the condition: {found} is not of type {expected}")]
    WrongType {
        /// The place in the text.
        at: usize,
        /// The type that is needed.
        expected: &'static str,
        /// The operand that was found, with its type.
        found: String,
    },
    /// A literal has no value.
    #[error("at {at} of the condition: {reason}")]
    Literal {
        /// The place in the text.
        at: usize,
        reason: String,
    },
    /// It is longer, or nested deeper, than conditions may be.
    #[error("at {at} of the condition: {what} is beyond the limit of {limit}")]
    Limit {
        /// The place in the text.
        at: usize,
        /// The limited quantity.
        what: &'static str,
        limit: usize,
    },
}
