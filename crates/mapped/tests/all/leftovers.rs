//! The shared memory that processes leave, however they end: nothing, or memory that the next opening or the program
//! finds and removes.

use crate::common::{PAGE, Process, role, say, spawn};
use sardonyx_mapped::leftovers::{find, remove};
use sardonyx_mapped::planted::{Step, stop_at};
use sardonyx_mapped::{Begin, Memory, MemoryAccess, Options, P, Segment};
use std::io::Read;
use std::path::{Path, PathBuf};

fn options(shared_memory: &Path) -> Options {
    Options::new()
        .versions_bytes(1)
        .address_space_bytes(64 << 20)
        .shared_memory(shared_memory)
}

fn shared_memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap()
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(directory).unwrap();
    files.map(|file| file.unwrap().path()).collect()
}

/// A process that has a segment open: `database` or `volatile`.
fn start(kind: &str, shared_memory: &Path, place: &Path) -> Process {
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let mut child = spawn(module_path!(), &[kind, &path(shared_memory), &path(place)]);
    assert_eq!(child.hear().as_deref(), Some("open"));
    child
}

fn kill(mut process: Process) {
    process.child.kill().unwrap();
    process.child.wait().unwrap();
}

fn wait_until_stopped(process: &Process) {
    let mut status = 0;
    let child = process.child.id() as i32;
    // SAFETY: waits for a child of this process; the status is valid.
    let waited = unsafe { libc::waitpid(child, &raw mut status, libc::WUNTRACED) };
    assert!(waited == child && libc::WIFSTOPPED(status));
}

fn write(segment: &Segment) {
    segment.run(|tx| tx.grow_to(16 * PAGE)).unwrap();
    segment
        .run(|tx| tx.write(P::from_offset(PAGE), 7u64))
        .unwrap();
}

#[test]
fn what_killed_processes_left_is_found_and_removed_also_by_the_next_opening() {
    let shared = shared_memory();
    let database = tempfile::tempdir().unwrap();
    let two = [(); 2].map(|()| start("database", shared.path(), database.path()));
    let volatile = start("volatile", shared.path(), Path::new("name"));
    assert_eq!(files(shared.path()).len(), 2);
    assert_eq!(find(shared.path()).unwrap(), [], "they live");
    let [one, other] = two;
    kill(one);
    assert_eq!(remove(shared.path()).unwrap(), [], "one lives still");
    kill(other);
    kill(volatile);
    drop(database);

    let found = find(shared.path()).unwrap();
    let durable: Vec<bool> = found.iter().map(|leftover| leftover.durable).collect();
    assert_eq!(durable, [false, true], "in the order of their names");
    assert!(
        found.iter().all(|leftover| leftover.bytes > 1 << 20),
        "{found:?}"
    );
    // A file of another program is left alone.
    let foreign = shared.path().join("sardonyx-of-somebody");
    std::fs::write(&foreign, [7; 100]).unwrap();
    // Opening any database there removes leftovers that no process needs.
    let another = tempfile::tempdir().unwrap();
    let segment = options(shared.path()).open(another.path()).unwrap();
    assert!(!found[1].path.exists() && found[0].path.exists() && foreign.exists());
    assert_eq!(
        remove(shared.path()).unwrap(),
        found[..1],
        "our own is not looked at"
    );
    write(&segment);
    // It has not given its locks away by looking.
    let mut other = start("database", shared.path(), another.path());
    assert_eq!(find(shared.path()).unwrap(), []);
    drop(other.child.stdin.take());
    assert!(other.child.wait().unwrap().success());
    drop(segment);
    assert_eq!(files(shared.path()), [foreign]);
}

#[test]
fn processes_that_end_at_the_same_moment_leave_nothing() {
    let shared = shared_memory();
    for kind in ["database", "volatile"] {
        let database = tempfile::tempdir().unwrap();
        let place = match kind {
            "database" => database.path(),
            _ => Path::new("name"),
        };
        // One has left, and has not ended yet, while the other leaves.
        let mut slow = start(&format!("slow {kind}"), shared.path(), place);
        let mut quick = start(kind, shared.path(), place);
        drop(slow.child.stdin.take());
        wait_until_stopped(&slow);
        drop(quick.child.stdin.take());
        assert!(quick.child.wait().unwrap().success());
        assert_eq!(files(shared.path()), Vec::<PathBuf>::new(), "{kind}");
        // SAFETY: sends a signal to a child that was not waited for until its end.
        unsafe { libc::kill(slow.child.id() as i32, libc::SIGCONT) };
        assert!(slow.child.wait().unwrap().success());
        for _ in 0..4 {
            let mut three = [(); 3].map(|()| start(kind, shared.path(), place));
            three
                .iter_mut()
                .for_each(|one| drop(one.child.stdin.take()));
            for mut one in three {
                assert!(one.child.wait().unwrap().success());
            }
            assert_eq!(files(shared.path()), Vec::<PathBuf>::new(), "{kind}");
        }
    }
}

#[test]
fn an_opening_that_fails_leaves_nothing() {
    let shared = shared_memory();
    let database = tempfile::tempdir().unwrap();
    let segment = options(shared.path()).open(database.path()).unwrap();
    segment.run(|tx| tx.grow_to(32 << 20)).unwrap();
    drop(segment);
    let refused = options(shared.path())
        .address_space_bytes(1 << 20)
        .open(database.path());
    assert!(refused.is_err(), "it is longer than that");
    assert_eq!(files(shared.path()), Vec::<PathBuf>::new());
}

#[test]
fn a_database_whose_directory_is_gone_leaves_nothing() {
    let shared = shared_memory();
    let database = tempfile::tempdir().unwrap();
    let segment = options(shared.path()).open(database.path()).unwrap();
    let mut session = segment.session().unwrap();
    session.begin(Begin::default()).unwrap();
    session.abort().unwrap();
    drop(session);
    drop(database);
    drop(segment);
    assert_eq!(files(shared.path()), Vec::<PathBuf>::new());
}

#[test]
fn child() {
    let Some(role) = role() else { return };
    let options = options(Path::new(&role[1]));
    let kind = match role[0].strip_prefix("slow ") {
        Some(kind) => {
            stop_at(Step::Left, 0);
            kind
        }
        None => &role[0],
    };
    let segment = match kind {
        "database" => options.open(&role[2]).unwrap(),
        _ => options.open_volatile(&role[2]).unwrap(),
    };
    write(&segment);
    say("open");
    // Until it is killed, or its input ends.
    let _ = std::io::stdin().read(&mut [0]);
    drop(segment);
}
