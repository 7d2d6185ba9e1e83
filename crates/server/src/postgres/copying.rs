//! Data on its way in, for COPY FROM STDIN: collected until its end, then one step of a flight.

use sardonyx_sql::{CopyData, Prepared, Share, SqlError};
use std::sync::Arc;

/// The statements of a simple query after the one that copies.
pub type FollowingStatements = std::vec::IntoIter<Arc<Prepared>>;

/// A copy that takes data.
#[derive(Debug)]
pub struct Copying {
    statement: Arc<Prepared>,
    data: CopyData,
    /// The share of all clients' memory that the data takes.
    memory: Share,
    following: Option<FollowingStatements>,
}

impl Copying {
    /// A copy of a simple query, and the statements after it.
    pub fn of_query(
        statement: Arc<Prepared>,
        following: FollowingStatements,
        memory: Share,
    ) -> Self {
        Copying {
            statement,
            data: CopyData::default(),
            memory,
            following: Some(following),
        }
    }

    pub fn of_portal(statement: Arc<Prepared>, memory: Share) -> Self {
        Copying {
            statement,
            data: CopyData::default(),
            memory,
            following: None,
        }
    }

    pub fn statement(&self) -> &Arc<Prepared> {
        &self.statement
    }

    /// Returns true if the copy is in a simple query, which has an answer of its own at its end.
    pub fn is_of_query(&self) -> bool {
        self.following.is_some()
    }

    /// Takes a piece; its end need not be a row's.
    ///
    /// # Errors
    /// `53200` if the data of all clients takes too much memory.
    pub fn push(&mut self, piece: &[u8]) -> Result<(), SqlError> {
        let data = &mut self.data.0;
        let needed = data.len() + piece.len();
        if needed > data.capacity() {
            let capacity = needed.max(2 * data.capacity());
            self.memory.cover(capacity)?;
            data.reserve_exact(capacity - data.len());
        }
        data.extend_from_slice(piece);
        Ok(())
    }

    /// The statement, all data, and the statements after it.
    pub fn end(self) -> (Arc<Prepared>, CopyData, Option<FollowingStatements>) {
        (self.statement, self.data, self.following)
    }
}
