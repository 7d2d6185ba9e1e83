//! The thread of a host that follows the store, and reports when this host is to serve.

use super::hosting::Event;
use crate::store::StoreOption;
use sardonyx::Options;
use sardonyx::hosts::{Followed, Host, HostOptions, StopHost, Term};
use sardonyx_command::exit;
use sardonyx_storage::remote_log::store::StoreError;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The time between two attempts to reach a store for the first time.
const BETWEEN_TRIES: Duration = Duration::from_millis(500);

/// A term; `None` if it was stopped before.
pub type Turn = anyhow::Result<Option<Box<Term>>>;

/// The view of the store: the serving host, and this host's position.
pub type Seen = (Option<String>, Followed);
type See = Box<dyn Fn() -> Seen + Send + Sync>;

/// Follows, and reports when this host is to serve.
pub struct Turns {
    wanted: Option<Sender<()>>,
    stop: StopHost,
    seen: Arc<OnceLock<See>>,
    thread: Option<JoinHandle<()>>,
}

/// The thread's own state.
struct Following {
    path: PathBuf,
    options: Options,
    store: StoreOption,
    host: HostOptions,
    stop: StopHost,
    seen: Arc<OnceLock<See>>,
}

impl Turns {
    /// Starts the thread for a host with this directory; it reports by `events`.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn begin(
        path: PathBuf,
        options: Options,
        store: StoreOption,
        host: HostOptions,
        events: Sender<Event>,
    ) -> anyhow::Result<Turns> {
        let (wanted, asked) = channel();
        let (stop, seen) = (StopHost::default(), Arc::default());
        let following = Following {
            path,
            options,
            store,
            host,
            stop: stop.clone(),
            seen: Arc::clone(&seen),
        };
        let thread = thread::Builder::new()
            .name("sardonyx-host".into())
            .spawn(move || {
                let panicked = events.clone();
                tell_of_panic(&panicked, || following.run(&asked, &events));
            })?;
        Ok(Turns {
            wanted: Some(wanted),
            stop,
            seen,
            thread: Some(thread),
        })
    }

    /// Lets the thread follow until this host is to serve, which it then reports.
    pub fn next(&self) {
        // An error means that it has already reported why it ended.
        let _ = self.wanted.iter().try_for_each(|wanted| wanted.send(()));
    }

    /// The view of the store; `None` before its first answer.
    pub fn seen(&self) -> impl Fn() -> Option<Seen> + Send + Sync + 'static {
        let seen = self.seen.clone();
        move || seen.get().map(|see| see())
    }

    /// Ends it: the directory keeps its part of the log.
    pub fn end(&mut self) {
        self.stop.stop();
        self.wanted = None;
        if let Some(thread) = self.thread.take() {
            // If it panicked, the directory is as after a crash.
            let _ = thread.join();
        }
    }
}

impl Following {
    fn run(self, asked: &Receiver<()>, events: &Sender<Event>) {
        let mut host = None;
        while asked.recv().is_ok() {
            let turn = self.turn(&mut host);
            if events.send(Event::Turn(turn)).is_err() {
                return;
            }
        }
    }

    fn turn(&self, host: &mut Option<Host>) -> Turn {
        if host.is_none() {
            let Some(options) = self.reach_store()? else {
                return Ok(None);
            };
            let made = Host::new(&self.path, options, self.host.clone())?;
            let (serving, followed) = (made.serving(), made.followed());
            // It is set once.
            let _ = self.seen.set(Box::new(move || (serving(), followed())));
            *host = Some(made);
        }
        match host {
            Some(host) => Ok(host.next_term(&self.stop)?.map(Box::new)),
            None => Ok(None),
        }
    }

    /// The options with the store, however long it takes to answer; `None` if it is to end.
    fn reach_store(&self) -> anyhow::Result<Option<Options>> {
        let mut told = false;
        while !self.stop.is_stopped() {
            match self.store.add(self.options.clone(), &self.path) {
                Ok(options) => return Ok(Some(options)),
                Err(error) if is_unclear(&error) => {
                    if !std::mem::replace(&mut told, true) {
                        let reason = exit::message(&error);
                        tracing::warn!(reason, "the store is not reachable yet; retrying");
                    }
                    thread::sleep(BETWEEN_TRIES);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }
}

/// Runs the thread's work. A panic is an event: otherwise the host would wait for its turn without end.
fn tell_of_panic(events: &Sender<Event>, work: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(work)).is_err() {
        let error = anyhow::anyhow!("the thread that follows the store panicked");
        // An error means that the host has ended.
        let _ = events.send(Event::Turn(Err(error)));
    }
}

fn is_unclear(error: &anyhow::Error) -> bool {
    error.downcast_ref().is_some_and(StoreError::is_unclear)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_the_thread_is_an_error_that_ends_the_host() {
        let (sender, events) = channel();
        tell_of_panic(&sender, || ());
        assert!(events.try_recv().is_err());
        tell_of_panic(&sender, || panic!("it is so in this test"));
        let Ok(Event::Turn(Err(error))) = events.try_recv() else {
            panic!("the host waits without end");
        };
        assert!(error.to_string().contains("panicked"), "{error}");
    }
}
