//! Data of sessions that all their parts know: their options, and what a statement is given when it is run.

use crate::prepared::Prepared;
use crate::result::CopyData;
use crate::rights::Rights;
use sardonyx::schema::Value;

/// What a session begins with.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SessionOptions {
    /// Who it is.
    pub user: String,
    /// The name by which it connects to the database: `current_database()`. Empty for `sardonyx`.
    pub database: String,
    /// Parameters, such as `application_name`, to which `RESET` goes back.
    pub parameters: Vec<(String, String)>,
    /// What it may do.
    pub rights: Rights,
    /// Its number: `pg_backend_pid()`, and where notifications come from. 0 for the process's.
    pub process: u32,
}

/// What a statement is run with.
pub(super) struct Given<'g> {
    pub statement: &'g Prepared,
    pub parameters: &'g [Value],
    pub data: Option<&'g CopyData>,
    pub rows_max: u64,
    pub transaction_started: i64,
    pub statement_started: i64,
    pub seed: [u64; 2],
    /// True if a digest is wanted of what it tells.
    pub digests: bool,
}
