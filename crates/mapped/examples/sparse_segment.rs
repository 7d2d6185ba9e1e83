//! Time and memory to grow, to fill sparsely and to open a segment of 4 GiB. One word of each MiB is used: `cargo run
//! --release -p sardonyx-mapped --example sparse_segment [DIRECTORY]`.
//!
//! It starts itself again for each opening, so that each has a process of its own.

use sardonyx_mapped::{Memory, MemoryAccess, Options, P, Segment};
use std::error::Error;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Instant;

const LENGTH: u64 = 4 << 30;
const MIB: u64 = 1 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [] => run(tempfile::tempdir()?.path()),
        [directory] => run(Path::new(directory)),
        [database, shared, what, ..] => open(Path::new(database), Path::new(shared), what),
        _ => Err("at most one directory".into()),
    }
}

fn run(directory: &Path) -> Result<(), Box<dyn Error>> {
    let shared = tempfile::tempdir_in("/dev/shm")?;
    for what in ["made", "opened from the log", "opened from a checkpoint"] {
        let mut again = std::process::Command::new(std::env::current_exe()?);
        let paths = [directory.as_os_str(), shared.path().as_os_str()];
        let done = again.args(paths).arg(what).status()?;
        if !done.success() {
            return Err(what.into());
        }
    }
    Ok(())
}

fn open(database: &Path, shared: &Path, what: &str) -> Result<(), Box<dyn Error>> {
    let started = Instant::now();
    let segment = Options::new().shared_memory(shared).open(database)?;
    tell(what, started, shared)?;
    if what == "made" {
        let started = Instant::now();
        segment.run(|tx| tx.grow_to(LENGTH))?;
        tell("grown", started, shared)?;
        let started = Instant::now();
        segment.run(|tx| {
            let mut places = (0..LENGTH / MIB).map(place);
            places.try_for_each(|place| tx.write(place, place.offset()))
        })?;
        tell("filled", started, shared)?;
        return die(&segment);
    }
    let snapshot = segment.snapshot()?;
    for place in (0..LENGTH / MIB).map(place) {
        assert_eq!(snapshot.read(place)?, place.offset());
    }
    drop(snapshot);
    let started = Instant::now();
    segment.checkpoint()?;
    tell("a checkpoint", started, shared)?;
    die(&segment)
}

fn place(n: u64) -> P<u64> {
    P::from_offset(n * MIB + 64)
}

/// Ends as if it was killed, so that nothing is tidied up.
fn die(_open: &Segment) -> Result<(), Box<dyn Error>> {
    // SAFETY: ends the process at once, which may be done at any time.
    unsafe { libc::_exit(0) }
}

fn tell(what: &str, since: Instant, shared: &Path) -> Result<(), Box<dyn Error>> {
    let took = since.elapsed();
    // SAFETY: all zero bytes are a valid value, and the call fills it.
    let usage = unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let processor = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    let mut blocks = 0;
    for file in std::fs::read_dir(shared)? {
        blocks += file?.metadata()?.blocks();
    }
    println!(
        "{what:>26}: {:7.3} s; process until now: {processor:6.3} s of processor time, {:5} MiB at most; \
         shared memory: {} MiB",
        took.as_secs_f64(),
        usage.ru_maxrss / 1024,
        blocks / 2048
    );
    Ok(())
}
