//! The host that serves a database of which it makes bases: it reports from where on it would continue if it were killed,
//! before the log behind a base is deleted.

use sardonyx::hosts::RemoteLog;
use sardonyx_storage::checkpoint::CheckpointStage;
use sardonyx_storage::disk::RealDisk;
use sardonyx_storage::remote_log::known_hosts::{KnownHost, host_of, report_host};
use sardonyx_storage::remote_log::shell::{ask, now};
use std::path::PathBuf;
use std::sync::Weak;
use std::thread;
use std::time::Duration;

/// So often it is looked whether the served directory has recorded what a base has; and the time between two of these
/// looks.
pub const RECORD_LOOKS: u32 = 100;
const BETWEEN_RECORD_LOOKS: Duration = Duration::from_millis(10);

/// The host that serves the database of which bases are made.
#[derive(Debug)]
pub struct ServingHost {
    /// The database's directory.
    pub path: PathBuf,
    /// The host's name.
    pub name: String,
    /// Writes down how far the store has the log. The stage has the memory of the checkpoints' copy, which ends with the
    /// database, though a base is being made.
    pub stage: Weak<CheckpointStage>,
}

impl ServingHost {
    /// Reports from where on this host would continue if it were killed now: what it needs is kept. It has all of the base
    /// before `next_entry`, so that is written down first, if it is stable here soon: as long as `looks` admits another
    /// look. Otherwise the log is kept until the next base.
    ///
    /// # Errors
    /// The disk's; the store's.
    pub fn report(
        &self,
        remote: &RemoteLog,
        identity: u64,
        next_entry: u64,
        mut looks: impl FnMut() -> bool,
    ) -> anyhow::Result<()> {
        let home = RealDisk::open(&self.path)?;
        let has_base = |report: &KnownHost| report.next_entry >= next_entry;
        loop {
            // Each time: what this host has handled, and what is stable here, may have changed.
            self.stage
                .upgrade()
                .iter()
                .for_each(|stage| stage.record_store());
            let report = host_of(&home, identity, &self.name, now())?;
            if report.as_ref().is_none_or(has_base) || !looks() {
                break;
            }
            thread::park_timeout(BETWEEN_RECORD_LOOKS);
        }
        let report = || report_host(&*remote.store, &home, identity, &self.name, now());
        match ask(&remote.patience, report) {
            Ok(reported) => Ok(reported.map(drop)?),
            // A server of an earlier version takes no reports, and nothing is kept for hosts there.
            Err(error) if error.is_unknown_request() => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sardonyx::hosts::MemoryStore;
    use sardonyx::{Options, Tables};
    use sardonyx_rows::schema::{Schema, Type};
    use sardonyx_storage::engine::{known_hosts, stored_manifest};
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc::channel;

    fn bank(path: &Path) -> (RemoteLog, Tables, ServingHost) {
        let remote = RemoteLog::new(Arc::new(MemoryStore::new()));
        let options = Options::new().store(remote.clone());
        let bank = options.open_tables(path).unwrap();
        let host = ServingHost {
            path: path.into(),
            name: "one".into(),
            stage: Arc::downgrade(bank.engine().checkpoint()),
        };
        (remote, bank, host)
    }

    fn create(bank: &Tables, name: &str) {
        let schema = Schema::new().column("a", Type::U64).primary_key(["a"]);
        bank.create_table(name, schema).unwrap();
        bank.flush().unwrap();
    }

    #[test]
    fn what_comes_to_be_recorded_during_the_looks_is_reported() {
        let machine = tempfile::tempdir().unwrap();
        let (remote, bank, host) = bank(&machine.path().join("bank.sdx"));
        create(&bank, "t");
        let identity = stored_manifest(&remote).unwrap().unwrap().identity;
        let end = || sardonyx_storage::engine::list_log(&remote, 1, |_| ()).unwrap();
        let before = end();
        let (looked, looks) = channel();
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let reports = scope.spawn(|| {
                let mut left = RECORD_LOOKS;
                host.report(&remote, identity, before + 1, || {
                    let _ = looked.send(());
                    left -= u32::from(is_over.load(Ordering::SeqCst));
                    left > 0
                })
            });
            // It does not have this entry yet at the first look.
            looks.recv().unwrap();
            create(&bank, "u");
            assert!(end() > before);
            is_over.store(true, Ordering::SeqCst);
            reports.join().unwrap().unwrap();
        });
        let [report] = &known_hosts(&remote, identity).unwrap()[..] else {
            panic!("it reports");
        };
        assert!(report.next_entry > before, "{report:?}");
        bank.close().unwrap();
    }

    #[test]
    fn the_memory_of_a_closed_database_is_not_kept_for_its_bases() {
        let machine = tempfile::tempdir().unwrap();
        let (_remote, bank, host) = bank(&machine.path().join("bank.sdx"));
        assert!(host.stage.upgrade().is_some());
        bank.close().unwrap();
        drop(bank);
        assert!(host.stage.upgrade().is_none());
    }
}
