//! The reads that a host answers while another one serves (`--stale-reads`): its own directory, to which it follows the
//! store, is followed in turn, as by any other program of this host.
//!
//! A thread opens the directory, and says so as an event: that may take long, and this host may be wanted to serve
//! meanwhile. Whatever fails is tried again, since the directory changes under it: a host that was superseded cuts its log,
//! and a new one has no database yet.

use super::hosting::Event;
use sardonyx::{Follower, Options};
use sardonyx_server::{Following, Server};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// Between two tries to open the directory.
const BETWEEN_TRIES: Duration = Duration::from_millis(200);

/// Opens a directory. Dropping it ends that: what it has opened then is not wanted any more.
pub struct Opening {
    _wanted: Sender<()>,
}

impl Opening {
    /// Begins to open the directory of a host that follows.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn begin(directory: PathBuf, events: Sender<Event>) -> anyhow::Result<Opening> {
        let (wanted, is_wanted) = channel::<()>();
        let open = move || {
            loop {
                match Options::new().follow_tables(&directory) {
                    // An error means that the program ends.
                    Ok(follower) => return drop(events.send(Event::Reads(follower.into()))),
                    Err(error) => tracing::debug!(%error, "no reads are answered yet"),
                }
                if is_wanted.recv_timeout(BETWEEN_TRIES) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            }
        };
        thread::Builder::new()
            .name("sardonyx-reads".into())
            .spawn(open)?;
        Ok(Opening { _wanted: wanted })
    }
}

/// What answers clients while another host serves.
pub enum Answering {
    /// They are sent away.
    SendsAway(Following),
    /// Their reads are answered.
    Reads(Server, Arc<Follower>),
}

impl Answering {
    /// True if the directory cannot be read any further, and is to be opened again.
    pub fn has_ended(&self) -> bool {
        matches!(self, Answering::Reads(_, follower) if follower.has_ended())
    }

    /// Ends it at once, and gives back its memory.
    pub fn stop(self) {
        match self {
            Answering::SendsAway(following) => following.stop(),
            Answering::Reads(server, follower) => {
                server.stop_at_once();
                follower.close();
            }
        }
    }
}
