//! Models of the log that several processes share. Leaders write for all and wait for room. The driver prepares
//! segments, follows the log and takes checkpoints, and is handed over to another process. Shuttle runs the processes,
//! as threads, under thousands of schedules. There is no time in it, so that every sleeper must be woken by a change.

#![cfg(shuttle)]

use sardonyx_base::sync::atomic::{AtomicUsize, Ordering};
use sardonyx_base::sync::{Mutex, thread};
use sardonyx_storage::disk::{Disk, Faults, SimulatedDisk};
use sardonyx_storage::engine::{Driver, StorageOptions, join, open_first};
use sardonyx_storage::log::policy::GroupLimits;
use sardonyx_storage::log::reader::{LogReader, group_before};
use sardonyx_storage::log::seal::GroupBuilder;
use sardonyx_storage::log::{LogLeader, LogPosition, LogState, SharedLogError};
use sardonyx_storage::manifest::Manifest;
use sardonyx_storage::page::{Address, PAGE_SIZE};
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use std::sync::Arc;
use std::time::Duration;

/// There is no time.
const LONG: Duration = Duration::from_secs(3600);

/// Transactions of each leader: together more than the segments that are prepared at first have room for.
const TRANSACTIONS: u64 = 3;

const LEADERS: usize = 2;

fn options() -> StorageOptions {
    let page = PAGE_SIZE as u64;
    StorageOptions {
        segment_bytes: 4 * page,
        block_bytes: PAGE_SIZE as u32,
        stripes: 1,
        identity: Some(1),
        log_bytes_max: 4 * 4 * page,
        log_bytes_prepared: 0,
        memory_bytes_max: 1 << 20,
        limits: GroupLimits {
            group_bytes: PAGE_SIZE,
            transaction_bytes: PAGE_SIZE,
            ..GroupLimits::default()
        },
        threaded: false,
        workers: 1,
        ..StorageOptions::default()
    }
}

/// The state that the processes share.
struct Memory {
    disk: SimulatedDisk,
    manifest: Manifest,
    state: LogState,
    /// The writer lock.
    writer: Mutex<()>,
    /// The records of every transaction, in the order of their commits.
    ring: Mutex<Vec<Vec<u8>>>,
    /// Leaders that are done.
    done: AtomicUsize,
}

impl Memory {
    fn disk(&self) -> Arc<dyn Disk> {
        Arc::new(self.disk.clone())
    }

    /// A process that commits, and waits until it is durable.
    fn lead(&self) {
        let mut leader = LogLeader::new(self.disk(), &self.manifest, self.manifest.incarnation);
        for _ in 0..TRANSACTIONS {
            let mine = {
                let mut builder = GroupBuilder::with_capacity(PAGE_SIZE);
                builder.push_write(Address(0), &[1; PAGE_SIZE]);
                builder.end_transaction();
                let mut ring = self.ring.lock();
                ring.push(builder.payload().to_vec());
                ring.len() as u64
            };
            while self.state.durable_tail() < mine {
                let written = {
                    let _writer = self.writer.lock();
                    let from = self.state.end().tail;
                    let records = self.ring.lock()[from as usize..].to_vec();
                    // One at a time, so that a group fits into a segment.
                    let Some(records) = records.first() else {
                        continue;
                    };
                    leader.write_group(&self.state, 1, &[records], from + 1)
                };
                match written {
                    Ok(_) => {}
                    Err(SharedLogError::NoRoom) => {
                        let layout = self.manifest.log_layout();
                        self.state.wait_for_room(layout, LONG).expect("room comes");
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            let durable = self.durable_transactions();
            assert!(durable >= mine, "told too early: {durable} of {mine}");
        }
        self.done.fetch_add(1, Ordering::SeqCst);
        self.state.notify();
    }

    /// The transactions in the log on disk up to the published end, of which the last group is read.
    fn durable_transactions(&self) -> u64 {
        let layout = self.manifest.log_layout();
        loop {
            let end = self.state.end().position;
            let last = group_before(&self.disk, layout, end).expect("it can be read");
            match last {
                Some(last) => return last.next_position().transactions,
                // A checkpoint has all of it, so it was freed.
                None if self.state.complete_from() >= end.group => return end.transactions,
                // The driver frees, and then publishes it. If that is not the cause, the model's steps run out here.
                None => shuttle::thread::yield_now(),
            }
        }
    }

    /// A process that drives the work behind the log for so many steps, or until all are done. `None`: it
    /// takes over.
    fn drive(&self, driver: Option<Driver>, steps: usize) {
        let mut driver = driver.unwrap_or_else(|| {
            let disk = self.disk();
            let taken = Driver::take_over(&disk, &self.manifest, &options(), &self.state);
            taken.expect("DB' is recovered")
        });
        let mut seen = self.state.changes();
        for _ in 0..steps {
            let busy = driver.step(&self.state).expect("it goes on");
            if self.done.load(Ordering::SeqCst) == LEADERS && !busy {
                return;
            }
            if !busy {
                seen = self.state.wait(seen, LONG);
            }
        }
    }
}

fn explore(first_driver_steps: usize) {
    let body = move || {
        let disk = SimulatedDisk::new(1, Faults::default());
        let on: Arc<dyn Disk> = Arc::new(disk.clone());
        let first = open_first(&on, &options())
            .expect("it opens")
            .expect("nobody has it");
        let state = LogState::zeroed();
        first.initialise(&state);
        let memory = Arc::new(Memory {
            disk,
            manifest: first.manifest.clone(),
            state,
            writer: Mutex::new(()),
            ring: Mutex::new(Vec::new()),
            done: AtomicUsize::new(0),
        });
        let _lock = first.lock.share().expect("nobody else is there");
        let (joined, _other_lock, _disk) = join(&on).expect("it is shared");
        assert_eq!(joined.incarnation, memory.state.incarnation());
        let mut processes = Vec::new();
        for _ in 0..LEADERS {
            let memory = memory.clone();
            processes.push(thread::spawn(move || memory.lead()));
        }
        let (driver, driven) = (first.driver, memory.clone());
        processes.push(thread::spawn(move || {
            driven.drive(Some(driver), first_driver_steps);
            // The next one: it finds the unfinished work of the first.
            driven.drive(None, usize::MAX);
        }));
        for process in processes {
            process.join().expect("a process ends well");
        }
        let all = TRANSACTIONS * LEADERS as u64;
        assert_eq!(memory.state.end().tail, all);
        let layout = memory.manifest.log_layout();
        if let Ok(mut reader) = LogReader::open(&on, layout, LogPosition::START) {
            while reader.next_group().expect("whole").is_some() {}
            assert_eq!(reader.position(), memory.state.end().position);
        }
    };
    let mut config = shuttle::Config::new();
    config.stack_size = 512 << 10;
    let random = RandomScheduler::new_from_seed(1, 300);
    shuttle::Runner::new(random, config.clone()).run(body);
    let few_changes = PctScheduler::new_from_seed(1, 3, 300);
    shuttle::Runner::new(few_changes, config).run(body);
}

#[test]
fn shuttle_i9_leaders_and_a_driver_lose_no_wake_up() {
    explore(usize::MAX);
}

#[test]
fn shuttle_i9_the_driving_is_handed_over_and_room_still_comes() {
    explore(3);
}
