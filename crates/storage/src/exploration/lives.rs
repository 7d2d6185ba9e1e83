//! Lives of a small database without an engine: a log, checkpoints and recovery, at whose steps the crash world ends them.

use crate::checkpoint::{Checkpointer, Progress};
use crate::crashes::{End, History, Stopped, Subject, Walk};
use crate::disk::{Disk, Faults, SimulatedDisk};
use crate::journal::{JournalReader, Retention};
use crate::log::seal::{GroupBuilder, SealedGroup, Sequencer};
use crate::log::segment::{Prepared, Segments};
use crate::log::{LogPosition, Lsn};
use crate::manifest::Manifest;
use crate::page::{Address, PAGE_SIZE};
use crate::recovery::{Recovered, RecoveryError, RecoveryOptions, recover};
use sardonyx_base::random::Random;
use sardonyx_base::seeds::Seeds;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

/// A database of [`Lives`].
pub(crate) type World = crate::crashes::World<Lives>;

const JOURNALS: u16 = 2;

/// A group's changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Change {
    writes: Vec<(Address, Vec<u8>)>,
    rows: Vec<(u16, Vec<u8>)>,
}

/// A journal's rows, each with its group.
type Rows = Vec<(u64, (u16, Vec<u8>))>;

/// The content of a database.
#[derive(PartialEq)]
struct Content {
    groups: usize,
    pages: Vec<u8>,
    rows: Rows,
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Content {
            groups,
            pages,
            rows,
        } = self;
        let (pages, rows) = (pages.len() / PAGE_SIZE, rows.len());
        write!(f, "{groups} groups, {pages} pages, {rows} rows of journals")
    }
}

/// The pages after these writes.
pub(super) fn pages_of<'c>(writes: impl Iterator<Item = &'c (Address, Vec<u8>)>) -> Vec<u8> {
    let mut pages = Vec::new();
    for (address, bytes) in writes {
        let at = address.0 as usize;
        let end = (at / PAGE_SIZE + 1) * PAGE_SIZE;
        pages.resize(pages.len().max(end), 0);
        pages[at..at + bytes.len()].copy_from_slice(bytes);
    }
    pages
}

/// The journals' rows after these changes.
pub(crate) fn rows_of(changes: &[Change]) -> Rows {
    let numbered = changes.iter().zip(1u64..);
    numbered
        .flat_map(|(c, group)| c.rows.iter().map(move |row| (group, row.clone())))
        .collect()
}

/// The storage without an engine.
pub(crate) struct Lives {
    random: Random,
    /// Pages that writes go to; grows.
    pages: u64,
    keeps_rows: bool,
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

/// The disk, as the storage takes it.
fn dynamic(disk: &SimulatedDisk) -> Arc<dyn Disk> {
    Arc::new(disk.clone())
}

impl World {
    pub(crate) fn create(name: String, seed: u64, stripes: u32) -> World {
        let retention = if seed % 5 == 4 {
            Retention::Nothing
        } else {
            Retention::All
        };
        Self::with(name, seed, stripes, retention)
    }

    pub(crate) fn with(name: String, seed: u64, stripes: u32, journal: Retention) -> World {
        let simulated = SimulatedDisk::new(seed, Faults::default());
        let disk = dynamic(&simulated);
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
        let lives = Lives {
            random: Random::new(seed),
            pages: 1,
            keeps_rows: journal != Retention::Nothing,
        };
        World::new(name, simulated, lives)
    }

    /// The disk, as the storage takes it.
    pub(crate) fn dynamic(&self) -> Arc<dyn Disk> {
        dynamic(&self.disk)
    }

    pub(crate) fn manifest(&self) -> Manifest {
        Manifest::read(&self.disk).unwrap()
    }

    pub(crate) fn recover(&self, dry_run: bool) -> Result<Recovered, RecoveryError> {
        recovered(&self.dynamic(), dry_run)
    }

    /// The recovered data must be everything submitted: nothing that was acknowledged is missing.
    pub(crate) fn judge(&self, recovered: &Recovered) {
        let content = self.subject.content(&self.dynamic(), recovered);
        let expected = |changes: &[Change]| self.subject.expected(changes);
        self.history.judge(&content, expected);
    }

    pub(crate) fn commit(&mut self, life: &mut Life) {
        self.subject.commit(life, &mut self.history).unwrap();
    }
}

fn recovered(disk: &Arc<dyn Disk>, dry_run: bool) -> Result<Recovered, RecoveryError> {
    let options = RecoveryOptions {
        memory_max_bytes: 1 << 24,
        workers: 2,
        dry_run,
        beside_writer: false,
        sparse: true,
        known_end: None,
        checkpoints: Default::default(),
    };
    recover(disk, &Manifest::read(&**disk).unwrap(), options)
}

impl Subject for Lives {
    type Open = Life;
    type Change = Change;

    fn recover(
        &mut self,
        disk: &SimulatedDisk,
        history: &mut History<Change>,
    ) -> Result<Life, Stopped> {
        let disk = dynamic(disk);
        let recovered = recovered(&disk, false)?;
        history.settle(&self.content(&disk, &recovered), |c| self.expected(c));
        let mut manifest = Manifest::read(&*disk)?;
        manifest.incarnation = manifest.incarnation.max(recovered.last_incarnation) + 1;
        manifest.write(&*disk)?;
        let mut checkpointers = recovered.checkpointers;
        for checkpointer in &mut checkpointers {
            checkpointer.limit_archive(256, 3 * PAGE_SIZE as u64);
        }
        let needed = needed_from(&checkpointers);
        let layout = manifest.log_layout();
        let segments = Segments::open(disk, layout, needed.lsn, 1000)?;
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

    fn submit(&mut self, life: &mut Life, history: &mut History<Change>) -> Result<(), Stopped> {
        let stripe = self.random.below(life.checkpointers.len() as u64) as usize;
        match self.random.below(10) {
            0..3 => self.commit(life, history)?,
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
        Ok(())
    }

    fn observe(
        &mut self,
        disk: &SimulatedDisk,
        history: &mut History<Change>,
    ) -> Result<(), Stopped> {
        let disk = dynamic(disk);
        let recovered = recovered(&disk, true)?;
        history.judge(&self.content(&disk, &recovered), |c| self.expected(c));
        Ok(())
    }
}

impl Lives {
    fn expected(&self, changes: &[Change]) -> Content {
        Content {
            groups: changes.len(),
            pages: pages_of(changes.iter().flat_map(|c| &c.writes)),
            rows: match self.keeps_rows {
                true => rows_of(changes),
                false => Rows::new(),
            },
        }
    }

    fn content(&self, disk: &Arc<dyn Disk>, recovered: &Recovered) -> Content {
        let manifest = Manifest::read(&**disk).unwrap();
        let mut rows = Rows::new();
        if self.keeps_rows {
            let mut reader = JournalReader::open(disk, &manifest, None, None).unwrap();
            while let Some(row) = reader.next_row().unwrap() {
                rows.push((row.place.group, (row.journal, row.bytes.to_vec())));
            }
        }
        Content {
            groups: recovered.end.group as usize - 1,
            pages: recovered.store.bytes().to_vec(),
            rows,
        }
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

    fn commit(&mut self, life: &mut Life, history: &mut History<Change>) -> Result<(), Stopped> {
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
        history.submit(change);
        let layout = life.segments.layout();
        let lsn = group.header().lsn;
        let file = life.segments.file(layout.segment_of(lsn))?;
        file.write_durable_at(layout.offset_in_segment(lsn), group.bytes())?;
        life.durable = group.header().number;
        history.acknowledge();
        let group = Arc::new(group);
        life.waiting
            .iter_mut()
            .for_each(|waiting| waiting.push_back(group.clone()));
        Ok(())
    }
}

impl Life {
    /// A step of the writeout; I6 is checked at each.
    fn write(&mut self, stripe: usize) -> Result<(), Stopped> {
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
    pub(crate) fn checkpoint(&mut self) -> Result<(), Stopped> {
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
    let name = format!("seed {seed}, {stripes} stripes, crash at {crash_at}");
    let mut world = World::create(name, seed, stripes);
    world.must_live(40);
    world.restart(End::Crash(crash_at));
    let crashed = !world.live(60);
    // The first attempt to recover is cut off halfway; it must leave nothing that harms the next.
    world.restart(End::Crash(1 + crash_at % 7));
    world.live(0);
    world.restart(End::Cut);
    world.check();
    world.must_live(30);
    world.must_live(0);
    crashed
}

#[test]
fn i3_i6_every_crash_point_recovers_all_acknowledged_groups() {
    // Each number of stripes has a seed of its own, unless more are asked for.
    for stripes in 1..=3 {
        // 3, 4 and 5: journals that keep everything and nothing, both sizes of blocks.
        Seeds::new(2 + u64::from(stripes), 1).explore(|seed| {
            let walk = Walk::each(3).beginning(seed).at_least(20);
            walk.explore(&format!("seed {seed}"), |at| explore(seed, stripes, at));
        });
    }
}

#[test]
fn i3_many_lives_with_a_crash_in_each_recover_all_acknowledged_groups() {
    Seeds::new(100, 12).explore(|seed| {
        let mut world = World::create(format!("seed {seed}"), seed, 1 + (seed % 3) as u32);
        let mut opened = 0;
        for number in 0..12 {
            world.rename(format!("seed {seed}, life {number}"));
            let steps = 1 + world.subject.random.below(120);
            world.restart(End::Crash(steps));
            if let Some(mut life) = world.open() {
                opened += 1;
                world.run(&mut life, 100);
            }
            world.restart(End::Cut);
            world.check();
        }
        assert!(opened > 3, "seed {seed}: {opened} lives only");
    });
}
