//! Data on its way in, for COPY FROM STDIN: collected until its end, then one step of a flight.

use sardonyx_sql::{CopyData, Prepared, Share, SqlError};
use std::sync::Arc;

/// The statements of a simple query behind the one that copies.
pub type FollowingStatements = std::vec::IntoIter<Arc<Prepared>>;

/// A copy that takes data.
#[derive(Debug)]
pub struct Copying {
    statement: Arc<Prepared>,
    data: CopyData,
    /// What the data takes of the memory of all clients.
    memory: Share,
    following: Option<FollowingStatements>,
}

impl Copying {
    /// Of a statement of a simple query, and the statements behind it.
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

    /// Of a portal.
    pub fn of_portal(statement: Arc<Prepared>, memory: Share) -> Self {
        Copying {
            statement,
            data: CopyData::default(),
            memory,
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

    /// The statement, all data, and the statements behind.
    pub fn end(self) -> (Arc<Prepared>, CopyData, Option<FollowingStatements>) {
        (self.statement, self.data, self.following)
    }
}
