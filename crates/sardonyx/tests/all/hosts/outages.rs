//! Hosts whose store does not do its work for any time: it is away, has too much to do, is full or slow, or gives damaged
//! answers. Writes wait, reads go on, and all of it continues by itself. No test waits for a time: an outage lasts until requests
//! have met it, and the host's lease has run out.

use super::cuttable::{Cuttable, Outage};
use super::{Number, host_options, options, wait_for};
use sardonyx::hosts::{ANY_OTHER, Host, StopHost, TermState, primary, promote};
use sardonyx::{Error, Tables};
use std::path::Path;
use std::sync::Arc;
use std::thread;

/// Requests that show that the store is asked again and again.
const MET: u64 = 20;

fn insert(bank: &Tables, number: u64) -> Result<(), Error> {
    let numbers = bank.table::<Number>()?;
    let row = Number { number, host: 0 };
    bank.run(|tx| tx.insert(numbers, &row).map(drop))
}

fn has(bank: &Tables, number: u64) -> bool {
    let numbers = bank.table::<Number>().unwrap();
    let found = bank.read(|view| Ok(view.get(numbers, number)?.is_some()));
    found.unwrap()
}

fn host(store: &Arc<Cuttable>, path: &Path, name: &str) -> Host {
    Host::new(path, options(&store.remote()), host_options(name)).unwrap()
}

#[test]
fn i12_writes_wait_and_reads_go_on_in_each_outage_and_it_goes_on_by_itself() {
    for outage in Outage::ALL {
        println!("{outage:?}");
        let machine = tempfile::tempdir().unwrap();
        let store = Cuttable::of(&Arc::default());
        let path = machine.path().join("bank.sdx");
        let mut first = host(&store, &path, "first");
        let term = first.next_term(&StopHost::default()).unwrap().unwrap();
        let bank = term.options().open_tables(&path).unwrap();
        insert(&bank, 1).unwrap();
        // Again after the first one: the database stays open.
        for number in [2, 3] {
            store.begin_outage(outage);
            thread::scope(|scope| {
                let waits = scope.spawn(|| insert(&bank, number));
                store.wait_until_met(match outage {
                    Outage::Slow => 1,
                    _ => MET,
                });
                if outage.ends_lease() {
                    wait_for(&term, TermState::Waits);
                    assert!(!term.has_lease());
                }
                assert!(!waits.is_finished(), "it is acknowledged");
                assert!((1..number).all(|number| has(&bank, number)));
                store.end_outage();
                waits.join().unwrap().unwrap();
            });
            wait_for(&term, TermState::Serves);
        }
        insert(&bank, 4).unwrap();
        term.close(&bank).unwrap();
        let path = machine.path().join("next.sdx");
        let mut next = host(&store, &path, "next");
        let term = next.next_term(&StopHost::default()).unwrap().unwrap();
        let bank = term.options().open_tables(&path).unwrap();
        assert!((1..=4).all(|number| has(&bank, number)));
        term.close(&bank).unwrap();
    }
}

#[test]
fn a_host_that_starts_in_an_outage_waits_for_its_end() {
    for outage in Outage::ALL.into_iter().filter(|outage| outage.ends_lease()) {
        for has_database in [false, true] {
            println!("{outage:?} {has_database}");
            let machine = tempfile::tempdir().unwrap();
            let store = Cuttable::of(&Arc::default());
            let path = machine.path().join("bank.sdx");
            if has_database {
                let mut before = host(&store, &machine.path().join("before.sdx"), "before");
                let term = before.next_term(&StopHost::default()).unwrap().unwrap();
                term.release();
            }
            store.begin_outage(outage);
            let mut starts = host(&store, &path, "starts");
            let stop = StopHost::default();
            let term = thread::scope(|scope| {
                let waits = scope.spawn(|| starts.next_term(&stop));
                store.wait_until_met(MET);
                assert!(!waits.is_finished(), "it has ended");
                store.end_outage();
                waits.join().unwrap().unwrap().unwrap()
            });
            let bank = term.options().open_tables(&path).unwrap();
            insert(&bank, 1).unwrap();
            term.close(&bank).unwrap();
        }
    }
}

#[test]
fn i12_a_write_that_waited_while_another_host_took_over_is_refused_by_name() {
    for outage in Outage::ALL.into_iter().filter(|outage| outage.ends_lease()) {
        let machine = tempfile::tempdir().unwrap();
        let memory = Arc::default();
        let (store, others) = (Cuttable::of(&memory), Cuttable::of(&memory));
        let path = machine.path().join("first.sdx");
        let mut first = host(&store, &path, "first");
        let term = first.next_term(&StopHost::default()).unwrap().unwrap();
        let bank = term.options().open_tables(&path).unwrap();
        insert(&bank, 1).unwrap();
        store.begin_outage(outage);
        thread::scope(|scope| {
            let waits = scope.spawn(|| insert(&bank, 2));
            store.wait_until_met(MET);
            // The other one reaches the store.
            let path = machine.path().join("second.sdx");
            let mut second = host(&others, &path, "second");
            let term_of_second = second.next_term(&StopHost::default()).unwrap().unwrap();
            let bank_of_second = term_of_second.options().open_tables(&path).unwrap();
            assert!(has(&bank_of_second, 1) && !has(&bank_of_second, 2));
            insert(&bank_of_second, 3).unwrap();
            store.end_outage();
            let error = waits.join().unwrap().unwrap_err().to_string();
            assert!(error.contains("another owner"), "{outage:?}: {error}");
            wait_for(&term, TermState::Over);
            term_of_second.close(&bank_of_second).unwrap();
        });
        // It follows by itself: the transaction is cut off, and the next ones are here.
        drop(bank.close());
        term.release();
        let term = first.next_term(&StopHost::default()).unwrap().unwrap();
        let bank = term.options().open_tables(&path).unwrap();
        assert!(has(&bank, 1) && !has(&bank, 2) && has(&bank, 3));
        term.close(&bank).unwrap();
    }
}

#[test]
fn i12_hosts_go_on_though_the_first_answer_to_each_question_is_damaged() {
    let machine = tempfile::tempdir().unwrap();
    let store = Cuttable::of(&Arc::default());
    store.damage_first_answers();
    for round in 1..4 {
        let name = ["first", "second"][round as usize % 2];
        let path = machine.path().join(name);
        let mut host = host(&store, &path, name);
        let term = host.next_term(&StopHost::default()).unwrap().unwrap();
        let bank = term.options().open_tables(&path).unwrap();
        assert!((1..round).all(|number| has(&bank, number)));
        insert(&bank, round).unwrap();
        let serving = primary(&store.remote()).unwrap().unwrap();
        assert_eq!(serving.host, name);
        promote(&store.remote(), ANY_OTHER).unwrap();
        wait_for(&term, TermState::HandsOver);
        term.close_to_others(&bank).unwrap();
    }
}
