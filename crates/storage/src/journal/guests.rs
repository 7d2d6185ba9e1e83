//! Readers of a journal while it is written, archived, freed from the log and removed from the archive,
//! interleaved by a seed (I13). They get every row once and in order, or an error that they were overtaken;
//! and the writer never waits for one.

use super::archive::ArchiveEnd;
use super::{Archiver, JournalError, JournalPosition, JournalReader, Retention, RowRange};
use crate::disk::{Disk, Faults, SimulatedDisk};
use crate::log::LogPosition;
use crate::log::record::Records;
use crate::log::seal::{GroupBuilder, SealedGroup, Sequencer};
use crate::log::segment::{Prepared, Segments};
use crate::manifest::Manifest;
use crate::page::PAGE_SIZE;
use sardonyx_base::random::Random;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

type Row = (u64, u16, Vec<u8>);
type Rows = Vec<Row>;

struct World {
    disk: Arc<dyn Disk>,
    manifest: Manifest,
    segments: Arc<Segments>,
    sequencer: Sequencer,
    archiver: Archiver,
    /// Groups that the archiver was not given yet.
    waiting: VecDeque<SealedGroup>,
    rows: Rows,
    durable: u64,
    random: Random,
}

impl World {
    fn new(seed: u64, journal: Retention) -> World {
        let disk: Arc<dyn Disk> = Arc::new(SimulatedDisk::new(seed, Faults::default()));
        let manifest = Manifest {
            segment_bytes: 8 * PAGE_SIZE as u64,
            journal,
            ..Manifest::new(seed)
        };
        let layout = manifest.log_layout();
        let start = LogPosition::START;
        let segments = Segments::open(disk.clone(), layout, start.lsn, 3).unwrap();
        let archiver = Archiver::new(disk.clone(), seed, journal, ArchiveEnd::EMPTY);
        World {
            segments: Arc::new(segments),
            sequencer: Sequencer::new(layout, 1, start),
            archiver: archiver.unwrap().with_limits(200, 3 * PAGE_SIZE as u64),
            waiting: VecDeque::new(),
            rows: Vec::new(),
            durable: 0,
            random: Random::new(seed),
            disk,
            manifest,
        }
    }

    /// Writes a group. At the log's limit, archived log is freed in spite of its readers.
    fn write(&mut self) {
        while self.segments.prepared_end() <= self.sequencer.next().lsn {
            if self.segments.prepare_next().unwrap() == Prepared::NoRoom {
                self.archive(usize::MAX);
                let freed = self.segments.free_before(self.archiver.durable_end().lsn);
                assert!(freed > 0, "a reader holds the log back");
            }
        }
        let mut builder = GroupBuilder::with_capacity(PAGE_SIZE);
        for _ in 0..self.random.below(4) {
            let journal = self.random.below(3) as u16;
            let length = 1 + self.random.below(60) as usize;
            let row = vec![self.random.next() as u8; length];
            builder.push_journal(journal, &row);
            self.rows.push((self.sequencer.next().group, journal, row));
        }
        builder.end_transaction();
        let mut group = self.sequencer.seal(builder);
        group.finish(self.durable);
        let header = *group.header();
        let layout = self.segments.layout();
        let file = self.segments.file(layout.segment_of(header.lsn)).unwrap();
        file.write_durable_at(layout.offset_in_segment(header.lsn), group.bytes())
            .unwrap();
        self.durable = header.number;
        self.waiting.push_back(group);
    }

    /// Archives so many groups, durably.
    fn archive(&mut self, groups: usize) {
        for group in self.waiting.drain(..groups.min(self.waiting.len())) {
            let mut rows = self.archiver.group(group.header());
            let mut records = Records::new(group.payload());
            let mut start = 0;
            while let Some(record) = records.next() {
                record.unwrap();
                rows.push(&group.payload()[start..records.offset()]);
                start = records.offset();
            }
            self.archiver.end_group(group.header());
        }
        self.archiver.sync().unwrap();
    }

    /// A step of all but the reader.
    fn go_on(&mut self) {
        match self.random.below(8) {
            0 => {
                let groups = self.random.below(20) as usize;
                self.archive(groups);
            }
            1 => {
                self.segments.free_before(self.archiver.durable_end().lsn);
            }
            2 if self.random.chance(1, 8) => (0..40).for_each(|_| self.write()),
            _ => self.write(),
        }
    }

    /// Reads while the others go on, and stops where the log ended when it began.
    fn read(&mut self, journal: Option<u16>) -> (Rows, Result<(), JournalError>, u64) {
        let before = self.durable + 1;
        let mut reader = JournalReader::open(&self.disk, &self.manifest, journal, None)
            .unwrap()
            .while_written(&self.segments, before);
        let mut rows = Rows::new();
        // One that is slow at times: the others do much between two rows.
        let slowness = 1 + self.random.below(4);
        loop {
            while self.random.below(slowness + 2) >= 2 {
                self.go_on();
            }
            match reader.next_row() {
                Ok(Some(row)) => rows.push((row.place.group, row.journal, row.bytes.to_vec())),
                Ok(None) => return (rows, Ok(()), before),
                Err(error) => return (rows, Err(error), before),
            }
        }
    }

    /// As [`World::read`], of a range, from both ends in turns by chance: the rows from the front, and those
    /// from the back in their order.
    fn read_range(&mut self, range: Range<JournalPosition>) -> (Rows, Result<(), JournalError>) {
        let before = self.durable + 1;
        let mut rest = RowRange::open(&self.disk, &self.manifest, None, range)
            .unwrap()
            .while_written(&self.segments, before);
        let (mut front, mut back) = (Rows::new(), Rows::new());
        let backwards = self.random.below(5);
        let ended = loop {
            while self.random.below(3) == 0 {
                self.go_on();
            }
            let from_back = self.random.below(4) < backwards;
            let row = match from_back {
                true => rest.next_row_back(),
                false => rest.next_row(),
            };
            match row {
                Ok(Some(row)) => {
                    let rows = if from_back { &mut back } else { &mut front };
                    rows.push((row.place.group, row.journal, row.bytes));
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        back.reverse();
        if ended.is_ok() {
            front.append(&mut back);
        }
        (front, ended)
    }

    fn positions(&self) -> Vec<(JournalPosition, Row)> {
        let mut at = JournalPosition::START;
        let rows = self.rows.iter().map(|row| {
            let group = row.0;
            let row_number = if at.group == group { at.row + 1 } else { 0 };
            at = JournalPosition {
                group,
                row: row_number,
            };
            (at, row.clone())
        });
        rows.collect()
    }

    fn expected(&self, journal: Option<u16>, before: u64) -> Rows {
        let rows = self.rows.iter();
        rows.filter(|(group, of, _)| *group < before && journal.is_none_or(|only| only == *of))
            .cloned()
            .collect()
    }
}

#[test]
fn i13_a_reader_is_given_every_row_however_often_the_log_is_freed_under_it() {
    let mut laps = 0;
    for seed in 0..16 {
        let mut world = World::new(seed, Retention::All);
        for _ in 0..world.random.below(80) {
            world.go_on();
        }
        for journal in [None, Some(1)] {
            let before = world.segments.prepared_end();
            let (rows, ended, end) = world.read(journal);
            ended.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            assert!(rows == world.expected(journal, end), "seed {seed}");
            let log_bytes = world.segments.segments_max() * world.segments.layout().segment_bytes;
            laps += (world.segments.prepared_end().0 - before.0) / log_bytes;
        }
    }
    assert!(laps > 60, "{laps} laps of the log under the readers only");
}

#[test]
fn i13_a_reader_below_which_the_archive_is_removed_is_told_so() {
    let (mut overtaken, mut whole) = (0, 0);
    for seed in 0..40 {
        let keep = Retention::KeepBytes((2 + seed % 9) * PAGE_SIZE as u64);
        let mut world = World::new(seed, keep);
        for _ in 0..world.random.below(50) {
            world.go_on();
        }
        let (rows, ended, end) = world.read(None);
        // Its rows are consecutive; if it came to the end, with nothing behind it.
        let expected = world.expected(None, end);
        let first = expected
            .windows(rows.len().max(1))
            .position(|run| run == rows);
        match ended {
            Ok(()) => {
                assert!(expected.ends_with(&rows), "seed {seed}");
                whole += 1;
            }
            Err(JournalError::Overtaken { .. }) => {
                assert!(rows.is_empty() || first.is_some(), "seed {seed}");
                overtaken += 1;
            }
            Err(error) => panic!("seed {seed}: {error}"),
        }
    }
    assert!(
        overtaken > 10 && whole > 10,
        "{overtaken} overtaken, {whole} whole"
    );
}

#[test]
fn i13_a_range_is_read_from_both_ends_however_often_the_log_is_freed_under_it() {
    for seed in 0..sardonyx_base::random::seeds(15) {
        let mut world = World::new(seed, Retention::All);
        for _ in 0..200 + world.random.below(200) {
            world.go_on();
        }
        let all = world.positions();
        let mut bound = || match world.random.below(6) {
            0 => JournalPosition::START,
            1 => JournalPosition::END,
            _ => all[world.random.below(all.len() as u64) as usize].0,
        };
        let range = bound()..bound();
        let (rows, ended) = world.read_range(range.clone());
        ended.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let expected = all.into_iter().filter(|(at, _)| range.contains(at));
        let expected: Rows = expected.map(|(_, row)| row).collect();
        assert!(rows == expected, "seed {seed}: {range:?}");
    }
}

#[test]
fn i13_who_begins_at_a_row_that_was_removed_is_told_so() {
    let mut removed = 0;
    for seed in 0..40 {
        let mut world = World::new(seed, Retention::KeepBytes(4 * PAGE_SIZE as u64));
        for _ in 0..300 {
            world.go_on();
        }
        let all = world.positions();
        let start = all[world.random.below(all.len() as u64) as usize].0;
        let (rows, ended) = world.read_range(start..JournalPosition::END);
        let expected = all.into_iter().filter(|(at, _)| *at >= start);
        let expected: Rows = expected.map(|(_, row)| row).collect();
        match ended {
            Ok(()) => assert!(rows == expected, "seed {seed}: {start}"),
            Err(JournalError::Removed { from, oldest }) => {
                // It got its earlier rows in order.
                assert!(
                    expected.starts_with(&rows) && oldest > start.group,
                    "seed {seed}"
                );
                assert!(from >= start, "seed {seed}");
                removed += 1;
            }
            Err(JournalError::Overtaken { .. }) => assert!(expected.starts_with(&rows)),
            Err(error) => panic!("seed {seed}: {error}"),
        }
    }
    assert!(removed > 5, "{removed} only");
}
