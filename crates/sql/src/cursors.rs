//! Cursors: the statements `DECLARE`, `FETCH`, `MOVE` and `CLOSE`.
//!
//! A cursor is a portal of the protocol. So the server keeps it, and runs its query as any other that is read in
//! portions ([`Prepared::cursor`]). A session does not know it.
//!
//! Source: PostgreSQL's documentation, *DECLARE*, *FETCH*, *MOVE*, *CLOSE*.

use crate::error::{SqlError, code};
use crate::names::name_of;
pub use crate::parse::Direction;
use crate::parse::Fetch;
use crate::prepared::{Prepared, StatementText};
use crate::rights::Rights;
use crate::types::SqlType;
use sqlparser::ast::{CloseCursor, Declare, Statement};
use std::sync::Arc;

/// A statement on one, for the session that keeps it.
#[derive(Clone, Debug)]
pub enum CursorCommand {
    /// Runs a query, whose rows are fetched later.
    Declare {
        /// The cursor's name.
        name: String,
        /// Planned when the cursor is declared.
        query: Arc<Prepared>,
        /// True if it stays after the transaction (`WITH HOLD`).
        is_held: bool,
        /// True if its rows are fetched in any direction (`SCROLL`).
        scrolls: bool,
    },
    /// Gives the next rows, or skips them.
    Fetch {
        /// The cursor's name.
        name: String,
        /// The rows to fetch.
        direction: Direction,
        /// True if they are skipped (`MOVE`).
        is_move: bool,
    },
    /// Forgets a cursor; `None` for all.
    Close(Option<String>),
}

impl CursorCommand {
    /// The refusal of rows that are not ahead, for a cursor that was declared without `SCROLL`.
    pub fn forward_only() -> SqlError {
        SqlError::new(
            code::NOT_IN_PREREQUISITE_STATE,
            "cursor can only scan forward",
        )
        .hint("Declare it with SCROLL option to enable backward scan.")
    }
}

impl From<Fetch> for CursorCommand {
    fn from(fetch: Fetch) -> CursorCommand {
        let Fetch {
            name,
            direction,
            is_move,
        } = fetch;
        CursorCommand::Fetch {
            name,
            direction,
            is_move,
        }
    }
}

/// The command on a cursor that a parsed statement is, if it is one.
///
/// # Errors
/// `0A000` for unsupported cursors.
pub(crate) fn command_of(
    text: &StatementText,
    statement: &Statement,
    types: &[Option<SqlType>],
    rights: &Arc<Rights>,
) -> Result<Option<CursorCommand>, SqlError> {
    match statement {
        Statement::Declare { stmts, .. } => {
            match stmts.as_slice() {
                [
                    Declare {
                        names,
                        for_query: Some(query),
                        binary,
                        scroll,
                        hold,
                        ..
                    },
                ] if names.len() == 1 => {
                    if binary == &Some(true) {
                        return Err(SqlError::unsupported(
                            "BINARY cursors are not supported: rows are sent as text or as the client asks",
                        ));
                    }
                    let scrolls = scroll == &Some(true);
                    if scrolls && !query.locks.is_empty() {
                        let text = "DECLARE SCROLL CURSOR ... FOR UPDATE is not supported";
                        return Err(SqlError::unsupported(text)
                            .detail("Scrollable cursors must be READ ONLY."));
                    }
                    if hold == &Some(true) && !query.locks.is_empty() {
                        let text = "DECLARE CURSOR WITH HOLD ... FOR UPDATE is not supported";
                        return Err(SqlError::unsupported(text)
                            .detail("Holdable cursors must be READ ONLY."));
                    }
                    let query = Statement::Query(query.clone());
                    let query = Prepared::new(text.clone(), Some(query), types);
                    if !query.only_reads() {
                        return Err(SqlError::unsupported(
                            "the query of a cursor only reads, and draws no numbers",
                        ));
                    }
                    Ok(Some(CursorCommand::Declare {
                        name: names.first().map(name_of).unwrap_or_default(),
                        query: Arc::new(query.with_rights(rights.clone())),
                        is_held: hold == &Some(true),
                        scrolls,
                    }))
                }
                _ => Err(SqlError::unsupported(
                    "this form of DECLARE is not supported",
                )),
            }
        }
        Statement::Close { cursor } => Ok(Some(CursorCommand::Close(match cursor {
            CloseCursor::All => None,
            CloseCursor::Specific { name } => Some(name_of(name)),
        }))),
        _ => Ok(None),
    }
}
