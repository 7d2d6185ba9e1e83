//! A segment of which little is used: memory, and the work of an opening, follow the used pages and not its length.

use crate::common::{self, Fallible, MECHANISMS, PAGE, alone, role, say, spawn};
use sardonyx_mapped::memory::GrowError;
use sardonyx_mapped::{
    MechanismKind, Memory, MemoryAccess, Options, P, RunError, Segment, SegmentError,
};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const MIB: u64 = 1 << 20;

/// The length of the segment in bytes.
const LENGTH: u64 = 256 * MIB;

fn options(mechanism: MechanismKind, shared_memory: &Path) -> Options {
    Options::new()
        .mechanism(mechanism)
        .versions_bytes(1)
        .address_space_bytes(LENGTH)
        .shared_memory(shared_memory)
}

/// Bytes of the memory file system that the files in a directory take.
fn allocated(directory: &Path) -> u64 {
    let files = std::fs::read_dir(directory).unwrap();
    let bytes = files.map(|file| file.unwrap().metadata().unwrap().blocks() * 512);
    bytes.sum()
}

/// The system's figures for this process' memory: `VmLck`, the locked memory; `VmHWM`, its peak.
fn status_bytes(what: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(what)?.strip_prefix(':'));
    let kibibytes = line.and_then(|line| line.split_whitespace().next());
    kibibytes.unwrap().parse::<u64>().unwrap() * 1024
}

/// A word in each MiB.
fn places() -> impl Iterator<Item = P<u64>> {
    (0..LENGTH / MIB).map(|n| P::from_offset(n * MIB + 64))
}

fn write_all(segment: &Segment) {
    let write = |tx: &mut sardonyx_mapped::Transaction<'_>| -> Fallible {
        tx.grow_to(LENGTH)?;
        for place in places() {
            tx.write(place, place.offset() + 1)?;
        }
        Ok(())
    };
    segment.run(write).unwrap();
}

#[test]
fn an_opening_takes_memory_for_what_is_used() {
    alone(|| {
        for mechanism in MECHANISMS.into_iter().filter(|kind| kind.resolve().is_ok()) {
            let directory = tempfile::tempdir().unwrap();
            let shared_memory = tempfile::tempdir_in("/dev/shm").unwrap();
            let segment = options(mechanism, shared_memory.path())
                .open(directory.path())
                .unwrap();
            segment.run(|tx| tx.grow_to(LENGTH)).unwrap();
            if mechanism == MechanismKind::Asynchronous && status_bytes("VmLck") >= LENGTH {
                println!(
                    "skipped: where the kernel may take pages away, this mechanism locks all memory"
                );
                continue;
            }
            let grown = allocated(shared_memory.path());
            assert!(
                grown < 16 * MIB,
                "{mechanism:?}: {grown} bytes for growth alone"
            );
            write_all(&segment);
            drop(segment);
            // From the log alone, or from the state that the orderly end left; then from a checkpoint.
            for _ in 0..2 {
                let path = |path: &Path| path.to_str().unwrap().to_owned();
                let (database, shared) = (path(directory.path()), path(shared_memory.path()));
                let mut child = spawn(
                    module_path!(),
                    &["open", &format!("{mechanism:?}"), &database, &shared],
                );
                let mut heard = || child.hear().and_then(|line| line.parse::<u64>().ok());
                let (taken, peak, faults) = (heard(), heard(), heard());
                let (taken, peak, faults) = (taken.unwrap(), peak.unwrap(), faults.unwrap());
                // The 257 pages are 1 MiB; there are three copies of them.
                assert!(taken < 16 * MIB, "{mechanism:?}: {taken} bytes");
                assert!(peak < 96 * MIB, "{mechanism:?}: {peak} bytes at most");
                assert!(faults < 12_000, "{mechanism:?}: {faults} page faults");
                assert!(child.child.wait().unwrap().success());
            }
        }
    });
}

fn open_and_tell(role: &[String]) {
    let shared_memory = Path::new(&role[3]);
    let options = options(common::mechanism_of(&role[1]), shared_memory);
    let started = std::time::Instant::now();
    let segment = options.open(&role[2]).unwrap();
    eprintln!("opened in {:?}", started.elapsed());
    // SAFETY: all zero bytes are a valid value, and the call fills it.
    let usage = unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    assert_eq!(segment.length(), LENGTH);
    say(allocated(shared_memory));
    // Not `ru_maxrss`, which begins with the parent's.
    say(status_bytes("VmHWM"));
    say(usage.ru_minflt);
    let snapshot = segment.snapshot().unwrap();
    for place in places() {
        assert_eq!(snapshot.read(place).unwrap(), place.offset() + 1);
    }
    drop(snapshot);
    segment.checkpoint().unwrap();
}

#[test]
fn child() {
    match role() {
        Some(role) if role[0] == "open" => open_and_tell(&role),
        _ => {}
    }
}

/// Only the system's administrator can mount one: `mount -t tmpfs -o size=8m none DIRECTORY`.
fn small_file_system() -> Option<std::path::PathBuf> {
    let small = std::env::var_os("SARDONYX_SMALL_TMPFS").map(Into::into);
    if small.is_none() {
        println!("skipped: no small memory file system");
    }
    small
}

#[test]
fn where_memory_is_short_reading_goes_on_and_a_commit_says_so() {
    let Some(small) = small_file_system() else {
        return;
    };
    for mechanism in MECHANISMS.into_iter().filter(|kind| kind.resolve().is_ok()) {
        let name = common::unique("short");
        let options = options(mechanism, &small);
        let segment = options.open_volatile(&name).unwrap();
        segment.run(|tx| tx.grow_to(64 * MIB)).unwrap();
        let write = |first: u64, pages: u64| {
            segment.run(|tx| {
                for page in first..first + pages {
                    tx.write(P::from_offset(page * PAGE + 64), page + 1)?;
                }
                Ok::<_, sardonyx_mapped::memory::PlaceError>(())
            })
        };
        write(0, 100).unwrap();
        // Reading all of it takes all memory that there is, and is right nevertheless.
        let read = |page: u64| {
            segment
                .snapshot()
                .unwrap()
                .read::<u64>(P::from_offset(page * PAGE + 64))
        };
        let snapshot = segment.snapshot().unwrap();
        for page in 0..64 * MIB / PAGE {
            let found: u64 = snapshot.read(P::from_offset(page * PAGE + 64)).unwrap();
            assert_eq!(
                found,
                if page < 100 { page + 1 } else { 0 },
                "{mechanism:?}"
            );
        }
        drop(snapshot);
        for _ in 0..2 {
            let refused = write(10_000, 1000);
            let refused = refused.map_err(|error| match error {
                RunError::Segment(SegmentError::SharedMemoryFull { .. }) => "full".to_owned(),
                error => error.to_string(),
            });
            assert_eq!(refused, Err("full".into()), "{mechanism:?}");
            assert_eq!(read(10_000).unwrap(), 0, "{mechanism:?}");
        }
        // Pages with memory can be changed.
        write(0, 100).unwrap();
        assert_eq!(read(99).unwrap(), 100);
        // Others give some back.
        let filler = small.join("filler");
        drop(segment);
        std::fs::write(&filler, vec![1u8; 3 * MIB as usize]).unwrap();
        let segment = options.open_volatile(&name).unwrap();
        segment.run(|tx| tx.grow_to(64 * MIB)).unwrap();
        let write = |value: u64| {
            segment.run(|tx| {
                for page in 0..1200 {
                    tx.write(P::from_offset(page * 8 * PAGE + 64), value)?;
                }
                Ok::<_, sardonyx_mapped::memory::PlaceError>(())
            })
        };
        assert!(write(1).is_err(), "{mechanism:?}");
        std::fs::remove_file(&filler).unwrap();
        write(2).unwrap();
        let snapshot = segment.snapshot().unwrap();
        for page in 0..1200 {
            assert_eq!(
                snapshot
                    .read::<u64>(P::from_offset(page * 8 * PAGE + 64))
                    .unwrap(),
                2
            );
        }
    }
}

#[test]
fn growth_beyond_the_address_space_is_still_refused() {
    let shared_memory = tempfile::tempdir_in("/dev/shm").unwrap();
    let segment = options(MechanismKind::Best, shared_memory.path())
        .open_volatile("long")
        .unwrap();
    let refused = segment.run(|tx| tx.grow_to(LENGTH + 1));
    assert!(matches!(
        refused,
        Err(RunError::Refused(GrowError::Full { .. }))
    ));
}
