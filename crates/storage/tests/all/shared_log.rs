//! Several processes on one database, on the real disk and with the driver's real threads. The
//! processes are played by threads of this one: advisory locks belong to openings of a file, not to
//! processes, so they exclude each other as processes would.

use sardonyx_base::sync::futex::Mutex;
use sardonyx_storage::disk::{Disk, RealDisk};
use sardonyx_storage::engine::{Driver, Election, FirstOpening, SharedLock, SharedMemory};
use sardonyx_storage::engine::{Engine, OpenError, StorageOptions};
use sardonyx_storage::engine::{join, lock_opening, open_first};
use sardonyx_storage::log::policy::GroupLimits;
use sardonyx_storage::log::seal::GroupBuilder;
use sardonyx_storage::log::{LogLeader, LogState, SharedLogError};
use sardonyx_storage::manifest::Manifest;
use sardonyx_storage::page::{Address, PAGE_SIZE};
use std::sync::Arc;
use std::time::Duration;

/// Longer than anything takes; only a failing test waits for it.
const LONG: Duration = Duration::from_secs(120);

/// The content of the shared memory.
struct Memory {
    state: LogState,
    /// The writer lock: held by the process that writes the log.
    writer: Mutex<()>,
    /// The records of every transaction, in the order of their commits.
    ring: Mutex<Vec<Vec<u8>>>,
}

struct Process {
    memory: Arc<Memory>,
    leader: Mutex<LogLeader>,
    disk: Arc<dyn Disk>,
    manifest: Manifest,
    _lock: SharedLock,
}

fn options() -> StorageOptions {
    let page = PAGE_SIZE as u64;
    StorageOptions {
        segment_bytes: 16 * page,
        block_bytes: PAGE_SIZE as u32,
        stripes: 2,
        log_bytes_max: 6 * 16 * page,
        log_bytes_prepared: 0,
        memory_bytes_max: 1 << 24,
        limits: GroupLimits {
            group_bytes: 4 * PAGE_SIZE,
            transaction_bytes: 4 * PAGE_SIZE,
            ..GroupLimits::default()
        },
        workers: 1,
        ..StorageOptions::default()
    }
}

impl SharedMemory for Process {
    fn log_state(&self) -> &LogState {
        &self.memory.state
    }

    fn flush(&self) -> Result<(), SharedLogError> {
        self.write().map(|_| ())
    }
}

impl Process {
    fn first(disk: &Arc<dyn Disk>) -> (Arc<Process>, Driver, Vec<u8>) {
        let opening = lock_opening(disk).unwrap();
        let first = open_first(disk, &options())
            .unwrap()
            .expect("nobody has it");
        let memory = Memory {
            state: LogState::zeroed(),
            writer: Mutex::new(()),
            ring: Mutex::default(),
        };
        first.initialise(&memory.state);
        let pages = first.store.bytes().to_vec();
        let FirstOpening {
            manifest,
            driver,
            lock,
            ..
        } = first;
        let lock = lock.share().unwrap();
        drop(opening);
        let process = Self::new(Arc::new(memory), disk, manifest, lock);
        (process, driver, pages)
    }

    fn joining(disk: &Arc<dyn Disk>, memory: &Arc<Memory>) -> Arc<Process> {
        let _opening = lock_opening(disk).unwrap();
        assert!(open_first(disk, &options()).unwrap().is_none(), "shared");
        let (manifest, lock, _) = join(disk).unwrap();
        assert_eq!(manifest.incarnation, memory.state.incarnation());
        Self::new(memory.clone(), disk, manifest, lock)
    }

    fn new(
        memory: Arc<Memory>,
        disk: &Arc<dyn Disk>,
        manifest: Manifest,
        lock: SharedLock,
    ) -> Arc<Process> {
        let leader = LogLeader::new(disk.clone(), &manifest, manifest.incarnation);
        Arc::new(Process {
            memory,
            leader: Mutex::new(leader),
            disk: disk.clone(),
            manifest,
            _lock: lock,
        })
    }

    fn candidate(self: &Arc<Self>, driver: Option<Driver>) -> Election {
        let (disk, manifest) = (self.disk.clone(), self.manifest.clone());
        Election::start(disk, manifest, &options(), self.clone(), driver)
    }

    /// Commits without waiting for the disk. Returns the tail that makes it durable.
    fn publish(&self, address: u64, value: &[u8]) -> u64 {
        let layout = self.manifest.log_layout();
        self.memory.state.wait_for_room(layout, LONG).unwrap();
        let mut builder = GroupBuilder::with_capacity(PAGE_SIZE);
        builder.push_write(Address(address), value);
        builder.end_transaction();
        let mut ring = self.memory.ring.lock();
        ring.push(builder.payload().to_vec());
        ring.len() as u64
    }

    /// Writes published records that are not durable.
    fn write(&self) -> Result<u64, SharedLogError> {
        let _writer = self.memory.writer.lock();
        let state = &self.memory.state;
        let from = state.durable_tail();
        let mut leader = self.leader.lock();
        let mut room = leader.group_bytes_max();
        let ring = self.memory.ring.lock();
        let fits = |bytes: &&Vec<u8>| {
            room = room.saturating_sub(bytes.len());
            room > 0
        };
        let records: Vec<Vec<u8>> = ring[from as usize..]
            .iter()
            .take_while(fits)
            .cloned()
            .collect();
        drop(ring);
        if records.is_empty() {
            return Ok(from);
        }
        let pieces: Vec<&[u8]> = records.iter().map(Vec::as_slice).collect();
        let tail = from + pieces.len() as u64;
        leader.write_group(state, pieces.len() as u32, &pieces, tail)?;
        Ok(tail)
    }

    /// Commits and waits until it is durable.
    fn commit(&self, address: u64, value: &[u8]) {
        let tail = self.publish(address, value);
        while self.memory.state.durable_tail() < tail {
            match self.write() {
                Ok(_) => {}
                Err(SharedLogError::NoRoom) => {
                    let layout = self.manifest.log_layout();
                    self.memory.state.wait_for_room(layout, LONG).unwrap();
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// Each thread writes its own pages; the last value of each is the thread's last.
fn run(process: &Process, thread: u64, rounds: u64) {
    for round in 0..rounds {
        let page = thread * 4 + round % 4;
        let mut value = [thread as u8; 700];
        value[..8].copy_from_slice(&round.to_le_bytes());
        process.commit(page * PAGE_SIZE as u64, &value);
    }
}

fn check(pages: &[u8], threads: u64, rounds: u64) {
    for thread in 0..threads {
        for last in rounds - 4..rounds {
            let at = ((thread * 4 + last % 4) * PAGE_SIZE as u64) as usize;
            assert_eq!(pages[at..at + 8], last.to_le_bytes(), "thread {thread}");
            assert!(pages[at + 8..at + 700].iter().all(|b| *b == thread as u8));
        }
    }
}

fn disk() -> (tempfile::TempDir, Arc<dyn Disk>) {
    let directory = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::open(directory.path()).unwrap());
    (directory, disk)
}

#[test]
fn i9_processes_commit_and_hand_the_driving_on_and_the_database_opens_alone_and_shared() {
    const ROUNDS: u64 = 60;
    let (_directory, disk) = disk();
    let (first, driver, _) = Process::first(&disk);
    let memory = first.memory.clone();
    let others: Vec<_> = (0..2).map(|_| Process::joining(&disk, &memory)).collect();
    let mut candidates = vec![first.candidate(Some(driver))];
    // Or the last one may be the first that drives, and then it is the only one.
    let mut seen = memory.state.changes();
    while memory.state.drivers() == 0 {
        seen = memory.state.wait(seen, Duration::from_millis(1));
    }
    candidates.extend(others.iter().map(|process| process.candidate(None)));
    let refused = Engine::open(disk.clone(), options()).unwrap_err();
    assert!(matches!(refused, OpenError::Locked { .. }), "{refused}");
    std::thread::scope(|scope| {
        let threads: Vec<_> = std::iter::once(&first)
            .chain(&others)
            .zip(0..)
            .map(|(process, thread)| scope.spawn(move || run(process, thread, ROUNDS)))
            .collect();
        // The drivers go one after the other while transactions come; the last one stays.
        for election in candidates.drain(..2) {
            memory.state.take_checkpoint().unwrap();
            election.stop();
        }
        memory.state.take_checkpoint().unwrap();
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
    });
    // The last one may not have been on a processor yet.
    while memory.state.drivers() < 2 {
        std::thread::yield_now();
    }
    memory.state.take_checkpoint().unwrap();
    assert!(memory.state.complete_from() > 1);
    // More log than there is room for on disk: segments were used again.
    let log_bytes = memory.state.end().position.lsn.0;
    assert!(log_bytes > options().log_bytes_max, "{log_bytes}");
    first.leader.lock().write_end_mark(&memory.state).unwrap();
    drop((candidates, first, others, memory));

    let opened = Engine::open(disk.clone(), options()).unwrap();
    check(opened.store.bytes(), 3, ROUNDS);
    drop(opened);
    let (process, driver, pages) = Process::first(&disk);
    check(&pages, 3, ROUNDS);
    let election = process.candidate(Some(driver));
    run(&process, 1, 8);
    process.memory.state.take_checkpoint().unwrap();
    election.stop();
    drop(process);
    let opened = Engine::open(disk, options()).unwrap();
    assert_eq!(
        opened.store.bytes()[4 * PAGE_SIZE..][..8],
        4u64.to_le_bytes()
    );
}

#[test]
fn what_nobody_waits_for_is_made_durable_by_the_driver() {
    let (_directory, disk) = disk();
    let (process, driver, _) = Process::first(&disk);
    let election = process.candidate(Some(driver));
    let tail = process.publish(0, &[1; 100]);
    let state = &process.memory.state;
    let mut seen = state.changes();
    while state.durable_tail() < tail {
        seen = state.wait(seen, Duration::from_millis(1));
    }
    election.stop();
}

#[test]
fn i6_what_another_drove_meanwhile_is_recovered_anew() {
    let (_directory, disk) = disk();
    let (first, driver, _) = Process::first(&disk);
    let memory = first.memory.clone();
    let other = Process::joining(&disk, &memory);
    // The other one is faster: it writes the backup and frees the log that the first one's driver
    // would need, and uses the slots that it thinks are free.
    let election = other.candidate(None);
    run(&other, 0, 80);
    memory.state.take_checkpoint().unwrap();
    election.stop();
    let election = first.candidate(Some(driver));
    run(&first, 1, 40);
    memory.state.take_checkpoint().unwrap();
    assert!(memory.state.failure().is_none());
    election.stop();
    drop((first, other, memory));
    let opened = Engine::open(disk, options()).unwrap();
    check(&opened.store.bytes()[..4 * PAGE_SIZE], 1, 80);
    let second = &opened.store.bytes()[4 * PAGE_SIZE..];
    assert_eq!(second[..8], 36u64.to_le_bytes());
}

/// A process whose driver dies of a panic.
struct Deadly(Arc<Process>);

impl SharedMemory for Deadly {
    fn log_state(&self) -> &LogState {
        &self.0.memory.state
    }

    fn flush(&self) -> Result<(), SharedLogError> {
        panic!("a planted death")
    }
}

#[test]
fn i9_a_driver_that_panics_has_failed_and_another_process_takes_over() {
    let (_directory, disk) = disk();
    let (first, driver, _) = Process::first(&disk);
    let (manifest, deadly) = (first.manifest.clone(), Arc::new(Deadly(first.clone())));
    let dying = Election::start(disk.clone(), manifest, &options(), deadly, Some(driver));
    let state = &first.memory.state;
    // A request gets the error, and does not wait for ever.
    let error = loop {
        if let Err(error) = state.take_checkpoint() {
            break error;
        }
    };
    let SharedLogError::Driver { reason } = &error else {
        panic!("{error:?}")
    };
    assert!(
        reason.contains("driver") && reason.contains("planted"),
        "{reason}"
    );
    let second = Process::joining(&disk, &first.memory);
    let election = second.candidate(None);
    while state.take_checkpoint().is_err() {
        std::thread::yield_now();
    }
    dying.stop();
    election.stop();
}
