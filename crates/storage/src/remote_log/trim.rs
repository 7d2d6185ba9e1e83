//! Deleting the log's beginning: the boundary moves first, then the entries before it are deleted, but for fences.
//!
//! Any process may do that which knows an entry of the log up to which it is not needed. The boundary only moves on,
//! and the log's entries stay unchanged. So one that is stopped in between does no harm when it goes on, and several
//! may do it at once. The next one, which begins at the first number of all, deletes the rest.
//!
//! Fences stay: one of 72 bytes for each epoch that ever was. Their length distinguishes them from other entries.

use super::RemoteLogError;
use super::boundary::Boundary;
use super::entry::ENTRY_HEAD_BYTES;
use super::exchange::{Answer, Doubts, Machine, Request, Ticket};
use super::planted::{self, Planted};
use super::position::EntryPosition;
use super::reader::decode_boundary;
use super::store::{LIST_MOST, Listed, Register, RegisterVersion, StoredRegister, Swapped};

/// Its result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Trimmed {
    /// The number of deleted entries, as far as the list showed them.
    pub entries: u64,
    /// Freed space in the store.
    pub bytes: u64,
}

/// A process that deletes a log's beginning.
#[derive(Debug)]
pub struct Trim {
    identity: u64,
    to: EntryPosition,
    by: u64,
    ticket: Ticket,
    state: State,
    trimmed: Trimmed,
    doubts: Doubts,
}

#[derive(Debug)]
enum State {
    ReadingBoundary {
        /// The boundary written, if its fate is unknown.
        written: Option<Boundary>,
    },
    Swapping {
        expected: Option<RegisterVersion>,
        boundary: Boundary,
        bytes: Vec<u8>,
    },
    Listing {
        from: u64,
    },
    Removing {
        numbers: Vec<u64>,
        bytes: u64,
        from: u64,
    },
}

impl Trim {
    /// Deletes the entries before this place of this database's log, which the caller once had. `by` is random.
    pub fn new(identity: u64, to: EntryPosition, by: u64) -> Self {
        Trim {
            identity,
            to,
            by,
            ticket: Ticket::default(),
            state: match planted::is(Planted::DeletedFirst) {
                true => State::Listing { from: 1 },
                false => State::ReadingBoundary { written: None },
            },
            trimmed: Trimmed::default(),
            doubts: Doubts::default(),
        }
    }

    fn boundary(
        &mut self,
        stored: Option<StoredRegister>,
        written: Option<Boundary>,
    ) -> Result<Option<Trimmed>, RemoteLogError> {
        let current = match decode_boundary(self.identity, stored.as_ref()) {
            Ok(boundary) => boundary,
            Err(RemoteLogError::Boundary { .. }) if self.doubts.again() => {
                self.state = State::ReadingBoundary { written };
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        self.doubts.end();
        if written == Some(current) || current.position.next >= self.to.next {
            return Ok(self.moved());
        }
        let counter = current.counter.checked_add(1);
        let boundary = Boundary {
            identity: self.identity,
            counter: counter.ok_or(RemoteLogError::UsedUp { what: "boundaries" })?,
            position: self.to,
            by: self.by,
        };
        self.state = State::Swapping {
            expected: stored.map(|stored| stored.version),
            boundary,
            bytes: boundary.encode().to_vec(),
        };
        Ok(None)
    }

    /// The boundary is here or beyond.
    fn moved(&mut self) -> Option<Trimmed> {
        self.state = State::Listing { from: 1 };
        planted::is(Planted::DeletedFirst).then_some(self.trimmed)
    }

    fn listed(&mut self, from: u64, listed: &[Listed]) -> Option<Trimmed> {
        let before = listed.iter().filter(|listed| listed.number < self.to.next);
        let keeps_fences = !planted::is(Planted::FencesCollected);
        let is_fence = |listed: &Listed| listed.bytes <= ENTRY_HEAD_BYTES as u64;
        let removed = before.filter(|listed| !(keeps_fences && is_fence(listed)));
        let (numbers, bytes): (Vec<u64>, Vec<u64>) = removed
            .take(LIST_MOST)
            .map(|listed| (listed.number, listed.bytes))
            .unzip();
        let last = listed.last().map_or(u64::MAX, |last| last.number);
        self.state = match (last.checked_add(1), numbers.is_empty()) {
            (Some(after), true) if after < self.to.next => State::Listing { from: after },
            (_, true) => return self.deleted(),
            (after, false) => State::Removing {
                numbers,
                bytes: bytes.iter().sum(),
                from: after.unwrap_or(from),
            },
        };
        None
    }

    fn deleted(&mut self) -> Option<Trimmed> {
        if planted::is(Planted::DeletedFirst) {
            self.state = State::ReadingBoundary { written: None };
            return None;
        }
        self.state = State::Listing { from: 1 };
        Some(self.trimmed)
    }
}

impl Machine for Trim {
    type Outcome = Trimmed;

    fn request(&self) -> (Ticket, Request<'_>) {
        let request = match &self.state {
            State::ReadingBoundary { .. } => Request::ReadRegister(Register::Boundary),
            State::Swapping {
                expected, bytes, ..
            } => Request::SwapRegister {
                register: Register::Boundary,
                expected: expected.as_ref(),
                bytes,
            },
            State::Listing { from } => Request::List { from: *from },
            State::Removing { numbers, .. } => Request::Remove(numbers),
        };
        (self.ticket, request)
    }

    fn answer(
        &mut self,
        ticket: Ticket,
        answer: Answer,
    ) -> Result<Option<Trimmed>, RemoteLogError> {
        if !self.ticket.take(ticket) {
            return Ok(None);
        }
        let state = std::mem::replace(&mut self.state, State::ReadingBoundary { written: None });
        match (state, answer) {
            (State::ReadingBoundary { written }, Answer::Register(stored)) => {
                return self.boundary(stored, written);
            }
            (State::Swapping { .. }, Answer::Swapped(Swapped::Ok)) => return Ok(self.moved()),
            // Also after a conflict it may be there: by a request that was done twice.
            (
                State::Swapping { boundary, .. },
                Answer::Swapped(Swapped::Conflict) | Answer::Unclear,
            ) => {
                let written = Some(boundary);
                self.state = State::ReadingBoundary { written };
            }
            (State::Listing { from }, Answer::Listed(listed)) => {
                return Ok(self.listed(from, &listed));
            }
            (
                State::Removing {
                    numbers,
                    bytes,
                    from,
                },
                Answer::Removed,
            ) => {
                self.trimmed.entries += numbers.len() as u64;
                self.trimmed.bytes += bytes;
                match from < self.to.next {
                    true => self.state = State::Listing { from },
                    false => return Ok(self.deleted()),
                }
            }
            (state, _) => self.state = state,
        }
        Ok(None)
    }

    fn position(&self) -> EntryPosition {
        self.to
    }

    fn doubts(&self) -> bool {
        self.doubts.are_there()
    }
}
