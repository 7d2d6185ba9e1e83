//! I10: a reader that keeps its snapshot does not keep writers from going on, and sees it unchanged.

use sardonyx_mapped::planted;
use sardonyx_mapped::{
    Begin, MechanismKind, Memory, MemoryAccess, Options, P, SegmentError, Transaction,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

fn place(page: u64) -> P<u64> {
    P::from_offset(page * 4096 + 8)
}

const MECHANISMS: [MechanismKind; 3] = [
    MechanismKind::Asynchronous,
    MechanismKind::Signal,
    MechanismKind::Explicit,
];

#[test]
fn i10_writers_go_on_while_a_snapshot_is_kept_and_it_stays_as_it_is() {
    for mechanism in MECHANISMS.into_iter().filter(|kind| kind.resolve().is_ok()) {
        let told = Arc::new(AtomicU32::new(0));
        let count = told.clone();
        let segment = Options::new()
            .mechanism(mechanism)
            .address_space_bytes(1 << 30)
            .versions_bytes(2 << 20)
            .on_slow_reader(move |_| {
                count.fetch_add(1, Ordering::Relaxed);
            })
            .open_private()
            .unwrap();
        segment
            .run(|tx| {
                tx.grow_to(1 << 20)?;
                (0..256)
                    .try_for_each(|page| tx.write(place(page), page))
                    .map_err(|_| unreachable!())
            })
            .map_err(|error: sardonyx_mapped::RunError<sardonyx_mapped::memory::GrowError>| error)
            .unwrap();
        let old = segment.snapshot().unwrap();
        assert_eq!(old.read(place(7)).unwrap(), 7);
        // Many times the ring's size.
        for round in 1..200u64 {
            segment
                .run(|tx| {
                    for page in (round % 2..256).step_by(2) {
                        tx.range_mut(page * 4096, 512).unwrap().fill(round as u8);
                        tx.write(place(page), round)?;
                    }
                    Ok::<_, sardonyx_mapped::memory::PlaceError>(())
                })
                .unwrap();
        }
        for page in 0..256 {
            assert_eq!(old.read(place(page)).unwrap(), page, "{mechanism:?}");
            assert_eq!(
                old.read(P::<u8>::from_offset(page * 4096 + 400)).unwrap(),
                0,
                "{mechanism:?} {page}"
            );
        }
        assert!(told.load(Ordering::Relaxed) > 0, "nobody was told");
        drop(old);
        let new = segment.snapshot().unwrap();
        for page in 0..256 {
            assert_eq!(
                new.read(place(page)).unwrap(),
                198 + page % 2,
                "{mechanism:?} {page}"
            );
        }
    }
}

#[test]
fn a_slow_writer_is_doomed_sees_its_snapshot_and_commits_when_run_again() {
    for mechanism in MECHANISMS.into_iter().filter(|kind| kind.resolve().is_ok()) {
        let options = Options::new()
            .mechanism(mechanism)
            .address_space_bytes(1 << 30);
        let segment = options.versions_bytes(2 << 20).open_private().unwrap();
        segment.run(|tx| tx.grow_to(1 << 20)).unwrap();
        let mut session = segment.session().unwrap();
        let mut slow = Transaction::begin(&mut session, Begin::default()).unwrap();
        slow.write(place(200), 1).unwrap();
        assert_eq!(slow.read(place(3)).unwrap(), 0);
        for round in 1..100u64 {
            segment
                .run(|tx| {
                    for page in 0..128 {
                        tx.range_mut(page * 4096, 512).unwrap().fill(round as u8);
                    }
                    Ok::<_, sardonyx_mapped::memory::PlaceError>(())
                })
                .unwrap();
        }
        for page in 0..128 {
            assert_eq!(slow.read(place(page)).unwrap(), 0, "{mechanism:?} {page}");
        }
        assert_eq!(slow.read(place(200)).unwrap(), 1);
        assert!(slow.is_doomed());
        assert!(matches!(slow.commit(), Err(SegmentError::Conflict { .. })));
        let mut again = Transaction::begin(&mut session, Begin::default()).unwrap();
        assert_eq!(again.read(P::<u8>::from_offset(1)).unwrap(), 99);
        assert_eq!(again.read(place(200)).unwrap(), 0);
        again.write(place(200), 2).unwrap();
        again.commit().unwrap();
        assert_eq!(segment.snapshot().unwrap().read(place(200)).unwrap(), 2);
    }
}

/// Bytes of the ring that a transaction on 32 pages looks at, in each of many rounds. A snapshot or a
/// transaction that may write was begun before the first, if one is there.
fn looked(mechanism: MechanismKind, sessions: usize, reader: Option<Begin>) -> (Vec<u64>, u64) {
    let options = Options::new()
        .mechanism(mechanism)
        .address_space_bytes(1 << 30);
    let segment = options.versions_bytes(8 << 20).open_private().unwrap();
    segment.run(|tx| tx.grow_to(1 << 20)).unwrap();
    let mut old = segment.session().unwrap();
    let mut writers: Vec<_> = (0..sessions).map(|_| segment.session().unwrap()).collect();
    let mut commit = |round: u64| {
        let before = planted::looked();
        let writer = &mut writers[round as usize % sessions];
        let mut transaction = Transaction::begin(writer, Begin::default()).unwrap();
        for page in 0..32 {
            for word in 0..16 {
                let place = P::<u64>::from_offset(page * 4096 + 8 + word * 240);
                transaction.write(place, round + 1).unwrap();
            }
        }
        transaction.commit().unwrap();
        planted::looked() - before
    };
    (0..4).for_each(|round| _ = commit(round));
    let transaction = reader.map(|begin| {
        let mut transaction = Transaction::begin(&mut old, begin).unwrap();
        if !begin.read_only {
            transaction.write(place(200), 1).unwrap();
        }
        transaction
    });
    let rounds = (4..260).map(&mut commit).collect();
    if let Some(transaction) = transaction {
        assert_eq!(transaction.read(place(0)).unwrap(), 4);
        drop(transaction);
    }
    (rounds, commit(260))
}

fn median(bytes: &[u64]) -> u64 {
    let mut sorted = bytes.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}

#[test]
fn i13_what_a_writer_looks_at_does_not_grow_with_a_readers_age() {
    let read_only = Begin {
        read_only: true,
        ..Begin::default()
    };
    for mechanism in MECHANISMS.into_iter().filter(|kind| kind.resolve().is_ok()) {
        for sessions in [1, 2] {
            let (without, _) = looked(mechanism, sessions, None);
            let usual = median(&without[60..]);
            for reader in [read_only, Begin::default()] {
                let (with, after) = looked(mechanism, sessions, Some(reader));
                // Once through the new records, and once more for each copy that is made of a page.
                let found = median(&with[60..]);
                assert!(
                    found <= 3 * usual,
                    "{mechanism:?}, {sessions} sessions, {reader:?}: {found} bytes, {usual} without"
                );
                // A single commit does not clear away all leftovers of a reader.
                let most = with[60..].iter().copied().max().unwrap().max(after);
                assert!(most < 1 << 20, "{mechanism:?}: {most} bytes, {reader:?}");
            }
        }
    }
}
