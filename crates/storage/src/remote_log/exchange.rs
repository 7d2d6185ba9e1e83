//! A machine's requests to a store, and the answers, as values; one request at a time.
//!
//! A request has a ticket, and an answer names it. After [`Answer::Unclear`] a machine continues with another ticket.
//! So an answer that comes later, or twice, is not taken for that of another request of this machine. (A claim and the
//! owner that it becomes are one.) An unanswered request may still be done, at any time: machines allow for that, not
//! for late answers.

use super::RemoteLogError;
use super::entry::Entry;
use super::planted::{self, Planted};
use super::position::EntryPosition;
use super::store::{
    Appended, Listed, Register, RegisterVersion, RemoteStore, StoreError, StoredRegister, Swapped,
};

/// The request of a machine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Ticket(u64);

impl Ticket {
    /// Takes an answer to this request: the next one is another. Returns whether it was this one.
    pub(super) fn take(&mut self, answered: Ticket) -> bool {
        let current = *self == answered;
        self.0 += u64::from(current);
        current
    }
}

/// So often an answer that is damaged is asked for again before the log is called damaged.
pub(super) const DOUBTS_MAX: u32 = 3;

/// The number of answers to one question that a machine has doubted: an entry may be whole in the store when an answer
/// with it is not.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Doubts(u32);

impl Doubts {
    /// An answer was damaged. Returns whether it is asked for once more.
    pub fn again(&mut self) -> bool {
        let again = self.0 < DOUBTS_MAX && !planted::is(Planted::DamageBelieved);
        self.0 += u32::from(again);
        again
    }

    /// An answer was whole.
    pub fn end(&mut self) {
        self.0 = 0;
    }

    pub fn are_there(self) -> bool {
        self.0 > 0
    }
}

/// An entry's bytes; after the first attempt those of another place that has the log, if there is one.
///
/// # Errors
/// The store's.
pub(super) fn read_entry(
    store: &dyn RemoteStore,
    number: u64,
    attempt: u32,
) -> Result<Option<Vec<u8>>, StoreError> {
    let elsewhere = match attempt {
        0 => None,
        attempt => store.read_elsewhere(number, attempt)?,
    };
    match elsewhere {
        None => store.read(number),
        found => Ok(found),
    }
}

/// A machine's request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Request<'a> {
    /// [`RemoteStore::read`].
    Read(u64),
    /// [`RemoteStore::list`].
    List {
        /// The least number that is listed.
        from: u64,
    },
    /// [`RemoteStore::append_entry`], at the entry's number.
    Append(&'a Entry),
    /// [`RemoteStore::remove`].
    Remove(&'a [u64]),
    /// [`RemoteStore::read_register`].
    ReadRegister(Register),
    /// [`RemoteStore::swap_register`].
    SwapRegister {
        /// One of the store's named values.
        register: Register,
        /// The expected content.
        expected: Option<&'a RegisterVersion>,
        /// The new one.
        bytes: &'a [u8],
    },
}

/// An answer to a machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// To [`Request::Read`].
    Read(Option<Vec<u8>>),
    /// To [`Request::List`].
    Listed(Vec<Listed>),
    /// To [`Request::Append`].
    Appended(Appended),
    /// To [`Request::Remove`].
    Removed,
    /// To [`Request::ReadRegister`].
    Register(Option<StoredRegister>),
    /// To [`Request::SwapRegister`].
    Swapped(Swapped),
    /// There is no answer. The request may be done, may be done at any time later, or never.
    Unclear,
}

impl Request<'_> {
    /// Asks this store. After the first attempt, of which the answer was damaged, other places that have the log are asked.
    ///
    /// # Errors
    /// Errors other than [`Answer::Unclear`]: asking again is of no use.
    pub fn ask(
        &self,
        store: &dyn RemoteStore,
        attempt: u32,
    ) -> Result<(Answer, Option<StoreError>), StoreError> {
        let answer = match *self {
            Request::Read(number) => read_entry(store, number, attempt).map(Answer::Read),
            Request::List { from } => store.list(from).map(Answer::Listed),
            Request::Append(entry) => {
                let appended = store.append_entry(entry.head().number, entry);
                appended.map(Answer::Appended)
            }
            Request::Remove(numbers) => store.remove(numbers).map(|()| Answer::Removed),
            Request::ReadRegister(register) => store.read_register(register).map(Answer::Register),
            Request::SwapRegister {
                register,
                expected,
                bytes,
            } => store
                .swap_register(register, expected, bytes)
                .map(Answer::Swapped),
        };
        match answer {
            Ok(answer) => Ok((answer, None)),
            Err(error) if error.is_unclear() => Ok((Answer::Unclear, Some(error))),
            Err(error) => Err(error),
        }
    }
}

/// A state machine that talks to a store.
pub trait Machine {
    /// Its result; some have more than one.
    type Outcome;

    /// Its present request. The same again and again, until it is answered.
    fn request(&self) -> (Ticket, Request<'_>);

    /// Gives it an answer. An answer to another request than the present one changes nothing.
    ///
    /// # Errors
    /// It ends.
    fn answer(
        &mut self,
        ticket: Ticket,
        answer: Answer,
    ) -> Result<Option<Self::Outcome>, RemoteLogError>;

    /// The place up to which it knows the log.
    fn position(&self) -> EntryPosition;

    /// True if it asks the same again since the answer was damaged: a pause before that may help.
    fn doubts(&self) -> bool {
        false
    }
}
