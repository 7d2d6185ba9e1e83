//! Bases made by a serving host: a thread makes one whenever its schedule ([`Every`]) has one due.
//!
//! It keeps a copy of the database in a directory of its own, which it opens only to make a base, as `store follow
//! --once` does. So the server shares only the disk and the processors with it. The bases are read from the store and
//! checked, so a lost entry is noticed. The copy can be lost or deleted at any time: the next one begins with the
//! newest base.
//!
//! The age of the newest base, and the time for which one has been due, are those of the entries in the store. A host that
//! has just taken over shows the same as the one before.

use super::base_ages::BasesSeen;
use super::every::{Every, parse_every};
use super::following::{CaughtUp, End, Following};
use super::retention::Kept;
use super::serving_host::{RECORD_LOOKS, ServingHost};
use super::{StoreOption, copy_options};
use sardonyx::hosts::RemoteLog;
use sardonyx_base::events;
use sardonyx_command::exit::{self, UsageError};
use sardonyx_storage::engine::{
    KeepInStore, delete_past, entry_time, list_log, newest_base, stored_manifest,
};
use sardonyx_storage::manifest::Manifest;
use sardonyx_storage::remote_log::shell::now;
use std::cell::Cell;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

/// The time between two checks of how much log has come.
const PAUSE: Duration = Duration::from_secs(5);

/// After failures the pause doubles up to this.
const PAUSE_MOST: Duration = Duration::from_secs(3600);

/// The options for a server's bases.
#[derive(Debug, clap::Args)]
pub struct BasesOption {
    /// Put a base, where new hosts start, into the store after each SIZE of log, TIME, or both: 4GiB,24h;
    /// 0: after any log [default: never]
    #[arg(long, value_name = "SIZE|TIME", value_parser = parse_every, requires = "store", help_heading = "Bases")]
    base_every: Option<Every>,
    /// The copy from which bases are made [default: the database's directory with .bases appended]
    #[arg(
        long,
        value_name = "DIR",
        requires = "base_every",
        help_heading = "Bases"
    )]
    base_directory: Option<PathBuf>,
    #[command(flatten)]
    kept: Kept,
}

impl BasesOption {
    /// Refuses options without effect.
    pub fn check(&self) -> Result<(), UsageError> {
        self.kept.check(self.base_every.is_some())
    }

    /// Starts the thread, if the options ask for it, for the database of this host, which is open. It notes in
    /// `seen` what the metrics show.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(
        &self,
        store: &StoreOption,
        host: ServingHost,
        seen: &Arc<BasesSeen>,
    ) -> anyhow::Result<Option<Bases>> {
        let Some(every) = self.base_every else {
            return Ok(None);
        };
        let directory = self.base_directory.clone().unwrap_or_else(|| {
            // Without a slash at its end.
            let mut name = host.path.components().as_path().as_os_str().to_os_string();
            name.push(".bases");
            name.into()
        });
        let is_over = Arc::new(AtomicBool::new(false));
        let maker = {
            let (keep, seen, is_over) = (self.kept.clone(), seen.clone(), is_over.clone());
            move |remote| Maker {
                remote,
                directory,
                every,
                keep,
                host: Some(host),
                seen,
                is_over,
                owed: Cell::default(),
            }
        };
        seen.begin();
        // Opened there: a host that begins to serve does not wait for it.
        let (store, ends, seen) = (store.clone(), is_over.clone(), seen.clone());
        let thread = thread::Builder::new()
            .name("store-bases".into())
            .spawn(move || {
                if let Some(remote) = reach(&store, &ends, &seen) {
                    maker(remote).run();
                }
            })?;
        Ok(Some(Bases {
            is_over,
            thread: thread.thread().clone(),
        }))
    }
}

/// The thread runs until this is dropped. It then ends the base that it is putting into the store, or leaves it
/// unfinished: an unfinished base does not count.
#[derive(Debug)]
pub struct Bases {
    is_over: Arc<AtomicBool>,
    thread: Thread,
}

impl Drop for Bases {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        self.thread.unpark();
    }
}

/// The store, when it can be opened; `None` if it is not wanted any more.
fn reach(store: &StoreOption, is_over: &AtomicBool, seen: &BasesSeen) -> Option<RemoteLog> {
    let mut pause = PAUSE;
    while !is_over.load(Ordering::SeqCst) {
        match store.remote() {
            Ok(remote) => return remote,
            Err(error) => {
                seen.may_be_due(now());
                pause = (pause * 2).min(PAUSE_MOST);
                let error = exit::message(&error);
                events::error!(error, again_in = ?pause, "the store of bases is not open");
                thread::park_timeout(pause);
            }
        }
    }
    None
}

/// The log since the newest base.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Counted {
    /// The entry after that base, and the time of its last entry.
    newest: Option<(u64, u64)>,
    /// The entry up to which it was counted.
    next: u64,
    bytes: u64,
    /// The first entry of it.
    first: Option<u64>,
    /// The entry with which it reached the size after which a base is due.
    reached: Option<u64>,
}

impl Counted {
    fn from(newest: Option<(u64, u64)>) -> Counted {
        Counted {
            newest,
            next: newest.map_or(1, |(next_entry, _)| next_entry),
            bytes: 0,
            first: None,
            reached: None,
        }
    }
}

/// The maker of bases, on its thread.
struct Maker {
    remote: RemoteLog,
    directory: PathBuf,
    every: Every,
    keep: Kept,
    host: Option<ServingHost>,
    seen: Arc<BasesSeen>,
    is_over: Arc<AtomicBool>,
    /// The rest that is not to be kept is still to be deleted since the last base: the database, and the first entry after that.
    owed: Cell<Option<(u64, u64)>>,
}

impl Maker {
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    fn run(&self) {
        let (mut counted, mut pause) = (None, PAUSE);
        while !self.is_over() {
            let longer = (pause * 2).min(PAUSE_MOST);
            pause = PAUSE;
            if let Err(error) = self.look(&mut counted) {
                self.seen.may_be_due(now());
                pause = longer;
                let error = exit::message(&error);
                events::error!(error, again_in = ?pause, "no base can be made");
            } else if let Err(error) = self.delete_owed() {
                pause = longer;
                let error = exit::message(&error);
                events::error!(
                    error,
                    again_in = ?pause,
                    "bases and log that are not to be kept cannot be deleted from the store"
                );
            }
            if !self.is_over() {
                thread::park_timeout(pause);
            }
        }
    }

    /// Makes a base, if it is time. `counted`: the log since the last base.
    fn look(&self, counted: &mut Option<Counted>) -> anyhow::Result<()> {
        let Some(manifest) = stored_manifest(&self.remote)? else {
            return Ok(());
        };
        let since = match counted.take() {
            Some(counted) => counted,
            None => self.since_newest(&manifest)?,
        };
        let mut since = self.counted(since)?;
        let mut due = self.due_since(&since)?;
        self.seen.is_due_since(due);
        if due.is_some() {
            // Another maker may have been faster: then the log is counted from its base.
            let newest = self.since_newest(&manifest)?;
            if newest.newest != since.newest {
                since = self.counted(newest)?;
                due = self.due_since(&since)?;
                self.seen.is_due_since(due);
            }
        }
        if due.is_none() {
            *counted = Some(since);
            return Ok(());
        }
        let made = self.make(&manifest)?;
        *counted = made.map(|made| Counted::from(Some(made)));
        Ok(())
    }

    /// The log since the newest base, not counted yet.
    fn since_newest(&self, manifest: &Manifest) -> anyhow::Result<Counted> {
        let newest = newest_base(&self.remote, manifest.identity, |_| true)?;
        let newest = newest.map(|(name, head)| (name.next_entry, head.known.entry.time));
        newest.iter().for_each(|(_, time)| self.seen.has(*time));
        Ok(Counted::from(newest))
    }

    /// The same, counted up to now.
    fn counted(&self, mut since: Counted) -> anyhow::Result<Counted> {
        let size = self.every.bytes().unwrap_or(u64::MAX);
        since.next = list_log(&self.remote, since.next, |entry| {
            since.bytes += entry.bytes;
            since.first.get_or_insert(entry.number);
            if since.bytes >= size {
                since.reached.get_or_insert(entry.number);
            }
        })?;
        if since.newest.is_none()
            && !self.seen.knows_age()
            && let Some(began) = self.time_of(since.first)?
        {
            self.seen.has(began);
        }
        Ok(since)
    }

    fn time_of(&self, entry: Option<u64>) -> anyhow::Result<Option<u64>> {
        let time = entry.map(|number| entry_time(&self.remote, number));
        Ok(time.transpose()?.flatten())
    }

    /// The moment since which a base has been due, if one is.
    fn due_since(&self, since: &Counted) -> anyhow::Result<Option<u64>> {
        let newest = since.newest.map(|(_, time)| time);
        let now = now();
        if !self.every.is_due(since.bytes, newest, now) {
            return Ok(None);
        }
        let (first, reached) = (self.time_of(since.first)?, self.time_of(since.reached)?);
        Ok(self.every.due_since(newest, first, reached).or(Some(now)))
    }

    /// Makes a base of the store's current log. Returns the first entry after it, and its last entry's time; `None` if it
    /// is to end, or another maker was faster.
    fn make(&self, manifest: &Manifest) -> anyhow::Result<Option<(u64, u64)>> {
        let options = copy_options(self.remote.clone(), manifest);
        let mut following = Following::open(&self.directory, &options, Duration::ZERO)?;
        match following.catch_up(End::Wanted, || self.is_over(), |_| ())? {
            CaughtUp::AtEnd => {}
            CaughtUp::Interrupted => return Ok(None),
            CaughtUp::NoAnswer(error) => return Err(error.into()),
            CaughtUp::Missing(error) | CaughtUp::Behind(error) => return Err(error.into()),
        }
        let entry = following.known().entry;
        let next_entry = entry.next;
        let Some(bytes) = following.put_base(&self.remote)? else {
            return Ok(None);
        };
        self.seen.has(entry.time);
        self.seen.is_due_since(None);
        events::info!(next_entry, bytes, "a base is in the store");
        self.owed.set(Some((manifest.identity, next_entry)));
        Ok(Some((next_entry, entry.time)))
    }

    /// Deletes bases and log that are not to be kept, if that is owed since the last base.
    fn delete_owed(&self) -> anyhow::Result<()> {
        let (Some((identity, next_entry)), Some(keep)) = (self.owed.get(), self.keep.keep(1))
        else {
            return Ok(());
        };
        if let Some(host) = self.host.as_ref().filter(|_| keep.hosts_since.is_some()) {
            let mut looks = 0..RECORD_LOOKS;
            let looks = || !self.is_over() && looks.next().is_some();
            if let Err(error) = host.report(&self.remote, identity, next_entry, looks) {
                let error = exit::message(&error);
                // Its report before asks for more of the log.
                events::warn!(error, "this host could not report how far it is");
            }
        }
        self.delete_past(keep)?;
        self.owed.set(None);
        Ok(())
    }

    fn delete_past(&self, keep: KeepInStore) -> anyhow::Result<()> {
        let deleted = delete_past(&self.remote, keep)?;
        events::info!(
            bases = deleted.bases,
            entries = deleted.log.entries,
            kept_for = ?deleted.kept_for.map(|host| host.name),
            "bases and log that are not to be kept are deleted from the store"
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sardonyx::Options;
    use sardonyx::hosts::MemoryStore;
    use sardonyx_rows::schema::{Schema, Type};
    use sardonyx_storage::disk::RealDisk;
    use sardonyx_storage::remote_log::known_hosts::host_of;
    use std::path::Path;
    use std::sync::Weak;

    /// A maker without a host, which keeps all bases.
    fn maker_in(machine: &Path, remote: &RemoteLog, seen: &Arc<BasesSeen>, every: &str) -> Maker {
        Maker {
            remote: remote.clone(),
            directory: machine.join("bases.sdx"),
            every: parse_every(every).unwrap(),
            keep: Kept::default(),
            host: None,
            seen: seen.clone(),
            is_over: Arc::default(),
            owed: Cell::default(),
        }
    }

    #[test]
    fn a_maker_that_another_one_overtook_counts_from_the_newest_base_again() {
        let machine = tempfile::tempdir().unwrap();
        let remote = RemoteLog::new(Arc::new(MemoryStore::new()));
        let options = Options::new().store(remote.clone());
        let bank = options.open_tables(machine.path().join("bank.sdx"));
        bank.unwrap().close().unwrap();
        let seen = Arc::<BasesSeen>::default();
        let maker = |every: &str, is_over| Maker {
            is_over: Arc::new(AtomicBool::new(is_over)),
            ..maker_in(machine.path(), &remote, &seen, every)
        };
        seen.begin();
        let mut counted = None;
        // As if another maker had been faster: it makes none.
        maker("0", true).look(&mut counted).unwrap();
        assert_eq!(counted, None);
        let due = |seen: &BasesSeen| seen.ages(u64::MAX).unwrap().1 > 0.0;
        assert!(due(&seen), "it was not made");
        maker("0", false).look(&mut counted).unwrap();
        let made = counted.unwrap();
        assert!(made.next > 1 && made.bytes == 0, "{made:?}");
        assert!(!due(&seen));
        // A maker that counts from no base, since it looked before, finds this one, and makes none.
        let mut before = Some(Counted::from(None));
        seen.begin();
        maker("0", true).look(&mut before).unwrap();
        assert_eq!(before, counted);
        let (_, time) = made.newest.unwrap();
        assert_eq!(
            seen.ages(time),
            Some((Some(0.0), 0.0)),
            "the age is that base's"
        );
    }

    #[test]
    fn a_database_without_new_log_has_no_base_due_however_old_the_newest_is() {
        let machine = tempfile::tempdir().unwrap();
        let remote = RemoteLog::new(Arc::new(MemoryStore::new()));
        let options = Options::new().store(remote.clone());
        let path = machine.path().join("bank.sdx");
        let opened = options.clone().open_tables(&path);
        opened.unwrap().close().unwrap();
        let seen = Arc::<BasesSeen>::default();
        let maker = |every: &str| maker_in(machine.path(), &remote, &seen, every);
        let bases = || {
            let manifest = stored_manifest(&remote).unwrap().unwrap();
            let bases = sardonyx_storage::engine::usable_bases(&remote, manifest.identity);
            bases.unwrap().whole.len()
        };
        assert_eq!(seen.ages(now()), None, "it makes none");
        seen.begin();
        assert_eq!(
            seen.ages(now()),
            Some((None, 0.0)),
            "the store was not asked"
        );
        let mut counted = None;
        // Too little log for the size; by the time the first one is due at once.
        maker("1GiB").look(&mut counted).unwrap();
        assert_eq!(bases(), 0);
        maker("1GiB,24h").look(&mut counted).unwrap();
        assert_eq!(bases(), 1);
        // Each time is over, and no log has come.
        for every in ["0", "0us"] {
            maker(every).look(&mut counted).unwrap();
            assert_eq!(seen.ages(u64::MAX).unwrap().1, 0.0);
        }
        assert_eq!(bases(), 1);
        // Log has come, and no day has passed.
        options.open_tables(&path).unwrap().close().unwrap();
        maker("1GiB,24h").look(&mut counted).unwrap();
        assert_eq!(bases(), 1);
        maker("1GiB,0us").look(&mut counted).unwrap();
        assert_eq!(bases(), 2);
    }

    #[test]
    fn a_base_is_due_for_as_long_as_the_store_shows_in_each_term() {
        const DAY: u64 = 86_400_000_000;
        let machine = tempfile::tempdir().unwrap();
        let remote = RemoteLog::new(Arc::new(MemoryStore::new()));
        let options = Options::new().store(remote.clone());
        let path = machine.path().join("bank.sdx");
        let open = || options.clone().open_tables(&path).unwrap().close().unwrap();
        open();
        // The figures of a term that begins now, and whose maker makes a base or is hindered, at that time.
        let term = |every: &str, makes: bool, at| {
            let seen = Arc::<BasesSeen>::default();
            seen.begin();
            let maker = Maker {
                is_over: Arc::new(AtomicBool::new(!makes)),
                ..maker_in(machine.path(), &remote, &seen, every)
            };
            maker.look(&mut None).unwrap();
            seen.ages(at).unwrap()
        };
        let time = |number| entry_time(&remote, number).unwrap().unwrap();
        let days = |days: u64| Duration::from_micros(days * DAY).as_secs_f64();
        // Before there is a base: since the log's first entry.
        for every in ["0", "24h"] {
            for since in 1..4 {
                let ages = term(every, false, time(1) + since * DAY);
                assert_eq!(ages, (Some(days(since)), days(since)), "{every}");
            }
        }
        assert_eq!(term("1GiB", false, time(1) + DAY), (Some(days(1)), 0.0));
        term("24h", true, now());
        let manifest = stored_manifest(&remote).unwrap().unwrap();
        let (base, head) = newest_base(&remote, manifest.identity, |_| true)
            .unwrap()
            .unwrap();
        let newest = head.known.entry.time;
        // Log has come: since the entry that the schedule waited for.
        open();
        let first = time(base.next_entry);
        for (every, since) in [("0us", first), ("0", first), ("1us", first.max(newest + 1))] {
            for term_of in 1..3 {
                let at = since + term_of * DAY;
                let ages = term(every, false, at);
                let age = Duration::from_micros(at - newest).as_secs_f64();
                assert_eq!(ages, (Some(age), days(term_of)), "{every}");
            }
        }
        assert_eq!(term("24h", false, newest + DAY), (Some(days(1)), 0.0));
    }

    #[test]
    fn i12_a_host_that_makes_bases_needs_nothing_before_the_base_for_which_the_log_is_deleted() {
        #[derive(clap::Parser)]
        struct Trim {
            #[command(flatten)]
            kept: Kept,
        }
        let machine = tempfile::tempdir().unwrap();
        let remote = RemoteLog::new(Arc::new(MemoryStore::new()));
        let path = machine.path().join("bank.sdx");
        let options = Options::new().store(remote.clone());
        let bank = options.open_tables(&path).unwrap();
        let schema = || Schema::new().column("a", Type::U64).primary_key(["a"]);
        bank.create_table("t", schema()).unwrap();
        bank.flush().unwrap();
        let keep = ["trim", "--keep-bases", "1"];
        let Trim { kept } = clap::Parser::parse_from(keep);
        let maker = |path: &Path, stage| Maker {
            remote: remote.clone(),
            directory: machine.path().join("bases.sdx"),
            every: parse_every("0").unwrap(),
            keep: kept.clone(),
            host: Some(ServingHost {
                path: path.into(),
                name: "one".into(),
                stage,
            }),
            seen: Arc::default(),
            is_over: Arc::default(),
            owed: Cell::default(),
        };
        let identity = stored_manifest(&remote).unwrap().unwrap().identity;
        let newest = || newest_base(&remote, identity, |_| true).unwrap().unwrap().0;
        let oldest = || {
            let kept = sardonyx_storage::engine::oldest_kept(&remote, identity);
            kept.unwrap().unwrap().entry.next
        };
        let first = maker(&path, Arc::downgrade(bank.engine().checkpoint()));
        first.look(&mut None).unwrap();
        first.delete_owed().unwrap();
        // It was killed then: its directory has all of the base, and the log is deleted up to there.
        let home = RealDisk::open(&path).unwrap();
        let host = host_of(&home, identity, "one", 0).unwrap().unwrap();
        assert!(host.next_entry >= newest().next_entry, "{host:?}");
        assert_eq!(oldest(), newest().next_entry);
        assert_eq!(first.owed.get(), None);
        // A host that cannot report keeps what its last report asks for, and no more.
        bank.create_table("u", schema()).unwrap();
        bank.flush().unwrap();
        let second = maker(&machine.path().join("absent/bank.sdx"), Weak::new());
        second.look(&mut None).unwrap();
        assert!(newest().next_entry > host.next_entry);
        second.delete_owed().unwrap();
        assert_eq!(oldest(), host.next_entry);
        bank.close().unwrap();
    }

    #[test]
    fn a_host_that_begins_to_serve_does_not_wait_for_the_store_of_its_bases() {
        // Opening it fails, which a caller that opened it would report.
        let store = StoreOption {
            store: Some("file:/nowhere/at/all".into()),
            durable_at: None,
            time_limit: None,
            register_limit: None,
        };
        assert!(store.remote().is_err());
        for base_every in [None, parse_every("1").ok()] {
            let bases = BasesOption {
                base_every,
                base_directory: None,
                kept: Kept::default(),
            };
            let host = ServingHost {
                path: "bank.sdx".into(),
                name: "one".into(),
                stage: Weak::new(),
            };
            let started = bases.start(&store, host, &Arc::default());
            assert_eq!(started.unwrap().is_some(), base_every.is_some());
        }
    }
}
