//! Crash exploration: random transactions on a simulated disk that crashes at a chosen step. It loses, tears and
//! reorders writes that were not synced, and may crash again during recovery. Then the recovered database is compared
//! with a plain in-memory model. Before the machine crashes, other processes may continue on it after one was killed,
//! or after its sync failed.
//!
//! A recovered database must hold exactly the first `j` transactions. `j` is at least the number of the last one that was
//! acknowledged as durable, and at most that of the last one that ran (I1, I4, I8). One seed determines everything, so a failure replays
//! from the seed that it prints (I11).

use sardonyx::disk::GroupLimits;
use sardonyx::journals::PlainJournalRow;
use sardonyx::{Durability, Error, Journal, Options, Shape, Table, Tables, record};
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use sardonyx_storage::places::Directories;
use sardonyx_workload::random::Random;
use std::collections::BTreeMap;
use std::sync::Arc;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A record of the explored database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct Item {
    pub(crate) id: u64,
    pub(crate) value: u64,
    filler: [u8; 240],
}
record!(Item { table: "items", key: id: u64 });

#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
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

/// Explores one plan.
///
/// # Errors
/// The fault, with everything needed to replay it.
pub fn explore(plan: Plan) -> Result<Explored, String> {
    Exploration::new(plan)
        .run()
        .map_err(|what| format!("{plan:?}: {what}"))
}

struct Exploration {
    plan: Plan,
    random: Random,
    disk: SimulatedDisk,
    /// The model after each transaction; the first is the empty one.
    history: Vec<Model>,
    /// The number of transactions known to be durable.
    acknowledged: usize,
    explored: Explored,
    stripes: u32,
}

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

impl Exploration {
    fn new(plan: Plan) -> Self {
        let mut random = Random::new(plan.seed);
        let faults = Faults {
            crash_at_step: plan.crash_at_step,
            kill_at_step: plan.kill_at_step,
            fail_sync_at: plan.fail_sync_at,
            ..Faults::default()
        };
        Exploration {
            plan,
            stripes: 1 + random.below(2) as u32,
            random,
            disk: SimulatedDisk::new(plan.seed, faults),
            history: vec![Model::default()],
            acknowledged: 0,
            explored: Explored::default(),
        }
    }

    fn run(mut self) -> Result<Explored, String> {
        for life in 0..self.plan.lives {
            // An error here is the crash; its result is checked after the restart.
            let outcome = self.live();
            if life == 0 {
                self.explored.steps = self.disk.steps();
            }
            let planned = self.disk.has_crashed() || self.plan.fail_sync_at.is_some();
            if let Err(error) = outcome
                && !planned
            {
                return Err(format!("life {life}: {error}"));
            }
            self.go_on()
                .and_then(|()| self.crash_and_recover())
                .map_err(|what| format!("life {life}: {what}"))?;
        }
        Ok(self.explored)
    }

    fn open(&self) -> Result<Opened, Error> {
        open_on(&self.disk, self.plan.seed | 1, self.stripes)
    }

    /// Runs random transactions until the plan's number or the crash.
    fn live(&mut self) -> Result<(), Error> {
        let opened = self.open()?;
        for _ in 0..self.plan.transactions {
            self.one_transaction(&opened)?;
            if self.random.chance(3) {
                opened.database.checkpoint()?;
                self.acknowledged = self.history.len() - 1;
            }
        }
        self.explored.checkpoints += opened.database.statistics().checkpoint.checkpoints;
        if self.random.chance(30) {
            opened.database.close()?;
            self.acknowledged = self.history.len() - 1;
        }
        Ok(())
    }

    fn one_transaction(&mut self, opened: &Opened) -> Result<(), Error> {
        let mut model = self.history.last().expect("never empty").clone();
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
            Err(_) if ran && !abort => self.history.push(model),
            Err(_) => {}
            Ok(()) => self.history.push(model),
        }
        outcome?;
        if durable {
            self.acknowledged = self.history.len() - 1;
        }
        Ok(())
    }

    /// Continues on the same machine in some cases: as one process or several, each of which may be killed or have a
    /// sync fail.
    fn go_on(&mut self) -> Result<(), String> {
        while self.random.chance(40) {
            let within = Some(1 + self.random.below(60));
            let (kill_at_step, fail_sync_at) = match self.random.below(3) {
                0 => (within, None),
                1 => (None, within),
                _ => (None, None),
            };
            self.disk = self.disk.next_process(Faults {
                kill_at_step,
                fail_sync_at,
                ..Faults::default()
            });
            let planned = fail_sync_at.is_some();
            match self.go_on_once()? {
                Err(error) if !planned && !self.disk.has_crashed() => {
                    return Err(format!("the next process: {error}"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Another process. The inner error may be the planned one.
    fn go_on_once(&mut self) -> Result<Result<(), Error>, String> {
        let read = self.open().and_then(|opened| Ok((read(&opened)?, opened)));
        let (found, opened) = match read {
            Ok(read) => read,
            Err(error) => return Ok(Err(error)),
        };
        let settled = self.settle(&found);
        settled.map_err(|what| format!("the next process finds: {what}"))?;
        for _ in 0..self.random.below(8) {
            if let Err(error) = self.one_transaction(&opened) {
                return Ok(Err(error));
            }
        }
        Ok(Ok(()))
    }

    /// Crashes, perhaps again and again during recovery, then recovers and compares.
    fn crash_and_recover(&mut self) -> Result<(), String> {
        self.disk.crash();
        self.explored.crashes += 1;
        while self.random.chance(30) {
            let crash_at_step = Some(1 + self.random.below(12));
            self.disk = self.disk.restart(Faults {
                crash_at_step,
                ..Faults::default()
            });
            if let Ok(opened) = self.open() {
                drop(opened);
            }
            self.disk.crash();
            self.explored.crashes += 1;
        }
        self.disk = self.disk.restart(Faults::default());
        let opened = self
            .open()
            .map_err(|error| format!("recovery failed: {error}"))?;
        let found = read(&opened).map_err(|error| format!("reading failed: {error}"))?;
        drop(opened);
        self.settle(&found)
    }

    /// The found contents must be the state of a prefix with all acknowledged transactions; it is durable now.
    fn settle(&mut self, found: &Model) -> Result<(), String> {
        let from = self.acknowledged;
        let Some(at) = self.history[from..].iter().position(|model| model == found) else {
            let earlier = self.history[..from]
                .iter()
                .rposition(|model| model == found);
            return Err(match earlier {
                Some(n) => format!("only {n} of {from} acknowledged transactions are there"),
                None => format!("the state is that of no prefix: {found:?}"),
            });
        };
        self.history.truncate(from + at + 1);
        self.acknowledged = from + at;
        self.explored.recovered += (from + at) as u64;
        Ok(())
    }
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
