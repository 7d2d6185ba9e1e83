//! Data of sessions that all their parts know: their options, and the inputs of a statement.

use crate::activity::ClientAddress;
use crate::begun::Begun;
use crate::prepared::Prepared;
use crate::result::CopyData;
use crate::rights::Rights;
use sardonyx::schema::Value;

/// The options with which a session begins.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SessionOptions {
    /// The user's name.
    pub user: String,
    /// The name by which it connects to the database: `current_database()`. Empty for `sardonyx`.
    pub database: String,
    /// Parameters, such as `application_name`, to which `RESET` goes back.
    pub parameters: Vec<(String, String)>,
    /// Checked for each statement.
    pub rights: Rights,
    /// Its number: `pg_backend_pid()`, and the sender of its notifications. 0 for the process's.
    pub process: u32,
    /// The connection of its client.
    pub client: ClientAddress,
}

/// The inputs of a statement.
pub(super) struct Given<'g> {
    pub statement: &'g Prepared,
    pub parameters: &'g [Value],
    pub data: Option<&'g CopyData>,
    pub rows_max: u64,
    pub transaction: Begun,
    pub statement_started: i64,
    pub seed: [u64; 2],
    /// True if a digest of its answer is needed.
    pub digests: bool,
}
