//! The contract of both disks, checked by one suite on each. The simulated disk is worth something only if everything
//! that works on it works on the real one, and the other way round.

use sardonyx_storage::disk::{
    Access, AlignedBuffer, Create, DIRECT_ALIGNMENT, Disk, DiskError, DiskFile, Faults, RealDisk,
    SimulatedDisk,
};
use std::io::ErrorKind;

/// Runs a check on both disks.
fn on_both(check: impl Fn(&dyn Disk)) {
    check(&SimulatedDisk::new(1, Faults::default()));
    let directory = tempfile::tempdir().expect("a temporary directory");
    check(&RealDisk::open(directory.path().join("new/bank.sdx")).expect("a real disk"));
}

fn kind<T: std::fmt::Debug>(result: Result<T, DiskError>) -> ErrorKind {
    result.expect_err("this must be refused").source.kind()
}

/// A buffer for direct access, filled with a byte.
fn filled(len: usize, byte: u8) -> AlignedBuffer {
    let mut buffer = AlignedBuffer::zeroed(len);
    buffer.fill(byte);
    buffer
}

#[test]
fn bytes_come_back_from_where_they_were_written() {
    on_both(|disk| {
        let file = disk.open("a", Access::Buffered, Create::New).unwrap();
        assert_eq!(file.len().unwrap(), 0);
        file.write_at(3, b"abc").unwrap();
        file.write_durable_at(6, b"def").unwrap();
        file.write_at(20, b"").unwrap();
        assert_eq!(file.len().unwrap(), 9);
        file.sync().unwrap();
        let again = disk.open("a", Access::Buffered, Create::No).unwrap();
        let mut bytes = [9; 12];
        assert_eq!(again.read_at(0, &mut bytes).unwrap(), 9);
        assert_eq!(&bytes, b"\0\0\0abcdef\x09\x09\x09");
        assert_eq!(again.read_at(5, &mut bytes[..2]).unwrap(), 2);
        assert_eq!(&bytes[..2], b"cd");
        assert_eq!(again.read_at(9, &mut bytes).unwrap(), 0);
        assert_eq!(again.read_at(1 << 40, &mut bytes).unwrap(), 0);
        assert_eq!(again.read_at(0, &mut []).unwrap(), 0);
    });
}

#[test]
fn direct_access_reads_what_it_wrote_and_stops_at_the_end() {
    on_both(|disk| {
        let file = disk.open("d", Access::Direct, Create::IfAbsent).unwrap();
        file.write_at(0, &filled(2 * DIRECT_ALIGNMENT, 1)).unwrap();
        file.write_durable_at(4096, &filled(4096, 2)).unwrap();
        file.sync().unwrap();
        let mut read = AlignedBuffer::zeroed(4 * DIRECT_ALIGNMENT);
        assert_eq!(file.read_at(0, &mut read).unwrap(), 8192);
        assert!(read[..4096].iter().all(|byte| *byte == 1));
        assert!(read[4096..8192].iter().all(|byte| *byte == 2));
        // A file whose length is no multiple of the alignment ends inside a block.
        let other = disk.open("d", Access::Buffered, Create::No).unwrap();
        other.write_at(8192, b"tail").unwrap();
        other.sync().unwrap();
        for _ in 0..2 {
            assert_eq!(file.read_at(4096, &mut read).unwrap(), 4100);
            assert_eq!(&read[4096..4100], b"tail");
        }
    });
}

#[test]
fn direct_access_refuses_what_is_not_aligned() {
    on_both(|disk| {
        let file = disk.open("d", Access::Direct, Create::New).unwrap();
        let mut buffer = filled(3 * 4096, 1);
        file.write_at(0, &buffer).unwrap();
        for (offset, from, to) in [(512, 0, 4096), (0, 0, 512), (0, 512, 4608), (1, 0, 4096)] {
            let bytes = &mut buffer[from..to];
            assert_eq!(kind(file.write_at(offset, bytes)), ErrorKind::InvalidInput);
            assert_eq!(
                kind(file.write_durable_at(offset, bytes)),
                ErrorKind::InvalidInput
            );
            assert_eq!(kind(file.read_at(offset, bytes)), ErrorKind::InvalidInput);
        }
        assert_eq!(kind(file.preallocate(20_000)), ErrorKind::InvalidInput);
        assert_eq!(kind(file.allocate(20_000)), ErrorKind::InvalidInput);
        assert_eq!(file.len().unwrap(), 3 * 4096);
    });
}

#[test]
fn offsets_beyond_any_file_are_refused() {
    on_both(|disk| {
        let file = disk.open("a", Access::Buffered, Create::New).unwrap();
        for offset in [u64::MAX, i64::MAX as u64, u64::MAX - 1] {
            assert_eq!(kind(file.write_at(offset, b"xy")), ErrorKind::InvalidInput);
            assert_eq!(
                kind(file.write_durable_at(offset, b"xy")),
                ErrorKind::InvalidInput
            );
            assert_eq!(
                kind(file.read_at(offset, &mut [0; 2])),
                ErrorKind::InvalidInput
            );
        }
        assert_eq!(kind(file.preallocate(u64::MAX)), ErrorKind::InvalidInput);
        assert_eq!(kind(file.allocate(u64::MAX)), ErrorKind::InvalidInput);
        assert_eq!(file.len().unwrap(), 0);
    });
}

#[test]
fn files_are_created_only_when_asked_for() {
    on_both(|disk| {
        for access in [Access::Buffered, Access::Direct] {
            assert_eq!(
                kind(disk.open("a", access, Create::No)),
                ErrorKind::NotFound
            );
            disk.open("a", access, Create::New).unwrap();
            assert_eq!(
                kind(disk.open("a", access, Create::New)),
                ErrorKind::AlreadyExists
            );
            disk.open("a", access, Create::IfAbsent).unwrap();
            disk.open("a", access, Create::No).unwrap();
            disk.remove("a").unwrap();
            disk.open("a", access, Create::IfAbsent).unwrap();
            disk.remove("a").unwrap();
        }
        assert_eq!(kind(disk.remove("a")), ErrorKind::NotFound);
        assert_eq!(kind(disk.rename("a", "b")), ErrorKind::NotFound);
        let absent = disk.open("absent/a", Access::Buffered, Create::New);
        assert_eq!(kind(absent), ErrorKind::NotFound);
    });
}

#[test]
fn directories_list_their_own_files() {
    on_both(|disk| {
        assert!(disk.list("log").unwrap().is_empty());
        disk.create_directory("log/old").unwrap();
        disk.create_directory("log/old").unwrap();
        disk.create_directory("").unwrap();
        for name in ["log/2", "log/10", "log/1", "log/old/0", "logs", "MANIFEST"] {
            disk.open(name, Access::Buffered, Create::New).unwrap();
        }
        assert_eq!(disk.list("").unwrap(), ["MANIFEST", "logs"]);
        assert_eq!(disk.list("log").unwrap(), ["1", "10", "2"]);
        assert_eq!(disk.list("log/old").unwrap(), ["0"]);
        for directory in ["", "log", "log/old"] {
            disk.sync_directory(directory).unwrap();
        }
        assert_eq!(kind(disk.sync_directory("absent")), ErrorKind::NotFound);
        disk.create_directory("logs")
            .expect_err("a file has this name");
        disk.open("log", Access::Buffered, Create::IfAbsent)
            .expect_err("it is a directory");
        disk.rename("logs", "log").expect_err("it is a directory");
        assert_eq!(disk.list("").unwrap(), ["MANIFEST", "logs"]);
    });
}

#[test]
fn names_cannot_leave_the_directory() {
    on_both(|disk| {
        disk.open("good", Access::Buffered, Create::New).unwrap();
        for bad in [
            "", "/a", "../a", "a/../b", "a//b", "a/", ".", "a/.", "nul\0",
        ] {
            let refused = ErrorKind::InvalidInput;
            let opened = disk.open(bad, Access::Buffered, Create::IfAbsent);
            assert_eq!(kind(opened), refused, "open {bad:?}");
            assert_eq!(kind(disk.rename("good", bad)), refused, "rename to {bad:?}");
            assert_eq!(kind(disk.rename(bad, "good")), refused, "rename {bad:?}");
            assert_eq!(kind(disk.remove(bad)), refused, "remove {bad:?}");
            assert_eq!(kind(disk.lock(bad)), refused, "lock {bad:?}");
            if !bad.is_empty() {
                assert_eq!(kind(disk.list(bad)), refused, "list {bad:?}");
                assert_eq!(kind(disk.create_directory(bad)), refused, "create {bad:?}");
                assert_eq!(kind(disk.sync_directory(bad)), refused, "sync {bad:?}");
            }
        }
        assert_eq!(disk.list("").unwrap(), ["good"]);
    });
}

#[test]
fn a_rename_replaces_and_open_files_stay_open() {
    on_both(|disk| {
        let old = disk.open("old", Access::Buffered, Create::New).unwrap();
        let new = disk.open("new", Access::Buffered, Create::New).unwrap();
        old.write_at(0, b"old").unwrap();
        new.write_at(0, b"new").unwrap();
        disk.rename("new", "old").unwrap();
        disk.rename("old", "old").unwrap();
        disk.sync_directory("").unwrap();
        assert_eq!(disk.list("").unwrap(), ["old"]);
        let mut bytes = [0; 3];
        let replaced = disk.open("old", Access::Buffered, Create::No).unwrap();
        replaced.read_at(0, &mut bytes).unwrap();
        assert_eq!(&bytes, b"new");
        // The replaced file has no name any more, but a holder of its handle may go on.
        old.write_at(0, b"OLD").unwrap();
        old.sync().unwrap();
        old.read_at(0, &mut bytes).unwrap();
        assert_eq!(&bytes, b"OLD");
        disk.remove("old").unwrap();
        disk.sync_directory("").unwrap();
        new.read_at(0, &mut bytes).unwrap();
        assert_eq!((&bytes, disk.list("").unwrap().len()), (b"new", 0));
    });
}

#[test]
fn preallocation_adds_zeroes_and_keeps_what_is_there() {
    for access in [Access::Buffered, Access::Direct] {
        on_both(|disk| {
            let length = (3 << 20) + 8192;
            let file = disk.open("segment", access, Create::New).unwrap();
            // An odd length, as a crash may leave it.
            let other = disk.open("segment", Access::Buffered, Create::No).unwrap();
            other.write_at(0, &[7; 5000]).unwrap();
            other.sync().unwrap();
            file.preallocate(length).unwrap();
            file.preallocate(4096).unwrap();
            assert_eq!(file.len().unwrap(), length);
            let mut bytes = AlignedBuffer::zeroed(length as usize);
            bytes.fill(9);
            assert_eq!(file.read_at(0, &mut bytes).unwrap(), length as usize);
            assert!(bytes[..5000].iter().all(|byte| *byte == 7));
            assert!(bytes[5000..].iter().all(|byte| *byte == 0));
        });
    }
}

#[test]
fn allocation_adds_room_that_reads_as_zeroes_and_is_written_by_whoever_writes_it() {
    for access in [Access::Buffered, Access::Direct] {
        on_both(|disk| {
            let length = (3 << 20) + 8192;
            let file = disk.open("segment", access, Create::New).unwrap();
            let other = disk.open("segment", Access::Buffered, Create::No).unwrap();
            other.write_at(0, &[7; 5000]).unwrap();
            other.sync().unwrap();
            file.allocate(length).unwrap();
            file.allocate(4096).unwrap();
            assert_eq!(file.len().unwrap(), length);
            let mut bytes = AlignedBuffer::zeroed(length as usize);
            let mut read = |file: &dyn DiskFile| {
                bytes.fill(9);
                assert_eq!(file.read_at(0, &mut bytes).unwrap(), length as usize);
                bytes.to_vec()
            };
            let found = read(&*file);
            assert!(found[..5000].iter().all(|byte| *byte == 7));
            assert!(found[5000..].iter().all(|byte| *byte == 0));
            let mut block = AlignedBuffer::zeroed(4096);
            block.fill(5);
            file.write_durable_at(8192, &block).unwrap();
            let found = read(&*file);
            assert!(found[8192..12_288].iter().all(|byte| *byte == 5));
            assert!(found[12_288..].iter().all(|byte| *byte == 0));
        });
    }
}

#[test]
fn a_lock_has_one_holder() {
    on_both(|disk| {
        let held = disk.lock("LOCK").unwrap().expect("it is free");
        assert!(disk.lock("LOCK").unwrap().is_none());
        let other = disk.lock("OTHER").unwrap();
        assert!(other.is_some());
        assert!(disk.lock("LOCK").unwrap().is_none());
        drop(held);
        let again = disk.lock("LOCK").unwrap();
        assert!(again.is_some());
        assert_eq!(disk.list("").unwrap(), ["LOCK", "OTHER"]);
    });
}

#[test]
fn a_shared_lock_has_many_holders_and_goes_with_no_exclusive_one() {
    on_both(|disk| {
        let first = disk.lock_shared("LOCK").unwrap().expect("it is free");
        let second = disk.lock_shared("LOCK").unwrap().expect("it is shared");
        assert!(disk.lock("LOCK").unwrap().is_none());
        drop(first);
        assert!(disk.lock("LOCK").unwrap().is_none(), "one holder is left");
        drop(second);
        let alone = disk.lock("LOCK").unwrap().expect("it is free again");
        assert!(disk.lock_shared("LOCK").unwrap().is_none());
        drop(alone);
        assert!(disk.lock_shared("LOCK").unwrap().is_some());
    });
}

#[test]
fn an_exclusive_lock_becomes_a_shared_one() {
    on_both(|disk| {
        let mut lock = disk.lock("LOCK").unwrap().expect("it is free");
        assert!(lock.share().unwrap());
        let other = disk.lock_shared("LOCK").unwrap().expect("it is shared");
        drop(lock);
        assert!(disk.lock("LOCK").unwrap().is_none(), "the other holds it");
        drop(other);
        assert!(disk.lock("LOCK").unwrap().is_some());
    });
}

#[test]
fn who_waits_for_a_lock_gets_it_when_it_is_given_back() {
    on_both(|disk| {
        let held = disk.lock_waiting("LOCK").unwrap();
        assert!(disk.lock("LOCK").unwrap().is_none());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let lock = disk.lock_waiting("LOCK").unwrap();
                assert!(disk.lock("LOCK").unwrap().is_none(), "the waiter has it");
                drop(lock);
            });
            drop(held);
            waiting.join().unwrap();
        });
        assert!(disk.lock("LOCK").unwrap().is_some());
    });
}

#[test]
fn errors_name_the_operation_the_file_and_the_offset() {
    on_both(|disk| {
        disk.create_directory("log").unwrap();
        let file = disk.open("log/1", Access::Direct, Create::New).unwrap();
        assert_eq!(file.display_name(), disk.display_name("log/1"));
        let error = file.write_at(4097, &filled(4096, 0)).unwrap_err();
        assert_eq!(
            (error.file.as_str(), error.offset),
            (file.display_name().as_str(), 4097)
        );
        let message = error.to_string();
        assert!(message.contains("write failed on"), "{message}");
        assert!(message.contains("log/1 at offset 4097"), "{message}");
        let message = disk.rename("log/2", "log/3").unwrap_err().to_string();
        assert!(
            message.contains("log/2") && message.contains("log/3"),
            "{message}"
        );
    });
}

#[test]
fn files_may_be_written_by_several_threads() {
    on_both(|disk| {
        let file = disk.open("a", Access::Buffered, Create::New).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4u8 {
                let file = &file;
                scope.spawn(move || {
                    for round in 0..50 {
                        let offset = (round * 4 + u64::from(thread)) * 100;
                        file.write_at(offset, &[thread + 1; 100]).unwrap();
                        file.sync().unwrap();
                    }
                });
            }
        });
        let mut bytes = vec![0; 20_000];
        assert_eq!(file.read_at(0, &mut bytes).unwrap(), 20_000);
        for (piece, bytes) in bytes.chunks(100).enumerate() {
            assert_eq!(bytes, [piece as u8 % 4 + 1; 100]);
        }
    });
}
