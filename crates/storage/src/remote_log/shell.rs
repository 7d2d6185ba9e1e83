//! A machine with a store: asks, waits, asks again.
//!
//! A request without an answer is repeated after a pause that doubles, until the time limit of the call is over. A
//! machine's outcome ends a call. After a claim or an append whose time ran out, a process has to claim the log anew.

use super::RemoteLogError;
use super::ahead::Ahead;
use super::claim::{Claim, Claiming};
use super::entry::{Entry, EntryBuilder};
use super::exchange::{Answer, DOUBTS_MAX, Doubts, Machine, read_entry};
use super::owner::Owner;
use super::position::EntryPosition;
use super::reader::{Read, Reader, decode_boundary};
use super::store::{Register, RemoteStore, StoreError};
use super::trim::{Trim, Trimmed};
use sardonyx_base::events;
use sardonyx_base::random::system_random;
use std::fmt::Display;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The repetition of requests to a store that gives no answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Patience {
    /// The time for which a call repeats its request; the last request may end later.
    pub time_limit: Duration,
    /// The pause before the first repetition.
    pub pause: Duration,
    /// The longest pause: it doubles up to this.
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

impl Patience {
    /// A store that gives no answer for so long counts as away: when the pauses between requests are the longest.
    pub(crate) fn away_after(&self) -> Duration {
        self.pause_most.min(self.time_limit)
    }
}

/// The time for entries: microseconds since 1970, UTC, by this host's clock.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
    })
}

/// Asks a store something that may be done twice, until there is an answer. One that cannot be decrypted is asked for again
/// a few times.
///
/// # Errors
/// The store's, when it refuses or the time is over.
pub fn ask<T>(
    patience: &Patience,
    mut request: impl FnMut() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    ask_of(patience, 0, |_| request())
}

/// The same; the request gets the number of damaged answers before it, of which there were `attempt` at first.
fn ask_of<T>(
    patience: &Patience,
    mut attempt: u32,
    mut request: impl FnMut(u32) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let (mut waiting, mut doubts) = (Waiting::new(patience), Doubts::default());
    loop {
        match request(attempt) {
            Err(error) if error.is_unclear() => waiting.wait_after(error)?,
            Err(error) if error.is_damage() && doubts.again() => {
                attempt += 1;
                waiting.wait_for_whole(&error);
            }
            answer => return answer,
        }
    }
}

/// Asks a store for content until that can be read. A damaged answer is asked for again a few times: the content may be
/// whole in the store.
///
/// # Errors
/// The store's, when it refuses or the time is over; the error of content that stays damaged.
pub fn ask_whole<T, V, E: From<RemoteLogError> + Display>(
    patience: &Patience,
    mut request: impl FnMut() -> Result<T, StoreError>,
    read: impl FnMut(T) -> Result<V, E>,
) -> Result<V, E> {
    ask_whole_of(patience, |_| request(), read)
}

/// The same; the request gets the number of damaged answers before it, so that it can ask another place.
///
/// # Errors
/// As [`ask_whole`].
pub(crate) fn ask_whole_of<T, V, E: From<RemoteLogError> + Display>(
    patience: &Patience,
    mut request: impl FnMut(u32) -> Result<T, StoreError>,
    mut read: impl FnMut(T) -> Result<V, E>,
) -> Result<V, E> {
    let (mut waiting, mut doubts) = (Waiting::new(patience), Doubts::default());
    let mut attempt = 0;
    loop {
        let answer = ask_of(patience, attempt, &mut request).map_err(RemoteLogError::from)?;
        match read(answer) {
            Err(error) if doubts.again() => {
                attempt += 1;
                waiting.wait_for_whole(&error);
            }
            content => return content,
        }
    }
}

/// The wait for a request without an answer.
#[derive(Debug)]
struct Waiting<'a> {
    patience: &'a Patience,
    started: Instant,
    pause: Duration,
}

impl<'a> Waiting<'a> {
    fn new(patience: &'a Patience) -> Self {
        Waiting {
            patience,
            started: Instant::now(),
            pause: patience.pause,
        }
    }

    /// Waits before the request is asked again; gives the error back when the time is over.
    fn wait_after(&mut self, error: StoreError) -> Result<(), StoreError> {
        if self.started.elapsed().saturating_add(self.pause) > self.patience.time_limit {
            return Err(error);
        }
        events::warn!(%error, "the log's store is asked again");
        self.wait();
        Ok(())
    }

    /// Waits before a damaged answer is asked for again.
    fn wait_for_whole(&mut self, error: &dyn Display) {
        events::warn!(%error, "a damaged answer of the log's store is asked for again");
        self.wait();
    }

    fn wait(&mut self) {
        std::thread::sleep(self.pause);
        self.pause = (self.pause * 2).min(self.patience.pause_most);
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
    let (mut waiting, mut doubts) = (Waiting::new(patience), Doubts::default());
    let mut attempt = 0;
    loop {
        let (ticket, request) = machine.request();
        let (answer, unclear) = match request.ask(store, attempt) {
            Err(error) if error.is_damage() && doubts.again() => {
                attempt += 1;
                waiting.wait_for_whole(&error);
                continue;
            }
            asked => asked?,
        };
        let is_entry = matches!(answer, Answer::Read(_));
        if let Some(outcome) = machine.answer(ticket, answer)? {
            return Ok(outcome);
        }
        // An entry counts as damaged when the boundary, asked after it, is not beyond it.
        attempt = match machine.doubts() {
            true => attempt + u32::from(!is_entry),
            false => 0,
        };
        if let Some(error) = unclear {
            waiting.wait_after(error)?;
        } else if machine.doubts() {
            let number = machine.position().next;
            events::warn!(
                number,
                "a damaged answer of the log's store is asked for again"
            );
            waiting.wait();
        }
    }
}

/// The beginning of this database's log.
///
/// # Errors
/// The store's; it is damaged, or another database's.
pub fn ask_boundary(
    store: &dyn RemoteStore,
    identity: u64,
    patience: &Patience,
) -> Result<EntryPosition, RemoteLogError> {
    let read = || store.read_register(Register::Boundary);
    let boundary = ask_whole(patience, read, |stored| {
        decode_boundary(identity, stored.as_ref())
    });
    Ok(boundary?.position)
}

/// Refuses a store that no longer has the entry before this place, which it had, and did not delete. The entries before
/// that may be lost, too, and entries appended behind them could not be read.
///
/// # Errors
/// [`RemoteLogError::Lost`]; the entry is damaged; the store's.
pub(crate) fn check_entry_before(
    store: &dyn RemoteStore,
    identity: u64,
    at: EntryPosition,
    patience: &Patience,
) -> Result<(), RemoteLogError> {
    let number = at.next - 1;
    if number < EntryPosition::START.next {
        return Ok(());
    }
    let found = match ask_entry(store, number, patience) {
        Ok(None) => missing_entry(store, number, 1, patience),
        found => found,
    };
    let error = match found {
        Ok(Some(entry)) if entry.head().position_after() == at => return Ok(()),
        Ok(_) => RemoteLogError::Lost { number },
        Err(error @ RemoteLogError::Entry { .. }) => error,
        Err(error) => return Err(error),
    };
    // Requested afterwards: entries before the boundary may be deleted at any moment.
    match ask_boundary(store, identity, patience)?.next > number {
        true => Ok(()),
        false => Err(error),
    }
}

/// An entry, by itself: its place in the log is not checked.
///
/// # Errors
/// [`RemoteLogError::Entry`]; the store's.
pub(crate) fn ask_entry(
    store: &dyn RemoteStore,
    number: u64,
    patience: &Patience,
) -> Result<Option<Entry>, RemoteLogError> {
    let decode = |bytes: Option<Vec<u8>>| bytes.map(Entry::decode).transpose();
    ask_whole_of(
        patience,
        |attempt| read_entry(store, number, attempt),
        |bytes| decode(bytes).map_err(|source| RemoteLogError::Entry { number, source }),
    )
}

/// The bytes of an entry that the store lacks, although it has later ones, from another place that has the log.
fn missing_bytes(
    store: &dyn RemoteStore,
    number: u64,
    attempt: u32,
    patience: &Patience,
) -> Result<Option<Vec<u8>>, StoreError> {
    ask_of(patience, attempt, |attempt| {
        store.read_elsewhere(number, attempt)
    })
}

/// The same entry, by itself.
fn missing_entry(
    store: &dyn RemoteStore,
    number: u64,
    attempt: u32,
    patience: &Patience,
) -> Result<Option<Entry>, RemoteLogError> {
    let bytes = missing_bytes(store, number, attempt, patience)?;
    let decoded = bytes.map(Entry::decode).transpose();
    decoded.map_err(|source| RemoteLogError::Entry { number, source })
}

/// So many looks in a row that find no entry, and the list is asked whether one is missing: a list costs more than a look.
const LOOKS_UNTIL_LIST: u32 = 20;

/// A reader of a log that grows, as a host that follows is.
#[derive(Debug)]
pub struct Follower {
    store: Arc<dyn RemoteStore>,
    reader: Reader,
    ahead: Ahead,
    patience: Patience,
    /// Looks in a row that found no entry.
    empty_looks: u32,
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
            ahead: Ahead::default(),
            patience,
            empty_looks: 0,
        }
    }

    /// The next entry, if there is one: two requests if there is none. Of a long log many are read at once.
    ///
    /// # Errors
    /// Errors: its fault; it was deleted; the store's.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, RemoteLogError> {
        let found = self.ahead.take(&*self.store, self.position().next);
        let read = match found.and_then(|bytes| self.reader.found(Some(bytes))) {
            Some(read) => read,
            // Also if the finding requires the boundary.
            None => drive(&mut self.reader, &*self.store, &self.patience)?,
        };
        match read {
            Read::Entry(entry) => Ok(Some(entry)),
            Read::End => {
                self.ahead.is_at_end();
                Ok(None)
            }
        }
    }

    /// The same, for a caller that looks again and again: after some looks in a row that find nothing the list is
    /// requested, too.
    /// # Errors
    /// As [`Follower::check_end`].
    pub fn look(&mut self) -> Result<Option<Entry>, RemoteLogError> {
        let found = self.next_entry()?;
        self.empty_looks = match found {
            Some(_) => 0,
            None => self.empty_looks + 1,
        };
        if self.empty_looks < LOOKS_UNTIL_LIST {
            return Ok(found);
        }
        self.empty_looks = 0;
        self.check_end()
    }

    /// Checks that the log really ends at the place where [`Follower::next_entry`] found nothing: entries behind that
    /// would show that one is missing. Returns another entry, if one has come meanwhile.
    ///
    /// # Errors
    /// [`RemoteLogError::Hole`]; as [`Follower::next_entry`].
    pub fn check_end(&mut self) -> Result<Option<Entry>, RemoteLogError> {
        let number = self.position().next;
        let listed = ask(&self.patience, || self.store.list(number))?;
        // Found before it is read once more: a lasting entry was there before the list.
        let after = listed.iter().find(|listed| listed.number > number);
        let found = after.map(|listed| listed.number);
        match (self.next_entry()?, found) {
            (None, Some(found)) => match self.missing_entry()? {
                None => Err(RemoteLogError::Hole { number, found }),
                entry => Ok(entry),
            },
            (entry, _) => Ok(entry),
        }
    }

    /// The next entry, from another place than the one that lacks it.
    fn missing_entry(&mut self) -> Result<Option<Entry>, RemoteLogError> {
        let (store, number) = (self.store.clone(), self.position().next);
        for attempt in 1..=DOUBTS_MAX {
            let bytes = missing_bytes(&*store, number, attempt, &self.patience)?;
            if bytes.is_none() {
                continue;
            }
            let read = match self.reader.found(bytes) {
                Some(read) => read,
                None => drive(&mut self.reader, &*store, &self.patience)?,
            };
            if let Read::Entry(entry) = read {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }

    /// Its place.
    pub fn position(&self) -> EntryPosition {
        self.reader.position()
    }
}

/// The appender to a log that it has claimed.
#[derive(Debug)]
pub struct RemoteWriter {
    store: Arc<dyn RemoteStore>,
    owner: Owner,
    patience: Patience,
}

impl RemoteWriter {
    /// Claims the log of this database, of which everything before `at` is known. Later entries are given to `apply`,
    /// in order, before this returns.
    ///
    /// # Errors
    /// Errors: an entry's fault; a missing one was deleted; the store's; that of `apply`. The log may be claimed none
    /// the less, so that its owner before is fenced, and is to be claimed again.
    pub fn claim<E: From<RemoteLogError>>(
        store: Arc<dyn RemoteStore>,
        identity: u64,
        at: EntryPosition,
        patience: Patience,
        mut apply: impl FnMut(&Entry) -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut claim = Claim::new(identity, at, system_random(), now());
        let mut attempts = 0;
        loop {
            let next = match drive(&mut claim, &*store, &patience) {
                Err(RemoteLogError::Hole { number, found }) if attempts < DOUBTS_MAX => {
                    attempts += 1;
                    let bytes = missing_bytes(&*store, number, attempts, &patience);
                    match bytes.map_err(RemoteLogError::from)? {
                        Some(bytes) => claim.found_elsewhere(bytes)?,
                        None => return Err(RemoteLogError::Hole { number, found }.into()),
                    }
                }
                next => Some(next?),
            };
            match next {
                None => {}
                Some(Claiming::Entry(entry)) => {
                    attempts = 0;
                    apply(&entry)?;
                }
                Some(Claiming::Owner(owner)) => {
                    return Ok(RemoteWriter {
                        store,
                        owner,
                        patience,
                    });
                }
            }
        }
    }

    /// Appends an entry. It is durable when this returns, and its transactions may be acknowledged.
    ///
    /// # Errors
    /// [`RemoteLogError::TooLarge`] and [`RemoteLogError::Empty`] change nothing. After all others nothing is appended
    /// any more (I7).
    pub fn append(&mut self, entry: EntryBuilder) -> Result<EntryPosition, RemoteLogError> {
        self.begin(entry)?;
        self.finish().map_err(|error| self.give_up(error))
    }

    /// An entry to be filled, in memory that the last one had.
    pub fn next_entry(&mut self) -> EntryBuilder {
        self.owner.next_entry()
    }

    /// Begins to append an entry: [`RemoteWriter::finish`] does it.
    ///
    /// # Errors
    /// As [`RemoteWriter::append`].
    pub fn begin(&mut self, entry: EntryBuilder) -> Result<(), RemoteLogError> {
        let (bytes, most) = (entry.bytes(), self.store.entry_bytes_max());
        match bytes > most {
            true => Err(RemoteLogError::TooLarge { bytes, most }),
            false => self.owner.append(entry, now()),
        }
    }

    /// Appends the entry that was begun. It is durable when this returns.
    ///
    /// # Errors
    /// The store's, if the time is over: the entry is still on its way, and this may be called again. All others are
    /// final.
    pub fn finish(&mut self) -> Result<EntryPosition, RemoteLogError> {
        drive(&mut self.owner, &*self.store, &self.patience)
    }

    /// As [`RemoteWriter::finish`], up to the first request that has no answer.
    ///
    /// # Errors
    /// As there.
    pub fn try_to_finish(&mut self) -> Result<EntryPosition, RemoteLogError> {
        let once = Patience {
            time_limit: Duration::ZERO,
            ..self.patience
        };
        drive(&mut self.owner, &*self.store, &once)
    }

    /// The store of the log.
    pub(crate) fn store(&self) -> &Arc<dyn RemoteStore> {
        &self.store
    }

    /// The time for which a store is asked again.
    pub fn patience(&self) -> &Patience {
        &self.patience
    }

    /// The entry under way is waited for no longer, after this error. Returns its error (I7).
    pub fn give_up(&mut self, error: RemoteLogError) -> RemoteLogError {
        match self.owner.ended() {
            Some(ended) => ended.clone(),
            None => self.owner.give_up(error.to_string()),
        }
    }

    /// The most bytes of an entry, with its head.
    pub fn entry_bytes_max(&self) -> u64 {
        self.store.entry_bytes_max()
    }

    /// Its place: behind its last entry.
    pub fn position(&self) -> EntryPosition {
        self.owner.position()
    }

    /// The reason why nothing is appended any more, if so.
    pub fn ended(&self) -> Option<&RemoteLogError> {
        self.owner.ended()
    }
}

/// Deletes the part of this database's log before this place. It must not be needed any more, neither by a kept
/// checkpoint nor by a follower.
///
/// # Errors
/// The store's. The next call deletes the rest.
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
