//! The numbers and durations that a program can give to a segment, at their extremes: it opens or
//! refuses with a typed error, and so does every call. No panic, and nothing wraps.

use crate::common::{Fallible, PAGE, alone, unique};
use sardonyx_mapped::heap::Heap;
use sardonyx_mapped::memory::PlainMemory;
use sardonyx_mapped::{
    Access, Begin, Memory, MemoryAccess, Options, P, Segment, SegmentError, Session, Slice,
};
use sardonyx_storage::engine::{OpenError, StorageOptions};
use sardonyx_storage::log::policy::GroupLimits;
use std::time::Duration;

const EXTREMES: [u64; 6] = [0, 1, 1 << 46, 1 << 62, u64::MAX - 1, u64::MAX];

fn storage() -> StorageOptions {
    StorageOptions {
        segment_bytes: 1 << 20,
        block_bytes: 64 << 10,
        log_bytes_max: 4 << 20,
        log_bytes_prepared: 0,
        limits: GroupLimits {
            group_bytes: 64 << 10,
            transaction_bytes: 256 << 10,
            ..GroupLimits::default()
        },
        ..StorageOptions::default()
    }
}

fn base() -> Options {
    Options::new()
        .versions_bytes(1)
        .address_space_bytes(64 << 20)
        .storage(storage())
}

/// The requests that a program may make of a segment that has opened.
fn use_it(segment: &Segment) {
    let write = |tx: &mut sardonyx_mapped::Transaction<'_>| -> Fallible {
        tx.grow_to(8 * PAGE)?;
        Ok(tx.write(P::from_offset(PAGE), 5u64)?)
    };
    // A segment of a page has no room for that, and says so.
    if segment.run(write).is_ok() {
        let snapshot = segment.snapshot().unwrap();
        assert_eq!(snapshot.read::<u64>(P::from_offset(PAGE)).unwrap(), 5);
    }
}

#[test]
fn every_number_of_the_options_opens_or_refuses() {
    alone(|| {
        let named = |error: &SegmentError| {
            matches!(error, SegmentError::Open(OpenError::Option { .. }))
                || matches!(error, SegmentError::System { .. })
                || matches!(error, SegmentError::Open(_))
        };
        let mut opened = 0;
        for n in EXTREMES {
            for options in [
                base().versions_bytes(n),
                base().address_space_bytes(n),
                base().versions_bytes(n).address_space_bytes(n),
                base().storage(StorageOptions {
                    memory_bytes_max: n,
                    ..storage()
                }),
                base().storage(StorageOptions {
                    workers: n as usize,
                    ..storage()
                }),
            ] {
                let directory = tempfile::tempdir().unwrap();
                let name = unique("extremes");
                let attempts = [
                    options.open_private(),
                    options.open_volatile(&name),
                    options.open(directory.path()),
                ];
                for attempt in attempts {
                    match attempt {
                        Ok(segment) => {
                            use_it(&segment);
                            opened += 1;
                        }
                        Err(error) => assert!(named(&error), "{n}: {error:?}"),
                    }
                }
                let _ = std::fs::remove_file(format!("/dev/shm/{name}"));
            }
        }
        assert!(opened > 30, "{opened}");
        for wait in [Duration::ZERO, Duration::from_nanos(1), Duration::MAX] {
            use_it(&base().slow_reader_wait(wait).open_private().unwrap());
        }
    });
}

#[test]
fn every_number_of_a_call_is_done_or_refused() {
    let segment = base().open_private().unwrap();
    let mut session = segment.session().unwrap();
    session.begin(Begin::default()).unwrap();
    session.grow_to(4 * PAGE).unwrap();
    let length = session.length();
    for n in EXTREMES.into_iter().filter(|n| *n > length) {
        assert!(matches!(
            session.grow_to(n),
            Err(SegmentError::AddressSpaceFull { .. })
        ));
        for range in [0..n, n..n, n - 1..n, 1..n] {
            assert!(session.touch(range, Access::Write).is_err());
        }
        assert!(session.check(n, n).is_err());
        assert!(session.check(1, n).is_err());
    }
    session.abort().unwrap();
    assert_eq!(Session::redo_bytes(u64::MAX, u64::MAX), u64::MAX);
    assert_eq!(Session::redo_bytes(0, u64::MAX), u64::MAX);

    let mut memory = PlainMemory::new(8 << 20).unwrap();
    let heap = Heap::format(&mut memory).unwrap();
    for n in EXTREMES.into_iter().filter(|n| *n > 8 << 20) {
        assert!(memory.grow_to(n).is_err());
        assert!(memory.range(n, n).is_none() && memory.range_mut(1, n).is_none());
        for align in [1, 8, n] {
            assert!(heap.allocate_bytes(&mut memory, n, align).is_err());
            assert!(heap.allocate_bytes(&mut memory, 8, n).is_err());
            let place = P::from_offset(n);
            assert!(heap.free_bytes(&mut memory, place, n, align).is_err());
            assert!(heap.free_bytes(&mut memory, place, 8, 8).is_err());
        }
        assert!(heap.allocate_zeroed::<u64, _>(&mut memory, n).is_err());
        let slice = Slice::<u64> {
            start: P::from_offset(n),
            length: n,
        };
        assert!(memory.slice(slice).is_err() && memory.slice_mut(slice).is_err());
        assert!(memory.read(P::<u64>::from_offset(n)).is_err());
    }
    heap.check(&memory).unwrap();
}
