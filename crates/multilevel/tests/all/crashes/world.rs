//! The world of a schedule: operations as a [subject](Subject) of the crash world, and their crashes.
//!
//! [`explore`] crashes the machine at every step of its disk, one after the other, and then again at every step of
//! each recovery. It compares the last content with the model. Unless the environment has `SARDONYX_SEEDS`, it takes
//! every seventh step, other ones under each setup, of which there are nine. At every fourth of them, another one under each strategy, it also
//! kills the process alone. The next process goes on on the same machine, and only then the machine crashes.

use super::model::{Model, Number};
use super::operations::{Add, AddThrough, Insert, Push};
use super::schedule::{Life, Step};
use super::state::AreaSet;
use sardonyx_multilevel::{Database, DatabaseError, Options, PageLog, Release, Strategy, Undone};
use sardonyx_storage::crashes::{End, History, Stopped, Subject, Walk};
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

/// Operations under a strategy. A step of a life is a whole schedule.
#[derive(Clone)]
pub struct Operations {
    pub setup: Setup,
    pub model: Model,
    schedule: Vec<Step>,
    /// The transactions that recovery undid when the database was last opened.
    pub undone: Undone,
    /// Steps of the last schedule that were left out, as they would have had to wait.
    pub left_out: u64,
}

/// A database on a simulated disk, in all its lives.
pub type World = sardonyx_storage::crashes::World<Operations>;

/// Pages of the areas when they are made.
const PAGES: u64 = 6;

impl Operations {
    fn open(&mut self, disk: &SimulatedDisk) -> Result<(Database, AreaSet), DatabaseError> {
        let database = self.setup.open(disk)?;
        self.undone = database.undone();
        let areas = AreaSet {
            records: database.area("records", PAGES)?,
            directory: database.area("directory", 1)?,
            movable: database.area("movable", 2)?,
            stacks: database.area("stacks", 2)?,
        };
        Ok((database, areas))
    }
}

impl Subject for Operations {
    type Open = (Database, AreaSet);
    type Change = Number;

    fn recover(
        &mut self,
        disk: &SimulatedDisk,
        _: &mut History<Number>,
    ) -> Result<(Database, AreaSet), Stopped> {
        Ok(self.open(disk)?)
    }

    fn submit(
        &mut self,
        (database, areas): &mut (Database, AreaSet),
        tried: &mut History<Number>,
    ) -> Result<(), Stopped> {
        let life = Life::new(database, *areas, &mut self.model, tried);
        life.run(&self.schedule)?;
        self.left_out = life.left_out();
        Ok(())
    }

    fn observe(
        &mut self,
        disk: &SimulatedDisk,
        tried: &mut History<Number>,
    ) -> Result<(), Stopped> {
        let (database, areas) = self.open(disk)?;
        let found = Life::new(&database, areas, &mut self.model, tried).read()?;
        self.model.settle(tried, &found);
        Ok(database.close()?)
    }

    fn close(
        &mut self,
        (database, _): (Database, AreaSet),
        _: &mut History<Number>,
    ) -> Result<(), Stopped> {
        Ok(database.close()?)
    }
}

/// A new database with empty areas, closed.
pub fn new(setup: Setup) -> World {
    let operations = Operations {
        setup,
        model: Model::default(),
        schedule: Vec::new(),
        undone: Undone::default(),
        left_out: 0,
    };
    let disk = SimulatedDisk::new(setup.seed, Faults::default());
    let mut world = World::new(format!("{setup:?}"), disk, operations);
    world.must_live(0);
    world
}

/// A life with this schedule. Returns false if it has ended before.
pub fn live(world: &mut World, steps: &[Step]) -> bool {
    world.subject.schedule = steps.to_vec();
    world.live(1)
}

/// As [`live`], but goes on with more steps when the engine has failed, each by itself. Then the error is the first
/// failure, and the number of transactions that were acknowledged after it.
pub fn live_on(world: &mut World, steps: &[Step], more: &[Step]) -> Result<(), (Stopped, usize)> {
    let (operations, tried) = (&mut world.subject, &mut world.history);
    let opened = operations.open(&world.disk);
    let (database, areas) = opened.map_err(|error| (Stopped::from(error), 0))?;
    let life = Life::new(&database, areas, &mut operations.model, tried);
    if let Err(stopped) = life.run(steps) {
        let before = life.acknowledged();
        for step in more {
            let _ = life.run(std::slice::from_ref(step));
        }
        return Err((stopped, life.acknowledged() - before));
    }
    drop(life);
    database.close().map_err(|error| (error.into(), 0))
}

/// Compares the content with the model, goes on, and does it again after a power cut.
pub fn go_on_until_a_cut(world: &mut World) {
    world.subject.schedule = afterwards();
    world.go_on_until_a_cut(1);
}

/// Counts of an exploration.
#[derive(Clone, Copy, Debug, Default)]
pub struct Explored {
    /// Crashes in the schedule.
    pub crashes: u64,
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

/// The steps of a disk that are tried; the first of them follows from a number.
fn chosen(number: u64) -> Walk {
    Walk::each(EACH).beginning(number)
}

/// Each so many-th step of a disk is tried, unless more are asked for.
pub const EACH: usize = 13;

/// Runs a schedule on a world with a crash at every step of the disk, one after the other. In each case (or each so
/// many-th of them) it crashes at every step of the recovery. Last it runs without a crash until its end.
///
/// # Panics
/// If the last content is not the expected one; the message has everything that it takes to repeat it.
pub fn explore(prepared: &World, steps: &[Step], recovery_each: u64) -> Explored {
    let mut explored = Explored::default();
    let setup = prepared.subject.setup;
    let crash = |step: u64| {
        let nth = explored.crashes;
        let mut world = prepared.clone();
        world.rename(format!("{setup:?}, crash at step {step}"));
        world.restart(End::Crash(step));
        if live(&mut world, steps) {
            explored.left_out = world.subject.left_out;
        }
        let crashed = world.disk.has_crashed();
        explored.crashes += 1;
        // Every setup has another seed, so together they are killed at each.
        if (nth + setup.seed).is_multiple_of(4) {
            kill_and_go_on(prepared, steps, step);
        }
        if (nth + 1).is_multiple_of(recovery_each) {
            crash_recovery(&world, step);
        }
        world.restart(End::Cut);
        world.check();
        explored.undone += world.subject.undone.operations;
        // It goes on as if nothing had been; and nothing is undone again.
        world.restart(End::Cut);
        assert!(live(&mut world, &afterwards()));
        assert_eq!(world.subject.undone, Undone::default(), "afterwards");
        world.restart(End::Cut);
        world.check();
        crashed
    };
    chosen(setup.seed).explore(&format!("{setup:?}"), crash);
    explored
}

/// Kills the process at this step; others go on on the same machine until it crashes.
fn kill_and_go_on(prepared: &World, steps: &[Step], step: u64) {
    let mut world = prepared.clone();
    world.rename(format!("{:?}, killed at step {step}", world.subject.setup));
    world.restart(End::Kill(step));
    live(&mut world, steps);
    if world.disk.has_crashed() {
        go_on_until_a_cut(&mut world);
    }
}

/// Recovers with a crash at every step, one after the other, and then without.
fn crash_recovery(crashed: &World, crashed_at: u64) {
    let again = |step: u64| {
        let mut world = crashed.clone();
        world.rename(format!("{}, and {step} of the recovery", crashed.name()));
        world.restart(End::Crash(step));
        world.check();
        let did_crash = world.disk.has_crashed();
        if did_crash {
            world.restart(End::Cut);
            world.subject.model = crashed.subject.model.clone();
            world.history = crashed.history.clone();
            world.check();
        }
        did_crash
    };
    chosen(crashed_at).explore(crashed.name(), again);
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
        let mut world = new(setup);
        assert!(live(&mut world, prepare));
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
