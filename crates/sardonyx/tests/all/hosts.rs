//! Several hosts on one database whose log is in a store. Each commits while it serves, is asked to hand over, or ends
//! without notice; transactions acknowledged on any of them are on the next.

#![cfg(not(shuttle))]

mod cuttable;
mod ends_of_terms;
mod outages;

use cuttable::Cuttable;
use sardonyx::hosts::{
    ANY_OTHER, DurableAt, Followed, Host, HostOptions, MemoryStore, Primary, RemoteLog, StopHost,
    Term, TermState, primary, promote,
};
use sardonyx::{Checkpoints, Error, Options, Tables, record};
use sardonyx_storage::disk::{Disk, RealDisk};
use sardonyx_storage::engine::{KeepInStore, StorageOptions, delete_past, follow_store, take_lock};
use sardonyx_storage::remote_log::store::{Register, RemoteStore};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

record! {
    #[table("numbers", key = number)]
    struct Number {
        number: u64,
        host: u64,
    }
}

fn store() -> RemoteLog {
    RemoteLog::new(Arc::new(MemoryStore::new()))
}

fn options(store: &RemoteLog) -> Options {
    Options::new()
        .store(store.clone())
        .memory_bytes_max(64 << 20)
        .closing_checkpoint(Duration::ZERO)
}

fn host_options(name: &str) -> HostOptions {
    HostOptions {
        wait: Duration::from_millis(400),
        ..HostOptions::new(name)
    }
}

/// The acknowledged numbers, and their hosts.
#[derive(Default)]
struct Witness {
    numbers: Mutex<BTreeSet<(u64, u64)>>,
    changed: Condvar,
    next: AtomicU64,
}

impl Witness {
    fn acknowledged(&self, number: u64, host: u64) {
        assert!(self.numbers.lock().unwrap().insert((number, host)));
        self.changed.notify_all();
    }

    /// Waits until this host has acknowledged something new.
    fn wait_for(&self, host: impl Fn(u64) -> bool) -> u64 {
        self.ask_until(|| (), host)
    }

    /// Asks for something, again and again, until this host has acknowledged something new. A request to the serving
    /// host is forgotten if another one takes its place meanwhile, as on a busy machine.
    fn ask_until(&self, ask: impl Fn(), host: impl Fn(u64) -> bool) -> u64 {
        let after = self.next.load(Ordering::SeqCst);
        loop {
            ask();
            let mut numbers = self.numbers.lock().unwrap();
            let until = Instant::now() + Duration::from_secs(2);
            while let Some(rest) = until.checked_duration_since(Instant::now()) {
                let mut new = numbers
                    .iter()
                    .rev()
                    .take_while(|(number, _)| *number >= after);
                if let Some((_, by)) = new.find(|(_, by)| host(*by)) {
                    return *by;
                }
                numbers = self.changed.wait_timeout(numbers, rest).unwrap().0;
            }
        }
    }

    /// All acknowledged numbers are there.
    fn check(&self, bank: &Tables) {
        let table = bank.table::<Number>().unwrap();
        let numbers = self.numbers.lock().unwrap();
        let found = |number| bank.read(|view| Ok(view.get(table, number)?.map(|row| row.host)));
        for (number, host) in &*numbers {
            assert_eq!(found(*number).unwrap(), Some(*host), "{number}");
        }
    }
}

/// Waits until a term has this state, of which its thread reports each change.
fn wait_for(term: &Term, wanted: TermState) {
    let (report, changes) = channel();
    term.on_change(move || {
        // The test may have ended.
        let _ = report.send(());
    });
    while term.state() != wanted {
        let changed = changes.recv_timeout(Duration::from_secs(120));
        changed.unwrap_or_else(|_| panic!("the term is {:?}, not {wanted:?}", term.state()));
    }
}

/// One of the hosts has no second copy of the pages while it serves.
fn checkpoints_of(host: u64) -> Checkpoints {
    match host {
        1 => Checkpoints::FromSnapshots,
        _ => Checkpoints::FromCopy,
    }
}

/// Commits as long as the term lasts.
fn serve(path: &Path, host: u64, term: Term, witness: &Witness, stop: &StopHost) {
    let bank = match term.options().open_tables(path) {
        Ok(bank) => bank,
        // Another one was faster, on a machine that has much to do.
        Err(error) => return println!("host {host}: {error}"),
    };
    witness.check(&bank);
    if checkpoints_of(host) == Checkpoints::FromSnapshots {
        assert_eq!(bank.engine().checkpoint().copy_bytes(), 0);
    }
    let numbers = bank.table::<Number>().unwrap();
    while !term.is_over() && !stop.is_stopped() {
        let number = witness.next.fetch_add(1, Ordering::SeqCst);
        let row = Number { number, host };
        match bank.run(|tx| tx.insert(numbers, &row).map(drop)) {
            Ok(()) => witness.acknowledged(number, host),
            Err(error) => {
                println!("host {host}: {error}");
                break;
            }
        }
    }
    // For a superseded one the log reports it.
    if let Err(error) = bank.close() {
        println!("host {host}: {error}");
    }
    match stop.is_stopped() && host == 1 {
        // As if it had died: the others have to find out.
        true => drop(term),
        false => term.release(),
    }
}

#[test]
fn a_store_that_answers_reads_alone_is_not_asked_for_ever() {
    let machine = tempfile::tempdir().unwrap();
    let store = Cuttable::of(&Arc::default());
    let path = machine.path().join("bank.sdx");
    let mut host = Host::new(&path, options(&store.remote()), host_options("host")).unwrap();
    let term = host.next_term(&StopHost::default()).unwrap().unwrap();
    term.options().open_tables(&path).unwrap().close().unwrap();
    store.only_reads.store(true, Ordering::SeqCst);
    let error = promote(&store.remote(), ANY_OTHER).unwrap_err();
    assert!(error.to_string().contains("gave no answer"), "{error}");
    // The others wait for its lease to run out.
    term.release();
    store.only_reads.store(false, Ordering::SeqCst);
    promote(&store.remote(), ANY_OTHER).unwrap();
}

#[test]
fn a_term_whose_lease_ran_out_goes_on_when_the_store_is_back_and_nobody_has_taken_over() {
    let machine = tempfile::tempdir().unwrap();
    let store = Cuttable::of(&Arc::default());
    let path = machine.path().join("bank.sdx");
    let mut host = Host::new(&path, options(&store.remote()), host_options("host")).unwrap();
    let term = host.next_term(&StopHost::default()).unwrap().unwrap();
    let bank = term.options().open_tables(&path).unwrap();
    let numbers = bank.table::<Number>().unwrap();
    let insert = |number| {
        let row = Number { number, host: 0 };
        bank.run(|tx| tx.insert(numbers, &row).map(drop))
    };
    let wait_for = |wanted| wait_for(&term, wanted);
    insert(1).unwrap();
    let lease = term.lease();
    store.is_cut_off.store(true, Ordering::SeqCst);
    std::thread::scope(|scope| {
        // It waits for the store, however long that is.
        let waiting = scope.spawn(|| insert(2));
        wait_for(TermState::Waits);
        assert!(term.is_over() && !term.has_lease() && !lease.is_held());
        assert!(!waiting.is_finished());
        store.is_cut_off.store(false, Ordering::SeqCst);
        waiting.join().unwrap().unwrap();
    });
    wait_for(TermState::Serves);
    assert!(lease.is_held());
    insert(3).unwrap();
    promote(&store.remote(), "another").unwrap();
    wait_for(TermState::HandsOver);
    bank.close().unwrap();
    term.release();
    assert!(!lease.is_held());
}

#[test]
fn a_term_is_over_when_the_register_stays_damaged_or_its_thread_panics() {
    let cases: [fn(&Cuttable) -> &AtomicBool; 2] = [
        |store| &store.is_register_damaged,
        |store| &store.panics_at_register,
    ];
    for case in cases {
        let machine = tempfile::tempdir().unwrap();
        let store = Cuttable::of(&Arc::default());
        let path = machine.path().join("bank.sdx");
        let mut host = Host::new(&path, options(&store.remote()), host_options("host")).unwrap();
        let term = host.next_term(&StopHost::default()).unwrap().unwrap();
        let lease = term.lease();
        case(&store).store(true, Ordering::SeqCst);
        // It would wait for its lease without end.
        wait_for(&term, TermState::Over);
        assert!(!lease.is_held());
        term.release();
    }
}

#[test]
fn i12_a_program_opens_the_database_by_itself_only_when_no_host_can_have_a_lease() {
    let machine = tempfile::tempdir().unwrap();
    let memory = Arc::new(MemoryStore::new());
    let (remote, cut) = (RemoteLog::new(memory.clone()), Cuttable::of(&memory));
    let path = |name: &str| machine.path().join(name);
    let mut host = Host::new(path("host"), options(&cut.remote()), host_options("host")).unwrap();
    let term = host.next_term(&StopHost::default()).unwrap().unwrap();
    cut.is_cut_off.store(true, Ordering::SeqCst);
    // As if it were stopped: it gives no sign, and does not know more.
    let mut program = Host::new(path("own"), options(&remote), host_options("program")).unwrap();
    let mut waited = 0;
    let alone = program
        .term_unless_served(Duration::ZERO, |found| {
            assert_eq!(found.host, "host");
            waited += 1;
        })
        .unwrap()
        .unwrap();
    assert!(waited == 1 && !term.has_lease());
    cut.is_cut_off.store(false, Ordering::SeqCst);
    // It looks at each change of its state: a sign that reached the store would have the lease begin anew.
    let (report, changes) = channel();
    let lease = term.lease();
    term.on_change(move || {
        let _ = report.send(lease.is_held());
    });
    while term.state() != TermState::Over {
        let is_held = changes.recv_timeout(Duration::from_secs(120)).unwrap();
        assert!(!is_held && !term.has_lease());
    }
    assert!(!changes.try_iter().any(|is_held| is_held));
    let bank = alone.options().open_tables(path("own")).unwrap();
    assert_eq!(primary(&remote).unwrap().unwrap().host, "program");
    bank.close().unwrap();
    alone.release();
    assert!(primary(&remote).unwrap().unwrap().released);
}

#[test]
fn a_program_does_not_take_the_database_over_from_a_host_that_gives_a_sign() {
    let machine = tempfile::tempdir().unwrap();
    let memory = Arc::new(MemoryStore::new());
    let remote = RemoteLog::new(memory.clone());
    let path = |name: &str| machine.path().join(name);
    let mut first = Host::new(path("own"), options(&remote), host_options("first")).unwrap();
    let term = first.next_term(&StopHost::default()).unwrap().unwrap();
    term.options()
        .open_tables(path("own"))
        .unwrap()
        .close()
        .unwrap();
    term.release();
    // Another host whose signs come when this test sends them.
    let sign = |count: u64| {
        let stored = memory.read_register(Register::Primary).unwrap().unwrap();
        let record = Primary {
            host: "other".into(),
            process: 7,
            count,
            wait: Duration::from_secs(3600),
            released: false,
            ..primary(&remote).unwrap().unwrap()
        };
        let text = record.encode();
        memory
            .swap_register(Register::Primary, Some(&stored.version), text.as_bytes())
            .unwrap();
    };
    sign(1000);
    let mut program = Host::new(path("own"), options(&remote), host_options("program")).unwrap();
    let found = program
        .term_unless_served(Duration::ZERO, |found| sign(found.count + 1))
        .unwrap()
        .unwrap_err();
    assert_eq!((&*found.host, found.count), ("other", 1001));
    assert_eq!(primary(&remote).unwrap().unwrap(), found);
}

#[test]
fn a_second_process_of_a_host_leaves_the_term_to_the_one_that_has_the_directory_open() {
    let machine = tempfile::tempdir().unwrap();
    let (store, stop) = (store(), StopHost::default());
    let path = machine.path().join("bank.sdx");
    let host = || Host::new(&path, options(&store), host_options("host")).unwrap();
    let term = host().next_term(&stop).unwrap().unwrap();
    let bank = term.options().open_tables(&path).unwrap();
    let process = || primary(&store).unwrap().unwrap().process;
    let before = process();
    let error = host().next_term(&stop).unwrap_err();
    assert!(matches!(error, Error::Locked(_)), "{error:?}");
    assert_eq!(process(), before);
    assert_ne!(term.state(), TermState::Over);
    bank.close().unwrap();
    // Its process has ended without a word: the next one need not wait.
    drop(term);
    let term = host().next_term(&stop).unwrap().unwrap();
    assert_ne!(process(), before);
    term.release();
}

#[test]
fn a_host_that_slept_for_longer_than_the_store_keeps_begins_anew_and_follows() {
    let machine = tempfile::tempdir().unwrap();
    let memory = Arc::new(MemoryStore::new());
    let (store, of_sleeper) = (RemoteLog::new(memory.clone()), Cuttable::of(&memory));
    let path = |name: &str| machine.path().join(name);
    // No host takes over.
    let host = |name: &str, store: &RemoteLog| {
        let wait = Duration::from_secs(30);
        let host_options = HostOptions {
            wait,
            ..HostOptions::new(name)
        };
        Host::new(path(name), options(store), host_options).unwrap()
    };
    let stop = StopHost::default();
    let term = host("first", &store).next_term(&stop).unwrap().unwrap();
    let bank = term.options().open_tables(path("first")).unwrap();
    let numbers = bank.table::<Number>().unwrap();
    let insert = |numbers_of: std::ops::Range<u64>| {
        for number in numbers_of {
            let row = Number { number, host: 0 };
            bank.run(|tx| tx.insert(numbers, &row).map(drop)).unwrap();
        }
    };
    insert(0..10);
    let mut sleeper = host("sleeper", &of_sleeper.remote());
    let followed = sleeper.followed();
    std::thread::scope(|scope| {
        let following = scope.spawn(|| sleeper.next_term(&stop).map(|term| term.is_some()));
        let wait_until = |is_so: &dyn Fn() -> bool| {
            while !is_so() {
                assert!(!following.is_finished(), "it ended");
                std::thread::yield_now();
            }
        };
        wait_until(&|| followed().transactions > 0);
        let begun = followed().begun;
        of_sleeper.is_cut_off.store(true, Ordering::SeqCst);
        insert(10..100);
        // A third directory puts a base there, and the entries before are deleted.
        std::fs::create_dir_all(path("third")).unwrap();
        let home: Arc<dyn Disk> = Arc::new(RealDisk::open(path("third")).unwrap());
        let options = StorageOptions {
            memory_bytes_max: 64 << 20,
            remote: Some(store.clone()),
            ..StorageOptions::default()
        };
        let lock = take_lock(&home, Duration::ZERO).unwrap();
        let (mut replica, mut follower) = follow_store(&home, &options, lock).unwrap();
        while let Some(entry) = follower.next_entry().unwrap() {
            replica.apply(&entry).unwrap();
        }
        let (base, _) = replica.put_base(&options, &store).unwrap();
        let keep = KeepInStore {
            bases: 1,
            since: None,
            hosts_since: None,
        };
        delete_past(&store, keep).unwrap();
        assert!(followed().next_entry < base.next_entry);
        of_sleeper.is_cut_off.store(false, Ordering::SeqCst);
        insert(100..110);
        wait_until(&|| followed().next_entry >= base.next_entry + 10);
        // Its directory is another one: the state read of it is unusable.
        assert!(followed().begun > begun);
        wait_until(&|| followed().has_caught_up());
        stop.stop();
        assert!(!following.join().unwrap().unwrap());
    });
    bank.close().unwrap();
}

#[test]
fn where_none_may_be_made_a_store_without_a_database_gets_none() {
    let machine = tempfile::tempdir().unwrap();
    let store = store();
    let path = machine.path().join("bank.sdx");
    let careful = options(&store).create(false);
    for _ in 0..2 {
        let error = careful.clone().open_tables(&path).unwrap_err();
        assert!(matches!(error, Error::NotFound(_)), "{error}");
        assert!(error.to_string().contains("has no database"), "{error}");
        assert!(!path.exists());
    }
    // The log in the store can be opened in another directory.
    let other = machine.path().join("other.sdx");
    options(&store).open_tables(other).unwrap().close().unwrap();
    careful.open_tables(&path).unwrap().close().unwrap();
}

#[test]
fn a_host_brings_the_database_that_its_directory_had_before_there_was_a_store() {
    let machine = tempfile::tempdir().unwrap();
    let (store, witness) = (store(), Witness::default());
    let path = machine.path().join("bank.sdx");
    let without = Options::new().memory_bytes_max(64 << 20);
    let bank = without.open_tables(&path).unwrap();
    let numbers = bank.table::<Number>().unwrap();
    for number in 0..100 {
        let row = Number { number, host: 7 };
        bank.run(|tx| tx.insert(numbers, &row).map(drop)).unwrap();
        witness.acknowledged(number, 7);
    }
    bank.close().unwrap();
    for directory in ["bank.sdx", "another.sdx"] {
        let path = machine.path().join(directory);
        let stop = StopHost::default();
        let mut host = Host::new(&path, options(&store), host_options(&directory[..4])).unwrap();
        let term = host.next_term(&stop).unwrap().unwrap();
        let bank = term.options().open_tables(&path).unwrap();
        witness.check(&bank);
        bank.close().unwrap();
        term.release();
    }
}

#[test]
fn hosts_take_over_from_each_other_and_have_everything_that_was_acknowledged() {
    let machine = tempfile::tempdir().unwrap();
    let (store, witness) = (store(), Witness::default());
    let stops: Vec<StopHost> = (0..3).map(|_| StopHost::default()).collect();
    let run = |host: u64| {
        let path = machine.path().join(format!("host-{host}.sdx"));
        let stop = &stops[host as usize];
        let name = format!("host-{host}");
        let options = options(&store).checkpoints(checkpoints_of(host));
        let mut this = Host::new(&path, options, host_options(&name)).unwrap();
        while let Some(term) = this.next_term(stop).unwrap() {
            serve(&path, host, term, &witness, stop);
        }
    };
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..3).map(|host| scope.spawn(move || run(host))).collect();
        witness.wait_for(|_| true);
        for to in [1, 2, 0, 1] {
            let ask = || promote(&store, &format!("host-{to}")).unwrap();
            witness.ask_until(ask, |host| host == to);
        }
        // It ends without notice; another host continues.
        stops[1].stop();
        let next = witness.wait_for(|host| host != 1);
        let ask = || promote(&store, ANY_OTHER).unwrap();
        witness.ask_until(ask, |host| host != next);
        stops.iter().for_each(StopHost::stop);
        running.into_iter().for_each(|host| host.join().unwrap());
    });
    for host in 0..3 {
        let path = machine.path().join(format!("host-{host}.sdx"));
        let bank = options(&store).open_tables(&path).unwrap();
        witness.check(&bank);
        bank.close().unwrap();
    }
    let last = primary(&store).unwrap().unwrap();
    assert!(last.released, "{last:?}");
}

#[test]
fn a_host_that_is_superseded_acknowledges_nothing_and_its_term_is_over() {
    let machine = tempfile::tempdir().unwrap();
    let store = store();
    let stop = StopHost::default();
    let open = |name: &str| {
        let path = machine.path().join(name);
        (
            path.clone(),
            Host::new(&path, options(&store), host_options(name)).unwrap(),
        )
    };
    let (path, mut first) = open("first");
    let term = first.next_term(&stop).unwrap().unwrap();
    let bank = term.options().open_tables(&path).unwrap();
    let numbers = bank.table::<Number>().unwrap();
    let insert = |number| bank.run(|tx| tx.insert(numbers, &Number { number, host: 0 }).map(drop));
    insert(1).unwrap();
    // Opened elsewhere without the register: the fence decides, not the register.
    let other = options(&store)
        .open_tables(machine.path().join("other"))
        .unwrap();
    let error = insert(2).unwrap_err();
    assert!(error.to_string().contains("another owner's"), "{error}");
    let numbers = other.table::<Number>().unwrap();
    assert_eq!(other.read(|view| view.count(numbers)).unwrap(), 1);
    other.close().unwrap();
    drop(bank.close());
    // Without signs a second one takes its place, however long it sleeps.
    drop(term);
    let (path, mut second) = open("second");
    let term = second.next_term(&stop).unwrap().unwrap();
    assert_eq!(primary(&store).unwrap().unwrap().host, "second");
    // It serves, and follows no longer.
    assert_eq!(second.followed()(), Followed::default());
    let bank = term.options().open_tables(&path).unwrap();
    let numbers = bank.table::<Number>().unwrap();
    assert_eq!(bank.read(|view| view.count(numbers)).unwrap(), 1);
    bank.close().unwrap();
    term.release();
    stop.stop();
    assert!(second.next_term(&stop).unwrap().is_none());
}

#[test]
fn what_cannot_be_is_refused_with_a_sentence() {
    let machine = tempfile::tempdir().unwrap();
    let refused = |options: Options, host: HostOptions| {
        let error = Host::new(machine.path(), options, host)
            .map(drop)
            .unwrap_err();
        assert!(matches!(error, Error::Refused(_)), "{error}");
        error.to_string()
    };
    let good = options(&store());
    assert!(refused(Options::new(), host_options("a")).contains("Options::store"));
    assert!(refused(good.clone(), host_options("a b")).contains("\"a b\""));
    let short = HostOptions {
        wait: Duration::from_millis(199),
        ..host_options("a")
    };
    assert!(refused(good, short).contains("199ms"));
    let store = store();
    for error in [
        primary(&store).map(drop).unwrap_err(),
        promote(&store, "a").unwrap_err(),
    ] {
        assert!(matches!(error, Error::NotFound(_)), "{error}");
    }
    options(&store)
        .open_tables(machine.path().join("bank"))
        .unwrap();
    let error = promote(&store, "a").unwrap_err();
    assert!(error.to_string().contains("no host has served"), "{error}");
    let error = promote(&store, "a b").unwrap_err();
    assert!(matches!(error, Error::Refused(_)), "{error}");
    // Shared memory has many writers.
    let store = RemoteLog {
        durable_at: DurableAt::Local,
        ..store
    };
    let memory = options(&store).open_memory(machine.path().join("memory"));
    let error = memory.map(drop).unwrap_err();
    assert!(matches!(error, Error::Refused(_)), "{error}");
}
