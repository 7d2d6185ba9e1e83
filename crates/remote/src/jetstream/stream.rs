//! The operations that a log needs of a stream: messages with subjects, each of which is taken only if the earlier ones
//! are as expected.
//!
//! A trait, so that its users ([`super::log`]) can be tried out without a server ([`super::fake`]).

use bytes::Bytes;
use sardonyx_storage::remote_log::store::StoreError;
use std::fmt::Debug;

/// A message that is to be put into a stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Message {
    pub subject: String,
    /// Only if this holds.
    pub condition: Condition,
    /// True if messages that have its subject already are deleted.
    pub replaces: bool,
    /// Its content.
    pub body: Bytes,
}

/// The message that is the last one with a matching subject.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Condition {
    /// The filter that the subject must match.
    pub filter: String,
    /// Its sequence number in the stream; 0 if it does not exist.
    pub last: u64,
}

/// The result of a message with a condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Published {
    /// It is in the stream, as stable as that makes anything.
    Ok,
    /// The condition does not hold.
    Conflict,
}

/// A message in a stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Stored {
    pub subject: String,
    /// Its sequence number: unique in the stream, and growing.
    pub sequence: u64,
    /// Its content.
    pub body: Bytes,
}

/// A stream. No request is repeated; one without an answer may be done, also later. `what` names the request's purpose
/// in errors.
pub(super) trait Stream: Send + Sync + Debug {
    /// The place of the log, for people.
    fn place(&self) -> String;

    /// The most bytes of a message's body.
    ///
    /// # Errors
    /// There is no connection yet.
    fn body_bytes_max(&self) -> Result<usize, StoreError>;

    /// So many requests may be on their way at once. One, where an order is to be drawn that comes again.
    fn at_once(&self) -> usize {
        1
    }

    /// Puts a message there, if its condition holds. That is decided once, for all servers.
    fn publish(&self, what: &str, message: Message) -> Result<Published, StoreError>;

    /// Puts messages there, several at once, without conditions.
    fn publish_all(&self, what: &str, messages: Vec<(String, Bytes)>) -> Result<(), StoreError>;

    /// The last message with such a subject, as any of the servers has it: of one that lags it may be an earlier state.
    fn near(&self, what: &str, filter: &str) -> Result<Option<Stored>, StoreError>;

    /// The last message with such a subject, as the server has it that leads, or thinks that it does.
    fn newest(&self, what: &str, filter: &str) -> Result<Option<Stored>, StoreError>;

    /// The subjects of all such messages, in no order. May be an earlier state.
    fn subjects(&self, what: &str, filter: &str) -> Result<Vec<String>, StoreError>;

    /// Deletes all messages with such subjects.
    fn purge(&self, what: &str, filters: Vec<String>) -> Result<(), StoreError>;
}
