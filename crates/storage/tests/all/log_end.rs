//! The log's end, distinguished from corruption (I4), from stale bytes of recycled segments (I5) and from leftovers of
//! an earlier incarnation.

use sardonyx_storage::disk::{Access, Create, Disk, DiskError, DiskFile, DiskLock, RealDisk};
use sardonyx_storage::log::reader::LogReader;
use sardonyx_storage::log::seal::{GroupBuilder, Sequencer};
use sardonyx_storage::log::segment::{Prepared, Segments, segment_file};
use sardonyx_storage::log::{LogError, LogLayout, LogPosition, Lsn};
use sardonyx_storage::page::Address;
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const LAYOUT: LogLayout = LogLayout::new(77, 32 << 10);

struct Log {
    directory: tempfile::TempDir,
    disk: Arc<dyn Disk>,
    segments: Arc<Segments>,
    sequencer: Sequencer,
}

impl Log {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let disk: Arc<dyn Disk> = Arc::new(RealDisk::open(directory.path()).expect("a disk"));
        let segments = Segments::open(disk.clone(), LAYOUT, Lsn(0), 8).expect("segments");
        let log = Log {
            directory,
            disk,
            segments: Arc::new(segments),
            sequencer: Sequencer::new(LAYOUT, 1, LogPosition::START),
        };
        log.prepare(3);
        log
    }

    fn prepare(&self, segments: usize) {
        for _ in 0..segments {
            assert_eq!(self.segments.prepare_next().expect("room"), Prepared::Yes);
        }
    }

    /// Appends a group of `words` writes of 8 bytes, which knows group `durable` to be durable.
    fn append(&mut self, words: usize, durable: u64) -> (LogPosition, LogPosition) {
        let mut builder = GroupBuilder::with_capacity(4096);
        for n in 0..words as u64 {
            builder.push_write(Address(n * 8 % 4096), &n.to_le_bytes());
            builder.end_transaction();
        }
        let mut group = self.sequencer.seal(builder);
        group.finish(durable);
        let lsn = group.header().lsn;
        let file = self
            .segments
            .file(LAYOUT.segment_of(lsn))
            .expect("prepared");
        file.write_durable_at(LAYOUT.offset_in_segment(lsn), group.bytes())
            .expect("written");
        let before = LogPosition {
            lsn,
            ..self.sequencer.next()
        };
        (before, group.header().next_position())
    }

    fn read(&self, from: LogPosition) -> Result<Vec<u64>, LogError> {
        let mut reader = LogReader::open(&self.disk, LAYOUT, from)?;
        let mut numbers = Vec::new();
        while let Some((header, _)) = reader.next_group()? {
            numbers.push(header.number);
        }
        Ok(numbers)
    }

    fn damage(&self, lsn: Lsn, bytes: &[u8]) {
        let path = self
            .directory
            .path()
            .join(segment_file(LAYOUT.segment_of(lsn)));
        let file = OpenOptions::new()
            .write(true)
            .open(path)
            .expect("the segment");
        file.write_all_at(bytes, LAYOUT.offset_in_segment(lsn))
            .expect("damaged");
    }

    /// Reopens as the given incarnation, at a place.
    fn reopen(&mut self, incarnation: u32, at: LogPosition) {
        self.sequencer = Sequencer::new(LAYOUT, incarnation, at);
    }
}

#[test]
fn groups_read_back_across_segments() {
    let mut log = Log::new();
    let mut written = Vec::new();
    // 4, 8 and 12 KiB groups: some do not fit into the rest of a segment of 32 KiB.
    for n in 0..9 {
        written.push(log.append(1 + 300 * (n % 3), 0).0);
    }
    assert_eq!(
        log.read(LogPosition::START).expect("whole"),
        (1..=9).collect::<Vec<_>>()
    );
    let crossings = written
        .windows(2)
        .filter(|w| w[1].lsn.0 / LAYOUT.segment_bytes != w[0].lsn.0 / LAYOUT.segment_bytes);
    assert!(crossings.count() >= 2, "the test crosses segments");
}

#[test]
fn reading_may_start_anywhere_between_groups() {
    let mut log = Log::new();
    let after: Vec<_> = (0..9).map(|n| log.append(1 + 300 * (n % 3), 0).1).collect();
    for (n, position) in after.iter().enumerate() {
        let expected: Vec<u64> = (n as u64 + 2..=9).collect();
        assert_eq!(log.read(*position).expect("whole"), expected);
    }
}

#[test]
fn i4_a_torn_last_group_ends_the_log() {
    let mut log = Log::new();
    log.append(1, 0);
    let (torn, _) = log.append(300, 1);
    log.damage(Lsn(torn.lsn.0 + 4096), &[0xee; 512]);
    assert_eq!(log.read(LogPosition::START).expect("an end"), vec![1]);
}

#[test]
fn i4_a_whole_group_in_flight_behind_a_torn_one_is_not_log_and_not_corruption() {
    let mut log = Log::new();
    log.append(1, 0);
    let (torn, _) = log.append(300, 1);
    log.append(1, 1); // was sealed before group 2 was durable
    log.damage(torn.lsn, &[0; 512]);
    assert_eq!(log.read(LogPosition::START).expect("an end"), vec![1]);
}

#[test]
fn i4_a_broken_group_that_a_later_one_knew_durable_is_corruption_with_file_and_offset() {
    let mut log = Log::new();
    log.append(1, 0);
    let (broken, _) = log.append(300, 1);
    log.append(1, 1);
    log.append(1, 3);
    log.damage(Lsn(broken.lsn.0 + 4100), &[0xee]);
    match log.read(LogPosition::START) {
        Err(LogError::Corrupt {
            file,
            offset,
            number,
            proof_number,
            ..
        }) => {
            assert!(file.ends_with(&segment_file(0)), "{file}");
            assert_eq!(offset, broken.lsn.0);
            assert_eq!((number, proof_number), (2, 4));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn i4_corruption_is_found_also_when_the_proof_is_in_a_later_segment() {
    let mut log = Log::new();
    let (broken, _) = log.append(1, 0);
    for n in 0..4 {
        log.append(1000, n); // 16 KiB each
    }
    log.damage(broken.lsn, &[0; 64]);
    let outcome = log.read(LogPosition::START);
    assert!(
        matches!(outcome, Err(LogError::Corrupt { number: 1, .. })),
        "{outcome:?}"
    );
}

#[test]
fn i4_corruption_of_whole_segments_is_found_by_the_start_of_a_later_one() {
    let mut log = Log::new();
    let mut places = Vec::new();
    for n in 0..5 {
        places.push(log.append(1200, n).0); // 20 KiB each: one in a segment
        log.prepare(1);
    }
    // Of groups 2 and 3, each in a segment of its own, nothing is left.
    for damaged in &places[1..3] {
        log.damage(damaged.lsn, &[0; 32 << 10]);
    }
    match log.read(LogPosition::START) {
        Err(LogError::Corrupt {
            file,
            number,
            proof_number,
            ..
        }) => {
            // Behind the end of group 1 there would have been room for a smaller group 2.
            assert!(file.ends_with(&segment_file(0)), "{file}");
            assert_eq!((number, proof_number), (2, 4));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn i5_old_groups_of_a_recycled_segment_are_never_log() {
    let mut log = Log::new();
    let mut last = LogPosition::START;
    for _ in 0..6 {
        last = log.append(700, 0).1; // 12 KiB: two in a segment
    }
    log.segments.free_before(last.lsn);
    // Segments 0 to 2 are full of whole groups, and become 3 to 5.
    log.prepare(3);
    assert_eq!(log.read(last).expect("an end"), Vec::<u64>::new());
    let start = log.append(1, 6).0;
    assert_eq!(
        log.read(LogPosition {
            lsn: last.lsn,
            ..start
        })
        .expect("an end"),
        Vec::<u64>::new()
    );
    let from = LogPosition {
        group: 7,
        transactions: 4200,
        ..last
    };
    assert_eq!(log.read(from).expect("whole"), vec![7]);
}

#[test]
fn leftovers_of_an_earlier_incarnation_never_chain_onto_later_log() {
    let mut log = Log::new();
    let (_, after_first) = log.append(1, 0);
    let (torn, _) = log.append(1, 1);
    log.append(1, 1); // whole, in flight: the leftover
    log.damage(torn.lsn, &[0; 512]);
    assert_eq!(log.read(LogPosition::START).expect("an end"), vec![1]);
    // Recovered; the next incarnation writes a group 2 of the same length in the same place.
    log.reopen(2, after_first);
    let (_, after_second) = log.append(1, 1);
    assert_eq!(log.read(LogPosition::START).expect("an end"), vec![1, 2]);
    // Also when reading starts exactly between it and the leftover, as after a checkpoint.
    assert_eq!(log.read(after_second).expect("an end"), Vec::<u64>::new());
}

#[test]
fn missing_and_short_segments_are_errors_that_name_the_file() {
    let mut log = Log::new();
    for _ in 0..5 {
        log.append(1000, 0);
    }
    let path = log.directory.path().join(segment_file(1));
    OpenOptions::new()
        .write(true)
        .open(&path)
        .and_then(|f| f.set_len(4096))
        .expect("cut");
    match log.read(LogPosition::START) {
        Err(LogError::SegmentLength {
            file,
            found_bytes,
            expected_bytes,
        }) => {
            assert!(file.ends_with(&segment_file(1)));
            assert_eq!((found_bytes, expected_bytes), (4096, LAYOUT.segment_bytes));
        }
        other => panic!("{other:?}"),
    }
    std::fs::remove_file(log.directory.path().join(segment_file(0))).expect("removed");
    let outcome = log.read(LogPosition::START);
    assert!(
        matches!(&outcome, Err(LogError::MissingSegment { file, .. }) if file.ends_with(&segment_file(0))),
        "{outcome:?}"
    );
}

#[test]
fn a_bound_reads_the_durable_part_of_a_log_that_is_being_written() {
    let mut log = Log::new();
    for _ in 0..4 {
        log.append(1, 0);
    }
    let mut reader = LogReader::open(&log.disk, LAYOUT, LogPosition::START)
        .expect("open")
        .until_group(3);
    assert_eq!(
        reader.next_group().expect("whole").map(|(h, _)| h.number),
        Some(1)
    );
    assert_eq!(
        reader.next_group().expect("whole").map(|(h, _)| h.number),
        Some(2)
    );
    assert_eq!(
        reader.next_group().expect("bound").map(|(h, _)| h.number),
        None
    );
    log.append(1, 4);
    reader.set_until_group(6);
    let rest: Vec<u64> =
        std::iter::from_fn(|| reader.next_group().expect("whole").map(|(h, _)| h.number)).collect();
    assert_eq!(rest, vec![3, 4, 5]);
}

#[test]
fn i6_a_pin_holds_the_log_back() {
    let mut log = Log::new();
    let mut last = LogPosition::START;
    for _ in 0..6 {
        last = log.append(700, 0).1;
    }
    let pin = log.segments.pin(Lsn(0)).expect("still there");
    assert_eq!(log.segments.free_before(last.lsn), 0);
    assert_eq!(log.read(LogPosition::START).expect("whole").len(), 6);
    pin.advance(LAYOUT.segment_start(1));
    assert_eq!(log.segments.count().0, 2);
    drop(pin);
    assert!(log.segments.count().0 <= 1);
    assert!(
        log.segments.pin(Lsn(0)).is_none(),
        "freed log cannot be held"
    );
}

#[test]
fn i4_a_lost_segment_is_corruption_when_what_follows_it_knew_it_durable() {
    let mut log = Log::new();
    let mut last = LogPosition::START;
    for n in 0..5 {
        last = log.append(1200, n).1; // 20 KiB each: one in a segment
        log.prepare(1);
    }
    assert_eq!(last.group, 6);
    std::fs::remove_file(log.directory.path().join(segment_file(2))).expect("removed");
    match log.read(LogPosition::START) {
        Err(LogError::Corrupt {
            file,
            number,
            proof_number,
            ..
        }) => {
            // It is missed where the log before it ends.
            assert!(file.ends_with(&segment_file(1)), "{file}");
            assert_eq!((number, proof_number), (3, 4));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn superfluous_segments_are_used_again_oldest_first_so_that_older_log_has_no_gap() {
    let mut log = Log::new();
    for n in 0..4 {
        log.append(1200, n);
        log.prepare(1);
    }
    let (from, _) = log.append(1200, 4);
    log.segments.free_before(from.lsn);
    // Also after reopening, which finds them by their names.
    for reopened in [false, true] {
        if reopened {
            let segments = Segments::open(log.disk.clone(), LAYOUT, from.lsn, 8);
            log.segments = Arc::new(segments.expect("segments"));
        }
        log.prepare(1);
        let mut numbers: Vec<u64> = log
            .disk
            .list("log")
            .expect("a list")
            .iter()
            .filter_map(|name| name.strip_suffix(".log")?.parse().ok())
            .collect();
        numbers.sort_unstable();
        let first = numbers[0];
        assert!(first > 0 && first < LAYOUT.segment_of(from.lsn));
        let without_gap: Vec<u64> = (first..).take(numbers.len()).collect();
        assert_eq!(numbers, without_gap);
    }
}

/// A disk that another process writes to: the first look at a block finds it empty.
#[derive(Debug)]
struct Late {
    disk: Arc<dyn Disk>,
    block: Lsn,
    arrived: Arc<AtomicBool>,
}

#[derive(Debug)]
struct LateFile {
    file: Box<dyn DiskFile>,
    block: Option<u64>,
    arrived: Arc<AtomicBool>,
}

impl Disk for Late {
    fn open(&self, name: &str, access: Access, _: Create) -> Result<Box<dyn DiskFile>, DiskError> {
        let file = self.disk.open(name, access, Create::No)?;
        let block = (name == segment_file(LAYOUT.segment_of(self.block)))
            .then(|| LAYOUT.offset_in_segment(self.block));
        Ok(Box::new(LateFile {
            file,
            block,
            arrived: self.arrived.clone(),
        }))
    }
    fn list(&self, directory: &str) -> Result<Vec<String>, DiskError> {
        self.disk.list(directory)
    }
    fn rename(&self, _: &str, _: &str) -> Result<(), DiskError> {
        unreachable!("it is only read")
    }
    fn remove(&self, _: &str) -> Result<(), DiskError> {
        unreachable!("it is only read")
    }
    fn create_directory(&self, _: &str) -> Result<(), DiskError> {
        unreachable!("it is only read")
    }
    fn sync_directory(&self, _: &str) -> Result<(), DiskError> {
        unreachable!("it is only read")
    }
    fn lock(&self, _: &str) -> Result<Option<Box<dyn DiskLock>>, DiskError> {
        unreachable!("it is only read")
    }
    fn display_name(&self, name: &str) -> String {
        self.disk.display_name(name)
    }
}

impl DiskFile for LateFile {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<usize, DiskError> {
        let read = self.file.read_at(offset, into)?;
        if let Some(block) = self.block
            && (offset..offset + read as u64).contains(&block)
            && !self.arrived.swap(true, Ordering::SeqCst)
        {
            let at = (block - offset) as usize;
            into[at..at + 4096].fill(0);
        }
        Ok(read)
    }
    fn write_at(&self, _: u64, _: &[u8]) -> Result<(), DiskError> {
        unreachable!("it is only read")
    }
    fn write_durable_at(&self, _: u64, _: &[u8]) -> Result<(), DiskError> {
        unreachable!("it is only read")
    }
    fn sync(&self) -> Result<(), DiskError> {
        unreachable!("it is only read")
    }
    fn len(&self) -> Result<u64, DiskError> {
        self.file.len()
    }
    fn preallocate(&self, _: u64) -> Result<(), DiskError> {
        unreachable!("it is only read")
    }
    fn allocate(&self, _: u64) -> Result<(), DiskError> {
        unreachable!("it is only read")
    }
    fn display_name(&self) -> String {
        self.file.display_name()
    }
}

#[test]
fn i4_beside_a_writer_a_group_in_flight_is_the_end_and_a_broken_one_is_corruption_as_ever() {
    // In the middle of a segment, and the first of one.
    for late in 3..=12 {
        let mut log = Log::new();
        let places: Vec<_> = (1..=12).map(|n| log.append(1, n - 1).0.lsn).collect();
        let read = |beside: bool| {
            let disk: Arc<dyn Disk> = Arc::new(Late {
                disk: log.disk.clone(),
                block: places[late - 1],
                arrived: Arc::default(),
            });
            let mut reader = LogReader::open(&disk, LAYOUT, LogPosition::START)?;
            if beside {
                reader = reader.beside_writer();
            }
            let mut read = 0;
            while let Some((header, _)) = reader.next_group()? {
                read = header.number;
            }
            Ok::<_, LogError>(read)
        };
        assert_eq!(read(true).expect("a prefix"), late as u64 - 1);
        // Read without the groups behind it, it is corrupt only if a later group knew it durable.
        let alone = read(false);
        let proved =
            matches!(alone, Err(LogError::Corrupt { number, .. }) if number == late as u64);
        assert_eq!(proved, late < 12, "{late}: {alone:?}");
        log.damage(places[late - 1], &[0xee; 64]);
        let broken = read(true);
        let proved =
            matches!(broken, Err(LogError::Corrupt { number, .. }) if number == late as u64);
        assert_eq!(proved, late < 12, "{late}: {broken:?}");
    }
}
