//! The database of complex objects in the engine.

use super::build::{Audit, Build};
use super::engine::{Counters, Engine, EngineFailure, LockCounters};
use super::operation::{Surroundings, TakeBack, Visit, VisitError};
use super::plan::Point;
use super::processors::Processors;
use super::victims::Handling;
use super::window::Until;
use super::worker::{self, Found, Load, LoadFailure};
use super::{Difference, Expected};
use crate::ExperimentError;
use crate::complex_objects::workload::{References, Transaction};
use crate::error::Failure;
use sardonyx_lock::LevelStatistics;
use sardonyx_multilevel::{
    Area, CallError, CommitError, Database, DatabaseError, Options, PageLog, Strategy,
};
use sardonyx_storage::engine::StorageOptions;
use std::path::Path;
use std::time::Duration;

/// The name of the area that the pages are in.
const AREA: &str = "complex objects";

/// The number of complex objects made in one transaction.
const MADE_TOGETHER: u32 = 8;

/// The setting of a run.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Simulated processors.
    pub processors: usize,
    /// The time for which each access holds a processor.
    pub access_time: Duration,
    /// True if changes commute at L1: beyond the DASDBS paper.
    pub semantic: bool,
    /// The part of a changed page that is logged.
    pub page_log: PageLog,
    /// The handling of deadlocks.
    pub handling: Handling,
    pub storage: StorageOptions,
    /// The seed of the foreign references and the transactions.
    pub seed: u64,
}

impl Default for Setting {
    /// Twelve processors, as in the DASDBS paper; 500 microseconds an access; exclusive locks for changes;
    /// whole pages in the log, as in the DASDBS paper.
    fn default() -> Self {
        Setting {
            processors: 12,
            access_time: Duration::from_micros(500),
            semantic: false,
            page_log: PageLog::AfterImages,
            handling: Handling::default(),
            storage: StorageOptions::default(),
            seed: 1,
        }
    }
}

/// The name of a way to log pages.
pub(super) fn page_log_name(page_log: PageLog) -> &'static str {
    match page_log {
        PageLog::AfterImages => "after-images",
        PageLog::ByteRanges => "byte-ranges",
    }
}

/// The database, open under a strategy.
#[derive(Debug)]
pub struct ComplexObjects<'a> {
    database: Database,
    surroundings: Surroundings,
    references: &'a References,
    seed: u64,
}

impl<'a> ComplexObjects<'a> {
    /// Makes the database in a directory: every value is 0. If an earlier attempt there was not finished, it is made
    /// again.
    ///
    /// # Errors
    /// [`ExperimentError::Database`].
    pub fn make(
        directory: &Path,
        references: &'a References,
        setting: &Setting,
    ) -> Result<Self, ExperimentError> {
        let objects = Self::open(directory, references, setting, Strategy::default())?;
        let count = references.scale().complex_objects();
        for first in (0..count).step_by(MADE_TOGETHER as usize) {
            let last = count.min(first + MADE_TOGETHER);
            let made = objects.database.run(|transaction| {
                for complex_object in first..last {
                    transaction.call(&Build {
                        surroundings: &objects.surroundings,
                        references,
                        complex_object,
                    })?;
                }
                Ok(())
            });
            made.map_err(|error: EngineFailure| failed("making the database", error))?;
        }
        Ok(objects)
    }

    /// Opens the database. Transactions that had not ended are undone.
    ///
    /// # Errors
    /// [`ExperimentError::Database`].
    pub fn open(
        directory: &Path,
        references: &'a References,
        setting: &Setting,
        strategy: Strategy,
    ) -> Result<Self, ExperimentError> {
        let open = || -> Result<(Database, Area), DatabaseError> {
            let database = Options::new()
                .strategy(strategy)
                .page_log(setting.page_log)
                .victims(setting.handling.rule(setting.seed))
                .restart_delay(setting.handling.delay(setting.seed))
                .storage(setting.storage.clone())
                .register::<TakeBack>()
                .open(directory)?;
            let area = database.area(AREA, references.scale().all_pages())?;
            Ok((database, area))
        };
        let (database, area) = open().map_err(|error| failed("opening the database", error))?;
        Ok(ComplexObjects {
            database,
            surroundings: Surroundings {
                scale: references.scale(),
                area,
                semantic: setting.semantic,
                processors: Processors::new(setting.processors),
                access_time: setting.access_time,
            },
            references,
            seed: setting.seed,
        })
    }

    /// The engine's database.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Runs one transaction until it is committed durably.
    ///
    /// # Errors
    /// [`ExperimentError::Database`].
    pub fn transact(&self, transaction: &Transaction) -> Result<(), ExperimentError> {
        let visit = |request| Visit {
            surroundings: &self.surroundings,
            request,
        };
        let visits: Vec<_> = transaction.operations.iter().map(visit).collect();
        let ended = Engine::transact(&self.database, &visits, &|| true);
        ended.map_err(|error| failed("running a transaction", error))
    }

    /// Runs one transaction, or as much of it as a deadlock lets it, and aborts it.
    ///
    /// # Errors
    /// [`ExperimentError::Database`].
    pub fn transact_and_abort(&self, transaction: &Transaction) -> Result<(), ExperimentError> {
        let running = self.database.begin();
        for request in &transaction.operations {
            let visit = Visit {
                surroundings: &self.surroundings,
                request,
            };
            match running.call(&visit) {
                Ok(_) => {}
                Err(CallError::Deadlock) => break,
                Err(error) => return Err(failed("running a transaction", error)),
            }
        }
        let aborted = running.abort();
        aborted.map_err(|error| failed("aborting a transaction", error))
    }

    /// Runs transactions at a point; all that is committed is added to `expected`.
    pub(super) fn run(
        &self,
        point: Point,
        until: Until,
        expected: &Expected,
    ) -> Result<Found, ExperimentError> {
        let load = Load {
            threads: point.multiprogramming as usize,
            mix: point.mix,
            until,
            patience: patience(&point, self.surroundings.access_time),
            seed: self.seed,
        };
        let engine = &self.database;
        let found = worker::run(engine, &self.surroundings, self.references, &load, expected);
        found.map_err(|failure| match failure {
            LoadFailure::Workload(error) => error.into(),
            other => failed("running transactions", other),
        })
    }

    /// All values of a complex object, in the order of its subobjects; all other bytes of its pages are compared with
    /// the original ones.
    ///
    /// # Errors
    /// [`ExperimentError::Database`], also if something other than a value has changed.
    pub fn values(&self, complex_object: u32) -> Result<Vec<i64>, ExperimentError> {
        let audit = Audit {
            surroundings: &self.surroundings,
            references: self.references,
            complex_object,
        };
        let read = self
            .database
            .run(|transaction| Ok(transaction.call(&audit)?));
        read.map_err(|error: EngineFailure| failed("reading all values", error))
    }

    /// Compares every value with what was committed, while no transaction runs. Returns how many
    /// there are.
    ///
    /// # Errors
    /// [`ExperimentError::WrongSubobject`] for the first that is wrong.
    pub fn verify(&self, expected: &Expected) -> Result<u64, ExperimentError> {
        let mut wrong: Vec<Difference> = Vec::new();
        for complex_object in 0..self.surroundings.scale.complex_objects() {
            let values = self.values(complex_object)?;
            wrong.extend(expected.differences(complex_object, &values));
        }
        match wrong.first() {
            None => Ok(self.surroundings.scale.all_subobjects()),
            Some(first) => Err(ExperimentError::WrongSubobject {
                subobject: first.subobject,
                expected: first.expected,
                found: first.found,
                others: wrong.len() as u64 - 1,
            }),
        }
    }

    /// Closes the database.
    ///
    /// # Errors
    /// [`ExperimentError::Database`].
    pub fn close(self) -> Result<(), ExperimentError> {
        let closed = self.database.close();
        closed.map_err(|error| failed("closing the database", error))
    }
}

/// The time without an ended transaction after which a run is over: a hundred times that of one alone.
fn patience(point: &Point, access_time: Duration) -> Duration {
    let mix = point.mix;
    let accesses = mix.operations.saturating_mul(mix.accesses());
    let alone = access_time.saturating_mul(accesses);
    alone.saturating_mul(100).max(Duration::from_secs(10))
}

fn failed(doing: &'static str, source: impl Into<Failure>) -> ExperimentError {
    let source = source.into();
    ExperimentError::Database { doing, source }
}

impl Engine for Database {
    fn transact(
        &self,
        operations: &[Visit<'_>],
        go_on: &dyn Fn() -> bool,
    ) -> Result<(), EngineFailure> {
        let mut again = false;
        self.run(|transaction| {
            if std::mem::replace(&mut again, true) && !go_on() {
                return Err(EngineFailure::GivenUp);
            }
            for operation in operations {
                std::hint::black_box(transaction.call(operation)?);
            }
            Ok(())
        })
    }

    fn counters(&self) -> Counters {
        let statistics = self.statistics();
        let of = |level: LevelStatistics| LockCounters {
            requests: level.requests,
            waits: level.waits,
            wait_time: level.wait_time,
        };
        Counters {
            pages: of(statistics.locks.pages),
            objects: of(statistics.locks.objects),
            restarts: statistics.restarts,
            deadlocks: statistics.deadlocks,
            forces: statistics.forced,
            log_writes: statistics.log.groups,
            log_bytes: statistics.log.disk_bytes,
            pages_logged: statistics.pages_logged,
            units: statistics.units,
            unit_pages_max: statistics.unit_pages_max,
        }
    }
}

impl From<CallError<VisitError>> for EngineFailure {
    fn from(error: CallError<VisitError>) -> Self {
        match error {
            CallError::Failed(error) => EngineFailure::Visit(error),
            other => EngineFailure::Engine(Box::new(other)),
        }
    }
}

impl From<CommitError> for EngineFailure {
    fn from(error: CommitError) -> Self {
        EngineFailure::Engine(Box::new(error))
    }
}
