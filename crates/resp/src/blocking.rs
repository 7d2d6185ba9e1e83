//! Clients that wait for elements, or for entries of streams: the queue of each key, in the order in which they began.
//!
//! [`Blocked`] is a machine without clocks or sockets. A command that found nothing waits ([`Blocked::wait`]). It is
//! run again, on behalf of its client, in the transaction that fills one of its keys: clients are served in FIFO
//! order, and no other command comes between. A client is claimed before its command runs ([`Blocked::claim`]). When
//! the transaction commits, the answer is put into the client's [`Place`] ([`Claim::serve`]). When the transaction is
//! durable, the session gets a message that names the place.
//!
//! Invariants: a client waits at most once. Dropping a client's place ends its wait. The thread that claims a client answers
//! it. A time-out or `CLIENT UNBLOCK` during the claim is noted; it takes effect if the claim is dropped, since the
//! transaction is then undone. Only the thread that removes a client answers it. A session takes the answer of the place that
//! the message names, and no other.

use crate::channels::{Messages, served};
use crate::command::line::Line;
use crate::command::{Command, streams};
use crate::data::{EntryId, Kind, Live, Room};
use crate::failure::Failure;
use crate::pending::Pending;
use crate::reply::Reply;
use sardonyx_base::channels::Posting;
use sardonyx_base::memory::Share;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Clients that wait.
pub(crate) struct Blocked {
    /// The number of waiting clients; most transactions read only this.
    count: AtomicUsize,
    waiting: Mutex<Waiting>,
    /// The number of the newest place.
    places: AtomicU64,
    /// Posts the messages that wake sessions.
    posting: Arc<Posting>,
}

/// A session, and which of its call's keys a key is.
type Awaited = (u64, usize);

#[derive(Default)]
struct Waiting {
    /// By their sessions.
    clients: HashMap<u64, Client>,
    /// The clients that wait for each key, by their numbers in the order in which they began.
    keys: HashMap<(u8, Vec<u8>), BTreeMap<u64, Awaited>>,
    next: u64,
}

struct Client {
    /// In the order in which clients began to wait.
    number: u64,
    call: Arc<WaitingCall>,
    place: Weak<Place>,
    /// The number of the place.
    at: u64,
    is_claimed: bool,
    /// The answer that ends the client's wait if the claim is dropped.
    noted: Option<Reply>,
}

/// The kind of a key's value, and the last id if the kind is a stream.
pub(crate) type Found = Option<(Kind, EntryId)>;

/// A command that waits.
#[derive(Debug)]
pub(crate) struct WaitingCall {
    pub command: &'static Command,
    /// The database of its keys.
    pub database: u8,
    pub line: Line,
    pub keys: Vec<Vec<u8>>,
    /// The group that it reads of, if it does.
    pub group: Option<Vec<u8>>,
    /// The most bytes of its answer.
    pub answer_bytes_max: usize,
    /// The memory that the answers of its session take.
    pub pending: Arc<Pending>,
}

impl WaitingCall {
    /// The same command for the key of this number alone: the values of the others do not matter.
    fn line_for(&self, number: usize) -> Line {
        let key = self.keys.get(number).map_or(&b""[..], Vec::as_slice);
        let name = self.line.part(0);
        match self.command.name {
            "blmove" | "brpoplpush" => self.line.clone(),
            "blmpop" | "bzmpop" => {
                let behind = self.line.parts(3 + self.keys.len());
                let parts = [name, b"0", b"1", key].into_iter().chain(behind);
                Line::of(&parts.collect::<Vec<_>>())
            }
            "xread" | "xreadgroup" => streams::line_for(&self.line, number),
            _ => Line::of(&[name, key, b"0"]),
        }
    }

    /// True if the present value of the key of this number matters to the command. A reader of a group is also
    /// notified when the stream is missing.
    fn is_concerned(&self, number: usize, found: Found) -> bool {
        let kind = found.map(|(kind, _)| kind);
        let wanted = match self.command.name {
            "xreadgroup" => return true,
            "xread" => {
                return found.is_some_and(|(kind, last)| {
                    kind == Kind::Stream && streams::is_behind(&self.line, number, last)
                });
            }
            "bzpopmin" | "bzpopmax" | "bzmpop" => Kind::SortedSet,
            _ => Kind::List,
        };
        kind == Some(wanted)
    }
}

/// The answer to a client that waited.
#[derive(Debug)]
pub(crate) struct Served {
    pub reply: Reply,
    /// The memory that it takes, until it is sent.
    pub memory: Option<Share>,
}

impl From<Reply> for Served {
    fn from(reply: Reply) -> Self {
        Served {
            reply,
            memory: None,
        }
    }
}

/// A client's place in the queues of its keys, until it is dropped.
pub(crate) struct Place {
    session: u64,
    number: u64,
    blocked: Arc<Blocked>,
    answer: Mutex<Option<Served>>,
}

impl Place {
    pub fn new(session: u64, blocked: &Arc<Blocked>) -> Arc<Place> {
        Arc::new(Place {
            session,
            number: blocked.places.fetch_add(1, Ordering::Relaxed),
            blocked: blocked.clone(),
            answer: Mutex::default(),
        })
    }

    /// Its number, which no other place has.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The answer, once it is there.
    pub fn take(&self) -> Option<Served> {
        let answer = self.answer.lock();
        answer.unwrap_or_else(PoisonError::into_inner).take()
    }

    fn put(&self, served: Served) {
        let answer = self.answer.lock();
        *answer.unwrap_or_else(PoisonError::into_inner) = Some(served);
    }

    /// Ends the wait after a timeout. False if the client does not wait any more, or is claimed: then the session is
    /// notified of the outcome.
    pub fn time_out(&self) -> bool {
        // A session has one place after another: the client may be of the next one.
        let is_own = |client: &Client| client.at == self.number;
        let ended = self.blocked.end(self.session, is_own, Reply::NullArray);
        ended.is_some()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // The answer is for no client.
        self.time_out();
    }
}

impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Place")
            .field("session", &self.session)
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

/// A claim on a client that is being served: nothing else answers the client. If the claim is dropped, the client
/// waits on at its old position, unless its wait was to end meanwhile.
pub(crate) struct Claim {
    session: u64,
    at: u64,
    call: Arc<WaitingCall>,
    /// Which of its keys it is claimed for.
    key: usize,
    blocked: Arc<Blocked>,
}

impl Claim {
    /// The same; adds the message to the client's session, if the session still exists.
    pub fn answer(self, served: Served, messages: &mut Messages) {
        let (session, place) = (self.session, self.at);
        if self.serve(served) {
            messages.add_served(session, place);
        }
    }

    /// The transaction commits: the client waits no more, and has its answer. False if its connection was closed meanwhile.
    pub fn serve(self, served: Served) -> bool {
        let blocked = &self.blocked;
        let taken = blocked.take(&mut blocked.locked(), self.session, self.at);
        // No lock is held when the place is dropped.
        let place = taken.and_then(|client| client.place.upgrade());
        place.is_some_and(|place| {
            place.put(served);
            true
        })
    }

    /// The client waits on, unless its wait was to end. Returns it if it was, with its answer.
    fn end(&self) -> Option<(Client, Reply)> {
        let mut waiting = self.blocked.locked();
        let client = waiting.client(self.session, self.at)?;
        client.is_claimed = false;
        let noted = client.noted.take();
        if noted.is_none() && client.place.strong_count() > 0 {
            return None;
        }
        let client = self.blocked.take(&mut waiting, self.session, self.at)?;
        Some((client, noted?))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // If it was served it is there no more.
        if let Some((client, reply)) = self.end() {
            self.blocked.answer_now(self.session, &client, reply);
        }
    }
}

impl std::fmt::Debug for Claim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Claim")
            .field("session", &self.session)
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}

impl Waiting {
    /// The client of a session, if it waits at the place of this number.
    fn client(&mut self, session: u64, at: u64) -> Option<&mut Client> {
        let client = self.clients.get_mut(&session);
        client.filter(|client| client.at == at)
    }
}

impl Blocked {
    /// Returns an empty set. Clients are notified by messages posted through `posting`.
    pub fn new(posting: Arc<Posting>) -> Blocked {
        Blocked {
            count: AtomicUsize::new(0),
            waiting: Mutex::default(),
            places: AtomicU64::new(0),
            posting,
        }
    }

    /// The number of clients that wait.
    #[inline]
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// True if no client waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// A client waits behind those that wait already.
    pub fn wait(&self, call: WaitingCall, place: &Arc<Place>) {
        let mut waiting = self.locked();
        let number = waiting.next;
        waiting.next += 1;
        for (at, key) in call.keys.iter().enumerate() {
            let key = (call.database, key.clone());
            let clients = waiting.keys.entry(key).or_default();
            // If a key is named more than once, its first position counts.
            clients.entry(number).or_insert((place.session, at));
        }
        let client = Client {
            number,
            call: Arc::new(call),
            place: Arc::downgrade(place),
            at: place.number,
            is_claimed: false,
            noted: None,
        };
        waiting.clients.insert(place.session, client);
        self.count.store(waiting.clients.len(), Ordering::Release);
    }

    /// The keys of a database for which clients wait.
    pub fn keys_of(&self, database: u8) -> Vec<Vec<u8>> {
        if self.is_empty() {
            return Vec::new();
        }
        let waiting = self.locked();
        let keys = waiting.keys.keys().filter(|(of, _)| *of == database);
        let mut keys: Vec<Vec<u8>> = keys.map(|(_, key)| key.clone()).collect();
        keys.sort_unstable();
        keys
    }

    /// Claims the first client that waits for a key, from a number on. Skipped are clients that have left, that the
    /// key's present value does not concern, or that read of a group in `barren`. Returns the number behind the
    /// client's own, too.
    pub fn claim(
        self: &Arc<Self>,
        key: &(u8, Vec<u8>),
        found: Found,
        from: u64,
        barren: &[Vec<u8>],
    ) -> Option<(Claim, u64)> {
        let mut waiting = self.locked();
        let Waiting { clients, keys, .. } = &mut *waiting;
        for (number, (session, at)) in keys.get(key)?.range(from..) {
            let Some(client) = clients.get_mut(session) else {
                continue;
            };
            let is_there = client.place.strong_count() > 0;
            if client.is_claimed || !is_there || !client.call.is_concerned(*at, found) {
                continue;
            }
            if (client.call.group.as_ref()).is_some_and(|group| barren.contains(group)) {
                continue;
            }
            client.is_claimed = true;
            let claim = Claim {
                session: *session,
                at: client.at,
                call: client.call.clone(),
                key: *at,
                blocked: self.clone(),
            };
            return Some((claim, number + 1));
        }
        None
    }

    /// Ends the wait of a session by this answer, and notifies the session. False if it does not wait, or is claimed:
    /// then its wait ends so only if it is not served.
    pub fn unblock(&self, session: u64, reply: Reply) -> bool {
        let is_there = |client: &Client| client.place.strong_count() > 0;
        match self.end(session, is_there, reply) {
            Some((client, reply)) => self.answer_now(session, &client, reply),
            None => false,
        }
    }

    /// Takes away the client of a session, if it is as wanted. If it is claimed this is noted instead.
    fn end(
        &self,
        session: u64,
        is_wanted: impl FnOnce(&Client) -> bool,
        reply: Reply,
    ) -> Option<(Client, Reply)> {
        let mut waiting = self.locked();
        let client = waiting.clients.get_mut(&session)?;
        if !is_wanted(client) {
            return None;
        }
        if client.is_claimed {
            // Only the first answer counts.
            client.noted.get_or_insert(reply);
            return None;
        }
        let at = client.at;
        Some((self.take(&mut waiting, session, at)?, reply))
    }

    /// Puts an answer that changes nothing in the place of a client that was taken away, and notifies its session.
    /// False if the client has left.
    fn answer_now(&self, session: u64, client: &Client, reply: Reply) -> bool {
        let Some(place) = client.place.upgrade() else {
            return false;
        };
        place.put(reply.into());
        if let Some(posted) = self.posting.post([served(session, client.at)].iter()) {
            posted.durable_alone();
        }
        true
    }

    /// Takes away the client of a session, if it waits at the place of this number.
    fn take(&self, waiting: &mut Waiting, session: u64, at: u64) -> Option<Client> {
        waiting.client(session, at)?;
        let client = waiting.clients.remove(&session)?;
        for key in &client.call.keys {
            let key = (client.call.database, key.clone());
            if let Some(clients) = waiting.keys.get_mut(&key) {
                clients.remove(&client.number);
                if clients.is_empty() {
                    waiting.keys.remove(&key);
                }
            }
        }
        self.count.store(waiting.clients.len(), Ordering::Release);
        Some(client)
    }

    fn locked(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Blocked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Blocked")
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

/// Runs the commands that wait for keys that this transaction created or changed. For each key, they run in the order
/// in which their clients began to wait. The elements that they move may wake further clients.
///
/// # Errors
/// The failure, after which the transaction must be undone.
pub(crate) fn serve<'t>(data: &mut Live<'t, '_>, room: &'t Room) -> Result<(), Failure> {
    let shared = data.shared;
    let own = std::mem::replace(&mut data.room, room);
    // The waiting command has read already: a missing key is no event.
    data.only_reads = false;
    // Commands of waiting clients change no database as a whole.
    if let Some(listed) = data.effects.there() {
        for database in listed.filled.take_whole() {
            for key in shared.blocked.keys_of(database) {
                listed.filled.add(database, &key);
            }
        }
    }
    while let Some(key) = data.effects.there().and_then(|listed| listed.filled.take()) {
        data.select(key.0);
        // Groups that have delivered all of the stream: their other readers would find nothing, either.
        let (mut from, mut barren) = (0, Vec::new());
        loop {
            let found = data.entry(&key.1)?.map(|entry| entry.kind);
            let found = match found {
                Some(Kind::Stream) => {
                    let stream = data.stream(&key.1)?;
                    stream.map(|stream| (Kind::Stream, stream.last))
                }
                kind => kind.map(|kind| (kind, EntryId::MIN)),
            };
            let Some((claim, behind)) = shared.blocked.claim(&key, found, from, &barren) else {
                break;
            };
            from = behind;
            match run(data, &key.1, &claim)? {
                Some(served) => data.effects.listed().served.push((claim, served)),
                None => barren.extend(claim.call.group.clone()),
            }
        }
    }
    data.room = own;
    Ok(())
}

/// Runs a waiting command for a key that was filled. `None` if the command still finds nothing. A failure is the
/// client's answer: it undoes the command's changes, but not the change that filled the key.
fn run(data: &mut Live<'_, '_>, key: &[u8], claim: &Claim) -> Result<Option<Served>, Failure> {
    let call = &claim.call;
    let Some(run) = call.command.run else {
        return Ok(None);
    };
    if call.command.name == "xreadgroup"
        && let Some(gone) = streams::gone(data, key, &call.line)?
    {
        return Ok(Some(Reply::Error(gone.to_string()).into()));
    }
    data.room
        .renew(call.answer_bytes_max, call.pending.memory());
    let (mark, messages) = (data.state.savepoint(), data.messages.mark());
    let reply = run(data, &call.line_for(claim.key));
    let reply = reply.and_then(|reply| data.room.check().map(|()| reply));
    let memory = data.room.renew(0, call.pending.memory());
    if reply.is_err() {
        data.messages.return_to(messages);
    }
    if reply.as_ref().is_err_and(Failure::undoes) {
        data.state.rollback_to(mark)?;
        // Tables that were made are not there any more.
        data.select(call.database);
    }
    data.state.release(mark)?;
    match reply {
        Ok(Reply::Null | Reply::NullArray) => Ok(None),
        Ok(reply) => Ok(Some(Served { reply, memory })),
        Err(failure) => Ok(Some(Reply::Error(failure.to_string()).into())),
    }
}

#[cfg(test)]
mod tests;
