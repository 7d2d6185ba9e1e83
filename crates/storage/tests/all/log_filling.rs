//! Zeroes ahead of small groups: they never hide a group that was acknowledged, whatever the order in which groups are
//! written, and wherever the machine crashes, the process is killed or a write of zeroes fails.
//!
//! Groups are blocks of one value here, written as the log writer writes them: claimed, written durably, acknowledged.

use sardonyx_base::random::Random;
use sardonyx_storage::disk::{AlignedBuffer, Disk, Faults, SimulatedDisk};
use sardonyx_storage::log::segment::{Prepared, Segments, segment_file};
use sardonyx_storage::log::{LogError, LogLayout, Lsn};
use std::sync::Arc;

const LAYOUT: LogLayout = LogLayout::new(5, 128 << 10);

const BLOCK: u64 = 4096;

/// Two groups are in flight at once, so often.
const PAIRS: usize = 16;

#[derive(Clone, Copy, Debug)]
struct Group {
    at: Lsn,
    bytes: u64,
    value: u8,
}

impl Group {
    fn end(self) -> Lsn {
        Lsn(self.at.0 + self.bytes)
    }

    fn place(self) -> (u64, u64) {
        (
            LAYOUT.segment_of(self.at),
            LAYOUT.offset_in_segment(self.at),
        )
    }
}

/// A log, life after life.
struct World {
    random: Random,
    disk: SimulatedDisk,
    acknowledged: Vec<Group>,
    /// Where the next group goes.
    end: Lsn,
    /// Bytes of zeroes that were written ahead.
    fills: u64,
}

impl World {
    fn new(seed: u64, faults: Faults) -> World {
        World {
            random: Random::stream(seed, 77),
            disk: SimulatedDisk::new(seed, faults),
            acknowledged: Vec::new(),
            end: Lsn(0),
            fills: 0,
        }
    }

    fn open(&self) -> Result<Segments, LogError> {
        let disk: Arc<dyn Disk> = Arc::new(self.disk.clone());
        let segments = Segments::open(disk, LAYOUT, Lsn(0), 64)?.first_bytes(16 << 10);
        segments.confirm(self.end)?;
        Ok(segments)
    }

    /// The next group's place.
    fn place(&mut self, at: Lsn) -> Group {
        let bytes = BLOCK * (1 + self.random.below(4));
        Group {
            at: LAYOUT.place(at, bytes),
            bytes,
            value: 1 + self.random.below(255) as u8,
        }
    }

    fn fill(&mut self, segments: &Segments) {
        if self.random.chance(1, 2) {
            self.fills += u64::from(segments.wants_filling());
            segments.fill();
        }
    }

    /// Writes two groups, in any order, with fills in between.
    fn write_two(&mut self, segments: &Segments) -> Result<(), LogError> {
        let first = self.place(self.end);
        let second = self.place(first.end());
        segments.prepare_for_group(second.at, second.bytes)?;
        let (mut groups, mut written) = ([first, second], Vec::new());
        if self.random.chance(1, 2) {
            groups.swap(0, 1);
        }
        let claims_both = self.random.chance(1, 2);
        let claim = |group: &Group| {
            let (segment, offset) = group.place();
            segments.claim(segment, offset, group.bytes)
        };
        if claims_both {
            groups.iter().try_for_each(claim)?;
        }
        for group in groups {
            self.fill(segments);
            if !claims_both {
                claim(&group)?;
            }
            self.fill(segments);
            let mut bytes = AlignedBuffer::zeroed(group.bytes as usize);
            bytes.fill(group.value);
            let (segment, offset) = group.place();
            segments.file(segment)?.write_durable_at(offset, &bytes)?;
            segments.check_filling()?;
            // Acknowledged in order, and the log ends with what is.
            written.push(group.at);
            for group in [first, second] {
                let is_next = group.at == first.at || self.end == first.end();
                if is_next && group.at >= self.end && written.contains(&group.at) {
                    self.acknowledged.push(group);
                    self.end = group.end();
                }
            }
        }
        self.fill(segments);
        Ok(())
    }

    fn run(&mut self) -> Result<(), LogError> {
        let segments = self.open()?;
        (0..PAIRS).try_for_each(|_| self.write_two(&segments))
    }

    fn check(&self, what: &str) {
        for group in &self.acknowledged {
            let (segment, offset) = group.place();
            let file = self.disk.read_all(&segment_file(segment));
            let file = file.unwrap_or_else(|| panic!("{what}: no segment {segment}"));
            let bytes = file.get(offset as usize..(offset + group.bytes) as usize);
            let bytes = bytes.unwrap_or_else(|| panic!("{what}: {group:?} is cut"));
            let is_there = bytes.iter().all(|byte| *byte == group.value);
            assert!(is_there, "{what}: {group:?} is lost");
        }
    }
}

/// Has the log written with each fault of this kind, and then by whoever goes on.
fn explore(fault: fn(u64) -> Faults, next: fn(&SimulatedDisk) -> SimulatedDisk) -> u64 {
    let mut fills = 0;
    for seed in 0..2 {
        for at in 1.. {
            let what = format!("seed {seed}, fault {at}");
            let mut world = World::new(seed, fault(at));
            let is_over = world.run().is_ok();
            world.disk = next(&world.disk);
            world.check(&what);
            world.run().expect("sound");
            world.disk = world.disk.restart(Faults::default());
            world.check(&what);
            fills += world.fills;
            if is_over {
                break;
            }
        }
    }
    fills
}

#[test]
fn no_crash_kill_or_failed_sync_loses_a_group_beside_zeroes() {
    let crash = |at| Faults {
        crash_at_step: Some(at),
        ..Faults::default()
    };
    let kill = |at| Faults {
        kill_at_step: Some(at),
        ..Faults::default()
    };
    let fail = |at| Faults {
        fail_sync_at: Some(at),
        ..Faults::default()
    };
    assert!(explore(crash, |disk| disk.restart(Faults::default())) > 200);
    assert!(explore(kill, |disk| disk.next_process(Faults::default())) > 200);
    // Of what was written before a failed sync, but for what was acknowledged, nothing is known.
    assert!(explore(fail, |disk| disk.next_process(Faults::default())) > 200);
    assert!(explore(fail, |disk| disk.restart(Faults::default())) > 200);
}

#[test]
fn a_log_that_is_opened_again_knows_what_of_it_is_written() {
    let mut world = World::new(1, Faults::default());
    world.run().expect("sound");
    let bytes_of = |world: &World| {
        let files = world.disk.files();
        let of_log = files.iter().filter(|name| name.starts_with("log/"));
        of_log
            .map(|name| world.disk.read_all(name).expect("it is there").len())
            .sum::<usize>()
    };
    let before = bytes_of(&world);
    let segments = world.open().expect("sound");
    let last = LAYOUT.segment_of(world.end);
    let file = segments.file(last).expect("prepared");
    let written = file.written_until(0).expect("it says so");
    let end = LAYOUT.offset_in_segment(world.end);
    assert!(written >= end, "{written} of {end}");
    // A group that ends where half of what is ahead is written still, or more, wants nothing.
    let ahead = LAYOUT.segment_bytes / 4;
    if written >= end + ahead / 2 + BLOCK {
        segments.claim(last, end, BLOCK).expect("sound");
        assert!(!segments.wants_filling());
    }
    let unwritten = (written.max(end) - BLOCK).max(end);
    segments.claim(last, unwritten, BLOCK).expect("sound");
    assert!(segments.wants_filling() || written == LAYOUT.segment_bytes);
    segments.fill();
    assert!(segments.file(last).unwrap().written_until(0).unwrap() > written);
    assert_eq!(bytes_of(&world), before, "nothing grows");
}

#[test]
fn a_segment_that_is_used_again_is_written_already() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let segments = Segments::open(shared, LAYOUT, Lsn(0), 4).expect("sound");
    for _ in 0..2 {
        assert_eq!(segments.prepare_next().expect("room"), Prepared::Yes);
    }
    let whole = AlignedBuffer::zeroed(LAYOUT.segment_bytes as usize);
    let file = segments.file(0).expect("prepared");
    file.write_durable_at(0, &whole).expect("sound");
    segments.free_before(LAYOUT.segment_start(1));
    assert_eq!(segments.prepare_next().expect("room"), Prepared::Yes);
    segments.claim(2, 0, BLOCK).expect("sound");
    assert!(
        !segments.wants_filling(),
        "it has no room that is unwritten"
    );
    segments.claim(1, 0, BLOCK).expect("sound");
    assert!(segments.wants_filling());
}

#[test]
fn segments_that_are_filled_whole_are_written_when_they_are_prepared() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let segments = Segments::open(shared, LAYOUT, Lsn(0), 4).expect("sound");
    let segments = segments.filled_whole();
    segments.prepare_next().expect("room");
    let file = segments.file(0).expect("prepared");
    assert_eq!(
        file.written_until(0).expect("it says so"),
        LAYOUT.segment_bytes
    );
    segments.claim(0, 0, BLOCK).expect("sound");
    assert!(!segments.wants_filling());
}
