//! Crash exploration. A small database runs on the simulated disk, crashes at a chosen step and is recovered. It is
//! compared with a model of everything that was acknowledged. Then the next life begins.

use super::{seeds, stride};
use crate::checkpoint::{Checkpointer, Progress};
use crate::disk::{Disk, Faults, SimulatedDisk};
use crate::journal::{JournalReader, Retention};
use crate::log::seal::{GroupBuilder, SealedGroup, Sequencer};
use crate::log::segment::{Prepared, Segments};
use crate::log::{LogPosition, Lsn};
use crate::manifest::Manifest;
use crate::page::{Address, PAGE_SIZE};
use crate::recovery::{Recovered, RecoveryError, RecoveryOptions, recover};
use sardonyx_base::random::Random;
use std::collections::VecDeque;
use std::sync::Arc;

const JOURNALS: u16 = 2;

/// A group's changes, for the model.
#[derive(Clone, Debug, Default)]
pub(crate) struct Change {
    writes: Vec<(Address, Vec<u8>)>,
    rows: Vec<(u16, Vec<u8>)>,
}

/// Everything that was submitted, in order, and how much of it was acknowledged.
#[derive(Debug, Default)]
pub(crate) struct Model {
    changes: Vec<Change>,
    pub acknowledged: usize,
}

impl Model {
    fn pages(&self, groups: usize) -> Vec<u8> {
        let mut pages = Vec::new();
        for (address, bytes) in self.changes[..groups].iter().flat_map(|c| &c.writes) {
            let at = address.0 as usize;
            let end = (at / PAGE_SIZE + 1) * PAGE_SIZE;
            pages.resize(pages.len().max(end), 0);
            pages[at..at + bytes.len()].copy_from_slice(bytes);
        }
        pages
    }

    pub(crate) fn rows(&self, groups: usize) -> Vec<(u64, (u16, Vec<u8>))> {
        let numbered = self.changes[..groups].iter().zip(1u64..);
        numbered
            .flat_map(|(c, group)| c.rows.iter().map(move |row| (group, row.clone())))
            .collect()
    }
}

/// A database on a simulated disk, through any number of lives.
pub(crate) struct World {
    pub simulated: SimulatedDisk,
    pub disk: Arc<dyn Disk>,
    pub model: Model,
    pub random: Random,
    /// Pages that writes go to; grows.
    pages: u64,
}

/// One life of the database: between an opening and a crash.
pub(crate) struct Life {
    segments: Segments,
    sequencer: Sequencer,
    durable: u64,
    pub checkpointers: Vec<Checkpointer>,
    /// Groups on their way to each checkpointer.
    waiting: Vec<VecDeque<Arc<SealedGroup>>>,
}

/// The disk failed, so the machine has crashed.
#[derive(Debug)]
pub(crate) struct Crashed;

impl<E: std::error::Error> From<E> for Crashed {
    fn from(_: E) -> Self {
        Crashed
    }
}

impl World {
    pub(crate) fn create(seed: u64, stripes: u32) -> World {
        let retention = if seed % 5 == 4 {
            Retention::Nothing
        } else {
            Retention::All
        };
        Self::on(
            SimulatedDisk::new(seed, Faults::default()),
            seed,
            stripes,
            retention,
        )
    }

    pub(crate) fn on(
        simulated: SimulatedDisk,
        seed: u64,
        stripes: u32,
        journal: Retention,
    ) -> World {
        let disk: Arc<dyn Disk> = Arc::new(simulated.clone());
        let manifest = Manifest {
            segment_bytes: 8 * PAGE_SIZE as u64,
            block_bytes: PAGE_SIZE as u32 * (1 + seed % 2) as u32,
            stripes,
            journal,
            ..Manifest::new(seed)
        };
        let segments = Segments::open(disk.clone(), manifest.log_layout(), Lsn(0), 1000).unwrap();
        segments.prepare_next().unwrap();
        segments.prepare_next().unwrap();
        manifest.write(&*disk).unwrap();
        let random = Random::new(seed);
        World {
            simulated,
            disk,
            model: Model::default(),
            random,
            pages: 1,
        }
    }

    /// The machine comes up again, to crash at this step of the disk if it gets there.
    pub(crate) fn restart(&mut self, crash_at_step: Option<u64>) {
        self.restart_with(Faults {
            crash_at_step,
            ..Faults::default()
        });
    }

    pub(crate) fn restart_with(&mut self, faults: Faults) {
        self.simulated = self.simulated.restart(faults);
        self.disk = Arc::new(self.simulated.clone());
    }

    /// The process was killed, or gave up; the machine goes on, and so does the next process.
    pub(crate) fn next_process(&mut self, faults: Faults) {
        self.simulated = self.simulated.next_process(faults);
        self.disk = Arc::new(self.simulated.clone());
    }

    pub(crate) fn manifest(&self) -> Manifest {
        Manifest::read(&*self.disk).unwrap()
    }

    pub(crate) fn recover(&self, dry_run: bool) -> Result<Recovered, RecoveryError> {
        let options = RecoveryOptions {
            memory_max_bytes: 1 << 24,
            workers: 2,
            dry_run,
            beside_writer: false,
            sparse: true,
            known_end: None,
        };
        recover(&self.disk, &self.manifest(), options)
    }

    /// The disk must have everything acknowledged, and only submitted data.
    pub(crate) fn check(&mut self, recovered: &Recovered, what: &str) {
        let groups = recovered.end.group as usize - 1;
        let acknowledged = self.model.acknowledged;
        assert!(
            groups >= acknowledged,
            "{what}: {groups} of {acknowledged} acknowledged groups"
        );
        assert!(
            groups <= self.model.changes.len(),
            "{what}: groups from nowhere"
        );
        assert!(
            recovered.store.bytes() == self.model.pages(groups),
            "{what}: other pages"
        );
        // Groups beyond the recovered end are lost for good; those before it are now durable.
        self.model.changes.truncate(groups);
        self.model.acknowledged = groups;
        let manifest = self.manifest();
        if manifest.journal == Retention::Nothing {
            return;
        }
        let mut reader = JournalReader::open(&self.disk, &manifest, None, None).unwrap();
        let mut rows = Vec::new();
        while let Some(row) = reader.next_row().unwrap() {
            rows.push((row.place.group, (row.journal, row.bytes.to_vec())));
        }
        assert!(
            rows == self.model.rows(groups),
            "{what}: other journal rows"
        );
    }

    /// Recovers, checks, and opens for a next life.
    pub(crate) fn open(&mut self, what: &str) -> Result<Life, Crashed> {
        let Ok(recovered) = self.recover(false) else {
            return Err(Crashed);
        };
        self.check(&recovered, what);
        let mut manifest = self.manifest();
        manifest.incarnation = manifest.incarnation.max(recovered.last_incarnation) + 1;
        manifest.write(&*self.disk)?;
        let mut checkpointers = recovered.checkpointers;
        for checkpointer in &mut checkpointers {
            checkpointer.limit_archive(256, 3 * PAGE_SIZE as u64);
        }
        let needed = needed_from(&checkpointers);
        let layout = manifest.log_layout();
        let segments = Segments::open(self.disk.clone(), layout, needed.lsn, 1000)?;
        let waiting = checkpointers.iter().map(|_| VecDeque::new()).collect();
        let sequencer = Sequencer::new(layout, manifest.incarnation, recovered.end);
        let durable = recovered.end.group - 1;
        Ok(Life {
            segments,
            sequencer,
            durable,
            checkpointers,
            waiting,
        })
    }

    fn change(&mut self) -> Change {
        let random = &mut self.random;
        if random.chance(1, 6) && self.pages < 14 {
            self.pages += 1 + random.below(3);
        }
        let mut change = Change::default();
        for _ in 0..1 + random.below(4) {
            let page = random.below(self.pages);
            let length = if random.chance(1, 10) {
                PAGE_SIZE
            } else {
                1 + random.below(40) as usize
            };
            let offset = random.below((PAGE_SIZE - length) as u64 + 1);
            let address = Address(page * PAGE_SIZE as u64 + offset);
            let value = random.next().to_le_bytes();
            change.writes.push((
                address,
                value.iter().copied().cycle().take(length).collect(),
            ));
        }
        for _ in 0..random.below(3) {
            let journal = random.below(u64::from(JOURNALS)) as u16;
            let length = 1 + random.below(60) as usize;
            change
                .rows
                .push((journal, vec![random.next() as u8; length]));
        }
        change
    }

    pub(crate) fn commit(&mut self, life: &mut Life) -> Result<(), Crashed> {
        let change = self.change();
        let mut builder = GroupBuilder::with_capacity(PAGE_SIZE);
        for (address, bytes) in &change.writes {
            builder.push_write(*address, bytes);
        }
        for (journal, row) in &change.rows {
            builder.push_journal(*journal, row);
        }
        builder.end_transaction();
        let mut group = life.sequencer.seal(builder);
        group.finish(life.durable);
        // The log's rule: the segment after the one being written is prepared before.
        while life.segments.prepared_end() <= life.sequencer.next().lsn {
            assert_eq!(life.segments.prepare_next()?, Prepared::Yes);
        }
        self.model.changes.push(change);
        let layout = life.segments.layout();
        let lsn = group.header().lsn;
        let file = life.segments.file(layout.segment_of(lsn))?;
        file.write_durable_at(layout.offset_in_segment(lsn), group.bytes())?;
        life.durable = group.header().number;
        self.model.acknowledged = self.model.changes.len();
        let group = Arc::new(group);
        life.waiting
            .iter_mut()
            .for_each(|waiting| waiting.push_back(group.clone()));
        Ok(())
    }

    /// Runs so many random steps.
    pub(crate) fn run(&mut self, life: &mut Life, steps: usize) -> Result<(), Crashed> {
        for _ in 0..steps {
            let stripe = self.random.below(life.checkpointers.len() as u64) as usize;
            match self.random.below(10) {
                0..3 => self.commit(life)?,
                3..6 => {
                    let checkpointer = &mut life.checkpointers[stripe];
                    while let Some(group) = life.waiting[stripe].pop_front() {
                        checkpointer.apply(group.header(), group.payload())?;
                        checkpointer.write_archive()?;
                        if self.random.chance(1, 3) {
                            break;
                        }
                    }
                }
                _ => life.write(stripe)?,
            }
        }
        Ok(())
    }
}

impl Life {
    /// A step of the writeout; I6 is checked at each.
    fn write(&mut self, stripe: usize) -> Result<(), Crashed> {
        let checkpointer = &mut self.checkpointers[stripe];
        if !checkpointer.is_writing() {
            checkpointer.begin()?;
        }
        let complete = checkpointer.last_complete();
        let progress = checkpointer.write_next_block();
        if !matches!(progress, Ok(Progress::Complete { .. })) {
            assert_eq!(checkpointer.last_complete(), complete, "I6: {progress:?}");
        }
        let (needed, complete) = (checkpointer.log_needed_from(), checkpointer.last_complete());
        assert!(
            needed.group <= complete.redo_start.group,
            "I6: {needed:?}, {complete:?}"
        );
        if let Progress::Complete { .. } = progress? {
            let needed = needed_from(&self.checkpointers);
            self.segments.free_before(needed.lsn);
        }
        Ok(())
    }
}

impl Life {
    /// The groups on their way to a checkpointer.
    pub(crate) fn waiting(&self, stripe: usize) -> &VecDeque<Arc<SealedGroup>> {
        &self.waiting[stripe]
    }

    /// Gives all groups to all checkpointers.
    pub(crate) fn apply_all(&mut self) {
        for (checkpointer, waiting) in self.checkpointers.iter_mut().zip(&mut self.waiting) {
            for group in waiting.drain(..) {
                checkpointer.apply(group.header(), group.payload()).unwrap();
                checkpointer.write_archive().unwrap();
            }
        }
    }

    /// Applies everything and completes a checkpoint of every stripe.
    pub(crate) fn checkpoint(&mut self) -> Result<(), Crashed> {
        for stripe in 0..self.checkpointers.len() {
            let checkpointer = &mut self.checkpointers[stripe];
            while checkpointer.is_writing() {
                checkpointer.write_next_block()?;
            }
            while let Some(group) = self.waiting[stripe].pop_front() {
                checkpointer.apply(group.header(), group.payload())?;
                checkpointer.write_archive()?;
            }
            let complete = checkpointer.statistics().checkpoints;
            while self.checkpointers[stripe].statistics().checkpoints == complete {
                self.write(stripe)?;
            }
        }
        Ok(())
    }
}

fn needed_from(checkpointers: &[Checkpointer]) -> LogPosition {
    let needed = checkpointers.iter().map(Checkpointer::log_needed_from);
    needed.min_by_key(|position| position.group).unwrap()
}

/// One seed. A life ends by loss of power, then one crashes at a step of the disk. Then come recovery, which may be
/// cut off, too, and a last life. Returns whether the crash came.
fn explore(seed: u64, stripes: u32, crash_at: u64) -> bool {
    let what = format!("seed {seed}, {stripes} stripes, crash at {crash_at}");
    let mut world = World::create(seed, stripes);
    let mut life = world.open(&what).unwrap();
    world.run(&mut life, 40).unwrap();
    drop(life);
    world.restart(Some(crash_at));
    let mut crashed = true;
    if let Ok(mut life) = world.open(&what) {
        crashed = world.run(&mut life, 60).is_err();
    }
    // The first attempt to recover is cut off halfway; it must leave nothing that harms the next.
    world.restart(Some(1 + crash_at % 7));
    drop(world.open(&what));
    world.restart(None);
    let recovered = world
        .recover(true)
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    world.check(&recovered, &what);
    let mut life = world
        .open(&what)
        .unwrap_or_else(|_| panic!("{what}: does not open"));
    world.run(&mut life, 30).unwrap();
    drop(life);
    let recovered = world
        .recover(false)
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    world.check(&recovered, &what);
    crashed
}

#[test]
fn i3_i6_every_crash_point_recovers_all_acknowledged_groups() {
    // Each number of stripes has a seed of its own, unless more are asked for.
    for stripes in 1..=3 {
        // 3, 4 and 5: journals that keep everything and nothing, both sizes of blocks.
        let first = 2 + u64::from(stripes);
        for seed in first..first + seeds(1) {
            let mut crash_at = 1 + seed % stride(2) as u64;
            while explore(seed, stripes, crash_at) {
                crash_at += stride(2) as u64;
            }
            assert!(
                crash_at > 20,
                "seed {seed}: the run has {crash_at} steps only"
            );
        }
    }
}

#[test]
fn i3_many_lives_with_a_crash_in_each_recover_all_acknowledged_groups() {
    for seed in 100..100 + seeds(30) {
        let mut world = World::create(seed, 1 + (seed % 3) as u32);
        let mut opened = 0;
        for number in 0..12 {
            let what = format!("seed {seed}, life {number}");
            let steps = 1 + world.random.below(120);
            world.restart(Some(steps));
            if let Ok(mut life) = world.open(&what) {
                opened += 1;
                let _ = world.run(&mut life, 100);
            }
            world.restart(None);
            let recovered = world
                .recover(true)
                .unwrap_or_else(|e| panic!("{what}: {e}"));
            world.check(&recovered, &what);
        }
        assert!(opened > 3, "seed {seed}: {opened} lives only");
    }
}
