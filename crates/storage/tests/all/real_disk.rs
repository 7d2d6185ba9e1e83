//! Behaviour that only the real disk has: its directory, and a lock that dies with its holder.

use sardonyx_base::victims::{Victim, say, test_program};
use sardonyx_storage::disk::{Access, AlignedBuffer, Create, DIRECT_ALIGNMENT, Disk, RealDisk};
use std::process::Stdio;

const LOCK_DIRECTORY: &str = "SARDONYX_TEST_LOCK_DIRECTORY";

/// Not a test of its own: the other process of [`a_lock_dies_with_its_holder`].
#[test]
#[ignore = "run by a_lock_dies_with_its_holder in a process of its own"]
fn hold_the_lock_until_killed() {
    let Ok(directory) = std::env::var(LOCK_DIRECTORY) else {
        return;
    };
    let disk = RealDisk::open(directory).unwrap();
    let _held = disk.lock("LOCK").unwrap().expect("it is free");
    say("locked").unwrap();
    // Nothing is ever written to this end: it returns only if the parent dies.
    let _ = std::io::stdin().read_line(&mut String::new());
}

#[test]
fn a_lock_dies_with_its_holder() {
    let directory = tempfile::tempdir().unwrap();
    let disk = RealDisk::open(directory.path()).unwrap();
    let mut command = test_program(&hold_the_lock_until_killed).unwrap();
    command.env(LOCK_DIRECTORY, directory.path());
    let mut holder = Victim::start(command.stdin(Stdio::piped())).unwrap();
    let locked = holder.said("locked");
    assert!(locked.is_some(), "the holder did not get the lock");
    let while_held = disk.lock("LOCK").unwrap();
    let named = disk.lock_holders("LOCK");
    let for_reading = RealDisk::open_for_reading(directory.path()).unwrap();
    assert!(
        for_reading.lock("LOCK").unwrap().is_none(),
        "for readers, too"
    );
    holder.end().unwrap();
    assert_eq!(named, [holder.id()]);
    assert_eq!(disk.lock_holders("LOCK"), [0; 0]);
    assert!(while_held.is_none());
    assert!(disk.lock("LOCK").unwrap().is_some());
}

#[test]
fn the_root_is_created_and_found_again() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("a/b/bank.sdx");
    let disk = RealDisk::open(&root).unwrap();
    disk.open("MANIFEST", Access::Buffered, Create::New)
        .unwrap();
    assert_eq!(disk.display_name(""), root.display().to_string());
    assert_eq!(
        disk.display_name("MANIFEST"),
        root.join("MANIFEST").display().to_string()
    );
    assert_eq!(
        RealDisk::open(&root).unwrap().list("").unwrap(),
        ["MANIFEST"]
    );
    let error = RealDisk::open(root.join("MANIFEST")).unwrap_err();
    assert!(error.to_string().contains("MANIFEST"), "{error}");
    let error = RealDisk::open(root.join("MANIFEST/deeper")).unwrap_err();
    assert!(error.to_string().contains("MANIFEST"), "{error}");
}

/// A block that is read before, between and after writes past the page cache is never an old one.
#[test]
fn a_reader_that_shares_its_reads_sees_what_a_writer_has_written() {
    const BLOCK: usize = DIRECT_ALIGNMENT;
    let directory = tempfile::tempdir().unwrap();
    let disk = RealDisk::open(directory.path()).unwrap();
    let written = disk.open("f", Access::Direct, Create::New).unwrap();
    written.preallocate(16 * BLOCK as u64).unwrap();
    let readers = [0, 1].map(|_| {
        let shared = RealDisk::open_for_reading(directory.path()).unwrap();
        let shared = shared.sharing_reads();
        shared.open("f", Access::Direct, Create::No).unwrap()
    });
    let mut block = AlignedBuffer::zeroed(BLOCK);
    let mut read = AlignedBuffer::zeroed(3 * BLOCK);
    for n in 0..64u64 {
        let at = n % 14 * BLOCK as u64;
        block.fill(n as u8 + 1);
        written.write_durable_at(at, &block).unwrap();
        for reader in &readers {
            // With the later bytes.
            assert_eq!(reader.read_at(at, &mut read).unwrap(), read.len());
            assert_eq!(read[..BLOCK], block[..], "write {n}");
        }
    }
}

#[test]
fn a_disk_that_is_open_for_reading_makes_and_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("bank.sdx");
    assert!(RealDisk::open_for_reading(&root).is_err());
    assert!(!root.exists(), "it was not made");
    let disk = RealDisk::open(&root).unwrap();
    let file = disk.open("f", Access::Buffered, Create::New).unwrap();
    file.write_at(0, b"abc").unwrap();
    let disk = RealDisk::open_for_reading(&root).unwrap();
    let file = disk.open("f", Access::Buffered, Create::No).unwrap();
    let mut bytes = [0; 3];
    assert_eq!(file.read_at(0, &mut bytes).unwrap(), 3);
    assert_eq!(&bytes, b"abc");
    let refused = [
        file.write_at(0, b"x").err(),
        disk.open("g", Access::Buffered, Create::New).err(),
        disk.open("f", Access::Buffered, Create::IfAbsent).err(),
        disk.rename("f", "g").err(),
        disk.remove("f").err(),
        disk.create_directory("log").err(),
        // Without a lock's file its disk cannot be locked.
        disk.lock("LOCK").err(),
    ];
    assert!(refused.iter().all(Option::is_some), "{refused:?}");
    assert_eq!(disk.list("").unwrap(), ["f"]);
    let writing = RealDisk::open(&root).unwrap();
    let held = writing.lock("LOCK").unwrap().expect("it is free");
    assert!(disk.lock("LOCK").unwrap().is_none());
    assert_eq!(disk.lock_holders("LOCK"), [std::process::id()]);
    drop(held);
    let reader = disk.lock("LOCK").unwrap().expect("it is free");
    assert!(writing.lock("LOCK").unwrap().is_none(), "the reader has it");
    drop(reader);
    assert_eq!(std::fs::read(root.join("f")).unwrap(), b"abc");
}
