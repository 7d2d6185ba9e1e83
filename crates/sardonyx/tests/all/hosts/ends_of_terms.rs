//! The ends of terms: the moment from which another host may serve, and a host that takes the log when its turn is over.

use super::cuttable::Cuttable;
use super::{Number, host_options, options, wait_for};
use sardonyx::Error;
use sardonyx::hosts::{
    ANY_OTHER, DurableAt, Host, MemoryStore, Patience, Primary, RemoteLog, StopHost, TermState,
    primary, promote,
};
use sardonyx_storage::remote_log::store::{Register, RemoteStore, Swapped};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The manifest of a directory as it is when the term of its host is released, and at the end.
fn manifests_of_a_close(durable_at: DurableAt) -> [String; 2] {
    let machine = tempfile::tempdir().unwrap();
    let store = Cuttable::of(&Arc::default());
    let path = machine.path().join("bank.sdx");
    let remote = RemoteLog {
        durable_at,
        ..store.remote()
    };
    let mut host = Host::new(&path, options(&remote), host_options("host")).unwrap();
    let term = host.next_term(&StopHost::default()).unwrap().unwrap();
    let bank = term.options().open_tables(&path).unwrap();
    let numbers = bank.table::<Number>().unwrap();
    let row = Number { number: 1, host: 0 };
    bank.run(|tx| tx.insert(numbers, &row).map(drop)).unwrap();
    let manifest = path.join("MANIFEST");
    let (at_release, of_directory) = (Arc::<Mutex<Option<String>>>::default(), manifest.clone());
    let seen = at_release.clone();
    store.at_swap(move |record| {
        if record.contains("released = true") {
            let text = std::fs::read_to_string(&of_directory).unwrap();
            seen.lock().unwrap().get_or_insert(text);
        }
    });
    promote(&remote, "another").unwrap();
    term.close(&bank).unwrap();
    assert!(primary(&remote).unwrap().unwrap().released);
    let at_release = at_release.lock().unwrap().take().unwrap();
    [at_release, std::fs::read_to_string(manifest).unwrap()]
}

#[test]
fn another_host_need_not_wait_for_the_end_of_a_close_that_it_does_not_need() {
    // The store has each acknowledged transaction, so only records of this directory follow.
    let [at_release, at_end] = manifests_of_a_close(DurableAt::Both);
    assert_ne!(at_release, at_end);
    // The store has the last transactions only at the end of the close.
    let [at_release, at_end] = manifests_of_a_close(DurableAt::Local);
    assert_eq!(at_release, at_end);
}

#[test]
fn i12_a_host_that_was_stopped_before_it_opened_takes_the_log_from_no_other() {
    let machine = tempfile::tempdir().unwrap();
    let memory = Arc::new(MemoryStore::new());
    let (remote, cut) = (RemoteLog::new(memory.clone()), Cuttable::of(&memory));
    let path = |name: &str| machine.path().join(name);
    let stop = StopHost::default();
    let mut sleeper = Host::new(
        path("sleeper"),
        options(&cut.remote()),
        host_options("sleeper"),
    )
    .unwrap();
    let late = sleeper.next_term(&stop).unwrap().unwrap();
    // As if it were stopped: it gives no sign.
    cut.is_cut_off.store(true, Ordering::SeqCst);
    let mut other = Host::new(path("other"), options(&remote), host_options("other")).unwrap();
    let term = other.next_term(&stop).unwrap().unwrap();
    let bank = term.options().open_tables(path("other")).unwrap();
    let numbers = bank.table::<Number>().unwrap();
    let insert = |number| {
        let row = Number { number, host: 0 };
        bank.run(|tx| tx.insert(numbers, &row).map(drop))
    };
    insert(1).unwrap();
    // It wakes up, and continues where it was.
    cut.is_cut_off.store(false, Ordering::SeqCst);
    wait_for(&late, TermState::Over);
    let error = late
        .options()
        .open_tables(path("sleeper"))
        .map(drop)
        .unwrap_err();
    assert!(error.to_string().contains("turn ended"), "{error}");
    // The other one's log is its own as before.
    insert(2).unwrap();
    bank.close().unwrap();
}

#[test]
fn each_change_of_a_term_is_reported_also_one_before_the_call_was_given() {
    let machine = tempfile::tempdir().unwrap();
    let (memory, stop) = (Arc::new(MemoryStore::new()), StopHost::default());
    let (remote, cut) = (RemoteLog::new(memory.clone()), Cuttable::of(&memory));
    let path = machine.path().join("host");
    let mut host = Host::new(&path, options(&cut.remote()), host_options("host")).unwrap();
    let term = host.next_term(&stop).unwrap().unwrap();
    // Each call finds the state that it reports.
    wait_for(&term, TermState::Serves);
    cut.is_cut_off.store(true, Ordering::SeqCst);
    wait_for(&term, TermState::Waits);
    cut.is_cut_off.store(false, Ordering::SeqCst);
    wait_for(&term, TermState::Serves);
    promote(&remote, "another").unwrap();
    wait_for(&term, TermState::HandsOver);
    // The change came before: it is reported at once, on this thread.
    let calls = Arc::new(Mutex::new(0));
    let called = calls.clone();
    term.on_change(move || *called.lock().unwrap() += 1);
    // The term's thread may report further changes.
    assert!(*calls.lock().unwrap() >= 1);
    term.release();
}

#[test]
fn a_wish_that_meets_signs_is_put_behind_them_without_a_pause() {
    let machine = tempfile::tempdir().unwrap();
    let memory = Arc::new(MemoryStore::new());
    let (remote, cut) = (RemoteLog::new(memory.clone()), Cuttable::of(&memory));
    let path = machine.path().join("bank.sdx");
    let mut host = Host::new(&path, options(&remote), host_options("host")).unwrap();
    let term = host.next_term(&StopHost::default()).unwrap().unwrap();
    term.options().open_tables(&path).unwrap().close().unwrap();
    term.release();
    let (of_host, mut signs) = (remote.clone(), 2);
    cut.at_swap(move |_| {
        if signs > 0 {
            signs -= 1;
            let stored = memory.read_register(Register::Primary).unwrap().unwrap();
            let before = primary(&of_host).unwrap().unwrap();
            let count = before.count + 1;
            let text = Primary { count, ..before }.encode();
            memory
                .swap_register(Register::Primary, Some(&stored.version), text.as_bytes())
                .unwrap();
        }
    });
    let impatient = RemoteLog {
        patience: Patience {
            time_limit: Duration::ZERO,
            ..Patience::default()
        },
        ..cut.remote()
    };
    promote(&impatient, "another").unwrap();
    let wanted = primary(&remote).unwrap().unwrap().wanted;
    assert_eq!(wanted.as_deref(), Some("another"));
}

#[test]
fn a_wish_whose_answer_is_lost_is_repeated_until_it_is_there_and_not_on_the_next_host() {
    let machine = tempfile::tempdir().unwrap();
    let memory = Arc::new(MemoryStore::new());
    let (remote, cut) = (RemoteLog::new(memory.clone()), Cuttable::of(&memory));
    let path = machine.path().join("bank.sdx");
    let mut host = Host::new(&path, options(&remote), host_options("a")).unwrap();
    let term = host.next_term(&StopHost::default()).unwrap().unwrap();
    term.options().open_tables(&path).unwrap().close().unwrap();
    cut.loses_answers.store(true, Ordering::SeqCst);
    promote(&cut.remote(), "b").unwrap();
    let record = primary(&remote).unwrap().unwrap();
    assert_eq!((&*record.host, record.wanted.as_deref()), ("a", Some("b")));
    term.release();
    // Another host claims the record when the wish is about to be put.
    let claimed_by = |name: &'static str, process: u64| {
        let (memory, mut before) = (memory.clone(), Some(primary(&remote).unwrap().unwrap()));
        move |_: &str| {
            let Some(before) = before.take() else { return };
            let record = Primary {
                host: name.into(),
                process,
                released: false,
                wanted: None,
                ..before
            };
            let read = memory.read_register(Register::Primary).unwrap().unwrap();
            let text = record.encode();
            let claimed =
                memory.swap_register(Register::Primary, Some(&read.version), text.as_bytes());
            assert_eq!(claimed.unwrap(), Swapped::Ok);
        }
    };
    cut.at_swap(claimed_by("b", 2));
    promote(&cut.remote(), ANY_OTHER).unwrap();
    let record = primary(&remote).unwrap().unwrap();
    assert_eq!((&*record.host, record.wanted), ("b", None), "not drained");
    cut.at_swap(claimed_by("d", 3));
    let error = promote(&cut.remote(), "c").unwrap_err();
    assert!(matches!(error, Error::Unavailable(_)), "{error}");
    assert!(error.to_string().starts_with("d began to serve"), "{error}");
    let record = primary(&remote).unwrap().unwrap();
    assert_eq!((&*record.host, record.wanted), ("d", None), "not asked");
}
