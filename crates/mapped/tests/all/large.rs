//! Transactions whose records are larger than the ring, and than a segment of the log. They commit like any other, old
//! snapshots do not see them, and their memory is given back.

use crate::common::{MECHANISMS, PAGE, options, unique, word};
use sardonyx_mapped::memory::GrowError;
use sardonyx_mapped::{
    Begin, MechanismKind, Memory, MemoryAccess, Options, P, RunError, Segment, SegmentError, Slice,
    Transaction,
};
use sardonyx_storage::engine::{Engine, StorageOptions};
use sardonyx_storage::log::policy::GroupLimits;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

const PAGES: u64 = 1024;
/// With their records, twice as much as the smallest ring takes of one transaction.
const BYTES: usize = 1 << 20;

fn fill(segment: &Segment, bytes: usize, value: u8) -> Result<(), RunError<GrowError>> {
    segment.run(|tx| {
        tx.grow_to(PAGES * PAGE)?;
        tx.slice_mut(part(bytes)).unwrap().fill(value);
        Ok(())
    })
}

/// So many bytes from the second page on.
fn part(bytes: usize) -> Slice<u8> {
    Slice {
        start: P::from_offset(PAGE),
        length: bytes as u64,
    }
}

fn mechanisms() -> impl Iterator<Item = MechanismKind> {
    MECHANISMS.into_iter().filter(|kind| kind.resolve().is_ok())
}

fn is_filled(bytes: &[u8], value: u8) -> bool {
    let page = PAGE as usize;
    bytes[page..page + BYTES].iter().all(|byte| *byte == value)
}

#[test]
fn a_transaction_larger_than_the_ring_is_seen_by_later_snapshots_and_not_by_older_ones() {
    for mechanism in mechanisms() {
        let segment = options(mechanism).open_private().unwrap();
        fill(&segment, BYTES, 1).unwrap();
        let mut older = Vec::new();
        // Each needs the memory of the one before, which the snapshots keep until their pages are copied.
        for value in 2..6 {
            let snapshot = segment.snapshot().unwrap();
            // A page is looked at before, the others later.
            assert_eq!(snapshot.read(word(3, 0)).unwrap() as u8, value - 1);
            older.push((snapshot, value - 1));
            fill(&segment, BYTES, value).unwrap();
            segment
                .run(|tx| tx.write(word(300, 0), u64::from(value)))
                .unwrap();
            let now = segment.snapshot().unwrap();
            assert!(is_filled(now.bytes(), value), "{mechanism:?}");
        }
        for (snapshot, value) in &older {
            assert!(
                is_filled(snapshot.bytes(), *value),
                "{mechanism:?}: {value}"
            );
        }
    }
}

#[test]
fn who_has_read_what_a_large_transaction_changed_conflicts_with_it() {
    for mechanism in mechanisms() {
        let segment = options(mechanism).open_private().unwrap();
        for page in [5, 900] {
            // A session that has not read anything yet.
            let mut session = segment.session().unwrap();
            fill(&segment, BYTES, 1).unwrap();
            let mut running = Transaction::begin(&mut session, Begin::default()).unwrap();
            running.read(word(page, 0)).unwrap();
            running.write(word(901, 0), 1).unwrap();
            fill(&segment, BYTES, 2).unwrap();
            let committed = running.commit();
            match committed {
                Ok(_) => assert_eq!(page, 900, "{mechanism:?}"),
                // A session whose view was made anew may take more for read than was.
                Err(SegmentError::Conflict { .. }) => {
                    assert!(page == 5 || mechanism == MechanismKind::Asynchronous);
                }
                Err(error) => panic!("{mechanism:?}: {error}"),
            }
        }
        // And one that goes first may be as large.
        segment
            .run_alone(|tx| -> Result<(), GrowError> {
                tx.slice_mut(part(BYTES)).unwrap().fill(77);
                Ok(())
            })
            .unwrap()
            .1
            .wait()
            .unwrap();
        assert!(is_filled(segment.snapshot().unwrap().bytes(), 77));
    }
}

#[test]
fn the_memory_of_a_large_transactions_records_is_given_back() {
    for mechanism in mechanisms() {
        let name = unique("large");
        let segment = options(mechanism).open_volatile(&name).unwrap();
        let used = || {
            std::fs::metadata(format!("/dev/shm/{name}"))
                .unwrap()
                .blocks()
                * 512
        };
        fill(&segment, BYTES, 1).unwrap();
        let before = used();
        for value in 2..5 {
            fill(&segment, BYTES, value).unwrap();
            assert!(used() <= before, "{mechanism:?}: {} after {before}", used());
        }
    }
}

/// A log whose segments are small.
fn storage() -> StorageOptions {
    StorageOptions {
        segment_bytes: 256 << 10,
        block_bytes: 64 << 10,
        log_bytes_max: 4 << 20,
        limits: GroupLimits {
            group_bytes: 32 << 10,
            transaction_bytes: 64 << 10,
            ..GroupLimits::default()
        },
        ..StorageOptions::default()
    }
}

fn durable(mechanism: MechanismKind) -> Options {
    options(mechanism).storage(storage())
}

#[test]
fn a_transaction_larger_than_the_logs_segments_is_durable_and_every_way_recovers_it() {
    for mechanism in mechanisms() {
        let directory = tempfile::tempdir().unwrap();
        let segment = durable(mechanism).open(directory.path()).unwrap();
        // Together more than the log has room for, so that checkpoints must free it.
        for value in 1..8 {
            fill(&segment, BYTES, value).unwrap();
            segment
                .run(|tx| tx.write(word(300, 0), u64::from(value)))
                .unwrap();
        }
        drop(segment);
        let segment = durable(mechanism).open(directory.path()).unwrap();
        let snapshot = segment.snapshot().unwrap();
        assert!(is_filled(snapshot.bytes(), 7), "{mechanism:?}");
        assert_eq!(snapshot.read(word(300, 0)).unwrap(), 7);
        drop(snapshot);
        fill(&segment, BYTES, 9).unwrap();
        drop(segment);
        let disk = sardonyx_storage::disk::RealDisk::open(directory.path()).unwrap();
        let opened = Engine::open(Arc::new(disk), storage()).unwrap();
        assert!(is_filled(opened.store.bytes(), 9), "{mechanism:?}");
    }
}

#[test]
fn i10_what_the_log_can_never_take_is_refused_by_name_and_the_next_one_is_not() {
    for mechanism in mechanisms() {
        let directory = tempfile::tempdir().unwrap();
        let segment = durable(mechanism).open(directory.path()).unwrap();
        let refused = fill(&segment, 4000 << 10, 1).unwrap_err();
        assert!(refused.to_string().contains("log_bytes_max"), "{refused}");
        let limit = 14 * (256 << 10) - 64;
        assert!(matches!(
            refused,
            RunError::Segment(SegmentError::TransactionTooLarge { limit: l, .. }) if l == limit
        ));
        // As much as it can take, again and again.
        for value in 2..5 {
            fill(&segment, 3 << 20, value).unwrap();
        }
        assert!(is_filled(segment.snapshot().unwrap().bytes(), 4));
    }
}
