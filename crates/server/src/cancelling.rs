//! The interrupts of all connections. A client with a session's number and secret cancels its statement, a client that
//! closes ends its running statement, and the server's shutdown interrupts all.
//!
//! A task that runs a statement cannot notice that its client closes. So one other task watches all connections
//! ([`Cancelling::watch`]). It checks those whose flight has lasted from one check to the next, so short flights cost
//! nothing.
//!
//! Statements check their interrupt while they read rows, and while they wait for the serial stage. Rows of a change,
//! such as those of `RETURNING`, are sent to their end: the change is durable by then, and an error would mean that it
//! is not.

use crate::connection::{Incoming, Receiver};
use sardonyx_sql::Interrupt;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// The time between two checks of the connections.
pub const BETWEEN_LOOKS: Duration = Duration::from_millis(250);

/// The connections that can be interrupted.
#[derive(Debug, Default)]
pub struct Cancelling {
    sessions: Mutex<HashMap<u32, Target>>,
    last: AtomicU32,
}

#[derive(Debug)]
struct Target {
    /// Without a secret, only the server interrupts.
    secret: Option<[u8; 4]>,
    watched: Arc<Watched>,
    /// The flights at the last check.
    seen: u64,
}

/// A connection while it is served.
#[derive(Debug, Default)]
struct Watched {
    interrupt: Arc<Interrupt>,
    /// The number of beginnings and ends of flights: odd while one is under way.
    flights: AtomicU64,
    incoming: OnceLock<Arc<Mutex<Incoming>>>,
}

/// A connection that can be interrupted, until it is dropped.
#[derive(Debug)]
pub struct Entry<'a> {
    all: &'a Cancelling,
    process: u32,
    watched: Arc<Watched>,
}

/// A flight, until it is dropped.
#[derive(Debug)]
pub struct Flight<'e>(&'e Watched);

impl Cancelling {
    /// Adds a connection, with the secret by which other connections cancel its statements.
    pub fn enter(&self, secret: Option<[u8; 4]>) -> Entry<'_> {
        let watched = Arc::new(Watched::default());
        let mut sessions = self.sessions();
        let process = loop {
            let process = self.last.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
            if process != 0 && !sessions.contains_key(&process) {
                break process;
            }
        };
        let target = Target {
            secret,
            watched: watched.clone(),
            seen: 0,
        };
        sessions.insert(process, target);
        Entry {
            all: self,
            process,
            watched,
        }
    }

    /// Cancels a session's statement, if the secret is correct.
    pub fn cancel(&self, process: u32, secret: &[u8]) {
        let is_own = |target: &&Target| target.secret.is_some_and(|own| own == secret);
        if let Some(target) = self.sessions().get(&process).filter(is_own) {
            target.watched.interrupt.request();
        }
    }

    /// Interrupts all statements, now and later: the server ends.
    pub fn shut_down(&self) {
        let sessions = self.sessions();
        sessions
            .values()
            .for_each(|target| target.watched.interrupt.shut_down());
    }

    /// Watches all connections, for ever.
    pub async fn watch(&self) {
        loop {
            tokio::time::sleep(BETWEEN_LOOKS).await;
            self.look();
        }
    }

    /// Interrupts the flights that were under way at the last check, and whose clients have closed.
    fn look(&self) {
        for target in self.sessions().values_mut() {
            let flights = target.watched.flights.load(Ordering::Relaxed);
            let lasts = flights % 2 == 1 && target.seen == flights;
            target.seen = flights;
            if lasts {
                target.watched.look();
            }
        }
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<u32, Target>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry<'_> {
    /// The connection's number.
    pub fn process(&self) -> u32 {
        self.process
    }

    /// The connection's interrupt.
    pub fn interrupt(&self) -> &Arc<Interrupt> {
        &self.watched.interrupt
    }

    /// From now on the close of its client is noticed.
    pub fn look_at(&self, receiver: &Receiver) {
        // It is set once.
        let _ = self.watched.incoming.set(receiver.looked_at());
    }

    /// Begins a flight. The input must not be locked while it lasts: otherwise a close of the client is not noticed.
    pub fn flight(&self) -> Flight<'_> {
        self.watched.flights.fetch_add(1, Ordering::Relaxed);
        Flight(&self.watched)
    }
}

impl Watched {
    fn look(&self) {
        // If the input is locked, it is just being read: the client is connected.
        let incoming = self.incoming.get().map(|incoming| incoming.try_lock());
        if let Some(Ok(mut incoming)) = incoming
            && incoming.has_closed()
        {
            self.interrupt.disconnect();
        }
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        self.0.flights.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.all.sessions().remove(&self.process);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::Connection;
    use crate::lease::Lease;
    use crate::stream::Stream;
    use sardonyx_sql::Reason;

    #[test]
    fn only_who_knows_the_secret_cancels_and_the_servers_end_interrupts_all() {
        let all = Cancelling::default();
        let one = all.enter(Some([1, 2, 3, 4]));
        let other = all.enter(Some([5, 6, 7, 8]));
        let redis = all.enter(None);
        all.cancel(one.process(), &[5, 6, 7, 8]);
        all.cancel(one.process(), &[]);
        all.cancel(redis.process(), &[]);
        for entry in [&one, &other, &redis] {
            assert_eq!(entry.interrupt().reason(), None);
        }
        all.cancel(one.process(), &[1, 2, 3, 4]);
        assert_eq!(one.interrupt().take(), Some(Reason::Request));
        assert_eq!(other.interrupt().take(), None);
        let process = one.process();
        drop(one);
        all.cancel(process, &[1, 2, 3, 4]);
        assert_eq!(all.sessions().len(), 2);
        all.shut_down();
        for entry in [&other, &redis] {
            assert_eq!(entry.interrupt().take(), Some(Reason::Shutdown));
        }
    }

    #[test]
    fn a_flight_that_lasts_is_interrupted_when_its_client_has_closed() {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_all().build().unwrap();
        runtime.block_on(async {
            let (client, server) = tokio::net::UnixStream::pair().unwrap();
            let (_stop, stopped) = tokio::sync::watch::channel(false);
            let connection = Connection::new(
                Stream::Unix(server),
                Duration::MAX,
                stopped,
                Arc::default(),
                Lease::default(),
            );
            let (receiver, _outgoing) = connection.shared();
            let all = Cancelling::default();
            let entry = all.enter(None);
            entry.look_at(&receiver);
            // The client is connected and sends more.
            let first = entry.flight();
            client.try_write(b"PING\r\n").unwrap();
            // The runtime reads the bytes at some later moment.
            while receiver.incoming().input.is_empty() {
                tokio::task::yield_now().await;
                all.look();
            }
            assert_eq!(receiver.incoming().input, "PING\r\n");
            assert_eq!(entry.interrupt().reason(), None);
            drop(first);
            drop(client);
            // A flight that begins after a check, or is over, is not checked.
            all.look();
            let second = entry.flight();
            all.look();
            assert_eq!(entry.interrupt().reason(), None);
            while entry.interrupt().reason().is_none() {
                tokio::task::yield_now().await;
                all.look();
            }
            assert_eq!(entry.interrupt().reason(), Some(Reason::Disconnected));
            drop(second);
        });
    }
}
