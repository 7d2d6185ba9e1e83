//! The tests' shared parts: the mechanisms, words in pages, and other processes.
//!
//! Another process is this program again, with one test named: the `child` of a module, which does nothing unless the
//! environment gives it a role.

#[path = "../../../../storage/tests/all/alone.rs"]
mod alone;

pub use alone::alone;

use sardonyx_base::victims::{self, Reports};
use sardonyx_mapped::{MechanismKind, MemoryAccess, Options, P, Segment};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a page.
pub const PAGE: u64 = 4096;

/// The three, all under the same tests.
pub const MECHANISMS: [MechanismKind; 3] = [
    MechanismKind::Asynchronous,
    MechanismKind::Signal,
    MechanismKind::Explicit,
];

/// The result of a test.
pub type Fallible<T = ()> = Result<T, Box<dyn std::error::Error>>;

pub fn word(page: u64, index: u64) -> P<u64> {
    P::from_offset(page * PAGE + index * 8)
}

/// Options with the smallest ring.
pub fn options(mechanism: MechanismKind) -> Options {
    Options::new()
        .mechanism(mechanism)
        .versions_bytes(1)
        .address_space_bytes(256 << 20)
}

/// A segment of this process' own, of so many pages.
pub fn private(mechanism: MechanismKind, pages: u64) -> Segment {
    let segment = options(mechanism).open_private().expect("a segment");
    segment
        .run(|tx| sardonyx_mapped::Memory::grow_to(tx, pages * PAGE))
        .expect("it grows");
    segment
}

/// A mechanism by the name that its `Debug` gives.
pub fn mechanism_of(name: &str) -> MechanismKind {
    MECHANISMS
        .into_iter()
        .find(|mechanism| format!("{mechanism:?}") == name)
        .expect("a mechanism")
}

/// A name for a shared segment that no other test or run has.
pub fn unique(name: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("sardonyx-proof-{name}-{}-{count}", std::process::id())
}

/// A segment shared by name, whose file is removed in the end.
pub struct Shared {
    pub segment: Segment,
    pub name: String,
}

impl Shared {
    pub fn new(mechanism: MechanismKind, name: &str, pages: u64) -> Self {
        let name = unique(&format!("{name}-{mechanism:?}"));
        remove(&name);
        let segment = options(mechanism).open_volatile(&name).expect("a segment");
        segment
            .run(|tx| sardonyx_mapped::Memory::grow_to(tx, pages * PAGE))
            .expect("it grows");
        Shared { segment, name }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        remove(&self.name);
    }
}

fn remove(name: &str) {
    let _ = std::fs::remove_file(format!("/dev/shm/{name}"));
}

/// The number of runs: few in CI, more where the environment says so.
pub fn runs(default: u64) -> u64 {
    sardonyx_base::random::asked("SARDONYX_RUNS").unwrap_or(default)
}

/// The first seed: to run a failing one again.
pub fn first_seed() -> u64 {
    sardonyx_base::random::asked("SARDONYX_FIRST").unwrap_or(0)
}

/// The role of this process, if a test started it.
pub fn role() -> Option<Vec<String>> {
    let role = std::env::var("SARDONYX_ROLE").ok()?;
    Some(role.split(',').map(str::to_owned).collect())
}

/// Starts this program as another process: the test `child` of a module, which is given by its path.
pub fn spawn(module: &str, role: &[&str]) -> Process {
    let mut command = command(module, role);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("a process");
    let told = Told(Reports::new(child.stdout.take().expect("a pipe")));
    Process { child, told }
}

/// The command for [`spawn`].
pub fn command(module: &str, role: &[&str]) -> Command {
    let (_, module) = module.split_once("::").expect("a module of this program");
    let mut command = Command::new(std::env::current_exe().expect("a path"));
    command
        .args([&format!("{module}::child"), "--exact"])
        .args(["--nocapture", "--test-threads=1"])
        .env("SARDONYX_ROLE", role.join(","));
    command
}

/// A process that a test started.
pub struct Process {
    pub child: Child,
    told: Told,
}

/// The output of a process.
pub struct Told(Reports<ChildStdout>);

impl Told {
    /// The next line that it said by [`say`]; `None` when it has ended.
    pub fn hear(&mut self) -> Option<String> {
        self.0.next().map(|report| report.to_string())
    }
}

impl Process {
    /// As [`Told::hear`].
    pub fn hear(&mut self) -> Option<String> {
        self.told.hear()
    }

    /// Everything else that it says, until it ends.
    pub fn hear_all(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.hear()).collect()
    }

    /// To be waited for by one and listened to by another.
    pub fn apart(self) -> (Child, Told) {
        (self.child, self.told)
    }
}

/// Says a line to the test that started this process.
pub fn say(line: impl std::fmt::Display) {
    if victims::say(line).is_err() {
        // The parent does not listen any more.
        std::process::exit(0);
    }
}

/// Reports to that test the acknowledged transactions of a worker.
pub fn acknowledge(worker: u64, count: u64) {
    say(victims::Report::Acknowledged { worker, count });
}

/// The sum of the first words of pages.
pub fn sum(memory: &impl MemoryAccess, pages: std::ops::Range<u64>) -> u64 {
    pages
        .map(|page| memory.read(word(page, 0)).expect("a word"))
        .fold(0, u64::wrapping_add)
}
