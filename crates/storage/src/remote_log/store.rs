//! The requests to a store that keeps a log.
//!
//! Numbers name entries, and beside them are a few registers. The requirements of a store, which its user probes:
//! - a number's bytes never change; of several that create under one number one succeeds;
//! - a read returns every entry created before it, and a swap of a register compares and changes at once;
//! - a list may be old: lack created entries, show deleted ones. It never shows an entry that never was.
//!
//! After a failure a request may be done, be done later, or twice. No implementation repeats one.

use super::entry::Entry;
#[cfg(feature = "hosts")]
use super::received::ReceivedEntry;
use crate::log::writer::SendsAhead;
use std::fmt::Debug;

/// The result of creating an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Appended {
    /// It was created, as stable as the store makes anything.
    Ok,
    /// Another entry is there: another's, or the same, by a request that was done twice.
    Conflict,
}

/// A single thing in a store that is exchanged.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Register {
    /// The beginning of the log ([`super::boundary`]).
    Boundary,
    /// The serving host of the database ([`super::primary`]).
    Primary,
    /// The places that have the log, where a store keeps it on several.
    Copies,
    /// The hosts that follow ([`super::known_hosts`]).
    Hosts,
}

impl Register {
    /// Its name in a store, and in texts.
    pub fn name(self) -> &'static str {
        match self {
            Register::Boundary => "boundary",
            Register::Primary => "primary",
            Register::Copies => "copies",
            Register::Hosts => "hosts",
        }
    }
}

/// The result of exchanging a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Swapped {
    /// It was replaced.
    Ok,
    /// The register is not in the expected state.
    Conflict,
}

/// An entry in a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Listed {
    /// The entry's place in the log's order.
    pub number: u64,
    /// Its length, with its head.
    pub bytes: u64,
}

/// The state of a register that was read: the store's own word for it, compared by a swap.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegisterVersion(pub String);

/// Content and version that one request read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredRegister {
    /// The content.
    pub bytes: Vec<u8>,
    /// For the swap that is to replace it.
    pub version: RegisterVersion,
}

/// The reason why a store gave no usable answer. The request may be done, be done later, or not.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// No answer, or one that asks to try again: time ran out, a connection broke, the store is overloaded.
    #[error("{place} gave no answer to {what}: {reason}; it is asked again")]
    Unclear {
        /// The request.
        what: String,
        /// The log's place.
        place: String,
        /// The known reason.
        reason: String,
    },
    /// It cannot now, and did nothing: it is full, or not where it should be.
    #[error("{place} cannot {what} now: {reason}; it is asked again")]
    NotNow {
        /// The request.
        what: String,
        /// The log's place.
        place: String,
        /// The store's answer.
        reason: String,
    },
    /// It refuses, and will again.
    #[error(
        "{place} refuses {what}: {reason}; check the place, the credentials, the rights there, and its free space"
    )]
    Refused {
        /// The request.
        what: String,
        /// The log's place.
        place: String,
        /// The store's answer.
        reason: String,
    },
    /// It does not meet a requirement of a log.
    #[error("{place} cannot keep a log: {reason}; use a store with conditional writes")]
    Unsuitable {
        /// The log's intended place.
        place: String,
        /// Its fault.
        reason: String,
    },
    /// It could, were it set up otherwise.
    #[error("{place} is not set up to keep a log: {reason}")]
    Setup {
        /// The log's intended place.
        place: String,
        /// The necessary change.
        reason: String,
    },
    /// The content cannot be decrypted.
    #[error("{what} of {place} cannot be decrypted: {reason}")]
    Encryption {
        /// The object of the request.
        what: String,
        /// The log's place.
        place: String,
        /// The cause, for people.
        reason: String,
    },
    /// The log's intended place cannot be parsed.
    #[error("{place} names no store: {reason}")]
    Place {
        /// The given text, without secrets.
        place: String,
        /// The fault.
        reason: String,
    },
}

/// The request in the refusal of a server that does not know it, since it is of an earlier version.
pub const UNKNOWN_REQUEST: &str = "the request";

impl StoreError {
    /// True if the server is of an earlier version, which does not know the request.
    pub fn is_unknown_request(&self) -> bool {
        matches!(self, StoreError::Refused { what, .. } if what == UNKNOWN_REQUEST)
    }

    /// True if the same request may succeed when it is repeated.
    pub fn is_unclear(&self) -> bool {
        matches!(self, StoreError::Unclear { .. } | StoreError::NotNow { .. })
    }

    /// True if the answer cannot be read: it may be whole when it is asked for again, and the content may be damaged.
    pub fn is_damage(&self) -> bool {
        matches!(self, StoreError::Encryption { .. })
    }
}

/// A store with one log in it. Calls block, and may come from several threads.
pub trait RemoteStore: Send + Sync + Debug {
    /// The log's place, for people; no secret.
    fn place(&self) -> String;

    /// The most bytes of an entry, with its head.
    fn entry_bytes_max(&self) -> u64;

    /// Creates an entry, if there is none under this number. It is durable before this returns.
    fn append_at(&self, number: u64, bytes: &[u8]) -> Result<Appended, StoreError>;

    /// The same for an entry whose bytes are in several parts, by a store that need not put them together.
    fn append_entry(&self, number: u64, entry: &Entry) -> Result<Appended, StoreError> {
        self.append_at(number, &entry.bytes())
    }

    /// The way to send groups of the next entry before the entry is complete, if the store has one.
    fn ahead(&self) -> Option<&dyn SendsAhead> {
        None
    }

    /// The same for an entry that came from another process, by a store that need not copy it. The memory is used again for the next
    /// one, or exchanged for other memory.
    #[cfg(feature = "hosts")]
    fn append_received(
        &self,
        number: u64,
        entry: &mut ReceivedEntry,
    ) -> Result<Appended, StoreError> {
        self.append_at(number, entry.bytes())
    }

    /// An entry's bytes, if there is one.
    fn read(&self, number: u64) -> Result<Option<Vec<u8>>, StoreError>;

    /// The bytes of several entries, in the order of these numbers; `None` for one that was not found. It may end before
    /// the last. One request after the other, where a store has no better way.
    fn read_several(&self, numbers: &[u64]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        numbers.iter().map(|number| self.read(*number)).collect()
    }

    /// An entry's bytes at another place than that of [`RemoteStore::read`], where the log has several. For an entry that was
    /// found damaged, or missing although later ones are there. Each `attempt`, from 1, asks another place. `None`: this one
    /// has no other bytes.
    fn read_elsewhere(&self, number: u64, attempt: u32) -> Result<Option<Vec<u8>>, StoreError> {
        let _ = (number, attempt);
        Ok(None)
    }

    /// Entries from this number on, by growing number; at most [`LIST_MOST`]. Empty: there are no more, or the list is
    /// old.
    fn list(&self, from: u64) -> Result<Vec<Listed>, StoreError>;

    /// Deletes entries, at most [`LIST_MOST`]; absent ones count as deleted. After an error some are.
    fn remove(&self, numbers: &[u64]) -> Result<(), StoreError>;

    /// A register, if it was ever written.
    fn read_register(&self, register: Register) -> Result<Option<StoredRegister>, StoreError>;

    /// The version of a register, also if its content cannot be read: to replace it.
    fn register_version(&self, register: Register) -> Result<Option<RegisterVersion>, StoreError> {
        let stored = self.read_register(register)?;
        Ok(stored.map(|stored| stored.version))
    }

    /// Replaces a register, if it is still this one; creates it, if none is expected. Durable before this returns.
    fn swap_register(
        &self,
        register: Register,
        expected: Option<&RegisterVersion>,
        bytes: &[u8],
    ) -> Result<Swapped, StoreError>;

    /// True if a register is read within about a millisecond, and the store charges nothing for a read: hosts then look
    /// often whether another one hands over.
    fn is_near(&self) -> bool {
        false
    }

    /// The reason why this process takes nothing more before it has opened the store again, if any: of a store that it
    /// keeps itself, of which a write or a sync failed (I7).
    fn failure(&self) -> Option<String> {
        None
    }
}

/// The most entries of a list, and of a removal.
pub const LIST_MOST: usize = 1000;
