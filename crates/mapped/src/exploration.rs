//! Crash exploration of growths and of large transactions, of a segment on the simulated disk. Its
//! transactions grow it, write somewhere, write more than fits into the ring and into a segment of the log, or
//! give up. The machine crashes at each step of the disk. Recovery must find at least the length that was
//! acknowledged or relied on, and none that was never committed. It must find a large transaction whole or not
//! at all.

use crate::group::SharedLog;
use crate::mechanism::MechanismKind;
use crate::process_state::{Policies, ProcessState};
use crate::session::{Begin, Session};
use crate::shared::region::{Region, RegionSize};
use sardonyx_base::random::Random;
use sardonyx_storage::disk::{Disk, Faults, SimulatedDisk};
use sardonyx_storage::engine::StorageOptions;
use sardonyx_storage::engine::{Driver, lock_opening, open_first};
use sardonyx_storage::log::policy::GroupLimits;
use sardonyx_storage::log::{LogLayout, LogLeader};
use sardonyx_storage::page::PAGE_SIZE;
use sardonyx_storage::ticket::DurableLog;
use std::sync::Arc;
use std::time::Duration;

/// The least growth: the unit in which a segment's memory is allocated.
const STEP_BYTES: u64 = 2 << 20;

/// The place of the counter of transactions.
const COUNTER_AT: u64 = 64;

/// The bytes that a large transaction fills: with their records more than its part of the ring.
const LARGE: std::ops::Range<usize> = 10 * PAGE_SIZE..140 * PAGE_SIZE;

fn options(stripes: u32) -> StorageOptions {
    let page = PAGE_SIZE as u64;
    StorageOptions {
        segment_bytes: 8 * page,
        block_bytes: 512 << 10,
        stripes,
        identity: Some(5),
        log_bytes_max: 24 * 8 * page,
        log_bytes_prepared: 0,
        memory_bytes_max: 1 << 26,
        limits: GroupLimits {
            group_bytes: 2 * PAGE_SIZE,
            transaction_bytes: 2 * PAGE_SIZE,
            ..GroupLimits::default()
        },
        threaded: false,
        workers: 1,
        ..StorageOptions::default()
    }
}

/// The expected result of recovery.
#[derive(Clone, Copy, Default, Debug)]
struct Model {
    /// The acknowledged length and counter, and the byte written by the last acknowledged large transaction.
    acknowledged: (u64, u64, u8),
    /// The same of all submitted transactions, which may have taken effect.
    submitted: (u64, u64, u8),
}

struct World {
    disk: SimulatedDisk,
    options: StorageOptions,
    random: Random,
    model: Model,
}

/// The machine has crashed.
struct Crashed;

impl World {
    /// Opens the segment, compares it with the model, and runs transactions.
    fn live(&mut self, transactions: u64) -> Result<(), Crashed> {
        let disk: Arc<dyn Disk> = Arc::new(self.disk.clone());
        let opening = lock_opening(&disk).map_err(|_| Crashed)?;
        let first = match open_first(&disk, &self.options) {
            Ok(first) => first.expect("nobody else is there"),
            Err(_) if self.disk.has_crashed() => return Err(Crashed),
            Err(error) => panic!("{error}"),
        };
        drop(opening);
        let recovered = first.store.pages() * PAGE_SIZE as u64;
        let (acknowledged, submitted) = (self.model.acknowledged, self.model.submitted);
        assert!(
            (acknowledged.0..=submitted.0).contains(&recovered),
            "{recovered} bytes: {:?}",
            self.model
        );
        let at = COUNTER_AT as usize;
        let counter = first.store.bytes().get(at..at + 8);
        let counter = counter.map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().unwrap()));
        assert!(
            (acknowledged.1..=submitted.1).contains(&counter),
            "{counter}: {:?}",
            self.model
        );
        let large = first.store.bytes().get(LARGE);
        let value = large.map_or(0, |bytes| bytes[0]);
        assert!(
            large.is_none_or(|bytes| bytes.iter().all(|byte| *byte == value)),
            "a large transaction is there in part"
        );
        let expected = match counter == submitted.1 {
            true => submitted.2,
            false => acknowledged.2,
        };
        assert_eq!(value, expected, "{:?}", self.model);
        // The recovered state stays.
        self.model.acknowledged = (recovered, counter, value);
        self.model.submitted = (recovered, counter, value);

        let size = RegionSize {
            ring_bytes: 2 << 20,
            pages_max: self.options.memory_bytes_max / PAGE_SIZE as u64,
        };
        let region = Arc::new(Region::create(None, size, true).unwrap());
        region.grow(first.store.pages()).unwrap();
        region.note_logged_pages(first.store.pages());
        for (page, bytes) in first.store.bytes().chunks(PAGE_SIZE).enumerate() {
            region.fill(page as u64, bytes).unwrap();
        }
        first.initialise(&region.control().log);
        let leader = LogLeader::new(disk.clone(), &first.manifest, first.incarnation());
        let log = SharedLog::new(leader, self.options.log_bytes_max);
        let policies = Policies {
            lock_in_memory: false,
            transaction_bytes: u64::MAX,
            slow_reader_wait: Duration::from_secs(1),
            slow_reader: None,
            stopped_process_wait: Duration::from_secs(10),
            stopped_process: None,
        };
        let shared = ProcessState::new(region.clone(), Some(Box::new(log)), policies);
        let shared = Arc::new(shared);
        let mut driver = first.driver;
        let mut sessions = [0, 1].map(|_| {
            Session::new(shared.clone(), MechanismKind::Explicit, false).expect("a session")
        });
        for _ in 0..transactions {
            self.transact(&shared, &mut sessions, &mut driver)?;
            self.tend(&mut driver, &region)?;
        }
        Ok(())
    }

    /// One transaction, which may grow the segment, write, both, or give up.
    fn transact(
        &mut self,
        shared: &ProcessState,
        sessions: &mut [Session; 2],
        driver: &mut Driver,
    ) -> Result<(), Crashed> {
        let n = self.random.below(2) as usize;
        let session = &mut sessions[n];
        session.begin(Begin::default()).expect("it begins");
        let (length, counter, mut large) = self.model.submitted;
        let asked = match self.random.chance(30, 100) {
            true => session.length() + 1 + self.random.below(2 * STEP_BYTES),
            false => 0,
        };
        // At most six times the least growth, so that a checkpoint is not long.
        let asked = asked.min(6 * STEP_BYTES);
        if asked > 0 {
            session.grow_to(asked).expect("there is room");
        }
        let writes = self.random.chance(50, 100) && session.length() > 0;
        if writes {
            let place = session.address().wrapping_add(COUNTER_AT as usize);
            session.note_write(COUNTER_AT, 8);
            // SAFETY: within the view, which is this thread's and writable.
            unsafe { place.cast::<u64>().write(counter + 1) };
        }
        let is_large = writes && self.random.chance(15, 100);
        if is_large {
            large = large % 255 + 1;
            let bytes = LARGE.end - LARGE.start;
            let place = session.address().wrapping_add(LARGE.start);
            session.note_write(LARGE.start as u64, bytes);
            // SAFETY: as above: a segment has 2 MiB at least.
            unsafe { place.write_bytes(large, bytes) };
        }
        if self.random.chance(20, 100) {
            session.abort().expect("it aborts");
            return Ok(());
        }
        let grows = asked > length;
        if writes || grows {
            let counter = counter + u64::from(writes);
            self.model.submitted = (length.max(session.length()), counter, large);
        }
        if is_large {
            self.make_room(shared, driver)?;
        }
        let session = &mut sessions[n];
        let position = match session.commit() {
            Ok(position) => position,
            Err(_) if self.disk.has_crashed() => return Err(Crashed),
            Err(error) => panic!("{error}"),
        };
        if let Some(position) = position {
            if shared.wait_durable(position).is_err() {
                assert!(self.disk.has_crashed());
                return Err(Crashed);
            }
            self.model.acknowledged = self.model.submitted;
        }
        Ok(())
    }

    /// Makes the room for which a large transaction would wait, without another thread that does it.
    fn make_room(&mut self, shared: &ProcessState, driver: &mut Driver) -> Result<(), Crashed> {
        let log = &shared.region.control().log;
        let layout = LogLayout::new(5, self.options.segment_bytes);
        let records = 2 * 4104 + (LARGE.end - LARGE.start) as u64 / 4096 * 4104;
        for _ in 0..1000 {
            if log.admits_alone(layout, records) {
                return Ok(());
            }
            log.want_room_alone(layout, records);
            self.tend(driver, &shared.region)?;
            if self.disk.has_crashed() {
                return Err(Crashed);
            }
        }
        panic!("there is never room: {:?}", log.refusal());
    }

    /// The driver's work.
    fn tend(&mut self, driver: &mut Driver, region: &Region) -> Result<(), Crashed> {
        let log = &region.control().log;
        if self.random.chance(5, 100) {
            log.want_checkpoint();
        }
        loop {
            match driver.step(log) {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(error) => {
                    assert!(self.disk.has_crashed(), "{error}");
                    return Err(Crashed);
                }
            }
        }
    }
}

/// A life, one that crashes at a step, and one that must find all acknowledged transactions.
fn explore(seed: u64, crash_at: u64) -> bool {
    let mut world = World {
        disk: SimulatedDisk::new(seed, Faults::default()),
        options: options(1 + (seed % 2) as u32),
        random: Random::new(seed),
        model: Model::default(),
    };
    let lived = world.live(6);
    assert!(lived.is_ok());
    world.disk = world.disk.restart(Faults {
        crash_at_step: Some(crash_at),
        ..Faults::default()
    });
    let _ = world.live(40);
    let crashed = world.disk.has_crashed();
    for _ in 0..2 {
        world.disk = world.disk.restart(Faults::default());
        assert!(world.live(5).is_ok());
    }
    crashed
}

#[test]
fn i1_i3_a_crash_at_any_step_keeps_every_length_that_was_acknowledged_or_relied_on() {
    for seed in 0..2 {
        let mut crash_at = 1 + seed;
        while explore(seed, crash_at) {
            // Fewer steps the later they are, unless more are asked for.
            crash_at += match sardonyx_base::random::asked("SARDONYX_RUNS") {
                Some(_) => 1 + crash_at / 4,
                None => 2 + crash_at / 3,
            };
        }
        assert!(crash_at > 50, "seed {seed}: {crash_at} steps only");
    }
}
