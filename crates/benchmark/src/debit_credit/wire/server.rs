//! The server: connections, the stages that receive and answer, and the end.
//!
//! One thread waits for events. The bytes that arrived on a connection are a *visit*, an exchange of the engine's. In
//! the pipelined shape the input stage's threads receive and decode it, and the output stage's threads encode and send
//! the answers; each connection keeps the same thread of each stage. In the coalesced shape the waiting thread receives
//! and executes, and one more thread waits until that is durable and answers.
//!
//! Clients that are slow, dead or hostile have no effect on others: see [`Limits`] and `connection`.

use super::address::{Listener, Stream};
use super::connection::Connection;
use super::message::Farewell;
use super::shared::Shared;
use super::visit::{Preparing, Visit};
use crate::debit_credit::requests::Scale;
use crate::debit_credit::run::{Outcome, Progress, watch};
use crate::debit_credit::transaction::Refusal;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;
use rustix::time::Timespec;
use sardonyx::procedures::{Procedure, Registered};
use sardonyx::{Error, Tables};
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// The reason why there is no service.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address cannot be bound.
    #[error("listening at {address}: {source}")]
    Listen {
        /// As the option `--listen` has it.
        address: String,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The system refused.
    #[error("serving clients: {0}")]
    System(#[from] io::Error),
    /// The database failed.
    #[error(transparent)]
    Database(#[from] Error),
}

impl From<rustix::io::Errno> for ServeError {
    fn from(error: rustix::io::Errno) -> Self {
        ServeError::System(error.into())
    }
}

/// The limits of clients.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most connections. One more replaces the oldest that has not sent its first message, or is sent away.
    pub connections: usize,
    /// The time that a connection may be without a first message.
    pub silence: Duration,
    /// The time for which a client may leave its answers unread.
    pub stall: Duration,
    /// The most unanswered requests of a client.
    pub window: u32,
    /// The time that the end waits for clients to read their last answers.
    pub farewell: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections: 1024,
            silence: Duration::from_secs(5),
            stall: Duration::from_secs(30),
            window: 1 << 16,
            farewell: Duration::from_secs(5),
        }
    }
}

/// The interval at which connections are checked against these limits.
const TICK: Duration = Duration::from_millis(200);

/// Clients have numbers of 16 bits.
const CLIENTS_MAX: u64 = 1 << 16;

/// Tokens of events that are no client's.
const LISTENER: u64 = CLIENTS_MAX;
const WAKE: u64 = CLIENTS_MAX + 1;

/// Asks a server to end.
#[derive(Clone, Debug)]
pub struct Stop(Arc<(AtomicBool, OwnedFd)>);

impl Stop {
    /// A handle for a server that has not begun.
    ///
    /// # Errors
    /// The system's error.
    pub fn new() -> io::Result<Self> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Stop(Arc::new((AtomicBool::new(false), wake))))
    }

    /// Stops receiving; answers the received requests, then ends.
    pub fn stop(&self) {
        self.0.0.store(true, Ordering::Release);
        self.wake();
    }

    pub(super) fn wake(&self) {
        // A full counter means that it is awake.
        let _ = rustix::io::write(&self.0.1, &1u64.to_ne_bytes());
    }

    fn is_asked(&self) -> bool {
        self.0.0.load(Ordering::Acquire)
    }
}

/// The bank that is served, and its options.
#[derive(Clone, Copy, Debug)]
pub struct Bank<'a> {
    /// All clients change it.
    pub database: &'a Tables,
    /// The size of the bank.
    pub scale: Scale,
    /// The limits of clients.
    pub limits: Limits,
    /// Threads of the output stage.
    pub output_threads: usize,
    /// The time for which it is served, unless it is stopped before.
    pub time: Option<Duration>,
}

/// A bank with its transaction.
pub struct Service<'a, P: Procedure> {
    bank: Bank<'a>,
    procedure: &'a Registered<P>,
    preparing: Preparing<P>,
}

impl<'a> Bank<'a> {
    /// A bank with its transaction, and the input stage's step after decoding.
    pub fn service<P: Procedure>(
        self,
        procedure: &'a Registered<P>,
        preparing: Preparing<P>,
    ) -> Service<'a, P> {
        Service {
            bank: self,
            procedure,
            preparing,
        }
    }
}

/// Serves clients until it is stopped. Received requests are answered before it returns.
///
/// # Errors
/// [`ServeError`].
pub fn serve<P: Procedure<Output = (), Error = Refusal>>(
    service: &Service<'_, P>,
    listener: Listener,
    stop: &Stop,
    progress: &Arc<Progress>,
) -> Result<Outcome, ServeError> {
    let bank = &service.bank;
    let shared = Shared::new(
        (bank.limits, bank.scale),
        bank.output_threads,
        stop.clone(),
        progress.clone(),
    );
    let shared = Arc::new(shared?);
    let (sender, owed) = mpsc::channel::<sardonyx::procedures::Owed<Visit<P>>>();
    let mut server = Server {
        service,
        shared: shared.clone(),
        listener: Some(listener),
        connections: BTreeMap::new(),
        clients: 0,
        looked: Instant::now(),
        sender,
    };
    let (served, slices) = std::thread::scope(|scope| {
        let answering = scope.spawn(move || {
            owed.into_iter()
                .for_each(sardonyx::procedures::Owed::answer)
        });
        let watching = scope.spawn(|| watch(service.bank.database, progress));
        let served = server.run();
        server.connections.values().for_each(|one| one.end());
        let clients = server.clients;
        drop(server);
        answering
            .join()
            .expect("the answering thread does not panic");
        progress.stop();
        let slices = watching.join().expect("the watcher does not panic");
        (served.map(|()| clients), slices)
    });
    // Also those of disconnected clients.
    let flushed = service.bank.database.flush();
    shared.visits.wait_for_none();
    let clients = served?;
    match shared.take_failure() {
        Some(failure) => return Err(failure.into()),
        None => flushed?,
    }
    Ok(Outcome {
        slices,
        ..shared.outcome(clients)
    })
}

struct Server<'a, P: Procedure<Output = (), Error = Refusal>> {
    service: &'a Service<'a, P>,
    shared: Arc<Shared>,
    /// Until the end begins.
    listener: Option<Listener>,
    connections: BTreeMap<u16, Arc<Connection>>,
    /// Clients so far.
    clients: u64,
    /// The time of the last check of connections.
    looked: Instant,
    sender: mpsc::Sender<sardonyx::procedures::Owed<Visit<P>>>,
}

impl<P: Procedure<Output = (), Error = Refusal>> Server<'_, P> {
    fn run(&mut self) -> Result<(), ServeError> {
        let epoll = &self.shared.epoll;
        let wake = EventData::new_u64(WAKE);
        epoll::add(epoll, &self.shared.stop.0.1, wake, EventFlags::IN)?;
        self.listen(true)?;
        let end = self.service.bank.time.map(|time| Instant::now() + time);
        let mut deadline = None;
        let mut events = Vec::with_capacity(256);
        loop {
            let now = Instant::now();
            if deadline.is_none()
                && (self.shared.stop.is_asked() || end.is_some_and(|end| now >= end))
            {
                self.begin_the_end()?;
                deadline = Some(now + self.shared.limits.farewell);
            }
            self.forget_the_gone();
            if deadline.is_some_and(|deadline| self.connections.is_empty() || now >= deadline) {
                return Ok(());
            }
            self.look(now)?;
            self.wait(
                &mut events,
                end.or(deadline)
                    .map(|end| end.saturating_duration_since(now)),
            )?;
            for event in events.drain(..) {
                let (data, flags) = (event.data.u64(), event.flags);
                match u16::try_from(data) {
                    Ok(client) => self.event(client, flags),
                    Err(_) if data == WAKE => {
                        let mut count = [0; 8];
                        // Nothing to read: the event was for another thread.
                        let _ = rustix::io::read(&self.shared.stop.0.1, &mut count);
                    }
                    Err(_) => self.accept()?,
                }
            }
        }
    }

    fn wait(&self, events: &mut Vec<Event>, most: Option<Duration>) -> Result<(), ServeError> {
        // Without connections there is nothing to check.
        let tick = match self.connections.is_empty() {
            true => Duration::from_secs(60),
            false => TICK,
        };
        let time = most.map_or(tick, |most| most.min(tick)) + Duration::from_millis(1);
        let time = Timespec {
            tv_sec: time.as_secs() as i64,
            tv_nsec: time.subsec_nanos().into(),
        };
        let buffer = rustix::buffer::spare_capacity(events);
        match epoll::wait(&self.shared.epoll, buffer, Some(&time)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn listen(&self, on: bool) -> Result<(), ServeError> {
        let (epoll, data) = (&self.shared.epoll, EventData::new_u64(LISTENER));
        match (&self.listener, on) {
            (Some(listener), true) => epoll::add(epoll, listener, data, EventFlags::IN)?,
            (Some(listener), false) => epoll::delete(epoll, listener)?,
            (None, _) => {}
        }
        Ok(())
    }

    fn begin_the_end(&mut self) -> Result<(), ServeError> {
        self.listen(false)?;
        self.listener = None;
        self.connections
            .values()
            .for_each(|one| one.finish(Farewell::Closing));
        Ok(())
    }

    fn forget_the_gone(&mut self) {
        for client in self.shared.take_gone() {
            self.connections.remove(&client);
        }
    }

    /// At intervals, ends connections that exceed a limit.
    fn look(&mut self, now: Instant) -> Result<(), ServeError> {
        if now.saturating_duration_since(self.looked) < TICK {
            return Ok(());
        }
        self.looked = now;
        let limits = &self.shared.limits;
        for connection in self.connections.values() {
            let silent = connection
                .silent_for(now)
                .is_some_and(|time| time > limits.silence);
            let stalled = connection
                .stalled_for(now)
                .is_some_and(|time| time > limits.stall);
            if silent || stalled {
                connection.end();
            }
        }
        Ok(())
    }

    /// Accepts waiting clients.
    fn accept(&mut self) -> Result<(), ServeError> {
        while let Some(listener) = &self.listener {
            match listener.accept() {
                Ok(stream) => self.enter(stream),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // The connection ended before it was accepted, or the system has no room for it: as with any other, the
                // next event tries again.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(_) => {
                    std::thread::sleep(Duration::from_millis(10));
                    break;
                }
            }
        }
        Ok(())
    }

    fn enter(&mut self, stream: Stream) {
        let now = Instant::now();
        self.forget_the_gone();
        if self.connections.len() >= self.shared.limits.connections {
            let silent = self
                .connections
                .values()
                .filter_map(|one| Some((one.silent_for(now)?, one)));
            match silent.max_by_key(|(time, _)| *time) {
                Some((_, oldest)) => oldest.end(),
                None => return send_away(&stream),
            }
            self.forget_the_gone();
        }
        let Ok(client) = u16::try_from(self.clients) else {
            return send_away(&stream);
        };
        // If the system refuses it, only this client is affected.
        if let Ok(connection) = Connection::new(stream, client, self.shared.clone()) {
            self.clients += 1;
            self.connections.insert(client, connection);
        }
    }

    fn event(&mut self, client: u16, flags: EventFlags) {
        let Some(connection) = self.connections.get(&client) else {
            return;
        };
        if connection.event(flags) {
            let visit = Visit::new(connection.clone(), self.service.preparing.clone());
            let (database, procedure) = (self.service.bank.database, self.service.procedure);
            let owed = database.submit_exchange(procedure, visit, client.into());
            if let Some(owed) = owed {
                // The answering thread ends after this one.
                let _ = self.sender.send(owed);
            }
        }
    }
}

/// Sends the reason, if the socket accepts it, and closes.
fn send_away(stream: &Stream) {
    use std::io::Write;
    let (mut bytes, mut stream) = (Vec::new(), stream);
    super::message::Message::Farewell(Farewell::Crowded).put(&mut bytes);
    let _ = stream.write(&bytes);
}
