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
use crate::error::ServerError;
use crate::http::access::Gate;
use crate::http::connection::{Http, Place};
use crate::http::observer::Observer;
use crate::metrics::{Metrics, Protocol};
use crate::options::{Endpoint, Options};
use crate::passwords::{Passwords, Users};
use crate::scram::random;
use crate::stream::Stream;
use crate::{gate as flights, memory, postgres, redis, spans, tls};
use sardonyx::Tables;
use sardonyx_base::waiting;
use sardonyx_resp::{Keyspace, SessionOptions};
use sardonyx_sql::{Access, Database, Rights};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, UnixListener};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tracing::Instrument;

/// Pending connections of an endpoint that the system keeps.
const BACKLOG: u32 = 1024;
/// After an error of accepting, such as too many open files, so long is waited.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A server that is running. Dropping it stops it, too.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    runtime: Option<Runtime>,
    tasks: JoinSet<()>,
    addresses: Vec<(Protocol, Endpoint)>,
    sockets: Vec<PathBuf>,
    stop: watch::Sender<bool>,
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
        )
    }

    /// What clients of HTTP see.
    fn http(&self, tables: &Arc<Tables>) -> Arc<Http> {
        let (tables, metrics) = (tables.clone(), self.metrics.clone());
        let observer = Observer::new(tables, metrics, self.stop.clone());
        let gate = Gate::new(self.passwords.clone());
        Arc::new(Http::new(observer, gate, self.options.limits))
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

/// A socket that clients connect to.
enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Server {
    /// Starts a server on a database.
    ///
    /// # Errors
    /// What of the options cannot be; an address that cannot be had; a certificate or key that cannot be used.
    pub fn start(database: Arc<Database>, options: Options) -> Result<Server, ServerError> {
        options.check()?;
        if database.tables().is_none() {
            let of_nodes = |what, option| Err(ServerError::OfNodes { what, option });
            if !options.redis.is_empty() {
                return of_nodes("Redis' clients", "redis");
            }
            if !options.http.is_empty() {
                return of_nodes("metrics and the page", "http");
            }
        }
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
            options,
        });
        shared.set_slow_statement(shared.options.limits.slow_statement);
        let mut server = Server {
            shared: shared.clone(),
            tasks: JoinSet::new(),
            addresses: Vec::new(),
            sockets: Vec::new(),
            runtime: None,
            stop,
        };
        {
            let _inside = runtime.enter();
            for endpoint in &shared.options.postgres {
                server.listen(Service::Postgres, endpoint)?;
            }
            // A database that serves no client of Redis gets no tables for them.
            let tables = shared.database.tables().cloned();
            if let Some(tables) = tables.as_ref().filter(|_| !shared.options.redis.is_empty()) {
                let keyspace = Keyspace::open(tables.clone())?;
                shared.database.keep_keyspace();
                for endpoint in &shared.options.redis {
                    server.listen(Service::Redis(keyspace.clone()), endpoint)?;
                }
                let sweeping = redis::sweep(keyspace, shared.stop.clone());
                server.tasks.spawn(sweeping);
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
            if let Some(tables) = &tables {
                let http = shared.http(tables);
                for endpoint in &shared.options.http {
                    let place = Place {
                        is_local: endpoint.is_local(),
                        is_tcp: matches!(endpoint, Endpoint::Tcp(_)),
                    };
                    server.listen(Service::Http(http.clone(), place), endpoint)?;
                }
            }
        }
        server.runtime = Some(runtime);
        Ok(server)
    }

    fn listen(&mut self, service: Service, endpoint: &Endpoint) -> Result<(), ServerError> {
        let failed = |source| ServerError::Listen {
            endpoint: endpoint.clone(),
            source,
        };
        let (listener, at) = match endpoint {
            Endpoint::Tcp(address) => {
                let listener = bind(*address).map_err(failed)?;
                let at = listener.local_addr().map_err(failed)?;
                (Listener::Tcp(listener), Endpoint::Tcp(at))
            }
            Endpoint::Unix(path) => {
                remove_stale(path).map_err(failed)?;
                let listener = UnixListener::bind(path).map_err(failed)?;
                self.sockets.push(path.clone());
                (Listener::Unix(listener), endpoint.clone())
            }
        };
        self.addresses.push((service.protocol(), at));
        // PostgreSQL's clients ask for TLS themselves; others begin with it where it can be seen by others.
        let begins_with_tls = match service {
            Service::Postgres => false,
            Service::Redis(_) | Service::Http(..) => !endpoint.is_local(),
        };
        let shared = self.shared.clone();
        let tasks = &mut self.tasks;
        tasks.spawn(accept(listener, service, begins_with_tls, shared));
        Ok(())
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
        let started = &self.shared.options;
        let mut left = started.names_of_others(&options);
        let mut taken = Options {
            postgres: started.postgres.clone(),
            redis: started.redis.clone(),
            http: started.http.clone(),
            ..options
        };
        let users = self.shared.passwords.users();
        if taken.users.is_empty() && !users.is_empty() {
            left.push("users");
            taken.users = Users::clone(&users);
        }
        let mut tls = taken.tls.as_ref().map(tls::acceptor).transpose()?;
        if let (None, Some(there)) = (&tls, self.shared.tls()) {
            left.push("tls");
            tls = Some(there);
            taken.tls = started.tls.clone();
        }
        taken.check()?;
        *self
            .shared
            .tls
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = tls;
        self.shared.set_slow_statement(taken.limits.slow_statement);
        self.shared.passwords.replace(taken.users);
        let redis = redis::session_options(&self.shared.passwords, &self.shared.database);
        *self
            .shared
            .redis
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = redis;
        Ok(left)
    }

    /// What is counted.
    pub fn metrics(&self) -> &Metrics {
        &self.shared.metrics
    }

    /// Stops it: returns when all connections have ended, or were cut off. The database stays open.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let Some(runtime) = self.runtime.take() else {
            return;
        };
        // Whoever listens may have ended already.
        let _ = self.stop.send(true);
        let until = Instant::now() + self.shared.options.limits.drain;
        let left = || until.saturating_duration_since(Instant::now());
        let (tasks, shared) = (&mut self.tasks, &self.shared);
        let drained = runtime.block_on(async {
            let all = async { while tasks.join_next().await.is_some() {} };
            tokio::pin!(all);
            if timeout(left() / FIRST_OF, &mut all).await.is_ok() {
                return Ok(());
            }
            tracing::warn!("statements that did not end in time are interrupted");
            shared.cancelling.shut_down();
            timeout(left() / FIRST_OF, all).await
        });
        if drained.is_err() {
            tracing::warn!("connections that did not end in time are cut off");
        }
        runtime.shutdown_timeout(left());
        for path in &self.sockets {
            // Somebody else may have removed it.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

fn bind(address: std::net::SocketAddr) -> io::Result<TcpListener> {
    use tokio::net::TcpSocket;
    let socket = match address.is_ipv4() {
        true => TcpSocket::new_v4()?,
        false => TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Removes a socket at which nobody listens: of a server that was killed.
fn remove_stale(path: &Path) -> io::Result<()> {
    let is_socket =
        std::fs::symlink_metadata(path).is_ok_and(|there| there.file_type().is_socket());
    if is_socket && std::os::unix::net::UnixStream::connect(path).is_err() {
        std::fs::remove_file(path)?;
    }
    Ok(())
}

/// Lets clients in until the server is to stop, and waits for those that are there.
async fn accept(listener: Listener, service: Service, begins_with_tls: bool, shared: Arc<Shared>) {
    let mut stop = shared.stop.clone();
    let mut clients = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            // What has ended is forgotten.
            Some(_) = clients.join_next() => continue,
            _ = stop.wait_for(|stop| *stop) => break,
        };
        let stream = match accepted {
            Ok(stream) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let Ok(place) = shared.places.clone().try_acquire_owned() else {
            shared.metrics.refused();
            tracing::warn!("there are as many connections as are allowed: one more was refused");
            continue;
        };
        let (shared, service) = (shared.clone(), service.clone());
        clients.spawn(async move {
            let protocol = service.protocol();
            let _open = shared.metrics.opened(protocol);
            let span = spans::connection(protocol, &stream);
            let served = serve(stream, service, begins_with_tls, &shared);
            if let Err(error) = served.instrument(span).await {
                tracing::debug!(%error, ?protocol, "a connection ended");
            }
            drop(place);
        });
    }
    while clients.join_next().await.is_some() {}
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

impl Listener {
    async fn accept(&self) -> io::Result<Stream> {
        match self {
            Listener::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                // Answers are written whole: nothing is gained by waiting for more.
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }
            Listener::Unix(listener) => Ok(Stream::Unix(listener.accept().await?.0)),
        }
    }
}
