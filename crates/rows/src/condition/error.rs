//! Why a text is no condition on a table's rows.

/// What is wrong with a condition, and where in its text, in bytes from its beginning.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConditionError {
    /// Something else is expected there.
    #[error("at {at} of the condition: {expected} is expected, not {found}")]
    Syntax {
        /// Where.
        at: usize,
        /// What would be right.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// The table has no such column.
    #[error("at {at} of the condition: there is no column {column:?}")]
    UnknownColumn {
        /// Where.
        at: usize,
        /// Its name.
        column: String,
    },
    /// Values of these types have no order.
    #[error("at {at} of the condition: {left} cannot be compared with {right}")]
    Incomparable {
        /// Where the second is.
        at: usize,
        /// The first, with its type.
        left: String,
        /// The second, with its type.
        right: String,
    },
    /// Something is no condition by itself, or no text for `like`.
    #[error("at {at} of the condition: {found} is not of type {expected}")]
    WrongType {
        /// Where.
        at: usize,
        /// The type that is needed.
        expected: &'static str,
        /// What is there, with its type.
        found: String,
    },
    /// A literal says no value.
    #[error("at {at} of the condition: {reason}")]
    Literal {
        /// Where.
        at: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// It is longer, or nested deeper, than conditions may be.
    #[error("at {at} of the condition: {what} is beyond the limit of {limit}")]
    Limit {
        /// Where.
        at: usize,
        /// What is limited.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
}
