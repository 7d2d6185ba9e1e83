//! Every engine of the registry gives the expected rows, and a faulty one is detected.

use sardonyx_benchmark::floor::Face;
use sardonyx_lab::product::Product;
use sardonyx_lab::ycsb::{self, Seen};
use sardonyx_lab::{ExperimentError, Failure};
use sardonyx_peers::tables::database::{
    AccountOrder, CustomerOrder, OnAccount, OnCustomer, Reader, Reading,
};
use sardonyx_peers::tables::rows::{Account, Customer};
use sardonyx_peers::tables::{Database, Engine, Part, Plan, engine, findings, registry, run};
use sardonyx_peers::{stores, tables};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

fn plan(directory: &Path, engines: Vec<Engine>, parts: &[Part]) -> Plan {
    Plan {
        engines,
        parts: parts.to_vec(),
        rows: 1_500,
        opening_rows: 700,
        batch: 20,
        time: Duration::ZERO,
        face: Face::Idle,
        directory: directory.to_path_buf(),
        seed: 3,
        ycsb: ycsb::Plan {
            engines: stores::registry(),
            workloads: vec![ycsb::workload::Workload::A],
            rows: 200,
            fields: 10,
            batches: vec![1, 20],
            time: Duration::ZERO,
            face: Face::Idle,
            directory: directory.to_path_buf(),
            seed: 3,
        },
    }
}

#[test]
fn every_engine_answers_what_the_rows_say_in_every_part() {
    let directory = tempfile::tempdir().unwrap();
    let parts = [Part::Reads, Part::Inserts, Part::Opening, Part::Ycsb];
    let report = run(&plan(directory.path(), registry(), &parts), |_| {}).unwrap();
    let all = findings(&report).unwrap();
    let figures = report.figures;
    let engines = registry().len();
    assert_eq!(
        (figures.reads.len(), figures.openings.len()),
        (engines, engines)
    );
    // Ours also with several batches in flight.
    assert_eq!(figures.inserts.len(), engines + 1);
    assert!(figures.inserts.iter().all(|one| one.inserted == 16 * 20));
    assert_eq!(figures.ycsb.unwrap().stores.len(), engines);
    for engine in registry() {
        let lines = all.text().matches(&format!("\n{} ", engine.name)).count();
        assert!(lines >= 5, "{}: {}", engine.name, all.text());
    }
    assert!(all.json().contains("\"reads_per_second\""));
    for file in ["reads", "inserts", "opening", "ycsb"] {
        assert!(all.file(&format!("{file}.csv")).is_some(), "{file}");
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn every_engine_refuses_a_customer_that_is_there() {
    for engine in registry() {
        let directory = tempfile::tempdir().unwrap();
        let mut database = (engine.open)(directory.path()).unwrap();
        let batch = |ids: [u64; 3]| ids.map(Customer::new).to_vec();
        database.insert(batch([0, 1, 2]), 1).unwrap();
        let again = database.insert(batch([3, 4, 2]), 1);
        assert!(again.is_err(), "{}", engine.name);
    }
}

/// The fault of a database in memory.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Fault {
    Nothing,
    ReadsAnother,
    ScansOneTooFew,
    ForgetsAnAccount,
    ForgetsTheLastCustomer,
    TearsANote,
    LosesAnEntryOfAnIndex,
    WalksInNoOrder,
}

static FAULT: Mutex<Fault> = Mutex::new(Fault::Nothing);
static CUSTOMERS: Mutex<BTreeMap<u64, Customer>> = Mutex::new(BTreeMap::new());
static ACCOUNTS: Mutex<u64> = Mutex::new(0);

struct Faulty(Fault);

impl Product for Faulty {
    fn name() -> &'static str {
        "Faulty"
    }

    fn settings() -> &'static str {
        "in memory"
    }
}

impl Database for Faulty {
    fn open(_: &Path) -> Result<Self, Failure> {
        Ok(Faulty(*FAULT.lock().unwrap()))
    }

    fn load(&mut self, accounts: u64) -> Result<(), Failure> {
        *ACCOUNTS.lock().unwrap() = accounts;
        Ok(())
    }

    fn read(&mut self, reading: &mut Reading<'_>) -> Result<(), Failure> {
        reading(self)
    }

    fn accounts(&mut self, order: AccountOrder, each: &mut OnAccount<'_>) -> Result<(), Failure> {
        let count = *ACCOUNTS.lock().unwrap() - u64::from(self.0 == Fault::ForgetsAnAccount);
        let mut all: Vec<_> = (0..count).map(Account::new).collect();
        if order == AccountOrder::Balance {
            all.sort_by_key(|account| account.balance);
        }
        all.iter().try_for_each(each)
    }

    fn insert(&mut self, customers: Vec<Customer>, _: usize) -> Result<(), Failure> {
        let mut all = CUSTOMERS.lock().unwrap();
        for mut customer in customers {
            if self.0 == Fault::TearsANote && customer.id == 7 {
                customer.note.pop();
            }
            all.insert(customer.id, customer);
        }
        if self.0 == Fault::ForgetsTheLastCustomer {
            all.pop_last();
        }
        Ok(())
    }

    fn customers(
        &mut self,
        order: CustomerOrder,
        each: &mut OnCustomer<'_>,
    ) -> Result<(), Failure> {
        let mut all: Vec<_> = CUSTOMERS.lock().unwrap().values().cloned().collect();
        match order {
            CustomerOrder::Id => {}
            _ if self.0 == Fault::WalksInNoOrder => {}
            CustomerOrder::Balance => all.sort_by_key(|customer| customer.balance),
            CustomerOrder::Name => {
                all.sort_by(|one, other| one.name.cmp(&other.name));
                if self.0 == Fault::LosesAnEntryOfAnIndex {
                    all.remove(3);
                }
            }
        }
        all.iter().try_for_each(each)
    }

    fn close(self: Box<Self>) -> Result<(), Failure> {
        Ok(())
    }
}

impl Reader for Faulty {
    fn get(&mut self, ids: &[u64]) -> Result<Seen, Failure> {
        let mut seen = Seen::default();
        let other = u64::from(self.0 == Fault::ReadsAnother);
        (ids.iter()).for_each(|id| Account::new(id ^ other).see(&mut seen));
        Ok(seen)
    }

    fn scan(&mut self, from: &[u64], length: usize) -> Result<Seen, Failure> {
        let mut seen = Seen::default();
        let count = *ACCOUNTS.lock().unwrap();
        let length = length as u64 - u64::from(self.0 == Fault::ScansOneTooFew);
        for id in from.iter().flat_map(|&id| id..count.min(id + length)) {
            Account::new(id).see(&mut seen);
        }
        Ok(seen)
    }
}

#[test]
fn an_engine_that_answers_wrong_has_no_figures() {
    let directory = tempfile::tempdir().unwrap();
    let parts = [Part::Reads, Part::Inserts, Part::Opening];
    for (fault, said) in [
        (Fault::Nothing, ""),
        (Fault::ReadsAnother, "should have seen"),
        (Fault::ScansOneTooFew, "should have seen"),
        (Fault::ForgetsAnAccount, "number of accounts by Id"),
        (Fault::ForgetsTheLastCustomer, "number of customers by Id"),
        (Fault::TearsANote, "digest of customers by Id"),
        (Fault::LosesAnEntryOfAnIndex, "number of customers by Name"),
        (Fault::WalksInNoOrder, "customers by Balance is in no order"),
    ] {
        *FAULT.lock().unwrap() = fault;
        CUSTOMERS.lock().unwrap().clear();
        let report = run(
            &plan(directory.path(), vec![engine::<Faulty>()], &parts),
            |_| {},
        );
        match report {
            Ok(_) => assert_eq!(fault, Fault::Nothing),
            Err(error) => {
                assert_ne!(fault, Fault::Nothing, "{error}");
                assert!(error.to_string().contains(said), "{fault:?}: {error}");
            }
        }
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}

#[test]
fn nothing_to_run_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let refused = tables::run(&plan(directory.path(), Vec::new(), &[Part::Reads]), |_| {});
    assert!(matches!(refused, Err(ExperimentError::Nothing)));
}
