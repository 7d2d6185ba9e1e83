//! Appending: one entry at a time, and each is read back before anything is believed of it that the store did not
//! answer.
//!
//! ```text
//!   create n ─▶ Ok: durable, n + 1 is next
//!      └─▶ conflict, no answer ─▶ read n ─▶ this entry: durable
//!                                  ├─▶ nothing: create n again, the same bytes
//!                                  └─▶ another's: read the boundary
//!                                        ├─▶ not beyond n: fenced, for ever, and this entry is not in the log
//!                                        └─▶ beyond n: superseded long ago, and this entry may have been in the log
//! ```
//!
//! An owner's next number is empty, or has its own entry, or its successor's fence, which is never deleted. (Its own
//! may even be deleted meanwhile, and is then created again below the boundary, where no reader takes it for log. It
//! was in the log all the same, and its successor has read it. Or the fence of a claim that failed is there before. So
//! only the boundary proves that an entry never was in the log.)
//!
//! An answer that is damaged is read again a few times before that is believed.
//!
//! The same entry is created again after every missing answer. The machine's driver decides when that is enough
//! ([`Owner::give_up`]): then its fate is unknown, and nothing follows (I7).

use super::RemoteLogError;
use super::entry::{Entry, EntryBuilder, EntryError};
use super::exchange::{Answer, Doubts, Machine, Request, Ticket};
use super::planted::{self, Planted};
use super::position::{EntryPosition, Epoch};
use super::reader::decode_boundary;
use super::store::{Appended, Register, StoredRegister};

/// A process that may append to a log, as far as it knows.
#[derive(Debug)]
pub struct Owner {
    identity: u64,
    at: EntryPosition,
    ticket: Ticket,
    state: State,
    /// The reason why nothing is appended any more.
    ended: Option<RemoteLogError>,
    doubts: Doubts,
    /// The memory of the last entry.
    spare: Option<EntryBuilder>,
}

#[derive(Debug)]
enum State {
    Idle,
    Putting(Entry),
    ReadingBack(Entry),
    /// Its number has something else, of this epoch if it is an entry.
    Superseded(Result<Epoch, EntryError>),
}

impl Owner {
    /// The owner of the epoch of this place, behind its fence. Its tickets continue those of its claim.
    pub(super) fn new(identity: u64, at: EntryPosition, ticket: Ticket) -> Self {
        Owner {
            identity,
            at,
            ticket,
            state: State::Idle,
            ended: None,
            doubts: Doubts::default(),
            spare: None,
        }
    }

    /// An entry to be filled, in the memory of the last durable one. A new mapping of megabytes for each entry would cost as
    /// much as the copy of its groups.
    pub fn next_entry(&mut self) -> EntryBuilder {
        self.spare.take().unwrap_or_default()
    }

    /// The database.
    pub fn identity(&self) -> u64 {
        self.identity
    }

    /// True if an entry is under way.
    pub fn is_appending(&self) -> bool {
        !matches!(self.state, State::Idle)
    }

    /// The reason why nothing is appended any more, if so.
    pub fn ended(&self) -> Option<&RemoteLogError> {
        self.ended.as_ref()
    }

    /// Begins to append an entry, which is made at this time; the machine's outcome is that it is durable.
    ///
    /// # Errors
    /// Nothing is appended any more; the entry is empty; another one is on its way.
    pub fn append(&mut self, entry: EntryBuilder, time: u64) -> Result<(), RemoteLogError> {
        if let Some(ended) = &self.ended {
            return Err(ended.clone());
        }
        if self.is_appending() {
            let (number, reason) = (self.at.next, "it is on its way".into());
            return Err(RemoteLogError::Unknown { number, reason });
        }
        let used_up = RemoteLogError::UsedUp { what: "numbers" };
        self.at.next.checked_add(1).ok_or(used_up)?;
        let entry = entry.seal(self.identity, self.at, time);
        self.state = State::Putting(entry.ok_or(RemoteLogError::Empty)?);
        Ok(())
    }

    /// The entry on its way is waited for no longer, for this reason. Returns the error of it, and of everything after
    /// it.
    pub fn give_up(&mut self, reason: impl Into<String>) -> RemoteLogError {
        let (number, reason) = (self.at.next, reason.into());
        self.end(RemoteLogError::Unknown { number, reason })
    }

    /// Only the first reason counts.
    fn end(&mut self, error: RemoteLogError) -> RemoteLogError {
        self.state = State::Idle;
        self.ended.get_or_insert(error).clone()
    }

    fn durable(&mut self, entry: Entry) -> Option<EntryPosition> {
        self.at = entry.head().position_after();
        self.doubts.end();
        self.spare = Some(EntryBuilder::in_place_of(entry));
        Some(self.at)
    }

    /// Reads the content of the entry's number.
    fn read_back(
        &mut self,
        entry: Entry,
        found: Option<Vec<u8>>,
    ) -> Result<Option<EntryPosition>, RemoteLogError> {
        match found {
            None => self.state = State::Putting(entry),
            Some(bytes) if entry.is(&bytes) => return Ok(self.durable(entry)),
            Some(bytes) => match Entry::decode(bytes) {
                // It may be this one all the same.
                Err(_) if self.doubts.again() => self.state = State::ReadingBack(entry),
                other => self.state = State::Superseded(other.map(|other| other.head().epoch)),
            },
        }
        Ok(None)
    }

    /// The consequence of another's entry at this one's number.
    fn superseded(
        &self,
        other: &Result<Epoch, EntryError>,
        stored: Option<&StoredRegister>,
    ) -> RemoteLogError {
        let number = self.at.next;
        match decode_boundary(self.identity, stored) {
            Err(error) => error,
            // Nothing was ever deleted there, so this one never was there.
            Ok(boundary) if boundary.position.next <= number => match *other {
                Ok(epoch) => RemoteLogError::Fenced { number, epoch },
                Err(source) => RemoteLogError::Entry { number, source },
            },
            Ok(_) => RemoteLogError::Unknown {
                number,
                reason:
                    "another owner took the log over, and its beginning is deleted beyond there"
                        .into(),
            },
        }
    }
}

impl Machine for Owner {
    type Outcome = EntryPosition;

    /// For use while [`Owner::is_appending`].
    fn request(&self) -> (Ticket, Request<'_>) {
        let request = match &self.state {
            State::Putting(entry) => Request::Append(entry),
            State::Superseded(_) => Request::ReadRegister(Register::Boundary),
            State::ReadingBack(_) | State::Idle => Request::Read(self.at.next),
        };
        (self.ticket, request)
    }

    fn answer(
        &mut self,
        ticket: Ticket,
        answer: Answer,
    ) -> Result<Option<EntryPosition>, RemoteLogError> {
        if !self.ticket.take(ticket) {
            return Ok(None);
        }
        match (std::mem::replace(&mut self.state, State::Idle), answer) {
            (State::Putting(entry), Answer::Appended(Appended::Ok)) => {
                return Ok(self.durable(entry));
            }
            (State::Putting(entry), Answer::Appended(_)) if planted::is(Planted::NoReadBack) => {
                return Ok(self.durable(entry));
            }
            (State::Putting(entry), Answer::Unclear) if planted::is(Planted::SilenceIsSuccess) => {
                return Ok(self.durable(entry));
            }
            // A conflict may be with the same entry, by a request before or one that was done twice.
            (State::Putting(entry), Answer::Appended(Appended::Conflict) | Answer::Unclear) => {
                self.state = State::ReadingBack(entry);
            }
            (State::ReadingBack(entry), Answer::Read(found)) => {
                return self.read_back(entry, found);
            }
            (State::Superseded(other), Answer::Register(stored)) => {
                return match self.superseded(&other, stored.as_ref()) {
                    RemoteLogError::Boundary { .. } if self.doubts.again() => {
                        self.state = State::Superseded(other);
                        Ok(None)
                    }
                    error => Err(self.end(error)),
                };
            }
            (state, _) => self.state = state,
        }
        Ok(None)
    }

    fn position(&self) -> EntryPosition {
        self.at
    }

    fn doubts(&self) -> bool {
        self.doubts.are_there()
    }
}
