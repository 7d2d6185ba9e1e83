//! The basic duties of every mechanism, on a segment without a log.

use sardonyx_mapped::{
    Begin, MechanismKind, Memory, MemoryAccess, Options, P, Segment, Session, Transaction,
};

const MECHANISMS: [MechanismKind; 3] = [
    MechanismKind::Asynchronous,
    MechanismKind::Signal,
    MechanismKind::Explicit,
];

type Fallible = Result<(), Box<dyn std::error::Error>>;

fn segment(mechanism: MechanismKind, bytes: u64) -> Segment {
    let options = Options::new()
        .mechanism(mechanism)
        .address_space_bytes(1 << 30);
    let segment = options.open_private().unwrap();
    segment.run(|tx| tx.grow_to(bytes)).unwrap();
    segment
}

fn place(page: u64) -> P<u64> {
    P::from_offset(page * 4096 + 8)
}

#[test]
fn what_is_committed_is_seen_and_what_is_refused_is_not() {
    for mechanism in MECHANISMS.into_iter().filter(|kind| kind.resolve().is_ok()) {
        let segment = segment(mechanism, 1 << 20);
        segment
            .run(|tx| {
                tx.write(place(3), 7)?;
                tx.write(place(5), 8)
            })
            .unwrap();
        let refused = segment.run(|tx| -> Fallible {
            assert_eq!(tx.read(place(3))?, 7);
            tx.write(place(3), 9)?;
            tx.write(place(6), 9)?;
            assert_eq!(tx.read(place(3))?, 9);
            Err("no".into())
        });
        assert!(refused.is_err());
        let snapshot = segment.snapshot().unwrap();
        let seen = [3, 5, 6].map(|page| snapshot.read(place(page)).unwrap());
        assert_eq!(seen, [7, 8, 0], "{mechanism:?}");
    }
}

#[test]
fn increments_of_several_threads_are_all_there() {
    for mechanism in MECHANISMS.into_iter().filter(|kind| kind.resolve().is_ok()) {
        let segment = segment(mechanism, 1 << 20);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let segment = segment.clone();
                scope.spawn(move || {
                    for _ in 0..500 {
                        segment
                            .run(|tx| {
                                *tx.get_mut(place(0))? += 1;
                                *tx.get_mut(place(1 + thread))? += 1;
                                Ok::<_, sardonyx_mapped::memory::PlaceError>(())
                            })
                            .unwrap();
                    }
                });
            }
        });
        let snapshot = segment.snapshot().unwrap();
        let seen = [0, 1, 2, 3, 4].map(|page| snapshot.read(place(page)).unwrap());
        assert_eq!(seen, [2000, 500, 500, 500, 500], "{mechanism:?}");
    }
}

#[test]
fn a_snapshot_stays_as_it_is_while_others_commit() {
    for mechanism in MECHANISMS.into_iter().filter(|kind| kind.resolve().is_ok()) {
        let segment = segment(mechanism, 1 << 20);
        segment.run(|tx| tx.write(place(0), 1)).unwrap();
        let old = segment.snapshot().unwrap();
        for value in 2..50 {
            segment.run(|tx| tx.write(place(value % 5), value)).unwrap();
        }
        let new = segment.snapshot().unwrap();
        let seen =
            |s: &sardonyx_mapped::Snapshot| [0, 1, 2, 3, 4].map(|p| s.read(place(p)).unwrap());
        assert_eq!(seen(&old), [1, 0, 0, 0, 0], "{mechanism:?}");
        assert_eq!(seen(&new), [45, 46, 47, 48, 49], "{mechanism:?}");
    }
}

#[test]
fn a_nested_part_that_fails_is_undone_alone() {
    for mechanism in MECHANISMS.into_iter().filter(|kind| kind.resolve().is_ok()) {
        let segment = segment(mechanism, 1 << 20);
        segment
            .run(|tx| -> Fallible {
                tx.write(place(0), 1)?;
                let inner = tx.nested(|tx| -> Fallible {
                    tx.write(place(0), 2)?;
                    tx.write(place(1), 2)?;
                    tx.nested(|tx| tx.write(place(2), 3))??;
                    Err("no".into())
                })?;
                assert!(inner.is_err());
                tx.nested(|tx| tx.write(place(3), 4))??;
                Ok(())
            })
            .unwrap();
        let snapshot = segment.snapshot().unwrap();
        let seen = [0, 1, 2, 3].map(|page| snapshot.read(place(page)).unwrap());
        assert_eq!(seen, [1, 0, 0, 4], "{mechanism:?}");
    }
}

#[test]
fn every_other_page_of_much_memory_in_one_transaction() {
    let segment = segment(MechanismKind::Asynchronous, 256 << 20);
    segment
        .run(|tx| {
            (0..65536)
                .step_by(2)
                .try_for_each(|page| tx.write(place(page), page))
        })
        .unwrap();
    let snapshot = segment.snapshot().unwrap();
    for page in 0..65536 {
        let expected = if page % 2 == 0 { page } else { 0 };
        assert_eq!(snapshot.read(place(page)).unwrap(), expected);
    }
}

#[test]
fn a_named_segment_is_one_for_all_handles_and_gone_with_the_last() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let options = Options::new()
        .shared_memory(directory.path())
        .address_space_bytes(1 << 30);
    let first = options.open_volatile("shared").unwrap();
    first.run(|tx| tx.grow_to(4096)).unwrap();
    let second = options.open_volatile("shared").unwrap();
    first.run(|tx| tx.write(place(0), 7)).unwrap();
    drop(first);
    assert_eq!(second.snapshot().unwrap().read(place(0)).unwrap(), 7);
    assert!(directory.path().join("shared").exists());
    drop(second);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    let anew = options.open_volatile("shared").unwrap();
    assert_eq!(anew.length(), 0);
}

#[test]
fn threads_that_make_a_named_segment_at_once_get_the_same() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let options = Options::new()
        .shared_memory(directory.path())
        .address_space_bytes(1 << 30);
    let options = &options;
    let segments: Vec<Segment> = std::thread::scope(|scope| {
        let open = || scope.spawn(|| options.open_volatile("shared").unwrap());
        let threads: Vec<_> = std::iter::repeat_with(open).take(4).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    segments[0].run(|tx| tx.grow_to(4096)).unwrap();
    assert!(segments.iter().all(|segment| segment.length() >= 4096));
}

#[test]
fn a_page_used_before_and_changed_by_others_since_is_no_conflict() {
    for mechanism in MECHANISMS.into_iter().filter(|kind| kind.resolve().is_ok()) {
        let segment = segment(mechanism, 1 << 20);
        let mut session = segment.session().unwrap();
        let write = |session: &mut Session, page: u64| {
            session.begin(Begin::default()).unwrap();
            Transaction::of(session)
                .unwrap()
                .write(place(page), 1)
                .unwrap();
        };
        write(&mut session, 0);
        session.commit().unwrap();
        segment.run(|tx| tx.write(place(0), 2)).unwrap();
        write(&mut session, 1);
        segment.run(|tx| tx.write(place(0), 3)).unwrap();
        assert!(session.commit().is_ok(), "{mechanism:?}");
    }
}
