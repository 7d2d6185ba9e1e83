//! A machine with a store: asks, waits, asks again.
//!
//! What gets no answer is asked again after a pause that doubles, until the time limit of the call is over. A machine's
//! outcome ends a call. After a claim or an append whose time ran out, somebody has to claim the log anew.

use super::RemoteLogError;
use super::claim::{Claim, Claiming};
use super::entry::{Entry, EntryBuilder};
use super::exchange::Machine;
use super::owner::Owner;
use super::position::EntryPosition;
use super::reader::{Read, Reader};
use super::store::RemoteStore;
use super::trim::{Trim, Trimmed};
use sardonyx_base::random::system_random;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a store is asked again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Patience {
    /// For so long a call asks again; the last request may take longer.
    pub time_limit: Duration,
    /// Before a request is asked the second time.
    pub pause: Duration,
    /// The pause doubles up to this.
    pub pause_most: Duration,
}

impl Default for Patience {
    /// 30 s; pauses from 20 ms to 1 s.
    fn default() -> Self {
        Patience {
            time_limit: Duration::from_secs(30),
            pause: Duration::from_millis(20),
            pause_most: Duration::from_secs(1),
        }
    }
}

/// Runs a machine to its next outcome.
///
/// # Errors
/// The machine's; the store's, when it refuses or the time is over.
pub fn drive<M: Machine>(
    machine: &mut M,
    store: &dyn RemoteStore,
    patience: &Patience,
) -> Result<M::Outcome, RemoteLogError> {
    let started = Instant::now();
    let mut pause = patience.pause;
    loop {
        let (ticket, request) = machine.request();
        let (answer, unclear) = request.ask(store)?;
        if let Some(outcome) = machine.answer(ticket, answer)? {
            return Ok(outcome);
        }
        if let Some(error) = unclear {
            tracing::warn!(%error, "the log's store is asked again");
            if started.elapsed() + pause > patience.time_limit {
                return Err(error.into());
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(patience.pause_most);
        }
    }
}

/// Who reads a log along, as a warm standby does.
#[derive(Debug)]
pub struct Follower {
    store: Arc<dyn RemoteStore>,
    reader: Reader,
    patience: Patience,
}

impl Follower {
    /// Goes on here in the log of this database.
    pub fn new(
        store: Arc<dyn RemoteStore>,
        identity: u64,
        at: EntryPosition,
        patience: Patience,
    ) -> Self {
        Follower {
            store,
            reader: Reader::new(identity, at),
            patience,
        }
    }

    /// The next entry, if there is one: two requests if there is none.
    ///
    /// # Errors
    /// What is wrong with it; it was deleted; the store's.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, RemoteLogError> {
        match drive(&mut self.reader, &*self.store, &self.patience)? {
            Read::Entry(entry) => Ok(Some(entry)),
            Read::End => Ok(None),
        }
    }

    /// Where it is.
    pub fn position(&self) -> EntryPosition {
        self.reader.position()
    }
}

/// Who appends to a log that it has claimed.
#[derive(Debug)]
pub struct RemoteWriter {
    store: Arc<dyn RemoteStore>,
    owner: Owner,
    patience: Patience,
}

impl RemoteWriter {
    /// Claims the log of this database, of which everything before `at` is known. What comes after is given to `apply`,
    /// in order, before this returns.
    ///
    /// # Errors
    /// What is wrong with an entry; what is missing was deleted; the store's; that of `apply`. The log may be claimed
    /// none the less, so that its owner before is fenced, and is to be claimed again.
    pub fn claim<E: From<RemoteLogError>>(
        store: Arc<dyn RemoteStore>,
        identity: u64,
        at: EntryPosition,
        patience: Patience,
        mut apply: impl FnMut(&Entry) -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut claim = Claim::new(identity, at, system_random());
        loop {
            match drive(&mut claim, &*store, &patience)? {
                Claiming::Entry(entry) => apply(&entry)?,
                Claiming::Owner(owner) => {
                    return Ok(RemoteWriter {
                        store,
                        owner,
                        patience,
                    });
                }
            }
        }
    }

    /// Appends an entry. It is durable when this returns, and whatever is in it may be acknowledged.
    ///
    /// # Errors
    /// [`RemoteLogError::TooLarge`] and [`RemoteLogError::Empty`] change nothing. After all others nothing is appended
    /// any more (I7).
    pub fn append(&mut self, entry: EntryBuilder) -> Result<EntryPosition, RemoteLogError> {
        let (bytes, most) = (entry.bytes(), self.store.entry_bytes_max());
        if bytes > most {
            return Err(RemoteLogError::TooLarge { bytes, most });
        }
        self.owner.append(entry)?;
        let appended = drive(&mut self.owner, &*self.store, &self.patience);
        appended.map_err(|error| match self.owner.ended() {
            Some(ended) => ended.clone(),
            None => self.owner.give_up(error.to_string()),
        })
    }

    /// The most bytes of an entry, with its head.
    pub fn entry_bytes_max(&self) -> u64 {
        self.store.entry_bytes_max()
    }

    /// Where it is: behind its last entry.
    pub fn position(&self) -> EntryPosition {
        self.owner.position()
    }

    /// Why nothing is appended any more, if so.
    pub fn ended(&self) -> Option<&RemoteLogError> {
        self.owner.ended()
    }
}

/// Deletes what is before this place of this database's log. Nobody may need it any more: neither a checkpoint that is
/// kept, nor a standby.
///
/// # Errors
/// The store's. What is left is deleted by the next call.
pub fn trim(
    store: &dyn RemoteStore,
    identity: u64,
    to: EntryPosition,
    patience: &Patience,
) -> Result<Trimmed, RemoteLogError> {
    // Nothing is before the beginning.
    if to.next <= EntryPosition::START.next {
        return Ok(Trimmed::default());
    }
    drive(
        &mut Trim::new(identity, to, system_random()),
        store,
        patience,
    )
}
