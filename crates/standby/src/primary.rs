//! The primary's side: a [`RemoteCheckpointer`] that carries the log to a standby over the network,
//! comes back whenever the connection is lost, and fetches an image when the database is opened.
//!
//! It keeps no log of its own: what the standby lacks comes from the newest groups in memory, and else from the
//! log on disk, so a standby that was away for an hour is as one that lags a little. A log that
//! is full because the standby is away refuses transactions, with the reason, until it is back.
//!
//! Source: TPK paper, section 3, configuration C.

use crate::fetch::fetch;
use crate::protocol::Progress;
use crate::refusal::{ProtocolError, Refusal};
use crate::ship::{Lost, ship};
use crate::stream::{End, Stream};
use sardonyx_base::process::Process;
use sardonyx_base::sync::futex::{Condvar, Mutex};
use sardonyx_base::token::Token;
use sardonyx_base::transport::{Transport, TransportError};
use sardonyx_storage::checkpoint::{Image, RemoteCheckpointer, RemoteError, SeedError, ShippedLog};
use sardonyx_storage::log::LogPosition;
use sardonyx_storage::manifest::Manifest;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;

/// One wait is at most so long; whoever waits longer waits again.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// How long the primary waits for its standby.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Patience {
    /// For a connection to be made.
    pub connect_max: Duration,
    /// For anything to be heard. The standby says something every second, so this is several.
    pub silence_max: Duration,
    /// Before the first attempt to connect again; doubled with each that fails.
    pub retry_first: Duration,
    /// Between two attempts to connect, at most.
    pub retry_max: Duration,
}

impl Default for Patience {
    /// 5 seconds for a connection, 10 of silence, 50 milliseconds to 2 seconds between attempts.
    fn default() -> Self {
        Patience {
            connect_max: Duration::from_secs(5),
            silence_max: Duration::from_secs(10),
            retry_first: Duration::from_millis(50),
            retry_max: Duration::from_secs(2),
        }
    }
}

/// A standby, as the primary names it when it opens the database. Share it in an `Arc`: it tells how
/// far the standby is while the database is open. In a child that is forked then it knows nothing
/// ([`RemoteError::Forked`]).
#[derive(Debug)]
pub struct Standby {
    process: Process,
    address: String,
    patience: Patience,
    token: Option<Token>,
    /// `None`: TCP as it is.
    transport: Option<Arc<dyn Transport>>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    log: Option<ShippedLog>,
    connected: bool,
    connections: u64,
    progress: Option<Progress>,
    trouble: Option<RemoteError>,
    sent: Sent,
}

/// What was sent of the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Sent {
    /// Commit groups.
    pub groups: u64,
    /// Those of them that were read back from disk, since they were not in memory any more.
    pub groups_read_back: u64,
    /// How long sending took: until the last byte was the network's.
    pub time: Duration,
}

/// How far a standby is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StandbyStatus {
    /// Whether it is connected.
    pub connected: bool,
    /// How often it was connected since this process named it.
    pub connections: u64,
    /// The end of its durable log, as far as it was heard.
    pub durable: Option<LogPosition>,
    /// The place up to which its last complete checkpoint has everything.
    pub complete_from: Option<LogPosition>,
    /// Checkpoints that it completed since it was started.
    pub checkpoints: u64,
    /// What it is behind; `None` until it was heard, or while the database is not open.
    pub lag: Option<Lag>,
    /// What it was sent since this process named it.
    pub sent: Sent,
    /// Why it is away, or was the last time.
    pub trouble: Option<RemoteError>,
}

/// What would be missing if the primary were lost now and the standby's directory opened as the
/// database: exactly the groups after the last one that the standby has durably.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lag {
    /// Commit groups.
    pub groups: u64,
    /// Transactions in them.
    pub transactions: u64,
    /// Bytes of log.
    pub bytes: u64,
}

impl Standby {
    /// The standby at this address (`host:port`). Does not connect yet.
    pub fn at(address: impl Into<String>) -> Arc<Standby> {
        Self::with_patience(address, Patience::default())
    }

    /// The same with another patience.
    pub fn with_patience(address: impl Into<String>, patience: Patience) -> Arc<Standby> {
        Self::new(address.into(), patience, None, None)
    }

    /// The same of a standby that serves only who has this token.
    pub fn with_token(
        address: impl Into<String>,
        token: Token,
        patience: Patience,
    ) -> Arc<Standby> {
        Self::new(address.into(), patience, Some(token), None)
    }

    /// The same over another transport than TCP as it is, such as TLS: the standby must have one of its kind.
    pub fn over(
        transport: Arc<dyn Transport>,
        address: impl Into<String>,
        token: Option<Token>,
        patience: Patience,
    ) -> Arc<Standby> {
        Self::new(address.into(), patience, token, Some(transport))
    }

    fn new(
        address: String,
        patience: Patience,
        token: Option<Token>,
        transport: Option<Arc<dyn Transport>>,
    ) -> Arc<Standby> {
        Arc::new(Standby {
            process: Process::current(),
            address,
            patience,
            token,
            transport,
            state: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    /// Its address.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// How far it is.
    pub fn status(&self) -> StandbyStatus {
        if !self.process.is_current() {
            let trouble = Some(RemoteError::Forked);
            return State {
                trouble,
                ..State::default()
            }
            .status();
        }
        self.state.lock().status()
    }

    /// What it is behind; `None` until it was heard, or while the database is not open.
    pub fn lag(&self) -> Option<Lag> {
        self.status().lag
    }

    /// Waits until its status is as wanted, at most so long. Returns whether it is.
    pub fn wait_for(&self, wanted: impl Fn(&StandbyStatus) -> bool, patience: Duration) -> bool {
        self.wait_while(patience, |state| !wanted(&state.status()))
    }

    /// Waits until something is no more so, at most so long. Returns whether it is not.
    fn wait_while(&self, patience: Duration, mut is_so: impl FnMut(&State) -> bool) -> bool {
        if !self.process.is_current() {
            return false;
        }
        let began = Instant::now();
        let mut state = self.state.lock();
        loop {
            if !is_so(&state) {
                return true;
            }
            let Some(left) = patience
                .checked_sub(began.elapsed())
                .filter(|left| !left.is_zero())
            else {
                return false;
            };
            let until = Instant::now() + left.min(LONGEST_WAIT);
            self.changed.wait_until(&mut state, until);
        }
    }

    /// Waits until it has everything durably that is durable here now, at most so long. Returns
    /// whether it has.
    pub fn wait_until_caught_up(&self, patience: Duration) -> bool {
        let mut target = None;
        self.wait_while(patience, |state| {
            let here = state.log.as_ref().map(|log| log.durable().group);
            target = target.or(here);
            let there = state
                .progress
                .map(|progress| LogPosition::from(progress.durable).group);
            target.is_none() || there < target
        })
    }

    pub(crate) fn set_connected(&self, progress: Progress) {
        let mut state = self.state.lock();
        state.connected = true;
        state.connections += 1;
        state.progress = Some(progress);
        state.trouble = None;
        self.changed.notify_all();
    }

    pub(crate) fn set_progress(&self, progress: Progress) {
        self.state.lock().progress = Some(progress);
        self.changed.notify_all();
    }

    pub(crate) fn count(&self, more: Sent) {
        let mut state = self.state.lock();
        state.sent.groups += more.groups;
        state.sent.groups_read_back += more.groups_read_back;
        state.sent.time += more.time;
        self.changed.notify_all();
    }

    fn set_lost(&self, trouble: RemoteError) {
        let mut state = self.state.lock();
        state.connected = false;
        state.trouble = Some(trouble);
        self.changed.notify_all();
    }

    pub(crate) fn token(&self) -> Option<&Token> {
        self.token.as_ref()
    }

    pub(crate) fn patience(&self) -> &Patience {
        &self.patience
    }

    pub(crate) fn unreachable(&self, cause: impl ToString) -> RemoteError {
        RemoteError::Unreachable {
            address: self.address.clone(),
            cause: cause.to_string(),
        }
    }

    pub(crate) fn refused(&self, refusal: Refusal) -> RemoteError {
        refusal.into_remote(&self.address)
    }

    /// Why a connection cannot be used, or is not any more.
    pub(crate) fn lost(&self, error: ProtocolError) -> RemoteError {
        let of_transport = match &error {
            ProtocolError::Connection(error) => TransportError::of(error).cloned(),
            _ => None,
        };
        match of_transport {
            Some(source) => self.without_transport(source),
            None => self.unreachable(error),
        }
    }

    pub(crate) fn not_seeded(&self, reason: &SeedError) -> RemoteError {
        RemoteError::NotSeeded {
            address: self.address.clone(),
            reason: reason.to_string(),
        }
    }

    fn without_transport(&self, source: TransportError) -> RemoteError {
        match source {
            TransportError::Failed { source, .. } => self.unreachable(source),
            source => RemoteError::Transport {
                address: self.address.clone(),
                source,
            },
        }
    }

    pub(crate) async fn connect(&self) -> Result<Stream, RemoteError> {
        let connecting = TcpStream::connect(&self.address);
        let stream = match tokio::time::timeout(self.patience.connect_max, connecting).await {
            Ok(stream) => stream.map_err(|error| self.unreachable(error))?,
            Err(_) => return Err(self.unreachable("no answer in time")),
        };
        let (transport, within) = (self.transport.as_ref(), self.patience.connect_max);
        Stream::make(stream, transport, End::Calls, within)
            .await
            .map_err(|error| self.without_transport(error))
    }

    /// Connects again and again, until the database is closed.
    async fn stay_connected(&self, log: &ShippedLog) {
        let mut wait = self.patience.retry_first;
        loop {
            let lost = match self.connect().await {
                Ok(stream) => ship(self, log, stream).await,
                Err(error) => Lost::before_greeting(error),
            };
            log.disconnected(&lost.error.to_string());
            tracing::warn!(error = %lost.error, "the standby is away");
            self.set_lost(lost.error);
            if lost.was_connected {
                wait = self.patience.retry_first;
            }
            tokio::time::sleep(wait).await;
            wait = wait.saturating_mul(2).min(self.patience.retry_max);
        }
    }
}

impl RemoteCheckpointer for Standby {
    fn fetch_image(
        &self,
        manifest: &Manifest,
        memory_bytes_max: u64,
    ) -> Result<Image, RemoteError> {
        self.process.check().map_err(|_| RemoteError::Forked)?;
        // On a thread of its own, since the caller's may belong to another runtime.
        let body = || {
            let runtime = runtime().map_err(|error| self.unreachable(error))?;
            runtime.block_on(fetch(self, manifest, memory_bytes_max))
        };
        std::thread::scope(|scope| sardonyx_base::signals::spawn_scoped(scope, body).join())
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    fn run(&self, log: &ShippedLog) {
        if let Err(forked) = self.process.check() {
            return log.disconnected(&forked.to_string());
        }
        let runtime = match runtime() {
            Ok(runtime) => runtime,
            Err(error) => {
                log.disconnected(&error.to_string());
                self.set_lost(self.unreachable(error));
                return;
            }
        };
        self.state.lock().log = Some(log.clone());
        self.changed.notify_all();
        runtime.block_on(async {
            tokio::select! {
                () = poll_fn(|context| log.poll_closed(context.waker())) => {}
                () = self.stay_connected(log) => {}
            }
        });
        let mut state = self.state.lock();
        state.log = None;
        state.connected = false;
        self.changed.notify_all();
    }
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
}

impl State {
    fn status(&self) -> StandbyStatus {
        let durable = self
            .progress
            .map(|progress| LogPosition::from(progress.durable));
        let lag = match (&self.log, durable) {
            (Some(log), Some(there)) => {
                let here = log.durable();
                Some(Lag {
                    groups: here.group.saturating_sub(there.group),
                    transactions: here.transactions.saturating_sub(there.transactions),
                    bytes: here.lsn.0.saturating_sub(there.lsn.0),
                })
            }
            _ => None,
        };
        StandbyStatus {
            connected: self.connected,
            connections: self.connections,
            durable,
            complete_from: self.progress.map(|progress| progress.complete_from.into()),
            checkpoints: self.progress.map_or(0, |progress| progress.checkpoints),
            lag,
            sent: self.sent,
            trouble: self.trouble.clone(),
        }
    }
}
