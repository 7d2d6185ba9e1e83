//! The failure of a computed default, below the errors of rows, which say it with table and column.

use sardonyx_base::waiting::Reason;

/// A default that cannot be computed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DefaultFailure {
    /// SQLSTATE.
    pub code: &'static str,
    /// A half sentence that ends the message.
    pub reason: String,
    /// The interruption of the statement, if that ended the computation.
    pub interrupted: Option<Reason>,
}
