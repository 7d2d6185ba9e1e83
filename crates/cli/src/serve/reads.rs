//! The reads that a host answers while another one serves (`--stale-reads`): its own directory, to which it follows the
//! store, is followed in turn, as by any other program of this host.
//!
//! A thread opens the directory, and says so as an event: that may take long, and this host may be wanted to serve
//! meanwhile. A try that fails is followed by another one, since the directory changes meanwhile.
//!
//! A host that was superseded cuts its log when it begins to follow. So the directory is opened when the host has caught up
//! since then, and opened anew whenever the host begins to follow anew.
//!
//! Invariant: no read is answered with what was cut off. Reads ask for each statement whether the host has begun to follow
//! anew since the directory was opened.

use super::hosting::Event;
use super::turns::Seen;
use sardonyx::{Follower, Options};
use sardonyx_base::seldom::Seldom;
use sardonyx_server::{Following, Server};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Between two tries to open the directory.
const BETWEEN_TRIES: Duration = Duration::from_millis(200);

/// Opens a directory. Dropping it ends that: what it has opened then is not wanted any more.
pub struct Opening {
    _wanted: Sender<()>,
    begun: u64,
}

impl Opening {
    /// Begins to open the directory of a host that follows, and has caught up since it has begun to so many times.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn begin(directory: PathBuf, begun: u64, events: Sender<Event>) -> anyhow::Result<Opening> {
        let (wanted, is_wanted) = channel::<()>();
        let open = move || {
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
        })
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

/// The last moment at which a host had caught up, and its age, if it follows still as it did when its directory was opened.
pub fn caught_up(seen: Option<Seen>, begun: u64) -> Option<(Instant, Duration)> {
    let (_, followed) = seen?;
    let caught_up = followed.caught_up.filter(|_| followed.begun == begun)?;
    Some((caught_up.at, caught_up.age()))
}

/// The answers to clients while another host serves.
pub enum Answering {
    /// They are sent away.
    SendsAway(Following),
    /// Their reads are answered.
    Reads(Server, Arc<Follower>),
}

impl Answering {
    /// Why the directory cannot be read any further, and is to be opened again.
    pub fn ended(&self) -> Option<sardonyx::Error> {
        match self {
            Answering::Reads(_, follower) if follower.has_ended() => follower.position().err(),
            _ => None,
        }
    }

    /// Ends it at once. What is returned has memory still, and is to be closed.
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
