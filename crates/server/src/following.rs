//! A host that does not serve: another one does, or none does yet. Its addresses answer, and send clients away.
//!
//! - PostgreSQL's clients receive `57P03` when they connect, before they are asked for a password, as by a standby of
//!   PostgreSQL without hot standby. With several hosts in their connection string they go on to the next one.
//! - Redis' clients receive `-LOADING`, which clients take for a reason to try again later, and are disconnected, so that
//!   they do so by a new connection.
//! - HTTP: `/livez` says that the host lives, and `/metrics` shows how it follows; all else, `/readyz` too, is 503 with a
//!   sentence that says who serves.

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
/// So long is waited for a client that has been sent away, and for all at the end.
const GOODBYE: Duration = Duration::from_millis(500);

/// A host that sends its clients away. Dropping it ends that, too.
#[derive(Debug)]
pub struct Following {
    runtime: Option<Runtime>,
    tasks: JoinSet<()>,
    stop: watch::Sender<bool>,
}

/// Why no client is served here now, as a sentence.
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
    /// Sends away who comes through these doors, with what `says` says then. `host`: for the metrics.
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
            for (protocol, endpoint, listener) in doors.listeners()? {
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

    /// Ends it: a client that comes next waits for the next server at these doors.
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
            // A connection that is still there is cut off.
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
        // Bytes that were not read would have the system take back the answer.
        let rest = async {
            while connection.receive().await? == Received::Bytes {
                connection.incoming.input.clear();
            }
            Ok(())
        };
        timeout(GOODBYE, rest).await.unwrap_or(Ok(()))
    }
}
