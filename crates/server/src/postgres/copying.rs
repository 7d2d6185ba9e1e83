//! Data on its way in, for COPY FROM STDIN: collected until its end, then one step of a flight.

use sardonyx_sql::{CopyData, Prepared};
use std::sync::Arc;

/// The statements of a simple query behind the one that copies.
pub type FollowingStatements = std::vec::IntoIter<Arc<Prepared>>;

/// A copy that takes data.
#[derive(Debug)]
pub struct Copying {
    statement: Arc<Prepared>,
    data: CopyData,
    following: Option<FollowingStatements>,
}

impl Copying {
    /// Of a statement of a simple query, and the statements behind it.
    pub fn of_query(statement: Arc<Prepared>, following: FollowingStatements) -> Self {
        Copying {
            statement,
            data: CopyData::default(),
            following: Some(following),
        }
    }

    /// Of a portal.
    pub fn of_portal(statement: Arc<Prepared>) -> Self {
        Copying {
            statement,
            data: CopyData::default(),
            following: None,
        }
    }

    /// The statement.
    pub fn statement(&self) -> &Arc<Prepared> {
        &self.statement
    }

    /// Whether it stands in a simple query, which ends with an answer of its own.
    pub fn is_of_query(&self) -> bool {
        self.following.is_some()
    }

    /// Takes a piece; its end need not be a row's.
    pub fn push(&mut self, piece: &[u8]) {
        self.data.0.extend_from_slice(piece);
    }

    /// The statement, all data, and the statements behind.
    pub fn end(self) -> (Arc<Prepared>, CopyData, Option<FollowingStatements>) {
        (self.statement, self.data, self.following)
    }
}
