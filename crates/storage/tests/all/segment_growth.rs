//! Preparing the log when a sync fails or the process is killed meanwhile (I7): space that is believed to be prepared
//! is stable, for every process that goes on.
//!
//! Each test looks at every sync or step of a growth, with several outcomes drawn from seeds. It also looks at the
//! disk that would remain if everything unsynced were lost.

use crate::common::NoCheckpoints;
use crate::common::watched::{Change, WatchedDisk};
use sardonyx_storage::crashes::End;
use sardonyx_storage::disk::{Disk, Faults, SimulatedDisk};
use sardonyx_storage::drive::Drive;
use sardonyx_storage::engine::{Driver, FirstOpening, StorageOptions, open_first};
use sardonyx_storage::log::policy::GroupLimits;
use sardonyx_storage::log::segment::{Prepared, Segments, segment_file};
use sardonyx_storage::log::supply::{FreesLog, SegmentSupply, Supplied};
use sardonyx_storage::log::{LogError, LogLayout, LogPosition, LogState, Lsn};
use std::sync::{Arc, Mutex};

const LAYOUT: LogLayout = LogLayout::new(5, 256 << 10);

/// Bytes with which the first segment begins.
const FIRST_BYTES: u64 = 16 << 10;

const SEEDS: u64 = 12;

fn open(disk: &SimulatedDisk) -> Result<Segments, LogError> {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    Ok(Segments::open(disk, LAYOUT, Lsn(0), 8)?.first_bytes(FIRST_BYTES))
}

/// The bytes of the first segment that remain even if everything unsynced is lost.
fn stable_bytes(disk: &SimulatedDisk) -> u64 {
    let bytes = disk.durable_bytes(&segment_file(0)).expect("it is there");
    assert!(bytes.iter().all(|byte| *byte == 0), "no zeroes");
    bytes.len() as u64
}

/// Has a log grow once with each fault of this kind that hits the growth, and then calls `then` with the result.
fn growths_that_fail(fault: fn(u64) -> Faults, then: impl Fn(&SimulatedDisk, Segments)) {
    let mut hits = 0;
    for seed in 0..SEEDS {
        for at in 1.. {
            let disk = SimulatedDisk::new(seed, fault(at));
            let Ok(segments) = open(&disk) else { continue };
            if segments.prepare_next().is_err() {
                continue;
            }
            match segments.prepare_next() {
                Ok(_) => break,
                Err(_) => then(&disk, segments),
            }
            hits += 1;
        }
    }
    assert!(hits >= SEEDS, "{hits}");
}

fn fail_sync(at: u64) -> Faults {
    End::FailedSync(at).faults()
}

fn kill(at: u64) -> Faults {
    End::Kill(at).faults()
}

#[test]
fn i7_what_a_failed_growth_left_is_written_again_by_the_next_attempt() {
    growths_that_fail(fail_sync, |disk, segments| {
        assert_eq!(segments.prepared_end(), Lsn(FIRST_BYTES));
        assert_eq!(segments.prepare_next().unwrap(), Prepared::Yes);
        assert_eq!(segments.prepared_end(), Lsn(2 * FIRST_BYTES));
        assert_eq!(stable_bytes(disk), 2 * FIRST_BYTES);
    });
}

#[test]
fn i7_what_a_failed_growth_left_is_confirmed_by_the_next_process() {
    for fault in [fail_sync, kill] {
        for end in [Lsn(0), Lsn(4096), Lsn(FIRST_BYTES - 4096)] {
            growths_that_fail(fault, |disk, _| {
                let disk = disk.next_process(Faults::default());
                let segments = open(&disk).unwrap();
                segments.confirm(end).unwrap();
                assert!(segments.prepared_end() >= Lsn(FIRST_BYTES));
                assert!(Lsn(stable_bytes(&disk)) >= segments.prepared_end());
            });
        }
    }
}

#[test]
fn i7_who_goes_on_with_a_growing_log_believes_what_was_published_only() {
    growths_that_fail(fail_sync, |disk, published| {
        let segments = open(disk).unwrap();
        assert_eq!(segments.prepared_end(), Lsn(2 * FIRST_BYTES), "found");
        segments.believe_until(published.prepared_end());
        assert_eq!(segments.prepared_end(), Lsn(FIRST_BYTES));
        segments.prepare_next().unwrap();
        assert_eq!(stable_bytes(disk), 2 * FIRST_BYTES);
    });
}

#[test]
fn what_is_believed_is_never_more_than_what_is_found() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let segments = open(&disk).unwrap();
    segments.prepare_next().unwrap();
    for known in [0, FIRST_BYTES, 8 * FIRST_BYTES, 3 * LAYOUT.segment_bytes] {
        segments.believe_until(Lsn(known));
        assert_eq!(segments.prepared_end(), Lsn(FIRST_BYTES), "{known}");
    }
    // Later segments are prepared under another name, and are whole when they have theirs.
    while segments.prepared_end() < LAYOUT.segment_start(2) {
        segments.prepare_next().unwrap();
    }
    segments.believe_until(Lsn(FIRST_BYTES));
    assert_eq!(segments.prepared_end(), LAYOUT.segment_start(2));
}

/// A driver of a log that several processes share fails to make the first segment longer. The next driver publishes as
/// prepared only stable space.
#[test]
fn i7_a_driver_that_takes_over_a_failed_growth_makes_it_anew() {
    const SEGMENT_BYTES: u64 = 1 << 20;
    let options = StorageOptions {
        segment_bytes: SEGMENT_BYTES,
        log_bytes_max: 4 * SEGMENT_BYTES,
        log_bytes_first: FIRST_BYTES,
        memory_bytes_max: 1 << 24,
        limits: GroupLimits::for_segments(SEGMENT_BYTES),
        identity: Some(1),
        threaded: false,
        workers: 1,
        ..StorageOptions::default()
    };
    let mut failures = 0;
    for seed in 0..SEEDS {
        let grown = (1..100).any(|at| {
            let simulated = SimulatedDisk::new(seed, fail_sync(at));
            let disk: Arc<dyn Disk> = Arc::new(simulated.clone());
            let Ok(opened) = open_first(&disk, &options) else {
                return false;
            };
            let state = LogState::zeroed();
            let first = opened.expect("nobody has it");
            first.initialise(&state);
            let FirstOpening {
                manifest,
                mut driver,
                lock: _lock,
                ..
            } = first;
            let grow = |driver: &mut Driver| {
                while driver.step(&state).expect("it goes on") {}
                assert!(Lsn(stable_bytes(&simulated)) >= state.prepared_end());
            };
            let before = state.prepared_end();
            state.want_room(manifest.log_layout(), FIRST_BYTES);
            grow(&mut driver);
            if state.refusal().is_none() {
                assert!(state.prepared_end() > before);
                return true;
            }
            failures += 1;
            let published = state.prepared_end();
            drop(driver);
            let mut next = Driver::take_over(&disk, &manifest, &options, &state).expect("sound");
            assert_eq!(next.prepared_end(), published);
            grow(&mut next);
            assert!(state.refusal().is_none());
            assert!(state.prepared_end() > published);
            false
        });
        assert!(grown, "it never grew");
    }
    assert!(failures >= SEEDS, "{failures}");
}

#[test]
fn i7_who_takes_the_steps_itself_is_told_of_a_failed_sync_and_begins_anew() {
    // The first segment is to be whole, and two more prepared.
    let at = LogPosition {
        lsn: Lsn(LAYOUT.segment_bytes / 2),
        ..LogPosition::START
    };
    let mut failures = 0;
    for sync in 1.. {
        let disk = SimulatedDisk::new(sync, fail_sync(sync));
        let Ok(segments) = open(&disk) else { continue };
        if segments.prepare_next().is_err() {
            continue;
        }
        let segments = Arc::new(segments);
        let supply = SegmentSupply::new(segments.clone(), Drive::Callers);
        supply.advance(at);
        let mut prepared = segments.prepared_end();
        let mut failed = false;
        loop {
            match supply.step(&NoCheckpoints) {
                Supplied::OneMore => prepared = segments.prepared_end(),
                Supplied::Enough => break,
                refused => {
                    assert_eq!(refused, Supplied::Refused);
                    assert!(!std::mem::replace(&mut failed, true), "one sync fails");
                    let refusal = supply.refusal().expect("refused");
                    assert!(matches!(refusal, LogError::Disk(_)), "{refusal}");
                    assert_eq!(segments.prepared_end(), prepared, "not believed");
                }
            }
            let stable = Lsn(stable_bytes(&disk));
            assert!(stable >= prepared.min(Lsn(LAYOUT.segment_bytes)));
        }
        assert!(supply.refusal().is_none());
        if !failed {
            break;
        }
        failures += 1;
    }
    // Syncs of the growths, of each file, and of the directory after it.
    assert!(failures >= 6, "{failures}");
}

/// Frees the log before a place when a checkpoint is wanted, and cannot free more.
struct FreesOnce(Arc<Segments>, Lsn);

impl FreesLog for FreesOnce {
    fn want(&self, _: LogPosition) -> bool {
        self.0.free_before(self.1);
        true
    }

    fn obstacle(&self) -> Option<Arc<str>> {
        Some("the store gives no answer".into())
    }
}

#[test]
fn i10_log_that_the_wish_for_room_has_freed_is_used_before_transactions_are_refused() {
    for (segments_freed, outcome) in [(0, Supplied::Refused), (2, Supplied::OneMore)] {
        let disk = SimulatedDisk::new(1, Faults::default());
        let segments = Arc::new(open(&disk).unwrap());
        while segments.prepare_next().unwrap() == Prepared::Yes {}
        let end = segments.prepared_end();
        let supply = SegmentSupply::new(segments.clone(), Drive::Callers);
        // The last prepared segment is being written: transactions are kept out.
        supply.advance(LogPosition {
            lsn: Lsn(end.0 - LAYOUT.segment_bytes),
            group: 7,
            ..LogPosition::START
        });
        let freed = Lsn(segments_freed * LAYOUT.segment_bytes);
        let by = FreesOnce(segments.clone(), freed);
        assert_eq!(supply.step(&by), outcome);
        match outcome {
            Supplied::OneMore => {
                assert!(supply.refusal().is_none());
                assert!(segments.prepared_end() > end);
            }
            _ => {
                let refusal = supply.refusal().expect("refused");
                assert!(matches!(refusal, LogError::Full { .. }), "{refusal}");
            }
        }
    }
}

/// The ways in which the supply makes room for a log whose groups have so many bytes.
fn room_for_groups_of(bytes: u64) -> Vec<Change> {
    let made = Arc::new(Mutex::new(Vec::new()));
    let noted = made.clone();
    let disk = WatchedDisk::new(
        SimulatedDisk::new(1, Faults::default()),
        move |_, change| {
            if matches!(change, Change::Preallocate | Change::Allocate) {
                noted.lock().unwrap().push(change);
            }
            Ok(())
        },
    );
    let layout = LogLayout::new(5, 1 << 20);
    let segments = Segments::open(Arc::new(disk), layout, Lsn(0), 8).unwrap();
    let supply = SegmentSupply::new(Arc::new(segments), Drive::Callers);
    while supply.step(&NoCheckpoints) == Supplied::OneMore {}
    made.lock().unwrap().clear();
    supply.advance(LogPosition {
        lsn: Lsn(2 << 20),
        group: (2 << 20) / bytes,
        ..LogPosition::START
    });
    while supply.step(&NoCheckpoints) == Supplied::OneMore {}
    let made = made.lock().unwrap().clone();
    assert!(made.len() >= 2, "{made:?}");
    made
}

#[test]
fn room_of_large_groups_is_not_filled_with_zeroes() {
    let of_large = room_for_groups_of(256 << 10);
    assert!(of_large.iter().all(|change| *change == Change::Allocate));
    let of_small = room_for_groups_of(128 << 10);
    assert!(of_small.iter().all(|change| *change == Change::Preallocate));
}
