//! The server: endpoints, the connections of clients, and an orderly shutdown.
//!
//! *A runtime* has all sockets, with a task for each connection; on few processors, those of Redis clients are on a thread
//! of their own ([`Runtimes`]). The task's thread runs the client's statements in their turn; the task then waits for the commit group without a thread of its own. So ten thousand idle clients cost
//! only memory, and a thousand busy ones share a sync.
//!
//! *Shutdown*: new connections are refused, running requests finish, and all clients receive an error that the server
//! stops. Connections that are not done within [`Limits::drain`](crate::Limits::drain) are cut off.

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
use crate::runtimes::Runtimes;
use crate::scram::random;
use crate::state::Observed;
use crate::stream::Stream;
use crate::{gate as flights, memory, postgres, redis, spans, tls};
use sardonyx::low_level::Gathering;
use sardonyx_resp::{Keyspace, SessionOptions};
use sardonyx_sql::{Access, Database, Rights};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tracing::Instrument;

/// The time that open connections have when the server stops at once.
const AT_ONCE: Duration = Duration::from_millis(500);

/// A running server. Dropping it stops it, too.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    runtimes: Option<Runtimes>,
    /// Until the runtimes have ended, whose threads report when they rest.
    gathering: Option<Arc<Gathering>>,
    tasks: JoinSet<()>,
    addresses: Vec<(Protocol, Endpoint)>,
    stop: watch::Sender<bool>,
    /// The server's own doors; none if it was started at existing ones.
    doors: Option<Doors>,
}

/// Statements have half of the shutdown time to end by themselves. Of the rest, they have half to end after an
/// interrupt.
const FIRST_OF: u32 = 2;
fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The state that all connections share.
pub struct Shared {
    pub database: Arc<Database>,
    /// The options of the start. Users, certificate and limit of slow statements may have changed since.
    pub options: Options,
    /// The same options with the later changes.
    latest: Mutex<Options>,
    lease: Lease,
    /// The interrupts of all connections.
    pub cancelling: Cancelling,
    /// Flights pass this gate before they wait for the serial stage.
    pub gate: flights::Gate,
    /// The counts.
    pub metrics: Arc<Metrics>,
    /// The users and their verifiers.
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
    /// The current TLS acceptor.
    pub fn tls(&self) -> Option<TlsAcceptor> {
        // No code panics while it holds this lock.
        self.tls
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The current options of Redis sessions.
    pub fn redis(&self) -> SessionOptions {
        let options = self.redis.lock().unwrap_or_else(PoisonError::into_inner);
        options.clone()
    }

    /// The current time limit beyond which a statement is reported as slow.
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

    /// The content for HTTP clients.
    fn http(&self, observed: Observed) -> Arc<Http> {
        let metrics = self.metrics.clone();
        let (limits, lease) = (self.options.limits, self.lease.clone());
        let observer = Observer::new(observed, metrics, self.stop.clone(), lease.clone());
        let gate = Gate::new(self.passwords.clone());
        Arc::new(Http::new(observer, gate, limits, lease))
    }
}

/// The rights of an authenticated user on tables.
pub fn rights_of(users: &Users, user: &str) -> Rights {
    match users.get(user) {
        // Without configured users, every client may do everything.
        None => Access::Define.into(),
        Some(user) => user.rights(),
    }
}

/// The protocol of an endpoint's clients.
#[derive(Clone)]
enum Service {
    Postgres,
    Redis(Arc<Keyspace>),
    Http(Arc<Http>, Place),
}

impl Server {
    /// Starts a server on a database.
    ///
    /// While it runs, transactions share commit groups. A task of the program's own that awaits a ticket may wait a
    /// millisecond longer for its group; `Ticket::wait` has the group written at once.
    ///
    /// # Errors
    /// An option that is not valid; an address that cannot be bound; a certificate or key that cannot be used.
    pub fn start(database: Arc<Database>, options: Options) -> Result<Server, ServerError> {
        Server::check(&database, &options)?;
        let doors = Doors::open(&options)?;
        let mut server = Server::start_at(database, options, &doors, Lease::default())?;
        server.doors = Some(doors);
        Ok(server)
    }

    /// Refuses options that the database does not support.
    fn check(database: &Database, options: &Options) -> Result<(), ServerError> {
        options.check()?;
        if database.follower().is_some() {
            return Ok(());
        }
        match database.tables().is_none() && !options.redis.is_empty() {
            true => Err(ServerError::OfNodes),
            false => Ok(()),
        }
    }

    /// Starts a server on a database at these doors. It answers as long as it has the lease.
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
        let gathering = database.tables().map(|tables| Arc::new(tables.gather()));
        let runtimes = Runtimes::start(processors(), !options.redis.is_empty(), gathering.as_ref())
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
        shared.database.set_users(shared.options.rights());
        let mut server = Server {
            shared: shared.clone(),
            tasks: JoinSet::new(),
            addresses: doors.addresses().to_vec(),
            runtimes: None,
            gathering,
            stop,
            doors: None,
        };
        {
            let _inside = runtimes.common().enter();
            let mut keyspace = None;
            // A database that serves no Redis client gets no tables for them.
            let tables = shared.database.tables().cloned();
            if let Some(tables) = tables.as_ref().filter(|_| !shared.options.redis.is_empty()) {
                let opened = Keyspace::open(tables.clone())?;
                shared.database.keep_keyspace();
                let sweeping = redis::sweep(opened.clone(), shared.stop.clone());
                server.tasks.spawn(sweeping);
                keyspace = Some(opened);
            } else if let Some(tables) = &tables {
                // The server starts all the same, as nothing reads the keys, and so that SQL can drop tables.
                if let Err(error) = Keyspace::give_names(tables) {
                    tracing::warn!(%error, "the tables of Redis' keys keep the names of an older version");
                }
            }
            if shared.database.follower().is_some() {
                keyspace = Some(redis::followed(shared.database.clone()));
            }
            let http = shared.http(Observed::of(&shared.database));
            for (protocol, endpoint, listener) in
                doors.listeners(|protocol| runtimes.of(protocol))?
            {
                let service = match protocol {
                    Protocol::Postgres => Some(Service::Postgres),
                    Protocol::Redis => keyspace.clone().map(Service::Redis),
                    Protocol::Http => {
                        let place = Place {
                            is_local: endpoint.is_local(),
                            is_tcp: matches!(endpoint, Endpoint::Tcp(_)),
                        };
                        Some(Service::Http(http.clone(), place))
                    }
                };
                if let Some(service) = service {
                    server.listen(service, &endpoint, listener, runtimes.of(protocol));
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
        server.runtimes = Some(runtimes);
        Ok(server)
    }

    fn listen(
        &mut self,
        service: Service,
        endpoint: &Endpoint,
        listener: doors::Listener,
        threads: &Handle,
    ) {
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
        self.tasks.spawn_on(accepting, threads);
    }

    /// The endpoints that are served, with the ports that the system chose for port 0.
    pub fn addresses(&self) -> &[(Protocol, Endpoint)] {
        &self.addresses
    }

    /// Applies the options that can change while the server runs: users with their passwords and rights, the
    /// certificate, which is read again, and the limit of slow statements. Existing connections keep their rights until
    /// they end. Returns the names, in the configuration, of other options that differ from those of the start and need
    /// a restart. Removing all users or the certificate also needs a restart, since a partly written file would
    /// otherwise let every client in: the existing ones stay.
    ///
    /// # Errors
    /// An option that is not valid with the existing endpoints; a certificate or key that cannot be used. Then nothing
    /// has changed.
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
        self.shared.database.set_users(taken.rights());
        *latest = taken;
        let redis = redis::session_options(&self.shared.passwords, &self.shared.database);
        *self
            .shared
            .redis
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = redis;
        Ok(left)
    }

    /// The options of the start, with later changes by [`Server::reload`].
    pub fn options(&self) -> Options {
        self.shared.latest().clone()
    }

    /// The counts.
    pub fn metrics(&self) -> &Metrics {
        &self.shared.metrics
    }

    /// Stops it: returns when all connections have ended or were cut off. The database stays open.
    pub fn stop(mut self) {
        self.end(false);
    }

    /// Stops it without the time to drain: running statements are interrupted, and connections are cut off soon. A
    /// transaction that waits for its sync may still become durable without an acknowledgement.
    pub fn stop_at_once(mut self) {
        self.end(true);
    }

    fn end(&mut self, at_once: bool) {
        let Some(runtimes) = self.runtimes.take() else {
            return;
        };
        // The listeners may have ended already.
        let _ = self.stop.send(true);
        let drain = match at_once {
            true => AT_ONCE,
            false => self.shared.options.limits.drain,
        };
        let until = Instant::now() + drain;
        let left = || until.saturating_duration_since(Instant::now());
        let (tasks, shared) = (&mut self.tasks, &self.shared);
        let drained = runtimes.common().block_on(async {
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
        runtimes.shut_down(left);
        self.gathering = None;
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
