//! Following the log: one entry after the other, each checked against the one before.
//!
//! An absent number is the end, or its entry was deleted: the boundary, read afterwards, decides. It also decides for
//! an entry that does not follow: below the boundary an entry may be there that was created too late. A fence is
//! believed only then, since a claim that fails leaves one, whole and fitting ([`super`], rule 4). Groups need no such
//! check: a writer creates them behind entries that it knows to be in the log, so a fitting one was there before.
//!
//! A damaged answer is requested again a few times: a sound store may give one.

use super::RemoteLogError;
use super::boundary::Boundary;
use super::entry::Entry;
use super::exchange::{Answer, Doubts, Machine, Request, Ticket};
use super::planted::{self, Planted};
use super::position::EntryPosition;
use super::store::{Register, StoredRegister};

/// The result of a reader; it may continue after either.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Read {
    /// The next entry. The reader is behind it now.
    Entry(Entry),
    /// There is no entry yet.
    End,
}

/// A follower of a log.
#[derive(Clone, Debug)]
pub struct Reader {
    identity: u64,
    at: EntryPosition,
    ticket: Ticket,
    state: State,
    doubts: Doubts,
}

#[derive(Clone, Debug)]
enum State {
    /// Reads the next entry.
    Entry,
    /// This was found, and the boundary is read, which decides its meaning.
    Boundary(Found),
}

#[derive(Clone, Debug)]
enum Found {
    Nothing,
    Fence(Entry, EntryPosition),
    Wrong(RemoteLogError),
}

impl Reader {
    /// Goes on here in the log of this database.
    pub fn new(identity: u64, at: EntryPosition) -> Self {
        Reader {
            identity,
            at,
            ticket: Ticket::default(),
            state: State::Entry,
            doubts: Doubts::default(),
        }
    }

    /// The database.
    pub(super) fn identity(&self) -> u64 {
        self.identity
    }

    /// Takes the content of the next number, as if it had been read.
    pub(super) fn found(&mut self, found: Option<Vec<u8>>) -> Option<Read> {
        let number = self.at.next;
        let found = match found.map(Entry::decode) {
            None => Found::Nothing,
            Some(Err(source)) => Found::Wrong(RemoteLogError::Entry { number, source }),
            Some(Ok(entry)) => match self.at.after(self.identity, &entry) {
                Err(error) => Found::Wrong(error),
                Ok(after) if entry.head().is_fence() && !planted::is(Planted::FencesBelieved) => {
                    Found::Fence(entry, after)
                }
                Ok(after) => {
                    self.at = after;
                    self.doubts.end();
                    return Some(Read::Entry(entry));
                }
            },
        };
        self.state = State::Boundary(found);
        None
    }

    fn boundary(
        &mut self,
        stored: Option<StoredRegister>,
        found: Found,
    ) -> Result<Option<Read>, RemoteLogError> {
        let boundary = match decode_boundary(self.identity, stored.as_ref()) {
            Ok(boundary) => boundary,
            Err(RemoteLogError::Boundary { .. }) if self.doubts.again() => {
                self.state = State::Boundary(found);
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let (number, first) = (self.at.next, boundary.position.next);
        let behind = Err(RemoteLogError::BehindBoundary { number, first });
        match found {
            Found::Fence(entry, after) if boundary.admits(after) => {
                self.at = after;
                self.doubts.end();
                Ok(Some(Read::Entry(entry)))
            }
            Found::Fence(..) => behind,
            _ if first > number => behind,
            Found::Nothing => {
                self.doubts.end();
                Ok(Some(Read::End))
            }
            // It is read once more.
            Found::Wrong(RemoteLogError::Entry { .. }) if self.doubts.again() => Ok(None),
            Found::Wrong(error) => Err(error),
        }
    }
}

impl Machine for Reader {
    type Outcome = Read;

    fn request(&self) -> (Ticket, Request<'_>) {
        let request = match self.state {
            State::Entry => Request::Read(self.at.next),
            State::Boundary(_) => Request::ReadRegister(Register::Boundary),
        };
        (self.ticket, request)
    }

    fn answer(&mut self, ticket: Ticket, answer: Answer) -> Result<Option<Read>, RemoteLogError> {
        if !self.ticket.take(ticket) {
            return Ok(None);
        }
        match (std::mem::replace(&mut self.state, State::Entry), answer) {
            (State::Entry, Answer::Read(found)) => Ok(self.found(found)),
            (State::Boundary(found), Answer::Register(stored)) => self.boundary(stored, found),
            (state, _) => {
                self.state = state;
                Ok(None)
            }
        }
    }

    fn position(&self) -> EntryPosition {
        self.at
    }

    fn doubts(&self) -> bool {
        self.doubts.are_there()
    }
}

/// The boundary of this database's log, as the store has it.
pub(super) fn decode_boundary(
    identity: u64,
    stored: Option<&StoredRegister>,
) -> Result<Boundary, RemoteLogError> {
    let Some(stored) = stored else {
        return Ok(Boundary::none(identity));
    };
    let boundary =
        Boundary::decode(&stored.bytes).map_err(|source| RemoteLogError::Boundary { source })?;
    match boundary.identity == identity {
        true => Ok(boundary),
        false => Err(RemoteLogError::Identity {
            number: 0,
            expected: identity,
            found: boundary.identity,
        }),
    }
}
