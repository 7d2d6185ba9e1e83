//! The comparison: every engine does the same work on the same rows, one after the other, and every answer is compared
//! with the expected rows.
//!
//! Reads are of one thread in one state of the database, which it keeps for the whole time: accounts by their primary
//! key, one after the other, and in ranges of a hundred from a key on. Inserts are of one client, which hands over
//! batches of customers; a batch is answered when it is on stable storage. Drawing keys and rows is not counted. Then
//! the database is closed, opened again, and all rows are read in the order of every index. The time to open ends with
//! the first row read; the system's cache of the files is as the closing left it.

use super::database::{AccountOrder, CustomerOrder, Database, Engine, Reader};
use super::rows::{Account, Customer};
use sardonyx_benchmark::place::Place;
use sardonyx_benchmark::responses::{Responses, Summary};
use sardonyx_lab::ycsb::{self, Seen};
use sardonyx_lab::{ExperimentError, Failure, Report, floor::Face};
use sardonyx_workload::random::Random;
use serde::Serialize;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Accounts that one call reads, and ranges of one call.
const READ_TOGETHER: u64 = 1_000;
const SCANNED_TOGETHER: u64 = 10;
/// Accounts of a range.
pub const SCAN_ROWS: u64 = 100;
/// Batches that are drawn before the clock starts.
const DRAWN_TOGETHER: usize = 16;
/// Batches in flight, for engines that can have more than one.
const ON_THEIR_WAY: usize = 4;

/// A part of the comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// Point reads and ranges of accounts
    Reads,
    /// Durable inserts of customers
    Inserts,
    /// Opening a database of accounts
    Opening,
    /// YCSB's workloads
    Ycsb,
}

/// The plan of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The engines, in the order in which they run.
    pub engines: Vec<Engine>,
    pub parts: Vec<Part>,
    /// Accounts that are read.
    pub rows: u64,
    /// Accounts of the database that is opened.
    pub opening_rows: u64,
    /// Customers of a batch.
    pub batch: u64,
    /// The time of each load; it is called at least once.
    pub time: Duration,
    /// The state of the disk during the whole run.
    pub face: Face,
    /// The directory of the databases, one after the other; each is removed after its figures.
    pub directory: PathBuf,
    /// The seed of keys.
    pub seed: u64,
    /// The plan of YCSB's part; only its engines, workloads, rows and sizes count.
    pub ycsb: ycsb::Plan,
}

/// All figures of one run.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// Accounts that were read.
    pub rows: u64,
    /// Accounts of the database that was opened.
    pub opening_rows: u64,
    /// Customers of a batch.
    pub batch: u64,
    /// The settings of each engine, by name.
    pub settings: Vec<(&'static str, &'static str)>,
    /// Reads of each engine.
    pub reads: Vec<ReadFigures>,
    /// Inserts of each engine, for each number of batches in flight.
    pub inserts: Vec<InsertFigures>,
    /// Openings of each engine.
    pub openings: Vec<OpeningFigures>,
    /// YCSB's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ycsb: Option<ycsb::Figures>,
}

/// The read rates of an engine.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ReadFigures {
    /// The engine.
    pub name: &'static str,
    /// Loading the accounts, in seconds.
    pub load_seconds: f64,
    /// Point reads a second.
    pub reads_per_second: f64,
    /// Point reads a second by the call for many keys at once.
    pub together_per_second: Option<f64>,
    /// Accounts read in ranges a second.
    pub scanned_per_second: f64,
}

/// The insert rates of an engine.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct InsertFigures {
    /// The engine.
    pub name: &'static str,
    /// Batches in flight.
    pub on_their_way: usize,
    /// Customers that were inserted.
    pub inserted: u64,
    /// Customers inserted a second.
    pub inserted_per_second: f64,
    /// Response times of batches, if each is waited for before the next.
    pub responses: Option<Summary>,
}

/// The times of opening.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct OpeningFigures {
    /// The engine.
    pub name: &'static str,
    /// Loading the accounts, in seconds.
    pub load_seconds: f64,
    pub close_seconds: f64,
    /// Opening, to the first row read, in seconds.
    pub open_seconds: f64,
}

/// Runs all parts and calls `progress` with each step that begins.
///
/// # Errors
/// [`ExperimentError`] at the first engine that fails, or that gives a wrong answer. Its directory is removed then,
/// too.
pub fn run(
    plan: &Plan,
    mut progress: impl FnMut(&str),
) -> Result<Report<Figures>, ExperimentError> {
    let no_rows = plan.rows == 0 || plan.opening_rows == 0 || plan.batch == 0;
    if plan.engines.is_empty() || plan.parts.is_empty() || no_rows {
        return Err(ExperimentError::Nothing);
    }
    progress("bare durable writes");
    Report::measured(plan.face, Some(&plan.directory), || {
        measure(plan, &mut progress)
    })
}

fn measure(plan: &Plan, progress: &mut impl FnMut(&str)) -> Result<Figures, ExperimentError> {
    let settings = plan.engines.iter();
    let mut figures = Figures {
        rows: plan.rows,
        opening_rows: plan.opening_rows,
        batch: plan.batch,
        settings: settings
            .map(|engine| (engine.name, engine.settings))
            .collect(),
        reads: Vec::new(),
        inserts: Vec::new(),
        openings: Vec::new(),
        ycsb: None,
    };
    let has = |part| plan.parts.contains(&part);
    for engine in &plan.engines {
        let run = Run { plan, engine };
        if has(Part::Reads) {
            progress(&format!("{}: reads", engine.name));
            figures.reads.push(run.reads()?);
        }
        if has(Part::Inserts) {
            progress(&format!("{}: inserts", engine.name));
            figures.inserts.extend(run.inserts()?);
        }
        if has(Part::Opening) {
            progress(&format!("{}: opening", engine.name));
            figures.openings.push(run.opening()?);
        }
    }
    if has(Part::Ycsb) {
        figures.ycsb = Some(ycsb::measure(&plan.ycsb, progress)?);
    }
    Ok(figures)
}

/// A call of a reader for drawn ids; `None` if the engine has no such call.
type Call<'a> = dyn FnMut(&mut dyn Reader, &[u64]) -> Option<Result<Seen, Failure>> + 'a;

/// One engine's turn.
struct Run<'a> {
    plan: &'a Plan,
    engine: &'a Engine,
}

impl Run<'_> {
    fn place(&self) -> Result<Place, ExperimentError> {
        let place = Place::temporary(&self.plan.directory, "sardonyx-tables-");
        place.map_err(self.engine.in_directory())
    }

    fn open(&self, place: &Place) -> Result<Box<dyn Database>, ExperimentError> {
        (self.engine.open)(place.path()).map_err(self.engine.failed("open the database"))
    }

    fn close(&self, database: Box<dyn Database>) -> Result<(), ExperimentError> {
        let closed = database.close();
        closed.map_err(self.engine.failed("close the database"))
    }

    /// An opened database with accounts, and the time of loading them, in seconds.
    fn loaded(
        &self,
        place: &Place,
        rows: u64,
    ) -> Result<(Box<dyn Database>, f64), ExperimentError> {
        let started = Instant::now();
        let mut database = self.open(place)?;
        let loaded = database.load(rows);
        loaded.map_err(self.engine.failed("load the accounts"))?;
        Ok((database, started.elapsed().as_secs_f64()))
    }

    fn reads(&self) -> Result<ReadFigures, ExperimentError> {
        let place = self.place()?;
        let (mut database, load_seconds) = self.loaded(&place, self.plan.rows)?;
        let mut random = Random::new(self.plan.seed);
        let (mut points, mut together, mut ranges) = (None, None, None);
        let read = database.read(&mut |reader| {
            let mut rate = |keys, rows, read: &mut Call<'_>| {
                self.read_for(&mut random, keys, rows, &mut |ids| read(reader, ids))
            };
            points = rate(READ_TOGETHER, 1, &mut |reader, ids| Some(reader.get(ids)))?;
            together = rate(READ_TOGETHER, 1, &mut |reader, ids| reader.get_many(ids))?;
            ranges = rate(SCANNED_TOGETHER, SCAN_ROWS, &mut |reader, ids| {
                Some(reader.scan(ids, SCAN_ROWS as usize))
            })?;
            Ok(())
        });
        read.map_err(self.engine.failed("read accounts"))?;
        self.close(database)?;
        place.close().map_err(self.engine.in_directory())?;
        Ok(ReadFigures {
            name: self.engine.name,
            load_seconds,
            reads_per_second: points.unwrap_or_default(),
            together_per_second: together,
            scanned_per_second: ranges.unwrap_or_default(),
        })
    }

    /// Reads `length` accounts from each of the drawn ids, and returns the rate a second; `None` if the engine has no
    /// such call.
    fn read_for(
        &self,
        random: &mut Random,
        together: u64,
        length: u64,
        read: &mut dyn FnMut(&[u64]) -> Option<Result<Seen, Failure>>,
    ) -> Result<Option<f64>, Failure> {
        let (mut rows, mut busy) = (0, Duration::ZERO);
        while rows == 0 || busy < self.plan.time {
            let ids: Vec<u64> = (0..together)
                .map(|_| random.below(self.plan.rows))
                .collect();
            let started = Instant::now();
            let Some(seen) = read(&ids) else {
                return Ok(None);
            };
            let seen = seen?;
            busy += started.elapsed();
            rows += seen.rows;
            let mut expected = Seen::default();
            for id in ids {
                let met = id..self.plan.rows.min(id + length);
                met.for_each(|id| Account::new(id).see(&mut expected));
            }
            if seen != expected {
                return Err(format!("it saw {seen:?}, and should have seen {expected:?}").into());
            }
        }
        Ok(Some(rows as f64 / busy.as_secs_f64()))
    }

    fn inserts(&self) -> Result<Vec<InsertFigures>, ExperimentError> {
        let place = self.place()?;
        let mut database = self.open(&place)?;
        let mut customers = 0;
        let mut figures = Vec::new();
        for on_their_way in [1, ON_THEIR_WAY] {
            if on_their_way <= database.on_their_way_max() {
                let inserted = self.insert_for(&mut *database, &mut customers, on_their_way);
                figures.push(inserted.map_err(self.engine.failed("insert customers"))?);
            }
        }
        self.check_customers(&mut *database, customers)?;
        self.close(database)?;
        let mut database = self.open(&place)?;
        self.check_customers(&mut *database, customers)?;
        drop(database);
        place.close().map_err(self.engine.in_directory())?;
        Ok(figures)
    }

    fn insert_for(
        &self,
        database: &mut dyn Database,
        customers: &mut u64,
        on_their_way: usize,
    ) -> Result<InsertFigures, Failure> {
        let before = *customers;
        let (mut responses, mut busy) = (Responses::new(), Duration::ZERO);
        while *customers == before || busy < self.plan.time {
            let mut batch = || {
                let first = *customers;
                *customers += self.plan.batch;
                (first..*customers).map(Customer::new).collect::<Vec<_>>()
            };
            let batches: Vec<_> = (0..DRAWN_TOGETHER).map(|_| batch()).collect();
            let started = Instant::now();
            for batch in batches {
                let handed_over = Instant::now();
                database.insert(batch, on_their_way)?;
                responses.record_n(handed_over.elapsed(), 1);
            }
            database.finish()?;
            busy += started.elapsed();
        }
        let inserted = *customers - before;
        Ok(InsertFigures {
            name: self.engine.name,
            on_their_way,
            inserted,
            inserted_per_second: inserted as f64 / busy.as_secs_f64(),
            responses: (on_their_way == 1).then(|| responses.summary()).flatten(),
        })
    }

    fn opening(&self) -> Result<OpeningFigures, ExperimentError> {
        let (place, rows) = (self.place()?, self.plan.opening_rows);
        let (database, load_seconds) = self.loaded(&place, rows)?;
        let started = Instant::now();
        self.close(database)?;
        let close_seconds = started.elapsed().as_secs_f64();
        let started = Instant::now();
        let mut database = self.open(&place)?;
        let mut first = Seen::default();
        let read = database.read(&mut |reader| {
            first = reader.get(&[rows / 2])?;
            Ok(())
        });
        read.map_err(self.engine.failed("read an account"))?;
        let open_seconds = started.elapsed().as_secs_f64();
        let mut expected = Seen::default();
        Account::new(rows / 2).see(&mut expected);
        if first != expected {
            return Err(self.engine.wrong("first account", "its own", "another"));
        }
        self.check_accounts(&mut *database, rows)?;
        drop(database);
        place.close().map_err(self.engine.in_directory())?;
        Ok(OpeningFigures {
            name: self.engine.name,
            load_seconds,
            close_seconds,
            open_seconds,
        })
    }

    fn check_accounts(
        &self,
        database: &mut dyn Database,
        rows: u64,
    ) -> Result<(), ExperimentError> {
        let mut expected = Seen::default();
        (0..rows).for_each(|id| Account::new(id).see(&mut expected));
        for order in [AccountOrder::Id, AccountOrder::Balance] {
            let (mut seen, mut last, mut ordered) = (Seen::default(), None, true);
            let walked = database.accounts(order, &mut |account| {
                let key = match order {
                    AccountOrder::Id => i128::from(account.id),
                    AccountOrder::Balance => i128::from(account.balance),
                };
                ordered &= last.replace(key).is_none_or(|last| last < key);
                account.see(&mut seen);
                Ok(())
            });
            walked.map_err(self.engine.failed("read all accounts"))?;
            self.compare(&format!("accounts by {order:?}"), expected, seen, ordered)?;
        }
        Ok(())
    }

    fn check_customers(
        &self,
        database: &mut dyn Database,
        rows: u64,
    ) -> Result<(), ExperimentError> {
        let mut expected = Seen::default();
        (0..rows).for_each(|id| Customer::new(id).see(&mut expected));
        for order in [
            CustomerOrder::Id,
            CustomerOrder::Balance,
            CustomerOrder::Name,
        ] {
            let (mut seen, mut ordered) = (Seen::default(), true);
            let mut last: Option<Customer> = None;
            let walked = database.customers(order, &mut |customer| {
                if let Some(last) = &last {
                    ordered &= match order {
                        CustomerOrder::Id => last.id < customer.id,
                        CustomerOrder::Balance => last.balance < customer.balance,
                        CustomerOrder::Name => last.name <= customer.name,
                    };
                }
                last = Some(customer.clone());
                customer.see(&mut seen);
                Ok(())
            });
            walked.map_err(self.engine.failed("read all customers"))?;
            self.compare(&format!("customers by {order:?}"), expected, seen, ordered)?;
        }
        Ok(())
    }

    fn compare(
        &self,
        what: &str,
        expected: Seen,
        seen: Seen,
        ordered: bool,
    ) -> Result<(), ExperimentError> {
        if !ordered {
            return Err(self.engine.wrong(what, "in order", "in no order"));
        }
        if seen.rows != expected.rows {
            let what = format!("number of {what}");
            return Err(self.engine.wrong(what, expected.rows, seen.rows));
        }
        if seen != expected {
            let what = format!("digest of {what}");
            return Err(self.engine.wrong(what, expected.digest, seen.digest));
        }
        Ok(())
    }
}
