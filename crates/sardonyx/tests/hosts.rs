//! Several hosts on one database whose log is in a store: each commits while it serves, is asked to hand over, or ends
//! without a word; what was acknowledged on any of them is on the next.

#![cfg(not(shuttle))]

use sardonyx::hosts::{
    ANY_OTHER, DurableAt, Host, HostOptions, MemoryStore, RemoteLog, StopHost, Term, primary,
    promote,
};
use sardonyx::{Error, Options, Tables, record};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
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

/// What was acknowledged, by whom.
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

    /// Asks for something, again and again, until this host has acknowledged something new: what the serving host was
    /// asked for is forgotten if another one takes its place meanwhile, as on a machine that has much to do.
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

    /// All that was acknowledged is there.
    fn check(&self, bank: &Tables) {
        let table = bank.table::<Number>().unwrap();
        let numbers = self.numbers.lock().unwrap();
        let found = |number| bank.read(|view| view.get(table, &number).map(|row| row.host));
        for (number, host) in &*numbers {
            assert_eq!(found(*number).unwrap(), Some(*host), "{number}");
        }
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
    // Of one that was superseded the log says so.
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
        let mut this = Host::new(&path, options(&store), host_options(&name)).unwrap();
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
        // It ends without a word; somebody goes on.
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
    // Opened elsewhere without asking who serves: the fence decides, not the register.
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
    let (_, mut second) = open("second");
    let term = second.next_term(&stop).unwrap().unwrap();
    assert_eq!(primary(&store).unwrap().unwrap().host, "second");
    assert!(second.followed()().transactions > 0);
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
