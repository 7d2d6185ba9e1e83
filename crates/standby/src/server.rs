//! The standby: a process that listens, takes one primary's log, and keeps DB' and the checkpoints.
//!
//! Its directory is an ordinary database's, so failing over is opening it as the database. Before
//! the first primary came, the directory is empty; the primary's greeting gives it its identity.
//!
//! One primary is served at a time, and the newest connection wins: a primary that comes back need
//! not wait until the system notices that its old connection is dead.
//!
//! Source: TPK paper, section 3, configuration C.

use crate::error::StandbyError;
use crate::options::StandbyOptions;
use crate::protocol::Hello;
use crate::refusal::Refusal;
use crate::seeding::Start;
use crate::serve::{GREETING_TIME_MAX, serve};
use crate::store::Store;
use crate::stream::{End, Stream};
use crate::visitors::{Visitor, Visitors};
use sardonyx_base::process::Process;
use sardonyx_base::sync::futex::Mutex;
use sardonyx_base::sync::thread::JoinHandle;
use sardonyx_storage::disk::{Disk, DiskLock, RealDisk};
use sardonyx_storage::engine::{exists, take_lock};
use sardonyx_storage::log::LogPosition;
use sardonyx_storage::supervisor::{Supervisor, join};
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// An open standby that does not listen yet.
#[derive(Debug)]
pub struct StandbyServer {
    shared: Arc<Shared>,
}

impl Drop for StandbyServer {
    fn drop(&mut self) {
        self.shared.leave_to_parent();
    }
}

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Shared {
    process: Process,
    disk: Arc<dyn Disk>,
    pub options: StandbyOptions,
    store: Mutex<Option<Arc<Store>>>,
    /// Ends the connection that is served now.
    current: Mutex<Option<CancellationToken>>,
    visitors: Mutex<Visitors>,
    /// What the network's thread died of, if it did.
    died: OnceLock<String>,
    _lock: Box<dyn DiskLock>,
}

/// What a standby has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct StandbyReport {
    /// The database's identity.
    pub identity: u64,
    /// The end of its durable log.
    pub durable: LogPosition,
    /// Up to where that is applied to its copy of the pages.
    pub applied: LogPosition,
    /// Checkpoints completed since it was opened.
    pub checkpoints: u64,
    /// Whether a primary is connected.
    pub connected: bool,
}

impl StandbyServer {
    /// Opens a standby's directory, or an empty one, which becomes the standby of the first primary
    /// that comes.
    ///
    /// # Errors
    /// If the directory is open elsewhere, damaged, or not to be used.
    pub fn open(
        directory: impl AsRef<Path>,
        options: StandbyOptions,
    ) -> Result<StandbyServer, StandbyError> {
        // Before the directory is made.
        options.check()?;
        Self::open_on(Arc::new(RealDisk::open(directory.as_ref())?), options)
    }

    /// The same on a disk of your own, such as the simulated one.
    pub fn open_on(
        disk: Arc<dyn Disk>,
        options: StandbyOptions,
    ) -> Result<StandbyServer, StandbyError> {
        options.check()?;
        let lock = take_lock(&disk, options.wait_for_lock)?;
        let store = if exists(&*disk)? {
            Some(Arc::new(Store::open(&disk, &options)?))
        } else {
            None
        };
        let shared = Arc::new(Shared {
            process: Process::current(),
            disk,
            options,
            store: Mutex::new(store),
            current: Mutex::default(),
            visitors: Mutex::default(),
            died: OnceLock::new(),
            _lock: lock,
        });
        Ok(StandbyServer { shared })
    }

    #[cfg(test)]
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// What it has; `None` before the first primary came, or in a forked child.
    pub fn report(&self) -> Option<StandbyReport> {
        self.shared.report()
    }

    /// Listens on a thread of its own. Port 0 lets the system choose one.
    ///
    /// # Errors
    /// [`StandbyError::Listen`] if the address cannot be had; [`StandbyError::Forked`].
    pub fn listen(
        self,
        address: impl ToSocketAddrs + std::fmt::Debug,
    ) -> Result<ListeningStandby, StandbyError> {
        if !self.shared.process.is_current() {
            return Err(StandbyError::Forked);
        }
        let failed = |source| StandbyError::Listen {
            address: format!("{address:?}"),
            source,
        };
        self.listen_on(TcpListener::bind(&address).map_err(failed)?)
    }

    /// Listens on a thread of its own where somebody listens already, so that an address that cannot be had
    /// is known before a directory is made.
    ///
    /// # Errors
    /// As [`StandbyServer::listen`].
    pub fn listen_on(self, listener: TcpListener) -> Result<ListeningStandby, StandbyError> {
        if !self.shared.process.is_current() {
            return Err(StandbyError::Forked);
        }
        let failed = |source| StandbyError::Listen {
            address: format!("{listener:?}"),
            source,
        };
        listener.set_nonblocking(true).map_err(failed)?;
        let local = listener.local_addr().map_err(failed)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(StandbyError::Thread)?;
        let stop = CancellationToken::new();
        let (shared, stopped) = (self.shared.clone(), stop.clone());
        let told = self.shared.clone();
        let supervisor = Supervisor::new(move |error| drop(told.died.set(error.to_string())));
        let at_work = supervisor.clone();
        let body = move || {
            let accept = || runtime.block_on(accept_all(listener, shared.clone(), stopped));
            at_work.attempt(accept);
            // Before the runtime waits for what it does on other threads.
            shared.close();
        };
        let thread = supervisor.try_spawn("standby-network", body);
        let thread = thread.map_err(StandbyError::Thread)?;
        Ok(ListeningStandby {
            shared: self.shared.clone(),
            address: local,
            stop,
            thread: Some(thread),
        })
    }
}

/// A standby at work. Stops when dropped.
#[derive(Debug)]
pub struct ListeningStandby {
    shared: Arc<Shared>,
    address: SocketAddr,
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

impl ListeningStandby {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it has; `None` before the first primary came.
    pub fn report(&self) -> Option<StandbyReport> {
        self.shared.report()
    }

    /// Why it cannot go on, if it cannot: it refuses primaries then, with this reason.
    pub fn failure(&self) -> Option<StandbyError> {
        if !self.shared.process.is_current() {
            return Some(StandbyError::Forked);
        }
        if let Some(cause) = self.shared.died.get() {
            let cause = cause.as_str().into();
            return Some(StandbyError::Poisoned { cause });
        }
        self.shared.store().and_then(|store| store.failure())
    }

    /// Waits until it is stopped, by [`StopStandby::stop`] from another thread.
    pub fn wait(mut self) {
        self.join();
    }

    /// Something to stop it with from elsewhere, such as a signal's handler thread.
    pub fn stopper(&self) -> StopStandby {
        StopStandby(self.stop.clone())
    }

    /// Stops it and lets go of the directory. What it has reported is on its disk already.
    /// In a forked child nothing happens: it goes on in the parent.
    pub fn stop(self) {
        drop(self);
    }

    fn join(&mut self) {
        if self.shared.leave_to_parent() {
            return self.thread.take().map_or((), std::mem::forget);
        }
        join(self.thread.take());
    }
}

impl Drop for ListeningStandby {
    fn drop(&mut self) {
        if self.shared.process.is_current() {
            self.stop.cancel();
        }
        self.join();
    }
}

/// Stops a [`ListeningStandby`] from anywhere.
#[derive(Clone, Debug)]
pub struct StopStandby(CancellationToken);

impl StopStandby {
    /// Stops it; [`ListeningStandby::wait`] returns soon.
    pub fn stop(&self) {
        self.0.cancel();
    }
}

impl Shared {
    /// In a forked child: keeps all this in memory, since its locks may be taken for ever. Returns
    /// whether it is one.
    fn leave_to_parent(self: &Arc<Self>) -> bool {
        let forked = !self.process.is_current();
        if forked {
            std::mem::forget(self.clone());
        }
        forked
    }

    /// The storage, if there is one yet.
    pub fn store(&self) -> Option<Arc<Store>> {
        self.store.lock().clone()
    }

    /// The storage for this primary; made now of what it sent, if there is none. Takes long.
    pub fn store_of(&self, hello: &Hello, start: Start) -> Result<Arc<Store>, Refusal> {
        let mut store = self.store.lock();
        if let Some(store) = &*store {
            // Another connection was faster.
            store.check(hello)?;
            return Ok(store.clone());
        }
        let made = match start {
            Start::Log => Store::create(&self.disk, hello, &self.options),
            Start::Seed(group, pages) => {
                Store::of_seed(&self.disk, hello, &self.options, &pages, &group)
            }
        };
        let made = Arc::new(made.map_err(|error| match error {
            StandbyError::Refused(refusal) => refusal,
            error => Refusal::Failed {
                reason: error.to_string(),
            },
        })?);
        tracing::info!(identity = hello.identity, "a standby's directory was made");
        *store = Some(made.clone());
        Ok(made)
    }

    /// It has greeted as the primary does. Returns whether it may be served.
    pub fn has_greeted(&self, visitor: &Visitor) -> bool {
        self.visitors.lock().greeted(visitor)
    }

    /// This connection is served from now on, and no other.
    pub fn take_over(&self, visitor: &Visitor) {
        if let Some(older) = self.current.lock().replace(visitor.end.clone()) {
            older.cancel();
        }
    }

    /// This connection has ended.
    fn ended(&self, visitor: &Visitor) {
        visitor.end.cancel();
        self.visitors.lock().leave(visitor);
    }

    fn report(&self) -> Option<StandbyReport> {
        self.process.check().ok()?;
        let store = self.store()?;
        let connected = self
            .current
            .lock()
            .as_ref()
            .is_some_and(|t| !t.is_cancelled());
        let applied = store.applied();
        let progress = store.progress();
        Some(StandbyReport {
            identity: store.manifest().identity,
            durable: store.log_end().position,
            applied,
            checkpoints: progress.checkpoints,
            connected,
        })
    }

    fn close(&self) {
        if let Some(store) = self.store.lock().take() {
            store.close();
        }
    }
}

/// Accepts connections until stopped.
async fn accept_all(listener: TcpListener, shared: Arc<Shared>, stop: CancellationToken) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => {
            tracing::error!(%error, "the standby cannot listen");
            return;
        }
    };
    loop {
        let pause = shared.visitors.lock().pause(Instant::now());
        if !pause.is_zero() {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(pause) => continue,
            }
        }
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Such as too many open files: nothing of ours is broken.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                continue;
            }
        };
        let (visitor, crowded) = (shared.visitors.lock()).enter(Instant::now(), stop.child_token());
        if crowded {
            tracing::warn!(%peer, "too many connections are silent: the oldest was ended");
        }
        let shared = shared.clone();
        tokio::spawn(async move {
            let served = async {
                let (transport, within) = (&shared.options.transport, GREETING_TIME_MAX);
                let stream = Stream::make(stream, transport.as_ref(), End::Answers, within).await?;
                serve(&shared, &visitor, stream).await
            };
            tokio::select! {
                () = visitor.end.cancelled() => {}
                outcome = served => match outcome {
                    Ok(()) => tracing::info!(%peer, "the primary went away"),
                    Err(error) => tracing::warn!(%peer, %error, "the connection was ended"),
                },
            }
            shared.ended(&visitor);
        });
    }
}
