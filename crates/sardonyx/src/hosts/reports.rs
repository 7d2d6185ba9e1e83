//! Reports of a host: from where on it needs the log in the store, for whatever deletes the past of that.
//!
//! That is the place that its directory has recorded, and not the one that it has reached: ended at any moment, it continues
//! there. A host that serves reports, too. Ended, it is to find its log as any other one does. A thread of its own
//! reports, so that a store that is slow with that holds up no turn.

use super::Host;
use super::register::may_pass;
use crate::Error;
use sardonyx_base::events;
use sardonyx_base::seldom::Seldom;
use sardonyx_storage::disk::RealDisk;
use sardonyx_storage::engine::RemoteLog;
use sardonyx_storage::remote_log::known_hosts::report_host;
use sardonyx_storage::remote_log::shell::now;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// The time between two reports. After a refusal it is longer: a store may not take them at all.
const BETWEEN_REPORTS: Duration = Duration::from_secs(60);
const AFTER_REFUSAL: Duration = Duration::from_secs(600);

/// The thread that reports, until this is dropped.
#[derive(Debug, Default)]
pub(super) struct Reports(Option<Sender<()>>);

impl Reports {
    /// No reports: no log is kept for the host when it has ended.
    pub fn none() -> Reports {
        Reports(Some(channel().0))
    }
}

impl Host {
    /// Reports from now on, and now if that is due: the directory may have got a place to report. Without a thread there is
    /// no report.
    pub(super) fn report(&mut self, identity: u64) {
        if let Some(asks) = &self.reports.0 {
            // After a panic there, there are no reports.
            let _ = asks.send(());
            return;
        }
        let reporter = Reporter {
            remote: self.remote.clone(),
            directory: self.directory.clone(),
            name: self.host.name.clone(),
            identity,
        };
        let (asks, asked) = channel();
        let thread = thread::Builder::new().name("sardonyx-report".into());
        if thread.spawn(move || reporter.run(&asked)).is_ok() {
            self.reports.0 = Some(asks);
        }
    }
}

/// The thread's own state.
struct Reporter {
    remote: RemoteLog,
    directory: PathBuf,
    name: String,
    identity: u64,
}

impl Reporter {
    fn run(&self, asked: &Receiver<()>) {
        let (mut due, mut failed) = (Instant::now(), Seldom::default());
        loop {
            if Instant::now() >= due {
                let pause = match self.report() {
                    Ok(true) => {
                        failed.end();
                        BETWEEN_REPORTS
                    }
                    // It is asked when there may be one.
                    Ok(false) => Duration::ZERO,
                    Err(error) => {
                        if failed.is_due(Instant::now()) {
                            events::warn!(
                                %error,
                                "this host could not report how far it is: log that it needs may be deleted from the store"
                            );
                        }
                        match may_pass(&error) {
                            true => BETWEEN_REPORTS,
                            false => AFTER_REFUSAL,
                        }
                    }
                };
                due = Instant::now() + pause;
            }
            let pause = due.saturating_duration_since(Instant::now());
            let pause = if pause.is_zero() {
                BETWEEN_REPORTS
            } else {
                pause
            };
            if asked.recv_timeout(pause) == Err(RecvTimeoutError::Disconnected) {
                return;
            }
        }
    }

    /// Reports the place that the directory has recorded, if there is one.
    fn report(&self) -> Result<bool, Error> {
        let home = RealDisk::open(&self.directory)?;
        let store = &*self.remote.store;
        let reported = report_host(store, &home, self.identity, &self.name, now());
        reported.map_err(Error::other)?.map_err(Error::other)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{HostOptions, MemoryStore, Primary, StopHost};
    use super::*;
    use crate::Options;
    use sardonyx_storage::engine::{known_hosts, stored_manifest};
    use sardonyx_storage::remote_log::known::Known;
    use sardonyx_storage::remote_log::store::{Register, RemoteStore};
    use std::sync::Arc;

    #[test]
    fn a_host_reports_the_place_that_it_has_recorded_while_it_follows_and_while_it_serves() {
        let machine = tempfile::tempdir().unwrap();
        let store = Arc::new(MemoryStore::new());
        let remote = RemoteLog::new(store.clone());
        let options = Options::new().store(remote.clone());
        let first = options.clone().open_tables(machine.path().join("a.sdx"));
        first.unwrap().close().unwrap();
        let identity = stored_manifest(&remote).unwrap().unwrap().identity;
        let serving = Primary {
            identity,
            host: "other".into(),
            process: 1,
            count: 1,
            wait: Duration::from_secs(3600),
            released: false,
            wanted: None,
        };
        let text = serving.encode();
        let put = store.swap_register(Register::Primary, None, text.as_bytes());
        put.unwrap();
        let name = HostOptions::new("one");
        let directory = machine.path().join("b.sdx");
        let mut host = Host::new(&directory, options.clone(), name).unwrap();
        let (stop, reported) = (StopHost::default(), || {
            known_hosts(&remote, identity).unwrap()
        });
        thread::scope(|scope| {
            let follows = scope.spawn(|| host.next_term(&stop));
            while reported().is_empty() {
                assert!(!follows.is_finished(), "it does not follow");
                thread::yield_now();
            }
            stop.stop();
            assert!(follows.join().unwrap().unwrap().is_none());
        });
        let [report] = &reported()[..] else {
            panic!("{:?}", reported());
        };
        assert!(report.name == "one" && report.next_entry > 1, "{report:?}");
        drop(host);
        // It applied more than it has recorded, and would continue there.
        let home = RealDisk::open(&directory).unwrap();
        let mut known = Known::read(&home).unwrap().unwrap();
        known.entry.next -= 1;
        known.write(&home).unwrap();
        let reporter = Reporter {
            remote: remote.clone(),
            directory: directory.clone(),
            name: "one".into(),
            identity,
        };
        assert!(reporter.report().unwrap());
        assert_eq!(reported()[0].next_entry, report.next_entry - 1);
        // Of another database it reports nothing.
        let other = Reporter {
            identity: identity ^ 1,
            ..reporter
        };
        assert!(!other.report().unwrap());
        known.entry.next += 1;
        known.write(&home).unwrap();
        // A host that serves reports, too.
        let stored = store.read_register(Register::Primary).unwrap();
        let released = Primary {
            released: true,
            ..serving
        };
        let version = stored.as_ref().map(|stored| &stored.version);
        let text = released.encode();
        let put = store.swap_register(Register::Primary, version, text.as_bytes());
        put.unwrap();
        let name = HostOptions::new("two");
        let mut host = Host::new(&directory, options, name).unwrap();
        let term = host.next_term(&StopHost::default()).unwrap().unwrap();
        let tables = term.options().open_tables(&directory).unwrap();
        while reported().len() < 2 {
            thread::yield_now();
        }
        term.close(&tables).unwrap();
        let hosts = reported();
        assert_eq!(hosts[1].name, "two");
        assert!(hosts[1].next_entry >= report.next_entry, "{hosts:?}");
    }
}
