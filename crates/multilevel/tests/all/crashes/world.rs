//! The world of a schedule: the simulated disk, the database on it, and its expected content; and the crashes.
//!
//! [`explore`] crashes the machine at every step of its disk, one after the other, and then again at every step of
//! each recovery. It compares the last content with the model. Unless the environment has `SARDONYX_SEEDS`, it takes
//! every fifth step, other ones under each strategy. At every fourth of them, another one under each strategy, it also
//! kills the process alone. The next process goes on on the same machine, and only then the machine crashes.

use super::model::Model;
use super::operations::{Add, AddThrough, Insert, Push};
use super::schedule::{Life, Step, Stopped};
use super::state::AreaSet;
use sardonyx_multilevel::{Database, DatabaseError, Options, PageLog, Release, Strategy, Undone};
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use sardonyx_storage::engine::StorageOptions;
use sardonyx_storage::log::policy::GroupLimits;
use std::sync::Arc;

/// The options of opening a database.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    pub strategy: Strategy,
    pub page_log: PageLog,
    /// Decides which bytes a crash loses and tears.
    pub seed: u64,
}

impl Setup {
    /// All strategies and page logs. Spheres with two bounds: one that is never reached here, and
    /// one that makes many be written in the background.
    pub fn all() -> Vec<Setup> {
        let few = Strategy::PersistenceSpheres { pages_max: 2 };
        let ways = [
            (Strategy::SingleLevel, PageLog::ByteRanges),
            (Strategy::SingleLevel, PageLog::AfterImages),
            (Strategy::ForcedSubtransactions, PageLog::ByteRanges),
            (Strategy::ForcedSubtransactions, PageLog::AfterImages),
            (Strategy::SPHERES, PageLog::ByteRanges),
            (Strategy::SPHERES, PageLog::AfterImages),
            (few, PageLog::ByteRanges),
            (Strategy::OrderedLog, PageLog::ByteRanges),
            (Strategy::OrderedLog, PageLog::AfterImages),
        ];
        let with = |((strategy, page_log), seed)| Setup {
            strategy,
            page_log,
            seed,
        };
        ways.into_iter().zip(1..).map(with).collect()
    }

    fn release(&self) -> Release {
        if self.seed.is_multiple_of(2) {
            Release::Appended
        } else {
            Release::Durable
        }
    }

    fn open(&self, disk: &SimulatedDisk) -> Result<Database, DatabaseError> {
        let limits = GroupLimits {
            group_bytes: 16 << 10,
            transaction_bytes: 120 << 10,
            depth: 1,
            buffers: 4,
        };
        let storage = StorageOptions {
            segment_bytes: 144 << 10,
            block_bytes: 16 << 10,
            log_bytes_max: 4 * (144 << 10),
            log_bytes_prepared: 0,
            // A close does nothing of its own: each step of the disk costs thousands of runs.
            closing_checkpoint: std::time::Duration::ZERO,
            checkpoint_interval_bytes: Some(160 << 10),
            memory_bytes_max: 64 << 20,
            identity: Some(self.seed | 1),
            workers: 1,
            threaded: false,
            limits,
            ..StorageOptions::default()
        };
        Options::new()
            .strategy(self.strategy)
            .page_log(self.page_log)
            .release(self.release())
            .register::<Add>()
            .register::<AddThrough>()
            .register::<Insert>()
            .register::<Push>()
            .storage(storage)
            .open_on(Arc::new(disk.clone()))
    }
}

/// A database on a simulated disk, in all its lives.
#[derive(Clone)]
pub struct World {
    pub setup: Setup,
    pub disk: SimulatedDisk,
    pub model: Model,
}

/// The result of a life.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lived {
    /// The transactions that recovery undid at its beginning.
    pub undone: Undone,
    /// Steps that were left out, as they would have had to wait.
    pub left_out: u64,
}

/// Pages of the areas when they are made.
const PAGES: u64 = 6;

impl World {
    /// A new database with empty areas, closed.
    pub fn new(setup: Setup) -> World {
        let disk = SimulatedDisk::new(setup.seed, Faults::default());
        let mut world = World {
            setup,
            disk,
            model: Model::default(),
        };
        world.live(&[]).expect("nothing fails");
        world
    }

    fn areas(database: &Database) -> Result<AreaSet, DatabaseError> {
        Ok(AreaSet {
            records: database.area("records", PAGES)?,
            directory: database.area("directory", 1)?,
            movable: database.area("movable", 2)?,
            stacks: database.area("stacks", 2)?,
        })
    }

    /// Opens the database, runs the steps and closes it. An error may be the crash.
    pub fn live(&mut self, steps: &[Step]) -> Result<Lived, Stopped> {
        let database = self.setup.open(&self.disk).map_err(from)?;
        let areas = Self::areas(&database).map_err(from)?;
        let life = Life::new(&database, areas, &mut self.model);
        life.run(steps)?;
        let (undone, left_out) = (database.undone(), life.left_out());
        drop(life);
        database.close().map_err(from)?;
        Ok(Lived { undone, left_out })
    }

    /// As [`World::live`], but goes on with more steps when the engine has failed, each by itself. Then the error is
    /// the first failure, and the number of transactions that were acknowledged after it.
    pub fn live_on(&mut self, steps: &[Step], more: &[Step]) -> Result<(), (Stopped, usize)> {
        let opened = self.setup.open(&self.disk).map_err(from);
        let database = opened.map_err(|stopped| (stopped, 0))?;
        let areas = Self::areas(&database).map_err(|error| (from(error), 0))?;
        let life = Life::new(&database, areas, &mut self.model);
        if let Err(stopped) = life.run(steps) {
            let before = life.acknowledged();
            for step in more {
                let _ = life.run(std::slice::from_ref(step));
            }
            return Err((stopped, life.acknowledged() - before));
        }
        drop(life);
        database.close().map_err(|error| (from(error), 0))
    }

    /// The machine comes up again, to fail in this way.
    pub fn restart(&mut self, faults: Faults) {
        self.disk = self.disk.restart(faults);
    }

    /// The process was killed, or has given up; the machine goes on, and so does the next process.
    pub fn next_process(&mut self, faults: Faults) {
        self.disk = self.disk.next_process(faults);
    }

    /// Compares the content with the model, goes on, and does it again after a power cut.
    ///
    /// # Panics
    /// If the content differs.
    pub fn goes_on_until_a_cut(&mut self, what: &str) {
        if let Err(error) = self.check() {
            panic!("{what}, the next process: {error}");
        }
        self.next_process(Faults::default());
        let lived = self.live(&afterwards());
        lived.unwrap_or_else(|stopped| panic!("{what}, the one after it: {stopped:?}"));
        self.restart(Faults::default());
        if let Err(error) = self.check() {
            panic!("{what}, the one after it, and a cut: {error}");
        }
    }

    /// Opens the database and compares its content with the model.
    pub fn check(&mut self) -> Result<Undone, String> {
        let database = self
            .setup
            .open(&self.disk)
            .map_err(|error| error.to_string())?;
        let areas = Self::areas(&database).map_err(|error| error.to_string())?;
        let life = Life::new(&database, areas, &mut self.model);
        let found = life.read().map_err(|Stopped(error)| error)?;
        drop(life);
        self.model.settle(&found)?;
        let undone = database.undone();
        database.close().map_err(|error| error.to_string())?;
        Ok(undone)
    }
}

fn from(error: DatabaseError) -> Stopped {
    Stopped(error.to_string())
}

/// A crash at this step of the disk.
pub fn crash_at(step: u64) -> Faults {
    Faults {
        crash_at_step: Some(step),
        ..Faults::default()
    }
}

/// The process is killed at this step of the disk.
fn kill_at(step: u64) -> Faults {
    Faults {
        kill_at_step: Some(step),
        ..Faults::default()
    }
}

/// Counts of an exploration.
#[derive(Clone, Copy, Debug, Default)]
pub struct Explored {
    /// Crashes in the schedule.
    pub crashes: u64,
    /// Crashes in the recovery from these.
    pub second_crashes: u64,
    /// Operations that were undone by recovery, at last.
    pub undone: u64,
    /// Steps left out in the run without a crash, as they would have had to wait.
    pub left_out: u64,
}

/// The transactions of a later life, to see that the database is sound.
fn afterwards() -> Vec<Step> {
    use Step::*;
    let add = |who| Add(who, vec![(0, 0), (5, 9)]);
    vec![Begin(1), Begin(2), add(1), add(2), Commit(2), Abort(1)]
}

/// Each so many-th step of a disk is tried.
pub fn each() -> u64 {
    match crate::seeds() {
        Some(_) => 1,
        None => 5,
    }
}

/// The steps of a disk at which it is tried; the first of them follows from a number.
fn chosen(number: u64) -> impl Iterator<Item = u64> {
    (1 + number % each()..).step_by(each() as usize)
}

/// Runs a schedule on a world with a crash at every step of the disk, one after the other. In each case (or each so
/// many-th of them) it crashes at every step of the recovery. Last it runs without a crash until its end.
///
/// # Panics
/// If the last content is not the expected one; the message has everything that it takes to repeat it.
pub fn explore(prepared: &World, steps: &[Step], recovery_each: u64) -> Explored {
    let mut explored = Explored::default();
    for (nth, step) in chosen(prepared.setup.seed).enumerate() {
        let nth = nth as u64;
        let mut world = prepared.clone();
        world.restart(crash_at(step));
        let outcome = world.live(steps);
        let crashed = world.disk.has_crashed();
        let what = format!("{:?}, crash at step {step}", world.setup);
        match outcome {
            Ok(lived) => explored.left_out = lived.left_out,
            Err(stopped) => assert!(crashed, "{what}: {stopped:?}"),
        }
        explored.crashes += 1;
        // Every setup has another seed, so together they are killed at each.
        if (nth + world.setup.seed).is_multiple_of(4) {
            kill_and_go_on(prepared, steps, step);
        }
        if (nth + 1).is_multiple_of(recovery_each) {
            explored.second_crashes += crash_recovery(&world, &what, step);
        }
        world.restart(Faults::default());
        let undone = world
            .check()
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        explored.undone += undone.operations;
        // It goes on as if nothing had been; and nothing is undone again.
        world.restart(Faults::default());
        let lived = world.live(&afterwards());
        let lived = lived.unwrap_or_else(|stopped| panic!("{what}, afterwards: {stopped:?}"));
        assert_eq!(lived.undone, Undone::default(), "{what}, afterwards");
        world.restart(Faults::default());
        if let Err(error) = world.check() {
            panic!("{what}, afterwards: {error}");
        }
        if !crashed {
            return explored;
        }
    }
    unreachable!("schedules end")
}

/// Kills the process at this step; others go on on the same machine until it crashes.
fn kill_and_go_on(prepared: &World, steps: &[Step], step: u64) {
    let mut world = prepared.clone();
    world.restart(kill_at(step));
    let _ = world.live(steps);
    if world.disk.has_crashed() {
        world.next_process(Faults::default());
        world.goes_on_until_a_cut(&format!("{:?}, killed at step {step}", world.setup));
    }
}

/// Recovers with a crash at every step, one after the other, and then without.
fn crash_recovery(crashed: &World, what: &str, crashed_at: u64) -> u64 {
    for step in chosen(crashed_at) {
        let mut world = crashed.clone();
        world.restart(crash_at(step));
        let outcome = world.check();
        if !world.disk.has_crashed() {
            outcome.unwrap_or_else(|error| panic!("{what}: {error}"));
            return step - 1;
        }
        world.restart(Faults::default());
        let mut settled = World {
            model: crashed.model.clone(),
            ..world
        };
        if let Err(error) = settled.check() {
            panic!("{what}, crash at step {step} of the recovery: {error}");
        }
    }
    unreachable!("recoveries end")
}

/// Explores a schedule under every strategy and page log.
///
/// # Panics
/// As [`explore`].
pub fn every_setup(prepare: &[Step], steps: &[Step]) -> Vec<Explored> {
    every_setup_long(prepare, steps, 1)
}

/// The same for a long schedule: only the recovery from each so many-th crash is crashed too.
///
/// # Panics
/// As [`explore`].
pub fn every_setup_long(prepare: &[Step], steps: &[Step], recovery_each: u64) -> Vec<Explored> {
    let explored = Setup::all().into_iter().map(|setup| {
        let mut world = World::new(setup);
        world.live(prepare).expect("nothing fails");
        let explored = explore(&world, steps, recovery_each);
        let single = setup.strategy == Strategy::SingleLevel;
        assert!(
            single || explored.left_out == 0,
            "{setup:?}: a step was left out"
        );
        explored
    });
    explored.collect()
}
