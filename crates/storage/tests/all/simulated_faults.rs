//! The simulated disk fails where a test asks for it, and its remaining content is no better than a real disk's may
//! be. Misuse of the disk that real file systems forgive by luck is found here.

use sardonyx_storage::disk::{
    Access, AlignedBuffer, Create, Disk, DiskError, DiskFile, Faults, SECTOR_SIZE, SimulatedDisk,
};
use std::collections::BTreeSet;
use std::io::ErrorKind;

const SEEDS: u64 = 300;
const SECTORS: usize = 8;

fn none() -> Faults {
    Faults::default()
}

/// A disk with one stable file of [`SECTORS`] sectors of `a`.
fn with_file(seed: u64) -> (SimulatedDisk, Box<dyn DiskFile>) {
    let disk = SimulatedDisk::new(seed, none());
    let file = disk.open("f", Access::Buffered, Create::New).unwrap();
    file.write_at(0, &[b'a'; SECTORS * SECTOR_SIZE]).unwrap();
    file.sync().unwrap();
    disk.sync_directory("").unwrap();
    (disk, file)
}

/// As [`with_file`], with faults that count from here.
fn with_file_and_faults(seed: u64, faults: Faults) -> (SimulatedDisk, Box<dyn DiskFile>) {
    let disk = with_file(seed).0.restart(faults);
    let file = disk.open("f", Access::Buffered, Create::No).unwrap();
    (disk, file)
}

/// One letter per sector; each sector must be of one piece.
fn letters(bytes: &[u8]) -> String {
    let letter = |sector: &[u8]| {
        assert!(
            sector.iter().all(|byte| *byte == sector[0]),
            "a torn sector"
        );
        char::from(sector[0])
    };
    bytes.chunks(SECTOR_SIZE).map(letter).collect()
}

fn kind<T: std::fmt::Debug>(result: Result<T, DiskError>) -> ErrorKind {
    result.expect_err("this must fail").source.kind()
}

#[test]
fn one_unsynced_write_is_lost_or_kept_or_torn_between_sectors() {
    let mut seen = BTreeSet::new();
    for seed in 0..SEEDS {
        let (disk, file) = with_file(seed);
        file.write_at(0, &[b'b'; SECTORS * SECTOR_SIZE]).unwrap();
        let after = disk.restart(none()).read_all("f").unwrap();
        seen.insert(letters(&after));
    }
    assert!(
        seen.contains("aaaaaaaa") && seen.contains("bbbbbbbb"),
        "{seen:?}"
    );
    assert!(seen.len() > 30, "too few ways to tear: {seen:?}");
}

#[test]
fn a_later_write_may_overtake_an_earlier_one() {
    let mut seen = BTreeSet::new();
    for seed in 0..SEEDS {
        let (disk, file) = with_file(seed);
        file.write_at(0, &[b'b'; SECTOR_SIZE]).unwrap();
        file.write_at(4 * SECTOR_SIZE as u64, &[b'c'; SECTOR_SIZE])
            .unwrap();
        seen.insert(letters(&disk.restart(none()).read_all("f").unwrap()));
    }
    let all = ["aaaaaaaa", "aaaacaaa", "baaaaaaa", "baaacaaa"];
    assert_eq!(seen, BTreeSet::from(all.map(str::to_owned)));
}

#[test]
fn a_length_and_its_bytes_may_be_lost_without_each_other() {
    let mut seen = BTreeSet::new();
    for seed in 0..SEEDS {
        let (disk, file) = with_file(seed);
        file.write_at((SECTORS * SECTOR_SIZE) as u64, &[b'b'; SECTOR_SIZE])
            .unwrap();
        let bytes = disk.restart(none()).read_all("f").unwrap();
        assert_eq!(letters(&bytes[..SECTORS * SECTOR_SIZE]), "aaaaaaaa");
        let tail = &bytes[SECTORS * SECTOR_SIZE..];
        seen.insert((tail.len() == SECTOR_SIZE, tail.first().copied()));
    }
    for outcome in [
        (false, None),
        (true, Some(0)),
        (true, Some(b'b')),
        (false, Some(b'b')),
    ] {
        assert!(seen.contains(&outcome), "{outcome:?} not in {seen:?}");
    }
}

#[test]
fn a_durable_write_is_stable_alone() {
    let mut seen = BTreeSet::new();
    for seed in 0..SEEDS {
        let (disk, file) = with_file(seed);
        file.write_at(0, &[b'b'; 4 * SECTOR_SIZE]).unwrap();
        file.write_durable_at(2 * SECTOR_SIZE as u64, &[b'c'; SECTOR_SIZE])
            .unwrap();
        assert_eq!(letters(&disk.durable_bytes("f").unwrap()), "aacaaaaa");
        let after = letters(&disk.restart(none()).read_all("f").unwrap());
        assert_eq!(&after[2..3], "c", "seed {seed}");
        assert_eq!(&after[4..], "aaaa", "seed {seed}");
        seen.insert(after);
    }
    assert!(
        seen.contains("aacaaaaa") && seen.contains("bbcbaaaa"),
        "{seen:?}"
    );
}

#[test]
fn a_durable_write_beyond_the_synced_length_may_vanish() {
    let lengths = (0..SEEDS).map(|seed| {
        let (disk, file) = with_file(seed);
        file.write_durable_at((SECTORS * SECTOR_SIZE) as u64, &[b'b'; SECTOR_SIZE])
            .unwrap();
        disk.restart(none()).read_all("f").unwrap().len() / SECTOR_SIZE
    });
    let lengths: BTreeSet<usize> = lengths.collect();
    assert_eq!(lengths, BTreeSet::from([SECTORS, SECTORS + 1]));

    for seed in 0..SEEDS {
        let (disk, file) = with_file(seed);
        let end = (SECTORS * SECTOR_SIZE) as u64;
        file.preallocate(end + SECTOR_SIZE as u64).unwrap();
        file.write_durable_at(end, &[b'b'; SECTOR_SIZE]).unwrap();
        let after = disk.restart(none()).read_all("f").unwrap();
        assert_eq!(letters(&after), "aaaaaaaab", "seed {seed}");
    }
}

#[test]
fn what_a_failed_sync_dropped_stays_dropped() {
    let mut seen = BTreeSet::new();
    for seed in 0..SEEDS {
        let faults = Faults {
            fail_sync_at: Some(1),
            ..none()
        };
        let (disk, file) = with_file_and_faults(seed, faults);
        file.write_at(0, &[b'b'; SECTORS * SECTOR_SIZE]).unwrap();
        file.sync().expect_err("the first sync fails");
        let dropped = disk.durable_bytes("f").unwrap();
        assert_eq!(
            letters(&disk.read_all("f").unwrap()),
            "bbbbbbbb",
            "the process sees it still"
        );
        file.sync().unwrap();
        assert_eq!(disk.durable_bytes("f").unwrap(), dropped, "seed {seed}");
        seen.insert(letters(&dropped));
        // Only writing it again helps.
        file.write_at(0, &[b'b'; SECTORS * SECTOR_SIZE]).unwrap();
        file.sync().unwrap();
        let after = disk.restart(none()).read_all("f").unwrap();
        assert_eq!(letters(&after), "bbbbbbbb", "seed {seed}");
    }
    assert!(seen.contains("aaaaaaaa") && seen.contains("bbbbbbbb") && seen.len() > 30);
}

#[test]
fn a_failed_durable_write_may_or_may_not_be_there() {
    let mut seen = BTreeSet::new();
    for seed in 0..SEEDS {
        let faults = Faults {
            fail_sync_at: Some(2),
            ..none()
        };
        let (disk, file) = with_file_and_faults(seed, faults);
        file.write_durable_at(0, &[b'b'; SECTOR_SIZE]).unwrap();
        let error = file
            .write_durable_at(0, &[b'c'; 2 * SECTOR_SIZE])
            .unwrap_err();
        assert_eq!(
            error.source.raw_os_error(),
            Some(rustix::io::Errno::IO.raw_os_error())
        );
        file.sync().unwrap();
        seen.insert(letters(&disk.restart(none()).read_all("f").unwrap()));
    }
    let all = ["baaaaaaa", "bcaaaaaa", "caaaaaaa", "ccaaaaaa"];
    assert_eq!(seen, BTreeSet::from(all.map(str::to_owned)));
}

#[test]
fn a_crash_during_a_durable_write_or_a_sync_leaves_all_a_part_or_nothing() {
    for durable in [true, false] {
        let mut seen = BTreeSet::new();
        for seed in 0..SEEDS {
            let crash_at_step = Some(if durable { 1 } else { 2 });
            let (disk, file) = with_file_and_faults(
                seed,
                Faults {
                    crash_at_step,
                    ..none()
                },
            );
            let bytes = [b'b'; SECTORS * SECTOR_SIZE];
            if durable {
                file.write_durable_at(0, &bytes).unwrap_err();
            } else {
                file.write_at(0, &bytes).unwrap();
                file.sync().unwrap_err();
            }
            assert!(disk.has_crashed());
            seen.insert(letters(&disk.restart(none()).read_all("f").unwrap()));
        }
        assert!(
            seen.contains("aaaaaaaa") && seen.contains("bbbbbbbb"),
            "{seen:?}"
        );
        assert!(seen.len() > 30, "too few ways to tear: {seen:?}");
    }
}

#[test]
fn failing_reads_and_writes_fail_once() {
    let faults = Faults {
        fail_write_at: Some(2),
        fail_read_at: Some(1),
        ..none()
    };
    let (disk, file) = with_file_and_faults(3, faults);
    file.write_at(0, &[b'b'; SECTOR_SIZE]).unwrap();
    file.write_at(SECTOR_SIZE as u64, &[b'c'; 2 * SECTOR_SIZE])
        .unwrap_err();
    let seen = letters(&disk.read_all("f").unwrap());
    assert!(
        ["baaaaaaa", "bcaaaaaa", "bccaaaaa"].contains(&seen.as_str()),
        "{seen}"
    );
    file.write_at(SECTOR_SIZE as u64, &[b'd'; 2 * SECTOR_SIZE])
        .unwrap();
    file.read_at(0, &mut [0; 8]).unwrap_err();
    let mut byte = [0];
    file.read_at(0, &mut byte).unwrap();
    assert_eq!(
        (byte, letters(&disk.read_all("f").unwrap()).as_str()),
        ([b'b'], "bddaaaaa")
    );
}

#[test]
fn a_full_disk_takes_what_fits_and_says_so() {
    let faults = Faults {
        capacity_bytes: Some(10 * SECTOR_SIZE as u64),
        ..none()
    };
    let (disk, file) = with_file_and_faults(1, faults);
    let end = (SECTORS * SECTOR_SIZE) as u64;
    let error = file.write_at(end, &[b'b'; 3 * SECTOR_SIZE]).unwrap_err();
    assert!(error.is_full(), "{error}");
    assert_eq!(letters(&disk.read_all("f").unwrap()), "aaaaaaaabb");
    file.write_at(0, &[b'c'; SECTOR_SIZE])
        .expect("overwriting needs no room");
    let other = disk.open("g", Access::Buffered, Create::New).unwrap();
    assert_eq!(kind(other.preallocate(1)), ErrorKind::StorageFull);
    assert_eq!(
        kind(other.write_durable_at(0, b"x")),
        ErrorKind::StorageFull
    );
    assert_eq!(other.len().unwrap(), 0);
    disk.remove("f").unwrap();
    other.preallocate(10 * SECTOR_SIZE as u64).unwrap();
    assert_eq!(
        kind(other.preallocate(11 * SECTOR_SIZE as u64)),
        ErrorKind::StorageFull
    );
}

/// Replaces `f` as a manifest is replaced; `sync` and `sync_directory` may be forgotten.
fn replace(disk: &SimulatedDisk, sync: bool, sync_directory: bool) -> Result<(), DiskError> {
    let new = disk.open("f.new", Access::Buffered, Create::IfAbsent)?;
    new.write_at(0, &[b'b'; SECTORS * SECTOR_SIZE])?;
    if sync {
        new.sync()?;
    }
    disk.rename("f.new", "f")?;
    if sync_directory {
        disk.sync_directory("")
    } else {
        Ok(())
    }
}

/// The content of `f` after replacing it, with a crash at every step and after the last.
fn after_replacing(sync: bool, sync_directory: bool) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut during, mut done) = (BTreeSet::new(), BTreeSet::new());
    for seed in 0..SEEDS {
        for step in 1.. {
            let faults = Faults {
                crash_at_step: Some(step),
                ..none()
            };
            let (disk, file) = with_file_and_faults(seed, faults);
            let replaced = replace(&disk, sync, sync_directory);
            assert_eq!(replaced.is_err(), disk.has_crashed());
            if disk.has_crashed() {
                file.len().expect_err("the machine is gone");
                disk.list("").expect_err("the machine is gone");
            }
            let outcomes = if replaced.is_ok() {
                &mut done
            } else {
                &mut during
            };
            let after = disk.restart(none());
            outcomes.insert(
                after
                    .read_all("f")
                    .map_or("none".into(), |bytes| letters(&bytes)),
            );
            if replaced.is_ok() {
                break;
            }
        }
    }
    (during, done)
}

#[test]
fn replacing_a_file_properly_survives_a_crash_at_every_step() {
    let (during, done) = after_replacing(true, true);
    assert_eq!(
        during,
        BTreeSet::from(["aaaaaaaa".to_owned(), "bbbbbbbb".to_owned()])
    );
    assert_eq!(done, BTreeSet::from(["bbbbbbbb".to_owned()]));
}

#[test]
fn replacing_a_file_without_its_syncs_is_found() {
    let (_, done) = after_replacing(false, true);
    assert!(done.contains("") && done.contains("bbbbbbbb"), "{done:?}");
    assert!(
        done.iter().any(|file| file.contains('\0')),
        "a length without its bytes: {done:?}"
    );
    let (_, done) = after_replacing(true, false);
    assert_eq!(
        done,
        BTreeSet::from(["aaaaaaaa".to_owned(), "bbbbbbbb".to_owned()])
    );
}

#[test]
fn unsynced_names_come_and_go_in_any_combination() {
    let mut seen = BTreeSet::new();
    for seed in 0..SEEDS {
        let (disk, _file) = with_file(seed);
        disk.open("g", Access::Buffered, Create::New).unwrap();
        disk.remove("f").unwrap();
        seen.insert(disk.restart(none()).files().join(" "));
    }
    assert_eq!(
        seen,
        BTreeSet::from(["", "f", "f g", "g"].map(str::to_owned))
    );
}

#[test]
fn a_rename_between_directories_is_atomic_too() {
    let mut seen = BTreeSet::new();
    for seed in 0..SEEDS {
        let (disk, _file) = with_file(seed);
        disk.create_directory("old").unwrap();
        disk.rename("f", "old/f").unwrap();
        if seed % 3 == 1 {
            disk.sync_directory("").unwrap();
        } else if seed % 3 == 2 {
            disk.sync_directory("old").unwrap();
        }
        let files = disk.restart(none()).files();
        assert_eq!(files.len(), 1, "seed {seed}: {files:?}");
        assert!(
            seed % 3 == 0 || files == ["old/f"],
            "seed {seed}: {files:?}"
        );
        seen.extend(files);
    }
    assert_eq!(seen.len(), 2, "{seen:?}");
}

#[test]
fn a_crash_frees_the_lock_and_ends_its_holder() {
    let disk = SimulatedDisk::new(1, none());
    let held = disk.lock("LOCK").unwrap();
    assert!(held.is_some());
    let after = disk.restart(none());
    disk.lock("LOCK").expect_err("the machine is gone");
    let held_after = after.lock("LOCK").unwrap();
    assert!(held_after.is_some());
    drop(held);
    assert!(
        after.lock("LOCK").unwrap().is_none(),
        "an old lock frees nothing on the new disk"
    );
}

#[test]
fn steps_count_what_changes_the_disk() {
    let disk = SimulatedDisk::new(1, none());
    let mut expected = 0;
    let mut expect = |more: u64| {
        expected += more;
        assert_eq!(disk.steps(), expected);
    };
    // Each directory on the way is made if it is absent, and the one that it is in is synced.
    disk.create_directory("a/b").unwrap();
    expect(4);
    disk.create_directory("a/b").unwrap();
    expect(2);
    disk.make_directory("a/b").unwrap();
    expect(0);
    let file = disk.open("a/f", Access::Direct, Create::New).unwrap();
    disk.open("a/f", Access::Buffered, Create::IfAbsent)
        .unwrap();
    expect(1);
    let buffer = AlignedBuffer::zeroed(4096);
    file.write_at(0, &buffer).unwrap();
    file.write_durable_at(0, &buffer).unwrap();
    file.write_at(1, &buffer).unwrap_err();
    expect(2);
    file.preallocate(8192).unwrap();
    file.sync().unwrap();
    file.read_at(0, &mut AlignedBuffer::zeroed(4096)).unwrap();
    file.len().unwrap();
    expect(2);
    disk.rename("a/f", "a/g").unwrap();
    disk.remove("a/g").unwrap();
    disk.remove("a/g").unwrap_err();
    disk.sync_directory("a").unwrap();
    disk.list("a").unwrap();
    expect(3);
}

#[test]
fn damage_is_stable_and_refuses_what_is_not_there() {
    let (disk, _file) = with_file(1);
    disk.corrupt("f", 3, |byte| byte ^ 1).unwrap();
    disk.truncate("f", 5).unwrap();
    assert_eq!(disk.durable_bytes("f").unwrap(), b"aaa`a");
    assert_eq!(disk.restart(none()).read_all("f").unwrap(), b"aaa`a");
    assert_eq!(
        kind(disk.corrupt("f", 5, |byte| byte)),
        ErrorKind::InvalidInput
    );
    assert_eq!(kind(disk.truncate("f", 6)), ErrorKind::InvalidInput);
    assert_eq!(kind(disk.truncate("g", 0)), ErrorKind::NotFound);
    assert_eq!((disk.read_all("g"), disk.durable_bytes("g")), (None, None));
}

#[test]
fn a_new_directory_is_lost_with_all_in_it_until_the_one_that_it_is_in_was_synced() {
    let mut lost = 0;
    for seed in 0..SEEDS {
        let disk = SimulatedDisk::new(seed, none());
        disk.make_directory("log").unwrap();
        let file = disk.open("log/f", Access::Buffered, Create::New).unwrap();
        file.write_at(0, b"here").unwrap();
        file.sync().unwrap();
        disk.sync_directory("log").unwrap();
        let after = disk.restart(none());
        lost += u32::from(after.read_all("log/f").is_none());
        match after.read_all("log/f") {
            None => assert_eq!(
                kind(after.open("log/f", Access::Buffered, Create::New)),
                ErrorKind::NotFound
            ),
            Some(bytes) => assert_eq!(bytes, b"here"),
        }
        // A process that finds it makes it stable, although it is there.
        let next = disk.next_process(none());
        next.create_directory("log").unwrap();
        assert!(next.restart(none()).read_all("log/f").is_some());
    }
    assert!(lost > 50, "{lost} times only");
}

#[test]
fn the_next_process_sees_all_that_a_killed_one_did_and_none_of_it_is_stable() {
    let mut seen = BTreeSet::new();
    for seed in 0..SEEDS {
        let (disk, file) = with_file(seed);
        let held = disk.lock("LOCK").unwrap();
        file.write_at(0, &[b'b'; SECTORS * SECTOR_SIZE]).unwrap();
        disk.open("g", Access::Buffered, Create::New).unwrap();
        let next = disk.next_process(none());
        file.sync().expect_err("it was killed");
        drop((file, held));
        assert_eq!(next.files(), ["LOCK", "f", "g"]);
        assert_eq!(letters(&next.read_all("f").unwrap()), "bbbbbbbb");
        assert_eq!(letters(&next.durable_bytes("f").unwrap()), "aaaaaaaa");
        let found = next.open("f", Access::Buffered, Create::No).unwrap();
        assert!(next.lock("LOCK").unwrap().is_some(), "its locks are free");
        let after = next.restart(none());
        seen.insert((
            after.files().len() > 1,
            letters(&after.read_all("f").unwrap()),
        ));
        drop(found);
    }
    assert!(seen.len() > 30, "{seen:?}");
}

#[test]
fn a_process_is_killed_before_amid_or_after_its_last_operation_but_never_synced() {
    let mut seen = BTreeSet::new();
    for seed in 0..SEEDS {
        let faults = Faults {
            kill_at_step: Some(1),
            ..none()
        };
        let (disk, file) = with_file_and_faults(seed, faults);
        let all = [b'b'; SECTORS * SECTOR_SIZE];
        file.write_durable_at(0, &all).expect_err("it is killed");
        disk.list("").expect_err("it was killed");
        let next = disk.next_process(none());
        seen.insert(letters(&next.read_all("f").unwrap()));
        assert_eq!(letters(&next.durable_bytes("f").unwrap()), "aaaaaaaa");
    }
    assert!(seen.contains("aaaaaaaa") && seen.contains("bbbbbbbb"));
    assert!(seen.contains("bbbaaaaa"), "{seen:?}");
}

#[test]
fn what_a_failed_sync_forgot_is_seen_by_the_next_process_and_only_writing_it_again_helps() {
    let mut forgotten = 0;
    for seed in 0..SEEDS {
        let faults = Faults {
            fail_sync_at: Some(1),
            ..none()
        };
        let (disk, file) = with_file_and_faults(seed, faults);
        let end = (SECTORS * SECTOR_SIZE) as u64;
        file.write_at(end, &[b'b'; SECTOR_SIZE]).unwrap();
        file.sync().expect_err("the first sync fails");
        let next = disk.next_process(none());
        let file = next.open("f", Access::Buffered, Create::No).unwrap();
        file.sync().expect("it does nothing for what was forgotten");
        assert_eq!(letters(&next.read_all("f").unwrap()), "aaaaaaaab");
        let after = next.restart(none()).read_all("f").unwrap();
        forgotten += u32::from(after.get(end as usize) != Some(&b'b'));
        let file = next.next_process(none());
        let file = file
            .open("f", Access::Buffered, Create::No)
            .map(|again| (file, again));
        let (next, file) = file.unwrap();
        file.write_at(end, &[b'b'; SECTOR_SIZE]).unwrap();
        file.sync().unwrap();
        let after = next.restart(none()).read_all("f").unwrap();
        assert_eq!(letters(&after), "aaaaaaaab", "seed {seed}");
    }
    assert!(forgotten > 100, "{forgotten}");
}
