//! A small shared database on the simulated disk. Several processes may be killed at any of their
//! operations on the disk, and the machine may crash at any of them. Every recovery is compared with
//! a model of everything that was submitted and acknowledged.
//!
//! A process's *ring* is the model's list of transactions itself: the tail that is published with the log's end is a
//! number of transactions. The log counts each transaction, and most append a row to a journal. So one that is logged
//! twice is noticed although redo is idempotent.

use super::lives::pages_of;
use super::mortal::{Death, Killed, Mortal};
use crate::crashes::{End, History};
use crate::disk::{Disk, Faults, SimulatedDisk};
use crate::engine::{Driver, SharedLock, join, open_first};
use crate::engine::{Engine, StorageOptions};
use crate::journal::JournalReader;
use crate::log::policy::GroupLimits;
use crate::log::seal::GroupBuilder;
use crate::log::supply::Admission;
use crate::log::{LogLeader, LogState, SharedLogError};
use crate::manifest::Manifest;
use crate::page::{Address, PAGE_SIZE};
use crate::recovery::{RecoveryOptions, recover};
use sardonyx_base::random::Random;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

/// One transaction's changes.
#[derive(Clone, Debug, Default)]
pub(super) struct Change {
    writes: Vec<(Address, Vec<u8>)>,
    row: Vec<u8>,
}

impl Change {
    fn push_to(&self, builder: &mut GroupBuilder) {
        for (address, bytes) in &self.writes {
            builder.push_write(*address, bytes);
        }
        if !self.row.is_empty() {
            builder.push_journal(1, &self.row);
        }
    }

    fn encode(&self) -> Vec<u8> {
        let mut builder = GroupBuilder::with_capacity(PAGE_SIZE);
        self.push_to(&mut builder);
        builder.end_transaction();
        builder.payload().to_vec()
    }
}

/// The machine has crashed, or the log is poisoned: this life is over.
#[derive(Debug)]
pub(super) struct Over;

/// A database through any number of lives.
pub(super) struct World {
    pub simulated: SimulatedDisk,
    pub options: StorageOptions,
    pub random: Random,
    pub history: History<Change>,
    pages: u64,
    pub what: String,
    /// The disk has planted faults: errors are expected.
    pub faulty: bool,
    pub failed_drivers: u32,
    /// A joining process is killed within so many operations.
    pub mortal_within: Option<u64>,
    /// Processes that were killed after they joined.
    pub killed: u32,
    /// Transactions larger than a segment that were submitted.
    pub large: u32,
}

pub(super) struct Process {
    pub disk: Arc<dyn Disk>,
    pub leader: LogLeader,
    pub driver: Option<Driver>,
    _lock: SharedLock,
}

/// From the first opening to the end of the last process, or of the machine.
pub(super) struct Life {
    pub state: Box<LogState>,
    pub manifest: Manifest,
    /// Transactions in the log before this life.
    base: u64,
    pub processes: Vec<Process>,
}

impl World {
    pub(super) fn new(seed: u64, what: String) -> World {
        let page = PAGE_SIZE as u64;
        let options = StorageOptions {
            segment_bytes: 8 * page,
            block_bytes: PAGE_SIZE as u32 * (1 + seed % 2) as u32,
            stripes: 1 + (seed % 3) as u32,
            identity: Some(seed),
            log_bytes_max: (5 + seed % 3) * 8 * page,
            log_bytes_prepared: 0,
            memory_bytes_max: 1 << 24,
            limits: GroupLimits {
                group_bytes: 2 * PAGE_SIZE,
                transaction_bytes: 2 * PAGE_SIZE,
                ..GroupLimits::default()
            },
            threaded: false,
            workers: 1,
            ..StorageOptions::default()
        };
        World {
            simulated: SimulatedDisk::new(seed, Faults::default()),
            options,
            random: Random::new(seed),
            history: History::default(),
            pages: 1,
            what,
            faulty: false,
            failed_drivers: 0,
            mortal_within: None,
            killed: 0,
            large: 0,
        }
    }

    /// The machine comes up again.
    pub(super) fn restart(&mut self, end: impl Into<Faults>) {
        self.simulated = self.simulated.restart(end.into());
    }

    /// All processes have ended; the machine continues.
    pub(super) fn next_process(&mut self) {
        self.simulated = self.simulated.next_process(End::Cut.faults());
    }

    fn immortal(&self) -> Mortal {
        Mortal::new(&self.simulated, None, Death::Before)
    }

    /// A process with as long a life as processes have here.
    pub(super) fn mortal(&mut self) -> Mortal {
        let Some(within) = self.mortal_within else {
            return self.immortal();
        };
        let killed_at = 1 + self.random.below(within);
        let death = Death::ALL[self.random.below(3) as usize];
        Mortal::new(&self.simulated, Some(killed_at), death)
    }

    /// A first process opens the database. `None`: it was killed meanwhile.
    pub(super) fn open(&mut self, mortal: Mortal) -> Option<Result<Life, Over>> {
        let disk: Arc<dyn Disk> = Arc::new(mortal);
        let options = self.options.clone();
        let opened = mortal_part(|| {
            let first = match open_first(&disk, &options) {
                Ok(first) => first.expect("nobody has it"),
                Err(error) => return Err(error),
            };
            let state = Box::new(LogState::zeroed());
            first.initialise(&state);
            let driver = first.driver;
            let lock = first.lock.share()?;
            Ok((first.manifest, first.store, first.end, state, driver, lock))
        })?;
        let (manifest, store, end, state, driver, lock) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                return Some(Err(self.over(&error)));
            }
        };
        self.settle(end.transactions as usize, store.bytes());
        let leader = LogLeader::new(disk.clone(), &manifest, manifest.incarnation);
        let first = Process {
            disk,
            leader,
            driver: Some(driver),
            _lock: lock,
        };
        let base = end.transactions;
        let mut life = Life {
            state,
            manifest,
            base,
            processes: vec![first],
        };
        Some(self.join(&mut life).map(|()| life))
    }

    /// Opens without being killed.
    pub(super) fn open_safely(&mut self) -> Result<Life, Over> {
        let mortal = self.immortal();
        self.open(mortal).expect("it is immortal")
    }

    /// One more process joins.
    pub(super) fn join(&mut self, life: &mut Life) -> Result<(), Over> {
        let mortal = self.mortal();
        let disk: Arc<dyn Disk> = Arc::new(mortal);
        let (manifest, lock, disk) = match join(&disk) {
            Ok(joined) => joined,
            Err(error) => {
                return Err(self.over(&error));
            }
        };
        assert_eq!(manifest.incarnation, life.state.incarnation());
        let leader = LogLeader::new(disk.clone(), &manifest, manifest.incarnation);
        life.processes.push(Process {
            disk,
            leader,
            driver: None,
            _lock: lock,
        });
        Ok(())
    }

    /// The recovered and stable data must be everything acknowledged, each once, and only submitted data.
    fn settle(&mut self, transactions: usize, pages: &[u8]) {
        let found = (transactions, pages.to_vec());
        self.history
            .settle(&found, |changes| (changes.len(), pages_after(changes)));
    }

    /// Recovers without changing anything, and compares, the journal's rows included.
    pub(super) fn check(&self) {
        let disk: Arc<dyn Disk> = Arc::new(self.simulated.clone());
        let manifest = Manifest::read(&*disk).unwrap();
        let options = RecoveryOptions {
            memory_max_bytes: self.options.memory_bytes_max,
            workers: 1,
            dry_run: true,
            beside_writer: false,
            sparse: true,
            known_end: None,
            checkpoints: Default::default(),
        };
        let recovered = recover(&disk, &manifest, options);
        let recovered = recovered.unwrap_or_else(|error| panic!("{}: {error}", self.what));
        let mut reader = JournalReader::open(&disk, &manifest, None, None).unwrap();
        let mut rows = Vec::new();
        while let Some(row) = reader.next_row().unwrap() {
            rows.push(row.bytes.to_vec());
        }
        let transactions = recovered.end.transactions as usize;
        let found = (transactions, recovered.store.bytes().to_vec(), rows);
        let expected = |changes: &[Change]| {
            let rows = changes.iter().map(|change| change.row.clone());
            let rows: Vec<_> = rows.filter(|row| !row.is_empty()).collect();
            (changes.len(), pages_after(changes), rows)
        };
        self.history.judge(&found, expected);
    }

    /// A transaction commits: it is in the ring. Some are larger than a segment of the log.
    pub(super) fn submit(&mut self) {
        match self.random.chance(1, 16) {
            true => self.submit_large(),
            false => self.submit_small(),
        }
    }

    /// One whose group has several segments for itself: at most as many as the log has room for.
    pub(super) fn submit_large(&mut self) {
        let segments = self.options.log_bytes_max / self.options.segment_bytes;
        let spanned = 2 + self.random.below(segments - 3);
        let (page, record) = (PAGE_SIZE as u64, PAGE_SIZE as u64 + 8);
        let fewest = ((spanned - 1) * self.options.segment_bytes).div_ceil(record);
        let most = (spanned * self.options.segment_bytes - 128) / record;
        let mut change = Change::default();
        for _ in 0..fewest + self.random.below(most - fewest + 1) {
            let address = Address(self.random.below(self.pages) * page);
            let value = self.random.next().to_le_bytes();
            let bytes = value.iter().copied().cycle().take(PAGE_SIZE).collect();
            change.writes.push((address, bytes));
        }
        if self.random.chance(3, 4) {
            change.row = vec![self.random.next() as u8; 1 + self.random.below(40) as usize];
        }
        self.large += 1;
        self.history.submit(change);
    }

    fn submit_small(&mut self) {
        let random = &mut self.random;
        if random.chance(1, 8) && self.pages < 12 {
            self.pages += 1 + random.below(3);
        }
        let mut change = Change::default();
        for _ in 0..1 + random.below(3) {
            let page = random.below(self.pages);
            let length = match random.chance(1, 3) {
                true => PAGE_SIZE,
                false => 1 + random.below(60) as usize,
            };
            let offset = random.below((PAGE_SIZE - length) as u64 + 1);
            let value = random.next().to_le_bytes();
            let bytes = value.iter().copied().cycle().take(length).collect();
            change
                .writes
                .push((Address(page * PAGE_SIZE as u64 + offset), bytes));
        }
        if random.chance(3, 4) {
            change.row = vec![random.next() as u8; 1 + random.below(40) as usize];
        }
        self.history.submit(change);
    }

    /// A process writes the published transactions, all of them or (`limit`) no more than so many. Does the driver's
    /// work while there is no room.
    pub(super) fn lead(
        &mut self,
        life: &mut Life,
        process: usize,
        limit: usize,
    ) -> Result<(), Over> {
        for _ in 0..1000 {
            let end = life.state.end();
            assert_eq!(
                end.tail + life.base,
                end.position.transactions,
                "{}",
                self.what
            );
            let from = end.position.transactions as usize;
            let mut records: Vec<Vec<u8>> = Vec::new();
            let bytes_max = life.processes[process].leader.group_bytes_max();
            let mut room = bytes_max;
            for change in self.history.changes()[from..].iter().take(limit) {
                let encoded = change.encode();
                if encoded.len() > room && !records.is_empty() {
                    break;
                }
                room = room.saturating_sub(encoded.len());
                records.push(encoded);
            }
            if records.is_empty() {
                return Ok(());
            }
            let pieces: Vec<&[u8]> = records.iter().map(|bytes| bytes.as_slice()).collect();
            let transactions = pieces.len() as u32;
            let tail = end.tail + pieces.len() as u64;
            let outcome = self.as_process(life, process, |process, state| {
                process
                    .leader
                    .write_group(state, transactions, &pieces, tail)
            });
            let written = life.state.end().position.transactions;
            self.history.acknowledge_first(written as usize);
            match outcome {
                None | Some(Ok(_)) => return Ok(()),
                Some(Err(SharedLogError::NoRoom | SharedLogError::Full { .. }))
                    if life.state.driving_has_ended() =>
                {
                    return Err(Over);
                }
                Some(Err(SharedLogError::NoRoom)) => {
                    let layout = life.manifest.log_layout();
                    if pieces[0].len() > bytes_max {
                        life.state.want_room_alone(layout, pieces[0].len() as u64);
                    }
                    self.keep(life)?;
                }
                Some(Err(SharedLogError::Full { .. })) if self.faulty => self.keep(life)?,
                Some(Err(error)) => return Err(self.over(&error)),
            }
        }
        panic!("{}: there is never room", self.what)
    }

    /// The driver does the waiting work; if there is no driver, another process takes over.
    pub(super) fn keep(&mut self, life: &mut Life) -> Result<(), Over> {
        if life.state.driving_has_ended() {
            return Ok(());
        }
        let driver = life.processes.iter().position(|p| p.driver.is_some());
        let driver = driver.unwrap_or(life.processes.len() - 1);
        let manifest = life.manifest.clone();
        let options = self.options.clone();
        let outcome = self.as_process(life, driver, |process, state| {
            let driver = match &mut process.driver {
                Some(driver) => driver,
                none => none.insert(Driver::take_over(
                    &process.disk,
                    &manifest,
                    &options,
                    state,
                )?),
            };
            driver.step(state)
        });
        match outcome {
            None | Some(Ok(_)) => Ok(()),
            Some(Err(_)) if self.faulty && !self.simulated.has_crashed() => {
                life.processes[driver].driver = None;
                self.failed_drivers += 1;
                life.state.fail_driving("told to fail", true);
                Ok(())
            }
            Some(Err(error)) => Err(self.over(&error)),
        }
    }

    /// Errors are expected from a crashed machine or a disk with planted faults.
    fn over(&self, error: &dyn std::error::Error) -> Over {
        let expected = self.simulated.has_crashed() || self.faulty;
        assert!(expected, "{}: {error}", self.what);
        Over
    }

    /// Runs a part of a process. If it is killed, another one joins in its place, and there is no
    /// result.
    fn as_process<T>(
        &mut self,
        life: &mut Life,
        process: usize,
        part: impl FnOnce(&mut Process, &LogState) -> T,
    ) -> Option<T> {
        let state = &*life.state;
        let here = &mut life.processes[process];
        let result = mortal_part(|| part(here, state));
        if result.is_none() {
            // Its locks go with it. The surviving processes have the others.
            drop(life.processes.remove(process));
            self.killed += 1;
            let _ = self.join(life);
        }
        result
    }

    /// So many random steps.
    pub(super) fn run(&mut self, life: &mut Life, steps: usize) -> Result<(), Over> {
        for _ in 0..steps {
            match self.random.below(10) {
                0..2 => self.submit(),
                2..6 => {
                    self.submit();
                    let process = self.random.below(life.processes.len() as u64) as usize;
                    let limit = match self.random.chance(1, 4) {
                        true => 1 + self.random.below(2) as usize,
                        false => usize::MAX,
                    };
                    self.lead(life, process, limit)?;
                }
                6..9 => self.keep(life)?,
                _ => {
                    life.state.want_checkpoint();
                }
            }
        }
        Ok(())
    }

    /// Opens the database alone, as every other way does, commits and closes.
    pub(super) fn alone(&mut self, groups: usize) -> Result<(), Over> {
        let disk: Arc<dyn Disk> = Arc::new(self.simulated.clone());
        let opened = match Engine::open(disk, self.options.clone()) {
            Ok(opened) => opened,
            Err(error) => return Err(self.over(&error)),
        };
        let transactions = opened.engine.commit().durable().transactions as usize;
        self.settle(transactions, opened.store.bytes());
        let pen = opened.engine.pen(());
        for _ in 0..groups {
            let mut held = pen.take().unwrap();
            held.appending().admit(Admission::Whole).unwrap();
            self.submit_small();
            let change = self.history.changes().last().expect("submitted");
            let mut appending = held.appending();
            change.push_to(appending.builder());
            assert!(appending.builder().end_transaction());
            let group = appending.transaction_ended();
            held.force(group).unwrap();
            self.history.acknowledge();
        }
        Ok(())
    }
}

fn pages_after(changes: &[Change]) -> Vec<u8> {
    pages_of(changes.iter().flat_map(|change| &change.writes))
}

/// Runs code of a process that may be killed in it.
fn mortal_part<T>(part: impl FnOnce() -> T) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(part)) {
        Ok(result) => Some(result),
        Err(panic) if panic.is::<Killed>() => None,
        Err(panic) => resume_unwind(panic),
    }
}
