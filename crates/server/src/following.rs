//! A host that does not serve, since another one does, or none does yet. Its addresses accept clients and send them
//! away.
//!
//! - PostgreSQL clients receive `57P03` when they connect, before the password, as from a PostgreSQL standby without
//!   hot standby. If their connection string has several hosts, they try the next one.
//! - Redis clients receive `-LOADING`, after which they retry, and are disconnected, so that they retry with a new
//!   connection.
//! - HTTP: `/livez` reports that the process lives, and `/metrics` shows how it follows. Every other path, also
//!   `/readyz`, is 503 with a sentence that names the serving host.

use crate::connection::{Connection, Received};
use crate::doors::{Doors, accept, begins_with_tls};
use crate::error::ServerError;
use crate::http::following as http;
use crate::lease::Lease;
use crate::metrics::Protocol;
use crate::options::Options;
use crate::postgres::startup::{Greeted, greet, refuse};
use crate::state::SeesHost;
use crate::stream::Stream;
use crate::tls;
use bytes::BytesMut;
use sardonyx_sql::{Budget, SqlError};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

/// PostgreSQL's `cannot_connect_now`: clients with several hosts try the next one.
const CANNOT_CONNECT_NOW: &str = "57P03";
/// The time that a client which was sent away has to close, and that all clients have at the end.
const GOODBYE: Duration = Duration::from_millis(500);

/// A host that sends its clients away. Dropping it stops that.
#[derive(Debug)]
pub struct Following {
    runtime: Option<Runtime>,
    tasks: JoinSet<()>,
    stop: watch::Sender<bool>,
}

/// The reason why no client is served here now, as a sentence.
type Says = Arc<dyn Fn() -> String + Send + Sync>;

struct Shared {
    options: Options,
    tls: Option<TlsAcceptor>,
    stop: watch::Receiver<bool>,
    memory: Arc<Budget>,
    says: Says,
    host: SeesHost,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl Following {
    /// Sends away the clients of these doors, with the current sentence of `says`. `host` is for the metrics.
    ///
    /// # Errors
    /// A certificate or key that cannot be used; the system's.
    pub fn start(
        options: Options,
        doors: &Doors,
        says: impl Fn() -> String + Send + Sync + 'static,
        host: SeesHost,
    ) -> Result<Following, ServerError> {
        let (stop, stopped) = watch::channel(false);
        let runtime = Builder::new_multi_thread()
            .enable_all()
            .thread_name("sardonyx-following")
            .worker_threads(1)
            .build()
            .map_err(ServerError::Threads)?;
        let places = Arc::new(Semaphore::new(options.limits.connections_max));
        let shared = Arc::new(Shared {
            tls: options.tls.as_ref().map(tls::acceptor).transpose()?,
            options,
            stop: stopped,
            memory: Arc::default(),
            says: Arc::new(says),
            host,
        });
        let mut tasks = JoinSet::new();
        {
            let _inside = runtime.enter();
            for (protocol, endpoint, listener) in doors.listeners(|_| runtime.handle())? {
                let is_encrypted = begins_with_tls(protocol, &endpoint);
                let (shared, stop) = (shared.clone(), shared.stop.clone());
                let serve = move |stream| {
                    let shared = shared.clone();
                    async move {
                        let sent_away = shared.send_away(stream, protocol, is_encrypted);
                        if let Err(error) = sent_away.await {
                            tracing::debug!(%error, ?protocol, "a connection ended");
                        }
                    }
                };
                tasks.spawn(accept(listener, stop, places.clone(), || {}, serve));
            }
        }
        Ok(Following {
            runtime: Some(runtime),
            tasks,
            stop,
        })
    }

    /// Stops it: later clients wait at these doors for the next server.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let Some(runtime) = self.runtime.take() else {
            return;
        };
        // The listeners may have ended already.
        let _ = self.stop.send(true);
        let tasks = &mut self.tasks;
        runtime.block_on(async {
            let all = async { while tasks.join_next().await.is_some() {} };
            // Connections that are still open are cut off.
            let _ = timeout(GOODBYE, all).await;
        });
        runtime.shutdown_background();
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    async fn send_away(
        &self,
        mut stream: Stream,
        protocol: Protocol,
        begins_with_tls: bool,
    ) -> io::Result<()> {
        let limits = &self.options.limits;
        if let (true, Some(tls)) = (begins_with_tls, &self.tls) {
            stream = timeout(limits.greeting, stream.encrypted(tls)).await??;
        }
        if protocol == Protocol::Http {
            return http::serve(stream, *limits, self.stop.clone(), &*self.says, &self.host).await;
        }
        let (stop, memory) = (self.stop.clone(), self.memory.clone());
        let connection = Connection::new(stream, limits.unread, stop, memory, Lease::default());
        let told = async {
            match protocol {
                Protocol::Postgres => self.postgres(connection).await,
                Protocol::Redis | Protocol::Http => self.redis(connection).await,
            }
        };
        timeout(limits.greeting, told).await?
    }

    async fn postgres(&self, connection: Connection) -> io::Result<()> {
        let Greeted::Startup { mut connection, .. } =
            greet(connection, || self.tls.clone()).await?
        else {
            return Ok(());
        };
        let text = format!(
            "the database system is not accepting connections: {}",
            (self.says)()
        );
        refuse(&mut connection, &SqlError::new(CANNOT_CONNECT_NOW, text)).await
    }

    async fn redis(&self, mut connection: Connection) -> io::Result<()> {
        if connection.receive().await? != Received::Bytes {
            return Ok(());
        }
        let text = format!(
            "-LOADING this host does not serve now: {}\r\n",
            (self.says)()
        );
        connection
            .send(&mut BytesMut::from(text.as_bytes()))
            .await?;
        connection.end().await?;
        // If bytes were left unread, the system would discard the answer.
        let rest = async {
            while connection.receive().await? == Received::Bytes {
                connection.incoming.input.clear();
            }
            Ok(())
        };
        timeout(GOODBYE, rest).await.unwrap_or(Ok(()))
    }
}
