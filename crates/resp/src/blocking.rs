//! Clients that wait for elements: which wait for which keys, in the order in which they began.
//!
//! [`Blocked`] is a machine without clocks or sockets. A command that found nothing waits ([`Blocked::wait`]), and is run
//! again in the transaction that fills one of its keys ([`Blocked::first_of`]), on behalf of its client: so who waited
//! first is served first, and no other command comes between. The answer is put into the client's [`Place`] when that
//! transaction commits, and its session is told of it as of a message, when the transaction is durable.
//!
//! Invariants: a client waits at most once; whose place is dropped waits no more, and is served nothing.

use crate::command::Command;
use crate::command::line::Line;
use crate::data::{Kind, Live, Room};
use crate::failure::Failure;
use crate::reply::Reply;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Clients that wait.
#[derive(Default)]
pub(crate) struct Blocked {
    /// How many there are: most transactions ask for nothing else.
    count: AtomicUsize,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    clients: HashMap<u64, Client>,
    /// The clients that wait for each key, by their numbers in the order in which they began.
    keys: HashMap<Vec<u8>, BTreeMap<u64, u64>>,
    next: u64,
}

struct Client {
    number: u64,
    call: WaitingCall,
    place: Weak<Place>,
}

/// A command that waits.
#[derive(Clone, Debug)]
pub(crate) struct WaitingCall {
    pub session: u64,
    pub command: &'static Command,
    pub line: Line,
    pub keys: Vec<Vec<u8>>,
}

impl WaitingCall {
    /// The same command for this key alone: what the others have does not matter.
    fn line_for(&self, key: &[u8]) -> Line {
        let name = self.line.part(0);
        match self.command.name {
            "blmove" | "brpoplpush" => self.line.clone(),
            "blmpop" | "bzmpop" => {
                let behind = self.line.parts(3 + self.keys.len());
                let parts = [name, b"0", b"1", key].into_iter().chain(behind);
                Line::of(&parts.collect::<Vec<_>>())
            }
            _ => Line::of(&[name, key, b"0"]),
        }
    }
}

/// Where a client waits, until it is dropped.
pub(crate) struct Place {
    session: u64,
    blocked: Arc<Blocked>,
    answer: Mutex<Option<Reply>>,
}

impl Place {
    /// The session.
    pub fn session(&self) -> u64 {
        self.session
    }

    /// Of a session.
    pub fn new(session: u64, blocked: &Arc<Blocked>) -> Arc<Place> {
        Arc::new(Place {
            session,
            blocked: blocked.clone(),
            answer: Mutex::default(),
        })
    }

    /// The answer, once it is there.
    pub fn take(&self) -> Option<Reply> {
        let answer = self.answer.lock();
        answer.unwrap_or_else(PoisonError::into_inner).take()
    }

    fn put(&self, reply: Reply) {
        let answer = self.answer.lock();
        *answer.unwrap_or_else(PoisonError::into_inner) = Some(reply);
    }

    /// Ends to wait; false if it was served, or waits no more.
    pub fn leave(&self) -> bool {
        self.blocked.remove(self.session)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.leave();
    }
}

impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Place")
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

impl Blocked {
    /// Whether no client waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// A client waits behind those that wait already.
    pub fn wait(&self, call: WaitingCall, place: &Arc<Place>) {
        let mut waiting = self.locked();
        let number = waiting.next;
        waiting.next += 1;
        for key in &call.keys {
            let clients = waiting.keys.entry(key.clone()).or_default();
            clients.insert(number, call.session);
        }
        let client = Client {
            number,
            call,
            place: Arc::downgrade(place),
        };
        waiting.clients.insert(client.call.session, client);
        self.count.store(waiting.clients.len(), Ordering::Release);
    }

    /// The first client from a number on that waits for a key, and the number behind its own.
    pub fn first_of(&self, key: &[u8], from: u64) -> Option<(WaitingCall, u64)> {
        let waiting = self.locked();
        let (number, session) = waiting.keys.get(key)?.range(from..).next()?;
        let client = waiting.clients.get(session)?;
        Some((client.call.clone(), number + 1))
    }

    /// A client is served: it waits no more. False if it has left.
    pub fn serve(&self, session: u64, reply: Reply) -> bool {
        let place = {
            let waiting = self.locked();
            let client = waiting.clients.get(&session);
            client.and_then(|client| client.place.upgrade())
        };
        self.remove(session);
        // Where it is dropped no lock is held.
        place.is_some_and(|place| {
            place.put(reply);
            true
        })
    }

    /// Ends the wait of a session by this answer; false if it does not wait.
    pub fn unblock(&self, session: u64, reply: Reply) -> bool {
        self.is_there(session) && self.serve(session, reply)
    }

    /// Whether a client is there to be served.
    pub fn is_there(&self, session: u64) -> bool {
        let waiting = self.locked();
        let client = waiting.clients.get(&session);
        client.is_some_and(|client| client.place.strong_count() > 0)
    }

    /// A client waits no more; false if it did not.
    pub fn remove(&self, session: u64) -> bool {
        let mut waiting = self.locked();
        let Some(client) = waiting.clients.remove(&session) else {
            return false;
        };
        for key in &client.call.keys {
            if let Some(clients) = waiting.keys.get_mut(key) {
                clients.remove(&client.number);
                if clients.is_empty() {
                    waiting.keys.remove(key);
                }
            }
        }
        self.count.store(waiting.clients.len(), Ordering::Release);
        true
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

/// Runs the commands that wait for lists and sorted sets that came in this transaction: those of each key in the order in
/// which their clients began to wait. What they move may let others come.
///
/// # Errors
/// What undoes the transaction.
pub(crate) fn serve<'t>(data: &mut Live<'t, '_>, room: &'t Room) -> Result<(), Failure> {
    let shared = data.shared;
    let own = std::mem::replace(&mut data.room, room);
    let mut at = 0;
    while let Some(key) = data.filled.get(at).cloned() {
        at += 1;
        let mut from = 0;
        while let Some((call, behind)) = shared.blocked.first_of(&key, from) {
            from = behind;
            let is_served = data
                .served
                .iter()
                .any(|(session, _)| *session == call.session);
            if is_served || !shared.blocked.is_there(call.session) {
                continue;
            }
            let Some(run) = call.command.run else {
                continue;
            };
            let reply = match run(data, &call.line_for(&key)) {
                // What came is of another kind, or was taken.
                Ok(Reply::Null | Reply::NullArray) => match data.entry(&key)? {
                    Some(_) => continue,
                    None => break,
                },
                Ok(reply) => reply,
                Err(failure) if failure.undoes() => return Err(failure),
                Err(Failure::WrongType) if waits_for_another_kind(data, &key, &call)? => continue,
                Err(failure) => Reply::Error(failure.to_string()),
            };
            data.served.push((call.session, reply));
        }
    }
    data.room = own;
    Ok(())
}

/// Whether what came is not what a command takes elements from.
fn waits_for_another_kind(
    data: &mut Live<'_, '_>,
    key: &[u8],
    call: &WaitingCall,
) -> Result<bool, Failure> {
    let wanted = match call.command.name.starts_with("bz") {
        true => Kind::SortedSet,
        false => Kind::List,
    };
    Ok(data.entry(key)?.is_none_or(|entry| entry.kind != wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waited_first_is_first_and_whose_place_is_dropped_waits_no_more() {
        let blocked = Arc::<Blocked>::default();
        let wait = |session, keys: &[&str]| {
            let place = Place::new(session, &blocked);
            let call = WaitingCall {
                session,
                command: crate::command::find(b"blpop").unwrap(),
                line: Line::of(&[b"blpop"]),
                keys: keys.iter().map(|key| key.as_bytes().to_vec()).collect(),
            };
            blocked.wait(call, &place);
            place
        };
        assert!(blocked.is_empty());
        let (one, two, three) = (wait(1, &["a", "b"]), wait(2, &["b"]), wait(3, &["b", "a"]));
        let order = |key: &[u8]| {
            let (mut from, mut order) = (0, Vec::new());
            while let Some((call, behind)) = blocked.first_of(key, from) {
                order.push(call.session);
                from = behind;
            }
            order
        };
        assert_eq!((order(b"a"), order(b"b")), (vec![1, 3], vec![1, 2, 3]));
        drop(two);
        assert_eq!(order(b"b"), [1, 3]);
        assert!(blocked.serve(1, Reply::Ok) && !blocked.serve(1, Reply::Ok));
        assert_eq!((one.take(), one.take()), (Some(Reply::Ok), None));
        assert!(!one.leave() && three.leave());
        assert!(blocked.is_empty() && order(b"a").is_empty());
        assert!(!blocked.unblock(3, Reply::Null));
        let four = wait(4, &["a"]);
        assert!(blocked.unblock(4, Reply::Null));
        assert_eq!(four.take(), Some(Reply::Null));
    }
}
