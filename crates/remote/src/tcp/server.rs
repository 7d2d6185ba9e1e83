//! A store for other hosts: does their requests at a place of its own, over TCP.
//!
//! Bounds (I10): [`CONNECTIONS_MAX`] connections, of which [`SERVED_MAX`] may have greeted. Each of these has one request at a
//! time, and one answer, of at most 65 MiB; or parts of one entry that come ahead, of at most 64 MiB. An idle connection keeps at
//! most 32 MiB besides such parts. It is closed after a minute, and its client opens another one.

use super::session::{Session, broke};
use super::{CONTENT_BYTES_MAX, PROTOCOL, TAKES_AHEAD};
use crate::options::RemoteOptions;
use crate::place::open;
use crate::served::ServedLog;
use sardonyx_base::greeting::{GreetingError, Trust};
use sardonyx_base::listening::Listening;
use sardonyx_base::random::system_random;
use sardonyx_storage::remote_log::objects::RemotePlace;
use sardonyx_storage::remote_log::store::{Appended, StoreError};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Connections at once.
const CONNECTIONS_MAX: usize = 1024;

/// Connections at once that have greeted; a host has a few.
const SERVED_MAX: usize = 64;

/// A connection on which no request comes for so long is closed.
const IDLE_MAX: Duration = Duration::from_secs(60);

/// So long a client may take to read an answer.
const WRITE_MAX: Duration = Duration::from_secs(30);

/// The object with the random number of the store.
const IDENTITY_OBJECT: &str = "server/identity";

/// The reason why a store cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreServerError {
    /// The system refuses to listen.
    #[error("cannot listen for hosts: {0}")]
    Listen(#[source] io::Error),
    /// The store's identity cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A store that other hosts use. Dropped, it ends its connections; a request that was begun is done first.
#[derive(Debug)]
pub struct StoreServer(Listening);

impl StoreServer {
    /// Serves the store at a place, which has been probed, to hosts with this trust.
    ///
    /// # Errors
    /// The system's; the store's.
    pub fn start(
        store: Arc<dyn RemotePlace>,
        listener: TcpListener,
        trust: Trust,
    ) -> Result<StoreServer, StoreServerError> {
        let served = AtomicUsize::new(0);
        let welcome = welcome(&*store).map_err(StoreServerError::Store)?;
        let serve = move |socket| {
            if let Err(error) = answer_all(&*store, &welcome, &trust, &served, socket) {
                ended(&error);
            }
        };
        let listening = Listening::start("store-server", listener, CONNECTIONS_MAX, serve);
        Ok(StoreServer(listening.map_err(StoreServerError::Listen)?))
    }

    /// The store of a directory that this process has for itself, or `file:DIRECTORY` for one that other processes use, too. The
    /// latter, if it was served before, is opened on a full disk, too, where nothing can be tried out.
    ///
    /// # Errors
    /// The store cannot be opened, or cannot keep a log.
    pub fn open(place: &str) -> Result<Arc<dyn RemotePlace>, StoreError> {
        let options = RemoteOptions::default();
        if !place.starts_with("file:") {
            return Ok(Arc::new(ServedLog::open(place.as_ref(), &options)?));
        }
        let error = match open(place, &options) {
            Ok(store) => return Ok(store),
            Err(error @ StoreError::Unsuitable { .. }) => return Err(error),
            Err(error) => error,
        };
        let as_it_is = RemoteOptions {
            probe: false,
            make: false,
            ..options
        };
        let store = open(place, &as_it_is).map_err(|_| error.clone())?;
        match store.read_object(IDENTITY_OBJECT) {
            Ok(Some(_)) => {
                tracing::warn!(%error, "the store cannot be tried out, and is served as before");
                Ok(store)
            }
            _ => Err(error),
        }
    }

    /// The address at which it listens.
    pub fn address(&self) -> SocketAddr {
        self.0.address()
    }
}

/// Logs the end of a connection: a connection of an untrusted process may be a mistake.
fn ended(error: &GreetingError) {
    match error {
        GreetingError::Transport(_) | GreetingError::Refused { .. } => {
            tracing::info!(%error, "a connection to the store was refused");
        }
        error => tracing::debug!(%error, "a connection to the store has ended"),
    }
}

/// A connection that has greeted.
struct Served<'c>(&'c AtomicUsize);

impl<'c> Served<'c> {
    fn of(served: &'c AtomicUsize) -> Result<Self, String> {
        let one = Served(served);
        match served.fetch_add(1, Ordering::SeqCst) {
            SERVED_MAX.. => Err(format!("{SERVED_MAX} connections are served already")),
            _ => Ok(one),
        }
    }
}

impl Drop for Served<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The welcome of a client: the most bytes of an entry, the random number with which this store began, and what it can do
/// beyond the first version. A store that was emptied begins with another number.
pub(super) fn welcome(store: &dyn RemotePlace) -> Result<Vec<u8>, StoreError> {
    // On a full disk nothing can be created, and existing entries are served all the same.
    let identity = match store.read_object(IDENTITY_OBJECT)? {
        Some(identity) => identity,
        None => new_identity(store)?,
    };
    let entry_bytes_max = store.entry_bytes_max().min(CONTENT_BYTES_MAX);
    let abilities = TAKES_AHEAD.to_le_bytes();
    Ok([&entry_bytes_max.to_le_bytes()[..], &identity, &abilities].concat())
}

fn new_identity(store: &dyn RemotePlace) -> Result<Vec<u8>, StoreError> {
    let drawn = system_random().to_le_bytes();
    // That of several servers that start at once counts which was first.
    match store.create_object(IDENTITY_OBJECT, &drawn)? {
        Appended::Ok => Ok(drawn.to_vec()),
        Appended::Conflict => Ok(store.read_object(IDENTITY_OBJECT)?.unwrap_or_default()),
    }
}

fn answer_all(
    store: &dyn RemotePlace,
    welcome: &[u8],
    trust: &Trust,
    served: &AtomicUsize,
    socket: TcpStream,
) -> Result<(), GreetingError> {
    let (mut stream, ()) = PROTOCOL.hear(socket, trust, |_| Ok(((), welcome.to_vec())))?;
    // One more is closed, and asks again.
    let _served = Served::of(served).map_err(|reason| GreetingError::Refused { reason })?;
    let limits = stream.socket().set_read_timeout(Some(IDLE_MAX));
    let limits = limits.and_then(|()| stream.socket().set_write_timeout(Some(WRITE_MAX)));
    limits.map_err(|source| broke("set a time limit", source))?;
    let mut session = Session::default();
    loop {
        session.answer_next(store, &mut stream)?;
    }
}
