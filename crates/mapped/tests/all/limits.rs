//! The bounds: an error that says what to do, and all goes on (I10).

use crate::common::{MECHANISMS, PAGE, Shared, alone, options, private, unique, word};
use sardonyx_mapped::memory::GrowError;
use sardonyx_mapped::{
    Access, Begin, MechanismKind, Memory, MemoryAccess, Options, P, RunError, SegmentError,
    Transaction,
};
use std::os::unix::fs::FileExt;
use std::time::Duration;

fn goes_on(segment: &sardonyx_mapped::Segment) {
    segment.run(|tx| tx.write(word(1, 0), 42)).unwrap();
    assert_eq!(segment.snapshot().unwrap().read(word(1, 0)).unwrap(), 42);
}

#[test]
fn a_transaction_that_is_too_large_has_no_effect() {
    for mechanism in MECHANISMS.into_iter().filter(|kind| kind.resolve().is_ok()) {
        let bounded = options(mechanism).transaction_bytes(512 << 10);
        let segment = bounded.open_private().unwrap();
        segment.run(|tx| tx.grow_to(1024 * PAGE)).unwrap();
        let refused = segment.run(|tx| {
            (1..1000).try_for_each(|page| tx.write(word(page, 1), page))?;
            let all = sardonyx_mapped::P::<[[u64; 512]; 200]>::from_offset(PAGE);
            for page in tx.get_mut(all)?.iter_mut() {
                page.fill(7);
            }
            Ok::<_, sardonyx_mapped::memory::PlaceError>(())
        });
        let limit = 512 << 10;
        match refused {
            Err(RunError::Segment(SegmentError::TransactionTooLarge { bytes, limit: l })) => {
                assert!(bytes > limit && l == limit, "{mechanism:?}");
            }
            other => panic!("{mechanism:?}: {other:?}"),
        }
        let snapshot = segment.snapshot().unwrap();
        assert!(snapshot.bytes().iter().all(|byte| *byte == 0));
        drop(snapshot);
        goes_on(&segment);
    }
}

#[test]
fn the_bound_on_a_transaction_can_be_chosen_and_else_is_what_the_log_can_take() {
    const MIB: u64 = 1 << 20;
    let fill = |segment: &sardonyx_mapped::Segment, bytes: u64, value: u8| {
        segment.run(|tx| {
            tx.grow_to(160 * MIB)?;
            tx.touch(0..bytes, Access::Write).unwrap();
            tx.bytes_mut()[..bytes as usize].fill(value);
            Ok::<_, GrowError>(())
        })
    };
    let limit_of = |refused| match refused {
        Err(RunError::Segment(SegmentError::TransactionTooLarge { limit, .. })) => limit,
        other => panic!("{other:?}"),
    };
    let directory = tempfile::tempdir().unwrap();
    let bounded = Options::new().transaction_bytes(4 * MIB);
    let segment = bounded.open(directory.path()).unwrap();
    // With heads of 8 bytes for each page.
    fill(&segment, 3 * MIB + MIB / 2, 2).unwrap();
    assert_eq!(limit_of(fill(&segment, 6 * MIB, 3)), 4 * MIB);
    drop(segment);
    // More than a segment of the log, and more than the ring.
    let segment = Options::new().open(directory.path()).unwrap();
    fill(&segment, 100 * MIB, 4).unwrap();
    drop(segment);
    let small = sardonyx_storage::engine::StorageOptions {
        log_bytes_max: 256 * MIB,
        ..Default::default()
    };
    let segment = Options::new()
        .storage(small)
        .open(directory.path())
        .unwrap();
    let snapshot = segment.snapshot().unwrap();
    let (changed, rest) = snapshot.bytes().split_at(100 << 20);
    // As slices: byte for byte they are compared a hundred times as long here.
    assert!(changed == vec![4; changed.len()] && rest == vec![0; rest.len()]);
    drop(snapshot);
    let refused = fill(&segment, 130 * MIB, 5);
    let message = refused.as_ref().unwrap_err().to_string();
    assert!(message.contains("log_bytes_max"), "{message}");
    assert_eq!(limit_of(refused), 128 * MIB - 64);
    fill(&segment, 110 * MIB, 6).unwrap();
    let too_much = Options::new().transaction_bytes(4096 * MIB).open_private();
    assert!(matches!(too_much, Err(SegmentError::Open(_))));
}

#[test]
fn address_space_that_is_exhausted_is_said() {
    for mechanism in MECHANISMS.into_iter().filter(|kind| kind.resolve().is_ok()) {
        let segment = options(mechanism)
            .address_space_bytes(8 << 20)
            .open_private()
            .unwrap();
        let refused = segment.run(|tx| tx.grow_to((8 << 20) + 1));
        let Err(RunError::Refused(GrowError::Full { limit_bytes, .. })) = refused else {
            panic!("{mechanism:?}: {refused:?}");
        };
        assert_eq!(limit_bytes, 8 << 20);
        segment.run(|tx| tx.grow_to(8 << 20)).unwrap();
        goes_on(&segment);
    }
}

#[test]
fn a_writer_is_told_of_a_reader_that_keeps_the_ring_and_goes_on_when_it_ends() {
    for mechanism in MECHANISMS.into_iter().filter(|kind| kind.resolve().is_ok()) {
        let told = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
        let counted = told.clone();
        let segment = options(mechanism)
            .slow_reader_wait(Duration::from_secs(30))
            .on_slow_reader(move |reader| {
                assert_eq!(reader.process, std::process::id());
                counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            })
            .open_private()
            .unwrap();
        segment.run(|tx| tx.grow_to(1024 * PAGE)).unwrap();
        segment.run(|tx| tx.write(word(9, 0), 5)).unwrap();
        let reader = segment.snapshot().unwrap();
        // Twice as much as the ring holds.
        for round in 0..1024 {
            let all = sardonyx_mapped::P::<[u64; 512]>::from_offset((round % 64 + 1) * PAGE);
            segment.run(|tx| tx.write(all, [round + 1; 512])).unwrap();
        }
        assert!(told.load(std::sync::atomic::Ordering::SeqCst) > 0);
        assert_eq!(reader.read(word(9, 0)).unwrap(), 5, "{mechanism:?}");
        drop(reader);
        goes_on(&segment);
    }
}

#[test]
fn a_transaction_that_only_reads_cannot_write() {
    for mechanism in MECHANISMS.into_iter().filter(|kind| kind.resolve().is_ok()) {
        let segment = private(mechanism, 16);
        goes_on(&segment);
        let mut session = segment.session().unwrap();
        let begin = Begin {
            read_only: true,
            ..Begin::default()
        };
        let mut tx = Transaction::begin(&mut session, begin).unwrap();
        assert!(tx.write(word(1, 0), 99).is_err(), "{mechanism:?}");
        assert!(tx.bytes_mut().is_empty());
        assert_eq!(tx.read(word(1, 0)).unwrap(), 42);
        tx.commit().unwrap();
        segment.give_back(session);
        goes_on(&segment);
    }
}

#[test]
fn a_shared_memory_that_is_damaged_is_refused() {
    let shared = Shared::new(MechanismKind::Asynchronous, "damaged", 16);
    let path = format!("/dev/shm/{}", shared.name);
    let good = std::fs::File::open(&path).unwrap();
    let mut head = [0; 32];
    good.read_exact_at(&mut head, 0).unwrap();
    let length = good.metadata().unwrap().len();
    let name = unique("broken");
    let broken = format!("/dev/shm/{name}");
    let open = |head: &[u8], length: u64| {
        let file = std::fs::File::create(&broken).unwrap();
        file.write_all_at(head, 0).unwrap();
        file.set_len(length).unwrap();
        let opened = options(MechanismKind::Asynchronous).open_volatile(&name);
        std::fs::remove_file(&broken).unwrap();
        opened.map(|_| ())
    };
    // Each byte of the four identifying words.
    for at in 0..32 {
        let mut damaged = head;
        damaged[at] ^= 0x55;
        let refused = open(&damaged, length);
        assert!(
            matches!(refused, Err(SegmentError::Incompatible { .. })),
            "byte {at}: {refused:?}"
        );
    }
    for length in [0, 31, 32, 4096, length - 1, length + 1] {
        let refused = open(&head, length);
        assert!(
            matches!(refused, Err(SegmentError::Incompatible { .. })),
            "{length} bytes: {refused:?}"
        );
    }
}

#[test]
fn more_scattered_pages_than_the_kernel_allows_are_refused_and_the_session_goes_on() {
    alone(|| {
        let options = Options::new()
            .mechanism(MechanismKind::Signal)
            .address_space_bytes(2 << 30);
        let segment = options.open_private().unwrap();
        segment.run(|tx| tx.grow_to(600 << 20)).unwrap();
        let pages = 600 << 8;
        let mut session = segment.session().unwrap();
        for _ in 0..2 {
            let mut many = Transaction::begin(&mut session, Begin::default()).unwrap();
            for page in (0..pages).step_by(2) {
                assert_eq!(
                    many.read(P::<u64>::from_offset(page * 4096 + 8)).unwrap(),
                    0
                );
            }
            many.write(P::<u64>::from_offset(8), 7).unwrap();
            let refused = many.commit();
            let message = refused.map(|_| ()).unwrap_err().to_string();
            assert!(message.contains("65,530"), "{message}");
            let mut few = Transaction::begin(&mut session, Begin::default()).unwrap();
            *few.get_mut(P::<u64>::from_offset(4096)).unwrap() += 1;
            assert_eq!(few.read(P::<u64>::from_offset(8)).unwrap(), 0);
            few.commit().unwrap();
        }
        assert_eq!(
            segment
                .snapshot()
                .unwrap()
                .read(P::<u64>::from_offset(4096))
                .unwrap(),
            2
        );
    });
}
