//! `ON COMMIT` of a temporary table: the declared and stored action.

use serde::{Deserialize, Serialize};
use sqlparser::ast;

/// The effect of a commit on a temporary table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum OnCommit {
    /// It has no rows after a commit.
    DeleteRows,
    /// It is no more.
    Drop,
}

impl OnCommit {
    /// The action in a statement; rows are preserved by default.
    pub fn of(said: Option<&ast::OnCommit>) -> Option<OnCommit> {
        match said {
            None | Some(ast::OnCommit::PreserveRows) => None,
            Some(ast::OnCommit::DeleteRows) => Some(OnCommit::DeleteRows),
            Some(ast::OnCommit::Drop) => Some(OnCommit::Drop),
        }
    }
}
