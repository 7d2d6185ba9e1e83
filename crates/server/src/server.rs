//! The server: endpoints, the clients that connect to them, and its orderly end.
//!
//! *One runtime* has all sockets. A task for each connection; what a client sent is run on the task's thread, in its turn,
//! and the task waits for the group to be durable without a thread of its own. So ten thousand clients that are idle cost
//! memory, and a thousand that are busy share a sync.
//!
//! *The end*: nobody new is let in; those that work get their answer, and all are told that the server stops; who is
//! not done within [`Limits::drain`](crate::Limits::drain) is cut off.

use crate::cancelling::Cancelling;
use crate::connection::Connection;
use crate::doors::{self, Doors, begins_with_tls};
use crate::error::ServerError;
use crate::http::access::Gate;
use crate::http::connection::{Http, Place};
use crate::http::observer::Observer;
use crate::lease::Lease;
use crate::metrics::{Metrics, Protocol};
use crate::options::{Endpoint, Options};
use crate::passwords::{Passwords, Users};
use crate::scram::random;
use crate::state::Observed;
use crate::stream::Stream;
use crate::{gate as flights, memory, postgres, redis, spans, tls};
use sardonyx_base::waiting;
use sardonyx_resp::{Keyspace, SessionOptions};
use sardonyx_sql::{Access, Database, Rights};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tracing::Instrument;

/// So long is waited for those that are there when the server has to end at once.
const AT_ONCE: Duration = Duration::from_millis(500);

/// A server that is running. Dropping it stops it, too.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    runtime: Option<Runtime>,
    tasks: JoinSet<()>,
    addresses: Vec<(Protocol, Endpoint)>,
    stop: watch::Sender<bool>,
    /// Its own, unless it was started at others'.
    doors: Option<Doors>,
}

/// Of the time that there is at the end, statements have the half to end by themselves; of the rest they have the half to
/// end when they are interrupted.
const FIRST_OF: u32 = 2;
/// While one thread runs a statement, others serve.
const WORKERS_MIN: usize = 2;

/// The threads that serve.
fn workers() -> usize {
    std::thread::available_parallelism().map_or(WORKERS_MIN, |there| there.get().max(WORKERS_MIN))
}

/// What all connections share.
pub struct Shared {
    /// The database.
    pub database: Arc<Database>,
    /// How the server was started. Its users, certificate and limit of slow statements may be others by now.
    pub options: Options,
    /// The same with what was taken since.
    latest: Mutex<Options>,
    lease: Lease,
    /// The interrupts of all connections.
    pub cancelling: Cancelling,
    /// What flights pass before they wait for the serial stage.
    pub gate: flights::Gate,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// The users, and what is known of their passwords.
    pub passwords: Arc<Passwords>,
    tls: Mutex<Option<TlsAcceptor>>,
    redis: Mutex<SessionOptions>,
    slow_microseconds: AtomicU64,
    places: Arc<Semaphore>,
    stop: watch::Receiver<bool>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl Shared {
    /// With what TLS is spoken, now.
    pub fn tls(&self) -> Option<TlsAcceptor> {
        // Nobody panics while it is held.
        self.tls
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// What sessions of Redis' clients are given, now.
    pub fn redis(&self) -> SessionOptions {
        let options = self.redis.lock().unwrap_or_else(PoisonError::into_inner);
        options.clone()
    }

    /// A statement that takes longer is told of, now.
    pub fn slow_statement(&self) -> Duration {
        Duration::from_micros(self.slow_microseconds.load(Ordering::Relaxed))
    }

    fn latest(&self) -> MutexGuard<'_, Options> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_slow_statement(&self, limit: Duration) {
        let microseconds = u64::try_from(limit.as_micros()).unwrap_or(u64::MAX);
        self.slow_microseconds
            .store(microseconds, Ordering::Relaxed);
    }

    /// A connection over a socket.
    pub fn connection(&self, stream: Stream) -> Connection {
        let memory = self.database.memory().clone();
        Connection::new(
            stream,
            self.options.limits.unread,
            self.stop.clone(),
            memory,
            self.lease.clone(),
        )
    }

    /// What clients of HTTP see.
    fn http(&self, observed: Observed) -> Arc<Http> {
        let metrics = self.metrics.clone();
        let (limits, lease) = (self.options.limits, self.lease.clone());
        let observer = Observer::new(observed, metrics, self.stop.clone(), lease.clone());
        let gate = Gate::new(self.passwords.clone());
        Arc::new(Http::new(observer, gate, limits, lease))
    }
}

/// What a user who was let in may do with tables.
pub fn rights_of(users: &Users, user: &str) -> Rights {
    match users.get(user) {
        // Without users everybody may do everything.
        None => Access::Define.into(),
        Some(user) => user.rights(),
    }
}

/// What the clients of an endpoint speak.
#[derive(Clone)]
enum Service {
    Postgres,
    Redis(Arc<Keyspace>),
    Http(Arc<Http>, Place),
}

impl Server {
    /// Starts a server on a database.
    ///
    /// # Errors
    /// What of the options cannot be; an address that cannot be had; a certificate or key that cannot be used.
    pub fn start(database: Arc<Database>, options: Options) -> Result<Server, ServerError> {
        Server::check(&database, &options)?;
        let doors = Doors::open(&options)?;
        let mut server = Server::start_at(database, options, &doors, Lease::default())?;
        server.doors = Some(doors);
        Ok(server)
    }

    /// Refuses options that a database cannot serve.
    fn check(database: &Database, options: &Options) -> Result<(), ServerError> {
        options.check()?;
        if database.follower().is_some() {
            return Ok(());
        }
        if database.tables().is_none() {
            let of_nodes = |what, option| Err(ServerError::OfNodes { what, option });
            if !options.redis.is_empty() {
                return of_nodes("Redis' clients", "redis");
            }
            if !options.http.is_empty() {
                return of_nodes("metrics and the page", "http");
            }
        }
        Ok(())
    }

    /// Starts a server on a database at these doors, which answers as long as the lease is there.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn start_at(
        database: Arc<Database>,
        options: Options,
        doors: &Doors,
        lease: Lease,
    ) -> Result<Server, ServerError> {
        Server::check(&database, &options)?;
        let (stop, stopped) = watch::channel(false);
        let runtime = Builder::new_multi_thread()
            .enable_all()
            .thread_name("sardonyx-server")
            // A task that waits for the serial stage, or has it for long, leaves its thread's place to another one.
            .on_thread_start(|| waiting::set_step_aside(|work| tokio::task::block_in_place(work)))
            .worker_threads(workers())
            .build()
            .map_err(ServerError::Threads)?;
        let secret = random().map_err(|_| ServerError::Random)?;
        let passwords = Arc::new(Passwords::new(options.users.clone(), secret));
        let shared = Arc::new(Shared {
            tls: Mutex::new(options.tls.as_ref().map(tls::acceptor).transpose()?),
            slow_microseconds: AtomicU64::new(0),
            places: Arc::new(Semaphore::new(options.limits.connections_max)),
            cancelling: Cancelling::default(),
            gate: flights::Gate::default(),
            metrics: Arc::default(),
            redis: Mutex::new(redis::session_options(&passwords, &database)),
            passwords,
            stop: stopped,
            database,
            latest: Mutex::new(options.clone()),
            options,
            lease,
        });
        shared.set_slow_statement(shared.options.limits.slow_statement);
        let mut server = Server {
            shared: shared.clone(),
            tasks: JoinSet::new(),
            addresses: doors.addresses().to_vec(),
            runtime: None,
            stop,
            doors: None,
        };
        {
            let _inside = runtime.enter();
            let mut keyspace = None;
            // A database that serves no client of Redis gets no tables for them.
            let tables = shared.database.tables().cloned();
            if let Some(tables) = tables.as_ref().filter(|_| !shared.options.redis.is_empty()) {
                let opened = Keyspace::open(tables.clone())?;
                shared.database.keep_keyspace();
                let sweeping = redis::sweep(opened.clone(), shared.stop.clone());
                server.tasks.spawn(sweeping);
                keyspace = Some(opened);
            }
            if shared.database.follower().is_some() {
                keyspace = Some(redis::followed(shared.database.clone()));
            }
            let http = Observed::of(&shared.database).map(|observed| shared.http(observed));
            for (protocol, endpoint, listener) in doors.listeners()? {
                let service = match protocol {
                    Protocol::Postgres => Some(Service::Postgres),
                    Protocol::Redis => keyspace.clone().map(Service::Redis),
                    Protocol::Http => http.clone().map(|http| {
                        let place = Place {
                            is_local: endpoint.is_local(),
                            is_tcp: matches!(endpoint, Endpoint::Tcp(_)),
                        };
                        Service::Http(http, place)
                    }),
                };
                if let Some(service) = service {
                    server.listen(service, &endpoint, listener);
                }
            }
            let looks = shared.clone();
            server.tasks.spawn(async move {
                let mut stop = looks.stop.clone();
                tokio::select! {
                    () = looks.cancelling.watch() => {}
                    // Until all connections have ended: a client may close while the server waits for its statement.
                    _ = stop.wait_for(|stop| *stop) => {}
                }
            });
            if let Some(limit) = memory::limit(shared.options.limits.memory_max) {
                memory::bound(shared.database.memory(), limit);
                let (database, mut stop) = (shared.database.clone(), shared.stop.clone());
                server.tasks.spawn(async move {
                    tokio::select! {
                        () = memory::watch(database.memory(), limit) => {}
                        _ = stop.wait_for(|stop| *stop) => {}
                    }
                });
            }
        }
        server.runtime = Some(runtime);
        Ok(server)
    }

    fn listen(&mut self, service: Service, endpoint: &Endpoint, listener: doors::Listener) {
        let begins_with_tls = begins_with_tls(service.protocol(), endpoint);
        let (shared, counted) = (self.shared.clone(), self.shared.clone());
        let (stop, places) = (shared.stop.clone(), shared.places.clone());
        let serve = move |stream| {
            let (shared, service) = (shared.clone(), service.clone());
            async move {
                let protocol = service.protocol();
                let _open = shared.metrics.opened(protocol);
                let span = spans::connection(protocol, &stream);
                let served = serve(stream, service, begins_with_tls, &shared);
                if let Err(error) = served.instrument(span).await {
                    tracing::debug!(%error, ?protocol, "a connection ended");
                }
            }
        };
        let refused = move || counted.metrics.refused();
        let accepting = doors::accept(listener, stop, places, refused, serve);
        self.tasks.spawn(accepting);
    }

    /// Where it is served: with the ports that the system chose, where 0 was asked for.
    pub fn addresses(&self) -> &[(Protocol, Endpoint)] {
        &self.addresses
    }

    /// Takes of these options what can be changed while the server runs: users with their passwords and rights, the
    /// certificate, which is read again, and the limit of slow statements. Who is connected keeps what it may do until its
    /// connection ends. Returns what differs otherwise from how the server was started, and needs a restart, by its names
    /// in the configuration. So does going without any users or without a certificate, since a file that is written only in
    /// part would let everybody in: those that there are stay.
    ///
    /// # Errors
    /// What of the options cannot be, with the endpoints that there are; a certificate or key that cannot be used. Nothing
    /// has changed then.
    pub fn reload(&self, options: Options) -> Result<Vec<&'static str>, ServerError> {
        let mut latest = self.shared.latest();
        let (taken, left) = latest.taken(options)?;
        let tls = match left.contains(&"tls") {
            true => self.shared.tls(),
            false => taken.tls.as_ref().map(tls::acceptor).transpose()?,
        };
        *self
            .shared
            .tls
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = tls;
        self.shared.set_slow_statement(taken.limits.slow_statement);
        self.shared.passwords.replace(taken.users.clone());
        *latest = taken;
        let redis = redis::session_options(&self.shared.passwords, &self.shared.database);
        *self
            .shared
            .redis
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = redis;
        Ok(left)
    }

    /// The options with which it was started, and those that it has taken since ([`Server::reload`]).
    pub fn options(&self) -> Options {
        self.shared.latest().clone()
    }

    /// What is counted.
    pub fn metrics(&self) -> &Metrics {
        &self.shared.metrics
    }

    /// Stops it: returns when all connections have ended, or were cut off. The database stays open.
    pub fn stop(mut self) {
        self.end(false);
    }

    /// The same without a time for those that work: they are interrupted, and cut off soon. What waits to be durable may be
    /// all the same, and its clients are not told.
    pub fn stop_at_once(mut self) {
        self.end(true);
    }

    fn end(&mut self, at_once: bool) {
        let Some(runtime) = self.runtime.take() else {
            return;
        };
        // Whoever listens may have ended already.
        let _ = self.stop.send(true);
        let drain = match at_once {
            true => AT_ONCE,
            false => self.shared.options.limits.drain,
        };
        let until = Instant::now() + drain;
        let left = || until.saturating_duration_since(Instant::now());
        let (tasks, shared) = (&mut self.tasks, &self.shared);
        let drained = runtime.block_on(async {
            let all = async { while tasks.join_next().await.is_some() {} };
            tokio::pin!(all);
            if !at_once {
                if timeout(left() / FIRST_OF, &mut all).await.is_ok() {
                    return Ok(());
                }
                tracing::warn!("statements that did not end in time are interrupted");
            }
            shared.cancelling.shut_down();
            timeout(left() / FIRST_OF, all).await
        });
        if drained.is_err() {
            tracing::warn!("connections that did not end in time are cut off");
        }
        runtime.shutdown_timeout(left());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end(false);
    }
}

async fn serve(
    mut stream: Stream,
    service: Service,
    begins_with_tls: bool,
    shared: &Shared,
) -> io::Result<()> {
    if let (true, Some(tls)) = (begins_with_tls, shared.tls()) {
        let limit = shared.options.limits.greeting;
        stream = timeout(limit, stream.encrypted(&tls)).await??;
    }
    match service {
        Service::Postgres => {
            let connection = shared.connection(stream);
            postgres::connection::serve(connection, shared).await
        }
        Service::Redis(keyspace) => redis::serve(shared.connection(stream), shared, keyspace).await,
        Service::Http(http, place) => http.serve(stream, place).await,
    }
}

impl Service {
    fn protocol(&self) -> Protocol {
        match self {
            Service::Postgres => Protocol::Postgres,
            Service::Redis(_) => Protocol::Redis,
            Service::Http(..) => Protocol::Http,
        }
    }
}
