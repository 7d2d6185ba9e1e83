//! The simulated disk as a whole: its files and names, its counters, and when it fails.
//!
//! An operation at which the machine crashes is done as if it were unsynced, and then the machine
//! stops. So a crash leaves of it the same as of unsynced things: all, a part or nothing. An
//! operation at which the process is killed is done wholly, in part or not at all, and is not synced;
//! the machine has the part that was done.

use super::super::{Create, SECTOR_SIZE};
use super::Faults;
use super::bytes::Bytes;
use super::content::Content;
use super::names::{FileNumber, Names, directory_of};
use rustix::io::Errno;
use sardonyx_base::random::Random;
use sardonyx_base::sync::futex::Condvar;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::Arc;

/// The streams of random numbers that a seed is split into. The remains of a crash must not depend on
/// the number of failures drawn before it.
const STREAM_FAILURES: u64 = 0;
const STREAM_CRASH: u64 = 1;
const STREAM_RESTART: u64 = 2;
const STREAM_NEXT_PROCESS: u64 = 3;

#[derive(Clone, Default)]
struct File {
    content: Content,
    /// The number of open handles.
    handles: usize,
}

/// The fate of an operation that is about to happen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Succeeds,
    /// Fails with an I/O error.
    Fails,
    /// The machine crashes meanwhile, or the process is killed when all is done but the sync.
    Crashes,
    /// The process is killed when a part is done.
    KilledAmid,
}

impl Fate {
    /// The operation's result, once its effects are done.
    fn result(self) -> io::Result<()> {
        match self {
            Fate::Succeeds => Ok(()),
            Fate::Fails => Err(Errno::IO.into()),
            Fate::Crashes | Fate::KilledAmid => Err(ended()),
        }
    }
}

fn ended() -> io::Error {
    io::Error::other("the simulated machine has crashed, or the process was killed")
}

/// Counts a kind of event, and returns the fate of this one.
fn count(counter: &mut u64, fails_at: Option<u64>) -> Fate {
    *counter += 1;
    if fails_at == Some(*counter) {
        Fate::Fails
    } else {
        Fate::Succeeds
    }
}

/// The holders of an advisory lock.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Holders {
    /// One, alone.
    Exclusive,
    /// So many together.
    Shared(usize),
}

/// All that is behind the lock of a simulated disk.
pub(super) struct State {
    seed: u64,
    restarts: u64,
    faults: Faults,
    failures: Random,
    crashed: bool,
    steps: u64,
    syncs: u64,
    writes: u64,
    reads: u64,
    names: Names,
    files: BTreeMap<FileNumber, File>,
    next_file: FileNumber,
    locks: BTreeMap<String, Holders>,
    /// Signalled when a lock is given back.
    pub(super) released: Arc<Condvar>,
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimulatedDisk")
            .field("seed", &self.seed)
            .field("restarts", &self.restarts)
            .field("faults", &self.faults)
            .field("crashed", &self.crashed)
            .field("steps", &self.steps)
            .field("files", &self.names.live().keys())
            .finish_non_exhaustive()
    }
}

impl State {
    pub(super) fn new(seed: u64, faults: Faults) -> Self {
        State {
            seed,
            restarts: 0,
            faults,
            failures: Random::stream(seed, STREAM_FAILURES),
            crashed: false,
            steps: 0,
            syncs: 0,
            writes: 0,
            reads: 0,
            names: Names::default(),
            files: BTreeMap::new(),
            next_file: 0,
            locks: BTreeMap::new(),
            released: Arc::default(),
        }
    }

    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    pub(super) fn faults(&self) -> Faults {
        self.faults
    }

    pub(super) fn has_crashed(&self) -> bool {
        self.crashed
    }

    pub(super) fn crash(&mut self) {
        self.crashed = true;
        self.released.notify_all();
    }

    pub(super) fn names(&self) -> &Names {
        &self.names
    }

    pub(super) fn content(&self, name: &str) -> Option<&Content> {
        self.names
            .live()
            .get(name)
            .map(|number| &self.files[number].content)
    }

    /// The disk as the machine finds it when it comes up again.
    pub(super) fn after_crash(&self, faults: Faults) -> State {
        let mut random = Random::stream(self.seed, STREAM_CRASH);
        let mut after = State::new(Random::stream(self.seed, STREAM_RESTART).next(), faults);
        after.restarts = self.restarts + 1;
        after.names = self.names.after_crash(&mut random);
        // In the order of names, and numbered anew: file numbers hang on the order in which
        // threads opened their files.
        let mut numbers = BTreeMap::new();
        after.names.renumber(|number| {
            *numbers.entry(number).or_insert_with(|| {
                let content = self.files[&number].content.after_crash(&mut random);
                let renumbered = after.next_file;
                after.files.insert(
                    renumbered,
                    File {
                        content,
                        handles: 0,
                    },
                );
                after.next_file += 1;
                renumbered
            })
        });
        after
    }

    /// The disk as the next process finds it after this one was killed: the system's cache is unchanged, and so is its
    /// unstable part.
    pub(super) fn after_kill(&self, faults: Faults) -> State {
        let seed = Random::stream(self.seed, STREAM_NEXT_PROCESS).next();
        let mut after = State::new(seed, faults);
        after.restarts = self.restarts + 1;
        after.names = self.names.clone();
        after.files = self.files.clone();
        after.files.values_mut().for_each(|file| file.handles = 0);
        after.next_file = self.next_file;
        after.forget_unreachable();
        after
    }

    fn check_running(&self) -> io::Result<()> {
        if self.crashed { Err(ended()) } else { Ok(()) }
    }

    /// Counts a mutating operation and decides its fate.
    fn step(&mut self) -> io::Result<Fate> {
        self.check_running()?;
        self.steps += 1;
        if self.faults.crash_at_step == Some(self.steps) {
            self.crash();
            return Ok(Fate::Crashes);
        }
        if self.faults.kill_at_step == Some(self.steps) {
            self.crash();
            return match self.failures.below(3) {
                0 => Err(ended()),
                1 => Ok(Fate::KilledAmid),
                _ => Ok(Fate::Crashes),
            };
        }
        Ok(Fate::Succeeds)
    }

    fn sync_step(&mut self) -> io::Result<Fate> {
        match self.step()? {
            Fate::Succeeds => Ok(count(&mut self.syncs, self.faults.fail_sync_at)),
            fate => Ok(fate),
        }
    }

    fn number(&self, name: &str) -> io::Result<FileNumber> {
        self.names
            .live()
            .get(name)
            .copied()
            .ok_or_else(|| Errno::NOENT.into())
    }

    pub(super) fn check_directory(&self, directory: &str) -> io::Result<()> {
        if self.names.has_directory(directory) {
            Ok(())
        } else {
            Err(Errno::NOENT.into())
        }
    }

    /// Refuses a name for a file that is a directory's.
    fn check_place(&self, name: &str) -> io::Result<()> {
        if self.names.has_directory(name) {
            return Err(Errno::ISDIR.into());
        }
        self.check_directory(directory_of(name))
    }

    pub(super) fn open(&mut self, name: &str, create: Create) -> io::Result<FileNumber> {
        self.check_running()?;
        self.check_place(name)?;
        let number = match (self.names.live().get(name), create) {
            (Some(_), Create::New) => return Err(Errno::EXIST.into()),
            (Some(number), _) => *number,
            (None, Create::No) => return Err(Errno::NOENT.into()),
            (None, _) => self.create(name)?,
        };
        self.file(number).handles += 1;
        Ok(number)
    }

    /// True if the disk has no room in this step, for a file or directory of this name.
    fn is_full(&self, name: &str) -> bool {
        let full = self.faults.full_steps;
        full.is_some_and(|(from, until)| (from..until).contains(&self.steps))
            && self.faults.full_below.is_none_or(|full| {
                let below = full
                    .strip_prefix('/')
                    .and_then(|full| name.strip_prefix(full));
                below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
    }

    /// True if the disk has no room in this step for more of a file, which has a name or had one.
    fn is_full_for(&self, number: FileNumber) -> bool {
        let name = self
            .names
            .live()
            .iter()
            .find(|(_, other)| **other == number);
        self.is_full(name.map_or("", |(name, _)| name))
    }

    fn create(&mut self, name: &str) -> io::Result<FileNumber> {
        let fate = self.step()?;
        room(self.is_full(name))?;
        let number = self.next_file;
        self.next_file += 1;
        self.files.insert(number, File::default());
        self.names.create(name, number);
        fate.result().map(|()| number)
    }

    pub(super) fn close(&mut self, number: FileNumber) {
        self.file(number).handles -= 1;
        self.forget_unreachable();
    }

    /// Frees the files that no handle and no name leads to.
    fn forget_unreachable(&mut self) {
        let names = &self.names;
        self.files
            .retain(|number, file| file.handles > 0 || names.refers_to(*number));
    }

    pub(super) fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        self.check_running()?;
        self.number(from)?;
        self.check_place(to)?;
        let fate = self.step()?;
        self.names.rename(from, to);
        fate.result()
    }

    pub(super) fn remove(&mut self, name: &str) -> io::Result<()> {
        self.check_running()?;
        self.number(name)?;
        let fate = self.step()?;
        self.names.remove(name);
        fate.result()
    }

    pub(super) fn list(&self, directory: &str) -> io::Result<Vec<String>> {
        self.check_running()?;
        let here = |name: &&String| directory_of(name) == directory;
        let base = |name: &String| name.rsplit('/').next().unwrap_or(name).to_owned();
        // The names of one directory are sorted alike with and without it.
        Ok(self.names.live().keys().filter(here).map(base).collect())
    }

    /// Makes each missing directory on the way, and syncs its parent, also if it exists: its maker
    /// may have been killed before.
    pub(super) fn create_directory(&mut self, directory: &str) -> io::Result<()> {
        self.check_running()?;
        if directory.is_empty() {
            return Ok(());
        }
        let ends = directory
            .match_indices('/')
            .map(|(at, _)| at)
            .chain([directory.len()]);
        let path: Vec<&str> = ends.filter_map(|end| directory.get(..end)).collect();
        if path
            .iter()
            .any(|part| self.names.live().contains_key(*part))
        {
            return Err(Errno::NOTDIR.into());
        }
        for part in path {
            self.make_directory(part)?;
            self.sync_directory(directory_of(part))?;
        }
        Ok(())
    }

    /// Makes one directory if it is absent. Not stable.
    pub(super) fn make_directory(&mut self, directory: &str) -> io::Result<()> {
        self.check_running()?;
        if self.names.has_directory(directory) {
            return Ok(());
        }
        let fate = self.step()?;
        room(self.is_full(directory))?;
        self.names.make_directory(directory);
        fate.result()
    }

    pub(super) fn sync_directory(&mut self, directory: &str) -> io::Result<()> {
        self.check_running()?;
        self.check_directory(directory)?;
        let fate = self.sync_step()?;
        match fate {
            Fate::Succeeds => self.names.sync(directory),
            Fate::Fails => self.names.sync_failing(directory, &mut self.failures),
            Fate::Crashes | Fate::KilledAmid => {}
        }
        self.forget_unreachable();
        fate.result()
    }

    /// True if the lock was compatible with its holders, and is now taken.
    pub(super) fn take_lock(&mut self, name: &str, how: Holders) -> io::Result<bool> {
        self.check_running()?;
        self.check_place(name)?;
        if !self.names.live().contains_key(name) {
            self.create(name)?;
        }
        match (self.locks.get_mut(name), how) {
            (None, _) => {
                self.locks.insert(name.to_owned(), how);
                Ok(true)
            }
            (Some(Holders::Shared(holders)), Holders::Shared(more)) => {
                *holders += more;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Gives one holder's lock back.
    pub(super) fn release_lock(&mut self, name: &str) {
        match self.locks.get_mut(name) {
            Some(Holders::Shared(holders)) if *holders > 1 => *holders -= 1,
            _ => {
                self.locks.remove(name);
            }
        }
        self.released.notify_all();
    }

    fn file(&mut self, number: FileNumber) -> &mut File {
        self.files
            .get_mut(&number)
            .expect("a file lives as long as its handles and names")
    }

    pub(super) fn length(&self, number: FileNumber) -> io::Result<u64> {
        self.check_running()?;
        Ok(self.files[&number].content.live().len() as u64)
    }

    pub(super) fn read(
        &mut self,
        number: FileNumber,
        offset: u64,
        into: &mut [u8],
    ) -> io::Result<usize> {
        self.check_running()?;
        count(&mut self.reads, self.faults.fail_read_at).result()?;
        Ok(self.files[&number].content.read(offset, into))
    }

    /// The end up to which a file may be written, at most `end`.
    fn end_that_fits(&self, number: FileNumber, end: usize) -> usize {
        let length = self.files[&number].content.live().len();
        if end <= length {
            return end;
        }
        if self.faults.full_steps.is_some() && self.is_full_for(number) {
            return length;
        }
        let Some(capacity) = self.faults.capacity_bytes else {
            return end;
        };
        let used: u64 = self
            .names
            .live()
            .values()
            .map(|number| self.files[number].content.live().len() as u64)
            .sum();
        let free = usize::try_from(capacity.saturating_sub(used)).unwrap_or(usize::MAX);
        end.min(length.saturating_add(free))
    }

    /// The bytes of a write for which there is room.
    fn bytes_that_fit<'a>(&self, number: FileNumber, offset: usize, from: &'a [u8]) -> &'a [u8] {
        let end = self.end_that_fits(number, offset + from.len());
        &from[..end.saturating_sub(offset)]
    }

    /// Some sectors from the beginning.
    fn a_part_of<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let sectors = self.failures.below((bytes.len() / SECTOR_SIZE) as u64 + 1) as usize;
        &bytes[..sectors * SECTOR_SIZE]
    }

    pub(super) fn write(&mut self, number: FileNumber, offset: u64, from: &[u8]) -> io::Result<()> {
        let fate = match self.step()? {
            Fate::Succeeds => count(&mut self.writes, self.faults.fail_write_at),
            fate => fate,
        };
        let offset = position(offset)?;
        let mut bytes = self.bytes_that_fit(number, offset, from);
        let full = bytes.len() < from.len();
        if matches!(fate, Fate::Fails | Fate::KilledAmid) {
            bytes = self.a_part_of(bytes);
        }
        self.file(number).content.write(offset, bytes);
        fate.result()?;
        room(full)
    }

    pub(super) fn write_durable(
        &mut self,
        number: FileNumber,
        offset: u64,
        from: &[u8],
    ) -> io::Result<()> {
        let fate = self.sync_step()?;
        let offset = position(offset)?;
        let mut bytes = self.bytes_that_fit(number, offset, from);
        if fate == Fate::KilledAmid {
            bytes = self.a_part_of(bytes);
        }
        let content = &mut self.files.get_mut(&number).expect("an open file").content;
        match fate {
            Fate::Succeeds => content.write_durable(offset, bytes),
            Fate::Fails => content.write_durable_failing(offset, bytes, &mut self.failures),
            Fate::Crashes | Fate::KilledAmid => content.write(offset, bytes),
        }
        fate.result()?;
        room(bytes.len() < from.len())
    }

    pub(super) fn sync(&mut self, number: FileNumber) -> io::Result<()> {
        let fate = self.sync_step()?;
        self.finish_sync(number, fate)
    }

    fn finish_sync(&mut self, number: FileNumber, fate: Fate) -> io::Result<()> {
        let content = &mut self.files.get_mut(&number).expect("an open file").content;
        match fate {
            Fate::Succeeds => content.sync(),
            Fate::Fails => content.sync_failing(&mut self.failures),
            Fate::Crashes | Fate::KilledAmid => {}
        }
        fate.result()
    }

    pub(super) fn preallocate(&mut self, number: FileNumber, length: u64) -> io::Result<()> {
        let fate = self.sync_step()?;
        let mut length = position(length)?;
        if fate == Fate::KilledAmid {
            length = self.failures.below(length as u64 + 1) as usize;
        }
        let end = self.end_that_fits(number, length);
        self.file(number).content.extend(end);
        // Without room the extension has happened as far as it went, and is not synced.
        if fate == Fate::Succeeds {
            room(end < length)?;
        }
        self.finish_sync(number, fate)
    }

    /// Changes a file's bytes; `change` returns `None` if it cannot.
    pub(super) fn damage(
        &mut self,
        operation: &'static str,
        name: &str,
        offset: u64,
        change: impl FnOnce(&mut Bytes) -> Option<()>,
    ) -> Result<(), super::DiskError> {
        let error = |source| super::error(operation, name, offset, source);
        let number = self.number(name).map_err(error)?;
        let mut changed = None;
        self.file(number)
            .content
            .damage(|bytes| changed = change(bytes));
        let beyond = || io::Error::new(io::ErrorKind::InvalidInput, "the file ends before that");
        changed.ok_or_else(|| error(beyond()))
    }
}

fn position(offset: u64) -> io::Result<usize> {
    usize::try_from(offset).map_err(|_| Errno::FBIG.into())
}

fn room(full: bool) -> io::Result<()> {
    if full {
        Err(Errno::NOSPC.into())
    } else {
        Ok(())
    }
}
