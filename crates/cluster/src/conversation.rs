//! A conversation with a node's process, from outside: requests, answers, and errors that name the slot.

use crate::error::ClusterError;
use crate::request::{Line, Reply, Request};
use std::io;
use std::path::PathBuf;

/// A conversation with a node's process.
pub(crate) struct Conversation {
    /// The slot of the node.
    pub slot: usize,
    /// The connection.
    pub line: Line,
    /// The output of the node's process.
    pub log: PathBuf,
}

impl Conversation {
    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// [`ClusterError::Ended`], [`ClusterError::Refused`].
    pub fn ask(&mut self, request: &Request) -> Result<Reply, ClusterError> {
        self.say(request)?;
        self.hear()
    }

    fn gone(&self, what: String) -> ClusterError {
        ClusterError::ended(self.slot, what, self.log.clone())
    }

    /// Sends a request.
    ///
    /// # Errors
    /// [`ClusterError::Ended`].
    pub fn say(&mut self, request: &Request) -> Result<(), ClusterError> {
        let said = self.line.say(request);
        said.map_err(|error| self.gone(format!("cannot be asked: {error}")))
    }

    /// Waits for the next answer.
    ///
    /// # Errors
    /// [`ClusterError::Ended`], [`ClusterError::Refused`].
    pub fn hear(&mut self) -> Result<Reply, ClusterError> {
        match self.line.hear() {
            Ok(Some(Reply::Refused(reason))) => Err(ClusterError::Refused {
                slot: self.slot,
                reason,
            }),
            Ok(Some(reply)) => Ok(reply),
            Ok(None) => Err(self.gone("ended".into())),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
                Err(self.gone("ended".into()))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let what = "does not answer: its process may be stopped (kill -CONT continues it)";
                Err(self.gone(what.into()))
            }
            Err(error) => Err(self.gone(format!("sent an invalid answer: {error}"))),
        }
    }
}
