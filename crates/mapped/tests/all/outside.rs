//! Memory lent to code without supervision: its reads and writes between transactions.

use sardonyx_mapped::{
    Begin, MechanismKind, Memory, MemoryAccess, Options, P, Segment, SegmentError,
};

const MECHANISMS: [MechanismKind; 2] = [MechanismKind::Asynchronous, MechanismKind::Signal];
const PAGES: u64 = 2048;

fn segment(mechanism: MechanismKind) -> Segment {
    let options = Options::new()
        .mechanism(mechanism)
        .address_space_bytes(1 << 30);
    let segment = options.open_private().unwrap();
    segment.run(|tx| tx.grow_to(PAGES * 4096)).unwrap();
    segment
}

fn place(page: u64) -> P<u64> {
    P::from_offset(page * 4096 + 8)
}

fn at(session: &sardonyx_mapped::Session, page: u64) -> *mut u64 {
    assert!(page < PAGES);
    session
        .address()
        .wrapping_add(page as usize * 4096 + 8)
        .cast()
}

#[test]
fn a_write_outside_of_a_transaction_is_reported_once_and_undone() {
    for mechanism in MECHANISMS.into_iter().filter(|kind| kind.resolve().is_ok()) {
        let segment = segment(mechanism);
        let mut session = segment.session().unwrap();
        session.begin_checked(Begin::default()).unwrap();
        // SAFETY: within the view, which no other code uses.
        unsafe { at(&session, 3).write(7) };
        session.commit().unwrap();
        // A page of the same chunk that was written, one that was not, one of a chunk never written.
        for page in [3, 4, 1500] {
            // SAFETY: as above; the fault handler makes it writable.
            unsafe { at(&session, page).write_volatile(99) };
            let refused = session.begin_checked(Begin::default());
            let Err(SegmentError::WrittenOutside { page: found }) = refused else {
                panic!("{mechanism:?}: page {page}: {refused:?}");
            };
            assert_eq!(found, page, "{mechanism:?}");
            assert!(!session.is_running());
            session.begin_checked(Begin::default()).unwrap();
            // SAFETY: as above.
            let seen = unsafe { [at(&session, 3).read(), at(&session, page).read()] };
            assert_eq!(seen, [7, if page == 3 { 7 } else { 0 }], "{mechanism:?}");
            assert_eq!(session.commit().unwrap(), None);
        }
        let snapshot = segment.snapshot().unwrap();
        assert_eq!(
            [3, 4, 1500].map(|page| snapshot.read(place(page)).unwrap()),
            [7, 0, 0]
        );
    }
}

#[test]
fn reading_outside_sees_what_is_committed_and_is_no_offence() {
    for mechanism in MECHANISMS.into_iter().filter(|kind| kind.resolve().is_ok()) {
        let segment = segment(mechanism);
        let mut session = segment.session().unwrap();
        for round in 1..5 {
            session.begin_checked(Begin::default()).unwrap();
            // SAFETY: within the view, which no other code uses.
            unsafe { at(&session, 3).write(round * 10) };
            session.commit().unwrap();
            segment.run(|tx| tx.write(place(4), round)).unwrap();
            segment.run(|tx| tx.write(place(1600), round)).unwrap();
            // SAFETY: as above.
            unsafe {
                assert_eq!(at(&session, 3).read_volatile(), round * 10, "{mechanism:?}");
                let others = [
                    at(&session, 4).read_volatile(),
                    at(&session, 1600).read_volatile(),
                ];
                assert!(
                    others.iter().all(|seen| *seen <= round),
                    "{mechanism:?}: {others:?}"
                );
            }
            session.begin_checked(Begin::default()).unwrap();
            // SAFETY: as above.
            let seen = unsafe {
                [
                    at(&session, 3).read(),
                    at(&session, 4).read(),
                    at(&session, 1600).read(),
                ]
            };
            assert_eq!(seen, [round * 10, round, round], "{mechanism:?}");
            session.abort().unwrap();
        }
    }
}

#[test]
fn a_conflict_leaves_nothing_that_looks_like_a_write() {
    for mechanism in MECHANISMS.into_iter().filter(|kind| kind.resolve().is_ok()) {
        let segment = segment(mechanism);
        let mut session = segment.session().unwrap();
        for round in 0..3 {
            session.begin_checked(Begin::default()).unwrap();
            // SAFETY: within the view, which no other code uses.
            unsafe {
                at(&session, 3).write(at(&session, 4).read() + 1);
            }
            segment.run(|tx| tx.write(place(4), round + 1)).unwrap();
            let refused = session.commit();
            assert!(
                matches!(refused, Err(SegmentError::Conflict { page: 4 })),
                "{mechanism:?}: {refused:?}"
            );
        }
        session.begin_checked(Begin::default()).unwrap();
        // SAFETY: as above.
        let seen = unsafe { [at(&session, 3).read(), at(&session, 4).read()] };
        assert_eq!(seen, [0, 3], "{mechanism:?}");
    }
}

#[test]
fn a_session_goes_on_seeing_what_it_committed_though_a_snapshot_keeps_it_from_the_base() {
    for mechanism in MECHANISMS.into_iter().filter(|kind| kind.resolve().is_ok()) {
        let segment = segment(mechanism);
        let _older = segment.snapshot().unwrap();
        let mut session = segment.session().unwrap();
        for round in 1..4 {
            session.begin_checked(Begin::default()).unwrap();
            // SAFETY: within the view, which no other code uses.
            unsafe { at(&session, 3).write(round) };
            session.commit().unwrap();
            // SAFETY: as above.
            let seen = unsafe {
                [
                    at(&session, 3).read_volatile(),
                    at(&session, 9).read_volatile(),
                ]
            };
            assert_eq!(seen, [round, 0], "{mechanism:?}");
        }
        // SAFETY: as above.
        unsafe { at(&session, 3).write_volatile(99) };
        let refused = session.begin_checked(Begin::default());
        assert!(
            matches!(refused, Err(SegmentError::WrittenOutside { page: 3 })),
            "{mechanism:?}: {refused:?}"
        );
    }
}
