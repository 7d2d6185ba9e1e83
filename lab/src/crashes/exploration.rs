//! Crash exploration: random transactions on a simulated disk that crashes at a chosen step. It loses, tears and
//! reorders writes that were not synced, and may crash again during recovery. Then the recovered database is compared
//! with a plain in-memory model. Before the machine crashes, other processes may continue on it after one was killed,
//! or after its sync failed.
//!
//! A recovered database must hold exactly the first `j` transactions. `j` is at least the number of the last one
//! acknowledged as durable, and at most that of the last run (I1, I4, I8). One seed determines everything, so a failure
//! replays from the seed that it prints (I11).

use sardonyx::disk::GroupLimits;
use sardonyx::journals::PlainJournalRow;
use sardonyx::{Durability, Error, Journal, Options, Shape, Table, Tables, record};
use sardonyx_base::resident::Resident;
use sardonyx_storage::crashes::{End, History, Stopped, Subject};
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use sardonyx_storage::places::Directories;
use sardonyx_workload::random::Random;
use std::collections::BTreeMap;
use std::panic::catch_unwind;
use std::sync::Arc;

/// A record of the explored database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Resident)]
#[repr(C)]
pub(crate) struct Item {
    pub(crate) id: u64,
    pub(crate) value: u64,
    filler: [u8; 240],
}
record!(Item { table: "items", key: id: u64 });

#[derive(Clone, Copy, Debug, PartialEq, Eq, Resident)]
#[repr(C)]
pub(crate) struct Note {
    pub(crate) id: u64,
    pub(crate) value: u64,
}

impl PlainJournalRow for Note {
    const NAME: &'static str = "notes";
}

/// The expected contents of the database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Model {
    pub(crate) items: BTreeMap<u64, u64>,
    pub(crate) notes: Vec<(u64, u64)>,
}

/// The plan of an exploration.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Decides everything.
    pub seed: u64,
    /// Crash at this step of the disk in the first life; `None`: run it to its end, then crash.
    pub crash_at_step: Option<u64>,
    /// Kill the process at this step instead; others continue before the machine crashes.
    pub kill_at_step: Option<u64>,
    /// Fail this sync instead.
    pub fail_sync_at: Option<u64>,
    /// The number of crashes and recoveries of the database.
    pub lives: u32,
    /// Transactions in each life.
    pub transactions: u32,
}

/// The counts of an exploration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Explored {
    /// Mutating steps of the disk in the first life.
    pub steps: u64,
    /// Crashes, also those during recovery.
    pub crashes: u64,
    /// Transactions that ran.
    pub transactions: u64,
    /// Checkpoints completed.
    pub checkpoints: u64,
    /// Transactions that recovery found.
    pub recovered: u64,
}

/// Items and notes that random transactions change: the subject of the exploration.
struct Items {
    plan: Plan,
    random: Random,
    explored: Explored,
    stripes: u32,
    /// Now and then a transaction is followed by a checkpoint, and the last one by an orderly close.
    with_checkpoints: bool,
}

type World = sardonyx_storage::crashes::World<Items>;

pub(crate) struct Opened {
    pub(crate) database: Tables,
    pub(crate) items: Table<Item>,
    pub(crate) notes: Journal<Note>,
}

impl Item {
    pub(crate) fn new(id: u64, value: u64) -> Item {
        Item {
            id,
            value,
            filler: [7; 240],
        }
    }
}

/// Opens the explored database: small files and bounds, so that a few hundred transactions reach all of them.
pub(crate) fn open_on(disk: &SimulatedDisk, identity: u64, stripes: u32) -> Result<Opened, Error> {
    let limits = GroupLimits {
        group_bytes: 8 << 10,
        transaction_bytes: 16 << 10,
        depth: 1,
        buffers: 4,
    };
    // Every other database begins with a small log, which grows during the exploration.
    let (segment_bytes, first_bytes) = match (identity - 1) / 2 % 2 {
        0 => (32 << 10, 32 << 10),
        _ => (128 << 10, 16 << 10),
    };
    // Every third one has its parts on disks of their own.
    let directories = match (identity - 1) / 2 % 3 {
        1 => Directories {
            log: Some("/fast/log".into()),
            backup: (0..stripes).map(|n| format!("/disk{n}").into()).collect(),
        },
        _ => Directories::default(),
    };
    let database = Options::new()
        .shape(Shape::Threadless)
        .directories(directories)
        .segment_bytes(segment_bytes)
        .log_bytes_first(first_bytes)
        .block_bytes(4096 * 4)
        .stripes(stripes)
        .log_bytes_max(8 * segment_bytes)
        .log_bytes_prepared(0)
        .checkpoint_interval_bytes(48 << 10)
        .memory_bytes_max(MEMORY_BYTES_MAX)
        .group_limits(limits)
        .identity(identity)
        .hash_seed(identity)
        .open_tables_on(Arc::new(disk.clone()))?;
    let (items, notes) = (database.table()?, database.journal()?);
    Ok(Opened {
        database,
        items,
        notes,
    })
}

/// The most bytes of pages of an explored database.
pub(crate) const MEMORY_BYTES_MAX: u64 = 64 << 20;

impl Items {
    fn one_transaction(
        &mut self,
        opened: &Opened,
        history: &mut History<Model>,
    ) -> Result<(), Error> {
        let mut model = last(history.changes());
        let durable = self.random.chance(60);
        let abort = self.random.chance(15);
        let durability = if durable {
            Durability::Durable
        } else {
            Durability::Deferred
        };
        let random = &mut self.random;
        let mut ran = false;
        let outcome = opened
            .database
            .transaction()
            .durability(durability)
            .run(|transaction| {
                for _ in 0..1 + random.below(6) {
                    let (id, value) = (random.below(120), random.next_u64());
                    match random.below(10) {
                        0..=3 if !model.items.contains_key(&id) => {
                            transaction.insert(opened.items, &Item::new(id, value))?;
                            model.items.insert(id, value);
                        }
                        0..=6 => {
                            let there =
                                transaction.update(opened.items, id, |i| i.value = value)?;
                            if there.is_some() {
                                model.items.insert(id, value);
                            }
                        }
                        7 => {
                            transaction.delete(opened.items, id)?;
                            model.items.remove(&id);
                        }
                        _ => {
                            transaction.append(opened.notes, &Note { id, value })?;
                            model.notes.push((id, value));
                        }
                    }
                }
                ran = true;
                if abort {
                    Err(Error::other("as planned"))
                } else {
                    Ok(())
                }
            });
        self.explored.transactions += 1;
        match outcome {
            Err(Error::Other(_)) => return Ok(()),
            // It ran, and may or may not be durable.
            Err(_) if ran && !abort => _ = history.submit(model),
            Err(_) => {}
            Ok(()) => _ = history.submit(model),
        }
        outcome?;
        if durable {
            history.acknowledge();
        }
        Ok(())
    }
}

/// The contents after these transactions.
fn last(models: &[Model]) -> Model {
    models.last().cloned().unwrap_or_default()
}

impl Subject for Items {
    type Open = Opened;
    /// The contents after the transaction.
    type Change = Model;

    fn recover(
        &mut self,
        disk: &SimulatedDisk,
        history: &mut History<Model>,
    ) -> Result<Opened, Stopped> {
        let opened = open_on(disk, self.plan.seed | 1, self.stripes)?;
        history.settle(&read(&opened)?, last);
        Ok(opened)
    }

    fn submit(&mut self, opened: &mut Opened, history: &mut History<Model>) -> Result<(), Stopped> {
        self.one_transaction(opened, history)?;
        if self.with_checkpoints && self.random.chance(3) {
            opened.database.checkpoint()?;
            history.acknowledge();
        }
        Ok(())
    }

    fn observe(
        &mut self,
        disk: &SimulatedDisk,
        history: &mut History<Model>,
    ) -> Result<(), Stopped> {
        drop(self.recover(disk, history)?);
        self.explored.recovered += history.acknowledged() as u64;
        Ok(())
    }

    fn close(&mut self, opened: Opened, history: &mut History<Model>) -> Result<(), Stopped> {
        if !self.with_checkpoints {
            return Ok(());
        }
        self.explored.checkpoints += opened.database.statistics().checkpoint.checkpoints;
        if self.random.chance(30) {
            opened.database.close()?;
            history.acknowledge();
        }
        Ok(())
    }
}

/// Explores one plan.
///
/// # Errors
/// The fault, with everything needed to replay it.
pub fn explore(plan: Plan) -> Result<Explored, String> {
    let explored = catch_unwind(|| lives(plan));
    explored.map_err(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .map_or("a panic", String::as_str);
        format!("{plan:?}: {text}")
    })
}

fn lives(plan: Plan) -> Explored {
    let mut random = Random::new(plan.seed);
    let faults = Faults {
        crash_at_step: plan.crash_at_step,
        kill_at_step: plan.kill_at_step,
        fail_sync_at: plan.fail_sync_at,
        ..Faults::default()
    };
    let items = Items {
        plan,
        stripes: 1 + random.below(2) as u32,
        random,
        explored: Explored::default(),
        with_checkpoints: true,
    };
    let disk = SimulatedDisk::new(plan.seed, faults);
    let mut world = World::new(format!("{plan:?}"), disk, items);
    for life in 0..plan.lives {
        world.rename(format!("{plan:?}, life {life}"));
        world.subject.with_checkpoints = true;
        world.live(plan.transactions as usize);
        if life == 0 {
            world.subject.explored.steps = world.disk.steps();
        }
        world.subject.with_checkpoints = false;
        go_on(&mut world);
        crash_and_recover(&mut world);
    }
    world.subject.explored
}

/// Continues on the same machine in some cases: as one process or several, each of which may be killed or have a sync
/// fail.
fn go_on(world: &mut World) {
    while world.subject.random.chance(40) {
        let within = 1 + world.subject.random.below(60);
        let end = match world.subject.random.below(3) {
            0 => End::Kill(within),
            1 => End::FailedSync(within),
            _ => End::Cut,
        };
        world.next_process(end);
        if let Some(mut opened) = world.open() {
            let transactions = world.subject.random.below(8);
            world.run(&mut opened, transactions as usize);
        }
    }
}

/// Crashes, perhaps again and again during recovery, then recovers and compares.
fn crash_and_recover(world: &mut World) {
    world.subject.explored.crashes += 1;
    while world.subject.random.chance(30) {
        let step = 1 + world.subject.random.below(12);
        world.restart(End::Crash(step));
        drop(world.open());
        world.subject.explored.crashes += 1;
    }
    world.restart(End::Cut);
    world.check();
}

/// All records of the database.
pub(crate) fn read(opened: &Opened) -> Result<Model, Error> {
    let mut model = Model::default();
    opened.database.read(|view| {
        for item in view.scan(opened.items)? {
            let item = item?;
            model.items.insert(item.id, item.value);
            assert_eq!(
                view.get(opened.items, item.id)?,
                Some(item),
                "the index finds it"
            );
        }
        Ok(())
    })?;
    opened.database.journal_rows(opened.notes, |note| {
        model.notes.push((note.id, note.value));
        true
    })?;
    Ok(model)
}
