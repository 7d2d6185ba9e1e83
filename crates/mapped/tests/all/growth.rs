//! A committed growth of a segment is there when it is opened again, even if no byte was written up there. It is
//! recovered from the log alone, from a checkpoint alone, and after deaths.

use crate::common::{Fallible, MECHANISMS, PAGE, role, say, spawn};
use sardonyx_mapped::heap::Heap;
use sardonyx_mapped::planted::{Step, die_at};
use sardonyx_mapped::{Begin, MechanismKind, Memory, MemoryAccess, Options, P, Segment};
use sardonyx_storage::disk::RealDisk;
use sardonyx_storage::engine::{Engine, StorageOptions};
use sardonyx_storage::log::policy::GroupLimits;
use std::path::Path;
use std::sync::Arc;

const MIB: u64 = 1 << 20;

fn storage() -> StorageOptions {
    StorageOptions {
        segment_bytes: 1 << 20,
        block_bytes: 64 << 10,
        log_bytes_max: 4 << 20,
        log_bytes_prepared: 2 << 20,
        limits: GroupLimits {
            group_bytes: 64 << 10,
            transaction_bytes: 256 << 10,
            ..GroupLimits::default()
        },
        ..StorageOptions::default()
    }
}

fn open_with(directory: &Path, mechanism: MechanismKind) -> Segment {
    let options = Options::new()
        .mechanism(mechanism)
        .versions_bytes(1)
        .address_space_bytes(256 * MIB)
        .storage(storage());
    options.open(directory).unwrap()
}

fn open(directory: &Path) -> Segment {
    open_with(directory, MechanismKind::Best)
}

/// The length that recovery finds, without the rounding of an opened segment.
fn recovered_bytes(directory: &Path) -> u64 {
    let disk = Arc::new(RealDisk::open(directory).unwrap());
    let opened = Engine::open(disk, storage()).unwrap();
    opened.store.pages() * PAGE
}

/// Many times the log, in a few pages at the beginning.
fn write_laps(segment: &Segment) {
    for round in 1..=150u64 {
        let write = |tx: &mut sardonyx_mapped::Transaction<'_>| -> Fallible {
            let pages = 16 * PAGE;
            let bytes = tx.range_mut(0, pages).ok_or("too short")?;
            bytes.fill(round as u8);
            Ok(())
        };
        drop(segment.run_later(write).unwrap());
    }
    segment
        .run(|tx| tx.write(P::from_offset(64), 7u64))
        .unwrap();
}

#[test]
fn i1_i3_a_committed_growth_is_there_from_the_log_and_from_a_checkpoint() {
    for mechanism in MECHANISMS.into_iter().filter(|kind| kind.resolve().is_ok()) {
        for way in ["log", "checkpoint", "checkpoint and laps"] {
            let directory = tempfile::tempdir().unwrap();
            let segment = open_with(directory.path(), mechanism);
            segment.run(|tx| tx.grow_to(2 * MIB)).unwrap();
            assert_eq!(segment.length(), 2 * MIB);
            // The second in the same life, by a session by hand.
            let mut session = segment.session().unwrap();
            session.begin(Begin::default()).unwrap();
            session.grow_to(6 * MIB).unwrap();
            let position = session.commit().unwrap();
            assert!(position.is_some(), "a growth is something to wait for");
            segment.ticket(position).wait().unwrap();
            drop(session);
            if way != "log" {
                segment.checkpoint().unwrap();
            }
            if way == "checkpoint and laps" {
                write_laps(&segment);
                segment.checkpoint().unwrap();
            }
            drop(segment);
            assert_eq!(
                recovered_bytes(directory.path()),
                6 * MIB,
                "{mechanism:?}, {way}"
            );
            let segment = open_with(directory.path(), mechanism);
            assert_eq!(segment.length(), 6 * MIB, "{mechanism:?}, {way}");
            let last = P::from_offset(6 * MIB - 8);
            segment.run(|tx| tx.write(last, 9u64)).unwrap();
            drop(segment);
            let segment = open_with(directory.path(), mechanism);
            assert_eq!(segment.snapshot().unwrap().read::<u64>(last).unwrap(), 9);
        }
    }
}

#[test]
fn a_length_that_somebody_else_grew_and_gave_up_is_logged_by_who_relies_on_it() {
    let directory = tempfile::tempdir().unwrap();
    let segment = open(directory.path());
    segment.run(|tx| tx.grow_to(2 * MIB)).unwrap();
    let gave_up = segment.run(|tx| -> Fallible {
        tx.grow_to(4 * MIB)?;
        Err("given up".into())
    });
    assert!(gave_up.is_err());
    drop(segment);
    assert_eq!(
        recovered_bytes(directory.path()),
        2 * MIB,
        "nobody relied on it"
    );

    let segment = open(directory.path());
    let mut grower = segment.session().unwrap();
    grower.begin(Begin::default()).unwrap();
    grower.grow_to(8 * MIB).unwrap();
    // To this one the room is there already, and it notes that at the beginning of the segment.
    let relied = |tx: &mut sardonyx_mapped::Transaction<'_>| -> Fallible {
        let length = tx.bytes().len() as u64;
        Ok(tx.write(P::from_offset(64), length)?)
    };
    segment.run(relied).unwrap();
    grower.abort().unwrap();
    drop(grower);
    drop(segment);
    let segment = open(directory.path());
    let length: u64 = segment
        .snapshot()
        .unwrap()
        .read(P::from_offset(64))
        .unwrap();
    assert_eq!((length, segment.length()), (8 * MIB, 8 * MIB));
}

#[test]
fn a_growth_that_asks_for_what_is_there_already_waits_until_that_is_durable() {
    let directory = tempfile::tempdir().unwrap();
    let segment = open(directory.path());
    let mut session = segment.session().unwrap();
    for _ in 0..2 {
        session.begin(Begin::default()).unwrap();
        session.grow_to(4 * MIB).unwrap();
        assert!(session.commit().unwrap().is_some());
    }
}

#[test]
fn the_byte_that_says_the_length_is_what_others_have_written_there() {
    for mechanism in MECHANISMS.into_iter().filter(|kind| kind.resolve().is_ok()) {
        let directory = tempfile::tempdir().unwrap();
        let segment = open_with(directory.path(), mechanism);
        segment.run(|tx| tx.grow_to(2 * MIB)).unwrap();
        // It commits a growth and the last byte of it, and dies before it has noted that the length
        // is known. So the next one says it again, and must not take the byte back.
        let path = directory.path().to_str().unwrap();
        let mut child = spawn(module_path!(), &["last byte", "AfterTail", path]);
        assert_eq!(child.hear().as_deref(), Some("grown"));
        child.hear_all();
        segment
            .run(|tx| tx.write(P::from_offset(64), 1u64))
            .unwrap();
        let last = P::<u8>::from_offset(6 * MIB - 1);
        assert_eq!(segment.snapshot().unwrap().read(last).unwrap(), 77);
        drop(segment);
        let segment = open_with(directory.path(), mechanism);
        assert_eq!(segment.snapshot().unwrap().read(last).unwrap(), 77);
    }
}

#[test]
fn a_heap_whose_arrays_were_never_written_opens_again() {
    let directory = tempfile::tempdir().unwrap();
    let segment = open(directory.path());
    // The first is long enough for the map to have pages for the second, too, which then has none
    // written behind it.
    for (name, bytes) in [("first", 40 * MIB), ("second", 6 * MIB)] {
        let allocate = |tx: &mut sardonyx_mapped::Transaction<'_>| -> Fallible {
            let heap = Heap::open_or_format(tx)?;
            let array = heap.allocate_bytes(tx, bytes, 4096)?;
            Ok(heap.set_root(tx, name, array, "array")?)
        };
        segment.run(allocate).unwrap();
    }
    segment.checkpoint().unwrap();
    drop(segment);
    let segment = open(directory.path());
    let snapshot = segment.snapshot().unwrap();
    let heap = Heap::open(&snapshot).unwrap();
    heap.check(&snapshot).unwrap();
    assert_eq!(heap.roots(&snapshot).unwrap().len(), 2);
}

#[test]
fn a_transaction_that_only_reads_does_not_grow_and_no_growth_goes_beyond_the_checkpointers_memory()
{
    let directory = tempfile::tempdir().unwrap();
    let mut options = storage();
    options.memory_bytes_max = 4 * MIB;
    let segment = Options::new()
        .versions_bytes(1)
        .storage(options)
        .open(directory.path())
        .unwrap();
    let mut reader = segment.session().unwrap();
    let read_only = Begin {
        read_only: true,
        ..Begin::default()
    };
    reader.begin(read_only).unwrap();
    assert!(reader.grow_to(2 * MIB).is_err());
    assert_eq!(segment.length(), 0);
    reader.abort().unwrap();
    segment.run(|tx| tx.grow_to(4 * MIB)).unwrap();
    assert!(segment.run(|tx| tx.grow_to(4 * MIB + 1)).is_err());
    segment.checkpoint().unwrap();
}

#[test]
fn i9_a_death_at_any_step_of_a_growth_loses_no_acknowledged_length() {
    let steps = [
        Step::GrowthLocked,
        Step::Allocated,
        Step::Grown,
        Step::Gathered,
        Step::CommitLocked,
        Step::FrameWritten,
        Step::BeforeTail,
        Step::AfterTail,
        Step::SlotFree,
        Step::BeforeUnlock,
        Step::Leading,
        Step::GroupWritten,
    ];
    for step in steps {
        for with_others in [false, true] {
            let directory = tempfile::tempdir().unwrap();
            let others = with_others.then(|| open(directory.path()));
            let path = directory.path().to_str().unwrap();
            let mut child = spawn(module_path!(), &["grow", &format!("{step:?}"), path]);
            assert_eq!(child.hear().as_deref(), Some("grown"));
            assert!(child.hear_all().is_empty(), "{step:?} was never passed");
            // A process that goes on relies on the length that it sees, and the next life must have it.
            let mut relied = 4 * MIB;
            if let Some(segment) = others {
                relied = relied.max(segment.length());
                segment
                    .run(|tx| tx.write(P::from_offset(64), 1u64))
                    .unwrap();
            }
            let recovered = recovered_bytes(directory.path());
            assert!(
                recovered >= relied,
                "{step:?}, {with_others}: {recovered} of {relied}"
            );
        }
    }
}

#[test]
fn child() {
    let Some(role) = role() else { return };
    let segment = open_with(Path::new(&role[2]), MechanismKind::Signal);
    segment.run(|tx| tx.grow_to(4 * MIB)).unwrap();
    say("grown");
    let mut steps = Step::ALL.iter();
    die_at(
        *steps.find(|step| format!("{step:?}") == role[1]).unwrap(),
        0,
    );
    let write = role[0] == "last byte";
    let grow = |tx: &mut sardonyx_mapped::Transaction<'_>| -> Fallible {
        tx.grow_to(6 * MIB)?;
        if write {
            tx.write(P::from_offset(6 * MIB - 1), 77u8)?;
        }
        Ok(())
    };
    segment.run(grow).unwrap();
    say("alive");
}
