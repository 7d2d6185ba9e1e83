//! A client's connection at the server: its requests in flight, and the answers that it has not read.
//!
//! No thread waits for a client. Receiving takes the bytes that have arrived. Answers that do not fit into the socket
//! are kept until it accepts more. Meanwhile, and while a whole window of its requests is unanswered, nothing is
//! received from the client. So its memory is bounded, and only its own requests wait.
//!
//! The registration is for one event, so one thread at a time learns that there is something to receive. So the bytes
//! of a connection are decoded in order; its visits pass through the same threads of each stage.

use super::address::Stream;
use super::frame::{FRAME_BYTES_MAX, ProtocolError};
use super::message::{Answer, Farewell, Message, VERSION, Welcome};
use super::session::ServerSession;
use super::shared::Shared;
use crate::debit_credit::transaction::{Numbered, Refusal};
use rustix::event::epoll::{self, EventData, EventFlags};
use sardonyx::Error;
use sardonyx::procedures::ProcedureError;
use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The most bytes that are received at once.
const RECEIVED_BYTES_MAX: usize = 256 << 10;

/// The bytes of unread answers from which on nothing more is received from the client. More than the answers of a whole
/// window, so that a client may send one before it reads any.
const UNTAKEN_BYTES_MAX: usize = 2 << 20;

thread_local! {
    /// The receive buffer of a thread; a connection keeps only the rest of a frame.
    static RECEIVED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A client's connection.
#[derive(Debug)]
pub(super) struct Connection {
    stream: Stream,
    /// Its number, and so its lane.
    pub client: u16,
    shared: Arc<Shared>,
    since: Instant,
    heard: Mutex<Heard>,
    state: Mutex<State>,
}

/// The received bytes.
#[derive(Debug)]
struct Heard {
    session: ServerSession,
    /// The beginning of a frame whose end has not arrived.
    rest: Vec<u8>,
}

/// The answers on their way to the client, and the awaited events.
#[derive(Debug, Default)]
struct State {
    greeted: bool,
    /// Requests that were received and not answered.
    unanswered: usize,
    /// The number of the next answer.
    next: u64,
    /// Answers that the socket did not accept, from `taken` on.
    untaken: Vec<u8>,
    taken: usize,
    /// The time since when the client has read none of them.
    stalled_since: Option<Instant>,
    /// The events that the registration waits for.
    wants_in: bool,
    wants_out: bool,
    /// Nothing is received for now.
    paused: bool,
    /// Nothing is received any more.
    finished: bool,
    /// The last message.
    farewell: Option<Farewell>,
    closed: bool,
}

impl Connection {
    /// A new connection of a client.
    ///
    /// # Errors
    /// The system's error.
    pub fn new(stream: Stream, client: u16, shared: Arc<Shared>) -> io::Result<Arc<Self>> {
        let connection = Arc::new(Connection {
            stream,
            client,
            shared,
            since: Instant::now(),
            heard: Mutex::new(Heard {
                session: ServerSession::new(client),
                rest: Vec::new(),
            }),
            state: Mutex::new(State {
                wants_in: true,
                ..State::default()
            }),
        });
        let flags = EventFlags::IN | EventFlags::ONESHOT;
        let data = EventData::new_u64(client.into());
        epoll::add(&connection.shared.epoll, &connection.stream, data, flags)?;
        Ok(connection)
    }

    /// The state that it shares with others.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time since it connected without a first message; `None` after that message.
    pub fn silent_for(&self, now: Instant) -> Option<Duration> {
        (!self.state().greeted).then(|| now.saturating_duration_since(self.since))
    }

    /// The time for which it has left its answers unread.
    pub fn stalled_for(&self, now: Instant) -> Option<Duration> {
        let since = self.state().stalled_since?;
        Some(now.saturating_duration_since(since))
    }

    /// Handles an event. Returns true if there is something to receive: the caller makes a visit of it.
    pub fn event(&self, flags: EventFlags) -> bool {
        let mut state = self.state();
        if state.closed {
            return false;
        }
        let ended = flags.intersects(EventFlags::HUP | EventFlags::ERR);
        let receive = state.wants_in && (ended || flags.contains(EventFlags::IN));
        if receive {
            state.wants_in = false;
        }
        if state.wants_out && (ended || flags.contains(EventFlags::OUT)) {
            state.wants_out = false;
            self.send(&mut state);
        }
        if !state.closed {
            self.register(&state);
        }
        receive
    }

    /// Receives the bytes that have arrived and decodes them. Returns the time of their arrival, if there were any.
    pub fn receive(&self, calls: &mut Vec<Numbered>) -> Option<Instant> {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let Heard { session, rest } = &mut *heard;
        let (came, outcome) = RECEIVED.with_borrow_mut(|bytes| {
            bytes.resize(FRAME_BYTES_MAX + RECEIVED_BYTES_MAX, 0);
            bytes[..rest.len()].copy_from_slice(rest);
            let read = retried(|| (&self.stream).read(&mut bytes[rest.len()..]));
            let came = Instant::now();
            let bytes = match read {
                Ok(0) => return (came, Ok(true)),
                Ok(count) => &bytes[..rest.len() + count],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return (came, Ok(false));
                }
                Err(_) => return (came, Ok(true)),
            };
            let outcome = session.hear(bytes, calls).map(|count| {
                rest.clear();
                rest.extend_from_slice(&bytes[count..]);
                false
            });
            (came, outcome)
        });
        let greeted = session.is_greeted();
        drop(heard);
        self.received(calls.len(), greeted, outcome);
        (!calls.is_empty()).then_some(came)
    }

    /// Notes so many received requests; an outcome of `true`: no more will come.
    fn received(&self, count: usize, greeted: bool, outcome: Result<bool, ProtocolError>) {
        let mut state = self.state();
        state.unanswered += count;
        self.shared.received(count);
        if greeted && !state.greeted {
            state.greeted = true;
            let scale = self.shared.scale;
            let welcome = Welcome {
                version: VERSION,
                client: self.client,
                window: self.shared.limits.window,
                scale: [scale.accounts(), scale.tellers(), scale.branches()],
            };
            Message::Welcome(welcome).put(&mut state.untaken);
            self.send(&mut state);
        }
        match outcome {
            Ok(ended) => state.finished |= ended,
            Err(error) => {
                state.finished = true;
                state.farewell = Some(match error {
                    ProtocolError::Version { .. } => Farewell::Version,
                    _ => Farewell::Misunderstood,
                });
            }
        }
        self.go_on(&mut state);
    }

    /// Sends the outcomes of its requests to the client.
    pub fn answer(&self, outcomes: Vec<Result<(), ProcedureError<Refusal>>>, came: Instant) {
        let (count, mut committed) = (outcomes.len() as u64, 0);
        let mut state = self.state();
        for outcome in outcomes {
            let outcome = answer_of(&outcome);
            committed += u64::from(outcome == Answer::Committed);
            let number = state.next;
            state.next += 1;
            if !state.closed {
                Message::Answer { number, outcome }.put(&mut state.untaken);
            }
        }
        state.unanswered -= count as usize;
        if !state.wants_out {
            self.send(&mut state);
        }
        let next = state.next;
        self.go_on(&mut state);
        drop(state);
        self.shared
            .answered(self.client, next, (count, committed), came);
    }

    /// The fate of requests is unknown, or the database is closed: the client receives no answer.
    pub fn fail(&self, error: Error, requests: usize) {
        self.shared.fail(error);
        let mut state = self.state();
        state.unanswered -= requests;
        self.close(&mut state);
    }

    /// Stops receiving; answers the received requests, and sends the reason.
    pub fn finish(&self, farewell: Farewell) {
        let mut state = self.state();
        state.finished = true;
        state.farewell.get_or_insert(farewell);
        self.go_on(&mut state);
    }

    /// Ends it at once.
    pub fn end(&self) {
        self.close(&mut self.state());
    }

    /// Registers for the right events, or ends the connection.
    fn go_on(&self, state: &mut State) {
        if state.closed {
            return;
        }
        let untaken = state.untaken.len() - state.taken;
        if state.finished && state.unanswered == 0 {
            if let Some(farewell) = state.farewell.take() {
                Message::Farewell(farewell).put(&mut state.untaken);
                self.send(state);
            }
            if !state.closed && state.untaken.is_empty() {
                return self.close(state);
            }
        }
        let window = self.shared.limits.window as usize;
        // With some hysteresis, so that it does not change with every answer.
        state.paused = match state.paused {
            true => state.unanswered > window / 2 || untaken > UNTAKEN_BYTES_MAX / 2,
            false => state.unanswered >= window || untaken >= UNTAKEN_BYTES_MAX,
        };
        state.wants_in = !state.finished && !state.paused;
        if !state.closed {
            self.register(state);
        }
    }

    /// Sends as much as the socket accepts.
    fn send(&self, state: &mut State) {
        while !state.closed && state.taken < state.untaken.len() {
            match retried(|| (&self.stream).write(&state.untaken[state.taken..])) {
                Ok(count) => {
                    state.taken += count;
                    state.stalled_since = None;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    state.stalled_since.get_or_insert_with(Instant::now);
                    state.wants_out = true;
                    return;
                }
                Err(_) => return self.close(state),
            }
        }
        state.untaken.clear();
        state.taken = 0;
        state.stalled_since = None;
        state.wants_out = false;
        if state.finished && state.unanswered == 0 && state.farewell.is_none() {
            self.close(state);
        }
    }

    fn register(&self, state: &State) {
        let mut flags = EventFlags::ONESHOT;
        flags.set(EventFlags::IN, state.wants_in);
        flags.set(EventFlags::OUT, state.wants_out);
        let data = EventData::new_u64(self.client.into());
        // It fails only for a connection that is closed.
        let _ = epoll::modify(&self.shared.epoll, &self.stream, data, flags);
    }

    fn close(&self, state: &mut State) {
        if std::mem::replace(&mut state.closed, true) {
            return;
        }
        state.untaken = Vec::new();
        state.taken = 0;
        let _ = epoll::delete(&self.shared.epoll, &self.stream);
        self.stream.shutdown(Shutdown::Both);
        self.shared.gone(self.client);
    }
}

/// Repeats a system call that a signal interrupted.
fn retried(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

#[inline]
fn answer_of(outcome: &Result<(), ProcedureError<Refusal>>) -> Answer {
    match outcome {
        Ok(()) => Answer::Committed,
        Err(ProcedureError::Aborted(refusal)) => match refusal {
            Refusal::UnknownAccount { .. } => Answer::UnknownAccount,
            Refusal::UnknownTeller { .. } => Answer::UnknownTeller,
            Refusal::UnknownBranch { .. } => Answer::UnknownBranch,
            Refusal::Denied { .. } => Answer::Denied,
            Refusal::Overflow { .. } => Answer::Overflow,
            Refusal::Database(_) => Answer::Refused,
        },
        Err(_) => Answer::Refused,
    }
}
