//! Groups that have several segments for themselves: written, read back, found damaged, and judged at the
//! log's end like any other group.

use sardonyx_storage::disk::{Disk, Faults, SimulatedDisk};
use sardonyx_storage::engine::{Driver, FirstOpening, SharedLock, StorageOptions, open_first};
use sardonyx_storage::log::group::{GROUP_HEADER_BYTES, GroupHeader};
use sardonyx_storage::log::reader::{LogReader, group_before};
use sardonyx_storage::log::seal::GroupBuilder;
use sardonyx_storage::log::segment::segment_file;
use sardonyx_storage::log::{LogError, LogLeader, LogPosition, LogState, Lsn, SharedLogError};
use sardonyx_storage::manifest::Manifest;
use sardonyx_storage::page::{Address, PAGE_SIZE};
use sardonyx_storage::recovery::{RecoveryError, RecoveryOptions, recover};
use std::sync::Arc;

const PAGE: u64 = PAGE_SIZE as u64;
const SEGMENT: u64 = 4 * PAGE;

fn options() -> StorageOptions {
    StorageOptions {
        segment_bytes: SEGMENT,
        block_bytes: PAGE_SIZE as u32,
        identity: Some(7),
        log_bytes_max: 8 * SEGMENT,
        memory_bytes_max: 1 << 24,
        limits: sardonyx_storage::log::policy::GroupLimits {
            group_bytes: PAGE_SIZE,
            transaction_bytes: PAGE_SIZE,
            ..Default::default()
        },
        threaded: false,
        workers: 1,
        ..StorageOptions::default()
    }
}

struct World {
    simulated: SimulatedDisk,
    disk: Arc<dyn Disk>,
    state: Box<LogState>,
    leader: LogLeader,
    driver: Driver,
    _lock: SharedLock,
}

impl World {
    fn new() -> World {
        let simulated = SimulatedDisk::new(1, Faults::default());
        let disk: Arc<dyn Disk> = Arc::new(simulated.clone());
        let first = open_first(&disk, &options()).unwrap().unwrap();
        let state = Box::new(LogState::zeroed());
        first.initialise(&state);
        let FirstOpening {
            manifest,
            driver,
            lock,
            ..
        } = first;
        let leader = LogLeader::new(disk.clone(), &manifest, manifest.incarnation);
        World {
            _lock: lock.share().unwrap(),
            simulated,
            disk,
            state,
            leader,
            driver,
        }
    }

    fn try_write(&mut self, records: &[u8]) -> Result<LogPosition, SharedLogError> {
        let layout = self.leader.layout();
        for _ in 0..100 {
            let written = self.leader.write_group(&self.state, 1, &[records], 0);
            let Err(SharedLogError::NoRoom) = written else {
                return written;
            };
            self.state.want_room_alone(layout, records.len() as u64);
            self.driver.step(&self.state).unwrap();
        }
        Err(SharedLogError::NoRoom)
    }

    fn write(&mut self, records: &[u8]) -> LogPosition {
        self.try_write(records).unwrap()
    }

    fn reads(&self) -> Result<Vec<GroupHeader>, LogError> {
        let layout = self.leader.layout();
        let mut reader = LogReader::open(&self.disk, layout, LogPosition::START)?;
        let mut headers = Vec::new();
        while let Some((header, _)) = reader.next_group()? {
            headers.push(header);
        }
        Ok(headers)
    }

    fn recovers(&self) -> Result<Vec<u8>, RecoveryError> {
        let options = RecoveryOptions {
            memory_max_bytes: 1 << 24,
            workers: 1,
            dry_run: true,
            ..RecoveryOptions::default()
        };
        let manifest = Manifest::read(&*self.disk).unwrap();
        Ok(recover(&self.disk, &manifest, options)?
            .store
            .bytes()
            .to_vec())
    }

    fn flip(&self, lsn: Lsn) {
        let layout = self.leader.layout();
        let file = segment_file(layout.segment_of(lsn));
        let at = layout.offset_in_segment(lsn);
        self.simulated
            .corrupt(&file, at, |byte| byte ^ 0x20)
            .unwrap();
    }
}

/// Whole pages of one value, so many of them: a transaction.
fn pages(value: u8, pages: u64) -> Vec<u8> {
    let mut builder = GroupBuilder::with_capacity(PAGE_SIZE);
    for page in 0..pages {
        builder.push_write(Address(page * PAGE), &[value; PAGE_SIZE]);
    }
    builder.end_transaction();
    builder.payload().to_vec()
}

#[test]
fn a_group_larger_than_a_segment_begins_one_has_it_for_itself_and_is_read_back() {
    let mut world = World::new();
    world.write(&pages(1, 1));
    let after = world.write(&pages(2, 11));
    world.write(&pages(3, 1));
    let headers = world.reads().unwrap();
    let spanning = headers[1];
    assert_eq!(
        (spanning.lsn, spanning.spanned_bytes),
        (Lsn(SEGMENT), 3 * SEGMENT)
    );
    assert_eq!(
        (after.lsn, headers[2].lsn),
        (Lsn(4 * SEGMENT), Lsn(4 * SEGMENT))
    );
    assert_eq!(headers.len(), 3);
    let layout = world.leader.layout();
    for header in &headers {
        let found = group_before(&*world.disk, layout, header.next_position()).unwrap();
        assert_eq!(found, Some(*header));
    }
    let recovered = world.recovers().unwrap();
    assert!(recovered[..PAGE_SIZE].iter().all(|byte| *byte == 3));
    assert!(
        recovered[PAGE_SIZE..11 * PAGE_SIZE]
            .iter()
            .all(|byte| *byte == 2)
    );
}

#[test]
fn i4_a_spanning_group_damaged_anywhere_is_the_logs_end_or_corruption_if_a_later_one_knew_it() {
    let mut world = World::new();
    world.write(&pages(1, 1));
    world.write(&pages(2, 10));
    let spanning = world.reads().unwrap()[1];
    let end = spanning.lsn.0 + (GROUP_HEADER_BYTES as u32 + spanning.payload_bytes) as u64;
    // Each byte of the header, the first and the last of the records, and of each block some.
    let blocks = (spanning.lsn.0..end).step_by(PAGE_SIZE / 2);
    let header = spanning.lsn.0..spanning.lsn.0 + GROUP_HEADER_BYTES as u64 + 1;
    let places: Vec<u64> = header.chain(blocks).chain([end - 1]).collect();
    for place in &places {
        world.flip(Lsn(*place));
        assert_eq!(world.reads().unwrap().len(), 1, "byte {place}");
        world.flip(Lsn(*place));
    }
    world.write(&pages(3, 1));
    for place in &places {
        world.flip(Lsn(*place));
        match world.reads() {
            Err(LogError::Corrupt {
                file,
                offset,
                number,
                proof_number,
                ..
            }) => {
                // A broken header has no meaning; the group should be where the one before ends.
                let headless = *place < spanning.lsn.0 + GROUP_HEADER_BYTES as u64;
                let named = if headless { (0, 2 * PAGE) } else { (1, 0) };
                assert!(file.ends_with(&segment_file(named.0)), "{file}");
                assert_eq!((offset, number, proof_number), (named.1, 2, 3));
            }
            found => panic!("byte {place}: {found:?}"),
        }
        assert!(world.recovers().is_err());
        world.flip(Lsn(*place));
    }
    // Behind the records there is nothing that counts.
    world.flip(Lsn(end.next_multiple_of(PAGE)));
    assert_eq!(world.reads().unwrap().len(), 3);
}

#[test]
fn i4_a_lost_segment_of_a_spanning_group_is_an_error() {
    for lost in 1..5 {
        let mut world = World::new();
        world.write(&pages(1, 1));
        world.write(&pages(2, 11));
        world.write(&pages(3, 1));
        world.disk.remove(&segment_file(lost)).unwrap();
        assert!(world.recovers().is_err(), "segment {lost}");
    }
}

#[test]
fn i5_what_a_program_wrote_is_not_taken_for_a_group_at_a_segments_start() {
    let mut world = World::new();
    // Blocks that would be a group of another database, wherever a segment starts.
    let mut foreign = [0; PAGE_SIZE];
    let header = GroupHeader {
        identity: 8,
        number: 1,
        lsn: Lsn(0),
        durable_number: 0,
        first_transaction: 0,
        payload_bytes: 0,
        transactions: 0,
        incarnation: 1,
        payload_checksum: 0,
        spanned_bytes: 0,
    };
    let mut builder = GroupBuilder::with_capacity(PAGE_SIZE);
    let mut starts = 0;
    for page in 0..9 {
        // The place of this record's data in the log.
        let at = GROUP_HEADER_BYTES + builder.payload().len() + 8;
        let to_start = at.next_multiple_of(SEGMENT as usize) - at;
        foreign.fill(0);
        if to_start + GROUP_HEADER_BYTES <= PAGE_SIZE {
            let place = &mut foreign[to_start..to_start + GROUP_HEADER_BYTES];
            header.encode(place.try_into().unwrap());
            starts += 1;
        }
        builder.push_write(Address(page * PAGE), &foreign);
    }
    builder.end_transaction();
    assert!(starts >= 2);
    let records = builder.payload().to_vec();
    world.write(&pages(1, 1));
    world.write(&records);
    world.write(&pages(3, 1));
    assert_eq!(world.reads().unwrap().len(), 3);
    world.recovers().unwrap();
}

#[test]
fn i10_a_transaction_that_the_log_can_never_take_is_refused_and_the_next_one_is_not() {
    let mut world = World::new();
    let most = world.leader.transaction_bytes_max(options().log_bytes_max);
    assert_eq!(most, 6 * SEGMENT - GROUP_HEADER_BYTES as u64);
    world.write(&pages(1, 1));
    let refused = world.try_write(&pages(2, 40)).unwrap_err();
    assert!(matches!(refused, SharedLogError::Full { .. }), "{refused}");
    world.state.give_up_room();
    world.driver.step(&world.state).unwrap();
    // As much as it can take at most, again and again: a checkpoint makes room for each.
    for value in 0..4 {
        world.write(&pages(value, most / (PAGE + 8)));
    }
    let recovered = world.recovers().unwrap();
    assert!(recovered[..20 * PAGE_SIZE].iter().all(|byte| *byte == 3));
}
