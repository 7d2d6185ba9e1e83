//! The figures of a host for its metrics: its role, its lease, its position in the store's log, the entries cut off its
//! log, the newest base.
//!
//! Read for each reader of the metrics. Only the names in the directory are listed each time; the files of forks, which
//! never change, are read once.

use super::turns::Seen;
use crate::store::BasesSeen;
use sardonyx::hosts::TermLease;
use sardonyx_server::state::{Host, SeesHost};
use sardonyx_storage::disk::{Disk, RealDisk};
use sardonyx_storage::engine::{FORK_PREFIX, forks};
use sardonyx_storage::remote_log::shell::now;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The source of a host's metrics.
pub struct HostFigures {
    name: String,
    seen: Box<dyn Fn() -> Option<Seen> + Send + Sync>,
    /// The lease of the term, while there is one.
    lease: Mutex<Option<TermLease>>,
    /// The bases, while this host makes them.
    bases: Arc<BasesSeen>,
    forks: Forks,
}

impl HostFigures {
    /// The figures of the host with this name and directory; `seen` reads its view of the store.
    pub fn new(
        name: String,
        directory: PathBuf,
        seen: impl Fn() -> Option<Seen> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(HostFigures {
            name,
            seen: Box::new(seen),
            lease: Mutex::default(),
            bases: Arc::default(),
            forks: Forks {
                directory,
                counted: Mutex::default(),
            },
        })
    }

    /// Notes the lease of a new term, or the term's end.
    pub fn set_lease(&self, lease: Option<TermLease>) {
        *self.lease.lock().unwrap_or_else(PoisonError::into_inner) = lease;
    }

    /// The place for what a maker of bases knows.
    pub fn bases(&self) -> &Arc<BasesSeen> {
        &self.bases
    }

    /// The reader for the metrics.
    pub fn sees(self: &Arc<Self>) -> SeesHost {
        let figures = self.clone();
        SeesHost::new(move || figures.see())
    }

    fn see(&self) -> Host {
        let lease = self.lease.lock().unwrap_or_else(PoisonError::into_inner);
        let left = lease.as_ref().map_or(Duration::ZERO, TermLease::left);
        // A host with a term does not follow, even while its lease has run out.
        let followed = match lease.is_some() {
            true => None,
            false => (self.seen)().map(|(_, followed)| followed),
        };
        drop(lease);
        let followed = followed.filter(|followed| followed.next_entry > 0);
        let bases = self.bases.ages(now());
        Host {
            name: self.name.clone(),
            serves: !left.is_zero(),
            lease_seconds: left.as_secs_f64(),
            entry: followed.map(|followed| followed.next_entry - 1),
            behind_seconds: followed
                .and_then(|followed| followed.caught_up)
                .map(|caught_up| caught_up.age().as_secs_f64()),
            forks: self.forks.count(),
            base_age_seconds: bases.and_then(|(age, _)| age),
            base_due_seconds: bases.map(|(_, due)| due),
        }
    }
}

/// The files of a directory with entries that were cut off its log.
struct Forks {
    directory: PathBuf,
    counted: Mutex<(Vec<String>, u64)>,
}

impl Forks {
    /// Counts the files that have transactions. If the directory cannot be read, the count stays.
    fn count(&self) -> u64 {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let names = std::fs::read_dir(&self.directory).map(|entries| {
            let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
            let mut names: Vec<_> = names.filter(|name| name.starts_with(FORK_PREFIX)).collect();
            names.sort();
            names
        });
        let Ok(names) = names else { return counted.1 };
        if counted.0 != names
            && let Ok(disk) = RealDisk::open(&self.directory)
            && let Ok(found) = forks(&disk as &dyn Disk)
        {
            let with_transactions = found.iter().filter(|fork| fork.transactions > 0);
            *counted = (names, with_transactions.count() as u64);
        }
        counted.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sardonyx::hosts::{CaughtUp, Followed};

    #[test]
    fn a_host_that_follows_says_how_far_and_one_with_a_lease_for_how_long() {
        let machine = tempfile::tempdir().unwrap();
        let followed = Followed {
            next_entry: 8,
            caught_up: Some(CaughtUp::now(0)),
            ..Followed::default()
        };
        let seen = move || Some((None, followed));
        let figures = HostFigures::new("one".into(), machine.path().into(), seen);
        let host = figures.see();
        assert!(!host.serves && host.entry == Some(7), "{host:?}");
        assert!(host.behind_seconds.is_some(), "{host:?}");
        assert_eq!((host.base_age_seconds, host.forks), (None, 0));
        // An empty file is no fork, and a vanished file is no longer one.
        let file = machine.path().join(format!("{FORK_PREFIX}1"));
        std::fs::write(&file, []).unwrap();
        assert_eq!(figures.see().forks, 0);
        std::fs::remove_file(file).unwrap();
        assert_eq!(figures.see().forks, 0);
    }
}
