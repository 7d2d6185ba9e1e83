//! Taking a log over: reading it to its end, then a fence of a new epoch there.
//!
//! ```text
//!   read n ─▶ entry ─▶ (to its consumer) ─▶ read n + 1 ...
//!      └─▶ nothing, and the boundary is not beyond n: the end
//!            └─▶ list from n on: something after n? then n is read once more, and if it is missing again, it was deleted
//!                  └─▶ create the fence at n ─▶ conflict, no answer ─▶ read n: another's entry ─▶ as above
//!                        │                                                 nothing: create it again
//!                        └─▶ read the boundary: beyond n? then n had been deleted, and this is no claim
//!                              └─▶ the owner
//! ```
//!
//! The claimant has then read everything that was acknowledged before its fence, and others acknowledge nothing behind
//! it. If it dies in between, its fence stops the owner before, and another process has to claim again.

use super::RemoteLogError;
use super::entry::Entry;
use super::exchange::{Answer, Doubts, Machine, Request, Ticket};
use super::owner::Owner;
use super::planted::{self, Planted};
use super::position::{EntryPosition, Epoch};
use super::reader::{Read, Reader, decode_boundary};
use super::store::{Appended, Listed, Register};

/// The result of a claim.
#[allow(
    clippy::large_enum_variant,
    reason = "it is moved once for each entry of a claim"
)]
#[derive(Debug)]
pub enum Claiming {
    /// An entry that is to be applied first. The claim goes on.
    Entry(Entry),
    /// The log is this one's.
    Owner(Owner),
}

/// A process that takes a log over.
#[derive(Debug)]
pub struct Claim {
    reader: Reader,
    writer: u64,
    time: u64,
    ticket: Ticket,
    state: State,
    /// A number at which nothing was found, and one after it at which there is something.
    missing: Option<(u64, u64)>,
    /// The doubts about the boundary behind the fence; the reader has its own.
    doubts: Doubts,
}

#[derive(Debug)]
enum State {
    Reading,
    Listing,
    Putting(Entry),
    ReadingBack(Entry),
    Boundary(Entry),
}

impl Claim {
    /// Claims the log of this database, of which everything before `at` is known. The writer's number is random, and
    /// another one for each claim; `time` is now, for the fence.
    pub fn new(identity: u64, at: EntryPosition, writer: u64, time: u64) -> Self {
        Claim {
            reader: Reader::new(identity, at),
            writer,
            time,
            ticket: Ticket::default(),
            state: match planted::is(Planted::ListIsEnd) {
                true => State::Listing,
                false => State::Reading,
            },
            missing: None,
            doubts: Doubts::default(),
        }
    }

    /// Takes the entry that was missing, as another place has it.
    ///
    /// # Errors
    /// The entry's fault.
    pub(super) fn found_elsewhere(
        &mut self,
        bytes: Vec<u8>,
    ) -> Result<Option<Claiming>, RemoteLogError> {
        let read = self.reader.found(Some(bytes));
        self.read(read)
    }

    fn read(&mut self, read: Option<Read>) -> Result<Option<Claiming>, RemoteLogError> {
        self.state = match read {
            None => State::Reading,
            Some(Read::Entry(entry)) => {
                self.state = State::Reading;
                match self.missing {
                    Some((listed, _)) if planted::is(Planted::ListIsEnd) => {
                        if self.reader.position().next > listed {
                            self.state = State::Putting(self.fence()?);
                        }
                    }
                    _ => self.missing = None,
                }
                return Ok(Some(Claiming::Entry(entry)));
            }
            Some(Read::End) => match self.missing {
                Some((number, found)) if number == self.reader.position().next => {
                    return Err(RemoteLogError::Hole { number, found });
                }
                _ if planted::is(Planted::ListIsEnd) => State::Putting(self.fence()?),
                _ => State::Listing,
            },
        };
        Ok(None)
    }

    fn listed(&mut self, listed: &[Listed]) -> Result<Option<Claiming>, RemoteLogError> {
        let number = self.reader.position().next;
        if planted::is(Planted::ListIsEnd) && self.missing.is_none() {
            let last = listed.last().map_or(0, |last| last.number);
            self.missing = Some((last, 0));
            self.state = match last < number {
                true => State::Putting(self.fence()?),
                false => State::Reading,
            };
            return Ok(None);
        }
        let after = listed.iter().find(|listed| listed.number > number);
        self.state = match after {
            // Entries have come, or this one is missing: a lasting entry was there before the list.
            Some(found) => {
                self.missing = Some((number, found.number));
                State::Reading
            }
            None => State::Putting(self.fence()?),
        };
        if planted::is(Planted::NoFence) {
            return self.owner().map(Some);
        }
        Ok(None)
    }

    fn fence(&self) -> Result<Entry, RemoteLogError> {
        let at = self.reader.position();
        let used_up = |what| RemoteLogError::UsedUp { what };
        let epoch = at.epoch.0.checked_add(1).ok_or(used_up("epochs"))?;
        at.next.checked_add(1).ok_or(used_up("numbers"))?;
        Ok(Entry::fence(
            self.reader.identity(),
            at,
            Epoch(epoch),
            self.writer,
            self.time,
        ))
    }

    fn owner(&self) -> Result<Claiming, RemoteLogError> {
        let after = match planted::is(Planted::NoFence) {
            false => self.fence()?.head().position_after(),
            true => EntryPosition {
                epoch: Epoch(self.reader.position().epoch.0 + 1),
                writer: self.writer,
                ..self.reader.position()
            },
        };
        let owner = Owner::new(self.reader.identity(), after, self.ticket);
        Ok(Claiming::Owner(owner))
    }

    /// The content of the fence's number: the fence, another entry, or nothing.
    fn read_back(
        &mut self,
        fence: Entry,
        found: Option<Vec<u8>>,
    ) -> Result<Option<Claiming>, RemoteLogError> {
        match found {
            None => self.state = State::Putting(fence),
            Some(bytes) if fence.is(&bytes) => self.state = State::Boundary(fence),
            Some(bytes) => {
                let read = self.reader.found(Some(bytes));
                return self.read(read);
            }
        }
        Ok(None)
    }
}

impl Machine for Claim {
    type Outcome = Claiming;

    fn request(&self) -> (Ticket, Request<'_>) {
        let number = self.reader.position().next;
        let request = match &self.state {
            State::Reading => self.reader.request().1,
            State::Listing => Request::List { from: number },
            State::Putting(fence) => Request::Append(fence),
            State::ReadingBack(fence) => Request::Read(fence.head().number),
            State::Boundary(_) => Request::ReadRegister(Register::Boundary),
        };
        (self.ticket, request)
    }

    fn answer(
        &mut self,
        ticket: Ticket,
        answer: Answer,
    ) -> Result<Option<Claiming>, RemoteLogError> {
        if !self.ticket.take(ticket) {
            return Ok(None);
        }
        match (std::mem::replace(&mut self.state, State::Reading), answer) {
            (State::Reading, answer) => {
                let (asked, _) = self.reader.request();
                let read = self.reader.answer(asked, answer)?;
                return self.read(read);
            }
            (State::Listing, Answer::Listed(listed)) => return self.listed(&listed),
            (State::Putting(fence), Answer::Appended(Appended::Ok)) => {
                self.state = State::Boundary(fence);
                if planted::is(Planted::NoBoundaryAfterFence) {
                    return self.owner().map(Some);
                }
            }
            // The planted error: the list shows the end, so a present entry came later, and is behind.
            (State::Putting(_), Answer::Appended(_)) if planted::is(Planted::ListIsEnd) => {
                let at = self.reader.position();
                let next = at.next + 1;
                self.reader = Reader::new(self.reader.identity(), EntryPosition { next, ..at });
                self.state = State::Putting(self.fence()?);
            }
            // Also after a conflict it may be there: by a request that was done twice.
            (State::Putting(fence), Answer::Appended(Appended::Conflict) | Answer::Unclear) => {
                self.state = State::ReadingBack(fence);
            }
            (State::ReadingBack(fence), Answer::Read(found)) => {
                return self.read_back(fence, found);
            }
            (State::Boundary(fence), Answer::Register(stored)) => {
                let boundary = match decode_boundary(self.reader.identity(), stored.as_ref()) {
                    Ok(boundary) => boundary,
                    Err(RemoteLogError::Boundary { .. }) if self.doubts.again() => {
                        self.state = State::Boundary(fence);
                        return Ok(None);
                    }
                    Err(error) => return Err(error),
                };
                if boundary.admits(fence.head().position_after()) {
                    return self.owner().map(Some);
                }
                return Err(RemoteLogError::BehindBoundary {
                    number: fence.head().number,
                    first: boundary.position.next,
                });
            }
            (state, _) => self.state = state,
        }
        Ok(None)
    }

    fn position(&self) -> EntryPosition {
        self.reader.position()
    }

    fn doubts(&self) -> bool {
        self.doubts.are_there() || self.reader.doubts()
    }
}
