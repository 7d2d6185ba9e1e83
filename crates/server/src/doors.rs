//! The sockets that clients connect to: bound once, and answered by the current server.
//!
//! A follower and the server that replaces it use the same sockets ([`crate::Following`], [`crate::Server`]). A client
//! that connects between the two waits in the system's queue, and no other program can take the port.

use crate::error::ServerError;
use crate::metrics::Protocol;
use crate::options::{Endpoint, Options};
use crate::stream::Stream;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, UnixListener};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

/// The pending connections of an endpoint that the system keeps.
const BACKLOG: i32 = 1024;
/// The pause after an error of accepting, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The sockets of a server.
#[derive(Debug)]
pub struct Doors {
    doors: Vec<Door>,
    addresses: Vec<(Protocol, Endpoint)>,
    sockets: Vec<PathBuf>,
}

/// A socket and the protocol of its clients.
#[derive(Debug)]
struct Door {
    protocol: Protocol,
    endpoint: Endpoint,
    listener: Bound,
}

#[derive(Debug)]
enum Bound {
    Tcp(std::net::TcpListener),
    Unix(std::os::unix::net::UnixListener),
}

/// A socket that clients connect to, in a runtime.
pub(crate) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Doors {
    /// Binds the addresses of these options.
    ///
    /// # Errors
    /// An option that is not valid; an address that cannot be bound.
    pub fn open(options: &Options) -> Result<Doors, ServerError> {
        options.check()?;
        let mut doors = Doors {
            doors: Vec::new(),
            addresses: Vec::new(),
            sockets: Vec::new(),
        };
        for (protocol, endpoints) in [
            (Protocol::Postgres, &options.postgres),
            (Protocol::Redis, &options.redis),
            (Protocol::Http, &options.http),
        ] {
            for endpoint in endpoints {
                doors.bind(protocol, endpoint)?;
            }
        }
        Ok(doors)
    }

    fn bind(&mut self, protocol: Protocol, endpoint: &Endpoint) -> Result<(), ServerError> {
        let failed = |source| ServerError::Listen {
            endpoint: endpoint.clone(),
            source,
        };
        let (listener, at) = match endpoint {
            Endpoint::Tcp(address) => {
                let listener = std::net::TcpListener::bind(address).map_err(failed)?;
                // Again, with a longer queue of waiting clients.
                rustix::net::listen(&listener, BACKLOG).map_err(|error| failed(error.into()))?;
                listener.set_nonblocking(true).map_err(failed)?;
                let at = listener.local_addr().map_err(failed)?;
                (Bound::Tcp(listener), Endpoint::Tcp(at))
            }
            Endpoint::Unix(path) => {
                remove_stale(path).map_err(failed)?;
                let listener = std::os::unix::net::UnixListener::bind(path).map_err(failed)?;
                self.sockets.push(path.clone());
                listener.set_nonblocking(true).map_err(failed)?;
                (Bound::Unix(listener), endpoint.clone())
            }
        };
        self.addresses.push((protocol, at));
        self.doors.push(Door {
            protocol,
            endpoint: endpoint.clone(),
            listener,
        });
        Ok(())
    }

    /// The bound endpoints, with the ports that the system chose for port 0.
    pub fn addresses(&self) -> &[(Protocol, Endpoint)] {
        &self.addresses
    }

    /// The sockets, each for the runtime of its protocol's clients.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn listeners<'r>(
        &self,
        threads: impl Fn(Protocol) -> &'r Handle,
    ) -> Result<Vec<(Protocol, Endpoint, Listener)>, ServerError> {
        let listener = |door: &Door| {
            let _inside = threads(door.protocol).enter();
            let made = match &door.listener {
                Bound::Tcp(bound) => bound
                    .try_clone()
                    .and_then(TcpListener::from_std)
                    .map(Listener::Tcp),
                Bound::Unix(bound) => bound
                    .try_clone()
                    .and_then(UnixListener::from_std)
                    .map(Listener::Unix),
            };
            let listener = made.map_err(|source| ServerError::Listen {
                endpoint: door.endpoint.clone(),
                source,
            })?;
            Ok((door.protocol, door.endpoint.clone(), listener))
        };
        self.doors.iter().map(listener).collect()
    }
}

impl Drop for Doors {
    fn drop(&mut self) {
        for path in &self.sockets {
            // Another program may have removed it.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Removes a socket without a listener: one of a server that was killed.
fn remove_stale(path: &Path) -> io::Result<()> {
    let is_socket =
        std::fs::symlink_metadata(path).is_ok_and(|there| there.file_type().is_socket());
    if is_socket && std::os::unix::net::UnixStream::connect(path).is_err() {
        std::fs::remove_file(path)?;
    }
    Ok(())
}

/// True if the clients of a protocol begin with TLS at this endpoint. PostgreSQL clients ask for it themselves; others
/// begin with it where other hosts can see the connection.
pub(crate) fn begins_with_tls(protocol: Protocol, endpoint: &Endpoint) -> bool {
    match protocol {
        Protocol::Postgres => false,
        Protocol::Redis | Protocol::Http => !endpoint.is_local(),
    }
}

/// Accepts clients until the server stops, and waits for those that are connected. Clients beyond the limit are
/// refused.
pub(crate) async fn accept<F>(
    listener: Listener,
    mut stop: watch::Receiver<bool>,
    places: Arc<Semaphore>,
    refused: impl Fn(),
    serve: impl Fn(Stream) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let mut clients = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            // Ended tasks are removed.
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
        let Ok(place) = places.clone().try_acquire_owned() else {
            refused();
            tracing::warn!("the limit of connections is reached: a further one was refused");
            continue;
        };
        let serving = serve(stream);
        clients.spawn(async move {
            serving.await;
            drop(place);
        });
    }
    while clients.join_next().await.is_some() {}
}

impl Listener {
    async fn accept(&self) -> io::Result<Stream> {
        match self {
            Listener::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                // Answers are written whole: waiting for more gains nothing.
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }
            Listener::Unix(listener) => Ok(Stream::Unix(listener.accept().await?.0)),
        }
    }
}
