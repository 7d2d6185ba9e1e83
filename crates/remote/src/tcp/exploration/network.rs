//! The network between processes and their server, and the server: bytes on their way, which arrive, arrive later, or not.

use super::super::link::{Network, Stream};
use super::super::server::welcome;
use super::super::session::Session;
use super::world::CLIENTS;
use sardonyx_base::greeting::GreetingError;
use sardonyx_base::random::Random;
use sardonyx_base::transport::TransportError;
use sardonyx_storage::remote_log::memory::MemoryStore;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The events of a network.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Broken {
    pub unanswered: u64,
    pub late: u64,
    pub cut_requests: u64,
    pub cut_answers: u64,
    pub restarts: u64,
    pub emptied: u64,
}

/// A connection, with what is on its way.
struct Connection {
    client: usize,
    /// `None`: the server's end is closed.
    session: Option<Session>,
    to_server: Vec<u8>,
    to_client: VecDeque<u8>,
    /// Bytes of answers that arrive later.
    held: VecDeque<u8>,
    /// The client has closed its end.
    is_left: bool,
}

pub(super) struct Inner {
    random: Random,
    /// The weight of each fault of a request, in a thousand.
    odds: u64,
    pub is_quiet: bool,
    pub is_up: bool,
    pub cut: [bool; CLIENTS],
    pub store: Arc<MemoryStore>,
    /// The store, while an empty one is in its place.
    away: Option<Arc<MemoryStore>>,
    connections: Vec<Connection>,
    pub broken: Broken,
}

/// The network, as all of its users have it.
#[derive(Clone)]
pub(super) struct Net(Arc<Mutex<Inner>>);

/// The server's end of a connection, for one request.
struct ServerEnd<'a> {
    request: &'a [u8],
    answer: Vec<u8>,
}

impl Read for ServerEnd<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.request.read(into)
    }
}

impl Write for ServerEnd<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.answer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The length of the first frame in these bytes, if all of it is there.
fn first_frame(bytes: &[u8]) -> Option<usize> {
    let length = bytes.first_chunk::<4>()?;
    let whole = 4 + u32::from_be_bytes(*length) as usize;
    (bytes.len() >= whole).then_some(whole)
}

impl Connection {
    /// The server does the requests that are whole. Returns the bytes of its answers.
    fn serve(&mut self, store: &MemoryStore) -> Vec<u8> {
        let mut answers = Vec::new();
        while let (Some(session), Some(whole)) = (&mut self.session, first_frame(&self.to_server)) {
            let request: Vec<u8> = self.to_server.drain(..whole).collect();
            let mut end = ServerEnd {
                request: &request,
                answer: Vec::new(),
            };
            if session.answer_next(store, &mut end).is_err() {
                self.close();
            }
            answers.extend(end.answer);
        }
        answers
    }

    /// The server's end is closed: what came of a request is no request.
    fn close(&mut self) {
        if let Some(mut session) = self.session.take() {
            let rest = std::mem::take(&mut self.to_server);
            let is_partial = first_frame(&rest).is_none();
            let mut end = ServerEnd {
                request: &rest,
                answer: Vec::new(),
            };
            let nothing = MemoryStore::new();
            if is_partial {
                session.answer_next(&nothing, &mut end).unwrap_err();
            }
        }
        self.to_server.clear();
        self.held.clear();
    }
}

impl Inner {
    fn reaches(&self, client: usize) -> bool {
        self.is_up && !self.cut[client]
    }

    /// The fault of a request, if one is drawn.
    fn fault(&mut self, faults: u64) -> Option<u64> {
        let drawn = self.random.below(1000);
        let found = (0..faults).find(|fault| drawn < self.odds * (fault + 1));
        found.filter(|_| !self.is_quiet)
    }

    /// The server ends, and is started again.
    pub fn restart(&mut self) {
        for connection in &mut self.connections {
            connection.close();
        }
        self.broken.restarts += 1;
    }

    /// Another store is at the place, and then the one from before again.
    pub fn exchange_store(&mut self) {
        self.restart();
        self.store = match self.away.take() {
            Some(store) => store,
            None => {
                self.broken.emptied += 1;
                self.away = Some(std::mem::take(&mut self.store));
                Arc::default()
            }
        };
    }

    pub fn is_emptied(&self) -> bool {
        self.away.is_some()
    }

    /// Bytes arrive that were sent long ago, in either direction.
    pub fn release(&mut self) {
        let waits = |connection: &Connection| {
            let is_due =
                first_frame(&connection.to_server).is_some() || !connection.held.is_empty();
            is_due && connection.session.is_some() && self.reaches(connection.client)
        };
        let all = 0..self.connections.len();
        let waiting: Vec<_> = all.filter(|at| waits(&self.connections[*at])).collect();
        if waiting.is_empty() {
            return;
        }
        let at = self.random.below(waiting.len() as u64) as usize;
        let connection = &mut self.connections[waiting[at]];
        let answers = connection.serve(&self.store);
        let held = std::mem::take(&mut connection.held);
        connection.to_client.extend(held);
        connection.to_client.extend(answers);
        if connection.is_left {
            connection.close();
        }
        self.broken.late += 1;
    }
}

impl Net {
    pub fn new(mut random: Random) -> Net {
        let odds = 1 + random.below(15);
        Net(Arc::new(Mutex::new(Inner {
            random,
            odds,
            is_quiet: false,
            is_up: true,
            cut: [false; CLIENTS],
            store: Arc::default(),
            away: None,
            connections: Vec::new(),
            broken: Broken::default(),
        })))
    }

    pub fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The network of a process.
    pub fn of(&self, client: usize) -> Box<Way> {
        let net = self.clone();
        Box::new(Way { net, client })
    }
}

/// The way of a process to the server.
pub(super) struct Way {
    net: Net,
    client: usize,
}

impl std::fmt::Debug for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the way of process {}", self.client)
    }
}

impl Network for Way {
    fn connect(&self, _: Duration) -> Result<(Box<dyn Stream>, Vec<u8>), GreetingError> {
        let mut inner = self.net.lock();
        if !inner.reaches(self.client) || inner.fault(1).is_some() {
            let source = ErrorKind::TimedOut.into();
            return Err(TransportError::failed("server", source).into());
        }
        let welcome = welcome(&*inner.store).expect("it is in memory");
        inner.connections.push(Connection {
            client: self.client,
            session: Some(Session::default()),
            to_server: Vec::new(),
            to_client: VecDeque::new(),
            held: VecDeque::new(),
            is_left: false,
        });
        let end = ClientEnd {
            net: self.net.clone(),
            at: inner.connections.len() - 1,
        };
        Ok((Box::new(end), welcome))
    }
}

/// A process' end of a connection.
struct ClientEnd {
    net: Net,
    at: usize,
}

impl std::fmt::Debug for ClientEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "connection {}", self.at)
    }
}

impl Write for ClientEnd {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut inner = self.net.lock();
        let fault = inner.fault(1);
        let most = match inner.random.chance(1, 4) {
            true => 1 + inner.random.below(bytes.len() as u64) as usize,
            false => bytes.len(),
        };
        let connection = &mut inner.connections[self.at];
        if connection.session.is_none() {
            return Err(ErrorKind::BrokenPipe.into());
        }
        connection.to_server.extend(&bytes[..most]);
        if fault.is_some() {
            // The connection breaks, within the request or behind it.
            connection.close();
            inner.broken.cut_requests += 1;
            return Err(ErrorKind::ConnectionReset.into());
        }
        Ok(most)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for ClientEnd {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut inner = self.net.lock();
        let store = inner.store.clone();
        let nothing = || io::Error::from(ErrorKind::TimedOut);
        let client = inner.connections[self.at].client;
        if inner.connections[self.at].to_client.is_empty() {
            if inner.connections[self.at].session.is_none() {
                return Ok(0);
            }
            if !inner.reaches(client) {
                return Err(nothing());
            }
            let fault = inner.fault(4);
            let connection = &mut inner.connections[self.at];
            match fault {
                // It arrives later, or never.
                Some(0) => {
                    inner.broken.unanswered += 1;
                    return Err(nothing());
                }
                // The answer does.
                Some(1) => {
                    let answers = connection.serve(&store);
                    connection.held.extend(answers);
                    inner.broken.unanswered += 1;
                    return Err(nothing());
                }
                // The connection breaks within the answer.
                Some(2) => {
                    let answers = connection.serve(&store);
                    connection.close();
                    let arrives = inner.random.below(answers.len() as u64 + 1) as usize;
                    let arrived = answers.into_iter().take(arrives);
                    inner.connections[self.at].to_client.extend(arrived);
                    inner.broken.cut_answers += 1;
                }
                // The server ends before it, or behind it.
                Some(_) => {
                    if inner.random.chance(1, 2) {
                        inner.connections[self.at].serve(&store);
                    }
                    inner.restart();
                    return Ok(0);
                }
                None => {
                    let held = std::mem::take(&mut connection.held);
                    connection.to_client.extend(held);
                    let answers = connection.serve(&store);
                    connection.to_client.extend(answers);
                    if connection.to_client.is_empty() {
                        return Err(nothing());
                    }
                }
            }
        }
        let waiting = inner.connections[self.at].to_client.len();
        let most = waiting.min(into.len());
        let most = match most {
            0 => return Ok(0),
            most => 1 + inner.random.below(most as u64) as usize,
        };
        let arrived = inner.connections[self.at].to_client.drain(..most);
        into.iter_mut()
            .zip(arrived)
            .for_each(|(to, byte)| *to = byte);
        Ok(most)
    }
}

impl Stream for ClientEnd {
    fn limit(&self, _: Duration) -> io::Result<()> {
        Ok(())
    }

    fn limit_writes(&self, _: Duration) -> io::Result<()> {
        Ok(())
    }

    fn is_open(&self) -> bool {
        let inner = self.net.lock();
        let connection = &inner.connections[self.at];
        connection.session.is_some() && connection.to_client.is_empty()
    }
}

impl Drop for ClientEnd {
    fn drop(&mut self) {
        let mut inner = self.net.lock();
        inner.connections[self.at].is_left = true;
    }
}
