//! Reads of a host while another one serves (`--stale-reads`). The host follows the store into its own directory, and
//! the reads follow that directory, as any other program of this host can.
//!
//! A thread opens the directory and reports it as an event: opening may take long, and this host may have to serve
//! meanwhile. A failed attempt is retried, since the directory changes meanwhile.
//!
//! A superseded host cuts its log when it begins to follow. So the directory is opened when the host has caught up
//! since then, and opened again whenever the host begins to follow again.
//!
//! Invariant: no read sees entries that were cut off. Each statement checks that the host has not begun to follow again
//! since the directory was opened.

use super::hosting::Event;
use super::turns::Seen;
use sardonyx::{Follower, Options};
use sardonyx_base::seldom::Seldom;
use sardonyx_server::{Following, Server};
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// The time between two attempts to open the directory.
const BETWEEN_TRIES: Duration = Duration::from_millis(200);

/// Opens a directory. After a drop, an opened directory is discarded.
pub struct Opening {
    _wanted: Sender<()>,
    begun: u64,
    thread: Weak<()>,
}

impl Opening {
    /// Begins to open the directory of a following host, which has caught up since it began to follow for the
    /// `begun`th time.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn begin(directory: PathBuf, begun: u64, events: Sender<Event>) -> anyhow::Result<Opening> {
        let (wanted, is_wanted) = channel::<()>();
        let runs = Arc::new(());
        let thread = Arc::downgrade(&runs);
        let open = move || {
            let _runs = runs;
            let mut seldom = Seldom::default();
            loop {
                match Options::new().follow_tables(&directory) {
                    Ok(follower) => {
                        // An error means that the program ends.
                        return drop(events.send(Event::Reads(follower.into(), begun)));
                    }
                    Err(error) if seldom.is_due(Instant::now()) => {
                        tracing::warn!(%error, "no reads are answered: the directory is opened again");
                    }
                    Err(_) => {}
                }
                if is_wanted.recv_timeout(BETWEEN_TRIES) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            }
        };
        thread::Builder::new()
            .name("sardonyx-reads".into())
            .spawn(open)?;
        Ok(Opening {
            _wanted: wanted,
            begun,
            thread,
        })
    }

    /// Alive as long as its thread: after a drop that still reads the directory to its end.
    pub fn thread(&self) -> Weak<()> {
        self.thread.clone()
    }

    /// True if the host has begun to follow so many times.
    pub fn is_of(&self, begun: u64) -> bool {
        self.begun == begun
    }
}

/// The number of times that a host has begun to follow, if it has caught up since the last one.
pub fn readable(seen: Option<Seen>) -> Option<u64> {
    let (_, followed) = seen?;
    followed.has_caught_up().then_some(followed.begun)
}

/// The last moment at which a host had caught up, and its age, if it has not begun to follow again since its directory
/// was opened.
pub fn caught_up(seen: Option<Seen>, begun: u64) -> Option<(Instant, Duration)> {
    let (_, followed) = seen?;
    let caught_up = followed.caught_up.filter(|_| followed.begun == begun)?;
    Some((caught_up.at, caught_up.age()))
}

/// The answers to clients while another host serves.
pub enum Answering {
    /// Clients are sent away.
    SendsAway(Following),
    Reads(Server, Arc<Follower>),
}

impl Answering {
    /// The reason why the directory can no longer be read and must be opened again.
    pub fn ended(&self) -> Option<sardonyx::Error> {
        match self {
            Answering::Reads(_, follower) if follower.has_ended() => follower.position().err(),
            _ => None,
        }
    }

    /// Ends it at once. The returned follower still has memory, and must be closed.
    pub fn stop(self) -> Option<Arc<Follower>> {
        match self {
            Answering::SendsAway(following) => {
                following.stop();
                None
            }
            Answering::Reads(server, follower) => {
                server.stop_at_once();
                Some(follower)
            }
        }
    }
}
